//! `memory_retrieve`: the memories that answer a question, best first; and exact look-ups.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::{DateTime, Error, MemoryId, MemoryPath, Recall, Result, Utc, rank};
use crate::index::{Filter, Seen};
use crate::store::{Found, History};
use crate::version::Version;

mod finder;
mod past;

use finder::{Finder, Text};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The question; empty, or nothing but punctuation (`???`, `*`): the newest and most important.
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
    /// Answers that score less do not come back; `None`: the settings say it, but with a key or tags all may.
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
    /// Both together, half and half; words alone where the model does not know the script of the question.
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

/// What scores less answers nothing: chosen on the set of questions in `fixtures/retrieval`. A larger one, or a score that is lowered
/// where a question says little, rejects more of what has nothing to do with a question, but takes plain questions to a store of few
/// memories along: a word that one of three has is not rare.
const MIN_SCORE: f32 = 0.1;

impl Recall {
    /// Finds memories.
    ///
    /// # Errors
    /// [`Error::Field`], else what the store says.
    pub fn retrieve(&self, ask: &Ask) -> Result<Retrieved> {
        if asks_nothing(&ask.query) {
            return self.newest(ask);
        }
        // Who names a key or a tag means it, and need not say it again.
        let is_named = ask.key.is_some() || !ask.tags.is_empty();
        let usual = || if is_named { 0.0 } else { self.min_score() };
        let least = ask.min_score.unwrap_or_else(usual);
        let mut retrieved = self.found(ask, |found| {
            let scored = found.ranked(ask)?;
            let answers = scored.into_iter().take_while(|one| one.score >= least);
            Ok(Retrieved { memories: found.answers(answers, ask.limit)? })
        })?;
        if is_named && least <= 0.0 && retrieved.memories.is_empty() {
            // The question has no word that a text may have, and no meaning.
            retrieved = self.newest(ask)?;
            retrieved.memories.iter_mut().for_each(|memory| memory.score = 0.0);
        }
        Ok(retrieved)
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
        self.look_around()?;
        let version = self.store.history()?.memory(id)?.ok_or(Error::NoMemory { id })?;
        self.text(&version)?.map(|text| text.memory()).ok_or(Error::NoMemory { id })
    }

    /// What the file of a memory holds, `version` being its newest one.
    fn text(&self, version: &Version) -> Result<Option<Text>> {
        let Some(path) = version.place() else { return Ok(None) };
        let Found::File(bytes) = self.store.read(path)? else { return Ok(None) };
        Ok(Text::of(version, &bytes, &self.store.settings().entries.categories))
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
                let mut memory = text.memory();
                memory.score = (score / rank::MOST_IMPORTANT).clamp(0.0, 1.0);
                memories.push(memory);
            }
            Ok(Retrieved { memories })
        })
    }

    /// Does something with what is known now, or was at the moment that is asked about.
    fn found(&self, ask: &Ask, work: impl FnOnce(&mut Finder<'_>) -> Result<Retrieved>) -> Result<Retrieved> {
        let (mut then, mut now);
        let (catalog, history, filter, past) = if let Some(moment) = ask.as_of {
            let (catalog, history, contents) = past::catalog(&self.store, moment)?;
            then = catalog;
            let filter = Self::filter_then(ask, &history, &contents, moment.min(self.store.now()))?;
            (&mut then, history, filter, Some(contents))
        } else {
            if ask.scan {
                self.look_around()?;
            }
            let history;
            (now, history) = self.known()?;
            let filter = Self::filter(ask, &history, self.store.now())?;
            (&mut *now, history, filter, None)
        };
        work(&mut Finder { recall: self, catalog, history, filter, past, read: HashMap::new() })
    }

    /// As [`Recall::filter`], by where things were then.
    fn filter_then(
        ask: &Ask,
        history: &History,
        contents: &past::Contents,
        now: DateTime<Utc>,
    ) -> Result<Filter> {
        let mut filter = Self::filter(&Ask { path_prefix: None, ..ask.clone() }, history, now)?;
        if let Some(prefix) = &ask.path_prefix {
            let is_there = |path: &MemoryPath| path == prefix || path.is_below(prefix);
            let then = contents.iter().filter(|(_, (version, _))| version.place().is_some_and(is_there));
            filter.memories = Some(Arc::new(then.map(|(&row, _)| row).collect()));
        }
        Ok(filter)
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

    #[allow(clippy::cast_possible_truncation, reason = "0 to 1")]
    fn min_score(&self) -> f32 {
        self.store.settings().search.min_score.map_or(MIN_SCORE, |least| least as f32)
    }

    pub(super) fn half_life_days(&self) -> f32 {
        self.store.settings().entries.half_life.as_secs_f32() / 86_400.0
    }
}

/// Whether there is nothing that a text could have: punctuation and what is not seen.
fn asks_nothing(query: &str) -> bool {
    query.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || c.is_ascii_punctuation()
            || c.general_category_group() == GeneralCategoryGroup::Punctuation
            || c.general_category() == GeneralCategory::Format
    })
}
