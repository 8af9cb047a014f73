//! What an agent is told before it asks.

use super::{Recall, Result};

/// What is to be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefetch {
    /// The user's words, if there are any yet.
    pub query: Option<String>,
    /// At most so many memories.
    pub limit: usize,
    /// At least so important.
    pub min_importance: u8,
    /// About so many tokens (4 characters each).
    pub budget: usize,
}

impl Default for Prefetch {
    fn default() -> Self {
        Self { query: None, limit: 5, min_importance: 3, budget: 2000 }
    }
}

impl Recall {
    /// A block for the system prompt; empty where there is nothing to tell.
    ///
    /// # Errors
    /// As [`Recall::retrieve`].
    pub fn prefetch(&self, _what: &Prefetch) -> Result<String> {
        todo!()
    }
}
