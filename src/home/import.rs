//! Files from a directory or a tar archive, put into a store.

#![allow(clippy::disallowed_methods, reason = "a person's own directory is read, no memory")]

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use walkdir::WalkDir;

use super::archive::{HISTORY, MEMORIES};
use crate::disk::open_outside;
use crate::error::Error;
use crate::guard::{Action, Guard};
use crate::id::ChangeId;
use crate::path::{MemoryPath, PathError, is_passed_over};
use crate::store::{Others, Put, Store};
use crate::text::{Bytes, quote};

mod tape;

/// How much an import may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Files, and as many directories.
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
    /// The change that it is; `None` when nothing was written.
    pub change_id: Option<ChangeId>,
}

/// Why nothing was imported, or not all.
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
    /// It is no archive that can be read.
    #[error("the archive cannot be imported: {why}")]
    Archive {
        /// Why.
        why: String,
    },
    /// Some files were imported before the store refused; undoing the change removes them.
    #[error("{source}; {written} files were imported before that, as change `{change}`")]
    Broken {
        /// Files that were written.
        written: u64,
        /// The change that they are.
        change: ChangeId,
        /// What the store said of the next one.
        source: Box<ImportError>,
    },
    /// An entry must not be imported.
    #[error("the entry `{name}` cannot be imported: {why}")]
    Entry {
        /// Its name, as it stands in the source; only the beginning of a very long one.
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

/// Puts the files of a tar archive into a store, below `into`. It is read more than once: nothing is changed unless all of it may be
/// imported. Then it is one change, even if the journal takes it in several.
///
/// An archive that [`export`](crate::export) made is put back where it came from: `memories/` is no part of a path then, and
/// the history is passed over. Modes and times are not taken.
///
/// # Errors
/// [`ImportError`].
pub fn import_archive<R: Read + Seek>(
    store: &Store,
    mut archive: R,
    into: &MemoryPath,
    others: Others,
    limits: &Limits,
) -> Result<Imported, ImportError> {
    let start = archive.stream_position().map_err(|e| tape::unreadable(&e))?;
    import(store, into, others, limits, &mut |each| {
        archive.seek(SeekFrom::Start(start)).map_err(|e| tape::unreadable(&e))?;
        tape::each_entry(&mut BufReader::new(&mut archive), each)
    })
}

/// Puts the files below a directory into a store, below `into`, as [`import_archive`] does. Links are refused, hidden names
/// and `node_modules` passed over.
///
/// # Errors
/// [`ImportError`].
pub fn import_directory(
    store: &Store,
    directory: &Path,
    into: &MemoryPath,
    others: Others,
    limits: &Limits,
) -> Result<Imported, ImportError> {
    import(store, into, others, limits, &mut |each| each_file(store, directory, each))
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

/// One thing in an archive or a directory.
struct Entry<'a> {
    /// Its name, as it stands there.
    name: &'a [u8],
    kind: Kind,
    /// Bytes that it is said to have.
    size: u64,
    content: &'a mut dyn Read,
}

/// Something that calls back with each entry, the same ones whenever it is called.
type Source<'a> =
    dyn FnMut(&mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>) -> Result<(), ImportError> + 'a;

fn import(
    store: &Store,
    into: &MemoryPath,
    others: Others,
    limits: &Limits,
    source: &mut Source<'_>,
) -> Result<Imported, ImportError> {
    let settings = store.settings();
    let (file_limit, guard) = (settings.file_limit, &settings.guard);
    let mut survey = Survey { file_limit, guard, limits, seen: Vec::new(), files: 0, bytes: 0 };
    source(&mut |mut entry| survey.look(&mut entry))?;
    let places = survey.places(store, into)?;
    refuse_secrets(store, others, survey.seen.iter().zip(&places), source)?;
    let mut seen = survey.seen.iter().zip(places);
    let mut writer = Writer::new(store, others);
    let written = source(&mut |entry| {
        let changed = || ImportError::Entry { name: shown(entry.name), why: CHANGED.to_owned() };
        let (seen, place) = seen.next().ok_or_else(changed)?;
        if clean(entry.name).ok().as_ref() != Some(&seen.name) || entry.kind != seen.kind {
            return Err(changed());
        }
        let Some(path) = place else { return Ok(()) };
        let bytes = read(entry.content, entry.name, seen.size)?;
        if bytes.len() as u64 != seen.size {
            return Err(changed());
        }
        writer.add(path, bytes)
    });
    let written = written.and_then(|()| match seen.next() {
        Some((seen, _)) => Err(ImportError::Entry { name: seen.name.clone(), why: CHANGED.to_owned() }),
        None => writer.flush(),
    });
    match written {
        Ok(()) => Ok(writer.imported),
        Err(error) => Err(match writer.imported.change_id {
            Some(change) => {
                let written = writer.imported.written.len() as u64;
                ImportError::Broken { written, change, source: Box::new(error) }
            }
            None => error,
        }),
    }
}

/// Refuses files that may hold a secret, if the store would.
fn refuse_secrets<'a>(
    store: &Store,
    others: Others,
    mut seen: impl Iterator<Item = (&'a Seen, &'a Option<MemoryPath>)> + Clone,
    source: &mut Source<'_>,
) -> Result<(), ImportError> {
    if !seen.clone().any(|(seen, place)| seen.is_suspect && place.is_some()) {
        return Ok(());
    }
    source(&mut |entry| match seen.next() {
        Some((seen, Some(path))) if seen.is_suspect => {
            let bytes = read(entry.content, entry.name, seen.size)?;
            Ok(store.refuse_secret(path, Arc::new(bytes), others)?)
        }
        _ => Ok(()),
    })
}

