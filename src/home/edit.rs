//! A memory edited by a person while agents may write to it: a private copy, and a three-way merge.

use std::path::Path;

use crate::error::Result;
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::store::Store;

/// A private copy of a memory, for an editor.
#[derive(Debug)]
pub struct Draft {}

/// What became of an edited copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edited {
    /// It was as before.
    Unchanged,
    /// It was written.
    Written,
    /// The memory had changed meanwhile, in other places: both are in it now.
    Merged,
    /// The memory had changed meanwhile, in the same places. It stays as it is; the edited text is in the history.
    Conflict {
        /// The version that has the edited text.
        mine: VersionId,
        /// Both texts, with conflict markers where they differ.
        both: String,
    },
}

impl Draft {
    /// Copies a memory to a private file of the store's own; a missing memory makes an empty one.
    ///
    /// # Errors
    /// What the store says of the path, or the disk of the copy.
    pub fn begin(_store: &Store, _path: &MemoryPath) -> Result<Self> {
        todo!()
    }

    /// The copy, for the editor.
    #[must_use]
    pub fn file(&self) -> &Path {
        todo!()
    }

    /// Whether the copy was changed.
    ///
    /// # Errors
    /// When it cannot be read any more.
    pub fn is_changed(&self) -> Result<bool> {
        todo!()
    }

    /// Puts the edited copy into the store, and removes it once its text is safe there.
    ///
    /// # Errors
    /// As [`Store::change`]; the copy stays then.
    pub fn finish(self) -> Result<Edited> {
        todo!()
    }

    /// Leaves the copy where it is, for the person to come back to.
    #[must_use]
    pub fn keep(self) -> std::path::PathBuf {
        todo!()
    }
}
