//! A text that a person edited in a copy, put back while others write: nothing of either is lost.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use super::plan::Plan;
use super::queue::lock;
use super::{Edit, Found, Look, Snapshot, Store};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::text::{Bytes, Merged, merge};
use crate::version::{Log, Operation, Version};

/// What was copied to be edited.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    /// Where it was.
    pub(crate) path: MemoryPath,
    /// Its text; `None` where nothing was.
    pub(crate) text: Option<String>,
    /// The memory, as far as the history knows it.
    pub(crate) memory: Option<MemoryId>,
}

/// Where an edited copy ended, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settled {
    /// Where the memory is now: elsewhere than before, when it was renamed meanwhile.
    pub path: MemoryPath,
    /// What became of the copy.
    pub edited: Edited,
}

/// What became of an edited copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edited {
    /// Nothing was edited in it.
    Unchanged,
    /// It was written.
    Written,
    /// The memory had changed meanwhile, in other places: both are in it now.
    Merged,
    /// The memory had been deleted meanwhile. It is there again, with the edited text.
    Revived,
    /// The memory had changed meanwhile, in the same places. It stays as it is; the edited text is in the history.
    Conflict {
        /// The version that has the edited text where both meet, and elsewhere what both have edited.
        mine: VersionId,
        /// Both texts, with conflict markers where they meet.
        both: String,
    },
}

/// What is to be done with an edited text.
#[derive(Debug)]
pub(super) enum Way {
    Done(Edited),
    /// This is to be written.
    Write(Bytes, Edited),
    Conflict {
        both: String,
        mine: Bytes,
        /// What the memory is, and will be.
        stays: Bytes,
    },
}

/// The memory as it is when the edited text comes back.
struct Place {
    path: MemoryPath,
    /// Its row, where the history knows it.
    memory: Option<i64>,
    is_deleted: bool,
}

impl Original {
    /// Where the memory is by now.
    fn place(&self, snapshot: &Snapshot<'_>) -> Result<Place> {
        let Some(id) = self.memory else {
            return Ok(Place { path: self.path.clone(), memory: None, is_deleted: false });
        };
        let newest = snapshot.journal.history().newest_of(id)?;
        Ok(Place {
            // Of a deletion that was redacted nobody knows where it was.
            path: newest.as_ref().and_then(|newest| newest.path.clone()).unwrap_or_else(|| self.path.clone()),
            memory: newest.as_ref().map(|newest| newest.memory),
            is_deleted: newest.is_none_or(|newest| newest.operation == Operation::Deleted),
        })
    }
}

impl Store {
    /// Reads a memory that is to be edited in a copy. What is no file comes back as the `Err` of the inner result.
    pub(crate) fn original(&self, path: &MemoryPath) -> Result<Result<Original, Look>> {
        match self.read(path)? {
            // What others did is taken in, so that the history knows which memory it is.
            Found::File(_) => self.absorb(path)?,
            Found::Not(Look::Missing) => {
                return Ok(Ok(Original { path: path.clone(), text: None, memory: None }));
            }
            Found::Not(look) => return Ok(Err(look)),
        };
        let path = path.clone();
        let read = move |snapshot: &mut Snapshot<'_>| {
            if snapshot.must_wait() {
                return Ok((Plan::default(), Err(Look::Missing)));
            }
            let text = match snapshot.read(&path)? {
                Found::File(bytes) => {
                    let text = String::from_utf8(bytes.to_vec());
                    Some(text.map_err(|_| Error::NotText { path: path.clone() })?)
                }
                Found::Not(Look::Missing) => None,
                Found::Not(look) => return Ok((Plan::default(), Err(look))),
            };
            let head = snapshot.journal.history().head(&path)?.filter(|_| text.is_some());
            let memory = head.map(|head| head.memory_id);
            Ok((Plan::default(), Ok(Original { path: path.clone(), text, memory })))
        };
        self.carry_out(vec![read]).pop().expect("one decision has one result")
    }

    /// Puts back `mine`, which was made of `original`, into whatever the memory is by now, and wherever.
    ///
    /// Where the two cannot be merged the edited text becomes a version, and the memory as it was the next one: both in one
    /// batch, so that nobody sees a file in between.
    ///
    /// # Errors
    /// [`Error::Taken`] when the memory was deleted and another one is where it was; else as [`Store::change`].
    pub(crate) fn settle(&self, original: &Original, mine: &str) -> Result<Settled> {
        if mine == original.text.as_deref().unwrap_or_default() {
            return Ok(Settled { path: original.path.clone(), edited: Edited::Unchanged });
        }
        self.look_for(original)?;
        let change = self.new_change();
        let (decisions, way) = decisions(original, mine, change);
        for result in self.carry_out(decisions) {
            result?;
        }
        let way = lock(&way).take();
        let (path, edited) = match way {
            Some((path, Way::Done(edited) | Way::Write(_, edited))) => (path, edited),
            Some((path, Way::Conflict { both, mine, .. })) => {
                let mine = self.version_with(change, &mine, &path)?;
                (path, Edited::Conflict { mine, both })
            }
            None => return Err(Error::Unknown { path: original.path.clone() }),
        };
        Ok(Settled { path, edited })
    }

    /// Takes in where others moved a memory to.
    fn look_for(&self, original: &Original) -> Result<()> {
        let Some(memory) = original.memory else { return Ok(()) };
        let newest = self.history()?.journal().newest_of(memory)?;
        let is_lost = match newest.filter(|newest| newest.operation != Operation::Deleted) {
            Some(Version { path: Some(path), .. }) => self.look(&path)? == Look::Missing,
            _ => false,
        };
        if is_lost {
            self.absorb(&MemoryPath::ROOT)?;
        }
        Ok(())
    }

    /// The version of a change that holds this text.
    fn version_with(&self, change: ChangeId, text: &[u8], path: &MemoryPath) -> Result<VersionId> {
        let hash = Hash::of(text);
        let mut found = None;
        let log = Log { change: Some(change), ..Log::default() };
        self.history()?.versions(&log, &mut |version| {
            // Without what was left out of it, it is another text.
            let is_redacted = version.warnings.iter().any(|warning| warning.is_redacted);
            let is_it = version.content_sha256 == Some(hash) && version.operation != Operation::Deleted
                || is_redacted;
            found = found.or(is_it.then_some(version.id));
            Ok(ControlFlow::Continue(()))
        })?;
        found.ok_or_else(|| Error::Unknown { path: path.clone() })
    }
}

