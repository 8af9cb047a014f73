//! The prompt cache: what of a request was there already, and what is kept of it.
//!
//! Source of every rule: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>. What is kept are prefixes,
//! each up to a mark; what is looked up are the prefixes that end at a mark, or at one of the blocks before it. Nothing
//! that is asked to be counted is kept.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::ask::Ask;
use super::models::of_model;
use super::prompt::{At, Mark, Part, Prompt, plain, value_of};
use crate::context::{Entry, Kind, Request};
use crate::hash::Hash;

/// Positions that are looked at for a mark, its own among them ("The lookback window is 20 blocks").
const LOOKBACK: usize = 20;
/// Prefixes that are kept at most: those that would go first go.
const MOST: usize = 4_096;
/// Tokens that a prefix must have to be kept, by how the name of a model begins: the longest counts ("Cache limitations").
/// Of a model that is not known, the most that any asks for.
const LEAST: [(&str, u64); 14] = [
    ("", 4_096),
    ("claude-3-", 1_024),
    ("claude-3-haiku", 2_048),
    ("claude-3-5-haiku", 2_048),
    ("claude-fable-", 512),
    ("claude-mythos-", 512),
    ("claude-mythos-preview", 2_048),
    ("claude-opus-4", 1_024),
    ("claude-opus-4-5", 4_096),
    ("claude-opus-4-6", 4_096),
    ("claude-opus-4-7", 2_048),
    ("claude-opus-4-8", 1_024),
    ("claude-opus-5", 512),
    ("claude-sonnet-", 1_024),
];

/// What is kept, and until when.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {
    kept: HashMap<Hash, Kept>,
}

/// A prefix that is kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    until: Duration,
    lifetime: Duration,
}

/// The input of a request, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Neither read from the cache nor written to it.
    pub(super) fresh: u64,
    pub(super) read: u64,
    /// Written, to be kept for five minutes.
    pub(super) short: u64,
    /// Written, to be kept for an hour.
    pub(super) long: u64,
}

impl Cache {
    /// Looks up what is there of a prompt, and keeps what its marks ask for.
    ///
    /// What is read ends at the last prefix that is found. What is written is from there to the last mark: for an hour as
    /// far as the last mark for an hour goes, for five minutes from there ("Mixing different TTLs"). A prefix that is used
    /// is kept as long again.
    pub(super) fn take(&mut self, prompt: &Prompt, ask: &Ask, now: Duration) -> Usage {
        self.kept.retain(|_, kept| kept.until > now);
        let scope = Scope::of(ask);
        let mut sum = 0;
        let ends: Vec<u64> = prompt
            .parts
            .iter()
            .map(|part| {
                sum += part.tokens;
                sum
            })
            .collect();
        let shortest = least(&ask.model);
        let marks: Vec<(usize, Mark)> = prompt.parts.iter().enumerate().filter_map(marked).collect();
        let marks: Vec<(usize, Mark)> = marks.into_iter().filter(|(at, _)| ends[*at] >= shortest).collect();
        let hit = marks.iter().rev().find_map(|(at, _)| self.find(&prompt.parts[..=*at], &scope));
        let end = |at: Option<usize>| at.map_or(0, |at| ends[at]);
        let read = end(hit);
        let last_long = marks.iter().rev().find(|(_, mark)| *mark == Mark::OneHour);
        let long = end(last_long.map(|(at, _)| *at)).max(read);
        let written = end(marks.last().map(|(at, _)| *at)).max(long);
        if let Some(kept) = hit.and_then(|at| self.kept.get_mut(&scope.key(&prompt.parts[at]))) {
            kept.use_at(now);
        }
        for (at, mark) in marks {
            let lifetime = mark.lifetime();
            let new = Kept { until: now, lifetime };
            self.kept.entry(scope.key(&prompt.parts[at])).or_insert(new).use_at(now);
        }
        self.forget();
        Usage { fresh: sum - written, read, short: written - long, long: long - read }
    }

