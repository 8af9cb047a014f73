//! The one thread that runs tool calls, in the order in which they came.
//!
//! Calls that wait together are handed to the dispatcher together, so that they share a sync.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use std::{io, iter, thread};

use tokio::sync::oneshot;

use crate::store::{Actor, Store};
use crate::tool::{Dispatcher, ToolResult, ToolUse};

/// How long nothing must be asked before what was published is synced, so that the next open has nothing to mend.
const IDLE: Duration = Duration::from_secs(1);
/// So many calls are answered together at most: the first of them waits for the last.
const MOST_TOGETHER: usize = 256;

/// A handle of the thread; it ends when the handle and all calls are gone.
pub(super) struct Worker {
    jobs: Sender<Job>,
}

struct Job {
    call: ToolUse,
    /// The client's name for itself.
    client: Option<String>,
    /// Closed when nobody waits for the answer any more.
    answer: oneshot::Sender<ToolResult>,
}

impl Worker {
    /// Starts the thread. Changes are made by `actor`, else by an agent of the client's name.
    pub(super) fn start(dispatcher: Dispatcher, store: Store, actor: Option<Actor>) -> io::Result<Self> {
        let (jobs, todo) = mpsc::channel();
        let work = move || run(Dispatchers::new(dispatcher, actor), &store, &todo);
        thread::Builder::new().name("memdir".to_owned()).spawn(work)?;
        Ok(Self { jobs })
    }

    /// Runs a call after those that came before. `None`: it was cancelled; before its turn it is not run at all.
    pub(super) async fn call(
        &self,
        call: ToolUse,
        client: Option<String>,
        cancelled: impl Future<Output = ()>,
    ) -> Option<ToolResult> {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { call, client, answer }).ok()?;
        tokio::select! {
            answer = answered => answer.ok(),
            () = cancelled => None,
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

fn run(mut dispatchers: Dispatchers, store: &Store, todo: &Receiver<Job>) {
    while let Some(first) = next(store, todo) {
        let waiting = iter::once(first).chain(todo.try_iter()).take(MOST_TOGETHER);
        let jobs: Vec<Job> = waiting.filter(|job| !job.answer.is_closed()).collect();
        for together in groups(jobs) {
            let dispatcher = dispatchers.of(together[0].client.as_ref());
            let (calls, answers): (Vec<_>, Vec<_>) =
                together.into_iter().map(|job| (job.call, job.answer)).unzip();
            for (result, answer) in dispatcher.run_all(&calls).into_iter().zip(answers) {
                // Who does not want it any more has gone.
                let _ = answer.send(result);
            }
        }
    }
    // What was answered is safe in the journal already; a sync that fails costs the next open a recovery, no more.
    let _ = store.sync();
}

/// The next job; while none comes, what was published is synced. `None`: the server has ended.
fn next(store: &Store, todo: &Receiver<Job>) -> Option<Job> {
    if store.is_unsynced() {
        match todo.recv_timeout(IDLE) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => drop(store.sync()),
        }
    }
    todo.recv().ok()
}

/// Jobs that follow one another and are of one client, together.
fn groups(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    for job in jobs {
        match groups.last_mut() {
            Some(group) if group[0].client == job.client => group.push(job),
            _ => groups.push(vec![job]),
        }
    }
    groups
}
