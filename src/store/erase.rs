//! Erasing history: single versions by redaction, old ones by retention.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::core::Core;
use super::session::{Patience, Session};
use super::{Store, gate, lock, sync};
use crate::disk::Room;
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::id::VersionId;
use crate::journal::{Journal, Stale};
use crate::version::{Keep, Version};

/// Whether erased bytes are gone from the journal's files by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// They are.
    Done,
    /// Somebody reads the journal, or there is no room to rewrite it. Whoever next opens the store for a change tries
    /// again, and so do [`Store::sync`] and a check that mends.
    Pending,
}

/// What a redaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redaction {
    /// The versions as they are now.
    pub versions: Vec<Version>,
    /// Other versions that hold the very content of one of them, newest first: there it stays.
    pub still_held: Vec<Version>,
    /// Whether the bytes are gone.
    pub erasure: Erasure,
}

/// What retention took, or would take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Versions that went.
    pub versions: u64,
    /// Memories, deleted long ago, of which nothing is left.
    pub memories: u64,
    /// Bytes of content that the journal held for them.
    pub bytes: u64,
    /// Whether the bytes are gone.
    pub erasure: Erasure,
}

impl Store {
    /// Erases content and path of versions for good; that they were stays in the history, and the chain stays whole.
    ///
    /// All of them, or none on error. A version that was redacted before stays as it is. The content stays where other
    /// versions have it, too: [`Redaction::still_held`]. What looks like a secret in the reason of their changes, and in the
    /// names of who made and who redacted them, is left out of those from then on.
    ///
    /// All content of changes that were taken back, since they could not be published, goes with any redaction; a version
    /// of such a change, which [`Store::check`] names, may be asked for alone.
    ///
    /// # Errors
    /// [`Error::NoVersion`](crate::Error::NoVersion), [`Error::IsHead`](crate::Error::IsHead) for what a live memory is
    /// now; else as [`Store::change`].
    pub fn redact(&self, versions: &[VersionId]) -> Result<Redaction> {
        self.locked(|session| {
            sync::sync(session)?;
            let find = |journal: &Journal| {
                let find = |&id| journal.history().recorded(id)?.ok_or(Error::NoVersion { id });
                versions.iter().map(find).collect::<Result<Vec<Version>>>()
            };
            let contents: HashSet<Hash> = find(session.journal)?.iter().filter_map(content).collect();
            let guard = gate::searching(&session.core.settings.guard);
            let mask = |text: &str| match guard.mask(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(masked) => Some(masked),
            };
            session.journal.redact(session.core.now(), &self.author.actor, versions, &mask)?;
            let erasure = finish(session.core, session.room, session.journal)?;
            let still_held = session.journal.history().holding(&contents)?;
            Ok(Redaction { versions: find(session.journal)?, still_held, erasure })
        })
    }

    /// Removes the versions that `keep` does not keep (never one of the newest ten of a live file).
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn prune_history(&self, keep: &Keep) -> Result<Pruned> {
        self.locked(|session| {
            sync::sync(session)?;
            let forget = |stale: &Stale| forget_kept(session.room, stale);
            let stale = session.journal.prune(keep, session.core.now(), forget)?;
            let erasure = finish(session.core, session.room, session.journal)?;
            Ok(Pruned::of(&stale, erasure))
        })
    }

    /// What [`Store::prune_history`] would remove.
    ///
    /// # Errors
    /// As [`Store::history`].
    pub fn preview_prune_history(&self, keep: &Keep) -> Result<Pruned> {
        let stale =
            self.history()?.journal().stale(keep, self.inner.core.now()).map_err(Error::of_reading)?;
        Ok(Pruned::of(&stale, Erasure::Done))
    }

    /// Does something inside the lock that is no change of a caller's. A sync that fails in it closes the handle, as in a
    /// change.
    pub(super) fn locked<T>(&self, work: impl FnOnce(&mut Session<'_>) -> Result<T>) -> Result<T> {
        let core = &self.inner.core;
        let done = lock(&self.inner.engine)
            .enter(core, Patience::Wait, |session| work(session).map_err(|error| core.refine(error)))?;
        done.unwrap_or(Err(Error::Busy { pid: None }))
    }
}

impl Pruned {
    fn of(stale: &Stale, erasure: Erasure) -> Self {
        let Stale { versions, memories, bytes, .. } = *stale;
        Self { versions, memories, bytes, erasure }
    }
}

/// What a version holds, unless that is nothing.
fn content(version: &Version) -> Option<Hash> {
    version.content_sha256.filter(|_| version.content_size_bytes != Some(0))
}

/// Erases what was redacted or removed and may still be in some file, if there is anything.
pub(super) fn finish(core: &Core, room: &Room, journal: &mut Journal) -> Result<Erasure> {
    if !journal.history().is_erasure_due()? {
        return Ok(Erasure::Done);
    }
    let mut redacted = BTreeSet::new();
    for id in room.kept_ids()? {
        if let Ok(version) = id.parse()
            && journal.is_redacted(version)?
        {
            redacted.insert(id);
        }
    }
    // At once, though somebody may just be adding to what is derived; and again when nobody can any more.
    if let Err(error) = room.forget_kept(&redacted).and_then(|()| room.forget_derived()) {
        core.warn(&error);
        return Ok(Erasure::Pending);
    }
    match journal.scrub(|| room.forget_derived()) {
        Ok(true) => Ok(Erasure::Done),
        Ok(false) => Ok(Erasure::Pending),
        Err(error @ Error::Write { why: Trouble::SyncFailed, .. }) => Err(error),
        // What was to be erased is out of the history in any case.
        Err(error) => {
            core.warn(&core.refine(error));
            Ok(Erasure::Pending)
        }
    }
}

/// Removes a little of what the settings do not keep, now and then.
pub(super) fn prune_in_passing(session: &mut Session<'_>) -> Result<()> {
    let keep = session.core.settings.keep_history;
    if keep.is_all() {
        return Ok(());
    }
    let forget = |stale: &Stale| forget_kept(session.room, stale);
    session.journal.prune_in_passing(&keep, session.core.now(), forget)
}

/// Removes from `kept/` the bytes of versions that go.
fn forget_kept(room: &Room, stale: &Stale) -> Result<()> {
    if stale.elsewhere.is_empty() {
        return Ok(());
    }
    room.forget_kept(&stale.elsewhere.iter().map(ToString::to_string).collect())
}
