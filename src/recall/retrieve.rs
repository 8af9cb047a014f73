//! `memory_retrieve`: the memories that answer a question, best first; and exact look-ups.

use super::{DateTime, MemoryId, MemoryPath, Recall, Result, Utc};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The question; empty: the newest and most important.
    pub query: String,
    /// One of these categories; empty: any, and plain files.
    pub categories: Vec<String>,
    /// At most so many.
    pub limit: usize,
    /// At least so important (a plain file: 3).
    pub min_importance: u8,
    /// All of these tags.
    pub tags: Vec<String>,
    /// The entries with this key.
    pub key: Option<String>,
    /// At or below this path.
    pub path_prefix: Option<MemoryPath>,
    /// Changed at this moment or later.
    pub since: Option<DateTime<Utc>>,
    /// The memory as it was then.
    pub as_of: Option<DateTime<Utc>>,
    /// Whether the files are looked at for changes by others first.
    pub scan: bool,
    /// Whether passages are found by their words.
    pub lexical: bool,
    /// Whether passages are found by their meaning.
    pub semantic: bool,
    /// Answers that score less do not come back; `None`: the settings say it.
    pub min_score: Option<f32>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            query: String::new(),
            categories: Vec::new(),
            limit: 10,
            min_importance: 1,
            tags: Vec::new(),
            key: None,
            path_prefix: None,
            since: None,
            as_of: None,
            scan: true,
            lexical: true,
            semantic: true,
            min_score: None,
        }
    }
}

/// A memory that answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// The passage; an entry that is short, as a whole, without front matter.
    pub content: String,
    /// Of an entry.
    pub category: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Of an entry: 1 to 5.
    pub importance: Option<u8>,
    /// 0 to 1: how well it answers; comparable between questions.
    pub score: f32,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// Its key.
    pub key: Option<String>,
    /// Whether it neither ages nor is pruned.
    pub pinned: bool,
    /// Its file.
    pub path: MemoryPath,
    /// The first and the last line of the passage in the file, from 1.
    pub lines: (usize, usize),
    /// How the score came about.
    pub terms: Terms,
}

/// How a score came about: (relevance + neighbours) × importance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Terms {
    /// By words, as a share of what a perfect answer would have.
    pub lexical: f32,
    /// By meaning: the cosine.
    pub semantic: f32,
    /// Both together.
    pub relevance: f32,
    /// What the passages beside it added.
    pub neighbours: f32,
    /// The multiplier of effective importance.
    pub importance: f32,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Retrieved {
    /// Best first.
    pub memories: Vec<Memory>,
}

impl Recall {
    /// Finds memories.
    ///
    /// # Errors
    /// [`Error::Field`](crate::Error::Field), else what the store says.
    pub fn retrieve(&self, _ask: &Ask) -> Result<Retrieved> {
        todo!()
    }

    /// The memories that meet the filters of `ask`, without ranking: newest first. Its query is not looked at.
    ///
    /// # Errors
    /// As [`Recall::retrieve`].
    pub fn list(&self, _ask: &Ask) -> Result<Retrieved> {
        todo!()
    }

    /// One memory by its id: an entry, or a plain file as a whole.
    ///
    /// # Errors
    /// [`Error::NoMemory`](crate::Error::NoMemory), else what the store says.
    pub fn get(&self, _id: MemoryId) -> Result<Memory> {
        todo!()
    }
}
