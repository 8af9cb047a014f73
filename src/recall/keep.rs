//! `memory_store` and `memory_delete`: a new entry, what it is found to be the same as, and the end of one.
//!
//! Who may be the same is looked up before; what that comes to is decided inside the store's lock, on the files as they are then
//! and with what came meanwhile, which is judged there. Who else is alike is only told, so it is found while the disk writes. What
//! is compared is what would be stored: without what the gate leaves out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::aside::beside;
use super::catalog::{Catalog, LONG_TO_STORE};
use super::record::{CATEGORIES, Record, Times, fold, is_category};
use super::{DateTime, Error, MemoryId, MemoryPath, Recall, Result, Utc};
use crate::entry::{self, Value};
use crate::index::{Filter, Model};
use crate::journal::Reach;
use crate::store::{Edit, Found, History, Look, OnSimilar, Recent, RecentState, Settings, Snapshot, Warned};
use crate::version::Version;

mod decide;
mod field;
mod nearest;

use decide::{Alike, Decision, Known, Likeness, decide, most_similar};

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

/// So many entries of a category may begin with the same words.
const MOST_ALIKE_NAMES: u32 = 100_000;

/// What was found out before the lock is taken.
struct Candidates {
    /// The newest version that was looked at.
    mark: i64,
    /// Whether there is certainly room for one entry more.
    has_room: bool,
    /// Those that may be the same, or be superseded: where they are, and how like they are.
    all: HashMap<MemoryId, (MemoryPath, Likeness)>,
    /// By which what comes meanwhile is judged.
    model: Option<Arc<Model>>,
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
        let said = store.settings().guard.leave_out(&new.content).into_owned();
        self.look_before_storing(new.key.is_some())?;
        let is_told = store.settings().entries.on_similar == OnSimilar::Report;
        let candidates = self.candidates(&new, &said, is_told)?;
        let has_room = candidates.has_room;
        let now = store.now();
        let told = is_told.then(|| (self.clone(), said.clone()));
        let same = store.clone();
        let change = move || {
            store.change_warned(move |snapshot| {
                let settings = same.settings();
                let known = read(snapshot, &candidates, &new, &said, settings, now)?;
                let decision = decide(&new, &said, &known, &settings.entries, now);
                carry_out(snapshot, &new, decision, settings, now)
            })
        };
        let (found, changed) = match told {
            // It is stored, whether that is told or not.
            Some((recall, said)) => beside(&self.aside, move || recall.alike(&said, now), change),
            None => (None, change()),
        };
        let ((stored, mut alike), warned) = changed?;
        match found {
            Some(Ok(found)) => alike.extend(found),
            Some(Err(error)) => store.warn(&error),
            None => {}
        }
        let similar = most_similar(alike, &stored);
        if !has_room && stored.duplicate_of.is_none() {
            // It is stored, whatever comes of the others.
            let _ = self.prune_excess(stored.memory_id).inspect_err(|error| store.warn(error));
        }
        Ok(Stored { similar, warned, ..stored })
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

    /// Entries that may be the same as a new one, or be superseded by it: where alike ones are not only told of, those, too.
    fn candidates(&self, new: &NewEntry, said: &str, is_told: bool) -> Result<Candidates> {
        let (mut catalog, history) = self.known_within(LONG_TO_STORE)?;
        let store = &self.store;
        let base = Filter { categories: vec![new.category.clone()], ..self.entries() };
        let mut rows: HashMap<i64, Likeness> = HashMap::new();
        let mut add = |catalog: &mut Catalog, filter: &Filter| -> Result<()> {
            let seen = catalog.all(store, &history, filter)?;
            rows.extend(seen.into_iter().map(|seen| (seen.memory, Likeness::default())));
            Ok(())
        };
        add(&mut catalog, &Filter { fold: Some(fold(said)), ..base.clone() })?;
        if let Some(key) = &new.key {
            add(&mut catalog, &Filter { key: Some(key.clone()), ..base })?;
        }
        if !is_told {
            rows.extend(self.nearest(&mut catalog, &history, said)?);
        }
        let mut all = HashMap::with_capacity(rows.len());
        for (row, likeness) in rows {
            if let Some((id, path)) = history.place_of(row)? {
                all.insert(id, (path, likeness));
            }
        }
        // What is to be superseded is read whatever it says.
        for &id in &new.supersedes {
            let path = place(&history, id)?;
            all.entry(id).or_insert((path, Likeness::default()));
        }
        let has_room = (catalog.most_entries() as u64) < store.settings().entries.max;
        Ok(Candidates { mark: catalog.mark(), has_room, all, model: catalog.model().cloned() })
    }

