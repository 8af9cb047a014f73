//! What others did to the files since memdir last did: recorded as theirs before anything else happens to them.

use std::collections::HashMap;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use super::publish::{Expected, Original};
use super::session::Session;
use crate::disk::{Stamp, What, visit};
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::journal::{Content, Head, Step, Stored};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// Stands for the hash of a file that is too large to be read: no content has it.
pub(super) const UNREAD: Hash = Hash([0; 32]);

/// A file and its bytes, where it was not too large to be read.
pub(super) type Read = (Stamp, Option<Bytes>);

/// Adds to `outside` what others did to one file; what a change of it will displace.
///
/// A file of no memory may be that of a memory that lost its own.
pub(super) fn file(
    session: &Session<'_>,
    path: &MemoryPath,
    read: Option<Read>,
    outside: &mut Vec<Step>,
) -> Result<Option<Original>> {
    if let Some((stamp, Some(bytes))) = &read
        && outside.len() < FEW
        && session.journal.head(path.as_str())?.is_none()
        && let Some(Head { memory, path: from, stored, id, .. }) = lost(session, path, bytes, outside)?
    {
        session.moved.borrow_mut().insert(memory);
        outside.push(Step::Move { memory, from, to: path.as_str().into(), staged: None });
        let (stamp, bytes) = (*stamp, Some(Arc::clone(bytes)));
        return Ok(Some(Original { stamp, bytes, is_stored: stored, id: Some(id) }));
    }
    file_in_place(session, path, read, outside)
}

/// Whoever changes more files than this at once has looked at everything before, and every look for a lost memory reads
/// all heads.
const FEW: usize = 16;

/// The memory that has these bytes, and no file any more: one whose file had the same name, else the only one.
fn lost(session: &Session<'_>, path: &MemoryPath, bytes: &Bytes, outside: &[Step]) -> Result<Option<Head>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut lost = Vec::new();
    for head in session.journal.history().live_with(Hash::of(bytes), bytes.len() as u64)? {
        let is_deleted = |step: &Step| matches!(step, Step::Delete { path, .. } if *path == head.path);
        let at = MemoryPath::from_normal(head.path.as_str());
        if !session.moved.borrow().contains(&head.memory)
            && !outside.iter().any(is_deleted)
            && matches!(session.base().sandbox.open_file(&at), Ok(Err(_)))
        {
            lost.push(head);
        }
    }
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let same = lost.iter().position(|head| name(&head.path) == name(path.as_str()));
    Ok(match same {
        Some(same) => Some(lost.swap_remove(same)),
        None if lost.len() == 1 => lost.pop(),
        None => None,
    })
}

/// As [`file`], where no memory is looked for: a scan has done so, and after a crash a file may be missing that is about
/// to be put back.
pub(super) fn file_in_place(
    session: &Session<'_>,
    path: &MemoryPath,
    read: Option<Read>,
    outside: &mut Vec<Step>,
) -> Result<Option<Original>> {
    let head = session.journal.head(path.as_str())?;
    let Some((stamp, bytes)) = read else {
        if head.is_some() {
            outside.push(Step::Delete { path: path.as_str().into(), staged: None });
        }
        return Ok(None);
    };
    let content = content(session, bytes.as_ref(), stamp.size);
    let found = compare(head.as_ref(), &content);
    if !found.is_head {
        let mode = stamp.mode & 0o7777;
        outside.push(Step::Write { path: path.as_str().into(), content, mode, staged: None });
    }
    Ok(Some(Original { stamp, bytes, is_stored: found.is_stored, id: found.id }))
}

