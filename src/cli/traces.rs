//! `memdir __traces`: looks for traces in every byte that is left of a store, as a process that never opened its journal.

#![allow(clippy::disallowed_methods, reason = "it reads what is on the disk as anybody would")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::fault::Fault;
use super::out::Out;
use super::pipe;

/// The name of the command, which is for memdir itself: no help and no completion knows it.
pub(super) const NAME: &str = "__traces";
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// What a search came to.
#[derive(Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Searched {
    /// Files that were read.
    pub(super) files: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
    /// Files, below the base, that hold a trace or are called by one.
    pub(super) found: Vec<String>,
}

/// The base directory of the store to search, if that is what the command is started for.
pub(super) fn asked(arguments: &[OsString]) -> Option<&Path> {
    match arguments {
        [_, name, base] if name == NAME => Some(Path::new(base)),
        _ => None,
    }
}

/// Searches a store for the traces on standard input, a line of base64 each.
pub(super) fn run(base: &Path, out: &mut Out) -> Result<u8, Fault> {
    let mut input = Vec::new();
    while pipe::hear(&mut input)? > 0 {}
    let traces = decode(&input).ok_or_else(|| Fault::usage("standard input is no list of traces"))?;
    let searched = search(base, &traces).map_err(|error| Fault::failed(format!("cannot search: {error}")))?;
    _ = out.json(&searched);
    Ok(0)
}

/// Traces as [`run`] reads them.
pub(super) fn encode(traces: &[Vec<u8>]) -> String {
    traces.iter().map(|trace| STANDARD.encode(trace) + "\n").collect()
}

fn decode(input: &[u8]) -> Option<Vec<Vec<u8>>> {
    let lines = input.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| STANDARD.decode(line).ok()).collect()
}

fn search(base: &Path, traces: &[Vec<u8>]) -> io::Result<Searched> {
    let finders: Vec<_> = traces.iter().filter(|trace| !trace.is_empty()).map(Finder::new).collect();
    let overlap = traces.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    let mut searched = Searched::default();
    for part in ["memories", ".memdir", "memdir.toml"] {
        for entry in WalkDir::new(base.join(part)).sort_by_file_name() {
            let entry = match entry {
                Err(error) if error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound) => {
                    continue;
                }
                entry => entry?,
            };
            let place = entry.path().strip_prefix(base).unwrap_or(entry.path());
            let name = place.as_os_str().as_encoded_bytes();
            let mut is_found = entry.depth() > 0 && finders.iter().any(|finder| finder.find(name).is_some());
            if entry.file_type().is_file() {
                let Some(read) = is_within(entry.path(), &finders, overlap)? else { continue };
                searched.files += 1;
                searched.bytes += read.bytes;
                is_found |= read.is_found;
            }
            if is_found {
                searched.found.push(place.to_string_lossy().into_owned());
            }
        }
    }
    Ok(searched)
}

struct Looked {
    bytes: u64,
    is_found: bool,
}

/// Whether one of the traces is in a file; `None` where it went since it was listed. Pieces overlap, so that none is
/// missed where two of them meet.
fn is_within(path: &Path, finders: &[Finder<'_>], overlap: usize) -> io::Result<Option<Looked>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut looked = Looked { bytes: 0, is_found: false };
    let mut window = Vec::with_capacity(PIECE + overlap);
    loop {
        let kept = window.len();
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut window)?;
        if read == 0 {
            return Ok(Some(looked));
        }
        looked.bytes += read as u64;
        looked.is_found = looked.is_found || finders.iter().any(|finder| finder.find(&window).is_some());
        window.drain(..(kept + read).saturating_sub(overlap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_found_in_any_byte_and_in_names() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let traces = vec![b"canary".to_vec(), vec![0, 255, 10], Vec::new()];
        assert_eq!(search(base, &traces).unwrap(), Searched::default());
        std::fs::create_dir_all(base.join("memories/canary-cage")).unwrap();
        std::fs::create_dir_all(base.join(".memdir/staging")).unwrap();
        std::fs::write(base.join("memdir.toml"), "# canar").unwrap();
        std::fs::write(base.join("elsewhere"), "canary").unwrap();
        let mut across = vec![b'x'; PIECE - 3];
        across.extend_from_slice(b"canary");
        std::fs::write(base.join(".memdir/journal.db"), &across).unwrap();
        std::fs::write(base.join(".memdir/staging/1"), [1, 0, 255, 10]).unwrap();
        let searched = search(base, &traces).unwrap();
        assert_eq!(searched.found, ["memories/canary-cage", ".memdir/journal.db", ".memdir/staging/1"]);
        assert_eq!((searched.files, searched.bytes), (3, across.len() as u64 + 4 + 7));
    }

    /// Who uses the store anew takes files away between their listing and their opening.
    #[test]
    fn a_file_that_goes_meanwhile_is_not_searched() {
        let dir = tempfile::tempdir().unwrap();
        assert!(is_within(&dir.path().join("gone"), &[], 0).unwrap().is_none());
        assert!(is_within(dir.path(), &[], 0).is_err(), "what cannot be read is not passed over");
    }

    #[test]
    fn traces_come_over_as_they_are() {
        let traces = vec![b"a\nb".to_vec(), vec![0, 255]];
        assert_eq!(decode(encode(&traces).as_bytes()), Some(traces));
        assert_eq!(decode(b"!\n"), None);
    }
}
