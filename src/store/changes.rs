//! Telling what becomes of the memories, to whoever waits for it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{History, Store};
use crate::disk::{Bell, Marked};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::journal::{Head, Reach};
use crate::path::MemoryPath;
use crate::version::{Operation, Version};

/// After something happened nothing must happen for so long before it is told: editors save in several steps.
const QUIET: Duration = Duration::from_millis(50);
/// So often that is waited for at most.
const MOST_QUIET: u32 = 10;
/// How often the files are looked at where the system does not tell of them.
const OFTEN: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 2000 });
/// How often they are looked at where it does: some of what can be done to a file is not told.
const SELDOM: Duration = Duration::from_secs(30);

/// What becomes of the memories from some moment on, whoever does it: see [`Store::changes`].
pub struct Changes {
    store: Store,
    bell: Arc<Bell>,
    /// How often the bell had rung when the files were last looked at.
    heard: u64,
    /// When they are looked at even if it does not ring.
    due: Instant,
    known: Known,
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").field("store", &self.store).finish_non_exhaustive()
    }
}

/// What became of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// Where it is now; where it was, if it is gone.
    pub path: MemoryPath,
    /// What happened to it.
    pub what: Happened,
}

/// What happened to a memory, since it was last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happened {
    /// It was made, or came back.
    Made,
    /// It was written to.
    Edited,
    /// It was moved, and perhaps written to.
    Moved {
        /// Where it was.
        from: MemoryPath,
    },
    /// It is gone.
    Removed,
}

impl Store {
    /// Begins to follow what becomes of the memories, by any process, by memdir or by hand; changes through this store
    /// count, too. [`Changes::next`] waits for it.
    ///
    /// The files are watched as by [`Store::watch`], and looked at every two seconds where the system does not let us. What
    /// others did before is taken in first (see [`Store::notice`]).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use memdir::{Edit, Error, Happened, MemoryPath, Store};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open(dir.path())?;
    /// let mut changes = store.changes()?;
    /// let path = MemoryPath::parse("/memories/tea.md")?;
    /// store.change(move |_| Ok::<_, Error>((vec![Edit::write(&path, "Green.\n")], ())))?;
    /// let changed = changes.next(Duration::from_secs(60))?;
    /// assert_eq!(changed[0].path.as_str(), "tea.md");
    /// assert_eq!(changed[0].what, Happened::Made);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Store::history`], and as [`Changes::next`].
    pub fn changes(&self) -> Result<Changes> {
        let bell = self.bell();
        let heard = bell.rung();
        let due = self.take_in_outside()?;
        let known = Known::of(&self.history()?).map_err(Error::of_reading)?;
        Ok(Changes { store: self.clone(), bell, heard, due, known })
    }

    /// Takes in what others did, as far as it can be written down; when to look again even if nothing is heard.
    fn take_in_outside(&self) -> Result<Instant> {
        if !self.is_watched() {
            // Where it could not be watched before, the system may let us now.
            let _ = self.watch();
        }
        let pause = match self.notice() {
            Ok(_) if self.is_watched() => SELDOM,
            Ok(_) | Err(Error::Write { .. } | Error::Busy { .. }) => OFTEN,
            Err(error) => return Err(error),
        };
        Ok(Instant::now() + pause)
    }

    /// Waits until what is committed is published, too.
    fn wait_for_publishing(&self) {
        let is_at_rest = match self.inner.core.base.marked() {
            Marked::By(mark) => mark.idle,
            Marked::Never => true,
            Marked::Unreadable => false,
        };
        if !is_at_rest {
            // Whoever publishes has the lock. Where it is not to be had, what is told is early.
            let _ = self.locked(|_| Ok(()));
        }
    }
}

impl Changes {
    /// Waits until memories have changed, for about `timeout` at most, and tells what became of each, by path; nothing when the
    /// time is up. With a `timeout` that no clock can tell, such as [`Duration::MAX`], it waits for ever.
    ///
    /// What happens in quick succession is told together, once nothing has happened for 50 ms, or after half a second. Of a
    /// memory that changed several times it is told what came of it. A memory that is told is at its place on the disk.
    /// Directories are not told, but for the memories in them; nor is it told that `memories/` itself is gone, until
    /// somebody writes again.
    ///
    /// # Errors
    /// [`Error::Read`] when files or history cannot be read: nothing is lost, the next call tries again. What others did is
    /// not told while it cannot be written down.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Changed>> {
        let end = Instant::now().checked_add(timeout);
        while self.wait(end) {
            let changed = self.look()?;
            if !changed.is_empty() || end.is_some_and(|end| Instant::now() >= end) {
                return Ok(changed);
            }
        }
        Ok(Vec::new())
    }

    /// Waits for a reason to look at the files; `false`: there was none until `end`, if there is one.
    fn wait(&mut self, end: Option<Instant>) -> bool {
        let until = end.map_or(self.due, |end| end.min(self.due));
        let mut rung = self.bell.wait(self.heard, until.saturating_duration_since(Instant::now()));
        if rung == self.heard {
            return end.is_none_or(|end| self.due <= end);
        }
        for _ in 0..MOST_QUIET {
            thread::sleep(QUIET);
            let before = std::mem::replace(&mut rung, self.bell.rung());
            if before == rung {
                break;
            }
        }
        // What rings from here on asks for another look.
        self.heard = rung;
        true
    }

    /// Reads what is new in the history, once what others did is in it.
    pub(super) fn look(&mut self) -> Result<Vec<Changed>> {
        // Should it fail: not at once again.
        self.due = Instant::now() + OFTEN;
        self.due = self.store.take_in_outside()?;
        let mut changed = self.known.catch_up(&self.store.history()?).map_err(Error::of_reading)?;
        if !changed.is_empty() {
            self.store.wait_for_publishing();
        }
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changed)
    }
}

