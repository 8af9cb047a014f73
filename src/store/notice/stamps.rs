//! The stamps that files had when they were last found to be what the history says, and the file that they lie in.

use std::collections::HashMap;

use crate::disk::Stamp;
use crate::hash::Hash;

/// What is known of all files, as far as the history went up to `mark`: every memory that lived then is among them, so that
/// one whose file is gone is missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamps {
    /// The newest version when the files were looked at: what changed since must be looked at again.
    pub(super) mark: i64,
    /// The chain's hash at the mark.
    pub(super) chain: Hash,
    files: HashMap<Box<str>, Known>,
    /// The number of the look that goes on.
    round: u32,
    /// Whether a file has another name, by which others may write to it.
    pub(super) has_links: bool,
    /// How much of this is not in the file.
    pub(super) unsaved: usize,
}

/// A file that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// What it was when it was the newest version of its memory; `None`: it is to be read again in any case.
    same: Option<Same>,
    /// The last look that met it.
    round: u32,
}

/// What of a stamp tells that the content is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Same {
    dev: u64,
    ino: u64,
    size: u64,
    /// Nanoseconds since 1970.
    mtime: i64,
    ctime: i64,
}

impl Default for Stamps {
    fn default() -> Self {
        Self { mark: 0, chain: Hash([0; 32]), files: HashMap::new(), round: 0, has_links: false, unsaved: 0 }
    }
}

impl Stamps {
    /// Begins a look at all files.
    pub(super) fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Whether a file, by its path as it is on disk, is what it was.
    pub(super) fn is_same(&mut self, path: &[u8], stamp: &Stamp) -> bool {
        let Ok(path) = std::str::from_utf8(path) else { return false };
        let Some(known) = self.files.get_mut(path) else { return false };
        known.round = self.round;
        known.same.is_some_and(|same| Same::of(stamp) == Some(same))
    }

    /// The files that this look has not met.
    pub(super) fn unmet(&self) -> Vec<Box<str>> {
        let unmet = self.files.iter().filter(|(_, known)| known.round != self.round);
        unmet.map(|(path, _)| path.clone()).collect()
    }

    /// Takes note that a file with this stamp is what the history says. Where a write that came after could have left the
    /// same stamp it stays in doubt.
    pub(super) fn note(&mut self, path: &str, stamp: &Stamp) {
        self.set(path, Same::of(stamp).filter(|_| stamp.is_settled()));
    }

    /// Lets a file be looked at until it is known to be what the history says, or not to be.
    pub(super) fn doubt(&mut self, path: &str) {
        self.set(path, None);
    }

    /// Lets all files be looked at.
    #[cfg(all(test, feature = "search"))]
    pub(super) fn doubt_all(&mut self) {
        self.files.values_mut().for_each(|known| known.same = None);
    }

    fn set(&mut self, path: &str, same: Option<Same>) {
        let before = self.files.insert(path.into(), Known { same, round: self.round });
        self.unsaved += usize::from(before.is_none_or(|before| before.same != same));
    }

    /// There is neither a file nor a memory at a path.
    pub(super) fn forget(&mut self, path: &str) {
        self.unsaved += usize::from(self.files.remove(path).is_some());
    }

    /// The bytes of the file: [`FORMAT`], mark and chain, then each path with its length and its numbers, little-endian,
    /// and in the end the hash of all that.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        bytes.extend(self.mark.to_le_bytes());
        bytes.extend(self.chain.0);
        for (path, Known { same, .. }) in &self.files {
            let Ok(length) = u16::try_from(path.len()) else { continue };
            bytes.extend(length.to_le_bytes());
            bytes.extend(path.as_bytes());
            // No file has the inode 0.
            let same = same.unwrap_or(Same { dev: 0, ino: 0, size: 0, mtime: 0, ctime: 0 });
            for number in [same.dev, same.ino, same.size] {
                bytes.extend(number.to_le_bytes());
            }
            for time in [same.mtime, same.ctime] {
                bytes.extend(time.to_le_bytes());
            }
        }
        let sum = Hash::of(&bytes);
        bytes.extend(sum.0);
        bytes
    }

    /// `None` for anything that [`Stamps::encode`] did not make, whole.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk()?;
        if Hash::of(body) != Hash(*sum) {
            return None;
        }
        let mut rest = body.strip_prefix(FORMAT)?;
        let mark = i64::from_le_bytes(*take(&mut rest)?);
        let chain = Hash(*take(&mut rest)?);
        let mut files = HashMap::with_capacity(rest.len() / 64);
        while !rest.is_empty() {
            let length = u16::from_le_bytes(*take(&mut rest)?);
            let (path, numbers) = rest.split_at_checked(length.into())?;
            rest = numbers;
            let mut number = || take(&mut rest).map(|bytes| u64::from_le_bytes(*bytes));
            let (dev, ino, size) = (number()?, number()?, number()?);
            let (mtime, ctime) = (number()?.cast_signed(), number()?.cast_signed());
            let same = (ino > 0).then_some(Same { dev, ino, size, mtime, ctime });
            files.insert(std::str::from_utf8(path).ok()?.into(), Known { same, round: 0 });
        }
        Some(Self { mark, chain, files, ..Self::default() })
    }
}

