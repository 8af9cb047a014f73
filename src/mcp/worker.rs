//! The one thread that runs tool calls, in the order in which they came (but for views that have nothing before them).
//!
//! Calls that wait together are handed to the dispatcher together, so that they share a sync.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::error::Error;
use crate::store::{Actor, Store};
use crate::tool::{Dispatcher, Pace, ToolResult, ToolUse};

/// How long nothing must be asked before what was published is synced, so that the next open has nothing to mend.
const IDLE: Duration = Duration::from_secs(1);
/// So many calls are answered together at most: the first of them waits for the last.
const MOST_TOGETHER: usize = 256;

/// A handle of the thread; dropped, it waits for all calls to be finished.
pub(super) struct Worker {
    /// `None` once no more come.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
    views: Dispatcher,
    desk: Desk,
}

/// Who is told what goes wrong beside an answer.
pub(super) type Complaints = Arc<dyn Fn(Error) + Send + Sync>;

/// A store, and who hears of its troubles.
#[derive(Clone)]
struct Desk {
    store: Store,
    complaints: Complaints,
}

struct Job {
    call: ToolUse,
    /// The client's name for itself.
    client: Option<String>,
    /// Closed when nobody waits for the answer any more.
    answer: oneshot::Sender<ToolResult>,
    waiting: Waiting,
}

/// How many jobs there were, and how many of them are done or dropped.
#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    done: watch::Sender<u64>,
}

/// Held by a job until it is done.
#[derive(Default)]
struct Waiting(Arc<Counts>);

impl Waiting {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.begun.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counts))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.done.send_modify(|done| *done += 1);
    }
}

impl Counts {
    fn is_nothing_waiting(&self) -> bool {
        *self.done.borrow() >= self.begun.load(Ordering::Relaxed)
    }
}

impl Worker {
    /// Starts the thread. Changes are made by `actor`, else by an agent of the client's name.
    pub(super) fn start(
        dispatcher: Dispatcher,
        store: Store,
        actor: Option<Actor>,
        complaints: Complaints,
    ) -> io::Result<Self> {
        let (jobs, todo) = mpsc::channel();
        let desk = Desk { store, complaints };
        let (views, its) = (dispatcher.clone(), desk.clone());
        let work = move || run(Dispatchers::new(dispatcher, actor), &its, &todo);
        let thread = thread::Builder::new().name("memdir".to_owned()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), counts: Arc::default(), views, desk })
    }

    /// Runs a call after those that came before. `None`: it was cancelled, and before its turn it is not run at all; or it
    /// could not be finished.
    pub(super) async fn call(
        &self,
        call: ToolUse,
        client: Option<String>,
        cancelled: impl Future<Output = ()>,
    ) -> Option<ToolResult> {
        // A view takes less time than waking the thread and being woken by it, and may be made where it came in as long as
        // nothing is before it. What is to be mended may be waited for.
        let is_first = Pace::of(&call) == Pace::View && self.counts.is_nothing_waiting();
        if is_first && !self.desk.store.is_to_be_mended() {
            let result = attempt(|| self.views.run(&call))?;
            tracing::info!(tool = call.name, failed = result.is_error, "answered");
            self.desk.complain();
            return Some(result);
        }
        let (answer, answered) = oneshot::channel();
        let job = Job { call, client, answer, waiting: Waiting::new(&self.counts) };
        self.jobs.as_ref()?.send(job).ok()?;
        tokio::select! {
            answer = answered => answer.ok(),
            () = cancelled => None,
        }
    }
}

impl Worker {
    /// Waits for the calls that came before.
    pub(super) async fn turn(&self) {
        let begun = self.counts.begun.load(Ordering::Relaxed);
        // The counts are there as long as the worker is.
        let _ = self.counts.done.subscribe().wait_for(|done| *done >= begun).await;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Desk {
    /// Tells what went wrong since the last time.
    fn complain(&self) {
        if let Some(error) = self.store.take_warning() {
            (self.complaints)(error);
        }
    }

    /// Syncs what was published; false, and a complaint, when that fails. What was answered is safe in the journal
    /// already: it costs the next open a recovery, no more.
    fn settle(&self) -> bool {
        if !self.store.is_unsynced() {
            return true;
        }
        match self.store.sync() {
            Ok(()) => true,
            Err(error) => {
                (self.complaints)(error);
                false
            }
        }
    }
}

/// Dispatchers by the name of the client; the last one is kept, as most servers have one client.
struct Dispatchers {
    all: Dispatcher,
    actor: Option<Actor>,
    last: (Option<String>, Dispatcher),
}

impl Dispatchers {
    fn new(all: Dispatcher, actor: Option<Actor>) -> Self {
        let all = match &actor {
            Some(actor) => all.with_actor(actor.clone()),
            None => all,
        };
        Self { last: (None, all.clone()), all, actor }
    }

    fn of(&mut self, client: Option<&String>) -> &Dispatcher {
        if self.last.0.as_ref() != client {
            let dispatcher = match (&self.actor, client) {
                (None, Some(name)) => self.all.with_actor(Actor::Agent(name.clone())),
                _ => self.all.clone(),
            };
            self.last = (client.cloned(), dispatcher);
        }
        &self.last.1
    }
}

fn run(mut dispatchers: Dispatchers, desk: &Desk, todo: &Receiver<Job>) {
    let mut can_sync = true;
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Some(first) = next(desk, todo, &mut can_sync) else { break };
            waiting.push_back(first);
        }
        waiting.extend(todo.try_iter().take(MOST_TOGETHER - waiting.len()));
        let together = next_group(&mut waiting);
        let Some(first) = together.first() else { continue };
        let dispatcher = dispatchers.of(first.client.as_ref());
        let (calls, answers): (Vec<_>, Vec<_>) =
            together.into_iter().map(|job| (job.call, (job.answer, job.waiting))).unzip();
        // Without an answer they are told that they could not be finished.
        let Some(results) = attempt(|| dispatcher.run_all(&calls)) else { continue };
        for ((call, result), (answer, waiting)) in calls.iter().zip(results).zip(answers) {
            tracing::info!(tool = call.name, failed = result.is_error, "answered");
            drop(waiting);
            // Who does not want it any more has gone.
            let _ = answer.send(result);
        }
        desk.complain();
    }
    desk.settle();
}

