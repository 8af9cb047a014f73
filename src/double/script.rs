//! What is said: rules and replies from a file.

use serde_json::{Value, json};

use super::ask::Ask;
use crate::context::ApiError;

/// What a stand-in says, and when.
#[derive(Debug, Clone, Default)]
pub struct Script {
    replies: Vec<Value>,
}

/// A line of a script that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {why}")]
#[non_exhaustive]
pub struct BadScript {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// What is done about a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Play {
    Says(Line),
    Fails {
        error: ApiError,
        /// Seconds, for the header `retry-after`.
        retry_after: Option<u64>,
    },
}

/// What is said to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    /// Blocks; ids, signatures and the like may be missing.
    pub(super) content: Vec<Value>,
    /// `None`: what follows from the content.
    pub(super) stop_reason: Option<String>,
    /// `None`: counted.
    pub(super) output_tokens: Option<u64>,
    /// After so many events, a stream breaks.
    pub(super) breaks_after: Option<usize>,
}

impl Script {
    /// Reads a script: JSON lines.
    ///
    /// # Errors
    /// [`BadScript`] for the first line that is none.
    pub fn from_lines(lines: &str) -> Result<Self, BadScript> {
        let mut script = Self::default();
        for (at, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let bad = |why: String| BadScript { line: at + 1, why };
            let line: Value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
            script.replies.insert(0, line["reply"].clone());
        }
        Ok(script)
    }

    /// What is said to a request now.
    pub(super) fn play(&mut self, ask: &Ask) -> Play {
        let _ = ask;
        let reply = self.replies.pop().unwrap_or_else(|| json!({"text": "I have nothing to say."}));
        let content = vec![json!({"type": "text", "text": reply["text"]})];
        Play::Says(Line { content, ..Line::default() })
    }

    /// The summary of so many messages that comes before an answer. `None`: none could be made.
    pub(super) fn summary(&mut self, ask: &Ask, messages: usize) -> Option<Line> {
        let _ = ask;
        let said = format!("A summary of {messages} messages.");
        Some(Line { content: vec![json!({"type": "compaction", "content": said})], ..Line::default() })
    }
}
