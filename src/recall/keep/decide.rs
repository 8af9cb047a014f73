//! What a new entry comes to, beside the entries that it may be the same as: pure.

use chrono::{DateTime, Utc};

use super::{NewEntry, Similar, Stored, field};
use crate::entry::{self, Broken, Value};
use crate::id::MemoryId;
use crate::path::MemoryPath;
use crate::recall::alike::Saying;
use crate::recall::record::Record;
use crate::store::{Entries, OnSimilar};

/// So many are returned as alike.
pub(super) const MOST_SIMILAR: usize = 3;
/// Less alike than this is not worth telling: of the real updates in the labelled pairs all are above it.
pub(super) const LEAST_SIMILAR: f32 = 0.5;

/// An entry that is there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) id: MemoryId,
    pub(super) path: MemoryPath,
    pub(super) text: String,
    pub(super) record: Record,
    pub(super) likeness: Likeness,
}

/// How like two texts are, as far as the index told it: 0 where it did not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Likeness {
    /// The cosine of their vectors.
    pub(super) cosine: f32,
    /// The share of the words that they have in common, the rare ones weighing more.
    pub(super) words: f32,
}

impl Likeness {
    pub(super) fn most(self, other: Self) -> Self {
        Self { cosine: self.cosine.max(other.cosine), words: self.words.max(other.words) }
    }

    /// For an order. In languages that the model knows little of, all texts are near each other: words tell them apart.
    pub(super) fn both(self) -> f32 {
        self.cosine + self.words
    }
}

/// What becomes of a new entry and those that are there.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Decision<'k> {
    /// The one that it is the same as, and what that one's file is to say; `None`: it gets a file of its own.
    pub(super) duplicate: Option<(&'k Known, String)>,
    /// Those that it replaces.
    pub(super) superseded: Vec<&'k Known>,
    /// What is alike of what stays beside it.
    pub(super) alike: Vec<Alike>,
}

/// An entry that is alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alike {
    /// Of what is told: the more, the sooner.
    order: f32,
    similar: Similar,
}

impl Alike {
    /// What is less alike than is worth telling is none.
    fn of(saying: &Saying, one: &Known, old: &Saying) -> Option<Self> {
        let score = one.likeness_to(saying, old);
        // The note of a session says much, and is no statement that another could be the newer form of.
        if score < LEAST_SIMILAR || one.record.category.is_none() {
            return None;
        }
        let (content, differs) = (one.content().to_owned(), saying.differences(old));
        let similar = Similar { id: one.id, content, score, differs };
        Some(Self { order: score + one.likeness.words, similar })
    }
}

/// Which of some entries are alike.
pub(super) fn alike(said: &str, known: &[Known]) -> Vec<Alike> {
    let saying = Saying::of(said);
    known.iter().filter_map(|one| Alike::of(&saying, one, &Saying::of(one.content()))).collect()
}

/// What is told of what is alike, the most alike first, beside what an entry has become.
pub(super) fn most_similar(mut alike: Vec<Alike>, stored: &Stored) -> Vec<Similar> {
    alike.sort_by(|a, b| b.order.total_cmp(&a.order).then(a.similar.id.cmp(&b.similar.id)));
    let mut similar: Vec<Similar> = Vec::new();
    for Alike { similar: one, .. } in alike {
        let is_told = one.id == stored.memory_id
            || stored.superseded.contains(&one.id)
            || similar.iter().any(|other| other.id == one.id);
        if !is_told && similar.len() < MOST_SIMILAR {
            similar.push(one);
        }
    }
    similar
}

impl Known {
    fn content(&self) -> &str {
        self.record.content(&self.text)
    }

    fn likeness_to(&self, saying: &Saying, own: &Saying) -> f32 {
        self.likeness.cosine.max(saying.overlap(own))
    }

    fn is_in(&self, category: &str) -> bool {
        self.record.category.as_deref() == Some(category)
    }
}

/// Decides; of several that it is the same as the first one counts. `said` is what would be stored of its text.
pub(super) fn decide<'k>(
    new: &NewEntry,
    said: &str,
    known: &'k [Known],
    entries: &Entries,
    now: DateTime<Utc>,
) -> Decision<'k> {
    if known.is_empty() {
        // As nearly always: nothing needs to be read.
        return Decision::default();
    }
    let saying = Saying::of(said);
    let known: Vec<_> = known.iter().map(|one| (one, Saying::of(one.content()))).collect();
    let may_be_one = |one: &Known| {
        one.is_in(&new.category)
            && !new.supersedes.contains(&one.id)
            // Another key is another thing, however it is worded.
            && (one.record.key.is_none() || new.key.is_none() || one.record.key == new.key)
    };
    // In the same words before in nearly the same: else two would have them.
    let find =
        |is_one: &dyn Fn(&Saying) -> bool| known.iter().find(|(one, old)| may_be_one(one) && is_one(old));
    let same = find(&|old| saying.is_same(old)).or_else(|| find(&|old| saying.is_near(old)));
    // Front matter that cannot be edited in place is a person's own form of YAML: that entry stays, and this one beside it.
    let duplicate = same.and_then(|(one, old)| {
        let text = merged(one, new, saying.is_same(old), now).ok()?;
        Some((*one, text))
    });
    let kept = duplicate.as_ref().map(|(one, _)| one.id);
    let (mut superseded, mut alike) = (Vec::new(), Vec::new());
    for &(one, ref old) in known.iter().filter(|(one, _)| Some(one.id) != kept) {
        let has_key = new.key.is_some() && one.record.key == new.key && one.is_in(&new.category);
        let is_so_alike = || {
            entries.on_similar == OnSimilar::Supersede
                && one.is_in(&new.category)
                && f64::from(one.likeness_to(&saying, old)) > entries.similar_threshold
        };
        if new.supersedes.contains(&one.id) || has_key || is_so_alike() {
            superseded.push(one);
        } else {
            alike.extend(Alike::of(&saying, one, old));
        }
    }
    Decision { duplicate, superseded, alike }
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

#[cfg(test)]
mod tests;
