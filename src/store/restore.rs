//! Undo: memories put back to an earlier state, as a new change.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};

use super::plan::Plan;
use super::snapshot::Snapshot;
use super::{Look, Store, gate};
use crate::error::{Error, Result};
use crate::id::{ChangeId, VersionId};
use crate::journal::History;
use crate::path::MemoryPath;
use crate::version::{Log, Operation, rfc3339};

mod carry;
mod outline;
mod revert;
mod wish;

use carry::{check_contents, empty_directories, plan};
use outline::{Outline, Unit, outline};
use wish::{State, Wish};

/// What is to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restore {
    /// The content of a version, to this path.
    Version {
        /// Where it is put.
        path: MemoryPath,
        /// Whose content.
        version: VersionId,
    },
    /// A file, or a directory with all below it (the root: the whole store), to what it was just before a moment. What
    /// was made later is removed.
    Before {
        /// The file or directory.
        path: MemoryPath,
        /// The moment.
        time: DateTime<Utc>,
    },
    /// All that one change did is taken back, and what came after it stays: memories that it moved go back unless they
    /// were moved again, and of their contents only the lines that it changed become what they were.
    ///
    /// A memory of which that cannot be done becomes what it was before the change, and what came later is undone with it:
    /// where later edits changed the same lines, where a content is no text, and where the change began or ended the
    /// memory, or edited one that was deleted since.
    Change(ChangeId),
}

/// What a restore may do to other memories that are in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// It is refused with [`Error::Taken`](crate::Error::Taken).
    #[default]
    Keep,
    /// They are replaced; they stay in the history.
    Overwrite,
}

/// What one memory underwent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// Where it was before; `None` when it was not there.
    pub from: Option<MemoryPath>,
    /// Where it is now; `None` when it is removed.
    pub to: Option<MemoryPath>,
    /// Whose content it has now; `None` when it is removed, and when that is a merge, which no earlier version has.
    pub version: Option<VersionId>,
    /// How many versions of it are undone with that.
    pub undone: u64,
    /// How many versions of it came after the change that is undone and stay.
    pub kept: u64,
    /// Why they do not stay, but are undone with the change, where it is for their content.
    pub unmerged: Option<Unmerged>,
}

/// Why what came after a change could not stay when that was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmerged {
    /// Both changed the same lines.
    SameLines,
    /// A content is no text, or too large for the journal.
    NotText,
}

/// What a restore did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restoration {
    /// The change that it is; `None` when there was nothing to do, and of a preview.
    pub change_id: Option<ChangeId>,
    /// What each memory underwent, by path.
    pub memories: Vec<Restored>,
}

/// Edits of one change at most, and bytes that they write, unless more are entangled.
const MOST_EDITS: usize = 512;
const MOST_BYTES: u64 = 32 << 20;

/// Paths that are looked at one by one at most, before a restore, for what others did there.
const MOST_PLACES: usize = 16;

/// How often directories may go first; what is left of them then goes file by file.
const MOST_ROUNDS: usize = 8;

/// What is left to do, one change each.
#[derive(Debug, Clone)]
enum Work {
    /// All that is asked for, or the first part of it.
    Begin(Restore),
    /// The same, after directories went to where they were.
    Again(Vec<Wish>),
    /// A part that nothing else depends on.
    Part(Vec<Wish>),
    /// Directories in which nothing may be left.
    Tidy(BTreeSet<MemoryPath>),
}

/// What became of it.
#[derive(Debug, Default)]
struct Done {
    memories: Vec<Restored>,
    is_changed: bool,
    /// What is to be done next.
    next: Vec<Work>,
    /// Directories that memories went away from.
    left: BTreeSet<MemoryPath>,
}

impl Store {
    /// Puts memories back to an earlier state; what others did meanwhile is taken in first. It is a new change, and can
    /// be undone by its id.
    ///
    /// Memories keep their ids, deleted ones too. Directories that held nothing are not brought back, and none is left that
    /// holds nothing any more. A very large restore is made in parts that have one id.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::NoChange`], [`Error::NoContent`], [`Error::Taken`], [`Error::TooEarly`],
    /// [`Error::Missing`] for a path where nothing is and nothing was; [`Error::Secret`] for a content that is put to a path
    /// that looks like one and was never its own; [`Error::Partly`] when a later part fails; else as
    /// [`Store::change`].
    pub fn restore(&self, what: &Restore, others: Others) -> Result<Restoration> {
        self.mend_root()?;
        self.absorb_first(&self.places(what)?)?;
        self.refuse_secret_place(what)?;
        let store = match &self.author.reason {
            Some(reason) => self.with_reason(format!("{reason} ({})", what.reason())),
            None => self.with_reason(what.reason()),
        };
        let change = self.new_change();
        let mut restoration = Restoration { change_id: None, memories: Vec::new() };
        let mut left = BTreeSet::new();
        let mut works = VecDeque::from([Work::Begin(what.clone())]);
        let mut rounds = 0;
        while let Some(work) = works.pop_front() {
            let (is_first, is_tidying) = (matches!(work, Work::Begin(_)), matches!(work, Work::Tidy(_)));
            rounds += 1;
            let done =
                store.decide(move |snapshot| work.plan(snapshot, others, change, rounds < MOST_ROUNDS));
            let done = match (done, restoration.change_id) {
                (Ok(done), _) => done,
                // All is as it is to be, but for a directory in which nothing is.
                (Err(_), _) if is_tidying => break,
                (Err(source), Some(change)) => {
                    return Err(Error::Partly { change, source: Box::new(source) });
                }
                (Err(error), None) => return Err(error),
            };
            if is_first {
                restoration.memories = done.memories;
            }
            if done.is_changed {
                restoration.change_id = Some(change);
            }
            works.extend(done.next);
            left.extend(done.left);
            if works.is_empty() && !is_tidying && !left.is_empty() {
                works.push_back(Work::Tidy(std::mem::take(&mut left)));
            }
        }
        Ok(restoration)
    }

