//! How all that a pattern matches begins: told by a few looks at bytes, before a regular expression is run.

use super::value::is_word;

/// A fixed beginning, and what so many bytes behind it are.
#[derive(Debug)]
pub(super) struct Shape {
    /// The beginning, as it is spelled in the pattern.
    prefix: &'static [u8],
    /// Whether it may stand there in any case.
    is_any_case: bool,
    /// How many bytes behind it are of the class.
    length: usize,
    class: [bool; 256],
    /// What is spelled behind them.
    end: &'static [u8],
}

impl Default for Shape {
    fn default() -> Self {
        Self { prefix: b"", is_any_case: true, length: 0, class: [false; 256], end: b"" }
    }
}

impl Shape {
    /// Reads a pattern as far as it is `(?i)\b(PREFIX[class]{n}`; from where it is more than that, all may follow.
    pub(super) fn of(pattern: &'static str) -> Self {
        let is_any_case = pattern.starts_with("(?i)");
        let rest = pattern.trim_start_matches("(?i)").trim_start_matches(r"\b");
        let rest = rest.strip_prefix('(').unwrap_or(rest);
        let is_literal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let end = rest.bytes().position(|byte| !is_literal(&byte)).unwrap_or(rest.len());
        let mut shape = Self::default();
        // Nothing is fixed where there is another way, and no letter that may be left out.
        if has_other_way(rest) {
            return shape;
        }
        let (prefix, rest) = rest.split_at(end);
        let mut prefix = prefix.as_bytes();
        if rest.starts_with(['?', '*', '{']) {
            prefix = &prefix[..prefix.len().saturating_sub(1)];
        } else if let Some((class, length, rest)) = class(rest, is_any_case) {
            (shape.class, shape.length) = (class, length);
            // Only where there are just so many, and in one case.
            if let Some(rest) = rest.strip_prefix('}').filter(|_| !is_any_case) {
                let end = rest.bytes().position(|byte| !is_literal(&byte)).unwrap_or(rest.len());
                let is_sure = !rest[end..].starts_with(['?', '*', '{']);
                shape.end = if is_sure { &rest.as_bytes()[..end] } else { b"" };
            }
        }
        (shape.prefix, shape.is_any_case) = (prefix, is_any_case);
        shape
    }

    /// Whether a text begins so.
    pub(super) fn begins(&self, text: &[u8]) -> bool {
        if self.prefix.is_empty() && self.length == 0 {
            return true;
        }
        let Some((begin, rest)) = text.split_at_checked(self.prefix.len()) else { return false };
        let Some((inside, rest)) = rest.split_at_checked(self.length) else { return false };
        let is_prefix = self.is_spelled(begin) || self.is_any_case && begin.eq_ignore_ascii_case(self.prefix);
        let is_end = self.end.is_empty() || rest.starts_with(self.end);
        is_prefix && is_end && inside.iter().all(|&byte| self.class[usize::from(byte)])
    }

    /// Whether a text begins in the case of the pattern.
    pub(super) fn is_spelled(&self, text: &[u8]) -> bool {
        // To compare with nothing is slow where an empty slice is nowhere in memory.
        self.prefix.is_empty() || text.starts_with(self.prefix)
    }
}

