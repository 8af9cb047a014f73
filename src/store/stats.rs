//! Figures of a store.

use chrono::{DateTime, Utc};

use super::History;
use crate::error::{Error, Result};

/// How much a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Memories that live.
    pub memories: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Memories that were deleted.
    pub deleted: u64,
    /// Versions in the history.
    pub versions: u64,
    /// Versions that were redacted.
    pub redacted: u64,
    /// Changes in the history.
    pub changes: u64,
    /// Bytes of the journal's files.
    pub journal_bytes: u64,
    /// When the oldest and the newest change in the history was made.
    pub span: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Changes by who made them, most first: `agent planner`, `user`, `outside`.
    pub actors: Vec<(crate::version::Actor, u64)>,
}

impl History {
    /// Figures of the store, as the history has them.
    ///
    /// # Errors
    /// What the journal says.
    pub fn stats(&self) -> Result<Stats> {
        let figures = self.journal().figures().map_err(Error::of_reading)?;
        Ok(Stats {
            memories: figures.memories,
            bytes: figures.bytes,
            deleted: figures.deleted,
            versions: figures.versions,
            redacted: figures.redacted,
            changes: figures.actors.iter().map(|(_, changes)| changes).sum(),
            journal_bytes: self.inner().core.base.journal_bytes(),
            span: figures.span,
            actors: figures.actors,
        })
    }
}
