//! What a file tells as a memory: an entry, or a plain file. Pure.

use chrono::{DateTime, Utc};

use super::alike::gist;
use super::passages::{self, Span};
use crate::entry::{self, Fields, Front};
use crate::hash::Hash;
use crate::id::MemoryId;
use crate::index::{Doc, Facts};
use crate::path::MemoryPath;
use crate::version::{Operation, Version};

/// The categories of the article.
pub(super) const CATEGORIES: [&str; 6] = [
    "user_preference",
    "project_context",
    "factual_knowledge",
    "decision_log",
    "relationship",
    "task_progress",
];

/// What a plain file counts as where importance is asked for.
pub(super) const PLAIN_IMPORTANCE: u8 = 3;

/// A memory's file, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) is_entry: bool,
    pub(super) category: Option<String>,
    pub(super) importance: Option<u8>,
    pub(super) pinned: bool,
    pub(super) tags: Vec<String>,
    pub(super) key: Option<String>,
    pub(super) created: DateTime<Utc>,
    pub(super) updated: DateTime<Utc>,
    pub(super) expires: Option<DateTime<Utc>>,
    /// Where the body begins: byte and line.
    pub(super) body: usize,
    pub(super) body_line: usize,
}

/// When a memory began and last changed, as the history has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    began: DateTime<Utc>,
    changed: DateTime<Utc>,
    /// Whether it was changed since it began.
    is_changed: bool,
}

impl Times {
    /// Where only what the file says matters.
    pub(super) fn unknown() -> Self {
        let never = DateTime::UNIX_EPOCH;
        Self { began: never, changed: never, is_changed: false }
    }

    pub(super) fn of(version: &Version) -> Self {
        let is_changed = version.operation != Operation::Created && version.prev.is_some();
        Self { began: began(version.memory_id), changed: version.created_at, is_changed }
    }
}

/// A memory's id has the time in it at which it was made.
fn began(id: MemoryId) -> DateTime<Utc> {
    let millis = i64::try_from(id.0.timestamp_ms()).unwrap_or(0);
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

impl Record {
    /// Reads a file's text. `categories` are those of the settings.
    pub(super) fn read(text: &str, path: &MemoryPath, times: Times, categories: &[String]) -> Self {
        let fields = match entry::read(text) {
            Front::Fields(fields) => Some(fields),
            Front::None | Front::Broken(_) => None,
        };
        let folder = folder(path);
        let is_known = |name: &str| is_category(name, categories);
        let Some(fields) = fields else {
            return Self::plain(times, 0, 1);
        };
        let in_category = folder.as_deref().is_some_and(is_known);
        if !fields.is_ours && !in_category {
            return Self { tags: fields.tags, ..Self::plain(times, fields.body, fields.body_line) };
        }
        let (created, updated) = dates(&fields, times);
        Self {
            is_entry: true,
            category: fields.category.filter(|name| is_known(name)).or(folder.filter(|_| in_category)),
            importance: Some(fields.importance.unwrap_or(PLAIN_IMPORTANCE)),
            pinned: fields.pinned,
            tags: fields.tags,
            key: fields.key,
            created,
            updated,
            expires: fields.expires_at,
            body: fields.body,
            body_line: fields.body_line,
        }
    }

    fn plain(times: Times, body: usize, body_line: usize) -> Self {
        Self {
            is_entry: false,
            category: None,
            importance: None,
            pinned: false,
            tags: Vec::new(),
            key: None,
            created: times.began,
            updated: times.changed,
            expires: None,
            body,
            body_line,
        }
    }

    /// Whether it has ended by then.
    pub(super) fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// The body as what was stored: without the line end that a file closes with.
    pub(super) fn content<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.body..).unwrap_or_default().trim_matches(['\n', '\r'])
    }

    /// The first and the last line of [`Record::content`] in the file.
    pub(super) fn lines(&self, text: &str) -> (usize, usize) {
        let body = text.get(self.body..).unwrap_or_default();
        let before = body.len() - body.trim_start_matches(['\n', '\r']).len();
        let first = self.body_line + body[..before].matches('\n').count();
        (first, first + self.content(text).lines().count().saturating_sub(1))
    }

    pub(super) fn passages(&self, text: &str) -> Vec<Span> {
        passages::split(text, self.body, self.body_line)
    }

    /// The passages, each with the words that it is found by beside its own.
    pub(super) fn found_by(&self, text: &str, path: &MemoryPath) -> impl Iterator<Item = String> {
        let context = context(self, path);
        let passage = move |span: Span| format!("{}\n{context}", &text[span.start..span.end]);
        self.passages(text).into_iter().map(passage)
    }

    fn facts(&self, text: &str) -> Facts {
        Facts {
            is_entry: self.is_entry,
            category: self.category.clone(),
            importance: self.importance.unwrap_or(PLAIN_IMPORTANCE),
            pinned: self.pinned,
            tags: self.tags.clone(),
            key: self.key.clone(),
            fold: fold(self.content(text)),
            updated: self.updated.timestamp(),
            expires: self.expires.map(|end| end.timestamp()),
        }
    }
}

/// A number for a text that is the same for all texts that may say the same.
pub(super) fn fold(content: &str) -> u64 {
    let hash = Hash::of(gist(content).as_bytes());
    u64::from_be_bytes(std::array::from_fn(|at| hash.0[at]))
}

/// Whether a category may be used.
pub(super) fn is_category(name: &str, more: &[String]) -> bool {
    CATEGORIES.contains(&name) || more.iter().any(|known| known == name)
}

/// The first folder on the way to a file.
fn folder(path: &MemoryPath) -> Option<String> {
    let mut segments = path.segments();
    let first = segments.next()?;
    segments.next().map(|_| first.to_owned())
}

/// What front matter says, unless the file was edited after that; then what the history says.
fn dates(fields: &Fields, times: Times) -> (DateTime<Utc>, DateTime<Utc>) {
    let created = fields.created_at.unwrap_or(times.began);
    let said = fields.updated_at.or(fields.created_at);
    let updated = match said {
        // The change that wrote the date took a moment.
        Some(said) if !times.is_changed || times.changed <= said + chrono::Duration::seconds(5) => said,
        _ => times.changed,
    };
    (created, updated)
}

/// A memory as the index gets it; without passages where it is gone, is no text, or is passed over, as in listings.
pub(super) fn doc(version: &Version, bytes: Option<&[u8]>, categories: &[String]) -> Doc {
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let nothing = Doc { memory: version.memory, ..Doc::default() };
    let (Some(text), Some(path)) = (text, version.place()) else { return nothing };
    if path.is_passed_over() {
        return nothing;
    }
    let record = Record::read(text, path, Times::of(version), categories);
    Doc { memory: version.memory, facts: record.facts(text), passages: record.found_by(text, path).collect() }
}

/// As many tags as an entry may be stored with.
pub(super) const MOST_TAGS: usize = 32;

/// Words that a passage is found by beside its own: tags, and of a plain file the names on its path.
fn context(record: &Record, path: &MemoryPath) -> String {
    // Many tags by hand would make all else weigh nothing.
    let tags = record.tags.iter().take(MOST_TAGS).map(String::as_str);
    if record.is_entry {
        return tags.collect::<Vec<_>>().join(" ");
    }
    let names = path.segments().map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
    names.chain(tags).collect::<Vec<_>>().join(" ")
}
