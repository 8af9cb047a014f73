//! Pure work on text: lines and their numbers, edits, sizes for people, and what an answer may quote.

use std::borrow::Cow;
use std::sync::Arc;

use crate::path;

mod diff;
mod edit;
mod fill;
mod find;
mod lines;
mod merge;
mod near;
mod scan;

pub use diff::unified;
pub use edit::{NotReplaced, insert, replace};
pub(crate) use fill::fill;
pub use find::{How, Line, Pattern, PatternError};
pub use lines::{Body, body_under, pick, push_snippet};
pub use merge::{Merged, merge};
pub(crate) use near::nearest;
pub use scan::{Scan, Scanned};

/// All bytes of a file, shared and not copied.
pub type Bytes = Arc<Vec<u8>>;

/// Characters of a value from outside that an answer quotes.
const QUOTED: usize = 200;

/// Cuts a value after 200 characters, with `…` in place of the rest.
#[must_use]
pub fn quote(value: &str) -> Cow<'_, str> {
    match cut(value, QUOTED) {
        Some(head) => Cow::Owned(format!("{head}…")),
        None => Cow::Borrowed(value),
    }
}

/// As [`quote`], and shows what could hide or fake text as `\u{XXXX}`.
#[must_use]
pub fn echo(value: &str) -> Cow<'_, str> {
    match cut(value, QUOTED) {
        Some(head) => Cow::Owned(format!("{}…", path::escape(head))),
        None => path::escape(value),
    }
}

/// A text in one line, without characters that are not seen.
#[cfg(feature = "search")]
#[must_use]
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    path::without_invisible(&words.join(" ")).into_owned()
}

/// The first `chars` characters, if there are more.
fn cut(value: &str, chars: usize) -> Option<&str> {
    if value.len() <= chars {
        return None;
    }
    value.char_indices().nth(chars).map(|(end, _)| &value[..end])
}

/// A count with its noun, `1 line` or `2 lines`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A size for people: base 1024, exact quotients whole, others with one decimal, exact ties to even.
#[must_use]
pub fn human_size(bytes: u64) -> String {
    const UNITS: [char; 5] = ['B', 'K', 'M', 'G', 'T'];
    let power = (bytes.max(1).ilog2() / 10).min(4);
    let unit = 1u64 << (10 * power);
    let suffix = UNITS[power as usize]; // at most 4
    if bytes.is_multiple_of(unit) {
        return format!("{}{suffix}", bytes / unit);
    }
    let (tenfold, unit) = (u128::from(bytes) * 10, u128::from(unit));
    let (floor, rest) = (tenfold / unit, tenfold % unit);
    let up = match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => floor % 2,
        std::cmp::Ordering::Greater => 1,
    };
    let tenths = floor + up;
    format!("{}.{}{suffix}", tenths / 10, tenths % 10)
}

/// Units of a size, in bytes.
const SIZES: &[(&str, u64)] = &[("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Reads a size as people write it: `512KiB`, or a number of bytes.
#[must_use]
pub fn read_size(text: &str) -> Option<u64> {
    amount(text, SIZES)
}

/// Reads a number with one of `units` behind it, each with what it stands for.
#[must_use]
pub fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, shown) in [
            (0, "0B"),
            (1, "1B"),
            (1000, "1000B"),
            (1023, "1023B"),
            (1024, "1K"),
            (1025, "1.0K"),
            (1280, "1.2K"),
            (1408, "1.4K"),
            (1152, "1.1K"),
            (1536, "1.5K"),
            (1664, "1.6K"),
            (1792, "1.8K"),
            (4096, "4K"),
            (1_048_575, "1024.0K"),
            (1 << 20, "1M"),
            ((1 << 20) + 1, "1.0M"),
            (5 << 30, "5G"),
            (3 << 40, "3T"),
            (1 << 50, "1024T"),
            (u64::MAX, "16777216.0T"),
        ] {
            assert_eq!(human_size(bytes), shown);
        }
    }

    #[test]
    fn what_an_answer_quotes() {
        let exact = "é".repeat(200);
        assert_eq!(quote(&exact), exact);
        assert_eq!(quote(&format!("{exact}é")), format!("{exact}…"));
        assert_eq!(echo("a\nb"), "a\\u{000A}b");
        assert_eq!(echo(&"\0".repeat(201)), format!("{}…", "\\u{0000}".repeat(200)));
    }
}
