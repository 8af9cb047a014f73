//! The base directory of a store: opened once, everything else is found by its handle.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::lock::{self, LOCK};
use super::made::Made;
use super::mark::Marked;
use super::room::{self, JOURNAL, JOURNAL_FILES, MEMORIES, ROOM, Room, sync_directory, syncable};
use super::sandbox::{Backend, Sandbox};
use super::site::{self, Site};
use super::stat::permissions;
use super::tree::remove_tree;
use crate::error::{Error, Result, Trouble};
use crate::fail;

/// No file beside the memories is larger.
const SIDE_BYTES: u64 = 1 << 20;

/// An open base directory.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) sandbox: Sandbox,
    pub(crate) site: Site,
    path: PathBuf,
    /// What was made to open it.
    pub(crate) made: Made,
    /// The lock file, opened for reading by who only looks at the mark.
    mark: RwLock<Option<File>>,
}

impl Base {
    /// Opens the base directory at `path`; `Ok(None)` when it is missing.
    pub(crate) fn open(path: &Path, backend: Backend) -> Result<Option<Self>> {
        let path = std::path::absolute(path).map_err(|e| Error::read("find the base directory", e))?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | HANDLE;
        let fd = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(Error::read("open the base directory", e)),
        };
        let site = Site::of(&fd)?;
        Ok(Some(Self {
            sandbox: Sandbox::new(fd, backend)?,
            site,
            path,
            made: Made::default(),
            mark: RwLock::default(),
        }))
    }

    /// Whether the directory looks like a store.
    pub(crate) fn is_store(&self) -> bool {
        [MEMORIES, ROOM].iter().any(|name| self.has(name))
    }

    /// Refuses a store whose parts lie on different file systems: nothing could be published by a rename.
    pub(crate) fn refuse_split(&self) -> Result<()> {
        let home = site::mount_id(self.sandbox.base())?;
        for name in [MEMORIES, ROOM] {
            let flags = HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(part) = rustix::fs::openat(self.sandbox.base(), name, flags, Mode::empty()) else {
                continue;
            };
            if site::mount_id(&part)? != home {
                let doing = format!("open the store: {name} is a mount");
                return Err(Error::Write { why: Trouble::Split, doing, source: None });
            }
        }
        Ok(())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has this device and inode.
    pub(crate) fn is_at(&self, device: u64, inode: u64) -> bool {
        let seen = super::stat::of(self.sandbox.base());
        seen.is_ok_and(|seen| (seen.stamp.dev, seen.stamp.ino) == (device, inode))
    }

    /// Where the journal is, for SQLite, which opens by name.
    pub(crate) fn journal_path(&self) -> PathBuf {
        self.path.join(ROOM).join(JOURNAL)
    }

    /// The inode of the journal's file; `None` when it is missing.
    pub(crate) fn journal_inode(&self) -> Option<u64> {
        room::inode(self.sandbox.base(), &format!("{ROOM}/{JOURNAL}"))
    }

    /// Bytes of the journal's files.
    pub(crate) fn journal_bytes(&self) -> u64 {
        let files = JOURNAL_FILES.map(|suffix| self.thing(&format!("{JOURNAL}{suffix}")));
        files.iter().flatten().map(|file| file.size).sum()
    }

    /// Opens the machine's room, making what is missing.
    pub(crate) fn room(&self, allow_fuse: bool) -> Result<Room> {
        site::refuse_network(self.sandbox.base(), allow_fuse)?;
        self.refuse_split()?;
        self.sandbox.root()?;
        Room::open(self.sandbox.base(), &self.path)
    }

    /// What the last writer left in the lock file.
    pub(crate) fn marked(&self) -> Marked {
        {
            let mark = self.mark.read().unwrap_or_else(PoisonError::into_inner);
            // A lock file without a name is of a room that is gone.
            if let Some(file) = mark.as_ref().filter(|file| lock::has_name(file)) {
                return lock::read_mark(file).map_or(Marked::Unreadable, Marked::By);
            }
        }
        let mut mark = self.mark.write().unwrap_or_else(PoisonError::into_inner);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(self.sandbox.base(), format!("{ROOM}/{LOCK}"), flags, Mode::empty());
        *mark = opened.ok().map(File::from);
        match mark.as_ref() {
            None => Marked::Never,
            Some(file) => lock::read_mark(file).map_or(Marked::Unreadable, Marked::By),
        }
    }

    /// Makes `memories/`, durably, when it is missing; whether it was.
    pub(crate) fn make_root(&self, mode: u32) -> Result<bool> {
        fail::step();
        match rustix::fs::mkdirat(self.sandbox.base(), MEMORIES, permissions(mode)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(false),
            Err(e) => return Err(Error::write("make memories", e)),
        }
        fail::step();
        if let Some(root) = self.sandbox.root()? {
            rustix::fs::fchmod(syncable(&root)?, permissions(mode))
                .map_err(|e| Error::write("make memories", e))?;
        }
        sync_directory(&syncable(self.sandbox.base())?, "the base directory")?;
        Ok(true)
    }

    /// Removes a `memories/` that was made for a change that is not made after all, unless something is in it by now.
    pub(crate) fn unmake_root(&self) {
        let _ = rustix::fs::unlinkat(self.sandbox.base(), MEMORIES, AtFlags::REMOVEDIR);
    }

    /// Removes `memories/` and all that is in it, never through a link. What of it is not there is gone already.
    pub(crate) fn remove_root(&self) -> Result<()> {
        remove_tree(self.sandbox.base(), &CString::new(MEMORIES).expect("it has no NUL"))
    }

    /// Whether something of this name stands in the base directory.
    pub(crate) fn has(&self, name: &str) -> bool {
        rustix::fs::statat(self.sandbox.base(), name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The text of a file beside the memories, such as `memdir.toml`; `None` when there is none.
    pub(crate) fn side_file(&self, name: &str) -> Result<Option<String>> {
        let failed = |e: io::Error| Error::read(format!("read {name}"), e);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(self.sandbox.base(), name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(failed(e.into())),
        };
        // A FIFO must not hang anything, and nothing that is no settings file fill the memory.
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.len() > SIDE_BYTES {
            return Err(failed(io::Error::other("it is no regular file of at most 1 MiB")));
        }
        let mut text = String::new();
        file.take(SIDE_BYTES).read_to_string(&mut text).map_err(failed)?;
        Ok(Some(text))
    }

    /// What is wrong with the disk, where the database could not say it well.
    pub(crate) fn trouble(&self) -> Trouble {
        let base = self.sandbox.base();
        if let Err(e) = rustix::io::fcntl_dupfd_cloexec(base, 0) {
            return Trouble::of(&e.into());
        }
        let room = format!("{ROOM}/.");
        let has_room = rustix::fs::statat(base, &room, AtFlags::empty()).is_ok();
        let journal = format!("{ROOM}/{JOURNAL}");
        for name in [if has_room { &room } else { "." }, &journal] {
            match rustix::fs::accessat(base, name, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(e) => return Trouble::of(&e.into()),
            }
        }
        match rustix::fs::fstatvfs(base) {
            Ok(space) if space.f_bavail == 0 || space.f_files != 0 && space.f_favail == 0 => Trouble::NoSpace,
            _ => Trouble::Io,
        }
    }

    /// Syncs the whole file system that the store lies on.
    pub(crate) fn sync_all(&self) -> Result<()> {
        fail::step();
        #[cfg(target_os = "linux")]
        return rustix::fs::syncfs(syncable(self.sandbox.base())?)
            .map_err(|e| super::room::sync_failed("sync the file system".into(), e));
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            Ok(())
        }
    }
}

/// How a directory is opened that is only a starting point.
#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = OFlags::RDONLY;

/// Syncs the file or directory at a path; what is not there (any more) has nothing to sync.
pub(crate) fn sync_at(base: &Base, path: &crate::path::MemoryPath) -> Result<()> {
    fail::step();
    let failed = |e| super::room::sync_failed(format!("sync {path}"), e);
    if let Ok(open) = base.sandbox.open_file(path)? {
        return rustix::fs::fsync(&open.file).map_err(failed);
    }
    match base.sandbox.open_dir(path)? {
        Ok(dir) => rustix::fs::fsync(&dir).map_err(failed),
        Err(_) => Ok(()),
    }
}
