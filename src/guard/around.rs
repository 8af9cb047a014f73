//! What stands around a place in a text: escapes before it, a row of letters that it is inside of, a value after it.

use super::value::is_value;

/// A row of letters and digits so long is a blob, and what is spelled inside of it is chance.
const BLOB: usize = 24;
/// How far behind a name its value may begin.
const REACH: usize = 64;
/// Bytes of a value at least.
const VALUE: usize = 8;

/// Looks around places that come in order, so that no byte is looked at again for the next one.
pub(super) struct Around<'t> {
    text: &'t [u8],
    /// No byte from the last place that was asked for up to here is a blank.
    solid: usize,
    row: Row,
    value: Value,
}

/// The letters of base64 that end before `end`, as far as they had to be looked at.
#[derive(Clone, Copy)]
struct Row {
    start: usize,
    end: usize,
    /// Nothing but small letters and slashes: words, a path.
    is_words: bool,
}

/// A run of what values are made of, as far as it had to be looked at.
#[derive(Clone, Copy)]
struct Value {
    start: usize,
    end: usize,
    /// The place behind its last byte that is no letter and joins no words.
    sign: usize,
}

impl<'t> Around<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let row = Row { start: 0, end: 0, is_words: true };
        Self { text, solid: 0, row, value: Value { start: 0, end: 0, sign: 0 } }
    }

    /// Whether so many bytes from `at` on have no blank among them.
    pub(super) fn is_solid(&mut self, at: usize, least: usize) -> bool {
        self.solid = self.solid.max(at);
        while self.solid < at + least && self.text.get(self.solid).is_some_and(|byte| *byte > b' ') {
            self.solid += 1;
        }
        self.solid >= at + least
    }

    /// Whether what stands at `at` is inside of a long row of letters, as of base64. No place is before the last one.
    pub(super) fn is_in_blob(&mut self, at: usize) -> bool {
        let mut row = Row { start: at, end: at, is_words: true };
        let is_blob = |row: &Row| at - row.start >= BLOB && !row.is_words;
        while row.start > 0 && !is_blob(&row) {
            if row.start == self.row.end {
                row.start = self.row.start;
                row.is_words &= self.row.is_words;
                break;
            }
            let byte = self.text[row.start - 1];
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')) {
                break;
            }
            row.is_words &= byte.is_ascii_lowercase() || byte == b'/';
            row.start -= 1;
        }
        self.row = row;
        is_blob(&row)
    }

    /// Whether something like a value begins soon behind `at`: eight bytes or more, with a digit or a sign among them.
    /// No place is before the last one.
    pub(super) fn is_followed(&mut self, at: usize) -> bool {
        let value = &mut self.value;
        if value.end < at {
            *value = Value { start: at, end: at, sign: 0 };
        }
        loop {
            let start = value.start.max(at);
            if start > at + REACH {
                return false;
            }
            if value.end >= start + VALUE && value.sign > start {
                return true;
            }
            let Some(&byte) = self.text.get(value.end) else { return false };
            value.end += 1;
            if !is_part(byte) {
                value.start = value.end;
            } else if !(byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.') || byte >= 0x80) {
                value.sign = value.end;
            }
        }
    }
}

/// Whether a byte is one of a value, and does not join it to its name.
fn is_part(byte: u8) -> bool {
    is_value(byte) && !matches!(byte, b':' | b'=' | b',')
}

/// Whether a text ends with a character that is written as an escape (`\n`, `%20`, `\u003d`) or with a colour code: its
/// letters are no part of what follows.
pub(super) fn is_escaped(text: &[u8]) -> bool {
    match text {
        [.., b'\\', last] => matches!(last, b'n' | b'r' | b't' | b'b' | b'f' | b'v'),
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()) => true,
        [.., b'%', high, low] | [.., b'\\', b'x', high, low]
            if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
        {
            true
        }
        [code @ .., b'm'] => {
            let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
            let numbers = code.iter().rev().take(16).take_while(|byte| is_number(byte)).count();
            let before = &code[..code.len() - numbers];
            [&b"\x1b["[..], br"\x1b[", br"\x1B[", br"\033[", br"\e[", br"\u001b[", br"\u001B["]
                .iter()
                .any(|begin| before.ends_with(begin))
        }
        _ => false,
    }
}

/// How many of the digits from `at` on belong to an escape that began before them: `20` in `%204111`.
pub(super) fn escaped_digits(text: &[u8], at: usize) -> usize {
    for written in 0..=3.min(at) {
        let (before, head) = text[..at].split_at(at - written);
        if !head.iter().all(u8::is_ascii_hexdigit) {
            return 0;
        }
        let width: usize = if before.ends_with(b"%") || before.ends_with(br"\x") {
            2
        } else if before.ends_with(br"\u") {
            4
        } else {
            continue;
        };
        return width.saturating_sub(written);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_as_an_escape_is_no_letter() {
        for text in [
            r"a\n",
            r"a\t",
            "%20",
            "%3D",
            "%3d",
            r"\u003d",
            r"\x3d",
            "\x1b[m",
            "\x1b[31m",
            "\x1b[1;31m",
            r"\x1b[0m",
            r"\033[1m",
            r"\e[32m",
            r"\u001b[32m",
        ] {
            assert!(is_escaped(text.as_bytes()), "{text}");
        }
        for text in ["", "n", "%zz", "%2", "[31m", "31m", "m", r"\q", r"\u03d"] {
            assert!(!is_escaped(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn digits_of_an_escape_are_told_from_those_behind() {
        for (text, at, digits) in [
            ("%204111", 1, 2),
            ("%a04111", 2, 1),
            ("%3D4111", 3, 0),
            (r"\x204111", 2, 2),
            (r"\u00204111", 2, 4),
            (r"\u00a04111", 5, 1),
            (r"\u003d4111", 6, 0),
            ("a4111", 1, 0),
            ("4111", 0, 0),
        ] {
            assert_eq!(escaped_digits(text.as_bytes(), at), digits, "{text}");
        }
    }

    #[test]
    fn a_row_of_letters_is_a_blob_when_it_is_long_and_no_words() {
        let text = b"docs/secrets/aws/keys/and/more/key Zm9vYmFyYmF6cXV4Zm9vYmFyKey key";
        let mut around = Around::new(text);
        let places: Vec<_> = (0..=text.len()).filter(|&at| around.is_in_blob(at)).collect();
        assert_eq!(places, (35 + BLOB..=62).collect::<Vec<_>>());
    }

    #[test]
    fn blanks_are_seen_from_before() {
        let mut around = Around::new(b"abc defgh");
        let lengths: Vec<_> = (0..9).map(|at| (0..9).rfind(|&n| around.is_solid(at, n)).unwrap()).collect();
        assert_eq!(lengths, [3, 2, 1, 0, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_value_is_seen_from_before_it_and_from_inside() {
        let text = b"password: is some-word, then Tr0ub4dor&3 and no more of it";
        let mut around = Around::new(text);
        let places: Vec<_> = (0..=text.len()).filter(|&at| around.is_followed(at)).collect();
        let value = text.iter().position(|byte| *byte == b'T').unwrap();
        assert_eq!(places, (0..=value + 3).collect::<Vec<_>>());
        let far = [&[b' '; 65][..], b"Tr0ub4dor&3"].concat();
        assert!(!Around::new(&far).is_followed(0));
        assert!(Around::new(&far).is_followed(1));
    }
}