/// One of the two steps.
pub(super) type Decision = Box<dyn FnMut(&mut Snapshot<'_>) -> Result<(Plan, ())> + Send>;

/// Where the steps leave what came of them, and where the memory is.
pub(super) type Outcome = Arc<Mutex<Option<(MemoryPath, Way)>>>;

/// The steps that settle an edited text: the second is for a conflict alone.
pub(super) fn decisions(original: &Original, mine: &str, change: ChangeId) -> (Vec<Decision>, Outcome) {
    let way = Outcome::default();
    let first = {
        let (original, mine, way) = (original.clone(), mine.to_owned(), Arc::clone(&way));
        move |snapshot: &mut Snapshot<'_>| {
            // The history says nothing of what is pending. And the batch may hold one more change only: that of a
            // conflict's second step belongs into the same.
            if snapshot.must_wait() {
                return Ok((Plan::default(), ()));
            }
            let place = original.place(snapshot)?;
            let now = if place.is_deleted {
                match snapshot.look(&place.path)? {
                    Look::File { .. } => return Err(Error::Taken { path: place.path }),
                    look => Found::Not(look),
                }
            } else {
                snapshot.read(&place.path)?
            };
            let is_missing = matches!(now, Found::Not(Look::Missing));
            let decided = decide(now, original.text.as_deref(), &mine);
            let bytes = match &decided {
                Way::Done(_) => None,
                Way::Write(bytes, _) | Way::Conflict { mine: bytes, .. } => Some(Arc::clone(bytes)),
            };
            let mut plan = plan(&place.path, bytes, change);
            plan.revived
                .extend(place.memory.filter(|_| is_missing).map(|memory| (place.path.clone(), memory)));
            *lock(&way) = Some((place.path, decided));
            Ok((plan, ()))
        }
    };
    let second = {
        let way = Arc::clone(&way);
        move |snapshot: &mut Snapshot<'_>| {
            let Some((path, Way::Conflict { stays, .. })) = &*lock(&way) else {
                return Ok((Plan::default(), ()));
            };
            snapshot.read(path)?;
            // It was there before: what it would be refused for now is no reason to lose it.
            let plan = plan(path, Some(Arc::clone(stays)), change);
            Ok((Plan { is_restored: true, ..plan }, ()))
        }
    };
    (vec![Box::new(first), Box::new(second)], way)
}

fn plan(path: &MemoryPath, bytes: Option<Bytes>, change: ChangeId) -> Plan {
    let edits = bytes.map(|bytes| Edit::Write { path: path.clone(), bytes }).into_iter().collect();
    Plan { edits, change: Some(change), ..Plan::default() }
}

/// What an edited text comes to, given what the memory is now.
fn decide(now: Found, base: Option<&str>, mine: &str) -> Way {
    let bytes = |text: &str| Arc::new(text.as_bytes().to_vec());
    let write = |text: &str, edited| Way::Write(bytes(text), edited);
    let now = match now {
        Found::File(now) => now,
        Found::Not(Look::Missing) if base.is_some() => return write(mine, Edited::Revived),
        // Where anything but a file is the store says what is wrong.
        Found::Not(_) => return write(mine, Edited::Written),
    };
    if now.as_slice() == mine.as_bytes() {
        return Way::Done(Edited::Merged);
    }
    if base.is_some_and(|base| base.as_bytes() == now.as_slice()) {
        return write(mine, Edited::Written);
    }
    let Ok(theirs) = std::str::from_utf8(&now) else {
        let (Merged::Clean(both) | Merged::Conflict { both, .. }) =
            merge("", &String::from_utf8_lossy(&now), mine);
        return Way::Conflict { both, mine: bytes(mine), stays: now };
    };
    match merge(base.unwrap_or_default(), theirs, mine) {
        Merged::Clean(text) if text.as_bytes() == now.as_slice() => Way::Done(Edited::Merged),
        Merged::Clean(text) => write(&text, Edited::Merged),
        Merged::Conflict { both, mine } => Way::Conflict { both, mine: bytes(&mine), stays: now },
    }
}
