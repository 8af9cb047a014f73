//! What rings when something happens, for those who wait for that: each has heard it so many times.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A count of what happened that can be waited for.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<u64>,
    rings: Condvar,
}

impl Bell {
    /// How often it has rung.
    pub(crate) fn rung(&self) -> u64 {
        *self.count()
    }

    /// Waits until it has rung more often than `heard`, but no longer than `most`; how often it has rung then.
    pub(crate) fn wait(&self, heard: u64, most: Duration) -> u64 {
        let waited = self.rings.wait_timeout_while(self.count(), most, |rung| *rung == heard);
        let (rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung
    }

    pub(super) fn ring(&self) {
        *self.count() += 1;
        self.rings.notify_all();
    }

    fn count(&self) -> MutexGuard<'_, u64> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
