//! Looking for what others did to the files, when nothing is about to be changed.

use std::collections::{HashSet, VecDeque};
use std::os::fd::AsFd as _;

use super::session::Session;
use super::{Actor, Store, absorb, gate};
use crate::disk::{Go, What, survey};
use crate::error::{Error, Result, Trouble};
use crate::id::ChangeId;
use crate::journal::{Head, Reader, Record, Step, Stored};
use crate::path::{MemoryPath, is_passed_over};
use crate::version::{Log, Version};

mod pair;
pub(super) mod survey;

use pair::{Paired, pair};
use survey::{Survey, identity, look_around};

/// What was taken in, as versions by [`Actor::Outside`](crate::Actor::Outside).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Absorbed {
    /// The versions, oldest first.
    pub versions: Vec<Version>,
    /// Files that were looked at.
    pub files: u64,
}

impl Store {
    /// Takes what others did to the files at or below a path into the history: edits, additions, deletions, and renames,
    /// which are told by the content.
    ///
    /// Every file is read, with no lock held; only what differs is looked at again under the lock. Hidden names and
    /// `node_modules` are passed over, as in listings, unless memdir made the file, and so are names that no path has.
    /// A file that cannot be read is passed over, too, with a warning. In a decision this would wait for its own end.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn absorb(&self, path: &MemoryPath) -> Result<Absorbed> {
        let found = self.survey(path, &mut |_| ())?;
        let files = found.files;
        Ok(Absorbed { versions: self.take_in(found)?, files })
    }

    /// As [`Store::absorb`], where no more than `most` files are visible at or below the path; else nothing is done, and
    /// the answer is `None`.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn absorb_if_few(&self, path: &MemoryPath, most: u64) -> Result<Option<Absorbed>> {
        if self.has_more_than(most, path)? { Ok(None) } else { self.absorb(path).map(Some) }
    }

    /// Whether more than `most` files are visible below a path.
    fn has_more_than(&self, most: u64, path: &MemoryPath) -> Result<bool> {
        let dir = match self.inner.core.base.sandbox.open_dir(path) {
            Ok(Ok(dir)) => dir,
            // One file, or none; what cannot be read is passed over by the look itself.
            Ok(Err(_)) | Err(Error::Read { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut files = 0;
        survey(dir.as_fd(), &mut |seen| {
            if !seen.path.is_empty() && is_passed_over(seen.name.to_bytes()) {
                return Ok(Go::Past);
            }
            files += u64::from(seen.what == What::File);
            Ok(if files > most { Go::Stop } else { Go::On })
        })?;
        Ok(files > most)
    }

    /// What differs between files and history at or below a path, as far as can be told without a lock.
    pub(super) fn survey(&self, path: &MemoryPath, progress: &mut dyn FnMut(u64)) -> Result<Survey> {
        self.inner.mend();
        let reader = self.reader()?;
        look_around(&self.inner.core, reader.as_ref().map(Reader::history), path, progress)
    }

    /// Takes into the history what a survey found, as one change; returns the versions, oldest first.
    pub(super) fn take_in(&self, found: Survey) -> Result<Vec<Version>> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let lost: HashSet<i64> = found.lost.iter().map(|lost| lost.memory).collect();
        let without_file = found.gone.into_iter().chain(found.lost).collect();
        let Paired { moved, added, mut gone } = pair(without_file, found.added);
        // What is elsewhere, and is not here now, was not asked for.
        gone.retain(|gone| !lost.contains(&gone.memory));
        let moved = moved.into_iter().map(|(gone, added)| Task::Move {
            memory: gone.memory,
            from: gone.path,
            to: added.path,
        });
        let looked_at = added.into_iter().map(|added| added.path);
        let looked_at = gone.into_iter().map(|gone| gone.path).chain(found.edited).chain(looked_at);
        let mut tasks: VecDeque<Task> = moved.chain(looked_at.map(Task::Look)).collect();
        let change = self.new_change();
        while !tasks.is_empty() {
            self.locked(|session| {
                let taken = take_some(session, &mut tasks, change);
                session.sync_if_much();
                taken
            })?;
        }
        self.versions_of(change)
    }

    /// The versions that a change made, oldest first.
    fn versions_of(&self, change: ChangeId) -> Result<Vec<Version>> {
        let Some(reader) = self.reader()? else { return Ok(Vec::new()) };
        let mut versions = Vec::new();
        let log = Log { change: Some(change), ..Log::default() };
        reader.history().versions(&log, &mut |version| {
            versions.push(version);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        versions.reverse();
        Ok(versions)
    }
}

/// One thing to be looked at under the lock.
enum Task {
    /// A memory whose file seems to be at another path now.
    Move { memory: i64, from: MemoryPath, to: MemoryPath },
    /// A path where file and memory seem to differ.
    Look(MemoryPath),
}

/// As many steps, and as many bytes of content, are committed at once, and the lock is let go in between.
const MOST_STEPS: usize = 512;
const MOST_BYTES: u64 = 16 << 20;

/// Takes in as many of the tasks as one commit may hold.
fn take_some(session: &mut Session<'_>, tasks: &mut VecDeque<Task>, change: ChangeId) -> Result<()> {
    if session.base().sandbox.root()?.is_none() {
        // All of it went meanwhile: the next write records that.
        tasks.clear();
        return Ok(());
    }
    let (mut steps, mut bytes) = (Vec::new(), 0);
    while steps.len() < MOST_STEPS && bytes < MOST_BYTES {
        match tasks.pop_front() {
            None => break,
            Some(Task::Move { memory, from, to }) => {
                if is_moved(session, memory, &from, &to)? {
                    let (from, to) = (from.as_str().to_owned(), to.as_str().to_owned());
                    steps.push(Step::Move { memory, from, to, staged: None });
                } else {
                    tasks.extend([Task::Look(from), Task::Look(to)]);
                }
            }
            Some(Task::Look(path)) => bytes += look_at(session, &path, &mut steps)?,
        }
    }
    if !steps.is_empty() {
        gate::note_outside(&session.core.settings.guard, &mut steps);
        let record = Record { by: &Actor::Outside, reason: None, id: Some(change), steps: &steps };
        session.journal.commit(session.core.now(), &[record])?;
        session.core.count_unsynced(1);
    }
    Ok(())
}

/// Whether a memory's file is where it seemed to be, and nowhere else.
fn is_moved(session: &Session<'_>, memory: i64, from: &MemoryPath, to: &MemoryPath) -> Result<bool> {
    let Some(head) = session.journal.head(from.as_str())?.filter(|head| head.memory == memory) else {
        return Ok(false);
    };
    let sandbox = &session.base().sandbox;
    if session.journal.head(to.as_str())?.is_some()
        || readable(sandbox.open_file(from))?.is_none_or(|at| at.is_ok())
    {
        return Ok(false);
    }
    let Some(Ok(open)) = readable(sandbox.open_file(to))? else { return Ok(false) };
    Ok(readable(identity(session.core, &open))? == Some((head.hash, head.size)))
}

/// Adds what others did to one file; how many bytes of content that is.
fn look_at(session: &Session<'_>, path: &MemoryPath, steps: &mut Vec<Step>) -> Result<u64> {
    let Some(read) = readable(read(session, path))? else { return Ok(0) };
    let before = steps.len();
    absorb::file_in_place(session, path, read, steps)?;
    let Some(Step::Write { content, .. }) = steps.get_mut(before) else { return Ok(0) };
    let Stored::Here { old, .. } = &mut content.bytes else { return Ok(0) };
    // The bytes of the version before make a small delta.
    if let Some(Head { version, stored: true, .. }) = session.journal.head(path.as_str())? {
        *old = session.journal.content(version)?.map(Into::into);
    }
    Ok(content.size)
}

/// How often a file is read that somebody is writing to.
const TRIES: usize = 3;

/// Reads a file; `Ok(None)` where there is none. What is written to all the while is taken as it is.
fn read(session: &Session<'_>, path: &MemoryPath) -> Result<Option<absorb::Read>> {
    let mut last = None;
    for _ in 0..TRIES {
        let Ok(open) = session.base().sandbox.open_file(path)? else { return Ok(None) };
        let bytes = session.read_open(&open)?;
        let is_still = open.is_still();
        last = Some((open.stamp, bytes));
        if is_still {
            break;
        }
    }
    Ok(last)
}

/// `None` where somebody closed a file to us: that is no reason to look at nothing else.
fn readable<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::Read { why, .. }) if why != Trouble::TooManyFiles => Ok(None),
        Err(error) => Err(error),
    }
}
