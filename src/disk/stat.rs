//! What a `stat` tells of a file, the same from every system call.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use chrono::{DateTime, Utc};
use rustix::fs::{FileType, Mode, RawMode};
use rustix::io;

use super::Look;

/// What sort of thing stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A FIFO, a socket, a device.
    Special,
}

/// What changes when a file changes: two equal stamps mean the same file with the same content, as far as the clock of
/// the file system can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) mtime: i128,
    /// Nanoseconds since 1970.
    pub(crate) ctime: i128,
    /// With the bits of the type.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) nlink: u64,
}

/// Two ticks of the coarsest clock that a kernel stamps files with, in nanoseconds.
const TICK: i128 = 20_000_000;

impl Stamp {
    /// The time of the last modification; `None` for one that no calendar has.
    pub(crate) fn modified(&self) -> Option<DateTime<Utc>> {
        i64::try_from(self.mtime).ok().map(DateTime::from_timestamp_nanos)
    }

    /// Whether it was written so lately that another write could have left the same times. The system's clock is asked,
    /// whatever clock the store goes by: files are stamped with it.
    pub(crate) fn is_young(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i128::try_from(now.as_nanos()).is_ok_and(|now| now - self.mtime < TICK)
    }
}

/// A clock that counts in steps of at least a millisecond may count in such long ones, in nanoseconds.
const COARSE_TICK: i128 = 3_000_000_000;

impl Stamp {
    /// Whether the file last changed so long ago that another change would leave another time. (A time of change, unlike
    /// one of modification, cannot be set.) Some file systems count in seconds.
    pub(crate) fn is_settled(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let tick = if self.ctime % 1_000_000 == 0 { COARSE_TICK } else { TICK };
        i128::try_from(now.as_nanos()).is_ok_and(|now| now - self.ctime >= tick)
    }
}

/// A mount, told apart from others by its id where the system has one (Linux 5.8), else by the device of its directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mount {
    id: Option<u64>,
    dev: u64,
}

/// One answer of `stat`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    pub(super) stamp: Stamp,
    pub(super) mount: Mount,
}

impl Seen {
    /// Whether it belongs to the mount `home`.
    ///
    /// Devices are compared only where there are no ids, and only of directories: on overlayfs a file may show the
    /// device of a layer, and a btrfs subvolume has a device but no mount of its own (openat2 enters it, too).
    pub(super) fn is_on(&self, home: Mount) -> bool {
        match (self.mount.id, home.id) {
            (Some(a), Some(b)) => a == b,
            _ => self.kind != Kind::Directory || self.mount.dev == home.dev,
        }
    }

    /// What it is to someone whose memory lies on the mount `home`.
    pub(super) fn look(&self, home: Mount) -> Look {
        match self.kind {
            _ if !self.is_on(home) => Look::Special,
            Kind::File => Look::File { size: self.stamp.size },
            Kind::Directory => Look::Directory,
            Kind::Link => Look::Link,
            Kind::Special => Look::Special,
        }
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

/// Permission bits as the system takes them.
pub(super) fn permissions(bits: u32) -> Mode {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast,
        reason = "the type differs by system"
    )]
    Mode::from_raw_mode((bits & 0o7777) as RawMode)
}

/// Looks at what is open.
pub(super) fn of(fd: BorrowedFd<'_>) -> io::Result<Seen> {
    #[cfg(target_os = "linux")]
    match statx(fd, c"", rustix::fs::AtFlags::EMPTY_PATH) {
        Err(io::Errno::NOSYS | io::Errno::PERM) => {}
        answer => return answer,
    }
    rustix::fs::fstat(fd).map(|s| from_stat(&s))
}

/// Looks at an entry of a directory, not through a link.
pub(super) fn at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<Seen> {
    use rustix::fs::AtFlags;
    #[cfg(target_os = "linux")]
    match statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
        Err(io::Errno::NOSYS | io::Errno::PERM) => {}
        answer => return answer,
    }
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|s| from_stat(&s))
}

#[cfg(target_os = "linux")]
fn statx(dir: BorrowedFd<'_>, name: &CStr, flags: rustix::fs::AtFlags) -> io::Result<Seen> {
    use rustix::fs::{StatxFlags, StatxTimestamp, makedev};
    let ns = |t: StatxTimestamp| i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec);
    let s = rustix::fs::statx(dir, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    let dev = makedev(s.stx_dev_major, s.stx_dev_minor);
    let has_id = StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::MNT_ID);
    Ok(Seen {
        kind: FileType::from_raw_mode(s.stx_mode.into()).into(),
        stamp: Stamp {
            dev,
            ino: s.stx_ino,
            size: s.stx_size,
            mtime: ns(s.stx_mtime),
            ctime: ns(s.stx_ctime),
            mode: s.stx_mode.into(),
            uid: s.stx_uid,
            gid: s.stx_gid,
            nlink: s.stx_nlink.into(),
        },
        mount: Mount { id: has_id.then_some(s.stx_mnt_id), dev },
    })
}

#[allow(
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "types differ by system"
)]
fn from_stat(s: &rustix::fs::Stat) -> Seen {
    let dev = s.st_dev as u64;
    Seen {
        kind: FileType::from_raw_mode(s.st_mode).into(),
        stamp: Stamp {
            dev,
            ino: s.st_ino as u64,
            size: s.st_size as u64,
            mtime: s.st_mtime as i128 * 1_000_000_000 + s.st_mtime_nsec as i128,
            ctime: s.st_ctime as i128 * 1_000_000_000 + s.st_ctime_nsec as i128,
            mode: s.st_mode as u32,
            uid: s.st_uid,
            gid: s.st_gid,
            nlink: s.st_nlink as u64,
        },
        mount: Mount { id: None, dev },
    }
}
