//! What a crash leaves in `staging/`: nothing goes from there that is nowhere else.

use super::{Known, Touched, find_version, record};
use crate::disk::{Kind, OpenFile, What};
use crate::error::Result;
use crate::id::{VersionId, new_ulid};
use crate::journal::{Step, Stored};
use crate::path::MemoryPath;
use crate::store::session::Session;
use crate::store::{Actor, absorb};
use crate::text::Bytes;

/// Empties `staging/`. What belongs to a change that was committed, or to an earlier recovery, is looked at first: it may
/// be what was displaced.
pub(super) fn sweep(session: &mut Session<'_>, touched: &Touched) -> Result<()> {
    let is_new = session.journal.last_change()? == 0;
    for name in session.room.staged()? {
        // The journal that knew what this was is gone.
        if is_new {
            session.room.keep(&name, &unknown_name(session))?;
            continue;
        }
        let path = match touched.staged.get(&name) {
            Some(path) => Some(path.clone()),
            None => session.journal.path_of_staged(&name)?,
        };
        match path {
            Some(path) => put_away(session, &name, &path, &touched.files)?,
            // Of a change that was never committed.
            None => discard(session, &name),
        }
    }
    Ok(())
}

/// Removes `staging/{name}`, which was at `path`, unless there is something in it that is nowhere else. `known` are
/// memories that are or were at some paths, beside those that the journal knows there.
pub(super) fn put_away(session: &mut Session<'_>, name: &str, path: &str, known: &Known) -> Result<()> {
    let mut steps = Vec::new();
    if let Some((Kind::File, _)) = session.room.seen(name) {
        let Ok(open) = session.room.open_staged(name)? else { return Ok(()) };
        if let Some(kept) = keep_as(session, path, known, &open, &mut steps)? {
            return session.room.keep(name, &kept);
        }
    } else {
        session.room.visit_staged(name, &mut |seen| {
            if seen.what != What::File {
                return Ok(());
            }
            let Ok(open) = seen.open()? else { return Ok(()) };
            match keep_as(
                session,
                absorb::below(&MemoryPath::from_normal(path), seen.path).as_str(),
                known,
                &open,
                &mut steps,
            )? {
                Some(kept) => session.room.keep_from(seen.dir, seen.name, &kept),
                None => Ok(()),
            }
        })?;
    }
    record(session, &Actor::Outside, steps)?;
    discard(session, name);
    Ok(())
}

/// Removes `staging/{name}`, in which nothing is that is nowhere else. What cannot be removed, such as an immutable file,
/// is in nobody's way.
fn discard(session: &Session<'_>, name: &str) {
    if let Err(error) = session.room.discard(name) {
        session.core.warn(&error);
    }
}

/// The name in `kept/` for a file that is about to go; `None` when its bytes are in the journal, or in `steps`.
fn keep_as(
    session: &Session<'_>,
    path: &str,
    known: &Known,
    open: &OpenFile,
    steps: &mut Vec<Step>,
) -> Result<Option<String>> {
    let Some(bytes) = session.read_open(open)? else { return Ok(Some(unknown_name(session))) };
    let mut memories = known.get(path).cloned().unwrap_or_default();
    memories.extend(session.journal.memories_at(path)?);
    match find_version(session, &memories, &bytes)? {
        Some(past) if past.stored => Ok(None),
        Some(past) => Ok(Some(past.id.to_string())),
        // Zeros are what a crash leaves of a file, not what somebody wrote.
        None if bytes.iter().all(|&byte| byte == 0) => Ok(None),
        None if restate(session, path, &bytes, open, steps)? => Ok(None),
        None => Ok(Some(unknown_name(session))),
    }
}

/// Records a stranger's edit that was displaced, and after it the state that displaced it; `false` when the journal does
/// not take such bytes.
fn restate(
    session: &Session<'_>,
    path: &str,
    bytes: &Bytes,
    open: &OpenFile,
    steps: &mut Vec<Step>,
) -> Result<bool> {
    let content = absorb::content(session, Some(bytes), open.stamp.size);
    if !matches!(content.bytes, Stored::Here { .. }) {
        return Ok(false);
    }
    let mode = open.stamp.mode & 0o7777;
    steps.push(Step::Write { path: path.into(), content, mode, staged: None });
    steps.push(match session.journal.head(path)? {
        Some(head) => {
            let bytes: Bytes = session.journal.content(head.version)?.unwrap_or_default().into();
            let content = absorb::content(session, Some(&bytes), bytes.len() as u64);
            Step::Write { path: path.into(), content, mode: head.mode, staged: None }
        }
        None => Step::Delete { path: path.into(), staged: None },
    });
    Ok(true)
}

/// A name in `kept/` for a file that no version is known of.
pub(in crate::store) fn unknown_name(session: &Session<'_>) -> String {
    VersionId(new_ulid(session.core.now())).to_string()
}
