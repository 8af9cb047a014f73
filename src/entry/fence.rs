//! The lines between which front matter stands.

use std::ops::Range;

use memchr::memchr;

use super::Broken;

/// Bytes of YAML that are read; what people write is a hundredth of it.
const MOST: usize = 64 * 1024;
/// The line of the file on which the YAML begins, from 1.
pub(super) const FIRST_LINE: usize = 2;

pub(super) const BOM: char = '\u{FEFF}';

/// What the first lines of a text are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The first line is not `---`.
    Nothing,
    /// The first line is, and no other one ends it.
    Unclosed,
    /// More than [`MOST`] bytes stand in between.
    TooLong,
    Closed(Fence),
}

/// Where front matter stands in a text, in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// What is between the two lines, whole lines.
    pub(super) yaml: Range<usize>,
    /// After the closing line.
    pub(super) body: usize,
    /// How the opening line ends.
    pub(super) line_end: &'static str,
}

pub(super) fn too_long() -> Broken {
    Broken { line: 1, why: format!("it is longer than {MOST} bytes") }
}

pub(super) fn find(text: &str) -> Found {
    let begin = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    if !text[begin..].starts_with("---") {
        return Found::Nothing;
    }
    let Some((first, start)) = line(text, begin) else { return Found::Nothing };
    if !is_fence(first, "---") {
        return Found::Nothing;
    }
    let line_end = if first.ends_with('\r') { "\r\n" } else { "\n" };
    let mut at = start;
    while let Some((next, after)) = line(text, at) {
        if is_fence(next, "---") || is_fence(next, "...") {
            if at - start > MOST {
                return Found::TooLong;
            }
            return Found::Closed(Fence { yaml: start..at, body: after, line_end });
        }
        at = after;
    }
    Found::Unclosed
}

/// The line at a place, without its newline, and where the next one begins.
fn line(text: &str, at: usize) -> Option<(&str, usize)> {
    if at >= text.len() {
        return None;
    }
    let rest = &text[at..];
    Some(match memchr(b'\n', rest.as_bytes()) {
        Some(end) => (&rest[..end], at + end + 1),
        None => (rest, text.len()),
    })
}

fn is_fence(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_stands_between_two_lines_at_the_very_beginning() {
        let between = |text: &str| match find(text) {
            Found::Closed(fence) => {
                Some((text[fence.yaml].to_owned(), text[fence.body..].to_owned(), fence.line_end))
            }
            _ => None,
        };
        let is = |yaml: &str, body: &str, end: &'static str| Some((yaml.to_owned(), body.to_owned(), end));
        for (text, found) in [
            ("---\na: 1\n---\nb\n", is("a: 1\n", "b\n", "\n")),
            ("---\na: 1\n---", is("a: 1\n", "", "\n")),
            ("---\na: 1\n...\nb", is("a: 1\n", "b", "\n")),
            ("--- \t\na: 1\n---  \nb", is("a: 1\n", "b", "\n")),
            ("---\r\na: 1\r\n---\r\nb", is("a: 1\r\n", "b", "\r\n")),
            ("\u{FEFF}---\na: 1\n---\n", is("a: 1\n", "", "\n")),
            ("---\n---\nb\n---\n", is("", "b\n---\n", "\n")),
            ("---\na: |\n  ---\n---\n", is("a: |\n  ---\n", "", "\n")),
        ] {
            assert_eq!(between(text), found, "{text:?}");
        }
        for text in [
            "",
            "a\n---\nb: 1\n---\n",
            "\n---\na: 1\n---\n",
            " ---\na: 1\n---\n",
            "----\na\n---\n",
            "--- a\n---\n",
        ] {
            assert_eq!(find(text), Found::Nothing, "{text:?}");
        }
        for text in ["---", "---\n", "---\n\ntext\n", "---\na: 1\n ---\n"] {
            assert_eq!(find(text), Found::Unclosed, "{text:?}");
        }
    }

    #[test]
    fn what_is_read_is_bounded() {
        let of = |bytes: usize| format!("---\n{}\n---\n", "x".repeat(bytes - 1));
        assert!(matches!(find(&of(MOST)), Found::Closed(_)));
        assert_eq!(find(&of(MOST + 1)), Found::TooLong);
    }
}
