//! The best of many, by score.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Scored {
    score: f32,
    row: u32,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps so many rows with the highest scores.
pub(in super::super) struct Best {
    limit: usize,
    heap: BinaryHeap<Reverse<Scored>>,
}

impl Best {
    pub(in super::super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(4096) + 1) }
    }

    /// What a score must exceed to be kept.
    pub(in super::super) fn threshold(&self) -> f32 {
        if self.heap.len() < self.limit {
            return 0.0;
        }
        self.heap.peek().map_or(f32::MAX, |worst| worst.0.score)
    }

    pub(in super::super) fn push(&mut self, row: u32, score: f32) {
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(Scored { score, row }));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && worst.0 < (Scored { score, row })
        {
            *worst = Reverse(Scored { score, row });
        }
    }

    /// Best first.
    pub(in super::super) fn into_vec(self) -> Vec<(u32, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(scored)| (scored.row, scored.score)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_scores_stay_in_order() {
        let mut best = Best::new(3);
        for (row, score) in [(1, 0.5), (2, 2.0), (3, 1.0), (4, 1.0), (5, 0.1), (6, 3.0)] {
            best.push(row, score);
        }
        assert!((best.threshold() - 1.0).abs() < f32::EPSILON);
        assert_eq!(best.into_vec(), [(6, 3.0), (2, 2.0), (3, 1.0)]);
        let mut none = Best::new(0);
        none.push(1, 1.0);
        assert_eq!(none.into_vec(), []);
    }
}
