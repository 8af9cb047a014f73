//! What a store is made of while it is open.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Weak};

use chrono::{DateTime, Utc};

use super::gate::Warned;
use super::queue::lock;
use super::spare::Spare;
use super::{Hidden, Settings};
use crate::disk::{Base, Mark};
use crate::error::{Error, Result, Trouble};
use crate::path::MemoryPath;

/// What does not change while a store is open, and the few marks that do.
pub(super) struct Core {
    pub(super) base: Base,
    pub(super) settings: Settings,
    pub(super) clock: Box<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    /// Changes that were published and not yet seen to the disk.
    pub(super) unsynced: AtomicU64,
    /// Whether something displaced could not be put away: then the lock is left as a crash leaves it, for recovery.
    pub(super) unsettled: AtomicBool,
    pub(super) poison: Mutex<Option<Trouble>>,
    pub(super) warning: Mutex<Option<Error>>,
    /// What looks like a secret in what was stored.
    pub(super) warned: Mutex<Vec<Warned>>,
    /// Beside the journal that the engine has open.
    pub(super) spare: Mutex<Weak<Spare>>,
}

impl Core {
    /// Microseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        (self.clock)().timestamp_micros()
    }

    pub(super) fn admit(&self, path: &MemoryPath) -> Result<()> {
        self.admit_with(path, self.settings.hidden)
    }

    pub(super) fn admit_with(&self, path: &MemoryPath, hidden: Hidden) -> Result<()> {
        if path.names_git() || hidden == Hidden::Deny && path.is_hidden() {
            return Err(Error::Hidden { path: path.clone() });
        }
        if self
            .settings
            .read_only
            .iter()
            .any(|frozen| path == frozen || path.is_below(frozen) || frozen.is_below(path))
        {
            return Err(Error::ReadOnly { path: path.clone() });
        }
        Ok(())
    }

    /// Whether the last holder of the lock left something to be mended, or may have.
    pub(super) fn is_due(&self, mark: &Mark) -> bool {
        !mark.idle || !self.base.site.is_same(&mark.site)
    }

    pub(super) fn poisoned(&self) -> Option<Trouble> {
        *lock(&self.poison)
    }

    /// After a failed sync nothing is known to be durable until the store is opened again.
    pub(super) fn poison(&self, error: &Error) {
        *lock(&self.poison) = Some(Trouble::SyncFailed);
        self.warn(error);
    }

    pub(super) fn warn(&self, error: &Error) {
        *lock(&self.warning) = Some(error.again());
    }

    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled.load(Ordering::Relaxed)
    }

    pub(super) fn set_unsettled(&self, is_unsettled: bool) {
        self.unsettled.store(is_unsettled, Ordering::Relaxed);
    }

    pub(super) fn unsynced(&self) -> u64 {
        self.unsynced.load(Ordering::Relaxed)
    }

    pub(super) fn count_unsynced(&self, changes: u64) {
        self.unsynced.fetch_add(changes, Ordering::Relaxed);
    }

    pub(super) fn set_synced(&self) {
        self.unsynced.store(0, Ordering::Relaxed);
    }

    /// Says better what the database could only call an error of its own, and takes note of what a person must see to.
    pub(super) fn refine(&self, error: Error) -> Error {
        let error = self.say_better(error);
        self.note(&error);
        error
    }

    /// As [`Core::refine`], where the journal was only to be read.
    pub(super) fn refine_reading(&self, error: Error) -> Error {
        let error = self.say_better(error).of_reading();
        self.note(&error);
        error
    }

    fn say_better(&self, error: Error) -> Error {
        match error {
            Error::Write { why: Trouble::Io, doing, source } => {
                Error::Write { why: self.base.trouble(), doing, source }
            }
            error => error,
        }
    }

    fn note(&self, error: &Error) {
        match error {
            Error::Write { why: Trouble::SyncFailed, .. } => self.poison(error),
            Error::Write {
                why: Trouble::Io | Trouble::Journal | Trouble::Network | Trouble::Split, ..
            }
            | Error::Read { why: Trouble::Journal, .. }
            | Error::NewerJournal { .. } => self.warn(error),
            _ => {}
        }
    }
}