/// Adds to `outside` what others did below a directory that is to be removed, and to `own` the deletion of each file.
///
/// # Errors
/// [`Trouble::Denied`] when something in it could not be removed.
pub(super) fn tree(
    session: &Session<'_>,
    path: &MemoryPath,
    outside: &mut Vec<Step>,
    own: &mut Vec<Step>,
) -> Result<HashMap<Vec<u8>, Expected>> {
    let mut expected = HashMap::new();
    let Ok(dir) = session.base().sandbox.open_dir(path)? else {
        return Err(Error::Missing { path: path.clone() });
    };
    let heads = session.journal.heads_below(path.as_str())?;
    let mut heads: HashMap<String, Head> = heads.into_iter().map(|head| (head.path.clone(), head)).collect();
    let mut held = 0;
    visit(dir.as_fd(), &mut |seen| {
        match seen.what {
            What::Directory { writable: false } => {
                let doing = format!("remove what is below {path}");
                return Err(Error::Write { why: Trouble::Denied, doing, source: None });
            }
            What::Mount => return Err(Error::Unsupported { path: path.clone() }),
            What::Directory { .. } | What::Link | What::Special | What::Closed => return Ok(()),
            What::File => {}
        }
        let Ok(open) = seen.open()? else { return Ok(()) };
        let file = below(path, seen.path).as_str().to_owned();
        let bytes = if held > MOST_HELD { None } else { session.read_open(&open)? };
        let content = content(session, bytes.as_ref(), open.stamp.size);
        let found = compare(heads.remove(&file).as_ref(), &content);
        let at = Expected {
            stamp: open.stamp,
            hash: content.hash,
            path: file.clone(),
            is_stored: found.is_stored,
            id: found.id,
        };
        expected.insert(seen.path.to_vec(), at);
        if !found.is_head {
            if matches!(content.bytes, Stored::Here { .. }) {
                held += content.size;
            }
            let mode = open.stamp.mode & 0o7777;
            outside.push(Step::Write { path: file.clone(), content, mode, staged: None });
        }
        own.push(Step::Delete { path: file, staged: None });
        Ok(())
    })?;
    outside.extend(heads.into_keys().map(|path| Step::Delete { path, staged: None }));
    Ok(expected)
}

/// As many bytes of strangers' files are put into one commit at most; what is beyond goes to `kept/`.
const MOST_HELD: u64 = 64 << 20;

/// Adds to `outside` the deletion of memories at or below a path where nothing stands any more.
pub(super) fn vacated(session: &Session<'_>, path: &MemoryPath, outside: &mut Vec<Step>) -> Result<()> {
    let at = session.journal.head(path.as_str())?;
    let gone = session.journal.heads_below(path.as_str())?.into_iter().chain(at);
    outside.extend(gone.map(|head| Step::Delete { path: head.path, staged: None }));
    Ok(())
}

/// The path of a file, by the names on disk below a directory, as the journal spells it.
pub(super) fn below(directory: &MemoryPath, rest: &[u8]) -> MemoryPath {
    directory.join(&String::from_utf8_lossy(rest))
}

/// Content from outside, and whether the journal takes it: text of a size that a memory may have.
pub(super) fn content(session: &Session<'_>, bytes: Option<&Bytes>, size: u64) -> Content {
    let limit = session.core.settings.file_limit.max(1 << 20);
    match bytes {
        Some(bytes) if size <= limit && std::str::from_utf8(bytes).is_ok() => {
            let stored = Stored::Here { new: Arc::clone(bytes), old: None };
            Content { hash: Hash::of(bytes), size: bytes.len() as u64, bytes: stored }
        }
        Some(bytes) => Content { hash: Hash::of(bytes), size: bytes.len() as u64, bytes: Stored::Elsewhere },
        None => Content { hash: UNREAD, size, bytes: Stored::Elsewhere },
    }
}

/// How content on disk stands to the newest version.
struct Compared {
    is_head: bool,
    /// Whether the journal holds these bytes, or will once the edit from outside is recorded.
    is_stored: bool,
    /// The version's id, where it is known already.
    id: Option<crate::id::VersionId>,
}

fn compare(head: Option<&Head>, content: &Content) -> Compared {
    match head {
        Some(head) if head.hash == content.hash && head.size == content.size => {
            Compared { is_head: true, is_stored: head.stored, id: Some(head.id) }
        }
        _ => Compared { is_head: false, is_stored: matches!(content.bytes, Stored::Here { .. }), id: None },
    }
}
