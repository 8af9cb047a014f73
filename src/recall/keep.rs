//! `memory_store` and `memory_delete`: a new entry, what it is found to be the same as, and the end of one.
//!
//! Who may be the same, or is alike, is looked up before; what that comes to is decided inside the store's lock, on the files
//! as they are then and with what came meanwhile.

use std::collections::HashMap;

use super::alike::Saying;
use super::record::{CATEGORIES, Record, Times, fold, is_category};
use super::{DateTime, Error, MemoryId, MemoryPath, Recall, Result, Utc, rank};
use crate::entry::{self, Broken, Value};
use crate::index::{Filter, Hit, Hits, Query};
use crate::journal::Reach;
use crate::store::{Edit, Found, History, Look, OnSimilar, Recent, RecentState, Settings, Snapshot, Warned};
use crate::version::Version;

mod field;

/// An entry to be stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewEntry {
    /// The text, not empty.
    pub content: String,
    /// A known category.
    pub category: String,
    /// 1 to 5.
    pub importance: u8,
    /// At most 32 of 64 characters.
    pub tags: Vec<String>,
    /// When it ends, in the future; `None`: never.
    pub expires_at: Option<DateTime<Utc>>,
    /// At most one live entry of a category has it.
    pub key: Option<String>,
    /// Entries that it replaces.
    pub supersedes: Vec<MemoryId>,
    /// Whether it neither ages nor is pruned.
    pub pinned: bool,
}

/// What came of storing an entry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// The entry: a new one, or the one that was there.
    pub memory_id: MemoryId,
    /// Its file.
    pub path: MemoryPath,
    /// Entries whose files it replaced.
    pub superseded: Vec<MemoryId>,
    /// Whether it was there before; then this is its id, too.
    pub duplicate_of: Option<MemoryId>,
    /// The most alike of what stays beside it, up to three.
    pub similar: Vec<Similar>,
    /// What looks like a secret in what was stored.
    pub warned: Vec<Warned>,
}

/// An entry that is alike.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Similar {
    /// The entry.
    pub id: MemoryId,
    /// Its text.
    pub content: String,
    /// How alike, 0 to 1.
    pub score: f32,
    /// What differs: `number`, `name`, `negation`, `identifier`, else `text`.
    pub differs: Vec<&'static str>,
}

/// So many are returned as alike.
const MOST_SIMILAR: usize = 3;
/// Less alike than this is not worth telling: of the real updates in the labelled pairs all are above it.
const LEAST_SIMILAR: f32 = 0.5;
/// So many entries of a category may begin with the same words.
const MOST_ALIKE_NAMES: u32 = 100_000;
/// So many are looked for by words and by meaning each, with the rarest words of the text, and so many of them are looked at
/// closely, the likeliest: reading them is what storing costs beside the change itself. A near-duplicate has nearly all the
/// words, so that it is among the first by those.
const CANDIDATES: usize = 24;
const WORDS: usize = 16;
const LOOKED_AT: usize = 8;
/// What is less like the text, by words and by meaning, is not looked at: it would not be told.
const LEAST_LIKELY: f32 = 0.4;

/// An entry that may be the same, or alike.
#[derive(Debug, Clone)]
struct Candidate {
    path: MemoryPath,
    /// The cosine of the two texts, where the index told it.
    cosine: f32,
}

/// What was found out before the lock is taken.
struct Candidates {
    /// The newest version that was looked at.
    mark: i64,
    /// Whether there is certainly room for one entry more.
    has_room: bool,
    all: Vec<Candidate>,
}

/// A candidate, read.
struct Known {
    id: MemoryId,
    path: MemoryPath,
    text: String,
    record: Record,
    cosine: f32,
}

impl Known {
    fn content(&self) -> &str {
        self.record.content(&self.text)
    }
}

