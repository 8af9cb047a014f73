//! What a decision comes to: edits, and what only a restore or an import says beside them.

use std::collections::{HashMap, HashSet};

use super::Edit;
use crate::id::{ChangeId, MemoryId};
use crate::path::MemoryPath;

/// The edits of one change, made together.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) edits: Vec<Edit>,
    /// Whether an edit may write where an earlier one removes something, or below: a file where a directory was, a
    /// directory where a file was.
    pub(super) in_order: bool,
    /// Permission bits of files that are written; others keep theirs, or get what the settings say.
    pub(super) modes: HashMap<MemoryPath, u32>,
    /// Memories that live on at another path: their path now must be removed or written by an edit, the new one written.
    pub(super) moves: Vec<Moved>,
    /// Deleted memories that live again, by the path that an edit writes.
    pub(super) revived: HashMap<MemoryPath, i64>,
    /// The ids of the memories that begin with an edit, by path.
    pub(super) begun: HashMap<MemoryPath, MemoryId>,
    /// Paths that an edit writes, and whose memory now ends with that: another one moves there, lives again, or begins.
    pub(super) replaced: HashSet<MemoryPath>,
    /// The change that it is a part of; `None`: one of its own.
    pub(super) change: Option<ChangeId>,
    /// Why it is made, where that is not what the handle says.
    pub(super) reason: Option<String>,
    /// Whether hidden names may be changed, whatever the settings say (`.git` never).
    pub(super) may_be_hidden: bool,
    /// Whether all of it was stored before: files may be larger than the settings allow, and what looks like a secret in
    /// them is told, and not refused.
    pub(super) is_restored: bool,
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
