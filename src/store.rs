//! The one place where a memory changes.
//!
//! A change is decided inside the lock, staged, committed to the journal (the durable moment), published by renames, and
//! only then answered. Readers take no lock.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError};

use crate::disk::Marked;
pub use crate::disk::{Entry, Extent, Found, Listing, Look};
use crate::error::{Error, Result};
use crate::path::MemoryPath;
use crate::text::Bytes;
pub use crate::version::Actor;

mod absorb;
mod batch;
#[cfg(feature = "search")]
mod changes;
mod check;
mod core;
mod erase;
mod export;
mod finish;
mod forget;
mod gate;
mod history;
mod notice;
mod open;
mod plan;
mod publish;
mod put;
mod queue;
mod recover;
mod restore;
mod scan;
mod session;
mod settings;
mod settle;
mod since;
mod snapshot;
mod spare;
mod stage;
mod stats;
mod sync;
#[cfg(test)]
mod tests;
mod verdict;

use batch::{Batch, Offer};
#[cfg(feature = "search")]
pub use changes::{Changed, Changes, Happened};
pub use check::{Check, Finding, Progress, Report};
use core::Core;
pub use erase::{Erasure, Pruned, Redaction};
pub use export::StoredFile;
pub use forget::Receipt;
pub use gate::Warned;
pub use history::History;
use notice::Noticed;
pub use open::Builder;
use plan::Plan;
pub(crate) use put::Put;
pub(crate) use queue::lock;
use queue::{Decided, Outcome, Queue, Request, Ticket, fail_all};
pub use restore::{Others, Restoration, Restore, Restored, Unmerged};
pub use scan::Absorbed;
use session::{Engine, Patience};
pub use settings::{Create, Entries, Hidden, OnSimilar, Search, Settings};
pub(crate) use settle::Original;
pub use settle::{Edited, Settled};
#[cfg(feature = "search")]
pub(crate) use since::{Recent, RecentState};
pub use snapshot::Snapshot;
pub use stats::Stats;

/// Who makes changes through a handle, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Author {
    actor: Actor,
    reason: Option<String>,
}

/// One step of a change.
///
/// The edits of one change are independent: none concerns a path that another one concerns, or a path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Makes a file, or gives it new content when the decision read it as a file.
    Write {
        /// The file.
        path: MemoryPath,
        /// All its bytes.
        bytes: Bytes,
    },
    /// Removes whatever stands there: a file, a directory with all below it, a link (never what it points to), a FIFO.
    Remove {
        /// What goes.
        path: MemoryPath,
    },
    /// Moves a file or a directory to a place where nothing stands; missing parents are made.
    Rename {
        /// Where it is.
        from: MemoryPath,
        /// Where it will be.
        to: MemoryPath,
    },
}

impl Edit {
    /// Gives a file these bytes, whether it is there (and was read) or not.
    #[must_use]
    pub fn write(path: &MemoryPath, bytes: impl Into<Vec<u8>>) -> Self {
        Self::Write { path: path.clone(), bytes: Arc::new(bytes.into()) }
    }

    /// Removes whatever stands at a path.
    #[must_use]
    pub fn remove(path: &MemoryPath) -> Self {
        Self::Remove { path: path.clone() }
    }

    /// Moves what stands at a path to another one.
    #[must_use]
    pub fn rename(from: &MemoryPath, to: &MemoryPath) -> Self {
        Self::Rename { from: from.clone(), to: to.clone() }
    }

    /// The paths that it changes: one, or for a rename two.
    #[must_use]
    pub fn paths(&self) -> Vec<&MemoryPath> {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => vec![path],
            Self::Rename { from, to } => vec![from, to],
        }
    }
}

/// A store: one user's, agent's or project's memory. Cheap to clone; clones share one queue.
///
/// Dropping the last clone syncs what was published (see [`Store::sync`]).
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    author: Arc<Author>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Author { actor, .. } = &*self.author;
        f.debug_struct("Store")
            .field("actor", actor)
            .field("settings", &self.inner.core.settings)
            .finish_non_exhaustive()
    }
}

struct Inner {
    core: Core,
    queue: Queue,
    engine: Mutex<Engine>,
    noticed: Mutex<Noticed>,
}

impl Store {
    /// Opens the store whose base directory is `base` (it holds `memories/` and `.memdir/`), making what is missing.
    ///
    /// # Errors
    /// [`Error::Settings`] for a faulty `memdir.toml`, or what the disk says.
    pub fn open(base: impl AsRef<Path>) -> Result<Self> {
        Self::builder(base).open()
    }

