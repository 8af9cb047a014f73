//! Lines that match a pattern.

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Pattern {}

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
    /// Where it matches, in bytes of the text; empty for a line of context.
    pub matches: Vec<std::ops::Range<usize>>,
}

/// The pattern is no regular expression, or too large a one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no regular expression: {0}")]
pub struct PatternError(String);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`PatternError`] where `how` says that it is a regular expression and it is none.
    pub fn new(_pattern: &str, _how: How) -> Result<Self, PatternError> {
        todo!()
    }

    /// The matching lines of a text, each with `context` lines before and after it; nothing twice.
    #[must_use]
    pub fn lines(&self, _text: &str, _context: (usize, usize)) -> Vec<Line> {
        todo!()
    }
}
