//! A new private file that is there as a whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use camino::Utf8Path;
use tempfile::NamedTempFile;

use super::fault::Fault;

/// Whether a file that is there is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// It is not, and this is what to do.
    Refuse(&'static str),
    Replace,
}

/// A file that gets its name once it is complete.
pub(super) struct Outlet<'a> {
    path: &'a Utf8Path,
    file: NamedTempFile,
    existing: Existing,
}

impl<'a> Outlet<'a> {
    /// Begins a file that will be at `path`.
    pub(super) fn begin(path: &'a Utf8Path, existing: Existing) -> Result<Self, Fault> {
        if let Existing::Refuse(remedy) = existing
            && path.as_std_path().symlink_metadata().is_ok()
        {
            return Err(there_already(path, remedy));
        }
        let dir = path.parent().filter(|dir| !dir.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
        let file = tempfile::Builder::new().prefix(".memdir-").tempfile_in(dir);
        Ok(Self { path, file: file.map_err(|error| failed(path, &error))?, existing })
    }

    /// The file, to be written.
    pub(super) fn file(&mut self) -> &mut dyn Write {
        self.file.as_file_mut()
    }

    /// Syncs it and gives it its name.
    pub(super) fn finish(self) -> Result<(), Fault> {
        let Self { path, file, existing } = self;
        file.as_file().sync_all().map_err(|error| failed(path, &error))?;
        let place: &Path = path.as_std_path();
        let named = match existing {
            Existing::Refuse(_) => file.persist_noclobber(place),
            Existing::Replace => file.persist(place),
        };
        match (named, existing) {
            (Ok(_), _) => Ok(()),
            (Err(error), Existing::Refuse(remedy)) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(there_already(path, remedy))
            }
            (Err(error), _) => Err(failed(path, &error.error)),
        }
    }
}

fn there_already(path: &Utf8Path, remedy: &str) -> Fault {
    Fault::failed(format!("`{path}` is there already")).hint(remedy)
}

/// Why the file could not be written; the name that it has meanwhile is nobody's concern.
pub(super) fn failed(path: &Utf8Path, error: &io::Error) -> Fault {
    let why = error.to_string();
    let why = why.split_once(" at path ").map_or(why.as_str(), |(why, _)| why);
    Fault::failed(format!("cannot write `{path}`: {why}"))
}
