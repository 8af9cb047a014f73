//! The index is built beside the questions, by one thread of a process that lives long: who asks meanwhile is answered from
//! what there is.

use std::sync::MutexGuard;
use std::thread::JoinHandle;

use super::catalog::{Catalog, Pace};
use super::{Recall, Result, lock};
use crate::store::{History, Store};

/// Who builds.
#[derive(Debug, Default)]
pub(super) enum Builder {
    #[default]
    Nobody,
    Thread(JoinHandle<Built>),
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

    /// What can be known at once; where much is missing it is built meanwhile.
    pub(super) fn known_at_once(&self) -> Result<(MutexGuard<'_, Catalog>, History)> {
        if !self.is_watching {
            return self.known();
        }
        let mut catalog = lock(&self.catalog);
        if matches!(&*lock(&self.builder), Builder::Thread(thread) if thread.is_finished()) {
            self.end_building(&mut catalog);
        }
        let has_failed = matches!(*lock(&self.builder), Builder::Failed);
        let history = catalog.catch_up(&self.store, if has_failed { Pace::Words } else { Pace::AtOnce })?;
        let mut builder = lock(&self.builder);
        if catalog.wants_building() && matches!(*builder, Builder::Nobody) {
            let store = self.store.clone();
            let thread = std::thread::Builder::new().name("memdir-index".to_owned());
            *builder = thread.spawn(move || build(&store)).map_or(Builder::Failed, Builder::Thread);
        }
        drop(builder);
        Ok((catalog, history))
    }

    /// Waits for who builds, and takes what that made.
    fn end_building(&self, catalog: &mut Catalog) {
        let mut builder = lock(&self.builder);
        *builder = match std::mem::take(&mut *builder) {
            Builder::Thread(thread) => match thread.join() {
                Ok(Built::Whole | Built::Busy) => Builder::Nobody,
                Ok(Built::Failed) | Err(_) => Builder::Failed,
            },
            other => other,
        };
        catalog.renew();
    }
}

/// Builds as another process would.
fn build(store: &Store) -> Built {
    let mut catalog = Catalog::default();
    match catalog.catch_up(store, Pace::Disk) {
        Ok(_) if catalog.lags() => Built::Busy,
        Ok(_) if catalog.is_on_disk() => Built::Whole,
        _ => Built::Failed,
    }
}
