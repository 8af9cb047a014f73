//! What a decision sees: the disk, with the earlier changes of the same batch laid over it.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::Slots;
use super::core::Core;
use super::publish::Pending;
use crate::disk::{Base, Extent, Found, Look, Stamp};
use crate::error::Result;
use crate::id::{MemoryId, new_ulid};
use crate::journal::Journal;
use crate::path::MemoryPath;
use crate::text::Bytes;

/// What a decision sees: the files as they are inside the lock, earlier changes of the same batch included.
pub struct Snapshot<'a> {
    pub(super) base: &'a Base,
    core: &'a Core,
    /// What the history says, for decisions about it.
    pub(super) journal: &'a Journal,
    pub(super) slots: &'a Slots,
    /// The files that were read from disk: an edit replaces exactly what was read.
    pub(super) read: HashMap<MemoryPath, ReadFile>,
    /// Whether it saw something that pending changes could still alter: then it must be decided again, alone.
    pub(super) is_partial: bool,
    /// The ids of memories that the change may begin.
    pub(super) begun: HashMap<MemoryPath, MemoryId>,
    /// Why the change is made.
    pub(super) reason: Option<String>,
}

/// A file as it was read.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) stamp: Stamp,
    pub(super) bytes: Bytes,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("read", &self.read.keys()).finish_non_exhaustive()
    }
}

impl<'a> Snapshot<'a> {
    pub(super) fn new(core: &'a Core, journal: &'a Journal, slots: &'a Slots) -> Self {
        let (read, begun) = (HashMap::new(), HashMap::new());
        Self { base: &core.base, core, journal, slots, read, is_partial: false, begun, reason: None }
    }

    /// The id of the memory that begins when this change writes to a path where nothing stands: the same for a path
    /// however often it is asked for. A write to a file that is there goes on with the memory of that, and the id is
    /// never anybody's.
    ///
    /// ```
    /// use memdir::{Edit, Error, MemoryPath, Store};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path())?;
    /// let path = MemoryPath::parse("/memories/note.md")?;
    /// let id = store.change(move |snapshot| {
    ///     let id = snapshot.new_id(&path);
    ///     snapshot.because("the file names itself");
    ///     Ok::<_, Error>((vec![Edit::write(&path, format!("id: {id}\n"))], id))
    /// })?;
    /// # let version = store.history()?.head(&MemoryPath::parse("/memories/note.md")?)?;
    /// # assert_eq!(version.map(|version| version.memory_id), Some(id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_id(&mut self, path: &MemoryPath) -> MemoryId {
        let now = self.core.now();
        *self.begun.entry(path.clone()).or_insert_with(|| MemoryId(new_ulid(now)))
    }

    /// Gives this change a reason in the history, in place of that of the handle (see
    /// [`Store::with_reason`](crate::Store::with_reason)). What looks like a secret in it is left out.
    pub fn because(&mut self, reason: impl Into<String>) {
        self.reason = Some(self.core.settings.guard.mask(&reason.into()).into_owned());
    }

    /// Whether a decision that asks more than the overlay can tell, or must be the first of its batch, is to be made again
    /// when no change is pending any more.
    pub(super) fn must_wait(&mut self) -> bool {
        self.is_partial |= !self.slots.is_empty();
        self.is_partial
    }

    /// What stands at a path.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read) when the disk refuses.
    pub fn look(&mut self, path: &MemoryPath) -> Result<Look> {
        match self.pending(path) {
            Some(Ok(bytes)) => Ok(Look::File { size: bytes.len() as u64 }),
            Some(Err(look)) => Ok(look),
            None => self.base.sandbox.look(path).map(|look| self.overlay(look)),
        }
    }

    /// The whole content of a file.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read) when the disk refuses, [`Error::TooLargeToRead`](crate::Error::TooLargeToRead)
    /// for a file that would fill the memory.
    pub fn read(&mut self, path: &MemoryPath) -> Result<Found> {
        if let Some(read) = self.read.get(path).filter(|_| self.pending(path).is_none()) {
            return Ok(Found::File(Arc::clone(&read.bytes)));
        }
        let (found, stamp) = self.found(path)?;
        if let (Found::File(bytes), Some(stamp)) = (&found, stamp) {
            self.read.insert(path.clone(), ReadFile { stamp, bytes: Arc::clone(bytes) });
        }
        Ok(found)
    }

    /// As [`Snapshot::read`], of a file that is not to be held in memory: nothing is known of it when it is edited.
    pub(super) fn peek(&self, path: &MemoryPath) -> Result<Found> {
        self.found(path).map(|(found, _)| found)
    }

    /// What is at a path, with the stamp of what was read off the disk.
    fn found(&self, path: &MemoryPath) -> Result<(Found, Option<Stamp>)> {
        match self.pending(path) {
            Some(Ok(bytes)) => return Ok((Found::File(bytes), None)),
            Some(Err(look)) => return Ok((Found::Not(look), None)),
            None => {}
        }
        match self.base.sandbox.open_file(path)? {
            Ok(open) => {
                let bytes = self.base.sandbox.read_whole(&open, path)?;
                Ok((Found::File(bytes), Some(open.stamp)))
            }
            Err(look) => Ok((Found::Not(self.overlay(look)), None)),
        }
    }

    /// How far the names below a directory reach.
    ///
    /// # Errors
    /// [`Error::Read`](crate::Error::Read) when the disk refuses.
    pub fn extent(&mut self, path: &MemoryPath) -> Result<Extent> {
        self.must_wait();
        self.base.sandbox.extent(path)
    }

    /// What earlier changes of the batch have made of a path; `None`: nothing, the disk tells.
    fn pending(&self, path: &MemoryPath) -> Option<Result<Bytes, Look>> {
        if self.slots.is_empty() {
            return None;
        }
        if let Some(slot) = self.slots.get(path) {
            return Some(match &slot.pending {
                Pending::Write { bytes, .. } => Ok(Arc::clone(bytes)),
                Pending::Remove { .. } => Err(Look::Missing),
            });
        }
        let mut above = path.split_last().map(|(parent, _)| parent);
        while let Some(dir) = above.filter(|dir| !dir.is_root()) {
            if let Some(slot) = self.slots.get(&dir)
                && matches!(slot.pending, Pending::Write { .. })
            {
                return Some(Err(Look::BelowFile(dir)));
            }
            above = dir.split_last().map(|(parent, _)| parent);
        }
        None
    }

    /// A file on the way that an earlier change removes is in nobody's way any more.
    fn overlay(&self, look: Look) -> Look {
        match &look {
            Look::BelowFile(file) if self.slots.contains_key(file) => Look::Missing,
            _ => look,
        }
    }
}
