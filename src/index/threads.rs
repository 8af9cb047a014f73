//! Two threads for one question, where there is much to look at.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{self, Builder};

/// From so many rows on a second thread is worth its start (20 µs): a scan of them takes ten times that.
const MANY_ROWS: usize = if cfg!(test) { 128 } else { 200_000 };

static HAS_TWO: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|cores| cores > NonZero::<usize>::MIN));

/// Does two things: at once where so many rows are looked at, the second one on this thread; one after the other where they are
/// few, or no thread is to be had.
pub(super) fn both<A: Send, B>(rows: usize, one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    if rows < MANY_ROWS || !*HAS_TWO {
        return (one(), other());
    }
    thread::scope(|scope| {
        let started = Builder::new().spawn_scoped(scope, &one);
        let other = other();
        let one = match started {
            Ok(started) => started.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => one(),
        };
        (one, other)
    })
}
