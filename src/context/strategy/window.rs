//! The latest atoms stay.

use super::{Candidate, fill};

/// Which candidates stay: the latest, as many as there is room for.
pub(in crate::context) fn choose(candidates: &[Candidate], room: f64) -> Vec<bool> {
    fill(candidates, (0..candidates.len()).rev(), room)
}
