//! How memories end: expiry, capacity, disuse.

use super::{MemoryId, MemoryPath, Recall, Result};

/// An entry that is, or would be, pruned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Doomed {
    /// The entry.
    pub id: MemoryId,
    /// Its file.
    pub path: MemoryPath,
    /// Why.
    pub why: Why,
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It has expired.
    Expired,
    /// There are more entries than the settings allow, and this one has the lowest effective importance.
    Capacity {
        /// Its importance, decayed by age.
        effective: f32,
    },
    /// Nothing has asked for it in a long time.
    Unused,
}

impl Recall {
    /// Removes entries that have expired, are too many, or unused; with `dry_run` only says which.
    ///
    /// # Errors
    /// As [`Store::change`](crate::Store::change).
    pub fn prune(&self, _dry_run: bool) -> Result<Vec<Doomed>> {
        todo!()
    }
}

impl Why {
    /// In one word: `expired`, `capacity`, `unused`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Capacity { .. } => "capacity",
            Self::Unused => "unused",
        }
    }
}
