//! A batch: decisions made one after the other, their files staged, until all is ready to be committed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::gate::{self, Warned};
use super::plan::Plan;
use super::publish::{Act, Slot};
use super::queue::{Decided, Outcome, Request, Ticket};
use super::session::Session;
use super::snapshot::{ReadFile, Snapshot};
use super::{Author, Edit, Hidden};
use crate::disk::{Handles, Look, Place};
use crate::error::{Error, Result};
use crate::guard::{Guard, Warning};
use crate::id::ChangeId;
use crate::journal::{STAGED_BITS, Step};
use crate::path::MemoryPath;

/// What is to be published, in order, with the files of it by path: the overlay of later decisions.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) acts: Vec<Act>,
    files: HashMap<MemoryPath, usize>,
}

/// A request whose edits are staged.
pub(super) struct Accepted {
    pub(super) ticket: Arc<Ticket>,
    pub(super) author: Arc<Author>,
    /// The change that it is a part of; `None`: one of its own.
    pub(super) change: Option<ChangeId>,
    /// Why it is made, where that is not what the author says.
    pub(super) reason: Option<String>,
    /// What others had done to its files before: a change of theirs.
    pub(super) outside: Vec<Step>,
    pub(super) own: Vec<Step>,
    /// What to look at if the outcome is unknown.
    pub(super) path: MemoryPath,
    /// What is told with it once it is made.
    pub(super) warned: Vec<Warned>,
}

impl Drop for Accepted {
    fn drop(&mut self) {
        // Its leader panicked: nobody else would end this.
        if !self.ticket.is_over() {
            self.ticket.end(Outcome::Failed(Error::Unknown { path: self.path.clone() }));
        }
    }
}

/// The decisions of one commit.
pub(super) struct Batch<'s, 'a> {
    pub(super) session: &'s mut Session<'a>,
    pub(super) slots: Slots,
    pub(super) accepted: Vec<Accepted>,
    /// The number of the next file in `staging/`.
    pub(super) next: u64,
    /// Whether it holds a change of directories: then it holds nothing else.
    pub(super) is_full: bool,
    /// Directories that a change of many files holds open.
    pub(super) handles: Handles,
}

/// What became of an offered request.
pub(super) enum Offer {
    /// It ended, or was taken into the batch.
    Settled,
    /// It must come first in the next batch.
    NotNow,
}

/// As many requests go into one batch at most: each holds a directory open.
const MOST: usize = 64;

impl Slots {
    pub(super) fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }

    pub(super) fn get(&self, path: &MemoryPath) -> Option<&Slot> {
        self.files.get(path).and_then(|&i| self.acts.get(i)).and_then(Act::as_file)
    }

    pub(super) fn contains_key(&self, path: &MemoryPath) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn get_mut(&mut self, path: &MemoryPath) -> Option<&mut Slot> {
        let i = *self.files.get(path)?;
        self.acts.get_mut(i).and_then(Act::as_file_mut)
    }

    /// The files, in no order.
    pub(super) fn files(&self) -> impl Iterator<Item = &Slot> {
        self.acts.iter().filter_map(Act::as_file)
    }

    pub(super) fn push_file(&mut self, slot: Slot) {
        self.files.insert(slot.path.clone(), self.acts.len());
        self.acts.push(Act::File(slot));
    }
}

/// An edit with what stands at its path now.
pub(super) struct Planned {
    pub(super) edit: Edit,
    pub(super) place: Place,
    pub(super) read: Option<ReadFile>,
}

/// What one request adds to the batch, until all of it is staged.
#[derive(Default)]
pub(super) struct Addition {
    /// What the request asked for, without the edits.
    pub(super) plan: Plan,
    /// Where the memories that move are now, by where they go.
    pub(super) moved: HashMap<MemoryPath, MemoryPath>,
    /// The numbers in `staging/` of the files that are taken away from where memories leave.
    pub(super) left: HashMap<String, Option<u64>>,
    pub(super) outside: Vec<Step>,
    /// Memories that end. No path has two memories when these are looked up.
    pub(super) ended: Vec<Step>,
    pub(super) own: Vec<Step>,
    pub(super) staged: Vec<String>,
    /// What is told with it.
    pub(super) warned: Vec<Warned>,
}

impl Addition {
    /// Takes note of what is to be told of a file.
    pub(super) fn warn(&mut self, guard: &Guard, path: &MemoryPath, warnings: &[Warning]) {
        if warnings.is_empty() {
            return;
        }
        let path = gate::shown(guard, path);
        let warned = |warning: &Warning| Warned { path: path.clone(), warning: warning.clone() };
        self.warned.extend(warnings.iter().map(warned));
    }

