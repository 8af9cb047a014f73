//! After a crash: the log is replayed, each file is judged, leftovers are swept. May itself be cut short and run again.
//!
//! Directories are replayed in order, and told from later ones of the same name by their inodes and, since a file system
//! uses those again, by what is in them; of files only the last state counts.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd as _;

use super::absorb;
use super::batch::{staged_new, staged_old};
use super::session::Session;
use super::sync::sync;
use super::verdict::{Seen, Verdict, is_torn, verdict};
use crate::disk::{
    Draft, Kind, Look, Mark, OpenFile, What, make_in, merge, move_to_free, remove_empty, visit,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::{VersionId, new_ulid};
use crate::journal::{By, Head, LoggedStep, Past, Record, Step, Stored};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// What a replay of the log leaves to be judged.
#[derive(Default)]
struct Touched {
    /// Memories that are, or were, at these paths.
    files: BTreeMap<String, BTreeSet<i64>>,
    /// Directories that must be there.
    directories: BTreeSet<String>,
    /// Which path the files in `staging/` belong to.
    staged: BTreeMap<String, String>,
    /// Where what was moved may still be, by inode, when it could not be told from something else there.
    former: BTreeMap<u64, Vec<String>>,
}

/// Brings the disk to where the journal says it should be. `mark` is what the last holder of the lock left.
pub(super) fn recover(session: &mut Session<'_>, mark: Option<&Mark>) -> Result<()> {
    let published =
        mark.filter(|mark| session.core.base.site.is_same(&mark.site)).map_or(0, |mark| mark.published);
    let synced = session.journal.synced()?;
    let mut touched = Touched::default();
    let log: Vec<Vec<LoggedStep>> = session
        .journal
        .log_after(synced)?
        .into_iter()
        .filter(|change| !(change.this_run && change.seq <= published))
        .map(|change| change.steps)
        .collect();
    // The root was synced when it was made: no crash takes it, and what a person removed is not brought back.
    let is_there = session.base().sandbox.root()?.is_some();
    for (i, steps) in log.iter().enumerate() {
        replay(session, steps, &log[i..], is_there, &mut touched)?;
    }
    if is_there {
        mend(session, &touched)?;
    }
    sweep(session, &touched)?;
    sync(session)
}

/// Makes the directories that must be there, and judges every file.
fn mend(session: &mut Session<'_>, touched: &Touched) -> Result<()> {
    for path in &touched.directories {
        make_directory(session, path)?;
    }
    let mut recovered = Vec::new();
    for (path, memories) in &touched.files {
        if judge(session, path, memories)? {
            recovered.push(Step::Recovered { path: path.clone() });
        }
    }
    record(session, By::Recovery, &recovered)
}

/// Does again what a change did to directories, where it is not done, and notes which files it touched. `rest` are the
/// steps of this change and of those after it.
fn replay(
    session: &mut Session<'_>,
    steps: &[LoggedStep],
    rest: &[Vec<LoggedStep>],
    is_there: bool,
    touched: &mut Touched,
) -> Result<()> {
    for step in steps {
        match step {
            LoggedStep::Recovered { .. } => {}
            LoggedStep::MadeDirectory { path } => {
                touched.directories.insert(path.clone());
            }
            LoggedStep::Renamed { from, to, inode } => {
                touched.rename(from, to, steps);
                let removes = |step: &LoggedStep| matches!(step, LoggedStep::RemovedTree { inode: removed, .. } if removed == inode);
                let is_removed = rest.iter().flatten().any(removes);
                if is_there {
                    rename(session, (from, to), *inode, is_removed, touched)?;
                }
            }
            LoggedStep::RemovedTree { path, inode, staged } => {
                touched.directories.retain(|made| !is_at_or_below(made, path));
                touched.staged.insert(staged_old(*staged), path.clone());
                let former = touched.former.remove(inode).unwrap_or_default();
                for path in former.iter().chain([path]).filter(|_| is_there) {
                    remove_tree(session, path, *inode, *staged, touched)?;
                }
            }
            LoggedStep::Version { memory, path, deleted, staged } => {
                touched.files.entry(path.clone()).or_default().insert(*memory);
                if let Some(staged) = staged {
                    let name = if *deleted { staged_old(*staged) } else { staged_new(*staged) };
                    touched.staged.insert(name, path.clone());
                }
            }
        }
    }
    Ok(())
}

impl Touched {
    /// Directories move with what is renamed; files must be looked for at both ends.
    fn rename(&mut self, from: &str, to: &str, steps: &[LoggedStep]) {
        let moved: Vec<String> =
            self.directories.iter().filter(|made| is_at_or_below(made, from)).cloned().collect();
        for made in moved {
            self.directories.remove(&made);
            self.directories.insert(format!("{to}{}", &made[from.len()..]));
        }
        for step in steps {
            if let LoggedStep::Version { memory, path, .. } = step
                && is_at_or_below(path, to)
            {
                let before = format!("{from}{}", &path[to.len()..]);
                self.files.entry(before).or_default().insert(*memory);
            }
        }
    }
}

fn is_at_or_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A rename that is in the journal: `from` still being the same inode shows that it was not done, or not to the end.
///
/// But where the inode is free again by the end of the log (`is_removed`), or something else lives at `from` by then, it may
/// be that of another file or directory.
fn rename(
    session: &Session<'_>,
    (from, to): (&str, &str),
    inode: u64,
    is_removed: bool,
    touched: &mut Touched,
) -> Result<()> {
    let (from, to) = (MemoryPath::from_normal(from), MemoryPath::from_normal(to));
    let Ok(source) = session.base().sandbox.parent(&from)? else { return Ok(()) };
    if source.stamp.map(|stamp| stamp.ino) != Some(inode) {
        return Ok(());
    }
    let is_made_again = session.journal.head(from.as_str())?.is_some()
        || !session.journal.heads_below(from.as_str())?.is_empty();
    if (is_removed || is_made_again) && !is_known(session, &from, touched)? {
        touched.former.entry(inode).or_default().push(from.as_str().to_owned());
        return Ok(());
    }
    if let Some((above, _)) = to.split_last() {
        make_directory(session, above.as_str())?;
    }
    let Ok(destination) = session.base().sandbox.parent(&to)? else { return Ok(()) };
    let failed = |e| Error::write(format!("rename {from}"), e);
    match (&source.look, &destination.look) {
        (_, Look::Missing) => {
            let (from_dir, to_dir) = (source.dir.as_fd(), destination.dir.as_fd());
            move_to_free(from_dir, &source.name, to_dir, &destination.name).map_err(failed)
        }
        // Cut short while the entries went one by one.
        (Look::Directory, Look::Directory) => {
            let inner = session.base().sandbox.open_dir(&from)?;
            let outer = session.base().sandbox.open_dir(&to)?;
            let (Ok(inner), Ok(outer)) = (inner, outer) else { return Ok(()) };
            match merge(inner.as_fd(), outer.as_fd()) {
                Ok(()) => remove_empty(&source).map_err(failed),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                Err(e) => Err(failed(e)),
            }
        }
        _ => Ok(()),
    }
}

/// A removal of a directory (or of a link, or a FIFO) that is in the journal.
///
/// One that holds what is not to be removed stays; what is known in it is judged file by file.
fn remove_tree(
    session: &mut Session<'_>,
    path: &str,
    inode: u64,
    staged: u64,
    touched: &Touched,
) -> Result<()> {
    let at = MemoryPath::from_normal(path);
    let Ok(place) = session.base().sandbox.parent(&at)? else { return Ok(()) };
    if place.stamp.map(|stamp| stamp.ino) != Some(inode) || matches!(place.look, Look::File { .. }) {
        return Ok(());
    }
    if !is_known(session, &at, touched)? {
        return Ok(());
    }
    let name = staged_old(staged);
    put_away(session, &name, path, &BTreeSet::new())?;
    session.room.take(&place.dir, &place.name, &name).map_err(|e| Error::write(format!("remove {at}"), e))?;
    put_away(session, &name, path, &BTreeSet::new())
}

/// Whether all files at or below a path are versions of memories that were there, and none lives there now.
fn is_known(session: &Session<'_>, path: &MemoryPath, touched: &Touched) -> Result<bool> {
    let is_known = |path: &str, open: &OpenFile| -> Result<bool> {
        if session.journal.head(path)?.is_some() {
            return Ok(false);
        }
        // What was too large to be read is known by its name alone.
        let Some(bytes) = session.read_open(open)? else { return Ok(true) };
        let mut memories = touched.files.get(path).cloned().unwrap_or_default();
        memories.extend(session.journal.memories_at(path)?);
        if bytes.iter().all(|&byte| byte == 0) || find_version(session, &memories, &bytes)?.is_some() {
            return Ok(true);
        }
        for memory in memories {
            if session.journal.past(memory)?.iter().any(|past| past.hash == Some(absorb::UNREAD)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if let Ok(open) = session.base().sandbox.open_file(path)? {
        return is_known(path.as_str(), &open);
    }
    let Ok(dir) = session.base().sandbox.open_dir(path)? else { return Ok(true) };
    let mut all = true;
    visit(dir.as_fd(), &mut |seen| {
        if all
            && seen.what == What::File
            && let Ok(open) = seen.open()?
        {
            all = is_known(absorb::below(path, seen.path).as_str(), &open)?;
        }
        Ok(())
    })?;
    Ok(all)
}

/// Makes a directory and those above it, where they are missing.
fn make_directory(session: &Session<'_>, path: &str) -> Result<()> {
    let mode = session.core.settings.dir_mode;
    session.base().make_root(mode)?;
    if path.is_empty() {
        return Ok(());
    }
    let path = MemoryPath::from_normal(path);
    let depth = path.segments().count();
    for level in 1..=depth {
        let Ok(place) = session.base().sandbox.parent(&path.ancestor(level))? else { return Ok(()) };
        if place.look == Look::Missing && place.missing.is_empty() {
            make_in(&place, mode)?;
        }
    }
    Ok(())
}

/// Judges one path by what the journal says of it now; whether the disk had to be mended.
fn judge(session: &mut Session<'_>, path: &str, memories: &BTreeSet<i64>) -> Result<bool> {
    let at = MemoryPath::from_normal(path);
    let head = session.journal.head(path)?;
    let read = match session.base().sandbox.open_file(&at)? {
        Ok(open) => {
            let bytes = session.read_open(&open)?;
            Ok((open, bytes))
        }
        Err(look) => Err(look),
    };
    let seen = match &read {
        Ok((_, Some(bytes))) => Seen::File(bytes),
        Ok((_, None)) => return Ok(false),
        Err(Look::Missing | Look::BelowFile(_)) => Seen::Missing,
        Err(_) => Seen::Other,
    };
    // Bytes that the journal does not hold cannot be put back: what is there is what there is.
    if head.as_ref().is_some_and(|head| !head.stored) {
        return Ok(false);
    }
    let right = match &head {
        Some(head) => session.journal.content(head.version)?,
        None => None,
    };
    let is_old = |bytes: &[u8]| matches!(find_version(session, memories, bytes), Ok(Some(_)));
    let mut theirs = Vec::new();
    match verdict(right.as_deref(), seen, is_old) {
        Verdict::Fine => return Ok(false),
        Verdict::Publish => {
            if let (Some(head), Some(right)) = (head, right) {
                publish(session, &at, &head, &right, memories)?;
            }
            return Ok(true);
        }
        Verdict::Remove => {
            remove(session, &at, memories)?;
            return Ok(true);
        }
        Verdict::Edited => drop(absorb::file(session, &at, read.ok(), &mut theirs)?),
        // Of the memory itself: what lies below a directory in its place is judged for itself.
        Verdict::Deleted => theirs.push(Step::Delete { path: path.to_owned(), staged: None }),
    }
    record(session, By::Outside, &theirs)?;
    Ok(false)
}

/// The version of one of these memories that has these bytes, or of which a crash left them.
fn find_version(session: &Session<'_>, memories: &BTreeSet<i64>, bytes: &[u8]) -> Result<Option<Past>> {
    let hash = Hash::of(bytes);
    let synced = session.journal.synced()?;
    for &memory in memories {
        for past in session.journal.past(memory)? {
            if past.hash == Some(hash) {
                return Ok(Some(past));
            }
            if past.change > synced
                && let Some(content) = session.journal.content(past.version)?
                && is_torn(&content, bytes)
            {
                return Ok(Some(past));
            }
        }
    }
    Ok(None)
}

/// Publishes a version again.
fn publish(
    session: &mut Session<'_>,
    path: &MemoryPath,
    head: &Head,
    bytes: &[u8],
    memories: &BTreeSet<i64>,
) -> Result<()> {
    if let Some((above, _)) = path.split_last() {
        make_directory(session, above.as_str())?;
    }
    let Ok(place) = session.base().sandbox.parent(path)? else { return Ok(()) };
    let name = &again(head.memory);
    put_away(session, name, path.as_str(), memories)?;
    let like = session.base().sandbox.open_file(path)?.ok();
    session.room.stage(name, &Draft { bytes, mode: head.mode, like: like.as_ref() })?;
    let failed = |e| Error::write(format!("publish {path}"), e);
    if place.look == Look::Missing {
        return session.room.publish_new(name, &place.dir, &place.name).map_err(failed);
    }
    session.room.exchange(name, &place.dir, &place.name).map_err(failed)?;
    // What it displaced was judged to be known; the journal may yet not hold it.
    put_away(session, name, path.as_str(), memories)
}

/// Removes a file that a crash brought back.
fn remove(session: &mut Session<'_>, path: &MemoryPath, memories: &BTreeSet<i64>) -> Result<()> {
    let Ok(place) = session.base().sandbox.parent(path)? else { return Ok(()) };
    let Some(name) = &memories.first().map(|&memory| again(memory)) else { return Ok(()) };
    put_away(session, name, path.as_str(), memories)?;
    session
        .room
        .take(&place.dir, &place.name, name)
        .map_err(|e| Error::write(format!("remove {path}"), e))?;
    put_away(session, name, path.as_str(), memories)
}

/// Commits `steps`, if there are any, as one change.
fn record(session: &mut Session<'_>, by: By<'_>, steps: &[Step]) -> Result<()> {
    if !steps.is_empty() {
        session.journal.commit(session.core.now(), &[Record { by, reason: None, steps }])?;
    }
    Ok(())
}

/// The name in `staging/` of a memory's file that recovery puts in its place or takes away.
fn again(memory: i64) -> String {
    format!("again-{memory}")
}

/// Empties `staging/`. What belongs to a change that was committed, or to an earlier recovery, is looked at first: it may
/// be what was displaced.
fn sweep(session: &mut Session<'_>, touched: &Touched) -> Result<()> {
    let nothing = BTreeSet::new();
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
            Some(path) => put_away(session, &name, &path, touched.files.get(&path).unwrap_or(&nothing))?,
            // Of a change that was never committed.
            None => discard(session, &name),
        }
    }
    Ok(())
}

/// Removes `staging/{name}`, which was at `path`, unless there is something in it that is nowhere else. `memories` are
/// or were at that path, beside those that the journal knows there.
fn put_away(session: &mut Session<'_>, name: &str, path: &str, memories: &BTreeSet<i64>) -> Result<()> {
    let mut steps = Vec::new();
    if let Some((Kind::File, _)) = session.room.seen(name) {
        let Ok(open) = session.room.open_staged(name)? else { return Ok(()) };
        if let Some(kept) = keep_as(session, path, memories, &open, &mut steps)? {
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
                memories,
                &open,
                &mut steps,
            )? {
                Some(kept) => session.room.keep_from(seen.dir, seen.name, &kept),
                None => Ok(()),
            }
        })?;
    }
    record(session, By::Outside, &steps)?;
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
    memories: &BTreeSet<i64>,
    open: &OpenFile,
    steps: &mut Vec<Step>,
) -> Result<Option<String>> {
    let Some(bytes) = session.read_open(open)? else { return Ok(Some(unknown_name(session))) };
    let mut memories = memories.clone();
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
pub(super) fn unknown_name(session: &Session<'_>) -> String {
    VersionId(new_ulid(session.core.now())).to_string()
}
