//! `index/`: what is derived from the memories and can be made again. It may be gone at any moment, and is never synced.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::base::Base;
use super::room::{PRIVATE, ROOM, Room};
use super::stat::permissions;
use super::tree::remove_tree;
use crate::error::{Error, Result};
use crate::fail;
use crate::id::fill_random;

const INDEX: &str = "index";

impl Base {
    /// Where it is, for who opens files by name.
    pub(crate) fn derived_path(&self) -> PathBuf {
        self.path().join(ROOM).join(INDEX)
    }

    /// Makes it, private, in a room that is there already.
    pub(crate) fn make_derived(&self) -> Result<()> {
        fail::step();
        match rustix::fs::mkdirat(self.sandbox.base(), format!("{ROOM}/{INDEX}"), PRIVATE) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(Error::write("make .memdir/index", e)),
        }
    }

    /// It, if it is a directory and no link to one.
    pub(super) fn derived_dir(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(self.sandbox.base(), format!("{ROOM}/{INDEX}"), flags, Mode::empty())
    }

    /// A file in it, if it is there and can be read.
    pub(crate) fn derived_file(&self, name: &str) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self.derived_dir().ok()?, name, flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(fd).take(self.sandbox.most_read).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Puts a file into it, whole or not at all, in place of one of the same name.
    pub(crate) fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let failed = |e: io::Error| Error::write(format!("write .memdir/index/{name}"), e);
        self.make_derived()?;
        let mut random = [0; 8];
        fill_random(&mut random);
        let new = format!("new-{:016x}", u64::from_ne_bytes(random));
        let dir = self.derived_dir().map_err(|e| failed(e.into()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&dir, &new, flags, permissions(0o600)).map_err(|e| failed(e.into()))?;
        fail::step();
        let written = File::from(fd).write_all(bytes).and_then(|()| {
            fail::step();
            rustix::fs::renameat(&dir, &new, &dir, name).map_err(io::Error::from)
        });
        written.map_err(|e| {
            let _ = rustix::fs::unlinkat(&dir, &new, AtFlags::empty());
            failed(e)
        })
    }
}

impl Room {
    /// Removes it with all that is in it. Who has a file of it open can still read that.
    pub(crate) fn forget_derived(&self) -> Result<()> {
        remove_tree(self.dir(), &CString::new(INDEX).expect("it has no NUL"))
    }
}
