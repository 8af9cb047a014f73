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
    /// The profile of a model: the longest prefix of its name in the table counts, wherever a provider puts that name
    /// (`us.anthropic.claude-opus-4-6-v1:0`, `anthropic/claude-opus-4.6`). A name that is not known, a newer version of a
    /// known one among them, gets what is right, if not always best, for any model: no prefill, no system messages in
    /// between, thinking bound.
    ///
    /// # Panics
    /// Never: a test reads the table.
    #[must_use]
    pub fn of(model: &str) -> Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        let table = TABLE.get_or_init(|| {
            serde_json::from_str(include_str!("models.json")).expect("a test reads the table")
        });
        let default = table.default.clone();
        let Some(row) = best_row(&table.models, model, |row| &row.prefix) else { return default };
        Self {
            window: row.window.unwrap_or(default.window),
            binding: row.binding.unwrap_or(default.binding),
            prefill: row.prefill.unwrap_or(default.prefill),
            mid_system: row.mid_system.unwrap_or(default.mid_system),
            cache: row.cache.unwrap_or(default.cache),
        }
    }
}

/// The row of a table whose prefix is the longest of the model's name, wherever a provider puts that name.
pub(crate) fn best_row<'a, T>(rows: &'a [T], model: &str, prefix: impl Fn(&T) -> &str) -> Option<&'a T> {
    let name = own_name(model);
    let is_of = |row: &&T| name.strip_prefix(prefix(row)).is_some_and(|rest| !is_newer(rest));
    rows.iter().filter(is_of).max_by_key(|row| prefix(row).len())
}

/// The name of a model, wherever a provider puts it, and however it writes numbers.
pub(crate) fn own_name(model: &str) -> String {
    model.find("claude-").map_or(model, |at| &model[at..]).replace('.', "-")
}

/// Whether what follows a name makes it that of another version: `-5`, but not `-20251101` or `-v1:0`.
fn is_newer(rest: &str) -> bool {
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    matches!(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()), 1 | 2)
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
        for (name, window, binding, prefill, mid_system) in [
            ("claude-3-7-sonnet-latest", 200_000, Binding::Ignore, true, false),
            ("claude-sonnet-4-20250514", 200_000, Binding::Ignore, true, false),
            ("claude-opus-4-5-20251101", 200_000, Binding::Ignore, true, false),
            ("claude-haiku-4-5", 200_000, Binding::Ignore, true, false),
            ("us.anthropic.claude-opus-4-6-v1:0", 1_000_000, Binding::Ignore, false, false),
            ("anthropic/claude-sonnet-4.6", 1_000_000, Binding::Ignore, false, false),
            ("claude-opus-4-8", 1_000_000, Binding::Ignore, false, true),
            ("claude-sonnet-5", 1_000_000, Binding::Ignore, false, false),
            ("claude-opus-5", 1_000_000, Binding::Ignore, false, true),
            ("claude-fable-5", 1_000_000, Binding::Ignore, false, true),
            ("claude-fable-5-1", 1_000_000, Binding::StripThinking, false, true),
            ("claude-mythos-5-2", 1_000_000, Binding::StripThinking, false, true),
            ("claude-opus-5-5", 1_000_000, Binding::StripThinking, false, true),
            ("claude-haiku-5-5-20261001", 1_000_000, Binding::StripThinking, false, true),
        ] {
            let found = Profile::of(name);
            assert_eq!(
                (found.window, found.binding, found.prefill, found.mid_system),
                (window, binding, prefill, mid_system),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_treated_with_care() {
        for name in ["", "llama-4", "claude-opus-5-6", "claude-opus-50", "claude-sonnet-6", "claude-haiku-5"]
        {
            let profile = Profile::of(name);
            assert!(
                !profile.prefill && !profile.mid_system && profile.binding == Binding::StripThinking,
                "{name}"
            );
        }
    }
}