    /// Begins to open a store with other than the default options.
    #[must_use]
    pub fn builder(base: impl AsRef<Path>) -> Builder {
        Builder::new(base.as_ref())
    }

    /// A handle of the same store for somebody else's changes.
    #[must_use]
    pub fn with_actor(&self, actor: Actor) -> Self {
        let reason = self.author.reason.clone();
        let actor = actor.map_name(|name| self.settings().guard.mask(name).into_owned());
        Self { inner: Arc::clone(&self.inner), author: Arc::new(Author { actor, reason }) }
    }

    /// A handle of the same store whose changes have this reason in the history.
    #[must_use]
    pub fn with_reason(&self, reason: impl Into<String>) -> Self {
        let actor = self.author.actor.clone();
        let reason = self.settings().guard.mask(&reason.into()).into_owned();
        Self { inner: Arc::clone(&self.inner), author: Arc::new(Author { actor, reason: Some(reason) }) }
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.core.settings
    }

    /// Refuses what the settings forbid to change, without looking at the disk.
    ///
    /// # Errors
    /// [`Error::Hidden`], [`Error::ReadOnly`].
    pub fn admit(&self, path: &MemoryPath) -> Result<()> {
        self.inner.core.admit(path)
    }

    /// Reads what stands at a path. Takes no lock, unless a crash left something to be mended.
    ///
    /// # Errors
    /// [`Error::Read`] when the disk refuses, [`Error::TooLargeToRead`] for a file that would fill the memory.
    pub fn read(&self, path: &MemoryPath) -> Result<Found> {
        self.inner.mend();
        self.inner.core.base.sandbox.read(path)
    }

    /// Reads a file piece by piece, in order, until `piece` wants no more. Locks as [`Store::read`] does; the pieces are of
    /// one version.
    ///
    /// What is not a regular file comes back as the `Err` of the inner result.
    ///
    /// # Errors
    /// [`Error::Read`] when the disk refuses, [`Error::TooLargeToRead`] for a file that would fill the memory.
    pub fn read_pieces(
        &self,
        path: &MemoryPath,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Result<(), Look>> {
        self.inner.mend();
        self.inner.core.base.sandbox.read_pieces(path, piece)
    }

    /// Lists a directory, `depth` levels deep. Locks as [`Store::read`] does. What is not a directory comes back as the
    /// `Err` of the inner result; a root that is gone has nothing in it.
    ///
    /// # Errors
    /// [`Error::Read`] when the disk refuses.
    pub fn list(&self, path: &MemoryPath, depth: usize) -> Result<Result<Listing, Look>> {
        self.inner.mend();
        match self.inner.core.base.sandbox.list(path, depth)? {
            Err(Look::Missing) if path.is_root() => Ok(Ok(Listing::default())),
            listed => Ok(listed),
        }
    }

    /// What stands at a path. Locks as [`Store::read`] does.
    ///
    /// # Errors
    /// [`Error::Read`] when the disk refuses.
    pub fn look(&self, path: &MemoryPath) -> Result<Look> {
        self.inner.mend();
        self.inner.core.base.sandbox.look(path)
    }

    /// Calls `each` with what is visible in a directory itself, sorted by the bytes of the names, until it breaks off. What
    /// is in its directories is not looked at: they have no size. Otherwise as [`Store::list`].
    ///
    /// # Errors
    /// [`Error::Read`] when the disk refuses.
    pub fn each_entry(
        &self,
        path: &MemoryPath,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Result<(), Look>> {
        self.inner.mend();
        match self.inner.core.base.sandbox.each_entry(path, each)? {
            Err(Look::Missing) if path.is_root() => Ok(Ok(())),
            visited => Ok(visited),
        }
    }

    /// Decides and makes one change: durable when this returns `Ok`.
    ///
    /// `decide` runs inside the lock, perhaps on another thread and perhaps more than once; it reads through the
    /// snapshot, and returns the edits with the answer to give once they are durable. An `Err` changes nothing.
    /// A file that an edit writes must have been read (or found missing) through the snapshot. A file that it
    /// has not looked at is written only where nothing stands.
    ///
    /// # Errors
    /// What `decide` returns; else, with nothing changed,
    /// - what the settings or the rules of [`Edit`] refuse: [`Error::Hidden`], [`Error::ReadOnly`], [`Error::TooLarge`],
    ///   [`Error::Secret`], [`Error::Overlap`];
    /// - what stands, or came to stand meanwhile, where it must not: [`Error::Exists`], [`Error::Missing`],
    ///   [`Error::Link`], [`Error::BelowFile`], [`Error::Unsupported`];
    /// - what the disk, the journal or another process refuse: [`Error::Read`], [`Error::Write`],
    ///   [`Error::NewerJournal`], [`Error::Busy`].
    ///
    /// Only after [`Error::Unknown`], and after [`Error::Write`] with [`Trouble::SyncFailed`](crate::Trouble::SyncFailed),
    /// the change may have been made all the same.
    ///
    /// # Panics
    /// When `decide` does, and in a `decide` that changes the store itself: it would wait for its own end.
    pub fn change<T, E, F>(&self, decide: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, T), E> + Send + 'static,
    {
        let mut results = self.change_many(vec![decide]);
        results.pop().expect("one decision has one result")
    }

    /// Makes several changes, each for itself and in this order, with as few syncs as it can (group commit).
    ///
    /// The answers stand in the order of `decisions`; one that fails does not keep the next from being made.
    ///
    /// # Panics
    /// When a decision does.
    #[must_use = "one that fails says so here"]
    pub fn change_many<T, E, F>(&self, decisions: Vec<F>) -> Vec<Result<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, T), E> + Send + 'static,
    {
        self.change_many_warned(decisions).into_iter().map(|result| self.keep_warned(result)).collect()
    }

    /// As [`Store::change`], with what looks like a secret in what was stored.
    ///
    /// # Errors
    /// As [`Store::change`].
    ///
    /// # Panics
    /// As [`Store::change`].
    pub fn change_warned<T, E, F>(&self, decide: F) -> Result<(T, Vec<Warned>), E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, T), E> + Send + 'static,
    {
        self.change_many_warned(vec![decide]).pop().expect("one decision has one result")
    }

