//! The index is built beside the questions, by one thread of a process that lives long: who asks meanwhile waits a while for
//! what is missing, and is then answered from what there is.

use std::sync::MutexGuard;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use super::catalog::{Catalog, Pace};
use super::{Recall, Result, lock};
use crate::store::{History, Store};

/// A question waits so long for what is not known yet: hosts give up on an answer after a minute.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(20) };
/// How often it is looked whether another process is done.
const PAUSE: Duration = Duration::from_millis(50);

/// Who builds.
#[derive(Debug, Default)]
pub(super) enum Builder {
    #[default]
    Nobody,
    /// A thread, which says what came of it.
    Thread(Receiver<Built>),
    /// Nobody any more: the disk takes nothing.
    Failed,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    Whole,
    /// Another process builds.
    Busy,
    Failed,
}

impl Recall {
    /// All that is known now.
    pub(super) fn known(&self) -> Result<(MutexGuard<'_, Catalog>, History)> {
        let mut catalog = lock(&self.catalog);
        if catalog.lags() {
            self.end_building(&mut catalog);
        }
        let pace = if self.is_watching { Pace::Words } else { Pace::Whole };
        let history = catalog.catch_up(&self.store, pace)?;
        Ok((catalog, history))
    }

    /// What can be known soon; where much is missing it is built meanwhile.
    pub(super) fn known_soon(&self) -> Result<(MutexGuard<'_, Catalog>, History)> {
        if !self.is_watching {
            return self.known();
        }
        let mut catalog = lock(&self.catalog);
        self.hear(&mut catalog, Duration::ZERO);
        let has_failed = matches!(*lock(&self.builder), Builder::Failed);
        let pace = if has_failed { Pace::Words } else { Pace::Soon };
        let mut history = catalog.catch_up(&self.store, pace)?;
        self.begin_building(&catalog);
        if catalog.lags() {
            drop(history);
            self.hear(&mut catalog, PATIENCE);
            history = catalog.catch_up(&self.store, pace)?;
        }
        Ok((catalog, history))
    }

    fn begin_building(&self, catalog: &Catalog) {
        let mut builder = lock(&self.builder);
        if catalog.wants_building() && matches!(*builder, Builder::Nobody) {
            let (say, built) = mpsc::channel();
            let store = self.store.clone();
            let work = move || _ = say.send(build(&store));
            let thread = std::thread::Builder::new().name("memdir-index".to_owned());
            *builder = thread.spawn(work).map_or(Builder::Failed, |_| Builder::Thread(built));
        }
    }

    /// Waits for who builds, and takes what that made.
    fn end_building(&self, catalog: &mut Catalog) {
        self.hear(catalog, Duration::MAX);
        catalog.renew();
    }

    /// Takes what was built, if it is within that time.
    fn hear(&self, catalog: &mut Catalog, patience: Duration) {
        let mut builder = lock(&self.builder);
        let Builder::Thread(built) = &*builder else { return };
        let built = match patience {
            Duration::ZERO => built.try_recv().map_err(|why| why == TryRecvError::Empty),
            Duration::MAX => built.recv().map_err(|_| false),
            patience => built.recv_timeout(patience).map_err(|why| why == RecvTimeoutError::Timeout),
        };
        *builder = match built {
            Ok(Built::Whole | Built::Busy) => Builder::Nobody,
            Ok(Built::Failed) | Err(false) => Builder::Failed,
            Err(true) => return,
        };
        catalog.renew();
    }
}

/// Builds as another process would; while one does, that is waited for.
fn build(store: &Store) -> Built {
    let begun = Instant::now();
    loop {
        let mut catalog = Catalog::default();
        let built = match catalog.catch_up(store, Pace::Disk) {
            Ok(_) if catalog.lags() => Built::Busy,
            Ok(_) if catalog.is_on_disk() => Built::Whole,
            _ => Built::Failed,
        };
        if built != Built::Busy || begun.elapsed() > PATIENCE {
            return built;
        }
        std::thread::sleep(PAUSE);
    }
}
