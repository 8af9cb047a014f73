//! Cuts a stream of bytes into lines, and hands out those that are complete in groups.

use std::ops::Range;

/// Lines in a group, at most.
const GROUP_LINES: usize = 64;
/// A group with this many bytes gets no further line.
const GROUP_BYTES: usize = 4 << 20;
/// A buffer that has grown beyond this for a long line is given back once it is empty.
const KEPT_CAPACITY: usize = 128 << 10;

/// The bytes that have come and were not yet handed out.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that have been handed out.
    taken: usize,
    /// Bytes at the front of `buffer` that are known to hold no line end beyond `taken`.
    searched: usize,
    /// Bytes that a line may have.
    limit: usize,
    /// Whether the rest of a line that was too long is still to come.
    skipping: bool,
    ended: bool,
}

/// What can be answered now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Group<'a> {
    /// Complete lines, without their ends.
    Lines(Vec<&'a [u8]>),
    /// One line that is over the limit, and is not kept.
    TooLong,
}

impl Lines {
    /// `limit`: bytes that a line may have.
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), taken: 0, searched: 0, limit, skipping: false, ended: false }
    }

    /// Where bytes are to be appended. All groups should have been taken before.
    pub(super) fn space(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.taken);
        self.searched = self.searched.saturating_sub(self.taken);
        self.taken = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        }
        &mut self.buffer
    }

    /// Says that no more bytes will come: what is left is a line, too.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether no more bytes will come.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Takes the next group of complete lines; `None` when more bytes are needed, or all is done.
    pub(super) fn next_group(&mut self) -> Option<Group<'_>> {
        if self.skipping {
            let Some(end) = self.line_end(self.taken) else {
                self.taken = self.buffer.len();
                return None;
            };
            self.taken = end + 1;
            self.skipping = false;
        }
        let mut lines: Vec<Range<usize>> = Vec::new();
        let first = self.taken;
        while lines.len() < GROUP_LINES && self.taken - first < GROUP_BYTES {
            let start = self.taken;
            let (end, next) = match self.line_end(start) {
                Some(end) => (end, end + 1),
                None => (self.buffer.len(), self.buffer.len()),
            };
            let is_complete = next > end || self.ended && end > start;
            let is_long = end - start > self.limit;
            if is_long && lines.is_empty() {
                self.taken = next;
                self.skipping = !is_complete;
                return Some(Group::TooLong);
            }
            if is_long || !is_complete {
                break;
            }
            lines.push(start..end);
            self.taken = next;
        }
        if lines.is_empty() {
            return None;
        }
        Some(Group::Lines(lines.into_iter().map(|line| &self.buffer[line]).collect()))
    }

    /// The place of the first line end at or after `from`, where no line end is before it.
    fn line_end(&mut self, from: usize) -> Option<usize> {
        let from = from.max(self.searched);
        let end = memchr::memchr(b'\n', &self.buffer[from..]).map(|at| from + at);
        self.searched = end.unwrap_or(self.buffer.len());
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of `input` when it arrives `step` bytes at a time: a too long line is `!`, a group ends with `|`.
    fn cut(input: &str, step: usize, limit: usize) -> String {
        let mut lines = Lines::new(limit);
        let mut out = String::new();
        let mut take = |lines: &mut Lines| {
            while let Some(group) = lines.next_group() {
                match group {
                    Group::Lines(group) => {
                        for line in group {
                            out.push_str(str::from_utf8(line).unwrap());
                            out.push(',');
                        }
                        out += "|";
                    }
                    Group::TooLong => out += "!|",
                }
            }
        };
        for bytes in input.as_bytes().chunks(step) {
            lines.space().extend_from_slice(bytes);
            take(&mut lines);
        }
        lines.end();
        take(&mut lines);
        out
    }

    #[test]
    fn lines_that_are_there_make_one_group() {
        let cases = [
            ("", ""),
            ("a\nb\n", "a,b,|"),
            ("a\n\nb", "a,,|b,|"),
            ("a\nlonger\nb\n", "a,|!|b,|"),
            ("longer\nlonger\n", "!|!|"),
            ("a\nlonger", "a,|!|"),
            ("exact\n", "exact,|"),
        ];
        for (input, out) in cases {
            assert_eq!(cut(input, 100, 5), out, "{input:?}");
        }
    }

    #[test]
    fn how_the_bytes_arrive_changes_no_line() {
        let input = "one\n\ntwo is far too long to be kept\nthree\nfour is too long as well";
        for step in 1..input.len() {
            let out = cut(input, step, 9).replace('|', "");
            assert_eq!(out, "one,,!three,!", "{step} bytes at a time");
        }
    }

    #[test]
    fn a_group_is_bounded() {
        let out = cut(&"x\n".repeat(GROUP_LINES + 1), 1 << 20, 9);
        assert_eq!(out, format!("{}|x,|", "x,".repeat(GROUP_LINES)));
        let long = "y".repeat(GROUP_BYTES);
        let out = cut(&format!("{long}\n{long}\n"), 1 << 30, GROUP_BYTES);
        assert_eq!(out.matches('|').count(), 2);
    }

    #[test]
    fn a_long_line_is_not_kept() {
        let mut lines = Lines::new(100);
        for _ in 0..1000 {
            lines.space().extend_from_slice(&[b'z'; 4096]);
            while lines.next_group().is_some() {}
        }
        assert!(lines.buffer.capacity() < 64 << 10);
    }
}