    /// As [`Store::change_many`], with what looks like a secret in what was stored.
    ///
    /// # Panics
    /// As [`Store::change_many`].
    #[must_use = "one that fails says so here"]
    pub fn change_many_warned<T, E, F>(&self, decisions: Vec<F>) -> Vec<Result<(T, Vec<Warned>), E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, T), E> + Send + 'static,
    {
        let with_plan = |mut decide: F| {
            move |snapshot: &mut Snapshot<'_>| {
                decide(snapshot).map(|(edits, answer)| (Plan::from(edits), answer))
            }
        };
        self.carry_out_warned(decisions.into_iter().map(with_plan).collect())
    }

    /// As [`Store::change_many`], with decisions that can say more than which edits to make.
    fn carry_out<T, E, F>(&self, decisions: Vec<F>) -> Vec<Result<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Plan, T), E> + Send + 'static,
    {
        self.carry_out_warned(decisions).into_iter().map(|result| self.keep_warned(result)).collect()
    }

    /// Puts what is told with a change where [`Store::take_warned`] finds it.
    fn keep_warned<T, E>(&self, result: Result<(T, Vec<Warned>), E>) -> Result<T, E> {
        let (answer, warned) = result?;
        let mut kept = lock(&self.inner.core.warned);
        let room = MOST_WARNED.saturating_sub(kept.len());
        kept.extend(warned.into_iter().take(room));
        Ok(answer)
    }

    fn carry_out_warned<T, E, F>(&self, decisions: Vec<F>) -> Vec<Result<(T, Vec<Warned>), E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: FnMut(&mut Snapshot<'_>) -> Result<(Plan, T), E> + Send + 'static,
    {
        let (requests, answers): (Vec<_>, Vec<_>) =
            decisions.into_iter().map(|decide| request(decide, &self.author)).unzip();
        let outcomes = self.inner.queue.run(requests, |waiting| self.inner.serve(waiting));
        let collect = |(outcome, answer): (Outcome, Answer<T, E>)| {
            let warned = outcome.into_result()?;
            let answer = lock(&answer).take().expect("a decision that is over has answered")?;
            Ok((answer, warned))
        };
        outcomes.into_iter().zip(answers).map(collect).collect()
    }

    /// Makes what was published durable in its place, too, so that the next open has nothing to mend.
    ///
    /// Where another process is at work it is left to that one. In a decision it would wait for itself.
    ///
    /// # Errors
    /// [`Error::Write`] when a sync fails.
    pub fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    /// Whether there are published changes that [`Store::sync`] has not yet seen to the disk.
    #[must_use]
    pub fn is_unsynced(&self) -> bool {
        self.inner.core.unsynced() > 0
    }

    /// Whether a read would mend something first, for which it may wait.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_to_be_mended(&self) -> bool {
        let core = &self.inner.core;
        match core.base.marked() {
            Marked::Never => false,
            Marked::By(mark) => core.is_due(&mark),
            Marked::Unreadable => true,
        }
    }

    /// Takes what went wrong beside an answer: memories that could not be mended, and were shown as they are on disk.
    #[must_use]
    pub fn take_warning(&self) -> Option<Error> {
        lock(&self.inner.core.warning).take()
    }

    /// Takes what looks like a secret in what was stored, of changes that did not return it themselves.
    #[must_use]
    pub fn take_warned(&self) -> Vec<Warned> {
        std::mem::take(&mut *lock(&self.inner.core.warned))
    }
}

