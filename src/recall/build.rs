//! An index of another model is made anew beside the questions, by one thread of a process that lives long: meanwhile they are
//! answered by words.

use std::sync::MutexGuard;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use super::catalog::{Built, Catalog, LONG, Rebuild};
use super::{Recall, Result, lock};
use crate::store::History;

/// Who builds.
#[derive(Debug, Default)]
pub(super) enum Builder {
    #[default]
    Nobody,
    /// A thread, which says what came of it.
    Thread(Receiver<Built>),
    /// Nobody any more: the disk takes nothing, so it is done in memory.
    Failed,
}

impl Recall {
    /// All that is known now; while an index of another model is made anew, by words.
    pub(super) fn known(&self) -> Result<(MutexGuard<'_, Catalog>, History)> {
        self.known_within(LONG)
    }

    /// The same, with at most so many changed memories outside of the index.
    pub(super) fn known_within(&self, most: usize) -> Result<(MutexGuard<'_, Catalog>, History)> {
        let mut catalog = lock(&self.catalog);
        let mut builder = lock(&self.builder);
        builder.hear(&mut catalog);
        let is_patient = !self.is_watching || matches!(*builder, Builder::Failed);
        let rebuild = if is_patient { Rebuild::Now } else { Rebuild::Never };
        let history = catalog.catch_up(&self.store, rebuild, most, self.progress.as_ref())?;
        if !is_patient && catalog.wants_building() && matches!(*builder, Builder::Nobody) {
            let (say, built) = mpsc::channel();
            let store = self.store.clone();
            let work = move || _ = say.send(Catalog::build(&store));
            let thread = std::thread::Builder::new().name("memdir-index".to_owned());
            *builder = thread.spawn(work).map_or(Builder::Failed, |_| Builder::Thread(built));
        }
        drop(builder);
        Ok((catalog, history))
    }
}

impl Builder {
    /// Takes what was built, if it is.
    fn hear(&mut self, catalog: &mut Catalog) {
        let Self::Thread(built) = self else { return };
        *self = match built.try_recv() {
            Err(TryRecvError::Empty) => return,
            Ok(Built::Whole | Built::Busy) => Self::Nobody,
            Ok(Built::Failed) | Err(TryRecvError::Disconnected) => Self::Failed,
        };
        // What was opened for words alone is opened once more.
        *catalog = Catalog::default();
    }
}
