//! Looking for what others did to the files, when nothing is about to be changed.

use super::Store;
use crate::error::Result;
use crate::path::MemoryPath;
use crate::version::Version;

/// What was taken in, as versions by [`Actor::Outside`](crate::Actor::Outside).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Absorbed {
    /// The versions, oldest first.
    pub versions: Vec<Version>,
    /// Files that were looked at.
    pub files: u64,
}

impl Store {
    /// Takes what others did to the files at or below a path into the history: edits, additions, deletions, and renames,
    /// which are told by the content.
    ///
    /// Every file is read. Hidden names and `node_modules` are passed over, as in listings, unless memdir made the file.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn absorb(&self, _path: &MemoryPath) -> Result<Absorbed> {
        todo!()
    }
}