impl Recall {
    /// Stores an entry, unless it is there already.
    ///
    /// The same text (but for case, white space and Unicode form) in the same category, or one that differs in nothing that
    /// carries a fact, is a duplicate: the entry that was there gets the newer text, the tags of both and the larger
    /// importance. An entry with the same key in the category, and those in `supersedes`, are removed in the same change.
    ///
    /// # Errors
    /// [`Error::Field`] for a field that breaks its rule; [`Error::NoMemory`] and [`Error::PlainFile`] for what it is to
    /// supersede; else as [`Store::change`](crate::Store::change).
    pub fn store(&self, new: NewEntry) -> Result<Stored> {
        let store = &self.store;
        let new = field::checked(new, store.settings(), store.now())?;
        self.look_before_storing()?;
        let Candidates { mark, has_room, all: candidates } = self.candidates(&new)?;
        let settings = store.settings().clone();
        let now = store.now();
        let (stored, warned) = store.change_warned(move |snapshot| {
            let known = read(snapshot, mark, &candidates, &new, &settings, now)?;
            decide(snapshot, &new, &known, &settings, now)
        })?;
        if !has_room && stored.duplicate_of.is_none() {
            // It is stored, whatever comes of the others.
            let _ = self.prune_excess(stored.memory_id);
        }
        Ok(Stored { warned, ..stored })
    }

    /// Deletes an entry; the reason is in the history.
    ///
    /// # Errors
    /// [`Error::NoMemory`]; [`Error::PlainFile`]: deleting one stale paragraph must not delete a file; else as
    /// [`Store::change`](crate::Store::change).
    pub fn delete(&self, id: MemoryId, reason: &str) -> Result<MemoryPath> {
        self.look_around()?;
        let history = self.store.history()?;
        let (mark, path) = (history.mark()?, place(&history, id)?);
        let categories = self.store.settings().entries.categories.clone();
        let reason = reason.to_owned();
        self.store.change(move |snapshot| {
            let mut at = Some(path.clone());
            // With a gap nothing is told, and what is at the path decides.
            let _ = snapshot.heads_since(mark, &mut |recent| {
                if recent.memory == id {
                    at = (recent.state != RecentState::Gone).then(|| recent.path.clone());
                }
                Ok(())
            })?;
            let path = at.ok_or(Error::NoMemory { id })?;
            if snapshot.memory_at(&path)? != Some(id) {
                return Err(Error::NoMemory { id });
            }
            let Found::File(bytes) = snapshot.read(&path)? else { return Err(Error::NoMemory { id }) };
            let text = std::str::from_utf8(&bytes).map_err(|_| Error::PlainFile { path: path.clone() })?;
            if !Record::read(text, &path, Times::unknown(), &categories).is_entry {
                return Err(Error::PlainFile { path });
            }
            snapshot.because(reason.clone());
            Ok((vec![Edit::remove(&path)], path))
        })
    }

    /// Entries that may be the same as a new one, or alike.
    fn candidates(&self, new: &NewEntry) -> Result<Candidates> {
        let (mut catalog, history) = self.known()?;
        let now = self.store.now().timestamp();
        let mut rows: HashMap<i64, f32> = HashMap::new();
        let base = Filter::entries(now);
        let category = vec![new.category.clone()];
        let same = Filter { fold: Some(fold(&new.content)), categories: category.clone(), ..base.clone() };
        let store = &self.store;
        rows.extend(catalog.all(store, &history, &same)?.into_iter().map(|seen| (seen.memory, 1.0)));
        if let Some(key) = &new.key {
            let keyed = Filter { key: Some(key.clone()), categories: category, ..base.clone() };
            for seen in catalog.all(store, &history, &keyed)? {
                rows.entry(seen.memory).or_default();
            }
        }
        let query = Query {
            text: &new.content,
            filter: &base,
            candidates: CANDIDATES,
            words: WORDS,
            lexical: true,
            semantic: true,
        };
        let Hits { hits, ideal } = catalog.search(store, &history, &query)?;
        let mut alike: Vec<(f32, Hit)> = hits
            .into_iter()
            .map(|hit| (rank::by_words(hit.lexical, ideal).max(hit.semantic), hit))
            .filter(|(likeness, _)| *likeness >= LEAST_LIKELY)
            .collect();
        alike.sort_by(|(a, hit), (b, other)| b.total_cmp(a).then(hit.memory.cmp(&other.memory)));
        for (_, hit) in alike.into_iter().take(LOOKED_AT) {
            let cosine = rows.entry(hit.memory).or_default();
            *cosine = cosine.max(hit.semantic);
        }
        let mut candidates = Vec::with_capacity(rows.len());
        for (row, cosine) in rows {
            if let Some(path) = history.of_row(row)?.as_ref().and_then(Version::place) {
                candidates.push(Candidate { path: path.clone(), cosine });
            }
        }
        // What is to be superseded is read whatever it says.
        for &id in &new.supersedes {
            candidates.push(Candidate { path: place(&history, id)?, cosine: 0.0 });
        }
        let has_room = (catalog.most_entries() as u64) < self.store.settings().entries.max;
        Ok(Candidates { mark: catalog.mark(), has_room, all: candidates })
    }
}