    /// What [`Store::restore`] would do. Nothing is changed but that what others did is taken in.
    ///
    /// # Errors
    /// As [`Store::restore`].
    pub fn preview_restore(&self, what: &Restore, others: Others) -> Result<Restoration> {
        self.mend_root()?;
        self.absorb_first(&self.places(what)?)?;
        self.refuse_secret_place(what)?;
        let (what, change) = (what.clone(), self.new_change());
        let done = self.decide(move |snapshot| {
            let (_, done) = Work::Begin(what.clone()).plan(snapshot, others, change, true)?;
            Ok((Plan::default(), done))
        })?;
        Ok(Restoration { change_id: None, memories: done.memories })
    }

    fn decide<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut Snapshot<'_>) -> Result<(Plan, T)> + Send + 'static,
    ) -> Result<T> {
        self.carry_out(vec![decide]).pop().expect("one decision has one result")
    }

    /// Takes in what others did at these paths, and below.
    fn absorb_first(&self, paths: &BTreeSet<MemoryPath>) -> Result<()> {
        paths.iter().try_for_each(|path| self.absorb(path).map(drop))
    }

    /// Refuses to put a content to a path that looks like a secret, unless it was there or something is there now.
    fn refuse_secret_place(&self, what: &Restore) -> Result<()> {
        let Restore::Version { path, version } = what else { return Ok(()) };
        let was = self.history()?.version(*version)?.path;
        if was.as_ref() == Some(path) || self.look(path)? != Look::Missing {
            return Ok(());
        }
        gate::judge_path(&self.settings().guard, path, was.as_ref(), false).map(drop)
    }

    /// Takes in that all memories are gone, where they are: else they would count as what they were.
    fn mend_root(&self) -> Result<()> {
        if self.inner.core.base.sandbox.root()?.is_none() {
            self.locked(|session| session.make_root().map(drop))?;
        }
        Ok(())
    }

    /// Where a restore changes something, now or then.
    fn places(&self, what: &Restore) -> Result<BTreeSet<MemoryPath>> {
        let what = what.clone();
        self.decide(move |snapshot| {
            snapshot.must_wait();
            let mut places: BTreeSet<MemoryPath> = what.path().cloned().into_iter().collect();
            for wish in wishes(snapshot, &what)? {
                let paths = wish.now.into_iter().chain(wish.then).map(|state| state.path);
                let is_new =
                    |path: &MemoryPath| !places.iter().any(|place| path == place || path.is_below(place));
                let new: Vec<_> = paths.filter(is_new).collect();
                places.extend(new);
                if places.len() > MOST_PLACES {
                    places = [common(&places)].into();
                }
            }
            Ok((Plan::default(), places))
        })
    }
}

/// The deepest directory that has all these paths below it.
fn common(paths: &BTreeSet<MemoryPath>) -> MemoryPath {
    let is_above_all = |dir: &MemoryPath| paths.iter().all(|path| path.is_below(dir));
    let above = paths.first().and_then(|path| path.ancestors().find(is_above_all));
    above.unwrap_or(MemoryPath::ROOT)
}

impl Restore {
    /// The path that it names.
    fn path(&self) -> Option<&MemoryPath> {
        match self {
            Self::Version { path, .. } | Self::Before { path, .. } => Some(path),
            Self::Change(_) => None,
        }
    }

    /// What stands in the history, after the reason that the caller gives.
    fn reason(&self) -> String {
        match self {
            Self::Version { version, .. } => format!("restore to {version}"),
            Self::Before { time, .. } => format!("restore to before {}", rfc3339(time)),
            Self::Change(change) => format!("restore of {change}"),
        }
    }
}