/// The memories that live, as far as the history was read.
#[derive(Debug)]
struct Known {
    /// The newest version then, and the chain's hash there.
    end: (i64, Hash),
    /// By their rows.
    memories: HashMap<i64, Place>,
}

/// Where a memory is, and its newest version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: MemoryPath,
    version: i64,
}

impl Known {
    /// All that live now.
    fn of(history: &History) -> Result<Self> {
        // The end comes first: what is newer is read twice.
        let end = history.journal().end()?;
        let mut memories = HashMap::new();
        history.journal().each_live("", &mut |Head { memory, path, version, .. }| {
            memories.insert(memory, Place { path: MemoryPath::from_normal(path), version });
            Ok(())
        })?;
        Ok(Self { end, memories })
    }

    /// Reads on, and tells what has changed.
    fn catch_up(&mut self, history: &History) -> Result<Vec<Changed>> {
        let end = history.journal().end()?;
        let mut newer = Vec::new();
        let is_same = history.journal().chain_at(self.end.0)? == Some(self.end.1);
        if is_same {
            let reach = history.journal().newest_since(self.end.0, &mut |version| {
                newer.push((version.memory, place(version)));
                Ok(ControlFlow::Continue(()))
            })?;
            if reach == Reach::Whole {
                self.end = end;
                return Ok(newer
                    .into_iter()
                    .filter_map(|(memory, now)| self.take(memory, now.as_ref()))
                    .collect());
            }
        }
        let mut before = std::mem::replace(self, Self::of(history)?).memories;
        let mut changed = Vec::new();
        if !is_same {
            // Of another journal the rows mean nothing.
            changed.extend(before.drain().filter_map(|(_, place)| what_became(Some(place), None)));
        }
        for (memory, now) in &self.memories {
            changed.extend(what_became(before.remove(memory), Some(now)));
        }
        changed.extend(before.into_values().filter_map(|place| what_became(Some(place), None)));
        Ok(changed)
    }

    /// Takes note of what a memory is now, and tells what became of it.
    fn take(&mut self, memory: i64, now: Option<&Place>) -> Option<Changed> {
        let before = match now {
            Some(now) => self.memories.insert(memory, now.clone()),
            None => self.memories.remove(&memory),
        };
        what_became(before, now)
    }
}

/// The memory as a version left it; `None` when it is gone.
fn place(version: Version) -> Option<Place> {
    let path = version.path.filter(|_| version.operation != Operation::Deleted)?;
    Some(Place { path, version: version.n })
}

/// What became of one memory.
fn what_became(before: Option<Place>, now: Option<&Place>) -> Option<Changed> {
    let (path, what) = match (before, now) {
        (None, None) => return None,
        (Some(before), Some(now)) if before == *now => return None,
        (None, Some(now)) => (now.path.clone(), Happened::Made),
        (Some(before), None) => (before.path, Happened::Removed),
        (Some(before), Some(now)) if before.path == now.path => (before.path, Happened::Edited),
        (Some(before), Some(now)) => (now.path.clone(), Happened::Moved { from: before.path }),
    };
    Some(Changed { path, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_memory() {
        let place = |path: &str, version| Place { path: MemoryPath::from_normal(path), version };
        let from = MemoryPath::from_normal("a");
        for (before, now, right) in [
            (None, None, None),
            (None, Some(place("a", 1)), Some(("a", Happened::Made))),
            (Some(place("a", 1)), Some(place("a", 1)), None),
            (Some(place("a", 1)), Some(place("a", 2)), Some(("a", Happened::Edited))),
            (Some(place("a", 1)), Some(place("b", 2)), Some(("b", Happened::Moved { from }))),
            (Some(place("a", 1)), None, Some(("a", Happened::Removed))),
        ] {
            let right = right.map(|(path, what)| Changed { path: MemoryPath::from_normal(path), what });
            assert_eq!(what_became(before, now.as_ref()), right);
        }
    }
}
