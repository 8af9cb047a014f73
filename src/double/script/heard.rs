//! What of a request a script looks at.

use serde_json::Value;

use crate::context::{Entry, Kind, Message, Role};
use crate::double::ask::Ask;
use crate::double::prompt::value_of;

/// What was said, in short.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    /// The texts of the user's last turn that has any: results of tools may have come after it.
    pub(super) last: String,
    /// What the tools answered, when the conversation ends with that.
    pub(super) results: Option<String>,
    pub(super) system: String,
    /// Turns of the assistant.
    pub(super) turns: u64,
    pub(super) messages: usize,
    /// Names of the tools that are offered.
    tools: Vec<String>,
    /// Whether tools are offered whose names are not told.
    has_toolset: bool,
}

impl Heard {
    pub(super) fn of(ask: &Ask) -> Self {
        let messages: Vec<&Message> = ask
            .request
            .messages()
            .iter()
            .filter_map(|entry| match entry {
                Entry::Message(message) => Some(message),
                Entry::Broken { .. } => None,
            })
            .collect();
        let mut heard = Self { messages: messages.len(), ..Self::default() };
        heard.system = said(ask.fields.get("system").unwrap_or(&Value::Null));
        heard.hear_user(&messages);
        heard.count_turns(&messages);
        heard.find_tools(ask, &messages);
        heard
    }

    pub(super) fn is_offered(&self, tool: &str) -> bool {
        self.has_toolset || self.tools.iter().any(|known| known == tool)
    }

    fn hear_user(&mut self, messages: &[&Message]) {
        let spoken: Vec<&Message> =
            messages.iter().copied().filter(|message| message.role() != Role::System).collect();
        let turns = spoken.chunk_by(|one, next| one.role() == next.role());
        let turns = || turns.clone().rev().filter(|turn| turn[0].role() == Role::User);
        let texts = turns().map(|turn| texts_of(turn, Kind::Text));
        self.last = texts.into_iter().find(|texts| !texts.is_empty()).unwrap_or_default().join("\n");
        let ends_with_user = spoken.last().is_some_and(|message| message.role() == Role::User);
        let results = turns().next().filter(|_| ends_with_user).map(|turn| texts_of(turn, Kind::ToolResult));
        self.results = results.filter(|results| !results.is_empty()).map(|results| results.join("\n"));
    }

    fn count_turns(&mut self, messages: &[&Message]) {
        let mut before = None;
        for role in messages.iter().map(|message| message.role()).filter(|role| *role != Role::System) {
            if role == Role::Assistant && before != Some(role) {
                self.turns += 1;
            }
            before = Some(role);
        }
    }

    fn find_tools(&mut self, ask: &Ask, messages: &[&Message]) {
        for tool in ask.fields.get("tools").and_then(Value::as_array).into_iter().flatten() {
            match tool["name"].as_str() {
                Some(name) => self.tools.push(name.to_owned()),
                None => self.has_toolset |= tool["type"] != "mcp_toolset",
            }
        }
        for message in messages.iter().filter(|message| message.role() == Role::System) {
            for block in message.blocks().iter().filter(|block| block.kind == Kind::ToolChange) {
                let value = value_of(message, block);
                let tool = &value["tool"];
                let Some(name) = tool["tool_name"].as_str().or_else(|| tool["definition"]["name"].as_str())
                else {
                    continue;
                };
                self.tools.retain(|known| known != name);
                if value["type"] == "tool_addition" {
                    self.tools.push(name.to_owned());
                }
            }
        }
    }
}

/// What the blocks of a kind in a turn say.
fn texts_of(turn: &[&Message], kind: Kind) -> Vec<String> {
    let blocks = turn.iter().flat_map(|message| message.blocks().iter().map(move |block| (message, block)));
    let blocks = blocks.filter(|(_, block)| block.kind == kind);
    blocks.map(|(message, block)| said(&value_of(message, block))).collect()
}

/// The text of a string, of blocks, or of a block and what is in it.
fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(said).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            fields.get("text").or_else(|| fields.get("content")).map(said).unwrap_or_default()
        }
        _ => String::new(),
    }
}
