//! Lines with their numbers, as a view shows them: what a long file costs is counting its newlines.

use std::fmt::Write as _;

use memchr::{memchr, memchr_iter, memrchr};

/// Characters of a snippet's line.
const SNIPPET_LINE: usize = 2_000;
/// Lines that a snippet shows before and after the one that changed.
const SNIPPET_AROUND: usize = 2;
/// Characters before a line's own text: six for the number, and a tab. Longer numbers are wider.
const PREFIX: usize = 7;
/// Bytes in which newlines are counted before one is looked for.
const BLOCK: usize = 4096;
/// Room for the line that says what is missing.
const NOTICE: usize = 96;

/// How many lines a view shows: what newlines separate, the empty one after a last newline included.
#[cfg(test)]
pub(super) fn line_count(text: &str) -> usize {
    newlines(text) + 1
}

/// The first and last of `lines` lines that a range picks; `None` where that is nothing.
///
/// A start below 1 counts as 1; an end of -1, or past the last line, is the last line.
#[must_use]
pub fn pick(range: &[i64], lines: usize) -> Option<(usize, usize)> {
    let &[start, end] = range else { return None };
    let first = usize::try_from(start.max(1)).ok()?;
    let last = if end == -1 { lines } else { usize::try_from(end).ok()?.min(lines) };
    (first <= last).then_some((first, last))
}

/// The lines of a text to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    /// The text, at least from the first line to show on; what can be shown of it at most is enough.
    pub text: &'a str,
    /// Which line of the whole text it begins with, from 1.
    pub begins: usize,
    /// How many lines the whole text has: what newlines separate, the empty one after a last newline included.
    pub lines: usize,
    /// The first line to show, from 1.
    pub first: usize,
    /// The last one, at least `first` and at most `lines`.
    pub last: usize,
    /// Characters that the shown lines may have together; 0: no limit.
    pub limit: usize,
}

/// Writes a heading (all its parts in a row) and under it the numbered lines, cut at the limit; then a last line
/// says what is missing.
#[must_use]
pub fn body_under(heading: &[&str], body: Body<'_>) -> String {
    let Body { text, begins, lines, first, last, limit } = body;
    let limit = if limit == 0 { usize::MAX } else { limit };
    let mut rest = &text[nth_line(text, first - begins + 1)..];
    let bytes = if last < lines { nth_line(rest, last - first + 2) } else { rest.len() };
    let most = bytes.saturating_add((last - first + 1).saturating_mul(PREFIX + 1));
    let heading_bytes: usize = heading.iter().map(|part| part.len()).sum();
    let room = most.min(limit.saturating_mul(4)).saturating_add(heading_bytes + NOTICE);
    let mut out = String::with_capacity(room);
    out.extend(heading.iter().copied());

    // Bytes are never fewer than characters: where even they fit, nothing need be counted.
    let fits = most <= limit;
    let mut used = 0;
    for number in first..=last {
        let (line, tail) = split_line(rest);
        let start = out.len();
        if number > first {
            out.push('\n');
        }
        push_number(&mut out, number);
        let before = out.len() - start; // all ASCII: bytes are characters
        let room = limit - used;
        let chars = if fits { Some(line.len()) } else { chars_within(line, room.saturating_sub(before)) };
        match chars {
            Some(chars) if before + chars <= room => {
                out.push_str(line);
                used += before + chars;
            }
            _ if number > first => {
                out.truncate(start);
                let shown = number - 1;
                let _ = write!(
                    out,
                    "\n... [truncated: showing lines {first}-{shown} of {lines}. Use view_range to see more]"
                );
                return out;
            }
            _ => {
                let shown = room.saturating_sub(before);
                out.truncate(start + before.min(room));
                out.extend(line.chars().take(shown));
                let all = line.chars().count();
                let _ = write!(out, "\n... [truncated: line {first} has {all} characters, {shown} shown]");
                return out;
            }
        }
        rest = tail;
    }
    out
}

/// Appends the line in which byte `at` stands and two on either side; `number` is that line's.
pub fn push_snippet(out: &mut String, text: &str, at: usize, number: usize) {
    let mut start = line_start(text, at);
    let mut first = number;
    while start > 0 && number - first < SNIPPET_AROUND {
        start = line_start(text, start - 1);
        first -= 1;
    }
    let mut rest = Some(&text[start..]);
    for n in first..=number + SNIPPET_AROUND {
        let Some(from_here) = rest else { return };
        let (line, tail) = split_line(from_here);
        if n > first {
            out.push('\n');
        }
        push_number(out, n);
        match super::cut(line, SNIPPET_LINE) {
            Some(head) => out.extend([head, "…"]),
            None => out.push_str(line),
        }
        rest = (line.len() < from_here.len()).then_some(tail);
    }
}

pub(super) fn newlines(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count()
}

/// Where line `number` begins; the end of the text where there are fewer.
pub(super) fn nth_line(text: &str, number: usize) -> usize {
    let Some(mut before) = number.checked_sub(2) else { return 0 };
    // Counting newlines is several times faster than stopping at each.
    for (n, block) in text.as_bytes().chunks(BLOCK).enumerate() {
        let here = memchr_iter(b'\n', block).count();
        if before < here {
            let at = memchr_iter(b'\n', block).nth(before).expect("there are more than that");
            return n * BLOCK + at + 1;
        }
        before -= here;
    }
    text.len()
}

fn line_start(text: &str, at: usize) -> usize {
    memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |newline| newline + 1)
}

