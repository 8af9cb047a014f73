//! A message as the JSON that it came as, with its blocks told apart.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::block::{self, Block, Kind};
use super::fields;

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// What people and tools say.
    User,
    /// What the model says.
    Assistant,
    /// What the operator says in mid-conversation, on models that allow it.
    System,
}

impl Role {
    /// Its name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// One message. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    raw: Arc<str>,
    role: Role,
    blocks: Arc<[Block]>,
    is_string: bool,
}

/// Why something is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {hint}")]
pub struct Malformed {
    /// Where in the message, as `content.2`; empty: the message itself.
    pub at: String,
    /// What belongs there.
    pub hint: &'static str,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl Message {
    /// Reads a message from its JSON, which is kept as it is.
    ///
    /// # Errors
    /// [`Malformed`] for what is no object with a known `role` and with a `content` that is a string or a list of blocks.
    pub fn from_json(json: &str) -> Result<Self, Malformed> {
        let wrong = |at: &str, hint| Malformed { at: at.to_owned(), hint };
        let fields: Fields<'_> = serde_json::from_str(json)
            .map_err(|_| wrong("", "a message is an object with `role` and `content`"))?;
        let role = match block::text(fields.role).as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => return Err(wrong("role", "`user`, `assistant` or `system`")),
        };
        let content = fields.content.ok_or_else(|| wrong("content", "a string or a list of blocks"))?;
        let at = |part: &RawValue| part.get().as_ptr().addr() - json.as_ptr().addr();
        if let Some(block) = Block::of_string(content, at(content)) {
            return Ok(Self { raw: json.into(), role, blocks: [block].into(), is_string: true });
        }
        let parts: Vec<&RawValue> = serde_json::from_str(content.get())
            .map_err(|_| wrong("content", "a string or a list of blocks"))?;
        let read = |(number, part): (usize, &&RawValue)| {
            Block::read(part, at(part))
                .ok_or_else(|| wrong(&format!("content.{number}"), "a block is an object with a `type`"))
        };
        let blocks: Vec<Block> = parts.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self { raw: json.into(), role, blocks: blocks.into(), is_string: false })
    }

    /// Reads a message from a value.
    ///
    /// # Errors
    /// As [`Message::from_json`].
    pub fn from_value(value: &Value) -> Result<Self, Malformed> {
        Self::from_json(&value.to_string())
    }

    /// The JSON that it came as.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.raw
    }

    /// Whose it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its blocks; a plain string counts as one block of text.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether its content is a plain string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.is_string
    }

    /// Whether there is a result of a client's tool in it.
    pub(super) fn has_results(&self) -> bool {
        self.blocks.iter().any(|block| block.kind == Kind::ToolResult)
    }

    /// The message with other blocks, of whom it may be another's; all other fields stay as they are.
    pub(crate) fn with_blocks<T: AsRef<str>>(&self, role: Role, blocks: impl Iterator<Item = T>) -> Self {
        let role = format!("\"{}\"", role.as_str());
        let changes = [("role", Some(role.as_str())), ("content", Some(&fields::list(blocks)))];
        let fields = fields::Fields::read(&self.raw).unwrap_or_default();
        Self::from_json(&fields.with(&changes)).expect("blocks and a role make a message")
    }

    /// The JSON of one of its blocks: of a plain string, that string.
    #[must_use]
    pub fn block_json(&self, block: &Block) -> &str {
        &self.raw[block.span.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Kind;
    use super::*;

    #[test]
    fn what_it_came_as_stays() {
        let json = r#" {"content": [ {"type":"text","text":"\u00e9 "} , {"x":1.00,"type":"new_kind","id":7}],"role":"user"} "#;
        let message = Message::from_json(json).unwrap();
        assert_eq!((message.json(), message.role()), (json, Role::User));
        let [text, other] = message.blocks() else { panic!("{message:?}") };
        assert_eq!(message.block_json(text), r#"{"type":"text","text":"\u00e9 "}"#);
        assert_eq!(message.block_json(other), r#"{"x":1.00,"type":"new_kind","id":7}"#);
        assert_eq!((other.kind, &other.id), (Kind::Other, &None));
    }

    #[test]
    fn a_string_is_one_block_of_text() {
        let message = Message::from_json(r#"{"role":"assistant","content":" \n"}"#).unwrap();
        let [block] = message.blocks() else { panic!("{message:?}") };
        assert!(message.is_string() && block.is_blank && block.kind == Kind::Text);
        assert_eq!(message.block_json(block), r#"" \n""#);
    }

    #[test]
    fn what_hangs_together_is_told() {
        let json = r#"{"role":"assistant","content":[
            {"type":"tool_use","id":"toolu_1","name":"memory","input":{"id":"no"},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}},
            {"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":[],"cache_control":{"type":"ephemeral"}},
            {"type":"compaction","content":null,"cache_control":null}]}"#;
        let message = Message::from_json(json).unwrap();
        let [call, result, compaction] = message.blocks() else { panic!("{message:?}") };
        assert_eq!(
            (call.kind, call.id.as_deref(), call.tool.as_deref()),
            (Kind::ToolUse, Some("toolu_1"), Some("memory"))
        );
        assert_eq!(call.caller.as_deref(), Some("srvtoolu_1"));
        assert_eq!((result.kind, result.answers.as_deref()), (Kind::ServerToolResult, Some("srvtoolu_1")));
        assert!(result.is_cache_mark && !compaction.is_cache_mark && !compaction.is_blank);
    }

    #[test]
    fn what_is_no_message_is_told_where() {
        for (json, at) in [
            ("", ""),
            ("[]", ""),
            (r#"{"role":"user"}"#, "content"),
            (r#"{"content":"x"}"#, "role"),
            (r#"{"role":"tool","content":"x"}"#, "role"),
            (r#"{"role":"user","content":7}"#, "content"),
            (r#"{"role":"user","content":["x"]}"#, "content.0"),
            (r#"{"role":"user","content":[{"type":"text","text":"x"},{}]}"#, "content.1"),
        ] {
            assert_eq!(Message::from_json(json).unwrap_err().at, at, "{json}");
        }
    }
}
