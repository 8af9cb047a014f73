//! One change taken back while what came after it stays: a merge of three contents, and of three places.

use super::Unmerged;
use super::wish::{Content, State, Wish};
use crate::disk::Found;
use crate::error::Result;
use crate::hash::Hash;
use crate::store::snapshot::Snapshot;
use crate::text::{Bytes, Merged, merge};
use crate::version::Version;

/// What a change did to a memory that lived before it and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undo {
    before: State,
    after: State,
    /// Versions since what was before.
    since: u64,
    /// Versions since the change.
    later: u64,
}

/// What the content of a memory becomes.
enum Becomes {
    Now,
    Before,
    Merged(String),
    /// What it was, and so does the rest of the memory.
    Whole(Unmerged),
}

impl Undo {
    /// Of what a change did there is an undo that leaves what came later: not of a beginning, an end or a redacted version.
    pub(super) fn of(
        before: Option<&State>,
        after: Option<&Version>,
        since: u64,
        later: u64,
    ) -> Option<Self> {
        let after = after.filter(|after| after.redacted.is_none()).and_then(State::of)?;
        Some(Self { before: before?.clone(), after, since, later })
    }
}

impl Wish {
    /// Decides anew what comes of an undo, from what the memory is now.
    pub(super) fn settle(&mut self, snapshot: &mut Snapshot<'_>) -> Result<()> {
        let Some(undo) = self.undo.as_deref() else { return Ok(()) };
        let Undo { before, after, since, later } = undo;
        let is_edited = !before.is_same_content(after);
        (self.undone, self.kept, self.unmerged) = (since - later, *later, None);
        let Some(now) = &self.now else {
            // That it moved is undone nowhere; that it was edited, as if it were deleted by the same edit.
            self.then = is_edited.then(|| before.clone());
            (self.content, self.undone, self.kept) = (Content::Version, *since, 0);
            return Ok(());
        };
        let path = if now.path == after.path { &before.path } else { &now.path };
        let mode = if now.mode == after.mode { before.mode } else { now.mode };
        let becomes = if is_edited { undo.becomes(snapshot, now)? } else { Becomes::Now };
        let (content, state) = match becomes {
            Becomes::Now => (Content::Now, now.clone()),
            Becomes::Before => (Content::Version, before.clone()),
            Becomes::Merged(text) => {
                let (hash, size) = (Some(Hash::of(text.as_bytes())), text.len() as u64);
                (Content::Merged, State { hash, size, is_stored: true, ..before.clone() })
            }
            Becomes::Whole(why) => {
                (self.undone, self.kept, self.unmerged) = (*since, 0, (*later > 0).then_some(why));
                (self.content, self.then) = (Content::Version, Some(before.clone()));
                return Ok(());
            }
        };
        (self.content, self.then) = (content, Some(State { path: path.clone(), mode, ..state }));
        Ok(())
    }

    /// The merge, with `now` being what is there.
    pub(super) fn merged(&self, snapshot: &Snapshot<'_>, now: &[u8]) -> Result<Option<Bytes>> {
        let Some(undo) = &self.undo else { return Ok(None) };
        Ok(match undo.merge(snapshot, now)? {
            Becomes::Merged(text) => Some(text.into_bytes().into()),
            _ => None,
        })
    }
}

impl Undo {
    fn becomes(&self, snapshot: &mut Snapshot<'_>, now: &State) -> Result<Becomes> {
        let Self { before, after, .. } = self;
        if !(before.is_stored && after.is_stored && now.is_stored) {
            // Nothing to merge; but there may be no need to.
            return Ok(match now {
                now if now.is_same_content(after) => Becomes::Before,
                now if now.is_same_content(before) => Becomes::Now,
                _ => Becomes::Whole(Unmerged::NotText),
            });
        }
        // As it is on the disk: somebody may have edited it a moment ago.
        let here = match snapshot.peek(&now.path)? {
            Found::File(bytes) => Some(bytes),
            Found::Not(_) => snapshot.journal.history().content(now.n)?.map(Into::into),
        };
        let Some(here) = here else { return Ok(Becomes::Whole(Unmerged::NotText)) };
        match Some(Hash::of(&here)) {
            hash if hash == after.hash => Ok(Becomes::Before),
            hash if hash == before.hash && hash == now.hash => Ok(Becomes::Now),
            _ => Ok(match self.merge(snapshot, &here)? {
                Becomes::Merged(text) if Some(Hash::of(text.as_bytes())) == before.hash => Becomes::Before,
                Becomes::Merged(text) if Some(Hash::of(text.as_bytes())) == now.hash => Becomes::Now,
                other => other,
            }),
        }
    }

    fn merge(&self, snapshot: &Snapshot<'_>, now: &[u8]) -> Result<Becomes> {
        let history = snapshot.journal.history();
        let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let (before, after) = (text(history.content(self.before.n)?), text(history.content(self.after.n)?));
        let (Some(before), Some(after), Ok(now)) = (before, after, std::str::from_utf8(now)) else {
            return Ok(Becomes::Whole(Unmerged::NotText));
        };
        Ok(match merge(&after, now, &before) {
            Merged::Clean(text) => Becomes::Merged(text),
            Merged::Conflict { .. } => Becomes::Whole(Unmerged::SameLines),
        })
    }
}
