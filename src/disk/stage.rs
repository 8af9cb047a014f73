//! Publishing: what waits complete in `staging/` takes its place by one rename, and what it displaces is looked at again.
//!
//! Nothing here decides; each function is one step that can fail, and leaves everything as it was when it does.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::names::{names, open_dir};
use super::room::{Room, sync_directory, sync_failed};
use super::sandbox::{FILE, OpenFile, Place, open_in};
use super::stat::{self, Kind, Stamp, permissions};
use super::tree::{remove_tree, visit};
use super::{Look, Visit};
use crate::error::{Error, Result};
use crate::fail;

/// A file to be staged.
pub(crate) struct Draft<'a> {
    pub(crate) bytes: &'a [u8],
    /// The permission bits that it gets.
    pub(crate) mode: u32,
    /// The file that it will replace: owner and extended attributes are taken over where permitted.
    pub(crate) like: Option<&'a OpenFile>,
}

impl Room {
    /// Writes a complete file to `staging/{name}`.
    pub(crate) fn stage(&self, name: &str, draft: &Draft<'_>) -> Result<()> {
        write_file(self.staging.as_fd(), name, draft).inspect_err(|_| self.forget(name))
    }

    /// Makes `staging/{name}`, a directory, and in it `inner` one below the other; at the bottom the file, if there is one.
    pub(crate) fn stage_tree(
        &self,
        name: &str,
        inner: &[String],
        dir_mode: u32,
        file: Option<(&str, &Draft<'_>)>,
    ) -> Result<()> {
        self.clear(name)?;
        self.grow_tree(name, inner, dir_mode, file).inspect_err(|_| self.forget(name))
    }

    /// Like [`Room::stage_tree`], where some of the directories are staged already.
    pub(crate) fn grow_tree(
        &self,
        name: &str,
        inner: &[String],
        dir_mode: u32,
        file: Option<(&str, &Draft<'_>)>,
    ) -> Result<()> {
        let mut dir = make_dir(self.staging.as_fd(), name, dir_mode)?;
        for name in inner {
            dir = make_dir(dir.as_fd(), name, dir_mode)?;
        }
        match file {
            Some((name, draft)) => write_file(dir.as_fd(), name, draft),
            None => Ok(()),
        }
    }

    /// Moves `staging/{name}` to where nothing stands.
    pub(crate) fn publish_new(&self, name: &str, dir: &OwnedFd, target: &str) -> io::Result<()> {
        move_to_free(self.staging.as_fd(), name, dir.as_fd(), target)
    }

    /// Exchanges `staging/{name}` and the file at the target: the name never leads to nothing.
    pub(crate) fn exchange(&self, name: &str, dir: &OwnedFd, target: &str) -> io::Result<()> {
        fail::step();
        let staging = &self.staging;
        match rustix::fs::renameat_with(staging, name, dir, target, RenameFlags::EXCHANGE) {
            // A file system that cannot exchange: a second name keeps the old file while the first gets the new one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let aside = format!("{name}-aside");
                rustix::fs::linkat(dir, target, staging, &aside, AtFlags::empty())?;
                rustix::fs::renameat(staging, name, dir, target).inspect_err(|_| self.forget(&aside))?;
                rustix::fs::renameat(staging, &aside, staging, name)
            }
            answer => answer,
        }
        .map_err(io::Error::from)?;
        fail::step();
        Ok(())
    }

    /// Moves whatever stands at a name to `staging/{name}`.
    pub(crate) fn take(&self, dir: &OwnedFd, target: &str, name: &str) -> io::Result<()> {
        move_to_free(dir.as_fd(), target, self.staging.as_fd(), name)
    }

    /// What lies at `staging/{name}`.
    pub(crate) fn seen(&self, name: &str) -> Option<(Kind, Stamp)> {
        let name = std::ffi::CString::new(name).ok()?;
        stat::at(self.staging.as_fd(), &name).ok().map(|seen| (seen.kind, seen.stamp))
    }

    /// Opens the regular file `staging/{name}`.
    pub(crate) fn open_staged(&self, name: &str) -> Result<Result<OpenFile, Look>> {
        let failed = |e: Errno| Error::write(format!("open staging/{name}"), e);
        let home = stat::of(self.staging.as_fd()).map_err(failed)?.mount;
        let name = std::ffi::CString::new(name).map_err(|_| failed(Errno::INVAL))?;
        open_in(self.staging.as_fd(), &name, home).map_err(failed)
    }

    /// Visits the tree `staging/{name}`; a tree that is not there has nothing in it.
    pub(crate) fn visit_staged(&self, name: &str, f: &mut dyn FnMut(&Visit<'_>) -> Result<()>) -> Result<()> {
        let failed = |e: Errno| Error::write(format!("open staging/{name}"), e);
        let home = stat::of(self.staging.as_fd()).map_err(failed)?.mount;
        let c_name = std::ffi::CString::new(name).map_err(|_| failed(Errno::INVAL))?;
        match open_dir(self.staging.as_fd(), &c_name, home) {
            Ok(tree) => visit(tree.as_fd(), f),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(e) => Err(failed(e)),
        }
    }

    /// Removes `staging/{name}`, whatever it is.
    pub(crate) fn discard(&self, name: &str) -> Result<()> {
        fail::step();
        self.clear(name)
    }

    /// Moves the file `staging/{name}` to `kept/{id}`.
    pub(crate) fn keep(&self, name: &str, id: &str) -> Result<()> {
        let name = std::ffi::CString::new(name).map_err(|_| Error::write("keep a file", Errno::INVAL))?;
        self.keep_from(self.staging.as_fd(), &name, id)
    }

    /// Moves a file to `kept/{id}`, or `kept/{id}-2` and so on where another one has that name. It is synced: nothing else
    /// has its bytes.
    pub(crate) fn keep_from(&self, dir: BorrowedFd<'_>, name: &CStr, id: &str) -> Result<()> {
        fail::step();
        // One that may not be opened is kept as far as its owner has seen to it.
        if let Ok(file) = rustix::fs::openat(dir, name, FILE, Mode::empty()) {
            rustix::fs::fsync(file).map_err(|e| sync_failed("sync a file that is kept".into(), e))?;
        }
        fail::step();
        // Names that are not UTF-8 can be one path in the history, and so one version.
        for target in std::iter::once(id.to_owned()).chain((2..).map(|n: u64| format!("{id}-{n}"))) {
            match move_once(dir, name, self.kept.as_fd(), &*target) {
                Err(Errno::EXIST) => {}
                moved => {
                    moved.map_err(|e| Error::write("keep a file", e))?;
                    return sync_directory(&self.kept, "kept");
                }
            }
        }
        unreachable!("there are fewer files than names")
    }

    fn clear(&self, name: &str) -> Result<()> {
        match rustix::fs::unlinkat(&self.staging, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(_) => {
                let name =
                    std::ffi::CString::new(name).map_err(|_| Error::write("clear staging", Errno::INVAL))?;
                remove_tree(self.staging.as_fd(), &name)
            }
        }
    }

    /// Tries to remove what failed half-way; what cannot be removed is swept when the store is opened again.
    fn forget(&self, name: &str) {
        let _ = self.clear(name);
    }
}

/// Makes one directory where nothing stands.
pub(crate) fn make_in(place: &Place, mode: u32) -> Result<()> {
    make_dir(place.dir.as_fd(), &place.name, mode).map(drop)
}

/// Removes an empty directory.
pub(crate) fn remove_empty(place: &Place) -> io::Result<()> {
    fail::step();
    rustix::fs::unlinkat(&place.dir, &*place.name, AtFlags::REMOVEDIR).map_err(Into::into)
}

/// Refuses a directory in which this user cannot make and remove entries.
pub(crate) fn check_writable(dir: BorrowedFd<'_>) -> io::Result<()> {
    use rustix::fs::Access;
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(dir, c".", access, AtFlags::EACCESS).map_err(Into::into)
}

/// Moves an entry to where nothing stands, also on file systems that know no such rename.
pub(crate) fn move_to_free(
    from: BorrowedFd<'_>,
    name: &str,
    to: BorrowedFd<'_>,
    target: &str,
) -> io::Result<()> {
    fail::step();
    move_once(from, name, to, target)?;
    fail::step();
    Ok(())
}

fn move_once(
    from: BorrowedFd<'_>,
    name: impl Arg + Copy,
    to: BorrowedFd<'_>,
    target: impl Arg + Copy,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, name, to, target, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::linkat(from, name, to, target, AtFlags::empty()) {
                Ok(()) => rustix::fs::unlinkat(from, name, AtFlags::empty()),
                // A directory cannot be linked: the empty one made here is what the rename may replace.
                Err(Errno::PERM | Errno::ISDIR) => {
                    rustix::fs::mkdirat(to, target, Mode::RWXU)?;
                    rustix::fs::renameat(from, name, to, target)
                }
                answer => answer,
            }
        }
        Err(Errno::XDEV) => move_entries(from, &name.into_c_str()?, to, &target.into_c_str()?),
        answer => answer,
    }
}