const CHANGED: &str = "it changed while it was read";

/// The name of an entry for a message, cut where it is very long.
fn shown(name: &[u8]) -> String {
    quote(&String::from_utf8_lossy(name)).into_owned()
}

/// A longer name, in whatever spelling, is that of no memory.
const LONGEST: usize = 4096;

/// What is there, seen once before anything is changed.
struct Survey<'a> {
    file_limit: u64,
    guard: &'a Guard,
    limits: &'a Limits,
    seen: Vec<Seen>,
    /// How many of those are files.
    files: u64,
    /// Bytes that were read of files that may be imported.
    bytes: u64,
}

struct Seen {
    /// Its name without what means nothing: `.` and empty segments.
    name: String,
    kind: Kind,
    /// Bytes that it really has.
    size: u64,
    /// Whether a secret may be in it, so that it must be looked at again when its place is known.
    is_suspect: bool,
}

impl Survey<'_> {
    fn look(&mut self, entry: &mut Entry<'_>) -> Result<(), ImportError> {
        let given = entry.name;
        let is_file = entry.kind == Kind::File;
        let others = self.seen.len() as u64 - self.files;
        let (so_far, what) = if is_file { (self.files, "files") } else { (others, "directories") };
        if so_far >= self.limits.files {
            return Err(ImportError::TooMuch { what, limit: self.limits.files });
        }
        self.files += u64::from(is_file);
        let refuse = |why: &str| ImportError::Entry { name: shown(given), why: why.to_owned() };
        let name = clean(given).map_err(refuse)?;
        // Names are held until all is seen.
        if name.len() > LONGEST {
            return Err(refuse(&PathError::Long.to_string()));
        }
        let (mut size, mut is_suspect) = (0, false);
        if is_file {
            if name.is_empty() {
                return Err(refuse("it has no name"));
            }
            // A history is passed over, if it is one, and may be as large as it likes.
            let most = if name == HISTORY { u64::MAX } else { self.file_limit };
            if entry.size > most {
                return Err(too_large(given, most));
            }
            if name == HISTORY {
                size = count(entry.content, most).map_err(|e| unreadable(given, e))?;
                is_suspect = true;
            } else {
                let bytes = read(entry.content, given, most)?;
                size = bytes.len() as u64;
                is_suspect = size <= most && self.has_secret(&bytes);
            }
            if size > most {
                return Err(too_large(given, most));
            }
            if name != HISTORY {
                self.count(size)?;
            }
        }
        self.seen.push(Seen { name, kind: entry.kind, size, is_suspect });
        Ok(())
    }

    fn has_secret(&self, bytes: &[u8]) -> bool {
        self.guard.scan(bytes).iter().any(|found| found.action == Action::Block)
    }

    fn count(&mut self, bytes: u64) -> Result<(), ImportError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.bytes {
            return Err(ImportError::TooMuch { what: "bytes", limit: self.limits.bytes });
        }
        Ok(())
    }

    /// Where each entry goes; `None` for those that only stand beside memories.
    fn places(&mut self, store: &Store, into: &MemoryPath) -> Result<Vec<Option<MemoryPath>>, ImportError> {
        let is_export = is_export(&self.seen);
        let mut places = Vec::with_capacity(self.seen.len());
        let mut taken = HashMap::new();
        for i in 0..self.seen.len() {
            let Seen { name, kind, size, .. } = &self.seen[i];
            let refuse = |why: String| ImportError::Entry { name: name.clone(), why };
            let below = if is_export { name.strip_prefix(MEMORIES) } else { Some(name.as_str()) };
            let Some(below) = below else {
                places.push(None);
                continue;
            };
            let path = MemoryPath::parse(&format!("{into}/{below}")).map_err(|e| refuse(e.to_string()))?;
            match (store.admit(&path), kind) {
                (Ok(()), _) | (Err(Error::ReadOnly { .. }), Kind::Directory) => {}
                (Err(Error::Hidden { .. }), _) => return Err(refuse(why_hidden(&path))),
                (Err(_), _) => return Err(refuse("its place is read-only in this store".to_owned())),
            }
            match (taken.insert(path.clone(), *kind), kind) {
                (None, _) | (Some(Kind::Directory), Kind::Directory) => {}
                (Some(Kind::File), Kind::File) => {
                    return Err(refuse(format!("another one is at `{path}`, too")));
                }
                (Some(_), _) => return Err(refuse(format!("a file and a directory are at `{path}`"))),
            }
            if *kind == Kind::Directory {
                places.push(None);
                continue;
            }
            if *size > self.file_limit {
                return Err(too_large(name.as_bytes(), self.file_limit));
            }
            if name == HISTORY {
                let size = *size;
                self.count(size)?;
            }
            self.seen[i].is_suspect |= store.refuse_secret_path(&path).is_err();
            places.push(Some(path));
        }
        for (seen, place) in self.seen.iter().zip(&places) {
            let Some(path) = place else { continue };
            if let Some(above) = path.ancestors().find(|above| taken.get(above) == Some(&Kind::File)) {
                let why = format!("a file is at `{above}`, so nothing can be below it");
                return Err(ImportError::Entry { name: seen.name.clone(), why });
            }
        }
        Ok(places)
    }
}

