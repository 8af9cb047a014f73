//! From candidates to an order: pure.
//!
//! Words and meaning are each brought to 0 to 1 by what a good answer would have, and added up. On the questions of
//! `fixtures/retrieval` that order is as good as the one by the range of each among the candidates (min-max: recall@10 .787
//! and .788), and the sum is absolute: it says whether the best hit is any good.

use crate::index::{Hit, Hits};

/// The share of words in a score; the rest is meaning. From .4 to .6 it makes no difference that can be told from chance.
pub(super) const WORDS: f32 = 0.5;
/// A word that stands once in a passage of average length has about this part of the BM25 that it can have at most (k1 = .6:
/// 1 / 1.6). An answer that has every word of the question once is as good by words as it need be.
const ONCE: f32 = 1.0 / 1.6;
/// Texts that have nothing to do with each other have about this cosine.
const UNRELATED: f32 = 0.2;
/// How much of a score effective importance decides: enough between answers that are as good. Twice as much costs .004 of
/// recall@10 in `fixtures/retrieval`, since what is old and fits gives way to what is new and does not.
const IMPORTANCE: f32 = 0.05;
/// What the best passage beside a passage adds, of its own relevance: who asked, what was said before and after. On ten real
/// chats (REALTALK, 705 questions, a memory for each turn) evidence recall@10 rises from .549 to .572; twice as much gains nothing
/// more, and costs other questions what only stands beside an answer.
const NEIGHBOUR: f32 = 0.1;
/// Memories are beside each other, too, if they were made one right after the other: their numbers follow each other, and no more
/// seconds lie between their last changes. In `fixtures/retrieval` an hour costs .004 of recall@10, ten minutes nothing.
const BESIDE: u64 = 600;
/// Raw importance is at most this.
pub(super) const MOST_IMPORTANT: f32 = 5.0;
const DAY: f32 = 86_400.0;

/// A candidate with its score, and how that came about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scored {
    pub(super) hit: Hit,
    pub(super) score: f32,
    /// By words (1: all of them once) and by meaning (1: the same).
    pub(super) lexical: f32,
    pub(super) semantic: f32,
    /// Both together, and what neighbours added.
    pub(super) relevance: f32,
    pub(super) neighbours: f32,
    /// The multiplier of effective importance.
    pub(super) importance: f32,
}

/// Importance decayed by age: importance × 2^(−age / half-life). What is pinned does not age.
pub(super) fn effective(importance: u8, pinned: bool, updated: i64, now: i64, half_life_days: f32) -> f32 {
    if pinned || half_life_days <= 0.0 {
        return f32::from(importance);
    }
    #[allow(clippy::cast_precision_loss, reason = "days are counted")]
    let days = now.saturating_sub(updated).max(0) as f32 / DAY;
    f32::from(importance) * (-days / half_life_days).exp2()
}

/// How good an answer is by words alone: 1 has all of them once.
pub(super) fn by_words(lexical: f32, ideal: f32) -> f32 {
    let good = ideal * ONCE;
    if good > 0.0 { lexical / good } else { 0.0 }
}

/// Scores the candidates, best first; `words` is the share of words in that, 0 to 1, and the rest is meaning.
pub(super) fn rank(hits: Hits, words: f32, now: i64, half_life_days: f32) -> Vec<Scored> {
    let Hits { hits, ideal } = hits;
    let mut scored: Vec<Scored> = hits
        .into_iter()
        .map(|hit| {
            let lexical = by_words(hit.lexical, ideal);
            let semantic = ((hit.semantic - UNRELATED) / (1.0 - UNRELATED)).max(0.0);
            let relevance = words * lexical + (1.0 - words) * semantic;
            let effective = effective(hit.importance, hit.pinned, hit.updated, now, half_life_days);
            let importance = 1.0 - IMPORTANCE + IMPORTANCE * (effective / MOST_IMPORTANT).min(1.0);
            Scored { score: 0.0, lexical, semantic, relevance, neighbours: 0.0, importance, hit }
        })
        .collect();
    add_neighbours(&mut scored);
    for one in &mut scored {
        one.score = (one.relevance + one.neighbours) * one.importance;
    }
    scored.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.hit.updated.cmp(&a.hit.updated))
            .then((a.hit.memory, a.hit.ordinal).cmp(&(b.hit.memory, b.hit.ordinal)))
    });
    // More than every word once is no better than that to who reads it, but comes first.
    for one in &mut scored {
        one.score = one.score.min(1.0);
    }
    scored
}

