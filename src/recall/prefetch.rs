//! What an agent is told before it asks: a block for the system prompt.
//!
//! The text of memories is data. Each has one line, so that none can end the block, begin a heading or pose as another
//! memory; what breaks lines or hides text is taken out.

use std::fmt::Write as _;

use super::{Ask, Memory, Recall, Result};
use crate::text::one_line;

/// What is to be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefetch {
    /// The user's words, if there are any yet.
    pub query: Option<String>,
    /// At most so many memories, beside those that are pinned.
    pub limit: usize,
    /// At least so important.
    pub min_importance: u8,
    /// About so many tokens.
    pub budget: usize,
}

impl Default for Prefetch {
    fn default() -> Self {
        Self { query: None, limit: 5, min_importance: 3, budget: 2000 }
    }
}

const HEADING: &str = "## Relevant Memory\n";
/// So many pinned memories are told at most.
const MOST_PINNED: usize = 100;
/// As many characters of a memory are told.
const LONGEST: usize = 1000;
/// Bytes of a token, about: English has 4 characters in one, and other scripts as many bytes.
const BYTES_PER_TOKEN: usize = 4;

impl Recall {
    /// A block for the system prompt: a heading, and a line for each memory, pinned ones first. Empty where there is nothing
    /// to tell.
    ///
    /// # Errors
    /// As [`Recall::retrieve`].
    pub fn prefetch(&self, what: &Prefetch) -> Result<String> {
        let ask = Ask { min_importance: what.min_importance, limit: what.limit, ..Ask::default() };
        let mut told = self.pinned(&Ask { min_importance: 1, limit: MOST_PINNED, ..Ask::default() })?;
        let query = what.query.clone().unwrap_or_default();
        let found =
            self.retrieve(&Ask { query, limit: what.limit + told.len(), scan: false, ..ask })?.memories;
        let fresh = found.into_iter().filter(|one| told.iter().all(|pinned| pinned.id != one.id));
        let fresh: Vec<Memory> = fresh.take(what.limit).collect();
        told.extend(fresh);
        Ok(block(&told, what.budget))
    }
}

/// The block, as much of it as the budget allows; it says how many are left out.
fn block(memories: &[Memory], budget: usize) -> String {
    if memories.is_empty() {
        return String::new();
    }
    let most = budget.saturating_mul(BYTES_PER_TOKEN);
    let mut text = HEADING.to_owned();
    let mut left_out = 0;
    // The last line must fit, too.
    let reserve = format!("… and {} more\n", memories.len()).len();
    for memory in memories {
        let line = line(memory);
        if text.len() + line.len() + reserve > most {
            left_out += 1;
        } else {
            text.push_str(&line);
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "… and {left_out} more");
    }
    if text.len() > most { String::new() } else { text }
}

/// A memory in a line: the beginning of a long one.
fn line(memory: &Memory) -> String {
    let label = memory.category.clone().unwrap_or_else(|| memory.path.to_string());
    // The label cannot be closed from inside.
    let label = one_line(&label).replace('[', "(").replace(']', ")");
    let content = one_line(&memory.content);
    let mut shown: String = content.chars().take(LONGEST).collect();
    if shown.len() < content.len() {
        shown.push('…');
    }
    format!("- [{label}] {shown}\n")
}