/// Moves a directory that cannot be renamed (a lower one of an overlay): its entries, one by one. Where that fails, what
/// was moved goes back.
fn move_entries(from: BorrowedFd<'_>, name: &CStr, to: BorrowedFd<'_>, target: &CStr) -> Result<(), Errno> {
    let home = stat::of(from)?.mount;
    let source = open_dir(from, name, home)?;
    let mode = permissions(stat::of(source.as_fd())?.stamp.mode);
    rustix::fs::mkdirat(to, target, Mode::RWXU)?;
    let move_all = || {
        let destination = open_dir(to, target, home)?;
        rustix::fs::fchmod(&destination, mode)?;
        let moved = merge_into(source.as_fd(), destination.as_fd())
            .and_then(|()| rustix::fs::unlinkat(from, name, AtFlags::REMOVEDIR));
        moved.inspect_err(|_| _ = merge_into(destination.as_fd(), source.as_fd()))
    };
    move_all().inspect_err(|_| _ = rustix::fs::unlinkat(to, target, AtFlags::REMOVEDIR))
}

/// Moves all entries of one directory to another, into directories that are there already.
///
/// # Errors
/// `EEXIST` when something is in the way of something else than a directory; what was moved by then stays moved.
pub(crate) fn merge(source: BorrowedFd<'_>, destination: BorrowedFd<'_>) -> io::Result<()> {
    merge_into(source, destination).map_err(Into::into)
}

