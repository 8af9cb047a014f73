//! Files from a directory or a tar archive, put into a store.

use std::io::{Read, Seek};
use std::path::Path;

use crate::error::Error;
use crate::path::MemoryPath;
use crate::store::{Others, Store};

/// How much an import may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Files.
    pub files: u64,
    /// Bytes of all of them together.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 100_000, bytes: 1 << 30 }
    }
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Imported {
    /// Files that were written.
    pub written: Vec<MemoryPath>,
    /// Files that were there already, with the same bytes.
    pub unchanged: u64,
    /// Places that are taken by something else, and were left alone.
    pub conflicts: Vec<MemoryPath>,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] Error),
    /// The source could not be read.
    #[error("cannot read `{name}`: {source}")]
    Read {
        /// The entry or file.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// An entry must not be imported.
    #[error("the entry `{name}` cannot be imported: {why}")]
    Entry {
        /// Its name, as it stands in the source.
        name: String,
        /// Why.
        why: String,
    },
    /// There is more than the limits allow.
    #[error("there are more than {limit} {what}")]
    TooMuch {
        /// `files` or `bytes`.
        what: &'static str,
        /// As many may be.
        limit: u64,
    },
}

/// Puts the files of a tar archive into a store, below `into`. It is read twice: nothing is changed unless all of it may be
/// imported.
///
/// # Errors
/// [`ImportError`].
pub fn import_archive<R: Read + Seek>(
    _store: &Store,
    _archive: R,
    _into: &MemoryPath,
    _others: Others,
    _limits: &Limits,
) -> Result<Imported, ImportError> {
    todo!()
}

/// Puts the files below a directory into a store, below `into`. Links are refused.
///
/// # Errors
/// [`ImportError`].
pub fn import_directory(
    _store: &Store,
    _directory: &Path,
    _into: &MemoryPath,
    _others: Others,
    _limits: &Limits,
) -> Result<Imported, ImportError> {
    todo!()
}
