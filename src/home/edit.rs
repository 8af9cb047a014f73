//! A memory edited by a person while agents may write to it: a private copy, and a three-way merge.

#![allow(
    clippy::disallowed_methods,
    reason = "editors open by name; the copies lie in the machine's own room"
)]

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::disk::open_outside;
use crate::error::{Error, Result};
use crate::path::MemoryPath;
pub use crate::store::{Edited, Settled};
use crate::store::{Look, Original, Store};

/// A private copy of a memory, for an editor.
#[derive(Debug)]
pub struct Draft {
    store: Store,
    original: Original,
    /// The copy's own directory, for it and for what editors put beside it.
    directory: PathBuf,
    file: PathBuf,
}

/// The name of what was copied, beside the copy: an edit that was broken off can be told by it.
const BASE: &str = "base";
/// What it is called where the copy has that name.
const OTHER_BASE: &str = "base.orig";

impl Draft {
    /// Copies a memory to a private file of the store's own; a missing memory makes an empty one.
    ///
    /// The file has the memory's name, and lies in a directory of its own in `.memdir/edits/`.
    ///
    /// # Errors
    /// What the store says of the path ([`Error::NotText`] for what is no text), or the disk of the copy.
    pub fn begin(store: &Store, path: &MemoryPath) -> Result<Self> {
        store.admit(path)?;
        let (Some((_, name)), path) = (path.split_last(), path.clone()) else {
            return Err(Error::Unsupported { path: path.clone() });
        };
        let original = match store.original(&path)? {
            Ok(original) => original,
            Err(Look::Link | Look::BelowLink) => return Err(Error::Link { path }),
            Err(Look::BelowFile(file)) => return Err(Error::BelowFile { path, file }),
            Err(_) => return Err(Error::Unsupported { path }),
        };
        if original.text.is_none() {
            store.refuse_secret_path(&path)?;
        }
        let directory = store.edits_path()?.join(store.new_change().0.to_string());
        let file = directory.join(name);
        let text = original.text.as_deref().unwrap_or_default();
        let lay_out = || {
            DirBuilder::new().mode(0o700).create(&directory)?;
            write_new(&directory.join(if name == BASE { OTHER_BASE } else { BASE }), text)?;
            write_new(&file, text)
        };
        if let Err(error) = lay_out() {
            // Half a copy is nothing to come back to.
            let _ = std::fs::remove_dir_all(&directory);
            return Err(Error::write("copy a memory to .memdir/edits", error));
        }
        Ok(Self { store: store.clone(), original, directory, file })
    }

    /// The copy, for the editor.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the copy was changed.
    ///
    /// # Errors
    /// When it cannot be read any more, or is no text.
    pub fn is_changed(&self) -> Result<bool> {
        Ok(self.text()? != self.original.text.as_deref().unwrap_or_default())
    }

    /// Puts the edited copy into the store, and removes it once its text is safe there.
    ///
    /// It goes to the memory that was copied, wherever that is by now; where it was deleted, it lives again. What was
    /// written to the memory meanwhile stays in it. Where the same lines were edited, the memory is left as it is, and
    /// the edited text becomes a version of it that is not the newest one.
    ///
    /// # Errors
    /// As [`Store::change`], [`Error::NotText`], and [`Error::Taken`] when the memory was deleted and another one is where
    /// it was; the copy stays then, but for what looks like a secret in it.
    pub fn finish(self) -> Result<Settled> {
        let mine = self.text()?;
        let settled = match self.store.settle(&self.original, &mine) {
            Err(error @ Error::Secret { .. }) => {
                self.leave_out(&mine)?;
                return Err(error);
            }
            settled => settled?,
        };
        // What cannot be removed now is a leftover that a check names.
        let _ = std::fs::remove_dir_all(&self.directory);
        Ok(settled)
    }

    /// Leaves the copy where it is, for the person to come back to.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.file
    }

    /// Takes what must not be stored out of the copy: that is in the store's directory, too.
    fn leave_out(&self, mine: &str) -> Result<()> {
        let text = self.store.settings().guard.mask(mine);
        let failed = |e: io::Error| Error::write("take a secret out of the edited copy", e);
        let mut file = OpenOptions::new().write(true).truncate(true).open(&self.file).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)
    }

    /// Removes the copy and what it was made of; what the editor left beside them stays, and a check names it.
    pub fn discard(self) {
        let name = if self.file.ends_with(BASE) { OTHER_BASE } else { BASE };
        for file in [&self.file, &self.directory.join(name)] {
            let _ = std::fs::remove_file(file);
        }
        let _ = std::fs::remove_dir(&self.directory);
    }

    /// What the copy holds, as far as the memory could hold it.
    fn text(&self) -> Result<String> {
        let path = || self.original.path.clone();
        let failed = |e: io::Error| Error::read("read the edited copy", e);
        let before = self.original.text.as_ref().map_or(0, |text| text.len() as u64);
        let limit = self.store.settings().file_limit;
        let file = open_outside(&self.file).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size > limit.max(before) {
            return Err(Error::TooLarge { path: path(), size, limit });
        }
        let mut bytes = Vec::new();
        file.take(limit.max(before).saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        String::from_utf8(bytes).map_err(|_| Error::NotText { path: path() })
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
