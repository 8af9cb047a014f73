//! What is known of a store's memories: the index, and what has changed since it was built.
//!
//! Nothing is written to the index when a memory is: who asks reads in the journal what is new. A few changes are kept in
//! memory (the tail); when they are many, the index is caught up, by one process at a time.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Tell, record};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::index::{Doc, Filter, Hits, Index, IndexError, Mark, Model, Query, Seen, Tail, Written};
use crate::journal::Reach;
use crate::store::{History, Progress, Store};

/// So many changed memories are kept in memory before a question catches the index up.
pub(super) const LONG: usize = if cfg!(test) { 16 } else { 256 };
/// So many are before storing does: a thousand are passed over in the time of a sync, while the files of an index make it wait.
pub(super) const LONG_TO_STORE: usize = 4 * LONG;

/// So many memories, or bytes of them, go to the index at once.
const MOST_DOCS: usize = 50_000;
const MOST_BYTES: usize = 64 << 20;
/// What is done about an index of another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuild {
    /// It is made anew, however long that takes.
    Now,
    /// Its words are enough.
    Never,
    /// It is made anew on the disk, with all that is new, unless another process does that.
    OnDisk,
}

/// What came of building.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    Whole,
    /// Another process builds.
    Busy,
    /// The disk takes nothing, or gives nothing.
    Failed,
}

/// The index of a store and its tail, as far as this process has looked.
#[derive(Default)]
pub(super) struct Catalog {
    open: Option<Open>,
}

struct Open {
    index: Index,
    /// The mark of the index.
    base: Mark,
    tail: Tail,
    /// The newest version that is in index or tail, and the journal's chain there.
    mark: Mark,
    place: Place,
    /// Whether what is on the disk is to be replaced as a whole.
    is_anew: bool,
    /// Why it could not be written.
    trouble: String,
}

/// Where what has changed goes when it is much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Into the index on the disk.
    Disk,
    /// There it could not be written.
    Lost,
    /// Nowhere: the disk takes nothing.
    Memory,
}

impl Catalog {
    /// Brings what is known up to what the journal holds now; returns the history that it is of. At most so many changed memories
    /// stay out of the index.
    pub(super) fn catch_up(
        &mut self,
        store: &Store,
        rebuild: Rebuild,
        most: usize,
        progress: Option<&Tell>,
    ) -> Result<History> {
        let history = store.history()?;
        // A redaction that comes meanwhile waits until nothing of what was read before can be written any more.
        history.freeze()?;
        let open = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(Open::new(store, rebuild)?),
        };
        if rebuild == Rebuild::OnDisk && open.index.wants_rebuild() {
            open.clear();
        }
        let reader = Reader { store, history: &history, rebuild, most, progress };
        if reader.read(open)?.is_break() {
            // It is of another history.
            open.clear();
            let _ = reader.read(open)?;
        }
        if open.place == Place::Lost {
            // Its directory is gone, as after a redaction: it is made anew.
            *open = Open::new(store, rebuild)?;
            let _ = reader.read(open)?;
            if open.place == Place::Lost {
                open.place = Place::Memory;
                store.warn(&Error::Index { why: std::mem::take(&mut open.trouble) });
            }
        }
        Ok(history)
    }

    /// Of these memories alone, in memory.
    pub(super) fn of(store: &Store, docs: Vec<Doc>) -> Result<Self> {
        let index = Index::in_memory(model(store)?);
        let mut tail = Tail::default();
        for doc in docs {
            tail.put(&index, doc);
        }
        Ok(Self {
            open: Some(Open {
                index,
                base: Mark::default(),
                tail,
                mark: Mark::default(),
                place: Place::Memory,
                is_anew: false,
                trouble: String::new(),
            }),
        })
    }

    /// Finds candidates in what was caught up with, `history` being what that returned.
    pub(super) fn search(&mut self, store: &Store, history: &History, query: &Query<'_>) -> Result<Hits> {
        self.ask(store, history, |open| open.index.search(&open.tail, query))
    }

    /// What meets a filter, in no order.
    pub(super) fn all(&mut self, store: &Store, history: &History, filter: &Filter) -> Result<Vec<Seen>> {
        self.ask(store, history, |open| {
            let mut all = Vec::new();
            open.index.each(&open.tail, filter, &mut |seen| all.push(seen))?;
            Ok(all)
        })
    }

    /// Asks; an index that cannot be read is made anew.
    fn ask<T: Default>(
        &mut self,
        store: &Store,
        history: &History,
        ask: impl Fn(&Open) -> Result<T, IndexError>,
    ) -> Result<T> {
        let Some(open) = &mut self.open else { return Ok(T::default()) };
        if let Ok(answer) = ask(open) {
            return Ok(answer);
        }
        open.clear();
        let _ = Reader { store, history, rebuild: Rebuild::Never, most: LONG, progress: None }.read(open)?;
        ask(open).map_err(|error| Error::read("search the index", std::io::Error::other(error.to_string())))
    }

    /// Makes the index on the disk anew if it is of another model, and catches it up.
    pub(super) fn build(store: &Store) -> Built {
        let mut catalog = Self::default();
        match Open::new(store, Rebuild::OnDisk) {
            Ok(open) if open.index.is_busy() => return Built::Busy,
            Ok(open) => catalog.open = Some(open),
            // Whoever asks is told.
            Err(_) => return Built::Failed,
        }
        match (catalog.catch_up(store, Rebuild::OnDisk, 0, None), &catalog.open) {
            (Ok(_), Some(open)) if open.place == Place::Disk && open.base == open.mark => Built::Whole,
            (Ok(_), Some(open)) if open.place == Place::Disk => Built::Busy,
            (Ok(_), _) => Built::Failed,
            (Err(error), _) => {
                store.warn(&error);
                Built::Failed
            }
        }
    }

    /// Whether the index is to be made anew, for what the model of the settings means.
    pub(super) fn wants_building(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.index.has_meaning() || open.index.wants_rebuild())
    }

    /// Whether passages are found by meaning, not by words alone.
    pub(super) fn has_meaning(&self) -> bool {
        self.open.as_ref().is_none_or(|open| open.index.has_meaning())
    }

    /// The newest version that it knows.
    pub(super) fn mark(&self) -> i64 {
        self.open.as_ref().map_or(0, |open| open.mark.version)
    }

    /// The model that it is by.
    pub(super) fn model(&self) -> Option<&Arc<Model>> {
        self.open.as_ref().map(|open| open.index.model())
    }

    /// No more entries than this are known, told without counting them.
    pub(super) fn most_entries(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.index.living() + open.tail.len())
    }
}

