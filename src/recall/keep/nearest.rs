//! Entries that are alike: found by what they mean, and by their words where that may not tell enough.

use std::collections::{HashMap, HashSet};

use super::decide::{Alike, Known, Likeness, MOST_SIMILAR, alike};
use crate::error::Result;
use crate::index::{Hit, Hits, Model, Query};
use crate::recall::catalog::{Catalog, LONG_TO_STORE};
use crate::recall::record::{Record, Times};
use crate::recall::{DateTime, Recall, Utc, rank};
use crate::store::{History, OnSimilar};

/// So many of what is nearest in meaning are looked for (one of them may be the new entry itself, or what it replaces), or (where
/// that may not tell enough) so many by words, too, with the rarest words of the text. What is the same or near is found by its
/// gist.
const NEAREST: usize = MOST_SIMILAR + 1;
const CANDIDATES: usize = 24;
const MOST_CANDIDATES: usize = 400;
const WORDS: usize = 16;
/// So many of those are read: that costs more than to find them.
const LOOKED_AT: usize = 8;
/// What is less like the text, by words and by meaning, is not looked at: it would not be told.
const LEAST_LIKELY: f32 = 0.4;
/// So many passages of what came meanwhile are judged inside the lock (as many changes may wait together), and of each entry.
const MOST_LATE: usize = 64;
const MOST_OF_EACH: usize = 4;
/// A text of at most so many bytes is one passage, and all of it counts for its vector.
const SHORT: usize = 1000;

impl Recall {
    /// Entries that are alike, as the history has them at one moment. Among them may be the one that is new, or those that it is the
    /// same as or supersedes.
    pub(super) fn alike(&self, said: &str, now: DateTime<Utc>) -> Result<Vec<Alike>> {
        let (mut catalog, history) = self.known_within(LONG_TO_STORE)?;
        let nearest = self.nearest(&mut catalog, &history, said)?;
        drop(catalog);
        let categories = &self.store.settings().entries.categories;
        let mut known = Vec::with_capacity(nearest.len());
        for (row, likeness) in nearest {
            let Some((version, Some(bytes))) = history.text_of_row(row)? else { continue };
            let (Some(path), Ok(text)) = (version.place(), String::from_utf8(bytes)) else { continue };
            let record = Record::read(&text, path, Times::unknown(), categories);
            if record.is_entry && !record.is_expired(now) {
                known.push(Known { id: version.memory_id, path: path.clone(), text, record, likeness });
            }
        }
        Ok(alike(said, &known))
    }

    /// The rows of entries that may be alike, and how like they are.
    pub(super) fn nearest(
        &self,
        catalog: &mut Catalog,
        history: &History,
        said: &str,
    ) -> Result<HashMap<i64, Likeness>> {
        let is_told = self.store.settings().entries.on_similar == OnSimilar::Report;
        // The model that is in the program knows every word that is not long: those of ASCII are.
        let by_words = !said.is_ascii() || said.len() > SHORT || !catalog.has_meaning();
        let (candidates, most) =
            if is_told && !by_words { (NEAREST, NEAREST) } else { (CANDIDATES, LOOKED_AT) };
        let mut query = Query {
            text: said,
            filter: &self.entries(),
            candidates,
            words: WORDS,
            lexical: by_words,
            semantic: true,
        };
        let likely = loop {
            let likely = likely(catalog.search(&self.store, history, &query)?);
            let memories: HashSet<i64> = likely.iter().map(|(memory, _)| *memory).collect();
            // Unless few entries have most of the passages.
            let is_enough = likely.len() < query.candidates || memories.len() >= most;
            if is_enough || query.candidates >= MOST_CANDIDATES {
                break likely;
            }
            query.candidates *= 4;
        };
        let mut nearest: HashMap<i64, Likeness> = HashMap::new();
        for (memory, likeness) in likely {
            if nearest.len() < most || nearest.contains_key(&memory) {
                let known = nearest.entry(memory).or_default();
                *known = known.most(likeness);
            }
        }
        Ok(nearest)
    }
}

/// Finds out how like a text those entries are that came after it was looked for, in their order, as far as there is time for
/// that: its cosine to their passages, which no index knows yet.
pub(super) fn judge<'k>(model: &Model, said: &str, late: impl Iterator<Item = &'k mut Known>) {
    let mut vector = None;
    let mut left = MOST_LATE;
    for one in late {
        if left == 0 {
            break;
        }
        let vector = vector.get_or_insert_with(|| model.embed(said));
        let passages = one.record.found_by(&one.text, &one.path).take(MOST_OF_EACH.min(left));
        let cosines = passages.map(|passage| {
            left -= 1;
            model.embed(&passage).iter().zip(&*vector).map(|(a, b)| a * b).sum()
        });
        one.likeness.cosine = cosines.fold(0.0, f32::max);
    }
}

/// The memories that are alike at all, the likeliest first.
fn likely(Hits { hits, ideal }: Hits) -> Vec<(i64, Likeness)> {
    let likeness =
        |hit: Hit| (hit.memory, Likeness { cosine: hit.semantic, words: rank::by_words(hit.lexical, ideal) });
    let mut likely: Vec<(i64, Likeness)> = hits
        .into_iter()
        .map(likeness)
        .filter(|(_, likeness)| likeness.cosine.max(likeness.words) >= LEAST_LIKELY)
        .collect();
    likely.sort_by(|(a, like), (b, other)| other.both().total_cmp(&like.both()).then(a.cmp(b)));
    likely
}
