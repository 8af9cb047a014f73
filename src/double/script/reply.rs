//! What a line says, read strictly, and made ready for a request.

use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::fill::Fill;
use super::heard::Heard;
use super::read::{count_of, object, only, string_of};
use super::{Line, Play, text};
use crate::context::Kind;
use crate::double::ask::Ask;
use crate::text::{echo, nearest};

/// Fields of a reply.
pub(super) const FIELDS: &[&str] = &[
    "text",
    "thinking",
    "tool_use",
    "content",
    "error",
    "stop_reason",
    "stop_details",
    "output_tokens",
    "breaks_after",
];
/// Fields of a recorded message that are said as they are.
const KEPT: &[&str] = &["stop_sequence", "stop_details", "container"];
const STOPS: &[&str] = &[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "compaction",
    "refusal",
    "model_context_window_exceeded",
];

/// What a line says.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    content: Vec<Value>,
    /// Whether what stands in braces in its texts is filled in.
    is_filled_in: bool,
    error: Option<Failure>,
    stop_reason: Option<String>,
    output_tokens: Option<u64>,
    breaks_after: Option<usize>,
    fields: Map<String, Value>,
    /// Whether its summary was told before the rest of it.
    is_summary_told: bool,
}

impl Reply {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = object(value, "`reply`")?;
        only(fields, "`reply`", FIELDS)?;
        let mut reply = Self::of_content(fields)?;
        reply.error = fields.get("error").map(Failure::read).transpose()?;
        reply.stop_reason = string_of(fields, "stop_reason")?;
        if let Some(stop) = reply.stop_reason.as_deref().filter(|stop| !STOPS.contains(stop)) {
            let nearest = nearest(stop, STOPS);
            return Err(format!(
                "`stop_reason` is never `{}`; the nearest that is, is `{nearest}`",
                echo(stop)
            ));
        }
        reply.output_tokens = count_of(fields, "output_tokens")?;
        let breaks_after = count_of(fields, "breaks_after")?;
        reply.breaks_after = breaks_after.map(|after| usize::try_from(after).unwrap_or(usize::MAX));
        if let Some(details) = fields.get("stop_details") {
            object(details, "`stop_details`")?;
            reply.fields.insert("stop_details".to_owned(), details.clone());
        }
        let says = ["text", "thinking", "tool_use", "content"].iter().any(|name| fields.contains_key(*name));
        match (says, reply.error.is_some(), reply.breaks_after.is_some()) {
            (false, false, _) => {
                Err("`reply` says nothing: `text`, `tool_use`, `content` or `error` belongs there \
                                      (`\"content\": []` is an empty message)"
                    .to_owned())
            }
            (false, true, true) => {
                Err("`breaks_after` breaks a message, and there is none: `text` or `content` \
                                        belongs beside `error`"
                    .to_owned())
            }
            (true, true, false) => {
                Err("`error` beside a message ends its stream: `breaks_after` says after how \
                                        many events"
                    .to_owned())
            }
            _ => Ok(reply),
        }
    }

    /// What fields of a reply say in short, or block by block.
    fn of_content(fields: &Map<String, Value>) -> Result<Self, String> {
        let mut content = Vec::new();
        if let Some(thinking) = string_of(fields, "thinking")? {
            content.push(json!({"type": "thinking", "thinking": thinking}));
        }
        if let Some(said) = string_of(fields, "text")? {
            if said.trim().is_empty() {
                return Err(
                    "`text` is blank, which no history may have: `\"content\": []` is an empty message"
                        .to_owned(),
                );
            }
            content.push(text(&said));
        }
        match fields.get("tool_use") {
            None => {}
            Some(Value::Array(calls)) => {
                for one in calls {
                    content.push(call(one)?);
                }
            }
            Some(one) => content.push(call(one)?),
        }
        let Some(blocks) = fields.get("content") else {
            return Ok(Self { content, is_filled_in: true, ..Self::default() });
        };
        if !content.is_empty() {
            return Err(
                "`content` holds all blocks: no `text`, `thinking` or `tool_use` beside it".to_owned()
            );
        }
        Ok(Self { content: blocks_of(blocks)?, ..Self::default() })
    }

    /// With a time to wait, if it is an error.
    pub(super) fn after(mut self, seconds: Option<u64>) -> Self {
        if let Some(failure) = &mut self.error {
            failure.retry_after = seconds;
        }
        self
    }

    /// What a response that was recorded says.
    pub(super) fn recorded(status: u16, response: &Value) -> Result<Self, String> {
        if response["type"] == "error" {
            let error = Failure::recorded(status, response);
            return Ok(Self { error: Some(error), ..Self::default() });
        }
        if status != 200 {
            return Err(format!("`status` is {status}, and `response` is no error"));
        }
        let fields = object(response, "`response`")?;
        let content = fields.get("content").ok_or("`response` is no message: it has no `content`")?;
        let kept = fields.iter().filter(|(name, value)| KEPT.contains(&name.as_str()) && !value.is_null());
        Ok(Self {
            content: blocks_of(content)?,
            stop_reason: response["stop_reason"].as_str().map(str::to_owned),
            output_tokens: response["usage"]["output_tokens"].as_u64(),
            fields: kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
            ..Self::default()
        })
    }

    /// What the content of a message in a log says.
    pub(super) fn logged(content: &Value) -> Result<Self, String> {
        let content = match content {
            Value::String(said) => vec![text(said)],
            blocks => blocks_of(blocks)?,
        };
        Ok(Self { content: content.into_iter().map(without_mark).collect(), ..Self::default() })
    }

    /// Whether it is a summary and nothing else.
    pub(super) fn is_summary(&self) -> bool {
        !self.content.is_empty() && self.content.iter().all(|block| block["type"] == "compaction")
    }

    /// Names of the client's tools that it calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        let calls = self.content.iter().filter(|block| block["type"] == "tool_use");
        calls.filter_map(|block| block["name"].as_str())
    }

    /// The summary that it begins with, which is then not told again.
    pub(super) fn take_summary(&mut self) -> Option<Value> {
        let summary = self.content.first().filter(|block| block["type"] == "compaction").cloned();
        self.is_summary_told = summary.is_some();
        summary
    }

    /// What is said, or how it fails.
    pub(super) fn play(&mut self, ask: &Ask, heard: &Heard) -> Play {
        let failure = self.error.as_ref();
        if let Some(Failure { error, retry_after }) = failure.filter(|_| !self.breaks_with_error(ask)) {
            return Play::Fails { error: error.clone(), retry_after: *retry_after };
        }
        let skipped = usize::from(std::mem::take(&mut self.is_summary_told));
        let mut content: Vec<Value> = self.content.iter().skip(skipped).cloned().collect();
        if self.is_filled_in {
            let fill = Fill::of(ask, heard);
            for block in &mut content {
                fill.fill(block);
            }
            content.retain(|block| block["type"] != "text" || block["text"] != "");
        }
        if self.is_filled_in && ask.compacts {
            content = summarised(&content);
        }
        Play::Says(Line {
            content,
            stop_reason: self.stop_reason.clone(),
            output_tokens: self.output_tokens,
            breaks_after: self.breaks_after,
            breaks_with: self.error.as_ref().map(|failure| failure.error.clone()),
            fields: self.fields.clone(),
        })
    }

    fn breaks_with_error(&self, ask: &Ask) -> bool {
        self.breaks_after.is_some() && ask.is_stream
    }
}

