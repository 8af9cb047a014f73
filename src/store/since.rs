//! What became of the memories since somebody last looked, for readers and for decisions.

#![allow(dead_code, reason = "retrieval asks, which not every build has")]

use std::ops::ControlFlow;
use std::path::PathBuf;

use camino::Utf8Path;
use chrono::{DateTime, Utc};

use super::publish::{Pending, Whose};
use super::{History, Snapshot, Store};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::MemoryId;
use crate::journal::{Reach, Told};
use crate::path::MemoryPath;
use crate::text::Bytes;
use crate::version::{Operation, Version};

impl Store {
    /// The time, as this store's clock has it.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        (self.inner.core.clock)()
    }

    /// What a setting names: relative to the base directory.
    pub(crate) fn path_beside(&self, path: &Utf8Path) -> PathBuf {
        self.inner.core.base.path().join(path)
    }

    /// Where what is derived from the memories is kept: it may be missing, or go at any moment.
    pub(crate) fn index_dir(&self) -> PathBuf {
        self.inner.core.base.derived_path()
    }

    /// As [`Store::index_dir`], made (private) when it is missing.
    ///
    /// It is removed after a redaction, and so that nothing is put into it again, whoever writes texts there must read them
    /// from a history that is frozen ([`History::freeze`]) until they are written: an erasure is pending for so long.
    ///
    /// # Errors
    /// [`Error::Write`] where it cannot be made, as in a store that was never written to.
    pub(crate) fn make_index_dir(&self) -> Result<PathBuf> {
        self.inner.core.base.make_derived()?;
        Ok(self.index_dir())
    }

    /// Leaves what went wrong beside an answer where [`Store::take_warning`] finds it.
    pub(crate) fn warn(&self, error: &Error) {
        self.inner.core.warn(error);
    }
}

impl History {
    /// The row of the newest version; 0 where there is none. Whoever asks for this first, and then with the mark before
    /// for [`History::heads_since`], misses nothing.
    pub(crate) fn mark(&self) -> Result<i64> {
        self.journal().mark()
    }

    /// As [`History::mark`], with the chain's hash there.
    pub(crate) fn end(&self) -> Result<(i64, Hash)> {
        self.journal().end()
    }

    /// The chain's hash at a mark, by which it is told from one of another journal; `None` where its row is gone.
    pub(crate) fn chain_at(&self, mark: i64) -> Result<Option<Hash>> {
        self.journal().chain_at(mark)
    }

    /// Calls `each` with the newest version of every memory that has one after the row `mark`, oldest first, with its bytes
    /// where the journal holds them, until it breaks off. All is as it was at one moment; it costs what has changed.
    ///
    /// A deletion comes as the version that it is; from 0 on only memories that live come. What was published in between
    /// and taken back again comes once more, as it was before: a memory that never was as a deletion.
    pub(crate) fn heads_since(&self, mark: i64, each: &mut Told<'_>) -> Result<Reach> {
        self.journal().heads_since(mark, each)
    }

    /// The newest version of a memory (its row), living or not.
    pub(crate) fn of_row(&self, memory: i64) -> Result<Option<Version>> {
        self.journal().of_row(memory)
    }

    /// The newest version of a memory (its row), with its bytes where the journal holds them.
    pub(crate) fn text_of_row(&self, memory: i64) -> Result<Option<(Version, Option<Vec<u8>>)>> {
        let Some(version) = self.journal().of_row(memory)? else { return Ok(None) };
        let is_there = version.operation != Operation::Deleted;
        let bytes = is_there.then(|| self.journal().content(version.n)).transpose()?.flatten();
        Ok(Some((version, bytes)))
    }

    /// Which memory a row is of, and where it lives; `None` where it does not.
    pub(crate) fn place_of(&self, memory: i64) -> Result<Option<(MemoryId, MemoryPath)>> {
        self.journal().place_of(memory)
    }

