//! What a file on disk tells, next to what the journal says it should be. Pure: every case is a row of a table.

/// What stands where a memory should be, or should not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    /// Nothing.
    Missing,
    /// A regular file with these bytes.
    File(&'a [u8]),
    /// Anything else: a directory, a link, something below a file.
    Other,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All is as it should be.
    Fine,
    /// The disk lags behind the journal: publish the head again.
    Publish,
    /// The disk lags behind the journal: remove the file again.
    Remove,
    /// Someone else wrote this: it is a version of theirs.
    Edited,
    /// Someone else removed it: so it is deleted.
    Deleted,
}

/// Judges one path whose last publish was cut short, or came before a crash of the machine. (What differs from a publish
/// that can be trusted is always someone else's doing.)
///
/// `head` are the bytes that should be there (`None`: nothing should); `is_old` tells whether bytes are those of an
/// earlier version, or what a crash leaves of one. After a crash a file that was not synced can be missing, or any of its
/// 4 KiB blocks can be zeros, or the file before it can be back. Modification times never decide.
pub(super) fn verdict(head: Option<&[u8]>, seen: Seen<'_>, is_old: impl Fn(&[u8]) -> bool) -> Verdict {
    match (head, seen) {
        (None, Seen::Missing | Seen::Other) => Verdict::Fine,
        (None, Seen::File(bytes)) if is_zero(bytes) || is_old(bytes) => Verdict::Remove,
        (Some(_), Seen::Missing) => Verdict::Publish,
        (Some(_), Seen::Other) => Verdict::Deleted,
        (Some(head), Seen::File(bytes)) if bytes == head => Verdict::Fine,
        (Some(head), Seen::File(bytes)) if is_torn(head, bytes) || is_zero(bytes) || is_old(bytes) => {
            Verdict::Publish
        }
        (_, Seen::File(_)) => Verdict::Edited,
    }
}

/// The block of a file system: what is written, or lost, as a whole.
const BLOCK: usize = 4096;

/// Whether every block of `bytes` is that of `head` or zeros, as an unsynced file is after a crash.
pub(super) fn is_torn(head: &[u8], bytes: &[u8]) -> bool {
    bytes.len() <= head.len()
        && bytes
            .chunks(BLOCK)
            .zip(head.chunks(BLOCK))
            .all(|(seen, right)| right.starts_with(seen) || seen.iter().all(|&byte| byte == 0))
}

/// Nothing, or nothing but zeros: a file of which only the name, or the length, had reached the disk.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"the head\n";
    const OLD: &[u8] = b"an earlier version\n";

    #[test]
    fn every_case_has_its_verdict() {
        use Verdict::{Deleted, Edited, Fine, Publish, Remove};
        let file = Seen::File;
        for (head, seen, right) in [
            (Some(HEAD), file(HEAD), Fine),
            (Some(HEAD), Seen::Missing, Publish),
            (Some(HEAD), Seen::Other, Deleted),
            (Some(HEAD), file(b""), Publish),
            (Some(HEAD), file(b"the h"), Publish),
            (Some(HEAD), file(&[0; 9]), Publish),
            (Some(HEAD), file(&[0; 4]), Publish),
            (Some(HEAD), file(&[0; 10]), Publish),
            (Some(HEAD), file(b"the head\n\0"), Edited),
            (Some(HEAD), file(OLD), Publish),
            (Some(HEAD), file(b"the head, and a person's line\n"), Edited),
            (Some(HEAD), file(b"something else"), Edited),
            (None, Seen::Missing, Fine),
            (None, Seen::Other, Fine),
            (None, file(OLD), Remove),
            (None, file(b"a person's file"), Edited),
            (None, file(b""), Remove),
            (None, file(&[0; 5000]), Remove),
        ] {
            assert_eq!(verdict(head, seen, |bytes| bytes == OLD), right, "{head:?} {seen:?}");
        }
    }

    #[test]
    fn blocks_can_be_lost_one_by_one() {
        let head: Vec<u8> = (0..3 * BLOCK + 100).map(|i| u8::try_from(i % 251).unwrap()).collect();
        for lost in 0..16 {
            let mut seen = head.clone();
            for block in (0..4).filter(|block| lost & (1 << block) != 0) {
                let end = seen.len().min((block + 1) * BLOCK);
                seen[block * BLOCK..end].fill(0);
            }
            assert!(is_torn(&head, &seen), "{lost:b}");
            seen[BLOCK + 7] = b'x';
            assert!(!is_torn(&head, &seen), "{lost:b} and an edit");
        }
    }
}
