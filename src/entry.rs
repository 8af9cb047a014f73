//! Front matter: what the head of a memory's file says of it, read by a YAML library and edited without touching a byte that
//! the edit does not own.

use chrono::{DateTime, Utc};

mod time;

pub(crate) use time::parse as parse_time;

/// What the head of a text is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Front {
    /// There is none.
    None,
    /// It begins like front matter, and is none that can be read.
    Broken(Broken),
    /// It parses to a mapping.
    Fields(Box<Fields>),
}

/// Why front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The line of the file, from 1.
    pub(crate) line: usize,
    /// What is wrong, for a person.
    pub(crate) why: String,
}

/// What front matter says, as far as memdir reads it; other keys are nobody's business.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Fields {
    /// `id`, as it stands there: an alias for people.
    pub(crate) id: Option<String>,
    pub(crate) importance: Option<u8>,
    pub(crate) tags: Vec<String>,
    pub(crate) created_at: Option<DateTime<Utc>>,
    pub(crate) updated_at: Option<DateTime<Utc>>,
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(crate) key: Option<String>,
    pub(crate) pinned: bool,
    pub(crate) category: Option<String>,
    /// Whether one of memdir's own keys is there (`id importance category key pinned expires_at`).
    pub(crate) is_ours: bool,
    /// Keys of memdir's whose values are of the wrong type or out of range, with the line: they count as absent.
    pub(crate) faults: Vec<Broken>,
    /// Where the body begins, in bytes.
    pub(crate) body: usize,
    /// The line of the file on which the body begins, from 1.
    pub(crate) body_line: usize,
}

/// A value that an edit gives a key; `None` in [`edit`] takes the key away.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Integer(i64),
    Text(String),
    Time(DateTime<Utc>),
    List(Vec<String>),
    Flag(bool),
}

/// Reads the head of a text.
pub(crate) fn read(_text: &str) -> Front {
    todo!()
}

/// The text with these keys of its front matter changed, and nothing else: unknown keys, comments, order and line ends stay.
///
/// # Errors
/// Where there is no front matter that parses: a file without it is never given one.
pub(crate) fn edit(_text: &str, _edits: &[(&str, Option<Value>)]) -> Result<String, Broken> {
    todo!()
}

/// The text with another body under the same front matter.
///
/// # Errors
/// As [`edit`].
pub(crate) fn with_body(_text: &str, _body: &str) -> Result<String, Broken> {
    todo!()
}

/// The file of a new entry: front matter in the order of the specification, and the body.
pub(crate) fn compose(_fields: &[(&str, Value)], _body: &str) -> String {
    todo!()
}

/// The file name, without its ending, for a content: its first words, lower case, letters and digits of any script joined by
/// `-`, at most 60 bytes.
pub(crate) fn slug(_content: &str) -> String {
    todo!()
}

/// A text as duplicates are told by: NFKC, case folded, runs of white space one blank, trimmed.
pub(crate) fn folded(_text: &str) -> String {
    todo!()
}
