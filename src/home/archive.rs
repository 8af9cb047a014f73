//! A store as a tar archive.

use std::io::Write;

use crate::error::Error;
use crate::store::Store;

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] Error),
    /// The archive could not be written.
    #[error("cannot write the archive: {0}")]
    Write(#[from] std::io::Error),
}

/// Writes all files, `memories/…`, to a tar archive; with `history` also `history.jsonl`, one version a line, oldest first,
/// with its content (`content`, or `content_base64` where it is no UTF-8). How many files there were.
///
/// All files are those of one moment.
///
/// # Errors
/// [`ExportError`].
pub fn export(_store: &Store, _to: &mut dyn Write, _history: bool) -> Result<u64, ExportError> {
    todo!()
}
