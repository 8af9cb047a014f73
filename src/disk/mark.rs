//! What the lock file says: who has the lock, and how far its changes are published.
//!
//! The mark lets a reader see, with one read and without the journal, that nothing has to be mended first.
//! It is written in place and never synced: after a power cut it names another site, or is torn, and both mean "look".

use super::site::Site;
use crate::hash::Hash;

/// The content of the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The process that wrote it: while `idle` is false, the holder of the lock.
    pub(crate) pid: u32,
    pub(crate) site: Site,
    /// All changes up to this one are published.
    pub(crate) published: u64,
    /// Whether the last holder came to the end of its work.
    pub(crate) idle: bool,
}

/// What a look at the lock file finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marked {
    /// There is no lock file: nothing was ever written here.
    Never,
    /// The mark is torn, or not there.
    Unreadable,
    By(Mark),
}

/// Every mark has this many bytes, so that one overwrites the other.
pub(super) const SIZE: usize = 144;
/// Hexadecimal digits of the checksum.
const SUM: usize = 16;

impl Mark {
    /// One line for people who look into the file, with a checksum.
    pub(super) fn encode(&self) -> [u8; SIZE] {
        let state = if self.idle { "idle" } else { "busy" };
        let Site { boot, mount } = &self.site;
        let line = format!("pid {} boot {boot} mount {mount} published {} {state}", self.pid, self.published);
        let body = SIZE - SUM - 2;
        let mut text = format!("{line:<body$.body$} ");
        text.push_str(&checksum(&text));
        text.push('\n');
        let mut bytes = [b' '; SIZE];
        bytes.copy_from_slice(text.as_bytes());
        bytes
    }

    /// `None` for anything that [`Mark::encode`] did not make, whole.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() == SIZE)?;
        let (line, sum) = text.split_at_checked(SIZE - SUM - 1)?;
        if sum.strip_suffix('\n') != Some(&*checksum(line)) {
            return None;
        }
        let mut words = line.split_ascii_whitespace();
        let mut after = |name: &str| (words.next()? == name).then(|| words.next())?;
        let pid = after("pid")?.parse().ok()?;
        let boot = after("boot")?.to_owned();
        let mount = after("mount")?.parse().ok()?;
        let published = after("published")?.parse().ok()?;
        let idle = match words.next()? {
            "idle" => true,
            "busy" => false,
            _ => return None,
        };
        Some(Self { pid, site: Site { boot, mount }, published, idle })
    }
}

fn checksum(line: &str) -> String {
    let hash = Hash::of(line.as_bytes());
    let start = hash.0.first_chunk().expect("a hash has 32 bytes");
    format!("{:016x}", u64::from_be_bytes(*start))
}

/// Writes the mark of an idle store again as if the machine had been started anew since.
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test stands in for another boot")]
pub(crate) fn forge_boot(lock: &std::path::Path) {
    let mark = Mark::decode(&std::fs::read(lock).unwrap()).unwrap();
    let site = Site { boot: "another-boot".to_owned(), ..mark.site };
    std::fs::write(lock, Mark { site, ..mark }.encode()).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back() {
        for (published, idle) in [(0, true), (u64::MAX, false)] {
            let site = Site { boot: "0b7b1a3c-1d39-4d5b-9d5e-6f1d3f6c2a10".into(), mount: u64::MAX };
            let mark = Mark { pid: u32::MAX, site, published, idle };
            assert_eq!(Mark::decode(&mark.encode()), Some(mark));
        }
    }

    #[test]
    fn a_torn_mark_is_no_mark() {
        let site = Site { boot: "unknown".into(), mount: 7 };
        let whole = Mark { pid: 1, site, published: 12, idle: true }.encode();
        for cut in 0..SIZE {
            let mut torn = whole;
            torn[cut] ^= 1;
            assert_eq!(Mark::decode(&torn), None, "byte {cut}");
            torn[cut..].fill(0);
            assert_eq!(Mark::decode(&torn), None, "zeros from {cut}");
            assert_eq!(Mark::decode(&whole[..cut]), None, "{cut} bytes");
        }
    }
}
