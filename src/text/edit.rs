//! The two edits of a text: replacing the one place where something stands, and inserting lines.

use memchr::memmem;

use super::lines::{newlines, nth_line};

/// Line numbers that [`NotReplaced::Several`] names.
const NAMED: usize = 20;

/// A text with its one match replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The new text.
    pub text: String,
    /// Where the match began, in bytes, in the old text as in the new.
    pub at: usize,
    /// The line of that byte, from 1.
    pub line: usize,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReplaced {
    /// There is no match.
    Nowhere,
    /// There are several, not overlapping.
    Several {
        /// The line of each of the first 20, a line as often as it matches.
        lines: Vec<usize>,
        /// How many more there are.
        more: usize,
    },
}

/// Replaces `old`, which must not be empty and must stand in the text exactly once, literally.
///
/// # Errors
/// [`NotReplaced`], when it stands nowhere or in several places.
pub fn replace(text: &str, old: &str, new: &str) -> Result<Replaced, NotReplaced> {
    let mut matches = memmem::find_iter(text.as_bytes(), old.as_bytes());
    let at = matches.next().ok_or(NotReplaced::Nowhere)?;
    let line = newlines(&text[..at]) + 1;
    if let Some(second) = matches.next() {
        let (mut lines, mut here, mut number) = (vec![line], at, line);
        for next in std::iter::once(second).chain(matches.by_ref().take(NAMED - 2)) {
            number += newlines(&text[here..next]);
            here = next;
            lines.push(number);
        }
        return Err(NotReplaced::Several { lines, more: matches.count() });
    }
    let text = [&text[..at], new, &text[at + old.len()..]].concat();
    Ok(Replaced { text, at, line })
}

/// Inserts lines after line `after` (0: before the first). The result ends with a newline.
///
/// All trailing newlines of `lines` are taken off, so that an empty text is an empty line.
///
/// # Errors
/// How many lines the text has (without the empty one after a last newline), when `after` is not among them.
pub fn insert(text: &str, after: i64, lines: &str) -> Result<String, usize> {
    let breaks = newlines(text);
    let count = breaks + usize::from(!is_ended(text));
    let after = usize::try_from(after).ok().filter(|&after| after <= count).ok_or(count)?;
    let at = if after > breaks { text.len() } else { nth_line(text, after + 1) };
    let (head, tail) = text.split_at(at);
    let lines = lines.trim_end_matches('\n');
    let end = |part| if is_ended(part) { "" } else { "\n" };
    Ok([head, end(head), lines, "\n", tail, end(tail)].concat())
}

/// Whether every line of a text has its newline.
fn is_ended(text: &str) -> bool {
    text.is_empty() || text.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_the_only_match() {
        for (text, old, new, want, at, line) in [
            ("abc", "b", "X", "aXc", 1, 1),
            ("a\nb\nc", "b\nc", "", "a\n", 2, 2),
            ("a\r\nb", "\r\n", "\n", "a\nb", 1, 1),
            ("$1 ü", "$1", "$2", "$2 ü", 0, 1),
            ("aaa", "aa", "b", "ba", 0, 1),
        ] {
            assert_eq!(replace(text, old, new), Ok(Replaced { text: want.to_owned(), at, line }));
        }
    }

    #[test]
    fn what_is_not_replaced() {
        let several = |lines: &[usize], more| Err(NotReplaced::Several { lines: lines.to_vec(), more });
        assert_eq!(replace("abc", "d", "e"), Err(NotReplaced::Nowhere));
        assert_eq!(replace("e\u{301}", "\u{E9}", ""), Err(NotReplaced::Nowhere));
        assert_eq!(replace("dup dup", "dup", ""), several(&[1, 1], 0));
        assert_eq!(replace("aaaa\na", "aa", ""), several(&[1, 1], 0));
        assert_eq!(replace("x\n\nx\nx", "x", ""), several(&[1, 3, 4], 0));
        let twenty: Vec<_> = (1..=20).collect();
        assert_eq!(replace(&"x\n".repeat(20), "x", ""), several(&twenty, 0));
        assert_eq!(replace(&"x\n".repeat(5_000), "x", ""), several(&twenty, 4_980));
    }

    #[test]
    fn inserting_lines() {
        for (text, after, lines, want) in [
            ("", 0, "", "\n"),
            ("", 0, "N", "N\n"),
            ("a\nb\n", 0, "N\n", "N\na\nb\n"),
            ("a\nb\n", 1, "N\n\n\n", "a\nN\nb\n"),
            ("a\nb\n", 2, "N", "a\nb\nN\n"),
            ("a\nb", 0, "N", "N\na\nb\n"),
            ("a\nb", 1, "N", "a\nN\nb\n"),
            ("a\nb", 2, "N", "a\nb\nN\n"),
            ("\n", 1, "N", "\nN\n"),
            ("a\r\nb", 1, "x\ny\r\n", "a\r\nx\ny\r\nb\n"),
        ] {
            assert_eq!(insert(text, after, lines).as_deref(), Ok(want), "{text:?} after {after}");
        }
        for (text, after, count) in
            [("", 1, 0), ("a\nb\n", 3, 2), ("a\nb", 3, 2), ("a", -1, 1), ("a", i64::MAX, 1), ("\n\n", 3, 2)]
        {
            assert_eq!(insert(text, after, "N"), Err(count), "{text:?} after {after}");
        }
    }
}
