//! The derived index: full text and vectors of passages, which can be deleted at any time.
//!
//! It knows files by the row of their memory in the journal, and how far it was built by a mark, the newest version in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

mod accessed;
mod lexical;
mod model;
mod vectors;

pub(crate) use accessed::Accessed;
pub(crate) use model::Model;

/// What is known of a memory beside its text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facts {
    /// Whether it is an entry; else a plain file, whose category is none.
    pub(crate) is_entry: bool,
    pub(crate) category: Option<String>,
    /// 1 to 5; 3 for a plain file.
    pub(crate) importance: u8,
    pub(crate) pinned: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) key: Option<String>,
    /// A hash of the folded content.
    pub(crate) fold: u64,
    /// Seconds since 1970: the last change of the content.
    pub(crate) updated: i64,
    /// Seconds since 1970 at which it ends.
    pub(crate) expires: Option<i64>,
}

/// A memory as it is to be found; without passages it is gone.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Doc {
    /// The row of the memory in the journal.
    pub(crate) memory: i64,
    pub(crate) facts: Facts,
    /// The texts of its passages, in order: their numbers are the ordinals of hits.
    pub(crate) passages: Vec<String>,
}

/// What must hold of a hit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Filter {
    /// One of these; empty: any, plain files too.
    pub(crate) categories: Vec<String>,
    /// All of these (case folded).
    pub(crate) tags: Vec<String>,
    pub(crate) key: Option<String>,
    pub(crate) fold: Option<u64>,
    pub(crate) min_importance: u8,
    /// Seconds since 1970: what expires at this moment or before is not found.
    pub(crate) now: i64,
    /// Seconds since 1970: changed at this moment or later.
    pub(crate) since: Option<i64>,
    pub(crate) entries_only: bool,
    /// Only these memories.
    pub(crate) memories: Option<Arc<HashSet<i64>>>,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    pub(crate) filter: &'a Filter,
    /// So many of the best of each kind come back.
    pub(crate) candidates: usize,
    pub(crate) lexical: bool,
    pub(crate) semantic: bool,
}

/// A passage that may answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hit {
    pub(crate) memory: i64,
    pub(crate) ordinal: u32,
    /// BM25; 0 where it is not among the best by words.
    pub(crate) lexical: f32,
    /// Cosine, of every hit; 0 without a semantic search.
    pub(crate) semantic: f32,
    pub(crate) importance: u8,
    pub(crate) pinned: bool,
    pub(crate) is_entry: bool,
    pub(crate) updated: i64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Hits {
    /// Of each passage at most one, in no order.
    pub(crate) hits: Vec<Hit>,
    /// The BM25 that a passage would have which holds every word of the query as often as counts.
    pub(crate) ideal: f32,
}

/// What one row tells without its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) memory: i64,
    pub(crate) importance: u8,
    pub(crate) pinned: bool,
    pub(crate) is_entry: bool,
    pub(crate) updated: i64,
    pub(crate) expires: Option<i64>,
}

/// What came of an attempt to write to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    /// Another process does it now.
    Busy,
}

/// An index that could not be read or written: it is derived, so that nothing is lost.
#[derive(Debug, thiserror::Error)]
#[error("the index: {0}")]
pub(crate) struct IndexError(String);

/// An open index.
pub(crate) struct Index {}

impl Index {
    /// Opens the index in a directory. What is not an index of this format and model counts as empty (mark 0), and is replaced
    /// by the next [`Index::update`].
    pub(crate) fn open(_dir: &Path, _model: Arc<Model>) -> Result<Self, IndexError> {
        todo!()
    }

    /// One that has no directory and nothing in it, for a [`Tail`] to be searched by itself.
    pub(crate) fn in_memory(_model: Arc<Model>) -> Self {
        todo!()
    }

    /// The newest version of the journal that is in it; 0 for an empty one.
    pub(crate) fn mark(&self) -> i64 {
        todo!()
    }

    /// As if it had just been made: what is on the disk is replaced by the next [`Index::update`].
    pub(crate) fn clear(&mut self) {
        todo!()
    }

    /// Looks at what others have committed since.
    pub(crate) fn refresh(&mut self) -> Result<(), IndexError> {
        todo!()
    }

    /// Puts memories in place of what is known of them, up to `mark`, as one step.
    pub(crate) fn update(
        &mut self,
        _mark: i64,
        _docs: &mut dyn Iterator<Item = Doc>,
    ) -> Result<Written, IndexError> {
        todo!()
    }

    /// Finds candidates; what the tail knows better is taken from there.
    pub(crate) fn search(&self, _tail: &Tail, _query: &Query<'_>) -> Result<Hits, IndexError> {
        todo!()
    }

    /// Calls `each` with every memory that meets a filter, in no order.
    pub(crate) fn each(
        &self,
        _tail: &Tail,
        _filter: &Filter,
        _each: &mut dyn FnMut(Seen),
    ) -> Result<(), IndexError> {
        todo!()
    }
}

/// What has changed since the index was built, in memory.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    docs: HashMap<i64, Doc>,
    order: BTreeMap<i64, i64>,
}

impl Tail {
    /// Puts a memory in place of what is known of it.
    pub(crate) fn put(&mut self, _index: &Index, _doc: Doc) {
        todo!()
    }

    pub(crate) fn len(&self) -> usize {
        self.docs.len()
    }

    pub(crate) fn into_docs(self) -> Vec<Doc> {
        self.docs.into_values().collect()
    }
}
