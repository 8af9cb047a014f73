//! A new private file that is there as a whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use camino::Utf8Path;
use tempfile::NamedTempFile;

use super::fault::Fault;

/// Whether a file that is there is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// It stays; what the person can do then.
    Refuse(&'static str),
    /// It is, if it is a regular file.
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
        match (path.as_std_path().symlink_metadata(), existing) {
            (Ok(_), Existing::Refuse(hint)) => return Err(there_already(path, hint)),
            // A device, or a link to one, must not become a file because an archive was sent there.
            (Ok(there), Existing::Replace) if !there.is_file() => {
                return Err(Fault::failed(format!("`{path}` is no regular file, and is not replaced")));
            }
            _ => {}
        }
        let file = tempfile::Builder::new().prefix(".memdir-").tempfile_in(directory(path));
        Ok(Self { path, file: file.map_err(|error| failed(path, &error))?, existing })
    }

    /// The file, to be written.
    pub(super) fn file(&mut self) -> &mut dyn Write {
        self.file.as_file_mut()
    }

    /// Syncs it, gives it its name, and syncs that.
    pub(super) fn finish(self) -> Result<(), Fault> {
        let Self { path, file, existing } = self;
        file.as_file().sync_all().map_err(|error| failed(path, &error))?;
        let place: &Path = path.as_std_path();
        let named = match existing {
            Existing::Refuse(_) => file.persist_noclobber(place),
            Existing::Replace => file.persist(place),
        };
        match (named, existing) {
            (Ok(_), _) => {
                sync_directory(directory(path));
                Ok(())
            }
            (Err(error), Existing::Refuse(hint)) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(there_already(path, hint))
            }
            (Err(error), _) => Err(failed(path, &error.error)),
        }
    }
}

/// The directory that has a file's name in it.
fn directory(path: &Utf8Path) -> &Utf8Path {
    path.parent().filter(|dir| !dir.as_str().is_empty()).unwrap_or(Utf8Path::new("."))
}

/// Syncs the names in a directory, where its file system can: the file is complete in any case.
fn sync_directory(dir: &Utf8Path) {
    #[allow(clippy::disallowed_methods, reason = "it is the person's directory, no memory")]
    let _ = std::fs::File::open(dir).and_then(|dir| dir.sync_all());
}

fn there_already(path: &Utf8Path, hint: &str) -> Fault {
    Fault::failed(format!("`{path}` is there already")).hint(hint)
}

/// Why the file could not be written; the name that it has meanwhile is nobody's concern.
pub(super) fn failed(path: &Utf8Path, error: &io::Error) -> Fault {
    let why = error.to_string();
    let why = why.split_once(" at path ").map_or(why.as_str(), |(why, _)| why);
    Fault::failed(format!("cannot write `{path}`: {why}"))
}