impl Open {
    fn new(store: &Store, rebuild: Rebuild) -> Result<Self> {
        let (dir, model) = (store.index_dir(), model(store)?);
        let index = match rebuild {
            Rebuild::Now | Rebuild::OnDisk => Index::open(&dir, model),
            Rebuild::Never => Index::open_for_words(&dir, model),
        };
        let index = index.map_err(|error| unusable(&error))?;
        Ok(Self {
            base: index.seal(),
            mark: index.seal(),
            index,
            tail: Tail::default(),
            place: Place::Disk,
            is_anew: false,
            trouble: String::new(),
        })
    }

    /// As if nothing had ever been read.
    fn clear(&mut self) {
        self.index.clear();
        self.tail = Tail::default();
        (self.base, self.mark) = (Mark::default(), Mark::default());
        self.is_anew = true;
    }

    /// Goes on from where the index is now: further, by another process, or back at nothing, when it was removed or damaged.
    fn adopt(&mut self) {
        self.tail = Tail::default();
        (self.base, self.mark) = (self.index.seal(), self.index.seal());
        self.is_anew = false;
        self.place = Place::Disk;
    }

    /// Keeps what has changed in memory, and why it is not on the disk.
    fn lose(&mut self, why: &str, docs: Vec<Doc>, mark: Mark) {
        self.place = Place::Lost;
        why.clone_into(&mut self.trouble);
        self.keep(docs, mark);
    }

    /// Keeps what has changed in memory.
    fn keep(&mut self, docs: Vec<Doc>, mark: Mark) {
        for doc in docs {
            self.tail.put(&self.index, doc);
        }
        self.mark = mark;
    }
}

/// Reads what is new in a history.
struct Reader<'a> {
    store: &'a Store,
    history: &'a History,
    rebuild: Rebuild,
    /// So many changed memories stay in memory.
    most: usize,
    progress: Option<&'a Tell>,
}