    /// All entries. What has no category, as the note of a session, must not keep out what has one.
    fn entries(&self) -> Filter {
        let now = self.store.now().timestamp();
        Filter { categories: categories(self.store.settings()), ..Filter::entries(now) }
    }
}

/// Where a memory is.
fn place(history: &History, id: MemoryId) -> Result<MemoryPath> {
    let version = history.memory(id)?;
    version.as_ref().and_then(Version::place).cloned().ok_or(Error::NoMemory { id })
}

/// Reads the candidates as they are inside the lock, with the entries that came after they were looked up.
fn read(
    snapshot: &mut Snapshot<'_>,
    candidates: &Candidates,
    new: &NewEntry,
    said: &str,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<Vec<Known>> {
    let likeness = |id| candidates.all.get(&id).map(|(_, likeness)| *likeness).unwrap_or_default();
    let mut places: HashMap<MemoryId, MemoryPath> =
        candidates.all.iter().map(|(&id, (path, _))| (id, path.clone())).collect();
    let mut late = HashSet::new();
    let reach = snapshot.heads_since(candidates.mark, &mut |recent| {
        note(&mut places, &recent);
        late.insert(recent.memory);
        Ok(())
    })?;
    if reach == Reach::Gap {
        // It cannot be told what is new, so all is.
        places.clear();
        let _ = snapshot.heads_since(0, &mut |recent| {
            note(&mut places, &recent);
            late.insert(recent.memory);
            Ok(())
        })?;
    }
    let mut known = Vec::new();
    for (id, path) in places {
        let Found::File(bytes) = snapshot.read(&path)? else { continue };
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let record = Record::read(text, &path, Times::unknown(), &settings.entries.categories);
        let is_wanted = new.supersedes.contains(&id);
        if is_wanted && !record.is_entry {
            return Err(Error::PlainFile { path });
        }
        if record.is_entry && (is_wanted || !record.is_expired(now)) {
            known.push(Known { id, path, text: text.to_owned(), record, likeness: likeness(id) });
        }
    }
    if let Some(&id) = new.supersedes.iter().find(|&&id| known.iter().all(|known| known.id != id)) {
        return Err(Error::NoMemory { id });
    }
    // The oldest survives.
    known.sort_by_key(|one| one.id);
    if let Some(model) = &candidates.model {
        nearest::judge(model, said, known.iter_mut().rev().filter(|one| late.contains(&one.id)));
    }
    Ok(known)
}

/// Takes note of where a memory is now, if it is one that may hold an entry.
fn note(places: &mut HashMap<MemoryId, MemoryPath>, recent: &Recent<'_>) {
    if matches!(recent.state, RecentState::Text(_)) && !recent.path.is_passed_over() {
        places.insert(recent.memory, recent.path.clone());
    } else {
        places.remove(&recent.memory);
    }
}

/// The edits of a decision, and the answer, to which what is alike is still to be added.
type Carried = (Vec<Edit>, (Stored, Vec<Alike>));

fn carry_out(
    snapshot: &mut Snapshot<'_>,
    new: &NewEntry,
    decision: Decision<'_>,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<Carried> {
    let Decision { duplicate, superseded, alike } = decision;
    let mut edits: Vec<Edit> = superseded.iter().map(|one| Edit::remove(&one.path)).collect();
    let superseded: Vec<MemoryId> = superseded.into_iter().map(|one| one.id).collect();
    let duplicate_of = duplicate.as_ref().map(|(one, _)| one.id);
    let (memory_id, path, text) = if let Some((one, text)) = duplicate {
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
    let (similar, warned) = (Vec::new(), Vec::new());
    Ok((edits, (Stored { memory_id, path, superseded, duplicate_of, similar, warned }, alike)))
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

#[cfg(test)]
mod tests;
