//! The walk from the root down, one component at a time: what names the first obstacle, and all there is where the
//! system has no openat2.

use std::borrow::Cow;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io;

use super::room::MEMORIES;
use super::stat::{self, Kind, Mount, Seen};
use super::{Look, names};
use crate::path::MemoryPath;

/// How far a walk came.
pub(super) enum Walked {
    /// To the directory that holds the last segment.
    Last {
        dir: OwnedFd,
        /// The segment as it is on disk, or would be.
        name: String,
        /// What stands there, if anything does.
        seen: Option<Seen>,
    },
    /// To a directory that lacks a segment on the way.
    Gap {
        dir: OwnedFd,
        /// The segments that are not there, the last one left out.
        missing: Vec<String>,
        name: String,
    },
    /// To a link or something else that is no directory.
    Blocked(Look),
}

/// Walks to the directory that holds the last segment of `memories/<path>`.
pub(super) fn walk(base: BorrowedFd<'_>, home: Mount, path: &MemoryPath) -> io::Result<Walked> {
    let mut dir =
        base.try_clone_to_owned().map_err(|e| io::Errno::from_io_error(&e).unwrap_or(io::Errno::IO))?;
    let mut segments = std::iter::once(MEMORIES).chain(path.segments()).peekable();
    let mut done = 0;
    while let Some(segment) = segments.next() {
        if segments.peek().is_none() {
            let found = names::find(dir.as_fd(), segment)?;
            let (name, seen) = found.map_or((segment.into(), None), |(name, seen)| (name, Some(seen)));
            return Ok(Walked::Last { dir, name: name.into_owned(), seen });
        }
        match step(dir.as_fd(), segment)? {
            None => {
                let mut missing: Vec<String> =
                    std::iter::once(segment).chain(segments).map(str::to_owned).collect();
                let name = missing.pop().unwrap_or_default();
                return Ok(Walked::Gap { dir, missing, name });
            }
            Some((Some(next), seen)) if seen.kind == Kind::Directory && seen.is_on(home) => dir = next,
            Some((_, seen)) if seen.kind == Kind::Link => return Ok(Walked::Blocked(Look::BelowLink)),
            Some(_) => {
                let way: Vec<&str> = path.segments().take(done).collect();
                return Ok(Walked::Blocked(Look::BelowFile(MemoryPath::from_normal(way.join("/")))));
            }
        }
        done += 1;
    }
    unreachable!("there is a last segment: the root")
}

/// Opens a segment, or an entry that it also means; `None` if there is neither.
fn step(dir: BorrowedFd<'_>, segment: &str) -> io::Result<Option<(Option<OwnedFd>, Seen)>> {
    let mut name = Cow::Borrowed(segment);
    loop {
        let Ok(text) = CString::new(&*name) else { return Ok(None) };
        match enter(dir, &text) {
            Ok(entered) => return Ok(Some(entered)),
            Err(io::Errno::NOENT | io::Errno::NAMETOOLONG) if matches!(name, Cow::Borrowed(_)) => {
                let Some(other) = names::other_spelling(dir, segment)? else { return Ok(None) };
                name = other.into();
            }
            Err(io::Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
}

/// Opens whatever stands at a name, so that what it is and the handle cannot be of two things.
#[cfg(target_os = "linux")]
pub(super) fn enter(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> io::Result<(Option<OwnedFd>, Seen)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = io::retry_on_intr(|| rustix::fs::openat(dir, name, flags, Mode::empty()))?;
    let seen = stat::of(fd.as_fd())?;
    Ok((Some(fd), seen))
}

/// Opens a directory; what cannot be opened as one is looked at, and tried again should it be one by then.
#[cfg(not(target_os = "linux"))]
pub(super) fn enter(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> io::Result<(Option<OwnedFd>, Seen)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut tries = 0;
    loop {
        match io::retry_on_intr(|| rustix::fs::openat(dir, name, flags, Mode::empty())) {
            Ok(fd) => {
                let seen = stat::of(fd.as_fd())?;
                return Ok((Some(fd), seen));
            }
            Err(e) => {
                let seen = stat::at(dir, name)?;
                if seen.kind != Kind::Directory {
                    return Ok((None, seen));
                }
                tries += 1;
                if tries == 64 || !matches!(e, io::Errno::NOTDIR | io::Errno::LOOP) {
                    return Err(e);
                }
            }
        }
    }
}
