//! What a check looks at beside the memories, and the little that it may mend: modes, and what keeps git out.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::base::Base;
use super::names::names;
use super::room::{PRIVATE, ROOM, ignore_in_git};
use super::stat::{Kind, permissions};
use crate::error::{Error, Result};
use crate::path::MemoryPath;

/// What stands at a name in the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    /// Permission bits.
    pub(crate) mode: u32,
}

impl Base {
    /// What stands at a name in the room (`.`: the room itself); `None` when there is nothing.
    pub(crate) fn thing(&self, name: &str) -> Option<Thing> {
        let name = if name == "." { ROOM.to_owned() } else { format!("{ROOM}/{name}") };
        let stat = rustix::fs::statat(self.sandbox.base(), name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Thing {
            kind: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
            size: stat.st_size.try_into().unwrap_or(0),
            #[allow(clippy::useless_conversion, reason = "the type differs by system")]
            mode: u32::from(stat.st_mode) & 0o7777,
        })
    }

    /// The names in one of the room's directories, as text; one that is not there has none.
    pub(crate) fn things(&self, name: &str) -> Result<Vec<String>> {
        let Some(dir) = self.room_directory(name)? else { return Ok(Vec::new()) };
        let names = names(dir.as_fd()).map_err(|e| Error::read(format!("look into .memdir/{name}"), e))?;
        Ok(names.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect())
    }

    /// One of the room's directories, to look into; `None` where it is none, or a link.
    pub(crate) fn room_directory(&self, name: &str) -> Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.sandbox.base(), format!("{ROOM}/{name}"), flags, Mode::empty()) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(e) => Err(Error::read(format!("look into .memdir/{name}"), e)),
        }
    }

    /// Takes from a file or directory the permissions of others that `mode` does not give; the owner's stay.
    pub(crate) fn narrow(&self, path: &MemoryPath, mode: u32) -> Result<()> {
        let narrow = |fd: std::os::fd::BorrowedFd<'_>, now: u32| {
            let mode = now & (mode | 0o7700);
            rustix::fs::fchmod(fd, permissions(mode))
                .map_err(|e| Error::write(format!("set the mode of {path}"), e))
        };
        if let Ok(open) = self.sandbox.open_file(path)? {
            return narrow(open.file.as_fd(), open.stamp.mode);
        }
        match self.sandbox.open_dir(path)? {
            Ok(dir) => {
                let now =
                    super::stat::of(dir.as_fd()).map_err(|e| Error::read(format!("look at {path}"), e))?;
                narrow(dir.as_fd(), now.stamp.mode)
            }
            Err(_) => Err(Error::Missing { path: path.clone() }),
        }
    }

    /// Makes the room private again.
    pub(crate) fn narrow_room(&self) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.sandbox.base(), ROOM, flags, Mode::empty())
            .and_then(|room| rustix::fs::fchmod(&room, PRIVATE))
            .map_err(|e| Error::write("set the mode of .memdir", e))
    }

    /// Writes the file again that keeps the room out of a git work tree.
    pub(crate) fn ignore_room(&self) -> Result<()> {
        ignore_in_git(&self.path().join(ROOM))
    }
}