/// The first line without its newline, and what follows that.
fn split_line(text: &str) -> (&str, &str) {
    match memchr(b'\n', text.as_bytes()) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

/// The number, right-aligned in six characters, and a tab.
fn push_number(out: &mut String, number: usize) {
    let mut prefix = *b"      \t";
    let mut rest = number;
    for digit in prefix[..6].iter_mut().rev() {
        *digit = b"0123456789"[rest % 10];
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    match str::from_utf8(&prefix) {
        Ok(prefix) if rest == 0 => out.push_str(prefix),
        _ => out.extend([&*number.to_string(), "\t"]),
    }
}

/// How many characters a line has, if at most `room`.
fn chars_within(line: &str, room: usize) -> Option<usize> {
    if line.len() / 4 > room {
        return None; // a character has at most four bytes
    }
    Some(line.chars().count()).filter(|&chars| chars <= room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, range: &[i64], limit: usize) -> String {
        let lines = line_count(text);
        let (first, last) = pick(range, lines).expect("the case picks lines");
        body_under(&[], Body { text, begins: 1, lines, first, last, limit })
    }

    #[test]
    fn lines_are_what_newlines_separate() {
        for (text, shown) in [
            ("", "     1\t"),
            ("a\n", "     1\ta\n     2\t"),
            ("a\r\nb\u{2028}c", "     1\ta\r\n     2\tb\u{2028}c"),
            ("\n\n", "     1\t\n     2\t\n     3\t"),
        ] {
            assert_eq!(body(text, &[1, -1], 0), shown);
        }
    }

    #[test]
    fn ranges() {
        for (range, picked) in [
            (&[1, 3][..], Some((1, 3))),
            (&[3, -1], Some((3, 5))),
            (&[-7, 2], Some((1, 2))),
            (&[5, i64::MAX], Some((5, 5))),
            (&[-1, -1], Some((1, 5))),
            (&[i64::MIN, 1], Some((1, 1))),
            (&[6, -1], None),
            (&[6, 9], None),
            (&[4, 2], None),
            (&[0, 0], None),
            (&[-3, -2], None),
            (&[1, i64::MIN], None),
            (&[1, 2, 3], None),
            (&[1], None),
        ] {
            assert_eq!(pick(range, 5), picked, "{range:?}");
        }
        assert_eq!(pick(&[1, -1], 0), None);
    }

    #[test]
    fn a_body_is_cut_at_the_last_whole_line() {
        // Each line costs 7 + 2 characters, and a newline but for the first.
        for (limit, shown) in [
            (29, "     1\té1\n     2\té2\n     3\té3"),
            (
                28,
                "     1\té1\n     2\té2\n... [truncated: showing lines 1-2 of 3. Use view_range to see more]",
            ),
            (
                19,
                "     1\té1\n     2\té2\n... [truncated: showing lines 1-2 of 3. Use view_range to see more]",
            ),
            (18, "     1\té1\n... [truncated: showing lines 1-1 of 3. Use view_range to see more]"),
            (9, "     1\té1\n... [truncated: showing lines 1-1 of 3. Use view_range to see more]"),
            (8, "     1\té\n... [truncated: line 1 has 2 characters, 1 shown]"),
            (7, "     1\t\n... [truncated: line 1 has 2 characters, 0 shown]"),
            (2, "  \n... [truncated: line 1 has 2 characters, 0 shown]"),
        ] {
            assert_eq!(body("é1\né2\né3", &[1, -1], limit), shown, "limit {limit}");
        }
        assert_eq!(
            body("a\nb\nc\nd", &[2, 4], 17),
            "     2\tb\n     3\tc\n... [truncated: showing lines 2-3 of 4. Use view_range to see more]"
        );
    }

    #[test]
    fn lines_are_found_across_blocks() {
        let text = "0123456\n".repeat(3 * BLOCK / 8) + "end";
        for number in [1, 2, BLOCK / 8, BLOCK / 8 + 1, BLOCK / 8 + 2, 3 * BLOCK / 8, 3 * BLOCK / 8 + 1] {
            assert_eq!(nth_line(&text, number), (number - 1) * 8, "line {number}");
        }
        assert_eq!(nth_line(&text, 3 * BLOCK / 8 + 2), text.len());
    }

    #[test]
    fn a_view_allocates_once_and_no_more_than_it_shows() {
        let text = "a line of some forty characters, or so.\n".repeat(50_000);
        let lines = line_count(&text);
        for (first, last) in [(1, 50), (40_000, 40_019)] {
            let out =
                body_under(&["head\n"], Body { text: &text, begins: 1, lines, first, last, limit: 16_000 });
            assert!((out.len()..out.len() + 256).contains(&out.capacity()), "{first} to {last}");
        }
    }

    #[test]
    fn a_snippet_is_clipped_to_the_text() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix\n";
        for (at, number, shown) in [
            (0, 1, "     1\tone\n     2\ttwo\n     3\tthree"),
            (4, 2, "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour"),
            (9, 3, "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive"),
            (text.len() - 1, 6, "     4\tfour\n     5\tfive\n     6\tsix\n     7\t"),
            (text.len(), 7, "     5\tfive\n     6\tsix\n     7\t"),
        ] {
            let mut out = String::new();
            push_snippet(&mut out, text, at, number);
            assert_eq!(out, shown, "byte {at}");
        }
        let mut out = String::new();
        push_snippet(&mut out, &"é".repeat(2001), 0, 1);
        assert_eq!(out, format!("     1\t{}…", "é".repeat(2000)));
    }
}