/// Where a memory is.
fn place(history: &History, id: MemoryId) -> Result<MemoryPath> {
    let version = history.memory(id)?;
    version.as_ref().and_then(Version::place).cloned().ok_or(Error::NoMemory { id })
}

/// Reads the candidates as they are inside the lock, with the entries that came after `mark`.
fn read(
    snapshot: &mut Snapshot<'_>,
    mark: i64,
    candidates: &[Candidate],
    new: &NewEntry,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<Vec<Known>> {
    let mut paths: HashMap<MemoryPath, f32> = HashMap::new();
    for candidate in candidates {
        let cosine = paths.entry(candidate.path.clone()).or_default();
        *cosine = cosine.max(candidate.cosine);
    }
    let mut note = |recent: Recent<'_>| {
        if matches!(recent.state, RecentState::Text(_)) && !recent.path.is_passed_over() {
            paths.entry(recent.path.clone()).or_default();
        }
        Ok(())
    };
    if snapshot.heads_since(mark, &mut note)? == Reach::Gap {
        // It cannot be told what is new, so all is.
        let _ = snapshot.heads_since(0, &mut note)?;
    }
    let mut known = Vec::new();
    for (path, cosine) in paths {
        let Found::File(bytes) = snapshot.read(&path)? else { continue };
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let Some(id) = snapshot.memory_at(&path)? else { continue };
        let record = Record::read(text, &path, Times::unknown(), &settings.entries.categories);
        let is_wanted = new.supersedes.contains(&id);
        if is_wanted && !record.is_entry {
            return Err(Error::PlainFile { path });
        }
        if record.is_entry && (is_wanted || !record.is_expired(now)) {
            known.push(Known { id, path, text: text.to_owned(), record, cosine });
        }
    }
    if let Some(&id) = new.supersedes.iter().find(|&&id| known.iter().all(|known| known.id != id)) {
        return Err(Error::NoMemory { id });
    }
    // The oldest survives.
    known.sort_by_key(|one| one.id);
    Ok(known)
}

