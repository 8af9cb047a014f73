//! A store as a tar archive.

use std::io::{self, BufWriter, Read, Seek as _, Write};
use std::mem::ManuallyDrop;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tar::{EntryType, Header};

use crate::error::Error;
use crate::store::{History, Store, StoredFile};
use crate::version::{Log, Version};

/// What every entry of an export lies below, but for the history.
pub(super) const MEMORIES: &str = "memories";
/// The entry that holds the history.
pub(super) const HISTORY: &str = "history.jsonl";
/// Two empty blocks, as which an archive ends.
const END: [u8; 1024] = [0; 1024];

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] Error),
    /// The archive could not be written.
    #[error("cannot write the archive: {0}")]
    Write(#[from] io::Error),
}

/// Writes all files, `memories/…`, to a tar archive; with `history` also `history.jsonl`, one version a line, oldest first,
/// with its content (`content`, or `content_base64` where it is no UTF-8). How many files there were.
///
/// All files are those of one moment, and no writer comes in until they are written. The same files make the same bytes.
/// What is written before an error is no archive: it lacks the end.
///
/// # Errors
/// [`ExportError`].
pub fn export(store: &Store, to: &mut dyn Write, history: bool) -> Result<u64, ExportError> {
    let mut files = 0;
    let mut newest = 0;
    let mut failure = None;
    let snapshot = store.snapshot(&mut |file| {
        files += 1;
        newest = file.modified.max(newest);
        append_file(to, &file).map_err(|e| {
            let error = Error::write("write the archive", io::Error::from(e.kind()));
            failure = Some(e);
            error
        })
    });
    if let Some(e) = failure {
        return Err(e.into());
    }
    let versions = snapshot?;
    if files == 0 {
        // So that it can be told for an export all the same.
        append(to, &mut header(EntryType::Directory, 0o700, 0, 0), "memories/", &mut io::empty())?;
    }
    if history {
        append_history(store, to, &versions, newest)?;
    }
    to.write_all(&END)?;
    to.flush()?;
    Ok(files)
}

fn append_file(to: &mut dyn Write, file: &StoredFile) -> io::Result<()> {
    let StoredFile { path, bytes, mode, modified } = file;
    let mut header = header(EntryType::Regular, *mode, bytes.len() as u64, *modified);
    append(to, &mut header, &format!("{MEMORIES}/{}", path.as_str()), &mut bytes.as_slice())
}

/// Writes the history to a file without a name first: an entry begins with its size.
fn append_history(
    store: &Store,
    to: &mut dyn Write,
    history: &History,
    modified: i64,
) -> Result<(), ExportError> {
    let mut versions = Vec::new();
    history.versions(&Log::default(), &mut |version| {
        versions.push(version.id);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    let mut lines = BufWriter::new(store.scratch()?);
    for id in versions.into_iter().rev() {
        let version = history.version(id)?;
        let content = match history.content(id) {
            Ok(bytes) => Some(bytes),
            Err(Error::NoContent { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        serde_json::to_writer(&mut lines, &line(&version, content.as_deref().map(Vec::as_slice))?)
            .map_err(io::Error::from)?;
        lines.write_all(b"\n")?;
    }
    let mut file = lines.into_inner().map_err(io::IntoInnerError::into_error)?;
    let size = file.stream_position()?;
    file.rewind()?;
    append(to, &mut header(EntryType::Regular, 0o600, size, modified), HISTORY, &mut file)?;
    Ok(())
}

/// A version as one line of the history.
fn line(version: &Version, content: Option<&[u8]>) -> io::Result<Value> {
    let mut line = serde_json::to_value(version)?;
    let (name, content) = match content.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        Some((_, Ok(text))) => ("content", text.into()),
        Some((bytes, Err(_))) => ("content_base64", BASE64_STANDARD.encode(bytes).into()),
        None => ("content", Value::Null),
    };
    line[name] = content;
    Ok(line)
}

/// A header that tells nothing of whose files these were.
fn header(kind: EntryType, mode: u32, size: u64, modified: i64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(u64::try_from(modified).unwrap_or(0));
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn append(to: &mut dyn Write, header: &mut Header, name: &str, data: &mut dyn Read) -> io::Result<()> {
    // A builder that is dropped ends the archive, after a failure, too.
    ManuallyDrop::new(tar::Builder::new(to)).append_data(header, name, data)
}
