//! What a new entry comes to, beside the entries that it may be the same as: pure.

use chrono::{DateTime, Utc};

use super::{NewEntry, Similar, field};
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
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decision<'k> {
    /// The one that it is the same as, and what that one's file is to say; `None`: it gets a file of its own.
    pub(super) duplicate: Option<(&'k Known, String)>,
    /// Those that it replaces.
    pub(super) superseded: Vec<&'k Known>,
    /// The most alike of what stays beside it.
    pub(super) similar: Vec<Similar>,
}

impl Known {
    fn content(&self) -> &str {
        self.record.content(&self.text)
    }

    fn is_in(&self, category: &str) -> bool {
        self.record.category.as_deref() == Some(category)
    }
}

/// Decides; of several that it is the same as the first one counts.
pub(super) fn decide<'k>(
    new: &NewEntry,
    known: &'k [Known],
    entries: &Entries,
    now: DateTime<Utc>,
) -> Decision<'k> {
    let saying = Saying::of(&new.content);
    let known: Vec<_> = known.iter().map(|one| (one, Saying::of(one.content()))).collect();
    let may_be_one = |one: &Known| {
        one.is_in(&new.category)
            && !new.supersedes.contains(&one.id)
            // Another key is another thing, however it is worded.
            && (one.record.key.is_none() || new.key.is_none() || one.record.key == new.key)
    };
    let same =
        known.iter().find(|(one, old)| may_be_one(one) && (saying.is_same(old) || saying.is_near(old)));
    // Front matter that cannot be edited in place is a person's own form of YAML: that entry stays, and this one beside it.
    let duplicate = same.and_then(|(one, old)| {
        let text = merged(one, new, saying.is_same(old), now).ok()?;
        Some((*one, text))
    });
    let kept = duplicate.as_ref().map(|(one, _)| one.id);
    let mut superseded = Vec::new();
    let mut similar = Vec::new();
    for &(one, ref old) in known.iter().filter(|(one, _)| Some(one.id) != kept) {
        let score = one.likeness.cosine.max(saying.overlap(old));
        let has_key = new.key.is_some() && one.record.key == new.key && one.is_in(&new.category);
        let is_so_alike = entries.on_similar == OnSimilar::Supersede
            && one.is_in(&new.category)
            && f64::from(score) > entries.similar_threshold;
        if new.supersedes.contains(&one.id) || has_key || is_so_alike {
            superseded.push(one);
        // The note of a session says much, and is no statement that another could be the newer form of.
        } else if score >= LEAST_SIMILAR && one.record.category.is_some() {
            let (content, differs) = (one.content().to_owned(), saying.differences(old));
            let order = score + one.likeness.words;
            similar.push((order, Similar { id: one.id, content, score, differs }));
        }
    }
    similar.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.id.cmp(&other.id)));
    let similar = similar.into_iter().take(MOST_SIMILAR).map(|(_, one)| one).collect();
    Decision { duplicate, superseded, similar }
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