/// What work comes to; `None` when it panics, which is one call's trouble and nobody else's. (The store outlives a panic.)
fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    if done.is_err() {
        tracing::error!("a call has panicked");
    }
    done.ok()
}

/// The next job; while none comes, what was published is synced. `None`: the server has ended.
fn next(desk: &Desk, todo: &Receiver<Job>, can_sync: &mut bool) -> Option<Job> {
    if *can_sync && desk.store.is_unsynced() {
        match todo.recv_timeout(IDLE) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => *can_sync = desk.settle(),
        }
    }
    todo.recv().ok()
}

/// The next to be run: changes that follow one another and are of one client together, everything else alone, so that no answer waits for one
/// that takes long.
///
/// What nobody waits for any more is dropped; when that is all, the group is empty.
fn next_group(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    waiting.retain(|job| !job.answer.is_closed());
    let Some(first) = waiting.front() else { return Vec::new() };
    let more = waiting.iter().skip(1).take_while(|next| first.goes_with(next)).count();
    waiting.drain(..=more).collect()
}

impl Job {
    fn goes_with(&self, next: &Self) -> bool {
        let are_changes = [self, next].iter().all(|job| Pace::of(&job.call) == Pace::Change);
        are_changes && self.client == next.client
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fail;
    use crate::path::MemoryPath;

    fn job(input: Value) -> (Job, oneshot::Receiver<ToolResult>) {
        let (answer, answered) = oneshot::channel();
        let call = ToolUse { id: String::new(), name: "memory".to_owned(), input };
        (Job { call, client: None, answer, waiting: Waiting::default() }, answered)
    }

    fn create(path: &str) -> (Job, oneshot::Receiver<ToolResult>) {
        job(json!({"command": "create", "path": path, "file_text": "x\n"}))
    }

    #[test]
    fn a_call_that_is_cancelled_before_its_turn_is_dropped_though_it_was_collected() {
        let view = || job(json!({"command": "view", "path": "/memories"}));
        let all = [view(), create("/memories/1"), create("/memories/2"), create("/memories/3"), view()];
        let (mut jobs, mut answers): (VecDeque<_>, VecDeque<_>) = all.into_iter().unzip();
        assert_eq!(next_group(&mut jobs).len(), 1);
        drop(answers.remove(2));
        assert_eq!(next_group(&mut jobs).len(), 2);
        drop(answers.pop_back());
        assert_eq!((next_group(&mut jobs).len(), jobs.len()), (0, 0));
    }

    #[test]
    fn what_is_to_be_mended_is_told_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(!store.is_to_be_mended());
        let (job, _) = create("/memories/1");
        assert!(!Dispatcher::new(store.clone()).run(&job.call).is_error);
        assert!(!store.is_to_be_mended());
        let lock = dir.path().join(".memdir/lock");
        std::fs::write(&lock, vec![b'?'; std::fs::read(&lock).unwrap().len()]).unwrap();
        assert!(store.is_to_be_mended());
        // A read mends it.
        store.look(&MemoryPath::ROOT).unwrap();
        assert!(!store.is_to_be_mended());
    }

    #[test]
    fn a_call_that_panics_is_the_only_one_that_fails() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let desk = Desk { store: store.clone(), complaints: Arc::new(|_| ()) };
        let (jobs, todo) = mpsc::channel();
        let (first, mut panicked) = create("/memories/1");
        let (second, mut view) = job(json!({"command": "view", "path": "/memories"}));
        let (third, mut made) = create("/memories/2");
        for job in [first, second, third] {
            jobs.send(job).unwrap();
        }
        drop(jobs);
        fail::interfere_after(0, || std::panic::resume_unwind(Box::new("a bug")));
        run(Dispatchers::new(Dispatcher::new(store), None), &desk, &todo);
        assert!(!fail::was_left_alone());
        panicked.try_recv().unwrap_err();
        assert!(!view.try_recv().unwrap().is_error);
        assert!(!made.try_recv().unwrap().is_error);
        assert!(dir.path().join("memories/2").exists());
    }
}