/// Whether all of it lies below `memories`, but for what stands beside that in an export or a store.
fn is_export(seen: &[Seen]) -> bool {
    let is_below = |seen: &Seen| match seen.name.strip_prefix(MEMORIES) {
        Some("") => seen.kind == Kind::Directory,
        rest => rest.is_some_and(|rest| rest.starts_with('/')),
    };
    let is_beside = |seen: &Seen| match seen.kind {
        Kind::File => matches!(seen.name.as_str(), HISTORY | SETTINGS),
        Kind::Directory => seen.name.is_empty(),
    };
    seen.iter().any(is_below) && seen.iter().all(|seen| is_below(seen) || is_beside(seen))
}

/// The settings of a store, beside its memories.
const SETTINGS: &str = "memdir.toml";

fn why_hidden(path: &MemoryPath) -> String {
    if path.names_git() {
        "nothing is ever put into `.git`".to_owned()
    } else {
        "it is hidden, and the settings of this store forbid that".to_owned()
    }
}

fn too_large(name: &[u8], limit: u64) -> ImportError {
    let why = format!("it is over the limit of {limit} bytes");
    ImportError::Entry { name: shown(name), why }
}

fn unreadable(name: &[u8], source: io::Error) -> ImportError {
    ImportError::Read { name: shown(name), source }
}

