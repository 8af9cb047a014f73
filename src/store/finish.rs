//! The end of a batch: commit, publish, take back what failed, look at what was displaced.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::absorb;
use super::batch::{Accepted, Batch};
use super::gate;

use super::publish::{Act, Expected, Original, Pending, Slot, Take};
use super::queue::Outcome;
use super::session::Session;
use super::{Actor, Author};
use crate::disk::{OpenFile, Stamp, Visit, What};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::{VersionId, new_ulid};
use crate::journal::{Committed, Content, Record, Step, Stored};

/// What must be added to the history after the fact: strangers' edits of displaced files, each followed by the state
/// that memdir published over them.
#[derive(Default)]
struct Afterwards {
    outside: Vec<Step>,
    again: Vec<Step>,
    /// Who made the change that each of `again` restates.
    authors: Vec<Arc<Author>>,
    /// Files in `staging/` that are not to be in the journal, with the paths that they had.
    to_keep: Vec<(String, String)>,
    /// What may go from `staging/`, once all that is to be recorded is.
    to_discard: Vec<String>,
}

impl Afterwards {
    fn settle(mut self, session: &mut Session<'_>) -> Result<()> {
        gate::note_outside(&session.core.settings.guard, &mut self.outside);
        if !self.outside.is_empty() {
            let mut records =
                vec![Record { by: &Actor::Outside, reason: None, id: None, steps: &self.outside }];
            let mut again = &self.again[..];
            for authors in self.authors.chunk_by(Arc::ptr_eq) {
                let (steps, rest) = again.split_at(authors.len());
                let reason = Some("over an edit from outside");
                records.push(Record { by: &authors[0].actor, reason, id: None, steps });
                again = rest;
            }
            let committed = session.journal.commit(session.core.now(), &records)?;
            for (name, path) in &self.to_keep {
                session.room.keep(name, &kept_name(session, committed.elsewhere_at(path)))?;
            }
        }
        self.to_discard.iter().try_for_each(|name| session.room.discard(name))
    }
}

impl Batch<'_, '_> {
    /// Commits and publishes what was accepted, and ends every ticket.
    pub(super) fn finish(self) {
        let Batch { session, slots, accepted, .. } = self;
        if accepted.is_empty() {
            return;
        }
        let mut acts = slots.acts;
        let committed = match commit(session, &accepted) {
            Ok(committed) => committed,
            Err(error) => {
                let error = session.core.refine(error);
                for act in &acts {
                    act.discard(session);
                }
                for accepted in &accepted {
                    accepted.ticket.end(Outcome::Failed(error.again()));
                }
                return;
            }
        };
        let failed = publish(session, &mut acts, &accepted, &committed.own);
        session.core.count_unsynced(accepted.len() as u64);
        if let Err(error) = dispose(session, &acts, &accepted, &committed.all) {
            // The changes are durable and visible; what could not be put away is seen to by recovery, while the log still
            // tells what it is.
            session.core.warn(&session.core.refine(error));
            session.core.set_unsettled(true);
        }
        for (i, accepted) in accepted.iter().enumerate() {
            let done = || Outcome::Done(accepted.warned.clone());
            let failure =
                failed.iter().find(|(owners, _)| owners.contains(&i)).map(|(_, error)| error.again());
            accepted.ticket.end(failure.map_or_else(done, Outcome::Failed));
        }
    }
}

/// What a batch committed: the numbers of its own changes, by request, and the rest.
struct CommittedBatch {
    own: Vec<u64>,
    all: Committed,
}

fn commit(session: &mut Session<'_>, accepted: &[Accepted]) -> Result<CommittedBatch> {
    let core = session.core;
    let mut records = Vec::with_capacity(accepted.len());
    let mut own = Vec::with_capacity(accepted.len());
    for accepted in accepted {
        if !accepted.outside.is_empty() {
            records.push(Record { by: &Actor::Outside, reason: None, id: None, steps: &accepted.outside });
        }
        own.push(records.len());
        let Author { actor, reason } = &*accepted.author;
        let (reason, id) = (accepted.reason.as_ref().or(reason.as_ref()), accepted.change);
        let reason = reason.map(String::as_str);
        records.push(Record { by: actor, reason, id, steps: &accepted.own });
    }
    let all = session.journal.commit(core.now(), &records)?;
    let own = own.into_iter().map(|i| all.changes[i]).collect();
    Ok(CommittedBatch { own, all })
}

