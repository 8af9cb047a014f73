//! What a model allows, by its name: a small table of data, safe for names that are not in it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// How thinking is bound to what stands before it, and what an edit before it does about that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Binding {
    /// Nothing that was sent is changed here; the API may.
    AppendOnly,
    /// All thinking after a change goes.
    StripThinking,
    /// The request tells the API to drop thinking whose prefix has changed.
    DropBlock,
    /// Thinking is not bound to its prefix.
    Ignore,
}

/// Prices of the prompt cache, as multiples of the price of input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cache {
    /// Of a token that is written to it.
    pub write: f64,
    /// Of a token that is read from it.
    pub read: f64,
}

/// What a model allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// Tokens of input and output together.
    pub window: u64,
    /// What an edit does about thinking.
    pub binding: Binding,
    /// Whether a conversation may end with the assistant's words.
    pub prefill: bool,
    /// Whether system messages may stand in mid-conversation.
    pub mid_system: bool,
    /// What the cache costs.
    pub cache: Cache,
}

#[derive(Deserialize)]
struct Table {
    default: Profile,
    models: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    prefix: Box<str>,
    window: Option<u64>,
    binding: Option<Binding>,
    prefill: Option<bool>,
    mid_system: Option<bool>,
    cache: Option<Cache>,
}

impl Profile {
    /// The profile of a model: the longest prefix of its name in the table counts. A name that is not known gets what is
    /// right, if not always best, for any model: no prefill, no system messages in between, thinking bound.
    ///
    /// # Panics
    /// Never: a test reads the table.
    #[must_use]
    pub fn of(model: &str) -> Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        let table = TABLE.get_or_init(|| {
            serde_json::from_str(include_str!("models.json")).expect("a test reads the table")
        });
        let row = table
            .models
            .iter()
            .filter(|row| model.starts_with(&*row.prefix))
            .max_by_key(|row| row.prefix.len());
        let default = table.default.clone();
        let Some(row) = row else { return default };
        Self {
            window: row.window.unwrap_or(default.window),
            binding: row.binding.unwrap_or(default.binding),
            prefill: row.prefill.unwrap_or(default.prefill),
            mid_system: row.mid_system.unwrap_or(default.mid_system),
            cache: row.cache.unwrap_or(default.cache),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::of("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        assert_eq!(Profile::of("claude-opus-4-5-20251101").binding, Binding::Ignore);
        assert_eq!(Profile::of("claude-opus-4-5-20251101").window, 200_000);
        assert_eq!(Profile::of("claude-opus-4-7").window, 1_000_000);
    }

    #[test]
    fn what_is_not_known_is_treated_with_care() {
        for name in ["", "llama-4", "claude-opus-5-5"] {
            let profile = Profile::of(name);
            assert!(!profile.prefill && !profile.mid_system && profile.binding == Binding::StripThinking);
        }
    }
}
