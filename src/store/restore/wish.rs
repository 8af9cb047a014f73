//! What a memory is to become, as one version or another has it.

use super::revert::Undo;
use super::{Restored, Unmerged};
use crate::error::{Error, NoContent, Result};
use crate::hash::Hash;
use crate::id::VersionId;
use crate::journal::Target;
use crate::path::MemoryPath;
use crate::version::{Operation, Version};

/// What one memory is to become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// The memory; `None`: one that begins with this.
    pub(super) memory: Option<i64>,
    /// What it is now; `None`: it is dead, or not yet born.
    pub(super) now: Option<State>,
    /// What it is to be; `None`: dead.
    pub(super) then: Option<State>,
    /// What content that is.
    pub(super) content: Content,
    /// Versions of it that are undone with that.
    pub(super) undone: u64,
    /// Versions of it that came later and stay.
    pub(super) kept: u64,
    /// Why they do not.
    pub(super) unmerged: Option<Unmerged>,
    /// The change that is undone, where what came after it may stay.
    pub(super) undo: Option<Box<Undo>>,
}

/// Where the content comes from that a memory is to have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// The version whose state it is.
    #[default]
    Version,
    /// What it has now, whatever that is by then.
    Now,
    /// A merge of that with what it was before a change.
    Merged,
}

/// What a living memory is at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) path: MemoryPath,
    pub(super) id: VersionId,
    /// The version's row.
    pub(super) n: i64,
    pub(super) hash: Option<Hash>,
    pub(super) size: u64,
    pub(super) mode: Option<u32>,
    /// Whether the journal holds the bytes.
    pub(super) is_stored: bool,
}

impl Wish {
    /// What a target of the journal asks for.
    ///
    /// # Errors
    /// [`Error::NoContent`] when what it was is redacted.
    pub(super) fn of(target: Target) -> Result<Self> {
        let Target { memory, now, then, since, after, later, .. } = target;
        let then = then.as_ref().map(State::to_restore).transpose()?;
        let undo = Undo::of(then.as_ref(), after.as_ref(), since, later).map(Box::new);
        let now = State::of(&now);
        Ok(Self { memory: Some(memory), now, then, undone: since, undo, ..Self::default() })
    }

    pub(super) fn is_fulfilled(&self) -> bool {
        match (&self.now, &self.then) {
            (None, None) => true,
            (Some(now), Some(then)) => now.path == then.path && now.is_same_content(then),
            _ => false,
        }
    }

    /// Where it is now and is not to stay.
    pub(super) fn leaves(&self) -> Option<&MemoryPath> {
        let now = &self.now.as_ref()?.path;
        (self.then.as_ref().map(|then| &then.path) != Some(now)).then_some(now)
    }

    pub(super) fn restored(&self) -> Restored {
        Restored {
            from: self.now.as_ref().map(|now| now.path.clone()),
            to: self.then.as_ref().map(|then| then.path.clone()),
            version: self.then.as_ref().map(|then| then.id).filter(|_| self.content != Content::Merged),
            undone: self.undone,
            kept: self.kept,
            unmerged: self.unmerged,
        }
    }
}

impl State {
    /// What a version makes of its memory; `None`: it ends it.
    pub(super) fn of(version: &Version) -> Option<Self> {
        let path = version.place()?.clone();
        Some(Self {
            path,
            id: version.id,
            n: version.n,
            hash: version.content_sha256,
            size: version.content_size_bytes.unwrap_or(0),
            mode: version.mode,
            is_stored: version.is_stored,
        })
    }

    /// What a version whose content is wanted makes of its memory.
    pub(super) fn to_restore(version: &Version) -> Result<Self> {
        let why = match version.operation {
            Operation::Deleted => NoContent::Deleted,
            _ => NoContent::Redacted,
        };
        let state = Self::of(version).filter(|_| version.redacted.is_none());
        state.ok_or(Error::NoContent { id: version.id, why })
    }

    pub(super) fn is_same_content(&self, other: &Self) -> bool {
        self.hash.is_some() && (self.hash, self.size) == (other.hash, other.size)
    }
}
