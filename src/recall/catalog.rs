//! What is known of a store's memories: the index, and what has changed since it was built.
//!
//! Nothing is written to the index when a memory is: who asks reads in the journal what is new. A few changes are kept in
//! memory (the tail); when they are many, the index is caught up, by one process at a time.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::record;
use crate::error::{Error, Result};
use crate::index::{Doc, Hits, Index, IndexError, Model, Query, Tail, Written};
use crate::journal::Reach;
use crate::store::{History, Store};

/// So many changed memories are kept in memory before the index is caught up.
const LONG: usize = 256;
/// So many memories, or bytes of them, go to the index at once.
const MOST_DOCS: usize = 50_000;
const MOST_BYTES: usize = 64 << 20;

/// The index of a store and its tail, as far as this process has looked.
#[derive(Default)]
pub(super) struct Catalog {
    open: Option<Open>,
}

struct Open {
    index: Index,
    /// The mark of the index.
    base: i64,
    tail: Tail,
    /// The newest version that is in index or tail.
    mark: i64,
}

impl Catalog {
    /// Brings what is known up to what the journal holds now; returns the history that it is of.
    pub(super) fn catch_up(&mut self, store: &Store) -> Result<History> {
        let history = store.history()?;
        let open = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(Open::new(store)?),
        };
        if open.read(&history, &store.settings().entries.categories)?.is_break() {
            // It is of another history.
            open.clear();
            let _ = open.read(&history, &store.settings().entries.categories)?;
        }
        Ok(history)
    }

    /// What was caught up with last finds candidates.
    pub(super) fn search(&mut self, query: &Query<'_>) -> Result<Hits> {
        let Some(open) = &self.open else { return Ok(Hits::default()) };
        open.index.search(&open.tail, query).map_err(|error| self.give_up(&error))
    }

    /// The newest version that it knows.
    pub(super) fn mark(&self) -> i64 {
        self.open.as_ref().map_or(0, |open| open.mark)
    }

    /// Calls `each` with what meets a filter, in no order.
    pub(super) fn each(
        &mut self,
        filter: &crate::index::Filter,
        each: &mut dyn FnMut(crate::index::Seen),
    ) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        open.index.each(&open.tail, filter, each).map_err(|error| self.give_up(&error))
    }

    /// An index that cannot be read is forgotten: the next question builds it anew.
    fn give_up(&mut self, error: &IndexError) -> Error {
        self.open = None;
        Error::read("search the index", std::io::Error::other(error.to_string()))
    }
}

impl Open {
    fn new(store: &Store) -> Result<Self> {
        let index = Index::open(&store.index_dir(), model(store)?).map_err(|error| unusable(&error))?;
        Ok(Self { base: index.mark(), mark: index.mark(), index, tail: Tail::default() })
    }

    /// As if nothing had ever been read.
    fn clear(&mut self) {
        self.index.clear();
        self.tail = Tail::default();
        (self.base, self.mark) = (0, 0);
    }

    /// Reads what is new in the history; breaks off where it cannot be told.
    fn read(&mut self, history: &History, categories: &[String]) -> Result<ControlFlow<()>> {
        loop {
            let newest = history.mark()?;
            if newest == self.mark {
                return Ok(ControlFlow::Continue(()));
            }
            let (mut docs, mut bytes, mut last) = (Vec::new(), 0, self.mark);
            let mut is_all = true;
            let reach = history.heads_since(self.mark, &mut |version, content| {
                if docs.len() >= MOST_DOCS || bytes >= MOST_BYTES {
                    is_all = false;
                    return Ok(ControlFlow::Break(()));
                }
                bytes += content.map_or(0, <[u8]>::len);
                last = version.n;
                docs.push(record::doc(&version, content, categories));
                Ok(ControlFlow::Continue(()))
            })?;
            match reach {
                Reach::Gap => return Ok(ControlFlow::Break(())),
                Reach::Whole => {}
            }
            self.take(docs, if is_all { newest } else { last });
        }
    }

    /// Takes changed memories in, into the index where they are many.
    fn take(&mut self, docs: Vec<Doc>, mark: i64) {
        if docs.len() + self.tail.len() <= LONG {
            docs.into_iter().for_each(|doc| self.tail.put(&self.index, doc));
            self.mark = mark;
            return;
        }
        // Another process may have brought it further.
        if self.index.refresh().is_ok() && self.index.mark() > self.base {
            self.tail = Tail::default();
            (self.base, self.mark) = (self.index.mark(), self.index.mark());
            return;
        }
        // What comes later counts.
        let docs: Vec<Doc> = std::mem::take(&mut self.tail).into_docs().into_iter().chain(docs).collect();
        match self.index.update(mark, &mut docs.iter().cloned()) {
            Ok(Written::Done) => self.base = mark,
            // While somebody else does it, and without a place on the disk, all is kept in memory.
            Ok(Written::Busy) | Err(_) => docs.into_iter().for_each(|doc| self.tail.put(&self.index, doc)),
        }
        self.mark = mark;
    }
}

/// The model of the settings, or the one in the program.
fn model(store: &Store) -> Result<Arc<Model>> {
    let wanted = &store.settings().search.model;
    let model = if wanted.is_empty() { Model::builtin() } else { Model::load(Path::new(wanted)) };
    model.map(Arc::new).map_err(|error| unusable(&error))
}

fn unusable(error: &IndexError) -> Error {
    Error::read("open the index", std::io::Error::other(error.to_string()))
}