/// Whether a pattern, or the group that it begins with, is more than one way to spell something.
fn has_other_way(pattern: &str) -> bool {
    let (mut depth, mut is_class, mut is_escape) = (0_u32, false, false);
    for byte in pattern.bytes() {
        match byte {
            _ if is_escape => is_escape = false,
            b'\\' => is_escape = true,
            b']' => is_class = false,
            _ if is_class => {}
            b'[' => is_class = true,
            b'(' => depth += 1,
            // The group that it begins with ends.
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            b'|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// The bytes of `[class]{n}` or `[class]{n,m}`, n, and the rest from behind it.
fn class(pattern: &str, is_any_case: bool) -> Option<([bool; 256], usize, &str)> {
    let mut class = [false; 256];
    let rest = if let Some(rest) = pattern.strip_prefix(r"\w") {
        add_words(&mut class);
        rest
    } else {
        let (mut inside, rest) = (pattern.strip_prefix('[')?.bytes().peekable(), pattern.split_once(']')?.1);
        let mut is_begun = false;
        while let Some(byte) = inside.next().filter(|&byte| byte != b']') {
            let (first, last) = match (byte, inside.peek().copied()) {
                (b'\\', Some(b'w')) => {
                    inside.next();
                    add_words(&mut class);
                    continue;
                }
                (b'\\', Some(sign)) if !sign.is_ascii_alphanumeric() => {
                    inside.next();
                    (sign, sign)
                }
                (b'[' | b'\\', _) => return None,
                (b'^', _) if !is_begun => return None,
                (first, Some(b'-')) => {
                    let mut ahead = inside.clone();
                    ahead.next();
                    match ahead.next() {
                        Some(last) if last != b']' => {
                            inside = ahead;
                            (first, last)
                        }
                        _ => (first, first),
                    }
                }
                (byte, _) => (byte, byte),
            };
            is_begun = true;
            (first..=last).for_each(|byte| class[usize::from(byte)] = true);
        }
        rest
    };
    if is_any_case {
        for byte in b'a'..=b'z' {
            let other = usize::from(byte.to_ascii_uppercase());
            let is_in = class[usize::from(byte)] || class[other];
            (class[usize::from(byte)], class[other]) = (is_in, is_in);
        }
    }
    let rest = rest.strip_prefix('{')?;
    let (digits, rest) = rest.split_at(rest.find(['}', ','])?);
    Some((class, digits.parse().ok()?, rest))
}

fn add_words(class: &mut [bool; 256]) {
    (0..=u8::MAX).filter(|&byte| is_word(byte)).for_each(|byte| class[usize::from(byte)] = true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_read_as_far_as_it_is_fixed() {
        for (pattern, prefix, length, is_in, is_out) in [
            (r"ghp_[0-9a-zA-Z]{36}", "ghp_", 36, "az09AZ", "_-"),
            (r"(?i)\b(npm_[a-z0-9]{36})(?:\W|$)", "npm_", 36, "azAZ09", "_"),
            (r"glpat-[\w-]{20}", "glpat-", 20, "_-aZ", "."),
            (r"github_pat_\w{82}", "github_pat_", 82, "_aZ0", "-"),
            (r"(?i)\b(pscale_pw_[\w=\.-]{32,64})(?:\W|$)", "pscale_pw_", 32, "=.-_a", "/"),
            (r"\b(SG\.[a-z]{66})(?:\W|$)", "SG", 0, "", "a"),
            (r"\b(?:AKIA|ASIA)[A-Z]{16}\b", "", 0, "", "A"),
            (r"\b(sgp_[a-f]{4}|sgq_[a-f]{4})\b", "", 0, "", "a"),
            (r"abc?[a-z]{4}", "ab", 0, "", "a"),
            (r"xox[os]-\d+", "xox", 0, "", "o"),
        ] {
            let shape = Shape::of(pattern);
            assert_eq!((shape.prefix, shape.length), (prefix.as_bytes(), length), "{pattern}");
            assert!(is_in.bytes().all(|byte| shape.class[usize::from(byte)]), "{pattern}");
            assert!(!is_out.bytes().any(|byte| shape.class[usize::from(byte)]), "{pattern}");
        }
        let shape = Shape::of(r"\b(ab-[0-9]{3}AA)(?:\W|$)");
        assert!(shape.begins(b"ab-123AA") && !shape.begins(b"ab-123A4"));
        assert!(Shape::of(r"ab-[0-9]{3,5}AA").begins(b"ab-12345AA"));
        assert!(Shape::of(r"ab-[0-9]{3}AA?").begins(b"ab-123B"));
        let shape = Shape::of(r"(?i)abc_[0-9]{3}");
        assert!(shape.begins(b"ABC_123") && shape.begins(b"abc_1234") && shape.is_spelled(b"abc_"));
        assert!(!shape.begins(b"abc_12x") && !shape.begins(b"abc_12") && !shape.is_spelled(b"ABC_"));
    }
}
