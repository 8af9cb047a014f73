//! `memory_retrieve`: the memories that answer a question, best first; and exact look-ups.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::passages::Span;
use super::rank::{self, Scored};
use super::record::{Record, Times};
use super::{DateTime, Error, MemoryId, MemoryPath, Recall, Result, Utc, lock};
use crate::index::{Filter, Query, Seen};
use crate::store::{Found, History};
use crate::text::Bytes;
use crate::version::{Operation, Version};

mod past;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The question; empty: the newest and most important.
    pub query: String,
    /// One of these categories; empty: any, and plain files.
    pub categories: Vec<String>,
    /// At most so many.
    pub limit: usize,
    /// At least so important (a plain file: 3).
    pub min_importance: u8,
    /// All of these tags.
    pub tags: Vec<String>,
    /// The entries with this key.
    pub key: Option<String>,
    /// At or below this path.
    pub path_prefix: Option<MemoryPath>,
    /// Changed at this moment or later.
    pub since: Option<DateTime<Utc>>,
    /// The memory as it was then.
    pub as_of: Option<DateTime<Utc>>,
    /// Whether the files are looked at for changes by others first.
    pub scan: bool,
    /// Whether passages are found by their words.
    pub lexical: bool,
    /// Whether passages are found by their meaning.
    pub semantic: bool,
    /// Answers that score less do not come back; `None`: the settings say it.
    pub min_score: Option<f32>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            query: String::new(),
            categories: Vec::new(),
            limit: 10,
            min_importance: 1,
            tags: Vec::new(),
            key: None,
            path_prefix: None,
            since: None,
            as_of: None,
            scan: true,
            lexical: true,
            semantic: true,
            min_score: None,
        }
    }
}

/// A memory that answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// The passage; an entry that is short, as a whole, without front matter.
    pub content: String,
    /// Of an entry.
    pub category: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Of an entry: 1 to 5.
    pub importance: Option<u8>,
    /// 0 to 1: how well it answers; comparable between questions.
    pub score: f32,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// Its key.
    pub key: Option<String>,
    /// Whether it neither ages nor is pruned.
    pub pinned: bool,
    /// Its file.
    pub path: MemoryPath,
    /// The first and the last line of the passage in the file, from 1.
    pub lines: (usize, usize),
    /// How the score came about.
    pub terms: Terms,
}

/// How a score came about: (relevance + neighbours) × importance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Terms {
    /// By words: 1 has every word of the question once.
    pub lexical: f32,
    /// By meaning: 0 is unrelated, 1 the same.
    pub semantic: f32,
    /// Both together, half and half.
    pub relevance: f32,
    /// What the passages beside it added.
    pub neighbours: f32,
    /// The multiplier of effective importance.
    pub importance: f32,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Retrieved {
    /// Best first.
    pub memories: Vec<Memory>,
}

/// As many candidates of each kind are looked at, or so many times what is asked for.
const CANDIDATES: usize = 100;
const CANDIDATES_PER_ANSWER: usize = 4;
const MOST_CANDIDATES: usize = 20_000;
/// Of a longer question the rarest words count.
const WORDS: usize = 64;
/// So soon after a look at the files an entry is stored without another one.
const OFTEN_ENOUGH: Duration = Duration::from_secs(1);
/// What scores less answers nothing: chosen on the set of questions in `fixtures/retrieval`.
pub(super) const MIN_SCORE: f32 = 0.1;

impl Recall {
    /// Finds memories.
    ///
    /// # Errors
    /// [`Error::Field`], else what the store says.
    pub fn retrieve(&self, ask: &Ask) -> Result<Retrieved> {
        if ask.query.trim().is_empty() {
            return self.newest(ask);
        }
        self.found(ask, |found| {
            let scored = found.ranked(ask)?;
            // Who names a key means it.
            let least = if ask.key.is_some() { Some(0.0) } else { ask.min_score };
            let least = least.unwrap_or_else(|| found.recall.min_score());
            found.answers(scored.into_iter().take_while(|one| one.score >= least), ask.limit)
        })
    }