    fn new(plan: Plan) -> Self {
        let moved = plan.moves.iter().map(|moved| (moved.to.clone(), moved.from.clone())).collect();
        let left = plan.moves.iter().map(|moved| (moved.from.as_str().to_owned(), None)).collect();
        Self { plan, moved, left, ..Self::default() }
    }

    /// All steps of its change: what ends, what moves, what is made.
    fn into_steps(self) -> (Vec<Step>, Vec<Step>) {
        let Self { plan, left, outside, mut ended, own, .. } = self;
        ended.extend(plan.moves.into_iter().map(|moved| {
            let from = moved.from.as_str().to_owned();
            let staged = left.get(&from).copied().flatten();
            Step::Move { memory: moved.memory, from, to: moved.to.as_str().to_owned(), staged }
        }));
        ended.extend(own);
        (outside, ended)
    }

    /// Whether another memory than now is at a path after this.
    pub(super) fn brings_another(&self, path: &MemoryPath) -> bool {
        self.plan.replaced.contains(path)
            || self.plan.revived.contains_key(path)
            || self.moved.contains_key(path)
    }
}

impl<'s, 'a> Batch<'s, 'a> {
    pub(super) fn new(session: &'s mut Session<'a>) -> Result<Self> {
        // Every batch that is committed has a change of its own, so no two have a number in common.
        let next = (session.journal.last_change()? + 1) << STAGED_BITS;
        Ok(Self {
            session,
            slots: Slots::default(),
            accepted: Vec::new(),
            next,
            is_full: false,
            handles: Handles::new(),
        })
    }

    /// Makes a decision and stages what it wants.
    pub(super) fn offer(&mut self, request: &mut Request) -> Offer {
        if self.is_full || self.accepted.len() >= MOST {
            return Offer::NotNow;
        }
        let mut snapshot = Snapshot::new(self.session.core, self.session.journal, &self.slots);
        let decided = (request.decide)(&mut snapshot);
        let Snapshot { read, is_partial, begun, reason, .. } = snapshot;
        if is_partial {
            return Offer::NotNow;
        }
        let plan = match decided {
            Decided::Plan(plan) => Plan { begun, reason, ..*plan },
            Decided::Declined => {
                request.ticket.end(Outcome::Done(Vec::new()));
                return Offer::Settled;
            }
            Decided::Panicked(panic) => {
                request.ticket.end(Outcome::Panicked(panic));
                return Offer::Settled;
            }
        };
        match self.accept(plan, read, request) {
            Ok(offer) => offer,
            Err(error) => {
                request.ticket.end(Outcome::Failed(self.session.core.refine(error)));
                Offer::Settled
            }
        }
    }

    fn accept(
        &mut self,
        mut plan: Plan,
        mut read: HashMap<MemoryPath, ReadFile>,
        request: &Request,
    ) -> Result<Offer> {
        let edits = std::mem::take(&mut plan.edits);
        let ticket = &request.ticket;
        refuse_unfit(&edits, plan.in_order)?;
        let Some(path) = edits.first().map(|edit| edit.paths()[0].clone()) else {
            ticket.end(Outcome::Done(Vec::new()));
            return Ok(Offer::Settled);
        };
        let is_alone = edits.len() > 1;
        let core = self.session.core;
        let hidden = if plan.may_be_hidden { Hidden::Allow } else { core.settings.hidden };
        for path in edits.iter().flat_map(Edit::paths) {
            core.admit_with(path, hidden)?;
        }
        let removed = if plan.in_order { removed(&edits) } else { HashSet::new() };
        let (change, reason) = (plan.change, plan.reason.take());
        let mut addition = Addition::new(plan);
        let mut is_root_new = false;
        let mut planned = Vec::with_capacity(edits.len());
        for edit in edits {
            let place = match self.place(&edit, &removed, &mut is_root_new) {
                Ok(mut place) => {
                    if is_alone {
                        place.share(&mut self.handles)?;
                    }
                    place
                }
                // Perhaps only until what is pending is published: a file that goes makes way for a directory.
                Err(_) if !self.slots.is_empty() => return Ok(Offer::NotNow),
                Err(error) => return Err(error),
            };
            let read = read.remove(edit.paths()[0]);
            planned.push(Planned { edit, place, read });
        }
        if is_alone || planned.iter().any(Planned::is_structural) {
            if !self.slots.is_empty() {
                return Ok(Offer::NotNow);
            }
            self.is_full = true;
        }
        let owner = self.accepted.len();
        let staged = planned.into_iter().try_for_each(|planned| self.stage(planned, owner, &mut addition));
        if let Err(error) = staged {
            for name in &addition.staged {
                let _ = self.session.room.discard(name);
            }
            if is_root_new {
                self.session.base().unmake_root();
            }
            if self.is_full {
                self.slots = Slots::default();
            }
            return Err(error);
        }
        let warned = std::mem::take(&mut addition.warned);
        let (mut outside, own) = addition.into_steps();
        gate::note_outside(self.guard(), &mut outside);
        if own.is_empty() {
            ticket.end(Outcome::Done(warned));
        } else {
            let (ticket, author) = (Arc::clone(ticket), Arc::clone(&request.author));
            self.accepted.push(Accepted { ticket, author, change, reason, outside, own, path, warned });
        }
        Ok(Offer::Settled)
    }

