//! A version's bytes as what differs from the version before: a common prefix, a common suffix, a new middle.

use std::ops::Range;

/// How one text becomes another: keep `prefix` bytes, put in the middle, keep `suffix` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) prefix: usize,
    pub(super) suffix: usize,
}

impl Delta {
    /// The longest common prefix of `old` and `new`, then the longest common suffix of what is left.
    pub(super) fn between(old: &[u8], new: &[u8]) -> Self {
        let prefix = common_prefix(old, new);
        let (old, new) = (&old[prefix..], &new[prefix..]);
        Self { prefix, suffix: common_suffix(old, new) }
    }

    /// Where the middle lies in a new text of `size` bytes.
    pub(super) fn middle(self, size: usize) -> Range<usize> {
        self.prefix..size - self.suffix
    }

    /// The new text; `None` when the delta does not fit `old` (a damaged journal).
    pub(super) fn apply(self, old: &[u8], middle: &[u8]) -> Option<Vec<u8>> {
        let head = old.get(..self.prefix)?;
        let tail = old.get(old.len().checked_sub(self.suffix)?..)?;
        Some([head, middle, tail].concat())
    }
}

/// Whole chunks are compared first: `memcmp` is many times faster than a loop over bytes.
const CHUNK: usize = 256;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let same = a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK)).take_while(|(x, y)| x == y).count() * CHUNK;
    same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let same = a.rchunks_exact(CHUNK).zip(b.rchunks_exact(CHUNK)).take_while(|(x, y)| x == y).count() * CHUNK;
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn appending_keeps_everything_before() {
        assert_eq!(Delta::between(b"a\nb\n", b"a\nb\nc\n"), Delta { prefix: 4, suffix: 0 });
        assert_eq!(Delta::between(b"aa", b"aaa"), Delta { prefix: 2, suffix: 0 });
        assert_eq!(Delta::between(b"", b""), Delta { prefix: 0, suffix: 0 });
    }

    #[test]
    fn a_delta_that_does_not_fit_is_noticed() {
        assert_eq!(Delta { prefix: 3, suffix: 0 }.apply(b"ab", b""), None);
        assert_eq!(Delta { prefix: 0, suffix: 3 }.apply(b"ab", b""), None);
    }

    proptest! {
        #[test]
        fn every_text_comes_back(head in "[ab]{0,600}", old in "[ab]{0,9}", new in "[ab]{0,9}", tail in "[ab]{0,600}") {
            let (old, new) = (format!("{head}{old}{tail}"), format!("{head}{new}{tail}"));
            let delta = Delta::between(old.as_bytes(), new.as_bytes());
            let middle = &new.as_bytes()[delta.middle(new.len())];
            prop_assert_eq!(delta.apply(old.as_bytes(), middle).unwrap(), new.as_bytes());
        }
    }
}
