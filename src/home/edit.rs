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
pub use crate::store::Edited;
use crate::store::{Found, Look, Store};

/// A private copy of a memory, for an editor.
#[derive(Debug)]
pub struct Draft {
    store: Store,
    path: MemoryPath,
    /// What was copied; `None` where nothing was.
    base: Option<String>,
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
        let base = match store.read(&path)? {
            Found::File(bytes) => {
                let text = String::from_utf8(bytes.to_vec());
                Some(text.map_err(|_| Error::NotText { path: path.clone() })?)
            }
            Found::Not(Look::Missing) => None,
            Found::Not(Look::Link | Look::BelowLink) => return Err(Error::Link { path }),
            Found::Not(Look::BelowFile(file)) => return Err(Error::BelowFile { path, file }),
            Found::Not(_) => return Err(Error::Unsupported { path }),
        };
        let directory = store.edits_path()?.join(store.new_change().0.to_string());
        let file = directory.join(name);
        let text = base.as_deref().unwrap_or_default();
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
        Ok(Self { store: store.clone(), path, base, directory, file })
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
        Ok(self.text()? != self.base.as_deref().unwrap_or_default())
    }

    /// Puts the edited copy into the store, and removes it once its text is safe there.
    ///
    /// What was written to the memory meanwhile stays in it. Where the same lines were edited, the memory is left as it
    /// is, and the edited text becomes a version of it that is not the newest one.
    ///
    /// # Errors
    /// As [`Store::change`], and [`Error::NotText`]; the copy stays then.
    pub fn finish(self) -> Result<Edited> {
        let mine = self.text()?;
        let edited = self.store.settle(&self.path, self.base.as_deref(), &mine)?;
        // What cannot be removed now is a leftover that a check names.
        let _ = std::fs::remove_dir_all(&self.directory);
        Ok(edited)
    }

    /// Leaves the copy where it is, for the person to come back to.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.file
    }

    /// What the copy holds, as far as the memory could hold it.
    fn text(&self) -> Result<String> {
        let path = || self.path.clone();
        let failed = |e: io::Error| Error::read("read the edited copy", e);
        let before = self.base.as_ref().map_or(0, |base| base.len() as u64);
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
