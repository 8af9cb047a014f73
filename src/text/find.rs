//! Lines that match a pattern.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// Matches that are looked for in one line.
    most: usize,
}

/// How a pattern is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct How {
    /// It is a regular expression (that of the `regex` crate: linear in the text); else a fixed string.
    pub is_regex: bool,
    /// Upper and lower case are the same.
    pub ignores_case: bool,
}

/// A line to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// Its text, without the line ending.
    pub text: String,
    /// Where it matches, in bytes of the text; empty for a line of context. Of a regular expression that matches more
    /// than 256 times in a line these are the first.
    pub matches: Vec<Range<usize>>,
}

/// The pattern is no regular expression, or too large a one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

/// Bytes that a compiled pattern may have: `\w{300}` has less, `(a{1000}){1000}` would have far more.
const SIZE: usize = 10 << 20;
/// Bytes of the automaton that is made on the way; when they are used up it begins anew.
const AUTOMATON: usize = 2 << 20;
/// As many matches of a regular expression are looked for in one line: each may look at all the rest of it.
const MATCHES: usize = 256;

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`PatternError`] where `how` says that it is a regular expression and it is none, and where it is too large.
    pub fn new(pattern: &str, how: How) -> Result<Self, PatternError> {
        let (pattern, most) = if how.is_regex {
            (Cow::Borrowed(pattern), MATCHES)
        } else {
            (Cow::Owned(regex::escape(pattern)), usize::MAX)
        };
        let regex = RegexBuilder::new(&pattern)
            .case_insensitive(how.ignores_case)
            .size_limit(SIZE)
            .dfa_size_limit(AUTOMATON)
            .build()
            .map_err(|error| PatternError(clause(&error)))?;
        Ok(Self { regex, most })
    }

    /// The matching lines of a text, each with `context` lines before and after it; nothing twice.
    ///
    /// Lines end with `\n` or `\r\n`. Between two lines whose numbers do not follow one another, others were left out.
    #[must_use]
    pub fn lines(&self, text: &str, context: (usize, usize)) -> Vec<Line> {
        // A fixed string that is in no line is seldom in the text: to look at that is quick.
        if self.most == usize::MAX && !self.regex.is_match(text) {
            return Vec::new();
        }
        let (before, after) = context;
        let mut found = Vec::new();
        let mut passed: VecDeque<(usize, &str)> = VecDeque::new();
        let mut to_come = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let matches = self.matches(line);
            if !matches.is_empty() {
                found.extend(passed.drain(..).map(|(number, line)| plain(number, line)));
                found.push(Line { matches, ..plain(number, line) });
                to_come = after;
            } else if to_come > 0 {
                found.push(plain(number, line));
                to_come -= 1;
            } else if before > 0 {
                if passed.len() == before {
                    passed.pop_front();
                }
                passed.push_back((number, line));
            }
        }
        found
    }

    /// Where a line matches; one empty range where only nothing does, as `x*` in `abc`.
    fn matches(&self, line: &str) -> Vec<Range<usize>> {
        let mut empty = None;
        let mut matches = Vec::new();
        for found in self.regex.find_iter(line).take(self.most) {
            if found.is_empty() {
                empty.get_or_insert(found.range());
            } else {
                matches.push(found.range());
            }
        }
        if matches.is_empty() { empty.into_iter().collect() } else { matches }
    }
}

fn plain(number: usize, line: &str) -> Line {
    Line { number, text: line.to_owned(), matches: Vec::new() }
}

