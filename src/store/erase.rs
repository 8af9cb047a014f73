//! Erasing history: single versions by redaction, old ones by retention.

use super::Store;
use crate::error::Result;
use crate::id::VersionId;
use crate::version::{Keep, Version};

/// Whether erased bytes are gone from the journal's files by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// They are.
    Done,
    /// Another process reads the journal, or there is no room to rewrite it: the next change, `sync` or check tries again.
    Pending,
}

/// What a redaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redaction {
    /// The versions as they are now.
    pub versions: Vec<Version>,
    /// Whether the bytes are gone.
    pub erasure: Erasure,
}

/// What retention took, or would take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Versions that went.
    pub versions: u64,
    /// Memories, deleted long ago, of which nothing is left.
    pub memories: u64,
    /// Bytes of content that the journal held for them.
    pub bytes: u64,
    /// Whether the bytes are gone.
    pub erasure: Erasure,
}

impl Store {
    /// Erases content and path of versions for good; that they were stays in the history, and the chain stays whole.
    ///
    /// All of them, or none on error. A version that was redacted before stays as it is. The content stays where other
    /// versions, or files, have it, too.
    ///
    /// # Errors
    /// [`Error::NoVersion`](crate::Error::NoVersion), [`Error::IsHead`](crate::Error::IsHead) for what a live memory is
    /// now; else as [`Store::change`].
    pub fn redact(&self, _versions: &[VersionId]) -> Result<Redaction> {
        todo!()
    }

    /// Removes the versions that `keep` does not keep (never one of the newest ten of a live file).
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn prune_history(&self, _keep: &Keep) -> Result<Pruned> {
        todo!()
    }

    /// What [`Store::prune_history`] would remove.
    ///
    /// # Errors
    /// As [`Store::history`].
    pub fn preview_prune_history(&self, _keep: &Keep) -> Result<Pruned> {
        todo!()
    }
}
