//! What differs between two texts, in the unified format.

/// The unified diff of two texts with `context` lines around each change, without the two lines of file names; empty when
/// they are equal.
#[must_use]
pub fn unified(_old: &str, _new: &str, _context: usize) -> String {
    todo!()
}