/// Publishes all acts; returns the requests that failed, with the reason, after taking back what they had done.
fn publish(
    session: &mut Session<'_>,
    acts: &mut [Act],
    accepted: &[Accepted],
    changes: &[u64],
) -> Vec<(BTreeSet<usize>, Error)> {
    let mut failed: Vec<(BTreeSet<usize>, Error)> = Vec::new();
    for i in 0..acts.len() {
        if acts[i].owners().iter().any(|owner| failed.iter().any(|(owners, _)| owners.contains(owner))) {
            continue;
        }
        let Err(error) = acts[i].publish(session) else { continue };
        let owners = closure(acts, i);
        let error = match withdraw(session, acts, &owners, changes) {
            Ok(()) => session.core.refine(error),
            Err(worse) => {
                session.core.poison(&worse);
                let path =
                    owners.first().and_then(|&i| accepted.get(i)).map(|accepted| accepted.path.clone());
                Error::Unknown { path: path.unwrap_or(crate::path::MemoryPath::ROOT) }
            }
        };
        failed.push((owners, error));
    }
    failed
}

/// The requests that share a file with the failed act, directly or through one another.
fn closure(acts: &[Act], failed: usize) -> BTreeSet<usize> {
    let mut owners: BTreeSet<usize> = acts[failed].owners().iter().copied().collect();
    loop {
        let before = owners.len();
        for act in acts {
            if act.owners().iter().any(|owner| owners.contains(owner)) {
                owners.extend(act.owners());
            }
        }
        if owners.len() == before {
            return owners;
        }
    }
}

/// Takes the requests back: first on disk, last things first, then in the journal.
fn withdraw(
    session: &mut Session<'_>,
    acts: &mut [Act],
    owners: &BTreeSet<usize>,
    changes: &[u64],
) -> Result<()> {
    for act in acts.iter_mut().rev().filter(|act| act.owners().iter().any(|owner| owners.contains(owner))) {
        if act.is_published() {
            act.undo(session).map_err(|e| Error::write("take a change back", e))?;
            act.set_unpublished();
        } else {
            act.discard(session);
        }
    }
    let changes: Vec<u64> = owners.iter().filter_map(|&i| changes.get(i).copied()).collect();
    session.journal.withdraw(&changes)
}

/// Puts away what was displaced: nothing is removed whose bytes are not in the history or in `kept/`.
fn dispose(
    session: &mut Session<'_>,
    acts: &[Act],
    accepted: &[Accepted],
    committed: &Committed,
) -> Result<()> {
    let mut afterwards = Afterwards::default();
    for act in acts.iter().filter(|act| act.is_published()) {
        match act {
            Act::File(slot) => dispose_file(session, slot, committed, &mut afterwards)?,
            Act::Take(take) => dispose_tree(session, take, committed, &mut afterwards)?,
            Act::Tree(_) | Act::Move(_) => {}
        }
        if let Some(owner) = act.owners().last() {
            afterwards.authors.resize_with(afterwards.again.len(), || Arc::clone(&accepted[*owner].author));
        }
    }
    afterwards.settle(session)
}

