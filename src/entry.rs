//! Front matter: what the head of a memory's file says of it, read by a YAML library and edited without touching a byte that
//! the edit does not own.
//!
//! Front matter is what stands between a first line `---` and the next line `---` or `...`. Where there is no such second
//! line, the first one is a thematic break. What is read is flat: the keys of memdir, from a mapping of names; every other
//! key is parsed and left alone. An edit is checked before it is given back: it must read as what was asked for, and all
//! that it does not name as before.

use chrono::{DateTime, Utc};

mod edit;
mod fence;
mod fields;
mod lines;
mod name;
mod scalar;
mod time;
mod write;
mod yaml;

pub(crate) use edit::{edit, with_body};
pub(crate) use name::{folded, is_markdown, slug};
pub(crate) use time::parse as parse_time;
pub(crate) use write::compose;

use fence::{Fence, Found};

/// The keys of memdir, in the order in which a new file has them.
const KEYS: [&str; 9] =
    ["id", "category", "importance", "tags", "created_at", "updated_at", "expires_at", "key", "pinned"];

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
///
/// A key without a value (`key:`, `key: null`, `key: ""`) counts as absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Fields {
    /// `id`, as it stands there: an alias for people.
    pub(crate) id: Option<String>,
    /// From 1 to 5.
    pub(crate) importance: Option<u8>,
    /// From a list, or from one text with commas between the tags.
    pub(crate) tags: Vec<String>,
    pub(crate) created_at: Option<DateTime<Utc>>,
    pub(crate) updated_at: Option<DateTime<Utc>>,
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(crate) key: Option<String>,
    pub(crate) pinned: bool,
    pub(crate) category: Option<String>,
    /// Whether one of memdir's own keys is there (`id importance category key pinned expires_at`), with a value of any kind.
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
    /// Written to the second, in UTC.
    Time(DateTime<Utc>),
    List(Vec<String>),
    Flag(bool),
}

/// Reads the head of a text.
pub(crate) fn read(text: &str) -> Front {
    match fence::find(text) {
        Found::Nothing | Found::Unclosed => Front::None,
        Found::TooLong => Front::Broken(fence::too_long()),
        Found::Closed(fence) => match fields::read(text, &fence) {
            Ok(fields) => Front::Fields(Box::new(fields)),
            Err(broken) => Front::Broken(broken),
        },
    }
}

/// Why the front matter of `after` does not parse, where that of `before` did and `after` still begins like front matter.
pub(crate) fn broke(before: &str, after: &str) -> Option<Broken> {
    let now = match fence::find(after) {
        Found::Nothing => return None,
        Found::Unclosed => Broken { line: 1, why: "there is no closing line `---`".to_owned() },
        Found::TooLong => fence::too_long(),
        Found::Closed(fence) => fields::read(after, &fence).err()?,
    };
    matches!(read(before), Front::Fields(_)).then_some(now)
}

/// The front matter of a text, found and parsed.
fn parsed(text: &str) -> Result<(Fence, yaml::Document), Broken> {
    match fence::find(text) {
        Found::Nothing | Found::Unclosed => {
            Err(Broken { line: 1, why: "there is no front matter".to_owned() })
        }
        Found::TooLong => Err(fence::too_long()),
        Found::Closed(fence) => {
            let document = yaml::read(&text[fence.yaml.clone()])?;
            Ok((fence, document))
        }
    }
}

#[cfg(test)]
mod tests;
