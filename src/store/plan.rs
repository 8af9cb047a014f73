//! What a decision comes to: edits, and what only a restore or an import says beside them.

use std::collections::HashMap;

use super::Edit;
use crate::id::ChangeId;
use crate::path::MemoryPath;

/// The edits of one change, made together.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) edits: Vec<Edit>,
    /// Permission bits of files that are written where nothing stands; the settings say so for all others.
    pub(super) modes: HashMap<MemoryPath, u32>,
    /// Memories that live on at another path: their path now must be removed or written by an edit, the new one written.
    pub(super) moves: Vec<Moved>,
    /// Deleted memories that live again, by the path that an edit writes where nothing stands.
    pub(super) revived: HashMap<MemoryPath, i64>,
    /// The change that it is a part of; `None`: one of its own.
    pub(super) change: Option<ChangeId>,
    /// Whether hidden names may be changed, whatever the settings say (`.git` never).
    pub(super) may_be_hidden: bool,
}

/// A memory that goes to another path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) memory: i64,
    pub(super) from: MemoryPath,
    pub(super) to: MemoryPath,
}

impl From<Vec<Edit>> for Plan {
    fn from(edits: Vec<Edit>) -> Self {
        Self { edits, ..Self::default() }
    }
}
