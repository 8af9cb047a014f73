//! A new private file that is there as a whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::path::Path;

use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, linkat};
use tempfile::{Builder, NamedTempFile};

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
    dir: &'a Utf8Path,
    file: Held,
    existing: Existing,
}

/// A file that nobody knows yet.
enum Held {
    /// It has no name at all, and is gone with the process, however that ends.
    Nameless(File),
    /// Where the file system knows no such files.
    Named(NamedTempFile),
}

/// What a name begins with that a file has for a moment.
const PASSING: &str = ".memdir-";
/// Where a file without a name can be found by the process that holds it.
const HELD: &str = "/proc/self/fd";

impl<'a> Outlet<'a> {
    /// Begins a file that will be at `path`.
    pub(super) fn begin(path: &'a Utf8Path, existing: Existing) -> Result<Self, Fault> {
        if let Existing::Refuse(remedy) = existing
            && path.as_std_path().symlink_metadata().is_ok()
        {
            return Err(there_already(path, remedy));
        }
        // A device, a pipe or a directory would be lost.
        if path.as_std_path().metadata().is_ok_and(|seen| !seen.is_file()) {
            return Err(Fault::failed(format!("`{path}` is no plain file, and is not replaced")));
        }
        let dir = path.parent().filter(|dir| !dir.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
        let file = if let Some(file) = nameless(dir) {
            Held::Nameless(file)
        } else {
            let file = Builder::new().prefix(PASSING).tempfile_in(dir);
            Held::Named(file.map_err(|error| failed(path, &error))?)
        };
        Ok(Self { path, dir, file, existing })
    }

    /// The file, to be written.
    pub(super) fn file(&mut self) -> &mut dyn Write {
        match &mut self.file {
            Held::Nameless(file) => file,
            Held::Named(file) => file.as_file_mut(),
        }
    }

    /// Syncs it and gives it its name.
    pub(super) fn finish(self) -> Result<(), Fault> {
        let Self { path, dir, file, existing } = self;
        match (name(path.as_std_path(), dir, file, existing), existing) {
            (Err(error), Existing::Refuse(remedy)) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(there_already(path, remedy))
            }
            (named, _) => named.map_err(|error| failed(path, &error)),
        }
    }
}

/// Makes a file without a name, where the system can give it one later.
#[cfg(target_os = "linux")]
fn nameless(dir: &Utf8Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    if !Path::new(HELD).is_dir() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    open(dir.as_std_path(), flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

/// Nothing: elsewhere no file can get a name later.
#[cfg(not(target_os = "linux"))]
fn nameless(_: &Utf8Path) -> Option<File> {
    None
}

fn name(place: &Path, dir: &Utf8Path, file: Held, existing: Existing) -> io::Result<()> {
    let file = match file {
        Held::Nameless(file) => file,
        Held::Named(file) => {
            file.as_file().sync_all()?;
            return match existing {
                Existing::Refuse(_) => file.persist_noclobber(place).map(drop),
                Existing::Replace => file.persist(place).map(drop),
            }
            .map_err(|error| error.error);
        }
    };
    file.sync_all()?;
    let held = format!("{HELD}/{}", file.as_raw_fd());
    let link =
        |name: &Path| linkat(CWD, held.as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from);
    match link(place) {
        // Only a rename replaces what is there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && existing == Existing::Replace => {
            let passing = Builder::new().prefix(PASSING).make_in(dir, link)?;
            passing.persist(place).map(drop).map_err(|error| error.error)
        }
        linked => linked,
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
