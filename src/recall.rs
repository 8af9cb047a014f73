//! Memories by what they mean: entries, retrieval, duplicates, the ends of memories.

use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::index::Accessed;
use crate::path::MemoryPath;
use crate::store::{Progress, Store, lock};
use chrono::{DateTime, Utc};

mod alike;
mod aside;
mod build;
mod catalog;
pub mod eval;
mod keep;
mod lifecycle;
mod look;
mod passages;
mod prefetch;
mod rank;
mod record;
mod retrieve;
mod state;
#[cfg(test)]
mod tests;

use aside::Aside;
use build::Builder;
use catalog::Catalog;
pub(crate) use keep::categories;
pub use keep::{NewEntry, Similar, Stored};
pub use lifecycle::{Doomed, Why};
use look::Looks;
pub use prefetch::Prefetch;
pub use retrieve::{Ask, Memory, Retrieved, Terms};
pub use state::{IndexFault, IndexState};

/// The structured memory of a store: the same files, as entries. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Recall {
    store: Store,
    catalog: Arc<Mutex<Catalog>>,
    builder: Arc<Mutex<Builder>>,
    looks: Arc<Mutex<Looks>>,
    aside: Arc<Mutex<Aside>>,
    is_watching: bool,
    progress: Option<Tell>,
}

/// Who is told how far the work is.
type Tell = Arc<dyn Fn(Progress) + Send + Sync>;

impl std::fmt::Debug for Recall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recall").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Recall {
    /// Makes what retrieves from a store. Nothing is read until something is asked.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            catalog: Arc::default(),
            builder: Arc::default(),
            looks: Arc::default(),
            aside: Arc::default(),
            is_watching: false,
            progress: None,
        }
    }

    /// The same for a process that lives long: from the second question on it watches the files (see [`Store::watch`]) in place
    /// of looking at all of them each time, and a thread makes an index anew that is of another model: questions are answered by
    /// words meanwhile. That thread has a handle of the store until it is done, and a redaction waits for it.
    #[must_use]
    pub fn watching(self) -> Self {
        Self { is_watching: true, ..self }
    }

    /// The same, telling how far it is when a question has to wait for an index that is made.
    #[must_use]
    pub fn telling(self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(progress)), ..self }
    }

    /// The same through another handle of the same store.
    pub(crate) fn with_store(&self, store: Store) -> Self {
        Self { store, ..self.clone() }
    }

    /// When memories were last retrieved, as far as that is written down.
    fn accessed(&self) -> Accessed {
        Accessed::within(&self.store.index_dir())
    }

    /// The store.
    #[must_use]
    pub fn store_handle(&self) -> &Store {
        &self.store
    }
}