/// A passage is worth more where the one before or after it answers, too.
fn add_neighbours(scored: &mut [Scored]) {
    let mut places: Vec<usize> = (0..scored.len()).collect();
    places.sort_unstable_by_key(|&at| (scored[at].hit.memory, scored[at].hit.ordinal));
    for pair in places.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if are_neighbours(&scored[a].hit, &scored[b].hit) {
            let (of_a, of_b) = (scored[a].relevance, scored[b].relevance);
            scored[a].neighbours = scored[a].neighbours.max(NEIGHBOUR * of_b);
            scored[b].neighbours = scored[b].neighbours.max(NEIGHBOUR * of_a);
        }
    }
}

/// Whether a passage is the next one of the same file, or the first one of the memory that was made next. Whether the other is
/// the last one of its own is not known here; of short memories it is.
fn are_neighbours(one: &Hit, next: &Hit) -> bool {
    if one.memory == next.memory {
        return one.ordinal + 1 == next.ordinal;
    }
    one.memory + 1 == next.memory && next.ordinal == 0 && one.updated.abs_diff(next.updated) <= BESIDE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(memory: i64, lexical: f32, semantic: f32) -> Hit {
        Hit {
            memory,
            ordinal: 0,
            lexical,
            semantic,
            importance: 3,
            pinned: false,
            is_entry: true,
            updated: 0,
        }
    }

    fn order(hits: Vec<Hit>) -> Vec<i64> {
        rank(Hits { hits, ideal: 10.0 }, WORDS, 0, 30.0).iter().map(|one| one.hit.memory).collect()
    }

    #[test]
    fn what_has_both_words_and_meaning_is_first() {
        assert_eq!(
            order(vec![hit(1, 1.0, 0.1), hit(2, 8.0, 0.8), hit(3, 8.0, 0.2), hit(4, 0.0, 0.8)]),
            [2, 3, 4, 1]
        );
        assert_eq!(order(Vec::new()), [0_i64; 0]);
    }

    #[test]
    fn scores_are_absolute() {
        let best = |hits: Vec<Hit>| rank(Hits { hits, ideal: 10.0 }, WORDS, 0, 30.0)[0].score;
        assert!(best(vec![hit(1, 0.4, 0.05), hit(2, 0.2, 0.02)]) < 0.1, "a bad best hit scores low");
        assert!(best(vec![hit(1, 9.5, 0.95), hit(2, 0.2, 0.02)]) > 0.8);
        assert!(best(vec![hit(1, 0.0, 0.0)]) == 0.0);
    }

    #[test]
    fn importance_decides_between_equals_and_ages() {
        let mut important = hit(1, 5.0, 0.5);
        important.importance = 5;
        assert_eq!(order(vec![hit(3, 5.0, 0.5), important.clone(), hit(5, 6.5, 0.7)]), [5, 1, 3]);
        let day = 86_400;
        assert!((effective(4, false, 0, 30 * day, 30.0) - 2.0).abs() < 1e-6, "half after a half-life");
        assert!((effective(4, true, 0, 30 * day, 30.0) - 4.0).abs() < 1e-6);
        assert!((effective(4, false, 9 * day, 0, 30.0) - 4.0).abs() < 1e-6, "a clock that went back");
    }

    #[test]
    fn neighbours_lift_each_other() {
        let mut hits = vec![hit(1, 5.0, 0.5), hit(1, 5.0, 0.5), hit(3, 5.0, 0.5), hit(5, 0.0, 0.0)];
        hits[1].ordinal = 1;
        assert_eq!(order(hits), [1, 1, 3, 5]);
    }

    #[test]
    fn memories_that_were_made_one_after_the_other_are_neighbours() {
        let at = |memory, ordinal, updated| Hit { ordinal, updated, ..hit(memory, 5.0, 0.5) };
        for (one, next, expected) in [
            (at(1, 0, 0), at(2, 0, 600), true),
            (at(1, 3, 600), at(2, 0, 0), true),
            (at(1, 0, 0), at(2, 0, 601), false),
            (at(1, 0, 0), at(2, 1, 0), false),
            (at(1, 0, 0), at(3, 0, 0), false),
            (at(1, 0, 0), at(1, 1, 9999), true),
            (at(1, 0, 0), at(1, 2, 0), false),
        ] {
            assert_eq!(are_neighbours(&one, &next), expected, "{one:?} {next:?}");
        }
        let answers = vec![hit(1, 5.0, 0.5), hit(3, 5.0, 0.5), hit(4, 4.9, 0.5), hit(7, 5.0, 0.5)];
        assert_eq!(order(answers), [3, 4, 1, 7]);
    }
}
