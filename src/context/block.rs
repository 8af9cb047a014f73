//! One block of a message: what kind it is, and what it hangs on.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a block is, as far as editing must know. Kinds that are not known here pass through as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// `text`
    Text,
    /// `image`, `document`, `search_result`, `container_upload`: what a user brings.
    Attachment,
    /// `tool_use`: a call of a tool of the client's.
    ToolUse,
    /// `tool_result`: its answer.
    ToolResult,
    /// `server_tool_use`: a call of a tool that the API runs.
    ServerToolUse,
    /// `…_tool_result` of such a tool, in the same message or a later one of the same turn.
    ServerToolResult,
    /// `mcp_tool_use`: a call of a remote tool that the API runs.
    McpToolUse,
    /// `mcp_tool_result`
    McpToolResult,
    /// `thinking` or `redacted_thinking`: signed.
    Thinking,
    /// `compaction`: a summary that the API made.
    Compaction,
    /// `fallback`: where another model took over.
    Fallback,
    /// `tool_addition` or `tool_removal`, in a system message: which tools there are from here on.
    ToolChange,
    /// Any other.
    Other,
}

impl Kind {
    /// The kind that a block's `type` names.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "image" | "document" | "search_result" | "container_upload" => Self::Attachment,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "server_tool_use" => Self::ServerToolUse,
            "mcp_tool_use" => Self::McpToolUse,
            "mcp_tool_result" => Self::McpToolResult,
            "thinking" | "redacted_thinking" => Self::Thinking,
            "compaction" => Self::Compaction,
            "fallback" => Self::Fallback,
            "tool_addition" | "tool_removal" => Self::ToolChange,
            name if name.ends_with("_tool_result") => Self::ServerToolResult,
            _ => Self::Other,
        }
    }

    /// Whether it calls a tool, whoever runs that.
    #[must_use]
    pub fn is_call(self) -> bool {
        matches!(self, Self::ToolUse | Self::ServerToolUse | Self::McpToolUse)
    }

    /// Whether it answers a call.
    #[must_use]
    pub fn is_result(self) -> bool {
        matches!(self, Self::ToolResult | Self::ServerToolResult | Self::McpToolResult)
    }

    /// Whether it is signed, or the API's own: it is sent back as it came, or not at all.
    #[must_use]
    pub fn is_sealed(self) -> bool {
        matches!(self, Self::Thinking | Self::Compaction | Self::Fallback)
    }
}

/// One block.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Block {
    /// What it is.
    pub kind: Kind,
    /// Its `type`, as it stands there.
    pub name: Box<str>,
    /// The `id` of a call.
    pub id: Option<Box<str>>,
    /// The `tool_use_id` of a result: the call that it answers.
    pub answers: Option<Box<str>>,
    /// The `caller.tool_id` of a call: the code execution that made it.
    pub caller: Option<Box<str>>,
    /// The `name` of the tool that a call is of.
    pub tool: Option<Box<str>>,
    /// Whether it has a `cache_control` that is not null.
    pub is_cache_mark: bool,
    /// Text with nothing but white space in it, or none; of a compaction: `""` (null is not blank).
    pub is_blank: bool,
    /// Where it stands in the JSON of its message.
    pub span: Range<usize>,
}

/// The fields that are read, whatever they hold: of a kind that is not known they may mean anything.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    caller: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Caller<'a> {
    #[serde(borrow)]
    tool_id: Option<&'a RawValue>,
}

impl Block {
    /// Reads a block, which stands at `start` in its message. `None`: it is no object with a `type`.
    pub(super) fn read(raw: &RawValue, start: usize) -> Option<Self> {
        let fields: Fields<'_> = serde_json::from_str(raw.get()).ok()?;
        let name = text(fields.kind)?;
        let kind = Kind::of(&name);
        let owned = |field: Option<&RawValue>| text(field).map(Box::from);
        let caller = fields.caller.and_then(|caller| serde_json::from_str::<Caller<'_>>(caller.get()).ok());
        let is_blank = match kind {
            Kind::Text => text(fields.text).is_none_or(|text| text.trim().is_empty()),
            Kind::Compaction => text(fields.content).is_some_and(|text| text.trim().is_empty()),
            _ => false,
        };
        Some(Self {
            kind,
            id: owned(fields.id),
            answers: owned(fields.tool_use_id),
            caller: caller.and_then(|caller| owned(caller.tool_id)),
            tool: owned(fields.name),
            is_cache_mark: fields.cache_control.is_some_and(|mark| mark.get() != "null"),
            is_blank,
            span: start..start + raw.get().len(),
            name: name.into(),
        })
    }

    /// Reads a block from its own JSON.
    pub(super) fn from_json(json: &str) -> Option<Self> {
        Self::read(serde_json::from_str(json).ok()?, 0)
    }

    /// The blocks in the `content` of a block, as a tool result has them, each with its number among all that is in there;
    /// `span` says where in `json`.
    pub(super) fn parts(json: &str) -> Vec<(usize, Self)> {
        let fields: Option<Fields<'_>> = serde_json::from_str(json).ok();
        let content = fields.and_then(|fields| fields.content);
        let parts: Option<Vec<&RawValue>> =
            content.and_then(|content| serde_json::from_str(content.get()).ok());
        let at = |part: &RawValue| part.get().as_ptr().addr() - json.as_ptr().addr();
        let parts = parts.into_iter().flatten().enumerate();
        parts.filter_map(|(number, part)| Some((number, Self::read(part, at(part))?))).collect()
    }

    /// The block of a message whose content is a plain string.
    pub(super) fn of_string(raw: &RawValue, start: usize) -> Option<Self> {
        let is_blank = text(Some(raw))?.trim().is_empty();
        Some(Self {
            kind: Kind::Text,
            name: "text".into(),
            id: None,
            answers: None,
            caller: None,
            tool: None,
            is_cache_mark: false,
            is_blank,
            span: start..start + raw.get().len(),
        })
    }
}

/// A string, which is copied only where something in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The string that a field holds.
pub(super) fn text(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str(field?.get()).ok().map(|Text(text)| text)
}