fn merge_into(source: BorrowedFd<'_>, destination: BorrowedFd<'_>) -> Result<(), Errno> {
    let home = stat::of(source)?.mount;
    for (name, _) in names(source)? {
        fail::step();
        match move_once(source, &*name, destination, &*name) {
            Err(Errno::EXIST) => {
                let (inner, outer) = (open_dir(source, &name, home), open_dir(destination, &name, home));
                match (inner, outer) {
                    (Ok(inner), Ok(outer)) => {
                        merge_into(inner.as_fd(), outer.as_fd())?;
                        rustix::fs::unlinkat(source, &*name, AtFlags::REMOVEDIR)?;
                    }
                    _ => return Err(Errno::EXIST),
                }
            }
            answer => answer?,
        }
    }
    Ok(())
}

/// Makes a directory with exactly this mode, or opens the one that is there.
fn make_dir(parent: BorrowedFd<'_>, name: &str, mode: u32) -> Result<OwnedFd> {
    fail::step();
    let failed = |e: Errno| Error::write(format!("make the directory {name}"), e);
    let mode = permissions(mode);
    let is_new = match rustix::fs::mkdirat(parent, name, mode) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(e) => return Err(failed(e)),
    };
    let home = stat::of(parent).map_err(failed)?.mount;
    let c_name = std::ffi::CString::new(name).map_err(|_| failed(Errno::INVAL))?;
    let dir = open_dir(parent, &c_name, home).map_err(failed)?;
    if is_new {
        fail::step();
        rustix::fs::fchmod(&dir, mode).map_err(failed)?;
    }
    Ok(dir)
}

fn write_file(dir: BorrowedFd<'_>, name: &str, draft: &Draft<'_>) -> Result<()> {
    fail::step();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR);
    let opened = match open() {
        // What failed to be removed when it was given up.
        Err(Errno::EXIST) => rustix::fs::unlinkat(dir, name, AtFlags::empty()).and_then(|()| open()),
        opened => opened,
    };
    let mut file: File = opened.map_err(|e| Error::write(format!("stage {name}"), e))?.into();
    fail::step();
    file.write_all(draft.bytes).map_err(|e| Error::write(format!("stage {name}"), e))?;
    fail::step();
    if let Some(like) = draft.like {
        take_over(like, &file);
    }
    rustix::fs::fchmod(&file, permissions(draft.mode))
        .map_err(|e| Error::write(format!("set the mode of {name}"), e))
}

/// Owner and extended attributes, as far as they can be had: the content counts for more than they do.
fn take_over(from: &OpenFile, to: &File) {
    let (uid, gid) = (from.stamp.uid, from.stamp.gid);
    if stat::of(to.as_fd()).is_ok_and(|seen| (seen.stamp.uid, seen.stamp.gid) != (uid, gid)) {
        let _ = rustix::fs::fchown(to, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    }
    let names = attribute_names(&from.file);
    for name in names.split_inclusive(|&b| b == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
        let mut value = Vec::with_capacity(ATTRIBUTE_BYTES);
        if rustix::fs::fgetxattr(&from.file, name, rustix::buffer::spare_capacity(&mut value)).is_ok() {
            let _ = rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty());
        }
    }
}

/// Bytes of one value, and of all names together: the limits of Linux.
const ATTRIBUTE_BYTES: usize = 64 * 1024;

/// The names of a file's extended attributes, each with its NUL; none where they cannot be had.
fn attribute_names(file: &File) -> Vec<u8> {
    // Most files have few or none, and the kernel sets as much room aside as it is offered.
    for room in [1024, ATTRIBUTE_BYTES] {
        let mut names = Vec::with_capacity(room);
        match rustix::fs::flistxattr(file, rustix::buffer::spare_capacity(&mut names)) {
            Ok(_) => return names,
            Err(Errno::RANGE) => {}
            Err(_) => break,
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_taken_over_however_long_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| File::create_new(dir.path().join(name)).unwrap());
        let names: Vec<_> = (0..10).map(|n| format!("user.{n:0>200}")).collect();
        for name in &names {
            if rustix::fs::fsetxattr(&from, name, b"value", XattrFlags::empty()).is_err() {
                return; // a file system without them
            }
        }
        let stamp = stat::of(from.as_fd()).unwrap().stamp;
        take_over(&OpenFile { file: from, stamp }, &to);
        for name in &names {
            let mut value = [0; 5];
            assert_eq!(rustix::fs::fgetxattr(&to, name, &mut value[..]), Ok(5), "{name}");
            assert_eq!(&value, b"value");
        }
    }
}
