//! Undo: memories put back to an earlier state, as a new change.

use chrono::{DateTime, Utc};

use super::Store;
use crate::error::Result;
use crate::id::{ChangeId, VersionId};
use crate::path::MemoryPath;

/// What is to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restore {
    /// The content of a version, to this path.
    Version {
        /// Where it is put.
        path: MemoryPath,
        /// Whose content.
        version: VersionId,
    },
    /// A file, or a directory with all below it (the root: the whole store), to what it was just before a moment. What
    /// was made later is removed.
    Before {
        /// The file or directory.
        path: MemoryPath,
        /// The moment.
        time: DateTime<Utc>,
    },
    /// All that one change did, to what it was before. Later edits of the same files are undone with it.
    Change(ChangeId),
}

/// What a restore may do to other memories that are in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// It is refused with [`Error::Taken`](crate::Error::Taken).
    #[default]
    Keep,
    /// They are replaced; they stay in the history.
    Overwrite,
}

/// What one memory underwent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Where it was before; `None` when it was not there.
    pub from: Option<MemoryPath>,
    /// Where it is now; `None` when it is removed.
    pub to: Option<MemoryPath>,
    /// Whose content it has now; `None` when it is removed.
    pub version: Option<VersionId>,
    /// How many later versions of it are undone with that.
    pub undone: u64,
}

/// What a restore did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restoration {
    /// The change that it is; `None` when there was nothing to do, and of a preview.
    pub change_id: Option<ChangeId>,
    /// What each memory underwent, by path.
    pub memories: Vec<Restored>,
}

impl Store {
    /// Puts memories back to an earlier state; what others did meanwhile is taken in first. It is a new change, and can
    /// be undone by its id.
    ///
    /// Memories keep their ids, deleted ones too. Directories that held nothing are not brought back.
    ///
    /// # Errors
    /// [`Error::NoVersion`](crate::Error::NoVersion), [`Error::NoChange`](crate::Error::NoChange),
    /// [`Error::NoContent`](crate::Error::NoContent), [`Error::Taken`](crate::Error::Taken),
    /// [`Error::TooEarly`](crate::Error::TooEarly), [`Error::Missing`](crate::Error::Missing) for a path where
    /// nothing is and nothing was; else as [`Store::change`].
    pub fn restore(&self, _what: &Restore, _others: Others) -> Result<Restoration> {
        todo!()
    }

    /// What [`Store::restore`] would do. Nothing is changed but that what others did is taken in.
    ///
    /// # Errors
    /// As [`Store::restore`].
    pub fn preview_restore(&self, _what: &Restore, _others: Others) -> Result<Restoration> {
        todo!()
    }
}