    /// The last part of a prefix that is kept, of those that end in the window before its own end.
    fn find(&self, parts: &[Part], scope: &Scope) -> Option<usize> {
        let mut positions = 0;
        let mut after: Option<Kind> = None;
        for (at, part) in parts.iter().enumerate().rev() {
            // "a run of consecutive `tool_use` blocks counts as one position, and so does a run of `tool_result` blocks"
            let is_of_run = part.kind == after && matches!(after, Some(Kind::ToolUse | Kind::ToolResult));
            positions += usize::from(!is_of_run);
            if positions > LOOKBACK {
                return None;
            }
            if self.kept.contains_key(&scope.key(part)) {
                return Some(at);
            }
            after = part.kind;
        }
        None
    }

    fn forget(&mut self) {
        while self.kept.len() > MOST {
            let first = self.kept.iter().min_by_key(|(key, kept)| (kept.until, key.0));
            let Some(key) = first.map(|(key, _)| *key) else { return };
            self.kept.remove(&key);
        }
    }
}

impl Kept {
    fn use_at(&mut self, now: Duration) {
        self.until = self.until.max(now + self.lifetime);
    }
}

impl Mark {
    fn lifetime(self) -> Duration {
        Duration::from_secs(match self {
            Self::FiveMinutes => 5 * 60,
            Self::OneHour => 60 * 60,
        })
    }
}

fn marked((at, part): (usize, &Part)) -> Option<(usize, Mark)> {
    Some((at, part.mark?))
}

/// The tokens that a prefix must have to be kept.
fn least(model: &str) -> u64 {
    of_model(model, &LEAST).unwrap_or_default()
}

/// What a prefix hangs on beside what is in it ("What invalidates the cache").
struct Scope {
    model: String,
    /// Of `system`, and of all after it.
    system: String,
    messages: String,
}

impl Scope {
    fn of(ask: &Ask) -> Self {
        let field = |name: &str| ask.fields.get(name).unwrap_or(&Value::Null);
        let (citations, images) = (cites(&ask.request), shows_images(&ask.request));
        let system = json!([field("speed"), citations]).to_string();
        let thinking = field("thinking");
        let choice = match field("tool_choice") {
            Value::Null => json!({"type": "auto"}).to_string(),
            choice => plain(choice),
        };
        // What is the default is the same whether it is said or not.
        let effort = field("output_config").get("effort").filter(|effort| *effort != "high");
        let messages = json!([system, choice, images, thinking["type"], thinking["budget_tokens"], effort]);
        Self { model: ask.model.clone(), system, messages: messages.to_string() }
    }

    fn key(&self, part: &Part) -> Hash {
        let scope = match part.at {
            At::Tool => "",
            At::System => &self.system,
            At::Block(..) => &self.messages,
        };
        Hash::of_parts(&[self.model.as_bytes(), b"\0", scope.as_bytes(), b"\0", &part.chain.0])
    }
}

/// The blocks of a request in which a word stands.
fn blocks_with(request: &Request, word: &str) -> impl Iterator<Item = Value> {
    let messages = request.messages().iter().filter_map(|entry| match entry {
        Entry::Message(message) => Some(message),
        Entry::Broken { .. } => None,
    });
    messages.flat_map(move |message| {
        let blocks = message.blocks().iter();
        let named = blocks.filter(move |block| {
            memchr::memmem::find(message.block_json(block).as_bytes(), word.as_bytes()).is_some()
        });
        named.map(move |block| value_of(message, block))
    })
}

fn cites(request: &Request) -> bool {
    blocks_with(request, "\"citations\"").any(|block| block["citations"]["enabled"] == true)
}

fn shows_images(request: &Request) -> bool {
    let is_image = |block: &Value| block["type"] == "image";
    blocks_with(request, "\"image\"").any(|block| {
        is_image(&block) || block["content"].as_array().is_some_and(|parts| parts.iter().any(is_image))
    })
}

impl Usage {
    /// As an entry of `usage.iterations`.
    pub(super) fn iteration(self, kind: &str, output: u64) -> Value {
        let mut usage = self.counts();
        usage["type"] = json!(kind);
        usage["output_tokens"] = json!(output);
        usage
    }

    /// As the API reports it.
    pub(super) fn counts(self) -> Value {
        json!({
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.short + self.long,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.short,
                "ephemeral_1h_input_tokens": self.long,
            },
        })
    }
}

#[cfg(test)]
mod tests;
