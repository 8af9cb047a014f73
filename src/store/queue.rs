//! The queue of one process: whoever comes first leads, serves all that wait, and hands the lead on.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use super::Author;
use super::gate::Warned;
use super::plan::Plan;
use super::snapshot::Snapshot;
use crate::error::{Error, Result};

/// What a decision came to.
pub(super) enum Decided {
    /// This is to be done.
    Plan(Box<Plan>),
    /// It wants no change; its caller knows why.
    Declined,
    /// It panicked; the panic belongs to its caller.
    Panicked(Box<dyn Any + Send>),
}

/// How a request ended.
pub(super) enum Outcome {
    /// Its edits are durable and published, or it wanted none; what is told with that.
    Done(Vec<Warned>),
    /// Nothing of it was made.
    Failed(Error),
    Panicked(Box<dyn Any + Send>),
}

/// A decision that waits to be made.
pub(super) struct Request {
    pub(super) decide: Box<dyn FnMut(&mut Snapshot<'_>) -> Decided + Send>,
    pub(super) author: Arc<Author>,
    pub(super) ticket: Arc<Ticket>,
}

/// Where a caller waits for the end of its request.
#[derive(Default)]
pub(super) struct Ticket {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    /// The caller is to lead.
    Lead,
    Over(Outcome),
    Collected,
}

impl Ticket {
    pub(super) fn end(&self, outcome: Outcome) {
        *lock(&self.state) = State::Over(outcome);
        self.changed.notify_all();
    }

    fn lead(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, State::Waiting) {
            *state = State::Lead;
            self.changed.notify_all();
        }
    }

    /// Waits for the outcome; `None`: the caller must lead first.
    fn wait(&self) -> Option<Outcome> {
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Collected) {
                State::Over(outcome) => return Some(outcome),
                State::Lead => {
                    *state = State::Waiting;
                    return None;
                }
                other => *state = other,
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*lock(&self.state), State::Over(_) | State::Collected)
    }
}

/// The requests that wait, in the order in which they came.
#[derive(Default)]
pub(super) struct Queue {
    inner: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<Request>,
    led: bool,
    /// The thread that serves just now.
    leader: Option<ThreadId>,
}

impl Queue {
    /// How many wait, beside those that are being served.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        lock(&self.inner).requests.len()
    }

    /// Puts `requests` in the queue and returns when all of them are over, in their order.
    ///
    /// `serve` is called while this thread leads: it takes requests from the front and ends their tickets, at least one.
    ///
    /// # Panics
    /// In a decision: it would wait for its own end.
    pub(super) fn run(
        &self,
        requests: Vec<Request>,
        mut serve: impl FnMut(&mut VecDeque<Request>),
    ) -> Vec<Outcome> {
        if requests.is_empty() {
            return Vec::new();
        }
        let tickets: Vec<Arc<Ticket>> = requests.iter().map(|request| Arc::clone(&request.ticket)).collect();
        let mut leads = {
            let mut waiting = lock(&self.inner);
            let is_decision = waiting.leader == Some(std::thread::current().id());
            assert!(!is_decision, "a decision must not change the store that it decides for");
            waiting.requests.extend(requests);
            !std::mem::replace(&mut waiting.led, true)
        };
        let mut outcomes = Vec::with_capacity(tickets.len());
        for (i, ticket) in tickets.iter().enumerate() {
            loop {
                if leads {
                    self.lead(&tickets[i..], &mut serve);
                    leads = false;
                }
                match ticket.wait() {
                    Some(outcome) => break outcomes.push(outcome),
                    None => leads = true,
                }
            }
        }
        outcomes
    }

    /// Serves until this caller's own requests are over, then hands the lead to who waits longest.
    fn lead(&self, own: &[Arc<Ticket>], serve: &mut impl FnMut(&mut VecDeque<Request>)) {
        let mut lead = Lead { queue: self, own, taken: VecDeque::new() };
        lock(&self.inner).leader = Some(std::thread::current().id());
        while !own.iter().all(|ticket| ticket.is_over()) {
            lead.taken = std::mem::take(&mut lock(&self.inner).requests);
            serve(&mut lead.taken);
            lead.give_back();
        }
    }
}

/// The lead, which is given away in the end, also when the leader panics.
struct Lead<'a> {
    queue: &'a Queue,
    own: &'a [Arc<Ticket>],
    /// What is being served.
    taken: VecDeque<Request>,
}

impl Lead<'_> {
    /// What was not served goes back to the front, before what came meanwhile.
    fn give_back(&mut self) {
        let mut waiting = lock(&self.queue.inner);
        while let Some(request) = self.taken.pop_back() {
            waiting.requests.push_front(request);
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody waits for the end of these any more, nor could lead.
            self.taken.retain(|request| !self.own.iter().any(|own| Arc::ptr_eq(own, &request.ticket)));
        }
        self.give_back();
        let mut waiting = lock(&self.queue.inner);
        waiting.leader = None;
        match waiting.requests.front() {
            Some(next) => next.ticket.lead(),
            None => waiting.led = false,
        }
    }
}

/// A lock that a panic elsewhere does not close: what it guards is whole at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all `requests` with the same failure.
pub(super) fn fail_all(requests: &mut VecDeque<Request>, error: &Error) {
    for request in requests.drain(..) {
        request.ticket.end(Outcome::Failed(error.again()));
    }
}

impl Outcome {
    /// What the caller gets: a panic goes on where it belongs.
    pub(super) fn into_result(self) -> Result<Vec<Warned>> {
        match self {
            Self::Done(warned) => Ok(warned),
            Self::Failed(error) => Err(error),
            Self::Panicked(panic) => std::panic::resume_unwind(panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leader that panics may have taken the requests of others from the queue: they are served by the next.
    #[test]
    fn what_a_panicking_leader_took_is_served_by_the_next() {
        let queue = Queue::default();
        let author = Arc::new(Author { actor: crate::version::Actor::Outside, reason: None });
        let request = || Request {
            decide: Box::new(|_| Decided::Declined),
            author: Arc::clone(&author),
            ticket: Arc::default(),
        };
        let mut rounds = 0;
        std::thread::scope(|threads| {
            let (called, second) = std::sync::mpsc::channel();
            let queue = &queue;
            threads.spawn(move || {
                second.recv().unwrap();
                let outcomes = queue.run(vec![request()], |waiting| {
                    waiting.drain(..).for_each(|request| request.ticket.end(Outcome::Done(Vec::new())));
                });
                assert!(matches!(outcomes[..], [Outcome::Done(_)]));
            });
            let lead = std::panic::AssertUnwindSafe(|| {
                queue.run(vec![request()], |waiting| {
                    rounds += 1;
                    match waiting.len() {
                        2 => std::panic::resume_unwind(Box::new("the leader's own fault")),
                        _ if rounds == 1 => called.send(()).unwrap(),
                        _ => std::thread::yield_now(),
                    }
                })
            });
            assert!(std::panic::catch_unwind(lead).is_err());
        });
    }
}
