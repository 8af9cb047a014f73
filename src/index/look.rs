//! What there is on the disk, without anything being made or mended but the files of its locks: for people who want to know.
#![allow(clippy::disallowed_methods, reason = "derived data in its own directory, not memories")]

use std::io::ErrorKind;
use std::path::Path;

use super::view::{Vectored, View};
use super::{IndexError, Mark, Model, caught, place};

/// An index that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The model that made its vectors.
    pub(crate) model: String,
    /// How far it goes.
    pub(crate) mark: Mark,
    /// Passages that count.
    pub(crate) passages: usize,
}

/// What the directory holds; `None`: nothing yet.
pub(crate) fn look(dir: &Path, model: &Model) -> Result<Option<Found>, IndexError> {
    match std::fs::symlink_metadata(dir.join(place::CURRENT)) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(None),
        found => _ = found?,
    }
    let view = caught(|| View::open(dir, model, Vectored::ByAny))?;
    let passages = view.manifest.rows - view.manifest.dead;
    Ok(Some(Found { model: view.manifest.model, mark: view.manifest.mark, passages }))
}

/// Why it cannot be written, as far as that is seen from outside.
pub(crate) fn check_writable(dir: &Path) -> Result<(), IndexError> {
    match std::fs::symlink_metadata(dir) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(()),
        found => {
            found?;
            Ok(place::open_lock(dir).map(drop)?)
        }
    }
}