    /// Where an edit will be made, once what is `removed` before it is gone. `memories` is made for it when it is gone.
    fn place(&mut self, edit: &Edit, removed: &HashSet<MemoryPath>, is_root_new: &mut bool) -> Result<Place> {
        let path = edit.paths()[0];
        if matches!(edit, Edit::Write { .. }) && !removed.is_empty() {
            if removed.contains(path) {
                return Ok(Place { look: Look::Missing, stamp: None, ..self.session.place(path)? });
            }
            if let Some(above) = path.ancestors().find(|above| removed.contains(above)) {
                let place = self.session.place(&above)?;
                let below = path.segments().skip(above.depth()).map(str::to_owned);
                let mut missing: Vec<String> =
                    place.missing.into_iter().chain([place.name]).chain(below).collect();
                let name = missing.pop().unwrap_or_default();
                return Ok(Place { missing, name, look: Look::Missing, stamp: None, ..place });
            }
        }
        let place = self.session.place(path)?;
        let is_root_gone = place.missing.len() > path.depth() - 1;
        if is_root_gone && matches!(edit, Edit::Write { .. }) {
            *is_root_new |= self.session.make_root()?;
            return self.session.place(path);
        }
        Ok(place)
    }
}

impl Planned {
    /// Whether directories come, go or move: nothing that is pending can be seen through that.
    fn is_structural(&self) -> bool {
        match &self.edit {
            Edit::Write { .. } => !self.place.missing.is_empty(),
            Edit::Remove { .. } => !matches!(self.place.look, Look::File { .. } | Look::Missing),
            Edit::Rename { .. } => true,
        }
    }
}

/// The name in `staging/` of a file that is to be published, and then of what it displaced.
pub(super) fn staged_new(n: u64) -> String {
    format!("new-{n}")
}

/// The name in `staging/` of what was removed.
pub(super) fn staged_old(n: u64) -> String {
    format!("old-{n}")
}

/// Refuses edits of the root itself, and edits that depend on one another: each is looked at before any is made. Only
/// `in_order` may a file be written where an earlier edit removes something, or below.
fn refuse_unfit(edits: &[Edit], in_order: bool) -> Result<()> {
    let mut paths = HashSet::new();
    // Those that make way for whatever is written there later, and what may be below one of them.
    let (mut removed, mut written, mut free) = (HashSet::new(), HashSet::new(), HashSet::new());
    for edit in edits {
        for path in edit.paths() {
            if path.is_root() {
                return Err(Error::Unsupported { path: path.clone() });
            }
            let is_write = matches!(edit, Edit::Write { .. });
            let is_free = is_write && removed.contains(path) && !written.contains(path);
            if !paths.insert(path) && !is_free {
                return Err(Error::Overlap { path: path.clone() });
            }
            match edit {
                Edit::Remove { .. } if in_order => drop(removed.insert(path)),
                Edit::Write { .. } => {
                    written.insert(path);
                    free.extend(
                        path.ancestors().find(|above| removed.contains(above)).map(|above| (path, above)),
                    );
                }
                _ => {}
            }
        }
    }
    for &path in &paths {
        let is_in_the_way = |above: &MemoryPath| {
            paths.contains(above) && (written.contains(above) || !free.contains(&(path, above.clone())))
        };
        if path.ancestors().any(|above| is_in_the_way(&above)) {
            return Err(Error::Overlap { path: path.clone() });
        }
    }
    Ok(())
}

/// The paths that edits remove.
fn removed(edits: &[Edit]) -> HashSet<MemoryPath> {
    let path = |edit: &Edit| if let Edit::Remove { path } = edit { Some(path.clone()) } else { None };
    edits.iter().filter_map(path).collect()
}
