//! A sign of life on standard error, where that is a terminal and the work takes a while.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

/// What is over within this time needs no sign.
pub(super) const QUICK: Duration = Duration::from_secs(1);
/// How often it moves.
const TICK: Duration = Duration::from_millis(100);

/// Shows that something is done, from a second after it began until it is dropped.
pub(super) struct Busy {
    over: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Busy {
    /// Begins to wait; `what` is being done.
    pub(super) fn with(what: &'static str) -> Self {
        if !stderr().is_terminal() {
            return Self { over: None, shown: None };
        }
        let (over, heard) = channel::<()>();
        let shown = std::thread::spawn(move || {
            let goes_on = |time| heard.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !goes_on(QUICK) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.set_draw_target(ProgressDrawTarget::stderr());
            while goes_on(TICK) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { over: Some(over), shown: Some(shown) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(shown) = self.shown.take() {
            // A sign that could not be shown is no reason to fail.
            let _ = shown.join();
        }
    }
}