/// What a file of this form begins with; another form has another name.
const FORMAT: &[u8] = b"memdir stamps 1\n";

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(first)
}

impl Same {
    /// `None` for times that no file has.
    fn of(stamp: &Stamp) -> Option<Self> {
        let Stamp { dev, ino, size, mtime, ctime, .. } = *stamp;
        let (mtime, ctime) = (mtime.try_into().ok()?, ctime.try_into().ok()?);
        Some(Self { dev, ino, size, mtime, ctime })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ino: u64) -> Stamp {
        let time = 1_700_000_000_123_456_789;
        Stamp {
            dev: u64::MAX,
            ino,
            size: 7,
            mtime: -time,
            ctime: time,
            mode: 0o100_600,
            uid: 0,
            gid: 0,
            nlink: 1,
        }
    }

    fn some() -> Stamps {
        let mut stamps = Stamps { mark: 42, chain: Hash::of(b"chain"), ..Stamps::default() };
        for (n, path) in ["a.md", "d/é.md", "d/x"].into_iter().enumerate() {
            stamps.note(path, &stamp(1 + n as u64));
        }
        stamps.doubt("new");
        stamps
    }

    #[test]
    fn they_come_back_from_their_file() {
        for stamps in [some(), Stamps::default()] {
            let read = Stamps::decode(&stamps.encode()).unwrap();
            assert_eq!(read, Stamps { unsaved: 0, ..stamps });
        }
    }

    #[test]
    fn a_damaged_file_is_none() {
        let whole = some().encode();
        for cut in 0..whole.len() {
            assert_eq!(Stamps::decode(&whole[..cut]), None, "{cut} bytes");
            let mut torn = whole.clone();
            torn[cut] ^= 1;
            assert_eq!(Stamps::decode(&torn), None, "byte {cut}");
        }
        // One that is whole, and of another form.
        let mut other = whole[..whole.len() - 32].to_vec();
        other[14] = b'2';
        let sum = Hash::of(&other);
        other.extend(sum.0);
        assert_eq!(Stamps::decode(&other), None);
    }

    #[test]
    fn only_the_very_same_file_is_the_same() {
        let mut stamps = some();
        stamps.begin();
        let right = stamp(1);
        assert!(stamps.is_same(b"a.md", &right));
        for (path, other) in [
            (&b"a.md"[..], Stamp { ino: 9, ..right }),
            (b"a.md", Stamp { dev: 9, ..right }),
            (b"a.md", Stamp { size: 9, ..right }),
            (b"a.md", Stamp { mtime: right.mtime + 1, ..right }),
            (b"a.md", Stamp { ctime: right.ctime + 1, ..right }),
            (b"b.md", right),
            (b"\xff", right),
        ] {
            assert!(!stamps.is_same(path, &other), "{other:?}");
        }
        let mut unmet = stamps.unmet();
        unmet.sort();
        assert_eq!(unmet, ["d/x".into(), "d/é.md".into(), "new".into()] as [Box<str>; 3]);
        assert!(!stamps.is_same(b"new", &right), "it is in doubt");
    }

    /// As git has it: what was written in the tick in which it was looked at may be written again in that tick.
    #[test]
    fn what_was_just_written_is_not_believed() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let now = i128::try_from(now).unwrap();
        let (fine, second) = (7, 1_000_000_000);
        for (ctime, is_believed) in [
            (now - 10 * second + fine, true),
            (now + 10 * second, false),
            // A file system that counts seconds says nothing of when in them.
            ((now - second) / second * second, false),
            ((now - 10 * second) / second * second, true),
        ] {
            let mut stamps = Stamps::default();
            let stamp = Stamp { ctime, ..stamp(1) };
            stamps.note("a", &stamp);
            assert_eq!(stamps.is_same(b"a", &stamp), is_believed, "{}", ctime - now);
        }
    }
}
