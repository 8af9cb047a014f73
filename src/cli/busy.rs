//! A sign of life on standard error, where that is a terminal and the work takes a while.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::store::{Progress, lock};

/// What is over within this time needs no sign.
pub(super) const QUICK: Duration = Duration::from_secs(1);
/// How often it moves.
const TICK: Duration = Duration::from_millis(100);

/// Shows that something is done, from a second after it began until it is dropped.
pub(super) struct Busy {
    over: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
    /// How far it is, where that is known.
    progress: Arc<Mutex<Option<Progress>>>,
}

impl Busy {
    /// Begins to wait; `what` is being done.
    pub(super) fn with(what: &'static str) -> Self {
        let progress = Arc::<Mutex<Option<Progress>>>::default();
        if !stderr().is_terminal() {
            return Self { over: None, shown: None, progress };
        }
        let known = Arc::clone(&progress);
        let (over, heard) = channel::<()>();
        let shown = std::thread::spawn(move || {
            let goes_on = |time| heard.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !goes_on(QUICK) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.set_draw_target(ProgressDrawTarget::stderr());
            while goes_on(TICK) {
                // Who tells does not wait for the terminal.
                let progress = *lock(&known);
                match progress {
                    Some(progress) => show(&bar, progress),
                    None => bar.tick(),
                }
            }
            bar.finish_and_clear();
        });
        Self { over: Some(over), shown: Some(shown), progress }
    }

    /// Hears how far it is, and shows that from then on.
    #[cfg_attr(not(feature = "search"), allow(dead_code, reason = "only retrieval tells"))]
    pub(super) fn hears(&self) -> impl Fn(Progress) + Send + Sync + 'static {
        let known = Arc::clone(&self.progress);
        move |progress| *lock(&known) = Some(progress)
    }
}

/// Shows how far it is.
pub(super) fn show(bar: &ProgressBar, progress: Progress) {
    if bar.length().is_none() {
        let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }
    bar.set_length(progress.total.unwrap_or(progress.done));
    bar.set_message(progress.what);
    bar.set_position(progress.done);
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
