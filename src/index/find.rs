//! A query: the best by words and by meaning, of the index and of what changed since.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::filter::{admits, admitted};
use super::lexical::best::Best;
use super::lexical::statistics::Statistics;
use super::lexical::words::is_weak;
use super::lexical::{self, Asked};
use super::tail::Known;
use super::threads;
use super::vectors::Bitmap;
use super::view::View;
use super::{Filter, Hit, Hits, Index, IndexError, Model, Query, Seen, Tail};

/// A passage that may be a hit, before it is known what it is: a row of the index, or a place in the tail.
const TAIL: u32 = 1 << 31;

pub(super) fn search(index: &Index, tail: &Tail, query: &Query<'_>) -> Result<Hits, IndexError> {
    let hidden = tail.hidden(index);
    let view = index.view();
    let admitted = match view {
        Some(view) => admitted(view, query.filter, &hidden)?,
        None => None,
    };
    let late: Vec<(&Known, usize)> = tail
        .docs()
        .filter(|known| admits(query.filter, known.doc.memory, &known.doc.facts))
        .flat_map(|known| (0..known.doc.passages.len()).map(move |ordinal| (known, ordinal)))
        .collect();
    let late = Late(late);
    let asked = if query.lexical { Some(terms(view, tail, query)?) } else { None };
    let vector = query.semantic.then(|| index.model().embed(query.text));
    let vector = vector.filter(|vector| vector.iter().any(|value| value.abs() > 0.0));
    let vectors = view.and_then(|view| view.vectors.as_ref()).zip(vector.as_ref());
    let likely = vectors.map(|(vectors, vector)| vectors.likely(vector, query.candidates, admitted.as_ref()));
    let by_words = || match &asked {
        Some((asked, statistics)) => {
            words(view, &late, asked, statistics, admitted.as_ref(), query.candidates)
        }
        None => Ok(Vec::new()),
    };
    let by_meaning = || match &vector {
        Some(vector) => {
            let likely = likely.as_deref().unwrap_or_default();
            meaning(view, &late, (index.model(), vector), likely, query.candidates)
        }
        None => Ok(Vec::new()),
    };
    // Rows are scored while words are looked for.
    let are_both = asked.is_some() && vector.is_some();
    let rows = view.filter(|_| are_both).map_or(0, |view| view.rows.len());
    let (by_words, by_meaning) = threads::both(rows, by_words, by_meaning);
    let ideal = asked
        .iter()
        .flat_map(|(asked, statistics)| asked.iter().map(|asked| statistics.weight(asked).max_score()))
        .sum();
    let (by_words, by_meaning) = (by_words?, by_meaning?);
    let vector = vector.as_deref().map(|vector| (&**index.model(), vector));
    let hits = join(view, &late, by_words, by_meaning, vector)?;
    Ok(Hits { hits, ideal })
}

/// Passages of the tail that a filter admits.
struct Late<'a>(Vec<(&'a Known, usize)>);

impl<'a> Late<'a> {
    fn passages(&self) -> impl Iterator<Item = (u32, &'a Known, usize)> {
        (TAIL..).zip(&self.0).map(|(place, &(known, ordinal))| (place, known, ordinal))
    }

    fn get(&self, place: u32) -> Option<(&'a Known, usize)> {
        self.0.get(place.checked_sub(TAIL)? as usize).copied()
    }
}

/// The terms that count, and how often they occur.
fn terms(
    view: Option<&View>,
    tail: &Tail,
    query: &Query<'_>,
) -> Result<(Vec<Asked>, Statistics), IndexError> {
    let mut asked = lexical::asked(query.text, |_| true);
    let names = asked.iter().map(|asked| asked.term.as_str());
    let mut statistics = match view {
        Some(view) => view.lexical.statistics(names)?,
        None => Statistics::default(),
    };
    tail.count(&asked, &mut statistics);
    let is_missing = |term: &str| is_weak(term) && statistics.found(term) == 0;
    if asked.iter().any(|asked| is_missing(&asked.term)) {
        asked = lexical::asked(query.text, |term| !is_missing(term));
    }
    if asked.len() > query.words {
        asked.sort_by_key(|asked| statistics.found(&asked.term));
        asked.truncate(query.words);
    }
    Ok((asked, statistics))
}

