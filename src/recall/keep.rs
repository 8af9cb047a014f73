//! `memory_store`: a new entry, or what it is found to be the same as.

use super::{DateTime, MemoryId, MemoryPath, Recall, Result, Utc};

/// An entry to be stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewEntry {
    /// The text, not empty.
    pub content: String,
    /// A known category.
    pub category: String,
    /// 1 to 5.
    pub importance: u8,
    /// At most 32 of 64 characters.
    pub tags: Vec<String>,
    /// When it ends, in the future; `None`: never.
    pub expires_at: Option<DateTime<Utc>>,
    /// At most one live entry of a category has it.
    pub key: Option<String>,
    /// Entries that it replaces.
    pub supersedes: Vec<MemoryId>,
    /// Whether it neither ages nor is pruned.
    pub pinned: bool,
}

/// What came of storing an entry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// The entry: a new one, or the one that was there.
    pub memory_id: MemoryId,
    /// Its file.
    pub path: MemoryPath,
    /// Entries whose files it replaced.
    pub superseded: Vec<MemoryId>,
    /// Whether it was there before; then this is its id, too.
    pub duplicate_of: Option<MemoryId>,
    /// The most alike of what stays beside it, up to three.
    pub similar: Vec<Similar>,
}

/// An entry that is alike.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Similar {
    /// The entry.
    pub id: MemoryId,
    /// Its text.
    pub content: String,
    /// How alike, 0 to 1.
    pub score: f32,
    /// What differs: `number`, `name`, `negation`, `identifier`, else `text`.
    pub differs: Vec<&'static str>,
}

impl Recall {
    /// Stores an entry.
    ///
    /// # Errors
    /// [`Error::Field`](crate::Error::Field) for a field that breaks its rule, else as [`Store::change`](crate::Store::change).
    pub fn store(&self, _new: NewEntry) -> Result<Stored> {
        todo!()
    }

    /// Deletes an entry; the reason is in the history.
    ///
    /// # Errors
    /// [`Error::NoMemory`](crate::Error::NoMemory), [`Error::PlainFile`](crate::Error::PlainFile), else as
    /// [`Store::change`](crate::Store::change).
    pub fn delete(&self, _id: MemoryId, _reason: &str) -> Result<MemoryPath> {
        todo!()
    }
}