    /// The memories that meet the filters of `ask`, without ranking: newest first. Its query is not looked at.
    ///
    /// # Errors
    /// As [`Recall::retrieve`].
    pub fn list(&self, ask: &Ask) -> Result<Retrieved> {
        self.ordered(ask, |seen, _| Some((0.0, seen.updated)))
    }

    /// What is pinned, the most important first.
    pub(super) fn pinned(&self, ask: &Ask) -> Result<Vec<Memory>> {
        let found =
            self.ordered(ask, |seen, _| seen.pinned.then(|| (f32::from(seen.importance), seen.updated)))?;
        Ok(found.memories)
    }

    /// What is newest and most important: by effective importance.
    fn newest(&self, ask: &Ask) -> Result<Retrieved> {
        let half_life = self.half_life_days();
        self.ordered(ask, move |seen, now| {
            let raw = seen.importance;
            Some((rank::effective(raw, seen.pinned, seen.updated, now, half_life), seen.updated))
        })
    }

    /// One memory by its id: an entry, or a plain file as a whole.
    ///
    /// # Errors
    /// [`Error::NoMemory`], else what the store says.
    pub fn get(&self, id: MemoryId) -> Result<Memory> {
        self.look_around(true)?;
        let history = self.store.history()?;
        let version = history.memory(id)?.filter(|version| version.operation != Operation::Deleted);
        let memory = version.and_then(|version| self.whole(&version).transpose()).transpose()?;
        memory.ok_or(Error::NoMemory { id })
    }

    fn whole(&self, version: &Version) -> Result<Option<Memory>> {
        let Some(path) = &version.path else { return Ok(None) };
        let Found::File(bytes) = self.store.read(path)? else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
        let record = Record::read(text, path, Times::of(version), &self.store.settings().entries.categories);
        let content = record.content(text).to_owned();
        let lines = record.lines(text);
        Ok(Some(memory(version.memory_id, path.clone(), record, content, lines)))
    }

    /// What meets the filters, by the largest of what `order` gives (a score, then a time); without that it is left out.
    fn ordered(&self, ask: &Ask, order: impl Fn(&Seen, i64) -> Option<(f32, i64)>) -> Result<Retrieved> {
        self.found(ask, |found| {
            let now = found.filter.now;
            let all = found.catalog.all(&found.recall.store, &found.history, &found.filter)?;
            let placed = all.iter().filter_map(|one| order(one, now).map(|by| (by, one.memory)));
            let mut seen: Vec<_> = placed.collect();
            seen.sort_by(|((a, at), x), ((b, bt), y)| b.total_cmp(a).then(bt.cmp(at)).then(y.cmp(x)));
            let mut memories = Vec::new();
            for ((score, _), row) in seen {
                if memories.len() >= ask.limit {
                    break;
                }
                let Some(text) = found.text(row)? else { continue };
                let content = text.record.content(&text.whole).to_owned();
                let lines = text.record.lines(&text.whole);
                let mut memory = memory(text.id, text.path.clone(), text.record.clone(), content, lines);
                memory.score = (score / rank::MOST_IMPORTANT).clamp(0.0, 1.0);
                memories.push(memory);
            }
            Ok(Retrieved { memories })
        })
    }