/// What was told with changes whose callers did not ask is kept up to so much.
const MOST_WARNED: usize = 1000;

/// Where the answer of a decision will be.
type Answer<T, E> = Arc<Mutex<Option<Result<T, E>>>>;

/// A decision made into a request, and where its answer will be.
fn request<T, E, F>(mut decide: F, author: &Arc<Author>) -> (Request, Answer<T, E>)
where
    T: Send + 'static,
    E: Send + 'static,
    F: FnMut(&mut Snapshot<'_>) -> Result<(Plan, T), E> + Send + 'static,
{
    let answer = Arc::new(Mutex::new(None));
    let place = Arc::clone(&answer);
    let decide = move |snapshot: &mut Snapshot<'_>| {
        let attempt = std::panic::AssertUnwindSafe(|| decide(snapshot));
        match std::panic::catch_unwind(attempt) {
            Ok(Ok((plan, value))) => {
                *lock(&place) = Some(Ok(value));
                Decided::Plan(Box::new(plan))
            }
            Ok(Err(error)) => {
                *lock(&place) = Some(Err(error));
                Decided::Declined
            }
            Err(panic) => Decided::Panicked(panic),
        }
    };
    (
        Request { decide: Box::new(decide), author: Arc::clone(author), ticket: Arc::<Ticket>::default() },
        answer,
    )
}

impl Inner {
    /// Serves requests from the front of the queue, as many as fit into one batch.
    fn serve(&self, waiting: &mut std::collections::VecDeque<Request>) {
        let served = lock(&self.engine).enter(&self.core, Patience::Wait, |session| {
            let mut batch = match Batch::new(session) {
                Ok(batch) => batch,
                Err(error) => return fail_all(waiting, &self.core.refine(error)),
            };
            while let Some(request) = waiting.front_mut() {
                match batch.offer(request) {
                    Offer::Settled => waiting.pop_front(),
                    Offer::NotNow => break,
                };
            }
            batch.finish();
            session.sync_if_much();
        });
        if let Err(error) = served {
            fail_all(waiting, &error);
        }
    }

    /// Mends what a crash left, if the mark says that there may be something.
    fn mend(&self) {
        let core = &self.core;
        let patience = match core.base.marked() {
            Marked::Never => return,
            Marked::By(mark) if !core.is_due(&mark) => return,
            // At this site somebody is at work now, or was killed: in both cases all that was answered is published.
            Marked::By(mark) if core.base.site.is_same(&mark.site) => Patience::Try,
            Marked::By(_) | Marked::Unreadable => Patience::Wait,
        };
        let mut engine = match (patience, self.engine.try_lock()) {
            (_, Ok(engine)) => engine,
            // Somebody of this process is at work.
            (Patience::Try, Err(TryLockError::WouldBlock)) => return,
            (_, Err(_)) => lock(&self.engine),
        };
        if let Err(error) = engine.enter(core, patience, |_| ()) {
            core.warn(&error);
        }
    }

    fn sync(&self) -> Result<()> {
        if self.core.base.marked() == Marked::Never {
            // The store is gone, and with it what was to be synced.
            self.core.set_synced();
            return Ok(());
        }
        let synced = lock(&self.engine).enter(&self.core, Patience::Try, |session| {
            sync::sync(session).and_then(|()| sync::tidy(session)).map_err(|error| self.core.refine(error))
        })?;
        synced.unwrap_or(Ok(()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        #[cfg(test)]
        if crate::fail::is_crashed() {
            return;
        }
        if self.core.unsynced() > 0 {
            // What is not synced now is mended by the next open.
            let _ = self.sync();
        }
    }
}
