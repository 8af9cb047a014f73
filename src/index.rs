//! The derived index: full text and vectors of passages, which can be deleted at any time.
//!
//! It knows files by the row of their memory in the journal, and how far it was built by a mark, the newest version in it.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod accessed;
mod filter;
mod find;
mod lexical;
mod look;
mod manifest;
mod model;
mod place;
mod plain;
mod rows;
mod tail;
mod threads;
mod vectors;
mod view;
mod write;

pub(crate) use accessed::Accessed;
pub(crate) use look::{check_writable, look};
use manifest::Manifest;
pub(crate) use manifest::Mark;
pub(crate) use model::Model;
pub(crate) use tail::Tail;
use view::{Vectored, View};

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
    /// A number that contents have in common which may say the same.
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

impl Filter {
    /// All entries that have not expired by `now`, in seconds since 1970.
    pub(crate) fn entries(now: i64) -> Self {
        Self { entries_only: true, min_importance: 1, now, ..Self::default() }
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    pub(crate) filter: &'a Filter,
    /// So many of the best of each kind come back.
    pub(crate) candidates: usize,
    /// Of a text with more words the rarest so many count.
    pub(crate) words: usize,
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
    /// Nothing: the index is at another mark than the memories go on from, since another process brought it further, or it was
    /// removed or damaged. Ask for its mark.
    Lost,
}

/// An index that could not be read or written: it is derived, so that nothing is lost.
#[derive(Debug, thiserror::Error)]
#[error("the index: {0}")]
pub(crate) struct IndexError(String);

impl IndexError {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// What went wrong, where it is clear that the index is meant.
    pub(crate) fn why(&self) -> &str {
        &self.0
    }
}

impl From<std::io::Error> for IndexError {
    fn from(fault: std::io::Error) -> Self {
        Self(fault.to_string())
    }
}

impl From<tantivy::TantivyError> for IndexError {
    fn from(fault: tantivy::TantivyError) -> Self {
        Self(fault.to_string())
    }
}

impl From<tantivy::directory::error::OpenDirectoryError> for IndexError {
    fn from(fault: tantivy::directory::error::OpenDirectoryError) -> Self {
        Self(fault.to_string())
    }
}

/// Does what calls tantivy: it panics where a file tells nonsense. The message of the panic goes where the process sends such
/// messages, which cannot be changed for one call.
fn caught<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    // What a panic left half done is opened anew or not used.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(IndexError::new("its files tell nonsense")))
}

/// Attempts to open an index that changes while it is opened.
const ATTEMPTS: usize = 4;

/// So many rows may be dead without a reason to make the index anew.
const FEW_DEAD: usize = 10_000;

/// An open index.
pub(crate) struct Index {
    dir: PathBuf,
    model: Arc<Model>,
    vectored: Vectored,
    view: Option<View>,
}

impl Index {
    /// Opens the index in a directory. What is not an index of this format and model counts as empty (mark 0), and is replaced
    /// by the next [`Index::update`].
    pub(crate) fn open(dir: &Path, model: Arc<Model>) -> Result<Self, IndexError> {
        Self::open_as(dir, model, Vectored::ByModel)
    }

    /// The same, but in an index that another model made words are found, until it is made anew.
    pub(crate) fn open_for_words(dir: &Path, model: Arc<Model>) -> Result<Self, IndexError> {
        Self::open_as(dir, model, Vectored::ByAny)
    }

    fn open_as(dir: &Path, model: Arc<Model>, vectored: Vectored) -> Result<Self, IndexError> {
        let mut index = Self { dir: dir.to_path_buf(), model, vectored, view: None };
        index.refresh()?;
        Ok(index)
    }

    /// One that has no directory and nothing in it, for a [`Tail`] to be searched by itself.
    pub(crate) fn in_memory(model: Arc<Model>) -> Self {
        Self { dir: PathBuf::new(), model, vectored: Vectored::ByModel, view: None }
    }

    /// The newest version of the journal that is in it; 0 for an empty one.
    #[allow(dead_code, reason = "for tests and benches, which have no chain")]
    pub(crate) fn mark(&self) -> i64 {
        self.seal().version
    }

    /// How far it goes, and in which journal.
    pub(crate) fn seal(&self) -> Mark {
        self.view.as_ref().map_or_else(Mark::default, |view| view.manifest.mark)
    }

