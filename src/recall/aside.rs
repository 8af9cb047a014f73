//! A thread for what is only told: it works while who asked waits for the disk.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread;

use super::lock;

/// Something to be done.
type Job = Box<dyn FnOnce() + Send>;

/// The thread, once there was something to do. It ends with this, and holds nothing while it waits.
#[derive(Debug, Default)]
pub(super) enum Aside {
    #[default]
    Unused,
    Thread(SyncSender<Job>),
    /// There is one processor, or no thread is to be had.
    Nobody,
}

impl Aside {
    /// Takes a job, if the thread waits for one.
    fn take(&mut self, job: Job) -> Result<(), Job> {
        if let Self::Unused = self {
            *self = Self::start();
        }
        let Self::Thread(jobs) = self else { return Err(job) };
        jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
        })
    }

    fn start() -> Self {
        if thread::available_parallelism().map_or(1, NonZero::get) == 1 {
            return Self::Nobody;
        }
        // Nothing waits in the channel: what would wait is done sooner by who asks.
        let (jobs, work) = mpsc::sync_channel::<Job>(0);
        let work = move || work.into_iter().for_each(|job| job());
        let started = thread::Builder::new().name("memdir-aside".to_owned()).spawn(work);
        started.map_or(Self::Nobody, |_| Self::Thread(jobs))
    }
}

/// Does one thing aside while the other is done here; where nobody is free for that, afterwards. `None`: the one panicked.
pub(super) fn beside<A: Send + 'static, B>(
    aside: &Mutex<Aside>,
    one: impl FnOnce() -> A + Send + 'static,
    other: impl FnOnce() -> B,
) -> (Option<A>, B) {
    let (say, hear) = mpsc::channel();
    let job = move || _ = catch_unwind(AssertUnwindSafe(one)).map(|one| say.send(one));
    let taken = lock(aside).take(Box::new(job));
    let other = other();
    if let Err(job) = taken {
        job();
    }
    (hear.recv().ok(), other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done_whoever_is_free() {
        for aside in [Aside::Unused, Aside::Nobody] {
            let aside = Mutex::new(aside);
            for n in 0..100 {
                assert_eq!(beside(&aside, move || n, || 2 * n), (Some(n), 2 * n));
            }
            // While the thread works, what comes is done here.
            let within = beside(&aside, || 1, || beside(&aside, || 2, || 3));
            assert_eq!(within, (Some(1), (Some(2), 3)));
        }
    }

    #[test]
    fn who_panics_harms_nobody() {
        for aside in [Aside::Unused, Aside::Nobody] {
            let aside = Mutex::new(aside);
            for _ in 0..10 {
                let harm = || -> u8 { panic!("as a test wants it") };
                assert_eq!(beside(&aside, harm, || 3), (None, 3));
                assert_eq!(beside(&aside, || 1, || 2), (Some(1), 2));
            }
        }
    }
}