    /// Calls `each` with the rows of the memories that live at or below a path.
    pub(crate) fn live_below(
        &self,
        path: &MemoryPath,
        each: &mut dyn FnMut(i64) -> Result<()>,
    ) -> Result<()> {
        self.journal().live_below(path.as_str(), each)
    }
}

/// A memory that changed, as a decision sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recent<'a> {
    pub(crate) memory: MemoryId,
    /// Where it is, or was when it ended.
    pub(crate) path: &'a MemoryPath,
    /// What it is now.
    pub(crate) state: RecentState<'a>,
}

/// What a memory that changed is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecentState<'a> {
    Text(&'a [u8]),
    /// It lives, and the journal does not hold its bytes: no text, or too large.
    Other,
    Gone,
}

/// A memory that an earlier change of the batch writes, or (without bytes) ends.
struct PendingMemory {
    memory: MemoryId,
    path: MemoryPath,
    bytes: Option<Bytes>,
}

impl Snapshot<'_> {
    /// As [`History::heads_since`] inside the lock, with what earlier changes of the same batch have done: so decisions
    /// that look for what is new share a commit. What the batch does comes last, and counts where a memory comes twice.
    ///
    /// # Errors
    /// What `each` returns, or what the journal says.
    pub(crate) fn heads_since(
        &mut self,
        mark: i64,
        each: &mut dyn FnMut(Recent<'_>) -> Result<()>,
    ) -> Result<Reach> {
        let pending = self.pending_memories()?.unwrap_or_else(|| {
            // Which they are is known once they are committed: the decision is made again then.
            self.must_wait();
            Vec::new()
        });
        let reach = self.journal.history().heads_since(mark, &mut |version, bytes| {
            if let Some(path) = &version.path {
                let state = match bytes {
                    _ if version.operation == Operation::Deleted => RecentState::Gone,
                    Some(bytes) => RecentState::Text(bytes),
                    None => RecentState::Other,
                };
                each(Recent { memory: version.memory_id, path, state })?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for PendingMemory { memory, path, bytes } in &pending {
            let state = bytes.as_ref().map_or(RecentState::Gone, |bytes| RecentState::Text(bytes));
            each(Recent { memory: *memory, path, state })?;
        }
        Ok(reach)
    }

    /// The memory that is at this very path, earlier changes of the batch included; `None` where there is none that the
    /// history knows, or it is not yet known which.
    pub(crate) fn memory_at(&mut self, path: &MemoryPath) -> Result<Option<MemoryId>> {
        if let Some(slot) = self.slots.files().find(|slot| slot.path == *path) {
            match slot.whose {
                Whose::Begun(memory) => return Ok(Some(memory)),
                Whose::Head => {}
                Whose::Unknown => {
                    self.must_wait();
                    return Ok(None);
                }
            }
        }
        Ok(self.journal.history().head(path)?.map(|head| head.memory_id))
    }

    /// The memories that earlier changes of the batch write and end; `None` where it is not known of
    /// all of them which they are.
    fn pending_memories(&self) -> Result<Option<Vec<PendingMemory>>> {
        let mut pending = Vec::new();
        for slot in self.slots.files() {
            let bytes = match &slot.pending {
                Pending::Write { bytes, .. } => Some(std::sync::Arc::clone(bytes)),
                Pending::Remove { .. } => None,
            };
            let head = self.journal.history().head(&slot.path)?.map(|head| head.memory_id);
            let memory = match slot.whose {
                Whose::Begun(memory) => {
                    let ended = |memory| PendingMemory { memory, path: slot.path.clone(), bytes: None };
                    pending.extend(head.map(ended));
                    Some(memory)
                }
                Whose::Head => head,
                Whose::Unknown => None,
            };
            let Some(memory) = memory else { return Ok(None) };
            pending.push(PendingMemory { memory, path: slot.path.clone(), bytes });
        }
        Ok(Some(pending))
    }
}