/// What a new entry comes to, given what is known: edits, and the answer.
fn decide(
    snapshot: &mut Snapshot<'_>,
    new: &NewEntry,
    known: &[Known],
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<(Vec<Edit>, Stored)> {
    let saying = Saying::of(&new.content);
    let sayings: Vec<Saying> = known.iter().map(|one| Saying::of(one.content())).collect();
    let is_replaced = |one: &Known| {
        let has_key = new.key.is_some() && one.record.key == new.key;
        new.supersedes.contains(&one.id) || has_key && one.record.category.as_ref() == Some(&new.category)
    };
    let duplicate = known.iter().zip(&sayings).position(|(one, old)| {
        one.record.category.as_ref() == Some(&new.category)
            && !new.supersedes.contains(&one.id)
            // Another key is another thing, however it is worded.
            && (one.record.key.is_none() || new.key.is_none() || one.record.key == new.key)
            && (saying.is_same(old) || saying.is_near(old))
    });
    // Front matter that cannot be edited in place is a person's own form of YAML: that entry stays, and this one beside it.
    let merged = duplicate.and_then(|at| {
        let is_same = saying.is_same(&sayings[at]);
        merged(&known[at], new, is_same, now).ok().map(|text| (at, text))
    });
    let duplicate = merged.as_ref().map(|(at, _)| *at);
    let mut superseded = Vec::new();
    let mut similar = Vec::new();
    for (at, (one, old)) in known.iter().zip(&sayings).enumerate().filter(|(at, _)| Some(*at) != duplicate) {
        let score = one.cosine.max(saying.overlap(old));
        let is_so_alike = settings.entries.on_similar == OnSimilar::Supersede
            && one.record.category.as_ref() == Some(&new.category)
            && f64::from(score) > settings.entries.similar_threshold;
        if is_replaced(one) || is_so_alike {
            superseded.push(at);
        } else if score >= LEAST_SIMILAR {
            let (content, differs) = (one.content().to_owned(), saying.differences(old));
            similar.push(Similar { id: one.id, content, score, differs });
        }
    }
    similar.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    similar.truncate(MOST_SIMILAR);
    let mut edits: Vec<Edit> = superseded.iter().map(|&at| Edit::remove(&known[at].path)).collect();
    let (memory_id, path, text) = if let Some((at, text)) = merged {
        let one = &known[at];
        (one.id, one.path.clone(), text)
    } else {
        let path = free_path(snapshot, &new.category, &settings.guard.mask(&new.content))?;
        let id = snapshot.new_id(&path);
        (id, path, composed(Some(id), new, now))
    };
    edits.push(Edit::write(&path, text));
    if !superseded.is_empty() {
        snapshot.because(format!("superseded by {memory_id}"));
    }
    let superseded = superseded.into_iter().map(|at| known[at].id).collect();
    let duplicate_of = duplicate.map(|at| known[at].id);
    let warned = Vec::new();
    Ok((edits, Stored { memory_id, path, superseded, duplicate_of, similar, warned }))
}

/// The file of a new entry, with its id where that is known.
pub(super) fn composed(id: Option<MemoryId>, new: &NewEntry, created: DateTime<Utc>) -> String {
    let mut fields = Vec::new();
    fields.extend(id.map(|id| ("id", Value::Text(id.to_string()))));
    fields.push(("importance", Value::Integer(new.importance.into())));
    if !new.tags.is_empty() {
        fields.push(("tags", Value::List(new.tags.clone())));
    }
    fields.push(("created_at", Value::Time(created)));
    fields.extend(new.expires_at.map(|end| ("expires_at", Value::Time(end))));
    fields.extend(new.key.clone().map(|key| ("key", Value::Text(key))));
    if new.pinned {
        fields.push(("pinned", Value::Flag(true)));
    }
    entry::compose(&fields, &new.content)
}

/// The file of an entry that is stored once more; `is_same`: in the same words.
fn merged(old: &Known, new: &NewEntry, is_same: bool, now: DateTime<Utc>) -> Result<String, Broken> {
    let record = &old.record;
    let mut edits = vec![("updated_at", Some(Value::Time(now)))];
    let importance = record.importance.unwrap_or(1).max(new.importance);
    if record.importance != Some(importance) {
        edits.push(("importance", Some(Value::Integer(importance.into()))));
    }
    let mut tags = record.tags.clone();
    for tag in &new.tags {
        field::add_tag(&mut tags, tag);
    }
    if tags != record.tags {
        edits.push(("tags", Some(Value::List(tags))));
    }
    // What is said last counts; to say nothing is to say for ever.
    if new.expires_at != record.expires {
        edits.push(("expires_at", new.expires_at.map(Value::Time)));
    }
    if record.key.is_none() && new.key.is_some() {
        edits.push(("key", new.key.clone().map(Value::Text)));
    }
    if new.pinned && !record.pinned {
        edits.push(("pinned", Some(Value::Flag(true))));
    }
    let text = entry::edit(&old.text, &edits)?;
    // Only what says it in other words is written anew.
    if is_same { Ok(text) } else { entry::with_body(&text, &new.content) }
}

/// A path for a new entry where nothing stands.
fn free_path(snapshot: &mut Snapshot<'_>, category: &str, content: &str) -> Result<MemoryPath> {
    let slug = entry::slug(content);
    let mut number = 1;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let text = format!("/memories/{category}/{slug}{suffix}.md");
        let path = MemoryPath::parse(&text).map_err(|source| Error::Path { path: text.clone(), source })?;
        match snapshot.look(&path)? {
            Look::Missing => return Ok(path),
            _ if number == MOST_ALIKE_NAMES => return Err(Error::Exists { path }),
            Look::File { .. } | Look::Directory | Look::Link | Look::Special => number += 1,
            Look::BelowFile(file) => return Err(Error::BelowFile { path, file }),
            Look::BelowLink => return Err(Error::Link { path }),
        }
    }
}

/// The names of all categories of a store.
#[must_use]
pub(crate) fn categories(settings: &Settings) -> Vec<String> {
    let more = settings.entries.categories.iter().filter(|name| !is_category(name, &[]));
    CATEGORIES.iter().map(|&name| name.to_owned()).chain(more.cloned()).collect()
}
