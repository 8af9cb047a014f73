//! The prompt cache: what of a request was there already, and what is kept of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::ask::Ask;
use super::prompt::Prompt;

/// What is kept, and until when.
#[derive(Debug, Clone, Default)]
pub(super) struct Cache {}

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
    pub(super) fn take(&mut self, prompt: &Prompt, ask: &Ask, now: Duration) -> Usage {
        let _ = (ask, now);
        Usage { fresh: prompt.tokens(), ..Usage::default() }
    }
}

impl Usage {
    /// As the API reports it.
    pub(super) fn json(self) -> Value {
        json!({
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.short + self.long,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.short,
                "ephemeral_1h_input_tokens": self.long,
            },
            "service_tier": "standard",
        })
    }
}