/// A name without what means nothing, or why it is none.
fn clean(name: &[u8]) -> Result<String, &'static str> {
    let name = std::str::from_utf8(name).map_err(|_| "its name is not UTF-8")?;
    if name.starts_with('/') {
        return Err("its name is absolute");
    }
    if name.split('/').any(|segment| segment == "..") {
        return Err("its name leads upwards");
    }
    let segments: Vec<_> = name.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    Ok(segments.join("/"))
}

/// Bytes of a content, counted to a little more than `most`.
fn count(content: &mut dyn Read, most: u64) -> io::Result<u64> {
    io::copy(&mut content.take(most.saturating_add(1)), &mut io::sink())
}

fn read(content: &mut dyn Read, name: &[u8], size: u64) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    content.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(name, e))?;
    Ok(bytes)
}

/// Writes files, many at a time.
struct Writer<'a> {
    store: &'a Store,
    others: Others,
    change: ChangeId,
    files: Vec<(MemoryPath, Bytes)>,
    bytes: usize,
    imported: Imported,
}

/// As many files, and as many bytes of them, are one change of the journal at most.
const MOST_FILES: usize = 256;
const MOST_BYTES: usize = 16 << 20;

impl<'a> Writer<'a> {
    fn new(store: &'a Store, others: Others) -> Self {
        let change = store.new_change();
        Self { store, others, change, files: Vec::new(), bytes: 0, imported: Imported::default() }
    }

    fn add(&mut self, path: MemoryPath, bytes: Vec<u8>) -> Result<(), ImportError> {
        if self.files.len() == MOST_FILES || self.bytes + bytes.len() > MOST_BYTES {
            self.flush()?;
        }
        self.bytes += bytes.len();
        self.files.push((path, Arc::new(bytes)));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.bytes = 0;
        let files = std::mem::take(&mut self.files);
        if files.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
        let done = self.store.put(files, self.others, self.change)?;
        for (path, put) in paths.into_iter().zip(done) {
            match put {
                Put::Written => {
                    self.imported.change_id = Some(self.change);
                    self.imported.written.push(path);
                }
                Put::Unchanged => self.imported.unchanged += 1,
                Put::Conflict => self.imported.conflicts.push(path),
            }
        }
        Ok(())
    }
}

/// Calls `each` with every file and directory below a directory, by name.
fn each_file(
    store: &Store,
    directory: &Path,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let of = |path: &Path| shown(path.as_os_str().as_bytes());
    let unreadable = |path: &Path, source| ImportError::Read { name: of(path), source };
    let is_directory = std::fs::metadata(directory).map_err(|e| unreadable(directory, e))?.is_dir();
    if !is_directory {
        return Err(unreadable(directory, io::ErrorKind::NotADirectory.into()));
    }
    let is_visible = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().as_bytes();
        entry.depth() == 0 || !is_passed_over(name)
    };
    let walk = WalkDir::new(directory).sort_by_file_name().into_iter().filter_entry(is_visible);
    for entry in walk {
        let entry = entry.map_err(|e| {
            let name = e.path().map_or_else(|| of(directory), of);
            let source = e.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
            ImportError::Read { name, source }
        })?;
        if entry.depth() == 0 {
            continue;
        }
        let path = entry.path();
        let below = path.strip_prefix(directory).unwrap_or(path).as_os_str().as_bytes();
        let refuse = |why: &str| Err(ImportError::Entry { name: shown(below), why: why.to_owned() });
        let kind = entry.file_type();
        if kind.is_dir() {
            let seen = std::fs::symlink_metadata(path).map_err(|e| unreadable(path, e))?;
            if store.is_at(seen.dev(), seen.ino()) {
                return refuse("it is the very store that is imported into");
            }
            each(Entry { name: below, kind: Kind::Directory, size: 0, content: &mut io::empty() })?;
        } else if kind.is_file() {
            let mut file = open_outside(path).map_err(|e| unreadable(path, e))?;
            let size = file.metadata().map_err(|e| unreadable(path, e))?.len();
            each(Entry { name: below, kind: Kind::File, size, content: &mut file })?;
        } else if kind.is_symlink() {
            return refuse("it is a symbolic link");
        } else {
            return refuse("it is neither a file nor a directory");
        }
    }
    Ok(())
}
