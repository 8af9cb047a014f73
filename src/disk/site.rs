//! Where a store lies: which boot, which mount, what kind of file system.

use std::os::fd::AsFd;

use crate::error::{Error, Result};

/// One boot of the machine and one mount of the file system.
///
/// What was published under another site, and not known to be synced, may have been lost with the power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// The kernel's boot id; [`UNKNOWN`] where it has none to tell.
    pub(crate) boot: String,
    /// The unique id of the mount.
    pub(crate) mount: u64,
}

/// Stands for a boot that cannot be told from another: such a site is never taken for the same one.
pub(crate) const UNKNOWN: &str = "unknown";

impl Site {
    /// The site of an open directory.
    pub(crate) fn of(directory: impl AsFd) -> Result<Self> {
        Ok(Self { boot: boot_id(), mount: mount_id(directory)? })
    }

    /// Whether what was published at `other` is still as it was published.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self == other && self.boot != UNKNOWN
    }
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let text = text.trim();
    if text.len() == 36 { text.to_owned() } else { UNKNOWN.to_owned() }
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    UNKNOWN.to_owned()
}

/// The mount's unique id (Linux 6.8), its reusable one (5.8), or the device number.
#[cfg(target_os = "linux")]
pub(crate) fn mount_id(directory: impl AsFd) -> Result<u64> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    /// `STATX_MNT_ID_UNIQUE`.
    const UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
    let stat =
        statx(&directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | UNIQUE);
    match stat {
        Ok(stat) if stat.stx_mask & (StatxFlags::MNT_ID | UNIQUE).bits() != 0 => Ok(stat.stx_mnt_id),
        _ => device(directory),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn mount_id(directory: impl AsFd) -> Result<u64> {
    device(directory)
}

fn device(directory: impl AsFd) -> Result<u64> {
    let stat = rustix::fs::fstat(directory).map_err(|e| Error::read("stat the base directory", e))?;
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the type differs by platform")]
    Ok(stat.st_dev as u64)
}

/// Refuses file systems that cannot hold a write-ahead log, as far as they can be told.
#[cfg(target_os = "linux")]
pub(crate) fn refuse_network(directory: impl AsFd, allow_fuse: bool) -> Result<()> {
    /// Magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, 9p, AFS, Ceph.
    const NETWORK: [u32; 7] =
        [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x5346_414f, 0x00c3_6400];
    /// FUSE, which virtiofs reports, too.
    const FUSE: u32 = 0x6573_5546;
    let kind = rustix::fs::fstatfs(directory).map_err(|e| Error::read("ask for the file system", e))?.f_type;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the magic numbers have 32 bits"
    )]
    let kind = kind as u32;
    if NETWORK.contains(&kind) || kind == FUSE && !allow_fuse {
        let doing = format!("write to a file system of kind {kind:#x}");
        return Err(Error::Write { why: crate::error::Trouble::Network, doing, source: None });
    }
    Ok(())
}

/// Refuses file systems that cannot hold a write-ahead log: not told apart here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_network(_directory: impl AsFd, _allow_fuse: bool) -> Result<()> {
    Ok(())
}