fn dispose_file(
    session: &Session<'_>,
    slot: &Slot,
    committed: &Committed,
    afterwards: &mut Afterwards,
) -> Result<()> {
    let Some(original) = &slot.original else { return Ok(()) };
    let room = session.room;
    let name = slot.displaced_name();
    let path = slot.path.as_str();
    let changed = if slot.displaced.is_some_and(|now| is_surely_untouched(original, &now)) {
        None
    } else {
        match room.open_staged(&name)? {
            Ok(open) if is_untouched(original, &open) => None,
            Ok(open) => Some(open),
            Err(_) => return Ok(()),
        }
    };
    if let Some(open) = changed {
        let bytes = session.read_open(&open)?;
        let content = absorb::content(session, bytes.as_ref(), open.stamp.size);
        let is_stored = matches!(content.bytes, Stored::Here { .. });
        let mode = open.stamp.mode & 0o7777;
        afterwards.outside.push(Step::Write { path: path.into(), content, mode, staged: None });
        afterwards.again.push(match &slot.pending {
            Pending::Write { bytes, mode, .. } => {
                let stored = Stored::Here { new: Arc::clone(bytes), old: None };
                let content = Content { hash: Hash::of(bytes), size: bytes.len() as u64, bytes: stored };
                Step::Write { path: path.into(), content, mode: *mode, staged: None }
            }
            Pending::Remove { .. } => Step::Delete { path: path.into(), staged: None },
        });
        if !is_stored {
            afterwards.to_keep.push((name, path.into()));
            return Ok(());
        }
    } else if !original.is_stored {
        let id = original.id.or_else(|| committed.elsewhere_at(path));
        return room.keep(&name, &kept_name(session, id));
    }
    afterwards.to_discard.push(name);
    Ok(())
}

/// Whether a displaced file must still have the bytes that were read: its stamp is the same, and too old for a write
/// within one tick of the file system's clock to have gone unseen.
fn is_surely_untouched(original: &Original, now: &Stamp) -> bool {
    is_same_content(&original.stamp, now) && (!now.is_young() || original.bytes.is_none())
}

/// Whether a displaced file still has the bytes that were read: it is read again.
fn is_untouched(original: &Original, now: &OpenFile) -> bool {
    match &original.bytes {
        Some(bytes) => now.stamp.size == bytes.len() as u64 && now.read().is_ok_and(|again| again == *bytes),
        None => is_same_content(&original.stamp, &now.stamp),
    }
}

fn is_same_content(a: &Stamp, b: &Stamp) -> bool {
    (a.dev, a.ino, a.size, a.mtime) == (b.dev, b.ino, b.size, b.mtime)
}

fn dispose_tree(
    session: &Session<'_>,
    take: &Take,
    committed: &Committed,
    afterwards: &mut Afterwards,
) -> Result<()> {
    let room = session.room;
    let name = super::batch::staged_old(take.staged);
    room.visit_staged(&name, &mut |seen| {
        if seen.what != What::File {
            return Ok(());
        }
        if let Some(at) = take.expected.get(seen.path)
            && is_as_expected(session, at, seen)?
        {
            if at.is_stored {
                return Ok(());
            }
            let id = at.id.or_else(|| committed.elsewhere_at(&at.path));
            return room.keep_from(seen.dir, seen.name, &kept_name(session, id));
        }
        let Ok(open) = seen.open()? else { return Ok(()) };
        let path = absorb::below(&take.path, seen.path).as_str().to_owned();
        let bytes = session.read_open(&open)?;
        let content = absorb::content(session, bytes.as_ref(), open.stamp.size);
        let is_stored = matches!(content.bytes, Stored::Here { .. });
        let mode = open.stamp.mode & 0o7777;
        afterwards.outside.push(Step::Write { path: path.clone(), content, mode, staged: None });
        afterwards.again.push(Step::Delete { path, staged: None });
        if is_stored { Ok(()) } else { room.keep_from(seen.dir, seen.name, &kept_name(session, None)) }
    })?;
    afterwards.to_discard.push(name);
    Ok(())
}

/// Whether a file in a tree that was taken away still has the bytes that were read; a young one is read again.
fn is_as_expected(session: &Session<'_>, at: &Expected, seen: &Visit<'_>) -> Result<bool> {
    if !is_same_content(&at.stamp, &seen.stamp) {
        return Ok(false);
    }
    if !seen.stamp.is_young() {
        return Ok(true);
    }
    let Ok(open) = seen.open()? else { return Ok(false) };
    Ok(session.read_open(&open)?.is_none_or(|bytes| Hash::of(&bytes) == at.hash))
}

/// The name in `kept/` of a version's bytes; one of its own where the version is not known.
fn kept_name(session: &Session<'_>, id: Option<VersionId>) -> String {
    id.unwrap_or_else(|| VersionId(new_ulid(session.core.now()))).to_string()
}