/// A call of a tool, in short. One that brings its id is complete.
fn call(value: &Value) -> Result<Value, String> {
    let fields = object(value, "`tool_use`")?;
    only(fields, "`tool_use`", &["name", "input", "id"])?;
    let name = string_of(fields, "name")?.ok_or("`tool_use` needs the `name` of a tool")?;
    let input = fields.get("input").cloned().unwrap_or_else(|| json!({}));
    object(&input, "`input` of `tool_use`")?;
    let mut call = json!({"type": "tool_use"});
    if let Some(id) = string_of(fields, "id")? {
        call["id"] = json!(id);
    }
    call["name"] = json!(name);
    call["input"] = input;
    call["caller"] = json!({"type": "direct"});
    Ok(call)
}

/// Blocks as the API sends them. Of kinds that are known, what is needed to tell them is looked at.
fn blocks_of(value: &Value) -> Result<Vec<Value>, String> {
    let blocks = value.as_array().ok_or("`content` is a list of blocks; a text goes into `text`")?;
    for (number, block) in blocks.iter().enumerate() {
        let wrong = |why: String| format!("`content.{number}`: {why}");
        let fields = object(block, "a block").map_err(wrong)?;
        let kind = string_of(fields, "type").map_err(wrong)?;
        let kind = kind.ok_or_else(|| wrong("a block needs a `type`".to_owned()))?;
        let needs: &[&str] = match kind.as_str() {
            "text" => &["text"],
            "thinking" => &["thinking"],
            _ if Kind::of(&kind).is_call() => &["name"],
            _ => &[],
        };
        for name in needs {
            let needed = string_of(fields, name).map_err(wrong)?;
            needed.ok_or_else(|| wrong(format!("`{name}` is missing in `{kind}`")))?;
        }
        if let Some(input) = fields.get("input").filter(|_| Kind::of(&kind).is_call()) {
            object(input, "`input`").map_err(wrong)?;
        }
    }
    Ok(blocks.clone())
}

/// A block without the cache mark that was put on it when it was sent back.
fn without_mark(mut block: Value) -> Value {
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove("cache_control");
    }
    block
}

/// A reply in short as a summary.
fn summarised(content: &[Value]) -> Vec<Value> {
    let texts = content.iter().filter(|block| block["type"] == "text");
    let summary: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
    let summary = if summary.is_empty() { Value::Null } else { json!(summary.join("\n")) };
    vec![json!({"type": "compaction", "content": summary})]
}
