//! Opening files by name: plain files only, and never through a link.
//!
//! The directory of the index is known by its name, so that a link or a pipe in it, which somebody else put there, would lead a
//! write out of the store or wait for ever. What is there is looked at before it is opened, and what was opened must be the
//! same file. New files are made under names that are not taken (`O_EXCL` follows no link either).
#![allow(clippy::disallowed_methods, reason = "derived data in its own directory, not memories")]

use std::collections::hash_map::RandomState;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How the name of a file begins that is not complete yet.
const NEXT: &str = "next-";

/// So often a file may be replaced while it is opened.
const ATTEMPTS: usize = 16;

/// Opens a file to be read.
pub(super) fn open(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

/// Opens a file to be written, making it where there is none.
pub(super) fn open_or_make(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match options.clone().create_new(true).open(path) {
        Err(fault) if fault.kind() == ErrorKind::AlreadyExists => open_as(path, options),
        made => made,
    }
}

fn open_as(path: &Path, options: &OpenOptions) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let seen = metadata(path)?;
        let file = options.open(path)?;
        if is_same(&seen, &file.metadata()?) {
            return Ok(file);
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, "it is replaced all the time"))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// What is known of a plain file.
pub(super) fn metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_file() {
        Ok(metadata)
    } else {
        Err(io::Error::new(ErrorKind::InvalidData, "a part of the index is no plain file"))
    }
}

/// Reads a whole file of at most so many bytes; a longer one is an error.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "a file of the index is too long"));
    }
    Ok(bytes)
}

/// Puts a whole file in the place of another one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_file_name(format!("{NEXT}{}", name()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&next)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&next, path));
    if written.is_err() {
        let _ = fs::remove_file(&next);
    }
    written
}

/// Removes what a [`replace`] that was killed left.
pub(super) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(NEXT)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether it is a directory, and not a link to one.
pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A name that is not taken: 16 hexadecimal digits.
pub(super) fn name() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