fn words(
    view: Option<&View>,
    late: &Late<'_>,
    asked: &[Asked],
    statistics: &Statistics,
    admitted: Option<&Bitmap>,
    limit: usize,
) -> Result<Vec<(u32, f32)>, IndexError> {
    let found = match view {
        Some(view) => view.lexical.search(asked, statistics, admitted, limit)?,
        None => Vec::new(),
    };
    let weights: Vec<_> = asked.iter().map(|asked| (asked, statistics.weight(asked))).collect();
    let scored =
        late.passages().map(|(place, known, ordinal)| (place, known.words()[ordinal].score(&weights)));
    Ok(best_of(found, scored.filter(|&(_, score)| score > 0.0), limit))
}

fn meaning(
    view: Option<&View>,
    late: &Late<'_>,
    (model, vector): (&Model, &[f32]),
    likely: &[u32],
    limit: usize,
) -> Result<Vec<(u32, f32)>, IndexError> {
    let found = match view.and_then(|view| view.vectors.as_ref()) {
        Some(vectors) => vectors.nearest(vector, limit, likely)?,
        None => Vec::new(),
    };
    Ok(best_of(
        found,
        late.passages().map(|(place, known, ordinal)| (place, known.cosine(model, ordinal, vector))),
        limit,
    ))
}

fn best_of(found: Vec<(u32, f32)>, late: impl Iterator<Item = (u32, f32)>, limit: usize) -> Vec<(u32, f32)> {
    let mut best = Best::new(limit);
    for (place, score) in found.into_iter().chain(late) {
        best.push(place, score);
    }
    best.into_vec()
}

fn join(
    view: Option<&View>,
    late: &Late<'_>,
    by_words: Vec<(u32, f32)>,
    by_meaning: Vec<(u32, f32)>,
    vector: Option<(&Model, &[f32])>,
) -> Result<Vec<Hit>, IndexError> {
    let mut scores: HashMap<u32, (f32, f32)> =
        by_meaning.into_iter().map(|(place, score)| (place, (0.0, score))).collect();
    for (place, score) in by_words {
        match scores.entry(place) {
            Entry::Occupied(mut both) => both.get_mut().0 = score,
            Entry::Vacant(one) => {
                let cosine = match (vector, late.get(place), view.and_then(|view| view.vectors.as_ref())) {
                    (Some((model, vector)), Some((known, ordinal)), _) => {
                        known.cosine(model, ordinal, vector)
                    }
                    (Some((_, vector)), None, Some(vectors)) => vectors.score(vector, place)?,
                    (None, ..) | (Some(_), None, None) => 0.0,
                };
                one.insert((score, cosine));
            }
        }
    }
    let mut hits = Vec::with_capacity(scores.len());
    for (place, (lexical, semantic)) in scores {
        if let Some((known, ordinal)) = late.get(place) {
            let facts = &known.doc.facts;
            hits.push(Hit {
                memory: known.doc.memory,
                ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
                lexical,
                semantic,
                importance: facts.importance,
                pinned: facts.pinned,
                is_entry: facts.is_entry,
                updated: facts.updated,
            });
        } else if let Some(view) = view {
            let row = view.rows.get(place as usize);
            hits.push(Hit {
                memory: i64::from(row.memory),
                ordinal: row.ordinal,
                lexical,
                semantic,
                importance: row.importance(),
                pinned: row.is_pinned(),
                is_entry: row.is_entry(),
                updated: i64::from(row.updated),
            });
        }
    }
    Ok(hits)
}

pub(super) fn each(
    index: &Index,
    tail: &Tail,
    filter: &Filter,
    each: &mut dyn FnMut(Seen),
) -> Result<(), IndexError> {
    let hidden = tail.hidden(index);
    if let Some(view) = index.view() {
        let set = admitted(view, filter, &hidden)?.unwrap_or_else(|| view.living());
        for row in set.rows() {
            let row = view.rows.get(row);
            if row.ordinal == 0 {
                each(Seen {
                    memory: i64::from(row.memory),
                    importance: row.importance(),
                    pinned: row.is_pinned(),
                    is_entry: row.is_entry(),
                    updated: i64::from(row.updated),
                    expires: (row.expires > 0).then_some(i64::from(row.expires)),
                });
            }
        }
    }
    for known in tail.docs() {
        let facts = &known.doc.facts;
        if !known.doc.passages.is_empty() && admits(filter, known.doc.memory, facts) {
            each(Seen {
                memory: known.doc.memory,
                importance: facts.importance,
                pinned: facts.pinned,
                is_entry: facts.is_entry,
                updated: facts.updated,
                expires: facts.expires,
            });
        }
    }
    Ok(())
}
