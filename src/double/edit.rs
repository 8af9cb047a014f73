//! What the API itself edits, when it is asked to (`context_management`): results of tools and thinking that are cleared,
//! and a summary that takes the place of everything.

use serde_json::Value;

use super::ask::Ask;
use super::prompt::Prompt;
use crate::context::Request;

/// A request as the model reads it.
#[derive(Debug, Clone)]
pub(super) struct Edited {
    pub(super) request: Request,
    /// `context_management.applied_edits` of the response.
    pub(super) applied: Vec<Value>,
    /// A `compact_…` edit that is due: a summary comes before the answer.
    pub(super) compaction: Option<Value>,
}

/// Carries out the edits of a request whose prompt is `prompt`.
pub(super) fn edit(ask: &Ask, prompt: &Prompt) -> Edited {
    let _ = prompt;
    Edited { request: ask.request.clone(), applied: Vec::new(), compaction: None }
}