/// What is wrong with a pattern: of the drawing that the crate makes of it the last line, in which it says so.
fn clause(error: &regex::Error) -> String {
    match error {
        regex::Error::Syntax(text) => {
            let last = text.lines().last().unwrap_or_default();
            format!("it is no regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
        regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
        error => format!("it is no regular expression: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIXED: How = How { is_regex: false, ignores_case: false };
    const REGEX: How = How { is_regex: true, ignores_case: false };
    const ANY_CASE: How = How { is_regex: false, ignores_case: true };

    /// Numbers of the lines, those that match with their ranges.
    fn shown(pattern: &str, how: How, text: &str, context: (usize, usize)) -> String {
        let lines = Pattern::new(pattern, how).unwrap().lines(text, context);
        let show = |line: &Line| {
            let ranges: Vec<_> = line.matches.iter().map(|m| format!("{}..{}", m.start, m.end)).collect();
            let ranges = ranges.join(",");
            if ranges.is_empty() { line.number.to_string() } else { format!("{}:{ranges}", line.number) }
        };
        lines.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_are_found_with_their_matches() {
        for (pattern, how, text, found) in [
            ("a.c", FIXED, "abc\na.c\nxa.ca.c", "2:0..3 3:1..4,4..7"),
            ("a.c", REGEX, "abc\na.c\nac\n", "1:0..3 2:0..3"),
            ("É", ANY_CASE, "café\nCAFÉ\ncafe\n", "1:3..5 2:3..5"),
            ("(", FIXED, "f(x)\n", "1:1..2"),
            ("^b$", REGEX, "a\r\nb\r\nb", "2:0..1 3:0..1"),
            ("$", REGEX, "a\n\n", "1:1..1 2:0..0"),
            ("x*", REGEX, "abc\nax\n", "1:0..0 2:1..2"),
            ("", FIXED, "a\n\nb", "1:0..0 2:0..0 3:0..0"),
            ("", FIXED, "", ""),
            ("a\nb", FIXED, "a\nb\n", ""),
            (r"\d{4}-\d\d", REGEX, "on 2026-11 and 2026-12\n", "1:3..10,15..22"),
        ] {
            assert_eq!(shown(pattern, how, text, (0, 0)), found, "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn context_is_shown_once() {
        let text = "1\n2\nx\n4\nx\n6\n7\n8\n9\nx\n";
        for (context, found) in [
            ((0, 0), "3:0..1 5:0..1 10:0..1"),
            ((1, 1), "2 3:0..1 4 5:0..1 6 9 10:0..1"),
            ((2, 0), "1 2 3:0..1 4 5:0..1 8 9 10:0..1"),
            ((0, 2), "3:0..1 4 5:0..1 6 7 10:0..1"),
            ((9, 9), "1 2 3:0..1 4 5:0..1 6 7 8 9 10:0..1"),
            ((usize::MAX, usize::MAX), "1 2 3:0..1 4 5:0..1 6 7 8 9 10:0..1"),
        ] {
            assert_eq!(shown("x", FIXED, text, context), found, "{context:?}");
        }
    }

    #[test]
    fn line_endings_are_not_shown() {
        let lines = Pattern::new("a", FIXED).unwrap().lines("a\r\na\r\r\na", (0, 0));
        assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["a", "a\r", "a"]);
    }

    #[test]
    fn what_is_no_pattern_says_so_in_one_clause() {
        for (pattern, problem) in [
            ("a(b", "it is no regular expression: unclosed group"),
            (
                "[z-a]",
                "it is no regular expression: invalid character class range, the start must be <= the end",
            ),
            (r"(a)\1", "it is no regular expression: backreferences are not supported"),
            ("((a{1000}){1000}){1000}", "the pattern is too large"),
        ] {
            assert_eq!(Pattern::new(pattern, REGEX).unwrap_err().to_string(), problem, "{pattern}");
        }
    }

    /// Each match of this looks at all the rest of the line in vain.
    #[test]
    fn one_line_of_a_megabyte_is_searched_in_time() {
        let line = "A".repeat(1 << 20);
        let lines = Pattern::new(".*[^A-Z]|[A-Z]", REGEX).unwrap().lines(&line, (0, 0));
        assert_eq!(lines[0].matches.len(), MATCHES);
        let lines = Pattern::new("A", FIXED).unwrap().lines(&line, (0, 0));
        assert_eq!(lines[0].matches.len(), 1 << 20);
    }

    proptest! {
        #[test]
        fn a_fixed_string_is_found_where_it_is(text in "[ab.\n]{0,40}", pattern in "[ab.]{1,3}") {
            let found = Pattern::new(&pattern, FIXED).unwrap().lines(&text, (0, 0));
            let expected: Vec<_> = (1..).zip(text.lines()).filter(|(_, line)| line.contains(&*pattern)).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (line, (number, text)) in found.iter().zip(expected) {
                prop_assert_eq!(line.number, number);
                prop_assert_eq!(&line.text, text);
                for range in &line.matches {
                    prop_assert_eq!(&line.text[range.clone()], &*pattern);
                }
            }
        }
    }
}