impl Reader<'_> {
    /// Breaks off where what is new cannot be told.
    fn read(&self, open: &mut Open) -> Result<ControlFlow<()>> {
        let categories = &self.store.settings().entries.categories;
        let newest = self.end()?;
        loop {
            // A journal may have been put in the place of another, whose rows are other versions.
            let is_ours = if open.mark.version == newest.version {
                open.mark == newest || newest.version == 0
            } else {
                open.mark.version == 0 || chain_at(self.history, open.mark.version)? == Some(open.mark.chain)
            };
            if !is_ours {
                return Ok(ControlFlow::Break(()));
            }
            if open.mark.version == newest.version {
                if open.tail.len() > self.most {
                    // Who stored left that to who asks.
                    self.take(open, Vec::new(), newest, newest);
                }
                // What another process has written may not go as far.
                if open.mark.version == newest.version {
                    return Ok(ControlFlow::Continue(()));
                }
                continue;
            }
            let (mut docs, mut bytes, mut last) = (Vec::new(), 0, open.mark.version);
            let mut is_all = true;
            let reach = self.history.heads_since(open.mark.version, &mut |version, content| {
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
                Reach::Whole => {
                    let mark = if is_all {
                        newest
                    } else {
                        Mark { version: last, chain: chain_at(self.history, last)?.unwrap_or_default() }
                    };
                    self.take(open, docs, mark, newest);
                }
            }
        }
    }

    /// Tells how many versions the index has, while it takes in those from one mark to another.
    fn tell(&self, from: Mark, to: Mark, newest: Mark, (done, all): (u64, usize)) {
        let Some(tell) = self.progress else { return };
        let versions = |mark: Mark| u64::try_from(mark.version).unwrap_or_default();
        let taken = versions(to).saturating_sub(versions(from)).saturating_mul(done) / all.max(1) as u64;
        tell(Progress {
            done: versions(from) + taken,
            total: Some(versions(newest)),
            what: "versions into the index",
        });
    }

    /// The mark of all there is: the history is frozen, so that it stays.
    fn end(&self) -> Result<Mark> {
        let (version, chain) = self.history.end()?;
        Ok(Mark { version, chain: part(chain) })
    }

    /// Takes changed memories in, into the index where they are many.
    fn take(&self, open: &mut Open, docs: Vec<Doc>, mark: Mark, newest: Mark) {
        let is_few = docs.len() + open.tail.len() <= self.most && self.rebuild != Rebuild::OnDisk;
        if is_few || !open.index.has_meaning() {
            return open.keep(docs, mark);
        }
        // Who cannot write reads what others have written.
        if !open.is_anew && open.index.refresh().is_ok() && open.index.seal() != open.base {
            return open.adopt();
        }
        if open.place == Place::Memory {
            return open.keep(docs, mark);
        }
        // What comes later counts.
        let docs: Vec<Doc> = std::mem::take(&mut open.tail).into_docs().into_iter().chain(docs).collect();
        let base = open.base;
        let mut told = (0..).zip(&docs).map(|(done, doc)| {
            self.tell(base, mark, newest, (done, docs.len()));
            doc.clone()
        });
        let written = match self.store.make_index_dir() {
            Ok(_) if open.is_anew => open.index.rebuild(mark, &mut told),
            Ok(_) => open.index.update(base, mark, &mut told),
            Err(error) => {
                let why = match error {
                    Error::Write { why, .. } => why.to_string(),
                    error => error.to_string(),
                };
                if self.rebuild == Rebuild::OnDisk {
                    self.store.warn(&Error::Index { why });
                    open.place = Place::Memory;
                    return;
                }
                Err(IndexError::new(why))
            }
        };
        match written {
            Ok(Written::Done) if self.rebuild == Rebuild::Now && open.index.wants_rebuild() => open.clear(),
            Ok(Written::Done) if open.index.seal() == mark => open.adopt(),
            // While somebody else does it all is kept in memory.
            Ok(Written::Busy) => open.keep(docs, mark),
            Ok(Written::Lost) => open.adopt(),
            // It cannot be written, or not be read afterwards.
            Ok(Written::Done) => open.lose("it cannot be read", docs, mark),
            Err(error) => open.lose(error.why(), docs, mark),
        }
    }
}

/// A part of the chain at a version; `None` where that is gone.
pub(super) fn chain_at(history: &History, version: i64) -> Result<Option<u64>> {
    Ok(history.chain_at(version)?.map(part))
}

/// As much of a chain's hash as a mark holds.
fn part(chain: Hash) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|at| chain.0[at]))
}

/// The model of the settings, or the one in the program.
pub(super) fn model(store: &Store) -> Result<Arc<Model>> {
    let model = match &store.settings().search.model {
        None => Model::builtin().map_err(|error| unusable(&error)),
        Some(name) => Model::load(&store.path_beside(name)).map_err(|error| Error::Settings {
            problem: format!("`[search] model = \"{name}\"` cannot be used: {}", error.why()),
        }),
    };
    model.map(Arc::new)
}

fn unusable(error: &IndexError) -> Error {
    Error::read("open the index", std::io::Error::other(error.to_string()))
}
