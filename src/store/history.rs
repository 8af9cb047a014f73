//! The history of a store, for reading: no lock is held, and no writer waits.

use std::ops::ControlFlow;

use super::Store;
use crate::error::{Error, Result};
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::text::Bytes;
use crate::version::{Log, Version};

/// The versions of a store's memories, as far as its journal has them.
///
/// What others did to the files is in it once somebody has looked: [`Store::absorb`], [`Store::check`], or a change.
#[derive(Debug)]
pub struct History {}

impl Store {
    /// Opens the history for reading.
    ///
    /// # Errors
    /// [`Error::Read`] or [`Error::Write`] when the journal cannot be opened.
    pub fn history(&self) -> Result<History> {
        todo!()
    }
}

impl History {
    /// Calls `each` with the versions that `log` asks for, newest first, until it breaks off.
    ///
    /// # Errors
    /// [`Error::NoVersion`] for an `after` that is none; else what the journal says, or `each`.
    pub fn versions(
        &self,
        _log: &Log,
        _each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        todo!()
    }

    /// One version.
    ///
    /// # Errors
    /// [`Error::NoVersion`], or what the journal says.
    pub fn version(&self, id: VersionId) -> Result<Version> {
        Err(Error::NoVersion { id })
    }

    /// The newest version of the memory that is at this very path now.
    ///
    /// # Errors
    /// What the journal says.
    pub fn head(&self, _path: &MemoryPath) -> Result<Option<Version>> {
        todo!()
    }

    /// A version's bytes.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::NoContent`], or what the journal says.
    pub fn content(&self, id: VersionId) -> Result<Bytes> {
        Err(Error::NoVersion { id })
    }
}
