//! Whole trees, of any depth and with whatever is in them: visited before they go, and removed.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, FileType};
use rustix::io::{self, Errno};

use super::list::is_gone;
use super::names::{names, open_dir, reopen};
use super::sandbox::{Looked, OpenFile, open_in, swapped};
use super::stat::{self, Kind, Mount, Seen, Stamp};
use crate::error::{Error, Result};
use crate::fail;

/// What stands at a visited name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    File,
    /// Its entries are visited, too.
    Directory {
        /// Whether this user can make and remove entries in it.
        writable: bool,
    },
    Link,
    /// A FIFO, a socket, a device.
    Special,
    /// Something of another file system, which is not entered.
    Mount,
    /// A directory that cannot be read, or something in a directory that cannot be looked into. Only a survey comes here.
    Closed,
}

/// Where a survey goes on after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    /// To what comes next: of a directory, to what is in it.
    On,
    /// Past the directory: nothing in it is visited.
    Past,
    /// Nowhere.
    Stop,
}

/// How often a name may turn out to hold something else than a moment ago.
const RETURNS: usize = 1000;

/// One thing in a tree.
#[derive(Debug)]
pub(crate) struct Visit<'a> {
    /// Where it is below the visited directory, `/` between the names as they are on disk; empty for that directory.
    pub(crate) path: &'a [u8],
    pub(crate) what: What,
    pub(crate) stamp: Stamp,
    /// The directory that holds it.
    pub(crate) dir: BorrowedFd<'a>,
    /// Its name in `dir`.
    pub(crate) name: &'a CStr,
    home: Mount,
}

impl Visit<'_> {
    /// Opens it if it is (still) a regular file.
    pub(crate) fn open(&self) -> Looked<OpenFile> {
        match open_in(self.dir, self.name, self.home) {
            Ok(answer) => Ok(answer),
            Err(e) => swapped(e).map(Err).ok_or_else(|| failed("open", self.path, e)),
        }
    }
}

/// Calls `f` with a directory and everything below it: of each directory first itself, then what is no directory, then
/// its directories, both by the names' bytes. Links and mounts are named, never entered.
///
/// # Errors
/// What `f` returns, and a directory that cannot be read: nobody may remove it in the belief to have seen all.
pub(crate) fn visit(dir: BorrowedFd<'_>, f: &mut dyn FnMut(&Visit<'_>) -> Result<()>) -> Result<()> {
    survey(dir, &mut |seen| match seen.what {
        What::Closed => Err(failed("open", seen.path, Errno::ACCESS)),
        _ => f(seen).map(|()| Go::On),
    })
}

/// As [`visit`], but `f` says of each thing where to go on, and is told what cannot be read.
///
/// # Errors
/// What `f` returns, or what the disk says.
pub(crate) fn survey(dir: BorrowedFd<'_>, f: &mut dyn FnMut(&Visit<'_>) -> Result<Go>) -> Result<()> {
    let seen = stat::of(dir).map_err(|e| failed("look at", b"", e))?;
    let home = seen.mount;
    let dir = reopen(dir).map_err(|e| failed("open", b"", e))?;
    let what = What::Directory { writable: is_writable(dir.as_fd()) };
    let top = Visit { path: b"", what, stamp: seen.stamp, dir: dir.as_fd(), name: c".", home };
    if f(&top)? != Go::On {
        return Ok(());
    }
    let mut path = Vec::new();
    let Some(dirs) = visit_level(dir.as_fd(), &mut path, home, f)? else { return Ok(()) };
    let mut descent = Descent::new(dir, seen.stamp, dirs, home);
    let mut returns = 0;
    while let Some(level) = descent.levels.last_mut() {
        let Some(name) = level.todo.pop() else {
            descent.levels.pop();
            let end = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
            path.truncate(end);
            continue;
        };
        let dir = descent.last().map_err(|e| failed("open", &path, e))?;
        let length = path.len();
        push(&mut path, &name);
        let inside = match open_dir(dir, &name, home) {
            Ok(inside) => inside,
            Err(e) if is_gone(e) => {
                if let Ok(seen) = stat::at(dir, &name) {
                    if seen.kind == Kind::Directory && seen.is_on(home) {
                        // It was away for a moment.
                        if returns == RETURNS {
                            return Err(failed("open", &path, e));
                        }
                        returns += 1;
                        if let Some(level) = descent.levels.last_mut() {
                            level.todo.push(name);
                        }
                    } else if visit_one(dir, &name, &path, seen, home, f)? == Go::Stop {
                        return Ok(());
                    }
                }
                path.truncate(length);
                continue;
            }
            Err(Errno::ACCESS) => {
                if visit_closed(dir, &name, &path, home, f)? == Go::Stop {
                    return Ok(());
                }
                path.truncate(length);
                continue;
            }
            Err(e) => return Err(failed("open", &path, e)),
        };
        let stamp = stat::of(inside.as_fd()).map_err(|e| failed("look at", &path, e))?.stamp;
        let what = What::Directory { writable: is_writable(inside.as_fd()) };
        match f(&Visit { path: &path, what, stamp, dir, name: &name, home })? {
            Go::On => {}
            Go::Past => {
                path.truncate(length);
                continue;
            }
            Go::Stop => return Ok(()),
        }
        let Some(dirs) = visit_level(inside.as_fd(), &mut path, home, f)? else { return Ok(()) };
        descent.push(inside, name, stamp, dirs);
    }
    Ok(())
}

