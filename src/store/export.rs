//! All files of a store at one moment.

use super::{History, Store};
use crate::error::Result;
use crate::path::MemoryPath;
use crate::text::Bytes;

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredFile {
    /// Where it is.
    pub path: MemoryPath,
    /// All its bytes.
    pub bytes: Bytes,
    /// Its permission bits.
    pub mode: u32,
    /// When it was last written, in seconds since 1970.
    pub modified: i64,
}

impl Store {
    /// Calls `each` with every file, as they all are at one moment, and returns the history as it is at that same moment.
    ///
    /// What others did is taken in first. Writers wait meanwhile.
    ///
    /// # Errors
    /// As [`Store::change`], or what `each` returns.
    pub fn snapshot(&self, _each: &mut dyn FnMut(StoredFile) -> Result<()>) -> Result<History> {
        todo!()
    }
}
