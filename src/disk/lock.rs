//! The two lock files: `turn` makes processes queue, `lock` lets one of them write.
//!
//! Neither is ever unlinked or truncated: a lock on a file that has no name any more excludes nobody.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::mark::{self, Mark};
use crate::error::{Error, Result};
use crate::fail;
use crate::id::fill_random;

pub(crate) const TURN: &str = "turn";
pub(crate) const LOCK: &str = "lock";

/// The open lock files of a store.
#[derive(Debug)]
pub(crate) struct Locks {
    turn: File,
    lock: File,
}

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lock: &'a File,
}

impl Locks {
    /// Opens the lock files in `room`, making them when they are missing.
    pub(super) fn open(room: &OwnedFd) -> Result<Self> {
        let open = |name: &str| {
            fail::step();
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(room, name, flags, Mode::RUSR | Mode::WUSR)
                .map(File::from)
                .map_err(|e| Error::write(format!("open .memdir/{name}"), e))
        };
        Ok(Self { turn: open(TURN)?, lock: open(LOCK)? })
    }

    /// Takes the lock, waiting for at most `wait`.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process keeps it for that long.
    pub(crate) fn acquire(&self, wait: Duration) -> Result<Held<'_>> {
        // A wait that the clock cannot count to has no end.
        let end = Instant::now().checked_add(wait);
        // Only who has the turn polls the lock, so nobody starves behind a crowd that is luckier.
        let turn = self.poll(&self.turn, end, Duration::from_millis(2))?;
        let lock = self.poll(&self.lock, end, Duration::from_micros(200))?;
        drop(turn);
        Ok(lock)
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_acquire(&self) -> Result<Option<Held<'_>>> {
        take(&self.lock)
    }

    /// The mark in the lock file; `None` when there is none that can be trusted.
    pub(crate) fn mark(&self) -> Option<Mark> {
        read_mark(&self.lock)
    }

    /// The process that has the lock, as far as its mark tells: an idle one names who had it last.
    fn holder(&self) -> Option<u32> {
        self.mark().filter(|mark| !mark.idle).map(|mark| mark.pid)
    }

    /// The inode of the open lock file, to notice when the name leads to another one.
    pub(super) fn inode(&self) -> Option<u64> {
        rustix::fs::fstat(&self.lock).ok().map(|stat| stat.st_ino)
    }

    fn poll<'a>(&self, file: &'a File, end: Option<Instant>, longest: Duration) -> Result<Held<'a>> {
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(held) = take(file)? {
                return Ok(held);
            }
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(Error::Busy { pid: self.holder() });
            }
            std::thread::sleep(jitter(pause).min(left));
            pause = (pause * 2).min(longest);
        }
    }
}

impl Held<'_> {
    /// Writes the mark. Not synced: it speaks of this boot only.
    pub(crate) fn write_mark(&self, mark: &Mark) -> Result<()> {
        fail::step();
        let bytes = mark.encode();
        let mut written = 0;
        while written < bytes.len() {
            match rustix::io::pwrite(self.lock, &bytes[written..], written as u64) {
                Ok(n) => written += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(Error::write("write .memdir/lock", e)),
            }
        }
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Cannot fail for a lock that is held; closing the file would free it in any case.
        let _ = fs2::FileExt::unlock(self.lock);
    }
}

/// Whether a name still leads to an open lock file.
pub(super) fn has_name(lock: &File) -> bool {
    rustix::fs::fstat(lock).is_ok_and(|stat| stat.st_nlink > 0)
}

/// Reads the mark of an open lock file, again where a writer was in the midst of it.
pub(super) fn read_mark(lock: &File) -> Option<Mark> {
    let read = || {
        let mut bytes = [0; mark::SIZE];
        let n = rustix::io::pread(lock, &mut bytes, 0).ok()?;
        Mark::decode(bytes.get(..n)?)
    };
    (0..3).find_map(|_| read())
}

fn take(file: &File) -> Result<Option<Held<'_>>> {
    match fs2::FileExt::try_lock_exclusive(file) {
        Ok(()) => Ok(Some(Held { lock: file })),
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(None),
        Err(e) => Err(Error::write("lock the store", e)),
    }
}

/// Half of `pause` to all of it, so that processes that met once do not meet for ever.
fn jitter(pause: Duration) -> Duration {
    let mut dice = [0];
    fill_random(&mut dice);
    pause / 2 + pause / 2 * u32::from(dice[0]) / 256
}