    /// Whether it has the vectors of its model.
    pub(crate) fn has_meaning(&self) -> bool {
        self.view.as_ref().is_none_or(|view| view.vectors.is_some())
    }

    /// How many passages count, whatever the tail says of them.
    pub(crate) fn living(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.manifest.rows - view.manifest.dead)
    }

    /// As if there were nothing on the disk: the next thing to do is [`Index::rebuild`].
    pub(crate) fn clear(&mut self) {
        self.view = None;
    }

    /// Looks at what others have committed since. The mark may be lower afterwards, when the index was removed or damaged: a
    /// tail from before is of no use then.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "what is damaged counts as empty; a reader need not rely on it"
    )]
    pub(crate) fn refresh(&mut self) -> Result<(), IndexError> {
        let is_same = |view: &View| place::current(&self.dir).is_some_and(|name| name == view.generation);
        self.view = match self.view.take().filter(is_same) {
            Some(mut view) => caught(|| view.refresh()).is_ok().then_some(view),
            None => None,
        };
        // A commit by another process in between takes files away from one that opens the commit before.
        for _ in 0..ATTEMPTS {
            if self.view.is_some() || place::current(&self.dir).is_none() {
                break;
            }
            self.view = caught(|| View::open(&self.dir, &self.model, self.vectored)).ok();
        }
        Ok(())
    }

    /// Puts memories in place of what is known of them, as one step: they are those that changed after `base` and up to `mark`.
    /// An index that is not exactly at `base` (0 for an empty one) would lack what changed in between: it is left as it is.
    pub(crate) fn update(
        &mut self,
        base: impl Into<Mark>,
        mark: impl Into<Mark>,
        docs: &mut dyn Iterator<Item = Doc>,
    ) -> Result<Written, IndexError> {
        let Some(_lock) = place::lock(&self.dir)? else { return Ok(Written::Busy) };
        self.refresh()?;
        if self.seal() != base.into() || !self.has_meaning() {
            return Ok(Written::Lost);
        }
        write::write(&self.dir, &self.model, self.view.as_ref(), mark.into(), docs)?;
        self.refresh()?;
        Ok(Written::Done)
    }

    /// Whether somebody writes to it now.
    pub(crate) fn is_busy(&self) -> bool {
        plain::is_directory(&self.dir) && place::lock(&self.dir).is_ok_and(|lock| lock.is_none())
    }

    /// Whether so much in it is dead that it is worth while to make it anew.
    pub(crate) fn wants_rebuild(&self) -> bool {
        self.view.as_ref().is_some_and(|view| {
            let Manifest { rows, dead, .. } = view.manifest;
            dead > FEW_DEAD && dead > rows - dead
        })
    }

    /// Makes the index anew from all memories, up to `mark`. Until it is complete, everybody reads the one that is there.
    pub(crate) fn rebuild(
        &mut self,
        mark: impl Into<Mark>,
        docs: &mut dyn Iterator<Item = Doc>,
    ) -> Result<Written, IndexError> {
        let mark = mark.into();
        let Some(_lock) = place::lock(&self.dir)? else { return Ok(Written::Busy) };
        write::write(&self.dir, &self.model, None, mark, docs)?;
        self.refresh()?;
        Ok(Written::Done)
    }

    /// Finds candidates; what the tail knows better is taken from there.
    pub(crate) fn search(&self, tail: &Tail, query: &Query<'_>) -> Result<Hits, IndexError> {
        caught(|| find::search(self, tail, query))
    }

    /// Calls `each` with every memory that meets a filter, in no order.
    pub(crate) fn each(
        &self,
        tail: &Tail,
        filter: &Filter,
        each: &mut dyn FnMut(Seen),
    ) -> Result<(), IndexError> {
        caught(|| find::each(self, tail, filter, each))
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    fn state(&self) -> Option<tail::State> {
        self.view.as_ref().map(|view| (view.generation.clone(), view.manifest.serial))
    }

    fn rows_of(&self, memory: i64) -> Vec<u32> {
        self.view.as_ref().map_or_else(Vec::new, |view| view.rows_of(memory))
    }

    fn rows_where(&self, test: impl Fn(u32) -> bool) -> Vec<u32> {
        let Some(view) = &self.view else { return Vec::new() };
        let found = view.rows.memory.iter().zip(0_u32..).filter(|&(&memory, _)| test(memory));
        found.map(|(_, row)| row).filter(|&row| !view.dead.has(row as usize)).collect()
    }
}

#[cfg(test)]
mod tests;
