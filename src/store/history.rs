//! The history of a store, for reading: no lock is held, and no writer waits.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use super::spare::Spare;
use super::{Inner, Store};
use crate::error::{Error, NoContent, Result};
use crate::id::{MemoryId, VersionId};
use crate::journal::Reader;
use crate::path::MemoryPath;
use crate::text::Bytes;
use crate::version::{Log, Operation, Version};

/// The versions of a store's memories, as far as its journal has them.
///
/// What others did to the files is in it once somebody has looked: [`Store::absorb`], [`Store::check`], or a change.
pub struct History {
    /// There until it is dropped.
    reader: Option<Reader>,
    spare: Weak<Spare>,
    inner: Arc<Inner>,
}

impl Drop for History {
    fn drop(&mut self) {
        if let (Some(reader), Some(spare)) = (self.reader.take(), self.spare.upgrade()) {
            spare.keep(reader);
        }
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the history for reading.
    ///
    /// # Errors
    /// [`Error::Read`] when the journal cannot be opened; [`Error::Write`] when it must be made, or brought up to date, and
    /// cannot be.
    pub fn history(&self) -> Result<History> {
        self.inner.mend();
        let spare = self.spare();
        let kept = spare.upgrade().and_then(|spare| spare.take());
        let reader = if let Some(reader) = kept {
            reader
        } else if let Some(reader) = self.open_reader()? {
            reader
        } else {
            // It is made, or brought up to date, by who opens it for writing.
            self.locked(|_| Ok(()))?;
            let gone = || Error::read("open the journal", std::io::Error::from(std::io::ErrorKind::NotFound));
            self.open_reader()?.ok_or_else(gone)?
        };
        Ok(History { reader: Some(reader), spare, inner: Arc::clone(&self.inner) })
    }

    /// The journal, for reading beside writers; `None` where there is none yet.
    pub(super) fn reader(&self) -> Result<Option<Reader>> {
        match self.open_reader()? {
            // One of an older format is brought up to date by who opens it for writing.
            None if self.inner.core.base.journal_bytes() > 0 => {
                self.locked(|_| Ok(()))?;
                self.open_reader()
            }
            reader => Ok(reader),
        }
    }

    /// As [`Store::reader`], but one of an older format is none.
    fn open_reader(&self) -> Result<Option<Reader>> {
        let core = &self.inner.core;
        Reader::open(&core.base.journal_path()).map_err(|error| core.refine_reading(error))
    }
}

impl History {
    /// Calls `each` with the versions that `log` asks for, newest first, until it breaks off.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use memdir::{ActorFilter, Log, Operation, Store};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let store = Store::open(dir.path())?;
    /// let mut log = Log::default();
    /// log.actor = Some(ActorFilter::Agents);
    /// log.operation = Some(Operation::Deleted);
    /// store.history()?.versions(&log, &mut |version| {
    ///     println!("{} {:?} {:?}", version.id, version.path, version.reason);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoVersion`] for an `after` that is none; else what the journal says, or `each`.
    pub fn versions(
        &self,
        log: &Log,
        each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut failed = None;
        let read = self
            .journal()
            .versions(log, &mut |version| Ok(each(version).unwrap_or_else(|error| stop(&mut failed, error))));
        failed.map_or(read.map_err(Error::of_reading), Err)
    }

    /// One version.
    ///
    /// # Errors
    /// [`Error::NoVersion`], or what the journal says.
    pub fn version(&self, id: VersionId) -> Result<Version> {
        self.journal().version(id).map_err(Error::of_reading)?.ok_or(Error::NoVersion { id })
    }

    /// The newest version of the memory that is at this very path now.
    ///
    /// # Errors
    /// What the journal says.
    pub fn head(&self, path: &MemoryPath) -> Result<Option<Version>> {
        self.journal().head(path).map_err(Error::of_reading)
    }

    /// A version's bytes.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::NoContent`], or what the journal says.
    pub fn content(&self, id: VersionId) -> Result<Bytes> {
        let version = self.version(id)?;
        let none = |why| Err(Error::NoContent { id, why });
        if version.operation == Operation::Deleted {
            return none(NoContent::Deleted);
        }
        if version.redacted.is_some() {
            return none(NoContent::Redacted);
        }
        let bytes = match self.journal().content(version.n).map_err(Error::of_reading)? {
            Some(bytes) => Some(bytes),
            None => self.inner.core.base.kept(&id.to_string())?,
        };
        bytes.map_or_else(|| none(NoContent::NotKept), |bytes| Ok(Arc::new(bytes)))
    }

    /// As [`History::versions`], with the bytes of each, which costs less than to ask for one after the other. Versions
    /// without bytes in the journal are passed over: deletions, what was redacted, what is no text or was too large.
    ///
    /// # Errors
    /// As [`History::versions`].
    pub fn contents(
        &self,
        log: &Log,
        mut each: impl FnMut(Version, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut failed = None;
        let read = self.journal().contents(log, |version, bytes| {
            Ok(each(version, bytes).unwrap_or_else(|error| stop(&mut failed, error)))
        });
        failed.map_or(read.map_err(Error::of_reading), Err)
    }

    /// The newest version of a memory, living or not.
    ///
    /// # Errors
    /// What the journal says.
    pub fn memory(&self, id: MemoryId) -> Result<Option<Version>> {
        self.journal().newest_of(id)
    }

    /// From now on all is read as it is at this moment. While it is, nothing that was redacted since is out of the
    /// journal's files.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.reader().freeze()
    }

    /// What the journal says.
    pub(crate) fn journal(&self) -> crate::journal::History<'_> {
        self.reader().history()
    }

    fn reader(&self) -> &Reader {
        self.reader.as_ref().expect("it is there until the history is dropped")
    }

    /// The store whose history it is.
    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }
}

/// Breaks off for what a caller failed at, which is no failure to read the history.
fn stop(failed: &mut Option<Error>, error: Error) -> ControlFlow<()> {
    *failed = Some(error);
    ControlFlow::Break(())
}