    /// Does something with what is known now, or was at the moment that is asked about.
    fn found(&self, ask: &Ask, work: impl FnOnce(&mut Finder<'_>) -> Result<Retrieved>) -> Result<Retrieved> {
        if let Some(moment) = ask.as_of {
            let (mut catalog, history, contents) = past::catalog(&self.store, moment)?;
            let now = moment.min(self.store.now());
            let mut filter = Self::filter(&Ask { path_prefix: None, ..ask.clone() }, &history, now)?;
            if let Some(prefix) = &ask.path_prefix {
                let is_there = |path: &MemoryPath| path == prefix || path.is_below(prefix);
                let then =
                    contents.iter().filter(|(_, (version, _))| version.path.as_ref().is_some_and(is_there));
                filter.memories = Some(Arc::new(then.map(|(&row, _)| row).collect()));
            }
            let past = Some(contents);
            return work(&mut Finder {
                recall: self,
                catalog: &mut catalog,
                history,
                filter,
                past,
                read: HashMap::new(),
            });
        }
        self.look_around(ask.scan)?;
        let mut catalog = lock(&self.catalog);
        let history = catalog.catch_up(&self.store)?;
        let filter = Self::filter(ask, &history, self.store.now())?;
        work(&mut Finder {
            recall: self,
            catalog: &mut catalog,
            history,
            filter,
            past: None,
            read: HashMap::new(),
        })
    }

    fn filter(ask: &Ask, history: &History, now: DateTime<Utc>) -> Result<Filter> {
        let memories = match &ask.path_prefix {
            Some(path) if !path.is_root() => {
                let mut rows = HashSet::new();
                history.live_below(path, &mut |row| {
                    rows.insert(row);
                    Ok(())
                })?;
                Some(Arc::new(rows))
            }
            _ => None,
        };
        Ok(Filter {
            categories: ask.categories.clone(),
            tags: ask.tags.clone(),
            key: ask.key.clone(),
            fold: None,
            min_importance: ask.min_importance,
            now: now.timestamp(),
            since: ask.since.map(|since| since.timestamp()),
            entries_only: false,
            memories,
        })
    }

    /// Before an entry is stored the files are looked at where that costs little: the first time, and now and then while they
    /// are watched.
    pub(super) fn look_before_storing(&self) -> Result<()> {
        let last = lock(&self.looks).last;
        let is_due = last.is_none_or(|last| self.is_watching && last.elapsed() >= OFTEN_ENOUGH);
        self.look_around(is_due)
    }

    /// Takes in what others did to the files; where that cannot be written down, what is known is used.
    pub(super) fn look_around(&self, scan: bool) -> Result<()> {
        if !scan {
            return Ok(());
        }
        let count = {
            let mut looks = lock(&self.looks);
            looks.last = Some(Instant::now());
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

    #[allow(clippy::cast_possible_truncation, reason = "0 to 1")]
    fn min_score(&self) -> f32 {
        self.store.settings().search.min_score.map_or(MIN_SCORE, |least| least as f32)
    }

    pub(super) fn half_life_days(&self) -> f32 {
        self.store.settings().entries.half_life.as_secs_f32() / 86_400.0
    }
}

/// One question being answered.
struct Finder<'a> {
    recall: &'a Recall,
    catalog: &'a mut super::Catalog,
    history: History,
    filter: Filter,
    /// Versions and contents by the rows of their memories, where the past is asked about.
    past: Option<past::Contents>,
    read: HashMap<i64, Option<Rc<Text>>>,
}

/// A file that holds an answer.
struct Text {
    id: MemoryId,
    path: MemoryPath,
    whole: String,
    passages: Vec<Span>,
    record: Record,
}

impl Finder<'_> {
    /// The candidates, best first. Of an entry only one passage counts, so that more are asked for while few entries have most
    /// of them.
    fn ranked(&mut self, ask: &Ask) -> Result<Vec<Scored>> {
        let mut candidates = CANDIDATES.max(ask.limit.saturating_mul(CANDIDATES_PER_ANSWER));
        loop {
            let scored = self.candidates(ask, candidates)?;
            let mut answers = HashSet::new();
            answers.extend(
                scored.iter().map(|one| (one.hit.memory, if one.hit.is_entry { 0 } else { one.hit.ordinal })),
            );
            if answers.len() >= ask.limit || scored.len() < candidates || candidates >= MOST_CANDIDATES {
                return Ok(scored);
            }
            candidates *= 4;
        }
    }

    fn candidates(&mut self, ask: &Ask, candidates: usize) -> Result<Vec<Scored>> {
        let query = Query {
            text: &ask.query,
            filter: &self.filter,
            candidates,
            words: WORDS,
            lexical: ask.lexical,
            semantic: ask.semantic,
        };
        let hits = self.catalog.search(&self.recall.store, &self.history, &query)?;
        let words = match (ask.lexical, ask.semantic) {
            (true, false) => 1.0,
            (false, true) => 0.0,
            _ => rank::WORDS,
        };
        Ok(rank::rank(hits, words, self.filter.now, self.recall.half_life_days()))
    }

    /// The passages of the best, an entry only once.
    fn answers(&mut self, scored: impl Iterator<Item = Scored>, limit: usize) -> Result<Retrieved> {
        let mut memories: Vec<Memory> = Vec::new();
        let (mut entries, mut rows) = (HashSet::new(), Vec::new());
        for one in scored {
            if memories.len() >= limit {
                break;
            }
            if one.hit.is_entry && !entries.insert(one.hit.memory) {
                continue;
            }
            let Some(text) = self.text(one.hit.memory)? else { continue };
            let Some(span) = text.passages.get(one.hit.ordinal as usize) else { continue };
            let content = text.whole[span.start..span.end].to_owned();
            let lines = (span.first, span.last);
            let mut memory = memory(text.id, text.path.clone(), text.record.clone(), content, lines);
            memory.score = one.score;
            memory.terms = Terms {
                lexical: one.lexical,
                semantic: one.semantic,
                relevance: one.relevance,
                neighbours: one.neighbours,
                importance: one.importance,
            };
            memories.push(memory);
            rows.push(one.hit.memory);
        }
        self.recall.note_accessed(&rows, self.filter.now);
        Ok(Retrieved { memories })
    }

    /// The file of a memory, read once; `None` where it is gone, or has expired by now.
    fn text(&mut self, row: i64) -> Result<Option<Rc<Text>>> {
        if let Some(text) = self.read.get(&row) {
            return Ok(text.clone());
        }
        let text = self.open(row)?.map(Rc::new);
        self.read.insert(row, text.clone());
        Ok(text)
    }

    /// The newest version of a memory that lives, and what its file holds.
    fn now(&self, row: i64) -> Result<Option<(Version, Bytes)>> {
        let version = self.history.of_row(row)?.filter(|version| version.operation != Operation::Deleted);
        let Some(version) = version else { return Ok(None) };
        let Some(path) = &version.path else { return Ok(None) };
        match self.recall.store.read(path)? {
            Found::File(bytes) => Ok(Some((version, bytes))),
            Found::Not(_) => Ok(None),
        }
    }

    fn open(&self, row: i64) -> Result<Option<Text>> {
        let found = if let Some(past) = &self.past {
            past.get(&row).map(|(version, bytes)| (version.clone(), Arc::clone(bytes)))
        } else {
            self.now(row)?
        };
        let Some((version, bytes)) = found else { return Ok(None) };
        let (Some(path), Ok(text)) = (&version.path, std::str::from_utf8(&bytes)) else { return Ok(None) };
        let categories = &self.recall.store.settings().entries.categories;
        let record = Record::read(text, path, Times::of(&version), categories);
        let now = DateTime::from_timestamp(self.filter.now, 0).unwrap_or_default();
        if record.is_expired(now) {
            return Ok(None);
        }
        let passages = record.passages(text);
        Ok(Some(Text { id: version.memory_id, path: path.clone(), whole: text.to_owned(), passages, record }))
    }
}

fn memory(id: MemoryId, path: MemoryPath, record: Record, content: String, lines: (usize, usize)) -> Memory {
    Memory {
        id,
        content,
        category: record.category,
        tags: record.tags,
        importance: record.importance,
        score: 0.0,
        created_at: record.created,
        updated_at: record.updated,
        expires_at: record.expires,
        key: record.key,
        pinned: record.pinned,
        path,
        lines,
        terms: Terms::default(),
    }
}

/// The rows that a search would look at, for prune and prefetch.
pub(super) fn all_entries(now: DateTime<Utc>) -> Filter {
    Filter { entries_only: true, min_importance: 1, now: now.timestamp(), ..Filter::default() }
}
