//! The API edits: which edits it is asked for, and the beta headers that these need.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ClearToolUses;

/// Edits that the API makes, as they stand in `context_management.edits`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// Each with its `type`: `clear_tool_uses_20250919`, `clear_thinking_20251015`, `compact_20260112`, or one to come.
    pub edits: Vec<Value>,
}

impl Delegate {
    /// Results of tools are cleared. (The API does not keep them.)
    #[must_use]
    pub fn clearing(clear: &ClearToolUses) -> Self {
        let edit = json!({
            "type": "clear_tool_uses_20250919",
            "trigger": clear.trigger,
            "keep": clear.keep,
            "clear_at_least": clear.clear_at_least,
            "exclude_tools": clear.exclude_tools,
            "clear_tool_inputs": clear.clear_tool_inputs,
        });
        Self { edits: vec![without_nulls(edit)] }
    }

    /// Thinking of all but the last `turns` turns is cleared.
    #[must_use]
    pub fn clearing_thinking(turns: u64) -> Self {
        let keep = json!({"type": "thinking_turns", "value": turns});
        Self { edits: vec![json!({"type": "clear_thinking_20251015", "keep": keep})] }
    }

    /// The older part is summarised once the input has so many tokens.
    #[must_use]
    pub fn compacting(tokens: u64) -> Self {
        let trigger = json!({"type": "input_tokens", "value": tokens});
        Self { edits: vec![json!({"type": "compact_20260112", "trigger": trigger})] }
    }

    /// The edits of both; thinking is cleared first, as the API wants it.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.edits.extend(other.edits);
        self.edits.sort_by_key(|edit| edit["type"] != "clear_thinking_20251015");
        self
    }
}

/// The beta of a summary on demand.
pub(in crate::context) const ON_DEMAND: &str = "compact-2026-09-04";

/// Whether an edit makes a summary at a threshold. (It cannot be asked for where one that was made on demand is sent.)
pub(in crate::context) fn compacts(edit: &Value) -> bool {
    edit["type"].as_str().is_some_and(|name| name.starts_with("compact_"))
}

/// The beta header that an edit needs.
pub(in crate::context) fn beta(edit: &Value) -> &'static str {
    if compacts(edit) { "compact-2026-01-12" } else { "context-management-2025-06-27" }
}

fn without_nulls(mut edit: Value) -> Value {
    if let Value::Object(fields) = &mut edit {
        fields.retain(|_, value| !value.is_null());
    }
    edit
}
