//! Forgetting a whole store: files, journal, everything.

use chrono::{DateTime, Utc};

use super::Store;
use crate::error::Result;
use crate::hash::Hash;

/// What went, and what is out of reach.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// When.
    pub at: DateTime<Utc>,
    /// Files below `memories/`.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Memories that the history knew, living and deleted.
    pub memories: u64,
    /// Versions of them.
    pub versions: u64,
    /// The end of the chain over all versions: what went, in one hash.
    pub head: Hash,
    /// SHA-256 of each file that went, sorted.
    pub contents: Vec<Hash>,
    /// What could not be reached: files that other names (hard links) lead to.
    pub out_of_reach: Vec<String>,
    /// What to look for afterwards: pieces of the texts and names that went. A person's secrets: for the search only.
    pub traces: Vec<Vec<u8>>,
}

impl Store {
    /// Removes all memories, the journal and everything else of the store but `memdir.toml`. Cannot be undone.
    ///
    /// Before the receipt is shown to anybody, another process should search what is left of the store for
    /// [`Receipt::traces`]: the library cannot start one.
    ///
    /// # Errors
    /// As [`Store::change`]; what was not removed by then is removed by calling it again.
    pub fn forget(&self) -> Result<Receipt> {
        todo!()
    }
}
