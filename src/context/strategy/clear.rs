//! Results of tools go to memory files, and a placeholder says where.

use serde::{Deserialize, Serialize};

/// Clears old results of tools, by the names and defaults of the API's `clear_tool_uses_20250919`. Unlike there, nothing is
/// lost but images: the text goes to a memory file, whose path stands where the result was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClearToolUses {
    /// When it begins: by default at 100,000 tokens.
    pub trigger: Amount,
    /// How many of the latest uses are left alone: by default 3.
    pub keep: Amount,
    /// How many tokens must go, or nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear_at_least: Option<Amount>,
    /// Tools whose results stay: by default `memory`.
    pub exclude_tools: Vec<String>,
    /// Whether the inputs of the calls go as well.
    pub clear_tool_inputs: ClearInputs,
    /// The memory directory that the texts go to.
    pub spill_to: String,
}

/// A number of tokens or of uses of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Amount {
    /// Tokens of the request.
    InputTokens(u64),
    /// Uses of tools.
    ToolUses(u64),
}

/// Of which tools the inputs are cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ClearInputs {
    /// Of all or of none.
    All(bool),
    /// Of these.
    Of(Vec<String>),
}

impl Default for ClearToolUses {
    fn default() -> Self {
        Self {
            trigger: Amount::InputTokens(100_000),
            keep: Amount::ToolUses(3),
            clear_at_least: None,
            exclude_tools: vec!["memory".to_owned()],
            clear_tool_inputs: ClearInputs::All(false),
            spill_to: "/memories/context".to_owned(),
        }
    }
}

impl ClearToolUses {
    /// Whether the input of a call goes as well.
    pub(in crate::context) fn clears_input(&self, tool: &str) -> bool {
        match &self.clear_tool_inputs {
            ClearInputs::All(all) => *all,
            ClearInputs::Of(tools) => tools.iter().any(|one| one == tool),
        }
    }
}

/// The memory file that the text of a call's result goes to.
pub(in crate::context) fn path(directory: &str, id: &str, message: usize) -> String {
    let directory = directory.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !id.is_empty() && id.len() <= 128 && id.chars().all(is_plain) {
        return format!("{directory}/{id}.txt");
    }
    let id: String = id.chars().filter(|c| is_plain(*c)).take(64).collect();
    format!("{directory}/{message}.{id}.txt")
}

/// What stands where a result was.
pub(in crate::context) fn placeholder(path: &str, images: usize) -> String {
    let lost = match images {
        0 => String::new(),
        1 => " An image that was in it is left out.".to_owned(),
        n => format!(" {n} images that were in it are left out."),
    };
    format!("[Cleared to save room. The text is in {path}: view it if you need it.{lost}]")
}
