//! Reading the history: versions by what is asked of them, states of the past, figures.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::Connection;

use super::Journal;
use crate::error::Result;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::version::{Log, Version};

/// A journal that is open for reading only: beside writers, of this process and of others.
#[derive(Debug)]
pub(crate) struct Reader {
    db: Connection,
}

/// What can be asked of the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    db: &'a Connection,
}

/// A memory that differs between now and then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) memory: i64,
    pub(crate) memory_id: MemoryId,
    /// Its newest version; of a memory that is gone its deletion.
    pub(crate) now: Version,
    /// What it was then; `None`: it was nowhere.
    pub(crate) then: Option<Version>,
    /// Versions of it since then.
    pub(crate) since: u64,
}

impl Reader {
    /// Opens the journal at `path` for reading; `Ok(None)` when there is none.
    pub(crate) fn open(_path: &Path) -> Result<Option<Self>> {
        todo!()
    }

    pub(crate) fn history(&self) -> History<'_> {
        History { db: &self.db }
    }

    /// From now on all is read as it is at this moment.
    pub(crate) fn freeze(&self) -> Result<()> {
        todo!()
    }
}

impl Journal {
    pub(crate) fn history(&self) -> History<'_> {
        History { db: &self.db }
    }
}

impl History<'_> {
    /// Calls `each` with the versions that `log` asks for, newest first. Those of withdrawn changes never were.
    pub(crate) fn versions(
        self,
        _log: &Log,
        _each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        todo!()
    }

    pub(crate) fn version(self, _id: VersionId) -> Result<Option<Version>> {
        todo!()
    }

    /// The newest version of the memory that lives at this very path.
    pub(crate) fn head(self, _path: &MemoryPath) -> Result<Option<Version>> {
        todo!()
    }

    /// The newest version of a memory, living or not.
    pub(crate) fn newest(self, _memory: i64) -> Result<Option<Version>> {
        todo!()
    }

    /// The bytes of a version (its row); `None` when the journal does not hold them.
    pub(crate) fn content(self, _version: i64) -> Result<Option<Vec<u8>>> {
        todo!()
    }

    /// The memories at or below `path` (now, or just before `time`, in microseconds since 1970) that are not what they
    /// were then. A version that was redacted counts as what was then.
    ///
    /// # Errors
    /// [`Error::TooEarly`](crate::Error::TooEarly) when retention took what one was then.
    pub(crate) fn changed_since(self, _path: &MemoryPath, _time: i64) -> Result<Vec<Target>> {
        todo!()
    }

    /// The memories that a change touched and that are not what they were before it; `None` when there is no such change.
    pub(crate) fn changed_by(self, _change: ChangeId) -> Result<Option<Vec<Target>>> {
        todo!()
    }
}
