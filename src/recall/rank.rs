//! From candidates to an order: pure.
//!
//! Words and meaning are brought to one scale by the range that each has among the candidates of the query (min-max), which
//! did better than ranks or fixed weights; both are then divided by what a perfect answer would have, so that the score is
//! absolute: the order is that of min-max, and an irrelevant best hit scores low.

use crate::index::{Hit, Hits};

/// The share of words in a score; the rest is meaning.
const WORDS: f32 = 0.6;
/// How much of a score effective importance decides.
const IMPORTANCE: f32 = 0.15;
/// What the best passage beside a passage adds, of its own relevance.
const NEIGHBOUR: f32 = 0.1;
/// Raw importance is at most this.
const MOST_IMPORTANT: f32 = 5.0;
const DAY: f32 = 86_400.0;

/// A candidate with its score, and how that came about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scored {
    pub(super) hit: Hit,
    pub(super) score: f32,
    /// By words and by meaning, each 0 to 1.
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

/// Scores the candidates, best first.
pub(super) fn rank(hits: Hits, now: i64, half_life_days: f32) -> Vec<Scored> {
    let Hits { hits, ideal } = hits;
    let (lexical, semantic) = (range(&hits, |hit| hit.lexical), range(&hits, |hit| hit.semantic));
    // Without a range, or without an ideal, a side tells nothing.
    let by_words = if ideal > 0.0 && lexical > 0.0 { WORDS / lexical } else { 0.0 };
    let by_meaning = if semantic > 0.0 { (1.0 - WORDS) / semantic } else { 0.0 };
    let perfect = by_words * ideal + by_meaning;
    let mut scored: Vec<Scored> = hits
        .into_iter()
        .map(|hit| {
            let sum = by_words * hit.lexical + by_meaning * hit.semantic.max(0.0);
            let relevance = if perfect > 0.0 { (sum / perfect).min(1.0) } else { 0.0 };
            let effective = effective(hit.importance, hit.pinned, hit.updated, now, half_life_days);
            let importance = 1.0 - IMPORTANCE + IMPORTANCE * (effective / MOST_IMPORTANT).min(1.0);
            let lexical = if ideal > 0.0 { (hit.lexical / ideal).min(1.0) } else { 0.0 };
            let semantic = hit.semantic.clamp(0.0, 1.0);
            Scored { score: 0.0, lexical, semantic, relevance, neighbours: 0.0, importance, hit }
        })
        .collect();
    add_neighbours(&mut scored);
    for one in &mut scored {
        one.score = ((one.relevance + one.neighbours) * one.importance).clamp(0.0, 1.0);
    }
    scored.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.hit.updated.cmp(&a.hit.updated))
            .then((a.hit.memory, a.hit.ordinal).cmp(&(b.hit.memory, b.hit.ordinal)))
    });
    scored
}

/// The distance between the largest and the smallest; the smallest counts as 0 where only one is there.
fn range(hits: &[Hit], of: impl Fn(&Hit) -> f32) -> f32 {
    let most = hits.iter().map(&of).fold(0.0, f32::max);
    let least = if hits.len() > 1 { hits.iter().map(&of).fold(most, f32::min).max(0.0) } else { 0.0 };
    // Where all are alike, the whole tells.
    if most - least > 1e-6 { most - least } else { most }
}

/// A passage is worth more where the one before or after it answers, too.
fn add_neighbours(scored: &mut [Scored]) {
    let mut places: Vec<usize> = (0..scored.len()).collect();
    places.sort_unstable_by_key(|&at| (scored[at].hit.memory, scored[at].hit.ordinal));
    for pair in places.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if scored[a].hit.memory == scored[b].hit.memory && scored[a].hit.ordinal + 1 == scored[b].hit.ordinal
        {
            let (of_a, of_b) = (scored[a].relevance, scored[b].relevance);
            scored[a].neighbours = scored[a].neighbours.max(NEIGHBOUR * of_b);
            scored[b].neighbours = scored[b].neighbours.max(NEIGHBOUR * of_a);
        }
    }
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
        rank(Hits { hits, ideal: 10.0 }, 0, 30.0).iter().map(|one| one.hit.memory).collect()
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
        let best = |hits: Vec<Hit>| rank(Hits { hits, ideal: 10.0 }, 0, 30.0)[0].score;
        assert!(best(vec![hit(1, 0.4, 0.05), hit(2, 0.2, 0.02)]) < 0.1, "a bad best hit scores low");
        assert!(best(vec![hit(1, 9.5, 0.95), hit(2, 0.2, 0.02)]) > 0.8);
        assert!(best(vec![hit(1, 0.0, 0.0)]) == 0.0);
    }

    #[test]
    fn importance_decides_between_equals_and_ages() {
        let mut important = hit(1, 5.0, 0.5);
        important.importance = 5;
        assert_eq!(order(vec![hit(2, 5.0, 0.5), important.clone(), hit(3, 6.5, 0.7)]), [3, 1, 2]);
        let day = 86_400;
        assert!((effective(4, false, 0, 30 * day, 30.0) - 2.0).abs() < 1e-6, "half after a half-life");
        assert!((effective(4, true, 0, 30 * day, 30.0) - 4.0).abs() < 1e-6);
        assert!((effective(4, false, 9 * day, 0, 30.0) - 4.0).abs() < 1e-6, "a clock that went back");
    }

    #[test]
    fn neighbours_lift_each_other() {
        let mut hits = vec![hit(1, 5.0, 0.5), hit(1, 5.0, 0.5), hit(2, 5.0, 0.5), hit(3, 0.0, 0.0)];
        hits[1].ordinal = 1;
        let ranked = rank(Hits { hits, ideal: 10.0 }, 0, 30.0);
        assert_eq!(ranked.iter().map(|one| one.hit.memory).collect::<Vec<_>>(), [1, 1, 2, 3]);
    }
}
