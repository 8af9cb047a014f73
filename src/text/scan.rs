//! Reading a long text piece by piece: what a view needs of it, without ever holding all of it.

use memchr::memchr_iter;

/// Checks that a text is UTF-8, counts its lines, and keeps those that may be shown.
#[derive(Debug)]
pub struct Scan {
    /// The first line to keep, from 1, and the last.
    first: usize,
    last: usize,
    /// When so many bytes are kept, and the first line is among them, no further line is.
    enough: usize,
    /// Newlines so far.
    newlines: usize,
    kept: Vec<u8>,
    /// The start of a character whose end is in the next piece.
    torn: Vec<u8>,
    is_utf8: bool,
}

/// What a [`Scan`] found.
#[derive(Debug, PartialEq, Eq)]
pub struct Scanned {
    /// How many lines the text has, the empty one after a last newline included.
    pub lines: usize,
    /// The lines from the first that was asked for, as many as may be shown.
    pub kept: String,
}

impl Scan {
    /// Begins to read. `range` is a view's, valid or not; `limit` are the characters that may be shown (0: no limit).
    #[must_use]
    pub fn new(range: Option<&[i64]>, limit: usize) -> Self {
        let (first, last) = match range {
            None => (1, usize::MAX),
            Some(&[first, last]) => {
                let last = if last == -1 { usize::MAX } else { usize::try_from(last).unwrap_or(0) };
                (usize::try_from(first.max(1)).unwrap_or(usize::MAX), last)
            }
            Some(_) => (usize::MAX, 0),
        };
        // A character has at most four bytes; one more shows that there is more.
        let enough = if limit == 0 { usize::MAX } else { limit.saturating_mul(4).saturating_add(1) };
        Self { first, last, enough, newlines: 0, kept: Vec::new(), torn: Vec::new(), is_utf8: true }
    }

    /// Reads the next piece; `false` when the text is not UTF-8, so that no more need be read.
    pub fn feed(&mut self, piece: &[u8]) -> bool {
        self.is_utf8 = self.is_utf8 && self.check(piece);
        if self.is_utf8 {
            let here = memchr_iter(b'\n', piece).count();
            self.keep(piece, here);
            self.newlines += here;
        }
        self.is_utf8
    }

    /// What was found; `None` when the text is not UTF-8.
    #[must_use]
    pub fn end(self) -> Option<Scanned> {
        if !self.is_utf8 || !self.torn.is_empty() {
            return None;
        }
        // What is kept begins and ends with whole lines, or with the text.
        Some(Scanned { lines: self.newlines + 1, kept: String::from_utf8(self.kept).ok()? })
    }

    /// Whether the piece goes on as UTF-8 does.
    fn check(&mut self, mut piece: &[u8]) -> bool {
        while !self.torn.is_empty() {
            let Some((&next, rest)) = piece.split_first() else { return true };
            self.torn.push(next);
            piece = rest;
            match str::from_utf8(&self.torn) {
                Ok(_) => self.torn.clear(),
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        // Most texts are ASCII, and that is seen in half of the time.
        if piece.is_ascii() {
            return true;
        }
        match str::from_utf8(piece) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                self.torn.extend_from_slice(&piece[error.valid_up_to()..]);
                true
            }
        }
    }

    /// Keeps what the piece, with `here` newlines, has of the lines that are asked for.
    fn keep(&mut self, piece: &[u8], here: usize) {
        // Lines are numbered from 1, so that line n follows newline n - 1.
        let before = self.newlines;
        if before + here + 1 < self.first || self.last <= before || self.first > self.last {
            return;
        }
        let after = |newline: usize| memchr_iter(b'\n', piece).nth(newline - 1).map(|at| at + 1);
        let start = if self.first - 1 <= before { Some(0) } else { after(self.first - 1 - before) };
        let end = if self.last - before > here { Some(piece.len()) } else { after(self.last - before) };
        let (Some(start), Some(end)) = (start, end) else { return };
        let piece = &piece[start..end];
        if self.kept.len().saturating_add(piece.len()) <= self.enough {
            self.kept.extend_from_slice(piece);
            return;
        }
        // Enough is kept once there is a newline beyond that.
        let from = self.enough.saturating_sub(self.kept.len()).min(piece.len());
        let cut = memchr::memchr(b'\n', &piece[from..]).map_or(piece.len(), |at| from + at + 1);
        self.kept.extend_from_slice(&piece[..cut]);
        if cut < piece.len() || piece.ends_with(b"\n") {
            self.last = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(text: &[u8], piece: usize, range: Option<&[i64]>, limit: usize) -> Option<Scanned> {
        let mut scan = Scan::new(range, limit);
        text.chunks(piece).all(|piece| scan.feed(piece));
        scan.end()
    }

    #[test]
    fn the_lines_that_are_asked_for_are_kept() {
        let text = "one\ntwo\nthree\n";
        for (range, kept) in [
            (None, text),
            (Some([1, 1]), "one\n"),
            (Some([2, 2]), "two\n"),
            (Some([2, -1]), "two\nthree\n"),
            (Some([3, 9]), "three\n"),
            (Some([4, 4]), ""),
            (Some([5, 5]), ""),
            (Some([-7, 2]), "one\ntwo\n"),
            (Some([3, 2]), ""),
            (Some([0, 0]), ""),
        ] {
            for piece in 1..=text.len() {
                let scanned = scan(text.as_bytes(), piece, range.as_ref().map(|r| &r[..]), 0).unwrap();
                assert_eq!(scanned, Scanned { lines: 4, kept: kept.to_owned() }, "{range:?} by {piece}");
            }
        }
        assert_eq!(scan(b"", 1, None, 0), Some(Scanned { lines: 1, kept: String::new() }));
        assert_eq!(scan(b"a\n", 1, Some(&[1, 2, 3]), 0), Some(Scanned { lines: 2, kept: String::new() }));
    }

    #[test]
    fn no_more_is_kept_than_can_be_shown() {
        let text = "0123456789\n".repeat(1000);
        for piece in [1, 7, 64, 4096, text.len()] {
            let kept = scan(text.as_bytes(), piece, Some(&[10, -1]), 10).unwrap().kept;
            assert!((41..=52).contains(&kept.len()), "{} by {piece}", kept.len());
        }
        let long = "x".repeat(5000) + "\nshort\n";
        let kept = scan(long.as_bytes(), 64, None, 10).unwrap().kept;
        assert!(kept.starts_with(&"x".repeat(5000)), "a first line is kept whole, to be counted");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_judged_as_a_whole(
            bytes in prop_oneof![
                any::<Vec<u8>>(),
                "[a\nüж😀]{0,40}".prop_map(String::into_bytes),
            ],
            piece in 1_usize..9,
        ) {
            let whole = str::from_utf8(&bytes).ok();
            let scanned = scan(&bytes, piece, None, 0);
            prop_assert_eq!(scanned.as_ref().map(|s| &*s.kept), whole);
            if let (Some(text), Some(scanned)) = (whole, scanned) {
                prop_assert_eq!(scanned.lines, super::super::lines::line_count(text));
            }
        }
    }
}
