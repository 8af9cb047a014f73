//! When the files are looked at for what others did.

use std::time::{Duration, Instant};

use super::{Error, Recall, Result, lock};

/// So soon after a look at the files an entry is stored without another one, if one was stored since.
const OFTEN_ENOUGH: Duration = Duration::from_secs(1);

/// How often, and when last, the files were looked at for what others did.
#[derive(Debug, Default)]
pub(super) struct Looks {
    count: u64,
    last: Option<Instant>,
    /// Whether an entry was stored since then.
    has_stored: bool,
}

impl Recall {
    /// Before an entry is stored the files are looked at where that costs little: the first time, and while they are watched
    /// unless one was stored just before. That is news to a watch, and to look at it takes as long as to store.
    ///
    /// `is_sure`: whether it matters what was done a moment ago, as when an entry has a key that is to be the only one.
    pub(super) fn look_before_storing(&self, is_sure: bool) -> Result<()> {
        let Looks { last, has_stored, .. } = *lock(&self.looks);
        let is_due = last.is_none_or(|last| {
            let is_wanted = || is_sure || last.elapsed() >= OFTEN_ENOUGH;
            self.is_watching && (is_wanted() || !has_stored && self.store.is_watched())
        });
        if is_due {
            self.look_around()?;
        }
        lock(&self.looks).has_stored = true;
        Ok(())
    }

    /// Takes in what others did to the files; where that cannot be written down, what is known is used.
    pub(super) fn look_around(&self) -> Result<()> {
        let count = {
            let mut looks = lock(&self.looks);
            looks.last = Some(Instant::now());
            looks.has_stored = false;
            looks.count += 1;
            looks.count
        };
        if count == 2 && self.is_watching {
            // Where it cannot be watched, it is looked at each time.
            let _ = self.store.watch();
        }
        match self.store.notice() {
            Ok(_) | Err(Error::Write { .. } | Error::Busy { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
