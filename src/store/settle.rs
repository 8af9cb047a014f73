//! A text that a person edited in a copy, put back while others write: nothing of either is lost.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use super::plan::Plan;
use super::queue::lock;
use super::{Edit, Found, Look, Snapshot, Store};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::{ChangeId, VersionId};
use crate::path::MemoryPath;
use crate::text::{Bytes, Merged, merge};
use crate::version::{Log, Operation};

/// What became of an edited copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edited {
    /// It was as before.
    Unchanged,
    /// It was written.
    Written,
    /// The memory had changed meanwhile, in other places: both are in it now. One that was removed meanwhile is there
    /// again, with the edited text.
    Merged,
    /// The memory had changed meanwhile, in the same places. It stays as it is; the edited text is in the history.
    Conflict {
        /// The version that has the edited text.
        mine: VersionId,
        /// Both texts, with conflict markers where they differ.
        both: String,
    },
}

/// What is to be done with an edited text.
pub(super) enum Way {
    Done(Edited),
    /// This is to be written.
    Write(Bytes, Edited),
    /// Both texts, and the one that stays.
    Conflict(String, Bytes),
}

impl Store {
    /// Puts back `mine`, which was made of `base` (`None`: where nothing was), into whatever the memory is by now.
    ///
    /// Where the two cannot be merged the edited text becomes a version, and the memory as it was the next one: both in one
    /// batch, so that nobody sees a file in between.
    pub(crate) fn settle(&self, path: &MemoryPath, base: Option<&str>, mine: &str) -> Result<Edited> {
        if mine == base.unwrap_or_default() {
            return Ok(Edited::Unchanged);
        }
        let change = self.new_change();
        let (decisions, way) = decisions(path, base, mine, change);
        for result in self.carry_out(decisions) {
            result?;
        }
        let way = lock(&way).take();
        match way {
            Some(Way::Done(edited) | Way::Write(_, edited)) => Ok(edited),
            Some(Way::Conflict(both, _)) => {
                Ok(Edited::Conflict { mine: self.version_with(change, mine, path)?, both })
            }
            None => Err(Error::Unknown { path: path.clone() }),
        }
    }

    /// The version of a change that holds this text.
    fn version_with(&self, change: ChangeId, text: &str, path: &MemoryPath) -> Result<VersionId> {
        let hash = Hash::of(text.as_bytes());
        let mut found = None;
        let log = Log { change: Some(change), ..Log::default() };
        self.history()?.versions(&log, &mut |version| {
            let is_it = version.content_sha256 == Some(hash) && version.operation != Operation::Deleted;
            found = found.or(is_it.then_some(version.id));
            Ok(ControlFlow::Continue(()))
        })?;
        found.ok_or_else(|| Error::Unknown { path: path.clone() })
    }
}

/// One of the two steps.
pub(super) type Decision = Box<dyn FnMut(&mut Snapshot<'_>) -> Result<(Plan, ())> + Send>;

/// The steps that settle an edited text, and where they leave what came of it: the second is for a conflict alone.
pub(super) fn decisions(
    path: &MemoryPath,
    base: Option<&str>,
    mine: &str,
    change: ChangeId,
) -> (Vec<Decision>, Arc<Mutex<Option<Way>>>) {
    let way = Arc::new(Mutex::new(None));
    let first = {
        let (path, base, mine) = (path.clone(), base.map(str::to_owned), mine.to_owned());
        let way = Arc::clone(&way);
        move |snapshot: &mut Snapshot<'_>| {
            let decided = decide(snapshot.read(&path)?, base.as_deref(), &mine);
            let bytes = match &decided {
                Way::Done(_) => None,
                Way::Write(bytes, _) => Some(Arc::clone(bytes)),
                Way::Conflict(..) => {
                    // The batch may hold one more change only: the next one belongs into the same.
                    snapshot.must_wait();
                    Some(Arc::new(mine.clone().into_bytes()))
                }
            };
            *lock(&way) = Some(decided);
            Ok((plan(&path, bytes, change), ()))
        }
    };
    let second = {
        let (path, way) = (path.clone(), Arc::clone(&way));
        move |snapshot: &mut Snapshot<'_>| {
            let Some(Way::Conflict(_, stays)) = &*lock(&way) else { return Ok((Plan::default(), ())) };
            snapshot.read(&path)?;
            // It was there before: a limit that it is over is no reason to lose it.
            let plan = plan(&path, Some(Arc::clone(stays)), change);
            Ok((Plan { may_be_large: true, ..plan }, ()))
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
    let write = |text: &str, edited| Way::Write(Arc::new(text.as_bytes().to_vec()), edited);
    let now = match now {
        Found::File(now) => now,
        Found::Not(Look::Missing) if base.is_some() => return write(mine, Edited::Merged),
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
        let (Merged::Clean(both) | Merged::Conflict(both)) = merge("", &String::from_utf8_lossy(&now), mine);
        return Way::Conflict(both, now);
    };
    match merge(base.unwrap_or_default(), theirs, mine) {
        Merged::Clean(text) if text.as_bytes() == now.as_slice() => Way::Done(Edited::Merged),
        Merged::Clean(text) => write(&text, Edited::Merged),
        Merged::Conflict(both) => Way::Conflict(both, now),
    }
}