impl Work {
    /// What the next change is to do, and what is left after it. `may_rename` directories before all else.
    fn plan(
        &self,
        snapshot: &mut Snapshot<'_>,
        others: Others,
        change: ChangeId,
        may_rename: bool,
    ) -> Result<(Plan, Done)> {
        if snapshot.must_wait() {
            return Ok((Plan::default(), Done::default()));
        }
        let mut wishes = match self {
            Self::Begin(what) => wishes(snapshot, what)?,
            Self::Again(wishes) | Self::Part(wishes) => refresh(snapshot.journal.history(), wishes)?,
            Self::Tidy(dirs) => {
                let plan = Plan { edits: empty_directories(snapshot, dirs)?, ..base(change) };
                return Ok((plan, Done::default()));
            }
        };
        wishes.iter_mut().try_for_each(|wish| wish.settle(snapshot))?;
        let Outline { memories, first, units } = outline(&wishes, others, snapshot)?;
        check_contents(snapshot, &wishes)?;
        let mut done = Done { memories, ..Done::default() };
        let units = if first.is_empty() || !may_rename {
            let mut parts = cut(units, &wishes).into_iter();
            let part = parts.next().unwrap_or_default();
            let wish = |&i: &usize| wishes[i].clone();
            let later = parts.map(|part| part.iter().flat_map(|unit| &unit.wishes).map(wish).collect());
            done.next.extend(later.map(Work::Part));
            part
        } else {
            done.next.push(Work::Again(wishes.clone()));
            first
        };
        for wish in units.iter().flat_map(|unit| &unit.wishes).map(|&i| &wishes[i]) {
            if let Wish { now: Some(now), then: Some(then), .. } = wish
                && now.path != then.path
                && let Some((dir, _)) = now.path.split_last()
            {
                done.left.insert(dir);
            }
        }
        let plan = plan(snapshot, &wishes, &units, base(change))?;
        done.is_changed = !plan.edits.is_empty();
        Ok((plan, done))
    }
}

/// A plan of a restore, without edits.
fn base(change: ChangeId) -> Plan {
    Plan { change: Some(change), in_order: true, may_be_hidden: true, is_restored: true, ..Plan::default() }
}

/// What memories are to become.
fn wishes(snapshot: &mut Snapshot<'_>, what: &Restore) -> Result<Vec<Wish>> {
    let history = snapshot.journal.history();
    let targets = match what {
        Restore::Version { path, version } => return wish_of(history, path, *version),
        Restore::Change(id) => history.changed_by(*id)?.ok_or(Error::NoChange { id: *id })?,
        Restore::Before { path, time } => {
            let targets = history.changed_since(path, time.timestamp_micros())?;
            if targets.is_empty() && !path.is_root() && snapshot.look(path)? == Look::Missing {
                let mut was_there = false;
                let log = Log { path: Some(path.clone()), ..Log::default() };
                history.versions(&log, &mut |_| {
                    was_there = true;
                    Ok(ControlFlow::Break(()))
                })?;
                if !was_there {
                    return Err(Error::Missing { path: path.clone() });
                }
            }
            targets
        }
    };
    targets.into_iter().map(Wish::of).collect()
}

/// What the content of a version, wanted at a path, makes of a memory.
fn wish_of(history: History<'_>, path: &MemoryPath, id: VersionId) -> Result<Vec<Wish>> {
    let version = history.version(id)?.ok_or(Error::NoVersion { id })?;
    let then = State { path: path.clone(), ..State::to_restore(&version)? };
    let here = history.head(path)?;
    let now = here.as_ref().and_then(State::of);
    if now.as_ref().is_some_and(|now| now.is_same_content(&then)) {
        return Ok(Vec::new());
    }
    let then = Some(then);
    if here.is_some_and(|here| here.memory == version.memory) {
        let mut undone = 0;
        let log = Log { memory: Some(version.memory_id), ..Log::default() };
        history.versions(&log, &mut |later| {
            undone += u64::from(later.n > version.n);
            Ok(if later.n > version.n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        return Ok(vec![Wish { memory: Some(version.memory), now, then, undone, ..Wish::default() }]);
    }
    let newest = history.newest(version.memory)?;
    let is_dead = newest.is_none_or(|newest| newest.operation == Operation::Deleted);
    Ok(vec![Wish { memory: is_dead.then_some(version.memory), then, ..Wish::default() }])
}

/// The same wishes, with what the memories are now.
fn refresh(history: History<'_>, wishes: &[Wish]) -> Result<Vec<Wish>> {
    let refresh = |wish: &Wish| {
        let newest = wish.memory.map(|memory| history.newest(memory)).transpose()?.flatten();
        Ok(Wish { now: newest.as_ref().and_then(State::of), ..wish.clone() })
    };
    wishes.iter().map(refresh).collect()
}

/// Cuts units into parts of a size that one change may have.
fn cut(units: Vec<Unit>, wishes: &[Wish]) -> Vec<Vec<Unit>> {
    let mut parts: Vec<Vec<Unit>> = Vec::new();
    let (mut edits, mut bytes) = (0, 0);
    for unit in units {
        edits += unit.edits();
        bytes += unit.bytes(wishes);
        match parts.last_mut() {
            Some(part) if edits <= MOST_EDITS && bytes <= MOST_BYTES => part.push(unit),
            _ => {
                (edits, bytes) = (unit.edits(), unit.bytes(wishes));
                parts.push(vec![unit]);
            }
        }
    }
    parts
}
