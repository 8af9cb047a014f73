//! After a crash: the log is replayed, each file is judged, leftovers are swept. May itself be cut short and run again.
//!
//! Directories are replayed in order, and told from later ones of the same name by their inodes and, since a file system
//! uses those again, by what is in them; of files only the last state counts.

use std::collections::{BTreeMap, BTreeSet};

use super::absorb;
use super::batch::{staged_new, staged_old};
use super::gate;
use super::session::Session;
use super::sync::sync;
use super::verdict::{Seen, Verdict, is_torn, verdict};
use crate::disk::{Draft, Look, Mark};
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::journal::{Head, LoggedStep, Past, Record, Step};
use crate::path::MemoryPath;
use crate::store::Actor;

mod directories;
mod leftovers;

use directories::{
    goes_with_what_is_around, is_at_or_below, make_directory, remove_emptied, remove_tree, rename,
};
pub(super) use leftovers::unknown_name;
use leftovers::{put_away, sweep};

/// Memories that are, or were, at these paths.
type Known = BTreeMap<String, BTreeSet<i64>>;

/// What a replay of the log leaves to be judged.
#[derive(Default)]
struct Touched {
    files: Known,
    /// Directories that must be there.
    directories: BTreeSet<String>,
    /// Which path the files in `staging/` belong to.
    staged: BTreeMap<String, String>,
    /// Where what was moved may still be, by inode, when it could not be told from something else there.
    former: BTreeMap<u64, Vec<String>>,
    /// What was not moved again, since all that is around it was removed later; and that of which this was replayed.
    strays: Vec<Stray>,
    emptied: Vec<Stray>,
}

/// Something that is still where it was before it was moved.
struct Stray {
    at: String,
    /// Where it would be by now.
    to: String,
    inode: u64,
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
    for path in touched.files.keys() {
        match judge(session, path, &touched.files) {
            Ok(true) => recovered.push(Step::Recovered { path: path.clone() }),
            Ok(false) => {}
            // Somebody closed this file to us: that is no reason to write nothing else any more.
            Err(error @ Error::Read { why: Trouble::Denied, .. }) => session.core.warn(&error),
            Err(error) => return Err(error),
        }
    }
    for stray in &touched.emptied {
        remove_emptied(session, &stray.at, stray.inode)?;
    }
    record(session, &Actor::Recovery, recovered)
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
        // What moved away is known, too, in a directory that was removed.
        if let LoggedStep::Moved { memory, from, staged } = step {
            touched.files.entry(from.clone()).or_default().insert(*memory);
            if let Some(staged) = staged {
                touched.staged.insert(staged_old(*staged), from.clone());
            }
        }
    }
    for (number, step) in steps.iter().enumerate() {
        match step {
            LoggedStep::Recovered { .. } | LoggedStep::Moved { .. } => {}
            LoggedStep::MadeDirectory { path } => {
                touched.directories.insert(path.clone());
            }
            LoggedStep::Renamed { from, to, inode } => {
                touched.rename(from, to, steps);
                let removes = |step: &LoggedStep| matches!(step, LoggedStep::RemovedTree { inode: removed, .. } if removed == inode);
                let is_removed = rest.iter().flatten().any(removes);
                let later = steps[number + 1..].iter().chain(rest[1..].iter().flatten());
                if goes_with_what_is_around(to, later) {
                    touched.strays.push(Stray { at: from.clone(), to: to.clone(), inode: *inode });
                } else if is_there {
                    rename(session, (from, to), *inode, is_removed, touched)?;
                }
            }
            LoggedStep::RemovedTree { path, inode, staged } => {
                touched.directories.retain(|made| !is_at_or_below(made, path));
                touched.staged.insert(staged_old(*staged), path.clone());
                let former = touched.former.remove(inode).unwrap_or_default();
                let is_in_it = |stray: &mut Stray| is_at_or_below(&stray.to, path);
                touched.emptied.extend(touched.strays.extract_if(.., is_in_it));
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

/// Judges one path by what the journal says of it now; whether the disk had to be mended.
fn judge(session: &mut Session<'_>, path: &str, known: &Known) -> Result<bool> {
    let nothing = BTreeSet::new();
    let memories = known.get(path).unwrap_or(&nothing);
    let at = MemoryPath::from_normal(path);
    let head = session.journal.head(path)?;
    let read = match session.base().sandbox.open_file(&at)? {
        Ok(open) => {
            let bytes = session.read_open(&open)?;
            Ok((open.stamp, bytes))
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
                publish(session, &at, &head, &right, known)?;
            }
            return Ok(true);
        }
        Verdict::Remove => {
            remove(session, &at, known)?;
            return Ok(true);
        }
        Verdict::Edited => drop(absorb::file_in_place(session, &at, read.ok(), &mut theirs)?),
        // Of the memory itself: what lies below a directory in its place is judged for itself.
        Verdict::Deleted => theirs.push(Step::Delete { path: path.to_owned(), staged: None }),
    }
    record(session, &Actor::Outside, theirs)?;
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
    known: &Known,
) -> Result<()> {
    if let Some((above, _)) = path.split_last() {
        make_directory(session, above.as_str())?;
    }
    let Ok(place) = session.base().sandbox.parent(path)? else { return Ok(()) };
    let name = &again(head.memory);
    put_away(session, name, path.as_str(), known)?;
    let like = session.base().sandbox.open_file(path)?.ok();
    session.room.stage(name, &Draft { bytes, mode: head.mode, like: like.as_ref() })?;
    let failed = |e| Error::write(format!("publish {path}"), e);
    if place.look == Look::Missing {
        return session.room.publish_new(name, &place.dir, &place.name).map_err(failed);
    }
    session.room.exchange(name, &place.dir, &place.name).map_err(failed)?;
    // What it displaced was judged to be known; the journal may yet not hold it.
    put_away(session, name, path.as_str(), known)
}

/// Removes a file that a crash brought back.
fn remove(session: &mut Session<'_>, path: &MemoryPath, known: &Known) -> Result<()> {
    let Ok(place) = session.base().sandbox.parent(path)? else { return Ok(()) };
    let first = known.get(path.as_str()).and_then(BTreeSet::first);
    let Some(name) = &first.map(|&memory| again(memory)) else { return Ok(()) };
    put_away(session, name, path.as_str(), known)?;
    session
        .room
        .take(&place.dir, &place.name, name)
        .map_err(|e| Error::write(format!("remove {path}"), e))?;
    put_away(session, name, path.as_str(), known)
}

/// Commits `steps`, if there are any, as one change.
fn record(session: &mut Session<'_>, by: &Actor, mut steps: Vec<Step>) -> Result<()> {
    if !steps.is_empty() {
        if *by == Actor::Outside {
            gate::note_outside(&session.core.settings.guard, &mut steps);
        }
        let steps = &steps;
        session.journal.commit(session.core.now(), &[Record { by, reason: None, id: None, steps }])?;
    }
    Ok(())
}

/// The name in `staging/` of a memory's file that recovery puts in its place or takes away.
fn again(memory: i64) -> String {
    format!("again-{memory}")
}
