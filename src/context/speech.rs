//! What a block says: its text, taken out of the JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::block::{self, Block, Kind};
use super::message::{Message, Role};

#[derive(Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

/// What a result holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) text: Cow<'a, str>,
    /// Images; they are not text, and cannot be kept as such.
    pub(super) images: usize,
    /// Whether there is anything but text and images in it.
    pub(super) has_more: bool,
}

/// The fields of a block, when they are what they should be.
pub(super) fn said(json: &str) -> Option<Said<'_>> {
    serde_json::from_str(json).ok()
}

/// What a block says to who reads it; of thinking, nothing.
pub(super) fn text_of<'a>(message: &'a Message, block: &'a Block) -> Cow<'a, str> {
    let json = message.block_json(block);
    if message.is_string() {
        return serde_json::from_str(json).ok().and_then(|raw| block::text(Some(raw))).unwrap_or_default();
    }
    let Some(said) = said(json) else { return Cow::Borrowed("") };
    match block.kind {
        Kind::Text => said.text.unwrap_or_default(),
        Kind::ToolUse | Kind::ServerToolUse | Kind::McpToolUse => {
            said.input.map_or(Cow::Borrowed(""), |input| Cow::Borrowed(input.get()))
        }
        Kind::ToolResult | Kind::McpToolResult | Kind::Compaction => {
            said.content.map_or(Cow::Borrowed(""), |content| answer(content).text)
        }
        Kind::Thinking => Cow::Borrowed(""),
        _ => Cow::Borrowed(json),
    }
}

/// How many bytes of thinking a block shows: the signature is not read by the model.
pub(super) fn thinking(json: &str) -> Option<usize> {
    Some(said(json)?.thinking?.len())
}

/// The summary in a compaction block; `None`: there is none, and nothing before it was left out.
pub(super) fn compaction(json: &str) -> Option<String> {
    serde_json::from_str(said(json)?.content?.get()).ok().filter(|text: &String| !text.trim().is_empty())
}

/// A message of the assistant's that is a summary, and nothing else.
pub(super) fn compacted(message: &Value) -> Option<Message> {
    let message = Message::from_value(message).ok().filter(|message| message.role() == Role::Assistant)?;
    let is_summary = match message.blocks() {
        [block] => block.kind == Kind::Compaction && compaction(message.block_json(block)).is_some(),
        _ => false,
    };
    is_summary.then_some(message)
}

/// Reads the content of a result: a string or a list of blocks.
pub(super) fn answer(content: &RawValue) -> Answer<'_> {
    let mut answer = Answer { text: Cow::Borrowed(""), images: 0, has_more: false };
    if let Some(text) = block::text(Some(content)) {
        answer.text = text;
        return answer;
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    answer.has_more = parts.is_empty() && content.get() != "null";
    for part in parts {
        match (&*part.kind, part.text) {
            ("text", Some(text)) if answer.text.is_empty() => answer.text = text,
            ("text", Some(text)) => {
                let all = answer.text.to_mut();
                all.push('\n');
                all.push_str(&text);
            }
            ("image", _) => answer.images += 1,
            _ => answer.has_more = true,
        }
    }
    answer
}
