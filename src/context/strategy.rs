//! The ways to make a conversation smaller; each sees atoms, and says which of them stay.

pub(super) mod clear;
pub(super) mod delegate;
pub(super) mod facts;
pub(super) mod flush;
pub(super) mod oversize;
pub(super) mod retention;
pub(super) mod summary;
pub(super) mod window;

pub use clear::{Amount, ClearInputs, ClearToolUses};
pub use delegate::Delegate;
pub use oversize::{Guarded, Oversize};
pub use retention::Retention;
pub use summary::{Summariser, Summary};

use std::ops::Range;

/// An atom that may go.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) messages: Range<usize>,
    /// In tokens or messages, whatever the budget counts.
    pub(super) cost: f64,
    /// Whether it stays whatever happens.
    pub(super) must: bool,
    /// Earlier candidates that stay as long as it does.
    pub(super) needs: Vec<usize>,
}

/// Which candidates stay: those that must, and what these need.
pub(super) fn must_stay(candidates: &[Candidate]) -> Vec<bool> {
    let mut stays = vec![false; candidates.len()];
    for (at, candidate) in candidates.iter().enumerate() {
        if candidate.must {
            for at in missing(candidates, &stays, at) {
                stays[at] = true;
            }
        }
    }
    stays
}

/// What is to be kept for a candidate to stay: itself, and what it needs and is not there.
pub(super) fn missing(candidates: &[Candidate], stays: &[bool], at: usize) -> Vec<usize> {
    let mut missing = if stays[at] { Vec::new() } else { vec![at] };
    let mut next = 0;
    while let Some(&one) = missing.get(next) {
        next += 1;
        for &needed in &candidates[one].needs {
            if !stays[needed] && !missing.contains(&needed) {
                missing.push(needed);
            }
        }
    }
    missing
}

/// What those that stay cost.
pub(super) fn cost(candidates: &[Candidate], stays: &[bool]) -> f64 {
    candidates.iter().zip(stays).filter(|(_, stays)| **stays).map(|(candidate, _)| candidate.cost).sum()
}

/// Fills the room with candidates in the order given, up to the first that has none left: so that more room keeps all
/// that less room keeps.
pub(super) fn fill(candidates: &[Candidate], order: impl IntoIterator<Item = usize>, room: f64) -> Vec<bool> {
    let mut stays = must_stay(candidates);
    let mut left = room - cost(candidates, &stays);
    for at in order {
        let wanted = missing(candidates, &stays, at);
        left -= wanted.iter().map(|at| candidates[*at].cost).sum::<f64>();
        if left < 0.0 {
            break;
        }
        for at in wanted {
            stays[at] = true;
        }
    }
    stays
}

/// The beginning and the end of a text, at most so many bytes of each.
fn ends(text: &str, head: usize, tail: usize) -> (&str, &str) {
    let mut head = head.min(text.len());
    let mut tail = text.len() - tail.min(text.len() - head);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    (&text[..head], &text[tail..])
}
