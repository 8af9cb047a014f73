//! What the API itself edits, when it is asked to: results of tools and thinking that are cleared (`context_management`), and
//! a summary that takes the place of everything (`compact_20260112`, or the request's own `compaction`).
//!
//! Sources: <https://platform.claude.com/docs/en/build-with-claude/context-editing>, `compaction-threshold` and
//! `compaction-on-demand` beside it, and the types of the Python SDK. Edits are made in the order in which they are asked for;
//! what a model signed is judged before them, on what was sent.

use serde_json::{Value, json};

use super::ask::Ask;
use super::prompt::{Prompt, value_of};
use super::seal::Signer;
use crate::context::{Entry, Kind, Message, Request, Role};

mod clear;
mod summary;
#[cfg(test)]
mod tests;

use clear::{Keep, ToolUses};
pub(super) use summary::{Summary, asking, check};

/// Input tokens at which a summary is made, unless the edit says otherwise.
const COMPACTS_AT: u64 = 150_000;

/// A request as the model reads it.
#[derive(Debug, Clone)]
pub(super) struct Edited {
    pub(super) request: Request,
    /// `context_management.applied_edits` of the response.
    pub(super) applied: Vec<Value>,
    /// A `compact_…` edit that is due: a summary comes before the answer.
    pub(super) compaction: Option<Compaction>,
}

/// A summary that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compaction {
    /// Whether the response ends with it.
    pub(super) pauses: bool,
    /// What the summary is asked for with, if not with what is usual.
    pub(super) instructions: Option<String>,
}

/// Carries out the edits of a request whose prompt is `prompt`.
pub(super) fn edit(ask: &Ask, prompt: &Prompt) -> Edited {
    let mut edited = Edited { request: ask.request.clone(), applied: Vec::new(), compaction: None };
    let mut tokens = prompt.tokens();
    if !ask.edits.iter().any(|edit| edit["type"] == "clear_thinking_20251015") {
        let cleared = clear::thinking(&edited.request, Keep::of_model(&ask.model));
        tokens = tokens.saturating_sub(cleared.tokens);
        edited.request = cleared.request;
    }
    for edit in &ask.edits {
        let (counted, cleared) = match edit["type"].as_str() {
            Some("clear_thinking_20251015") => {
                let keep = Keep::read(&edit["keep"], &ask.model);
                ("cleared_thinking_turns", clear::thinking(&edited.request, keep))
            }
            Some("clear_tool_uses_20250919") => {
                let uses = ToolUses::read(edit);
                ("cleared_tool_uses", clear::tool_uses(&edited.request, &uses, prompt.head_tokens()))
            }
            Some("compact_20260112") => {
                edited.compaction = due(edit, &edited.request, tokens);
                continue;
            }
            _ => continue,
        };
        if cleared.number > 0 {
            edited.applied.push(json!({
                "type": edit["type"],
                counted: cleared.number,
                "cleared_input_tokens": cleared.tokens,
            }));
        }
        tokens = tokens.saturating_sub(cleared.tokens);
        edited.request = cleared.request;
    }
    edited
}

/// What a `compact_20260112` edit asks for, when there are so many tokens. A turn that was paused is gone on with first.
fn due(edit: &Value, request: &Request, tokens: u64) -> Option<Compaction> {
    let trigger = edit["trigger"]["value"].as_u64().unwrap_or(COMPACTS_AT);
    let is_paused = messages(request).last().is_some_and(|(_, message)| is_assistants(message));
    (tokens >= trigger && !is_paused).then(|| Compaction {
        pauses: edit["pause_after_compaction"] == true,
        instructions: edit["instructions"].as_str().map(str::to_owned),
    })
}

fn is_assistants(message: &Message) -> bool {
    message.role() == Role::Assistant
}

/// The messages of a request, with their numbers.
fn messages(request: &Request) -> impl DoubleEndedIterator<Item = (usize, &Message)> {
    request.messages().iter().enumerate().filter_map(|(i, entry)| match entry {
        Entry::Message(message) => Some((i, message)),
        Entry::Broken { .. } => None,
    })
}

/// Where what is read of the messages begins: at the last summary, if there is one.
fn beginning(request: &Request) -> (usize, usize) {
    let at = messages(request).rev().find_map(|(i, message)| {
        let blocks = message.blocks().iter().enumerate().rev();
        let summary = blocks.into_iter().find(|(_, block)| {
            block.kind == Kind::Compaction && !value_of(message, block)["content"].is_null()
        });
        summary.map(|(j, _)| (i, j))
    });
    at.unwrap_or_default()
}

/// What a request reads with a summary, or with one that failed, behind it.
pub(super) fn behind(request: &Request, block: &Value, model: &str, signer: &Signer) -> Prompt {
    let message = json!({"role": "assistant", "content": [block]});
    let last = Message::from_value(&message).ok();
    let all = messages(request).map(|(_, message)| message.clone()).chain(last);
    Prompt::of(&request.with_messages(all), model, signer, false)
}
