//! Two edits of one text, made into one.

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both edits, in one text.
    Clean(String),
    /// They meet in the same lines: the text with conflict markers.
    Conflict(String),
}

/// Merges `theirs` and `mine`, which were both made of `base`, line by line.
#[must_use]
pub fn merge(_base: &str, _theirs: &str, _mine: &str) -> Merged {
    todo!()
}
