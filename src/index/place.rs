//! The directory of the index: which generation of it counts, and who may write.
//!
//! A generation is a directory with a random name that holds everything of one index; `current` names the one that counts. An
//! index that is made anew is a new generation, so that others read the old one until the new one is complete.
#![allow(clippy::disallowed_methods, reason = "derived data in its own directory, not memories")]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::hash as crc32;

use super::plain;

const LOCK: &str = "lock";
pub(super) const CURRENT: &str = "current";

/// Where tantivy has its files, in a generation.
const TEXTS: &str = "tantivy";

/// The right to write, until it is dropped or the process ends.
pub(super) struct Lock {
    _file: File,
}

/// Takes the lock, making the directory where there is none; `None`: somebody has it.
pub(super) fn lock(dir: &Path) -> io::Result<Option<Lock>> {
    if !plain::is_directory(dir) {
        // Where there is a link, this makes nothing.
        fs::create_dir_all(dir)?;
    }
    let file = open_lock(dir)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(fault)) => Err(fault),
    }
}

/// Opens the file of the lock, which who may write can.
pub(super) fn open_lock(dir: &Path) -> io::Result<File> {
    if !plain::is_directory(dir) {
        return Err(not_ours());
    }
    plain::open_or_make(&dir.join(LOCK), OpenOptions::new().write(true))
}

fn not_ours() -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, "its directory is a link, or none")
}

/// The name of the generation that counts, which is there.
pub(super) fn current(dir: &Path) -> Option<String> {
    if !plain::is_directory(dir) {
        return None;
    }
    let name = String::from_utf8(plain::read(&dir.join(CURRENT), NAME as u64).ok()?).ok()?;
    (is_generation(&name) && plain::is_directory(&dir.join(&name))).then_some(name)
}

/// The length of the name of a generation.
const NAME: usize = 16;

fn is_generation(name: &str) -> bool {
    name.len() == NAME && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Makes a generation that does not count yet.
pub(super) fn begin(dir: &Path) -> io::Result<String> {
    let name = plain::name();
    fs::create_dir(dir.join(&name))?;
    fs::create_dir(dir.join(&name).join(TEXTS))?;
    Ok(name)
}

/// Makes a generation count.
pub(super) fn publish(dir: &Path, name: &str) -> io::Result<()> {
    let current = dir.join(CURRENT);
    if plain::is_directory(&current) {
        // Nobody but a stranger made it, and no file can be renamed to it.
        fs::remove_dir_all(&current)?;
    }
    plain::replace(&current, name.as_bytes())
}

/// Removes generations that do not count, and files that were not completed. What cannot be removed is tried again by the next.
pub(super) fn sweep(dir: &Path) {
    let current = current(dir);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if is_generation(name) && current.as_deref() != Some(name) {
            let path = entry.path();
            let _ =
                if plain::is_directory(&path) { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
    plain::sweep(dir);
    if let Some(generation) = current.map(|name| dir.join(name)) {
        plain::sweep(&generation);
        plain::sweep(&generation.join(TEXTS));
    }
}

/// Opens a file to read on from a byte.
pub(super) fn read_from(path: &Path, start: u64) -> io::Result<BufReader<File>> {
    let mut file = plain::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Opens a file to write on after so many bytes; what follows them is cut off.
pub(super) fn append_at(path: &Path, length: u64) -> io::Result<BufWriter<File>> {
    let mut file = plain::open_or_make(path, OpenOptions::new().write(true))?;
    if file.metadata()?.len() < length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file of the index is too short"));
    }
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Writes a whole file and returns its CRC-32.
pub(super) fn write_whole(path: &Path, words: &[u64]) -> io::Result<u32> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    plain::replace(path, &bytes)?;
    Ok(crc32(&bytes))
}

/// Reads a whole file of so many words, whose CRC-32 must be this.
pub(super) fn read_whole(path: &Path, words: &mut [u64], crc: u32) -> io::Result<()> {
    let mut bytes = vec![0; words.len() * 8];
    plain::open(path)?.read_exact(&mut bytes)?;
    if crc32(&bytes) != crc {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a file of the index is damaged"));
    }
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Ok(())
}

/// Removes files of a generation whose names end in a number below this.
pub(super) fn remove_older(generation: &Path, stem: &str, number: u64) {
    for entry in fs::read_dir(generation).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_older = name
            .to_str()
            .and_then(|name| name.strip_prefix(stem))
            .and_then(|rest| rest.parse::<u64>().ok())
            .is_some_and(|found| found < number);
        if is_older {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Where tantivy has its files.
pub(super) fn texts(generation: &Path) -> io::Result<PathBuf> {
    let dir = generation.join(TEXTS);
    if plain::is_directory(&dir) { Ok(dir) } else { Err(not_ours()) }
}