/// Visits what is no directory; returns the directories, last one first, or `None` where nothing more is to be visited.
fn visit_level(
    dir: BorrowedFd<'_>,
    path: &mut Vec<u8>,
    home: Mount,
    f: &mut dyn FnMut(&Visit<'_>) -> Result<Go>,
) -> Result<Option<Vec<CString>>> {
    let mut dirs = Vec::new();
    for (name, file_type) in names(dir).map_err(|e| failed("list", path, e))? {
        if file_type == FileType::Directory {
            dirs.push(name);
            continue;
        }
        let length = path.len();
        push(path, &name);
        let go = match stat::at(dir, &name) {
            Ok(seen) if seen.kind == Kind::Directory => {
                dirs.push(name);
                Go::On
            }
            Ok(seen) => visit_one(dir, &name, path, seen, home, f)?,
            Err(Errno::NOENT) => Go::On,
            Err(Errno::ACCESS) => visit_closed(dir, &name, path, home, f)?,
            Err(e) => return Err(failed("look at", path, e)),
        };
        if go == Go::Stop {
            return Ok(None);
        }
        path.truncate(length);
    }
    dirs.reverse();
    Ok(Some(dirs))
}

/// Visits what cannot be read, or not even looked at: then with the stamp of the directory that it is in.
fn visit_closed(
    dir: BorrowedFd<'_>,
    name: &CStr,
    path: &[u8],
    home: Mount,
    f: &mut dyn FnMut(&Visit<'_>) -> Result<Go>,
) -> Result<Go> {
    let seen = stat::at(dir, name).or_else(|_| stat::of(dir)).map_err(|e| failed("look at", path, e))?;
    f(&Visit { path, what: What::Closed, stamp: seen.stamp, dir, name, home })
}

fn visit_one(
    dir: BorrowedFd<'_>,
    name: &CStr,
    path: &[u8],
    seen: Seen,
    home: Mount,
    f: &mut dyn FnMut(&Visit<'_>) -> Result<Go>,
) -> Result<Go> {
    let what = match seen.kind {
        Kind::File if seen.is_on(home) => What::File,
        Kind::Link => What::Link,
        Kind::Special => What::Special,
        Kind::File | Kind::Directory => What::Mount,
    };
    f(&Visit { path, what, stamp: seen.stamp, dir, name, home })
}

fn is_writable(dir: BorrowedFd<'_>) -> bool {
    rustix::fs::accessat(dir, c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

fn push(path: &mut Vec<u8>, name: &CStr) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
}

fn failed(verb: &str, path: &[u8], failure: Errno) -> Error {
    Error::read(format!("{verb} {}", String::from_utf8_lossy(path)), failure)
}

/// Removes whatever stands at a name, a directory with all below it, by handle: what a name in the tree leads to is
/// never touched, though others put links where directories were. Nothing there is fine.
///
/// # Errors
/// The first entry that cannot be removed; all others are gone by then.
pub(crate) fn remove_tree(dir: BorrowedFd<'_>, name: &CStr) -> Result<()> {
    remove(dir, name).map_err(|e| Error::write(format!("remove {}", name.to_string_lossy()), e))
}

fn remove(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let seen = stat::of(dir)?;
    let mut descent = Descent::new(reopen(dir)?, seen.stamp, vec![name.to_owned()], seen.mount);
    let mut first: io::Result<()> = Ok(());
    let mut returns = 0;
    while let Some(level) = descent.levels.last_mut() {
        let next = level.todo.pop();
        let answer = match &next {
            Some(name) => remove_entry(&mut descent, name),
            None => remove_level(&mut descent),
        };
        match answer {
            Err((again, Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR | Errno::NOTDIR))
                if first.is_ok() && returns < RETURNS =>
            {
                returns += 1;
                if let Some(level) = descent.levels.last_mut() {
                    level.todo.push(again);
                }
            }
            Err((_, e)) => first = first.and(Err(e)),
            Ok(()) => {}
        }
    }
    first
}

/// Removes an entry, or enters it if it is a directory.
fn remove_entry(descent: &mut Descent, name: &CStr) -> Result<(), (CString, Errno)> {
    let again = |e| (name.to_owned(), e);
    let home = descent.home;
    let dir = descent.last().map_err(again)?;
    match open_dir(dir, name, home) {
        Ok(inside) => {
            let stamp = stat::of(inside.as_fd()).map_err(again)?.stamp;
            let mut todo = Vec::new();
            for (name, file_type) in names(inside.as_fd()).map_err(again)? {
                if file_type == FileType::Directory
                    || unlink(inside.as_fd(), &name, AtFlags::empty()).is_err()
                {
                    todo.push(name);
                }
            }
            descent.push(inside, name.to_owned(), stamp, todo);
            Ok(())
        }
        Err(Errno::NOENT) => Ok(()),
        // An empty one can go unread.
        Err(Errno::ACCESS) => match unlink(dir, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(again(Errno::ACCESS)),
            Err(Errno::NOTDIR) => unlink(dir, name, AtFlags::empty()).map_err(again),
            answer => answer.map_err(again),
        },
        Err(Errno::XDEV) => Err(again(Errno::BUSY)),
        // Whatever it is, it cannot be opened as a directory.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => unlink(dir, name, AtFlags::empty()).map_err(again),
        Err(e) => Err(again(e)),
    }
}

/// Leaves a level whose entries are gone, and removes it.
fn remove_level(descent: &mut Descent) -> Result<(), (CString, Errno)> {
    let Some(Level { name: Some(name), .. }) = descent.levels.pop() else { return Ok(()) };
    let dir = match descent.last() {
        Ok(dir) => dir,
        Err(e) => return Err((name, e)),
    };
    unlink(dir, &name, AtFlags::REMOVEDIR).map_err(|e| (name, e))
}

/// Removes a name; one that is gone is fine, one that is a directory against what was thought is `EISDIR` everywhere.
fn unlink(dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<()> {
    fail::step();
    match io::retry_on_intr(|| rustix::fs::unlinkat(dir, name, flags)) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::PERM)
            if flags.is_empty() && stat::at(dir, name).is_ok_and(|s| s.kind == Kind::Directory) =>
        {
            Err(Errno::ISDIR)
        }
        Err(e) => Err(e),
    }
}

/// The way from the top of a tree down to where a walk is. Of a long way only the lower end is held open; what is
/// needed again further up is opened from the top, each level from the one above it, and must be the same directory.
struct Descent {
    levels: Vec<Level>,
    home: Mount,
}

struct Level {
    /// Its name in the level above; the top has none.
    name: Option<CString>,
    id: (u64, u64),
    dir: Option<OwnedFd>,
    /// Names that are still to be dealt with, the next one last.
    todo: Vec<CString>,
}

/// Levels of a tree that are held open, besides the top.
const OPEN: usize = 64;

impl Descent {
    fn new(top: OwnedFd, stamp: Stamp, todo: Vec<CString>, home: Mount) -> Self {
        let top = Level { name: None, id: (stamp.dev, stamp.ino), dir: Some(top), todo };
        Self { levels: vec![top], home }
    }

    fn push(&mut self, dir: OwnedFd, name: CString, stamp: Stamp, todo: Vec<CString>) {
        self.levels.push(Level { name: Some(name), id: (stamp.dev, stamp.ino), dir: Some(dir), todo });
        self.close_above(self.levels.len() - 1);
    }

    fn close_above(&mut self, lowest: usize) {
        if let Some(above) = lowest.checked_sub(OPEN).filter(|&i| i > 0) {
            self.levels[above].dir = None;
        }
    }

    /// The lowest level, opened again if need be.
    fn last(&mut self) -> io::Result<BorrowedFd<'_>> {
        let top = self.levels.iter().rposition(|l| l.dir.is_some()).ok_or(Errno::STALE)?;
        for i in top + 1..self.levels.len() {
            let name = self.levels[i].name.as_deref().ok_or(Errno::STALE)?;
            let above = self.levels[i - 1].dir.as_ref().ok_or(Errno::STALE)?;
            let dir = open_dir(above.as_fd(), name, self.home)?;
            let stamp = stat::of(dir.as_fd())?.stamp;
            if (stamp.dev, stamp.ino) != self.levels[i].id {
                return Err(Errno::STALE);
            }
            self.levels[i].dir = Some(dir);
            self.close_above(i);
        }
        self.levels.last().and_then(|l| l.dir.as_ref()).map(AsFd::as_fd).ok_or(Errno::STALE)
    }
}
