//! A message as the events of a stream.
//!
//! As the API sends them, seen in recorded streams and in the types of its SDKs: texts, thinking and the input of calls come
//! in pieces, the first piece of an input is empty, citations come before the text that they are for, and whatever nobody
//! writes word by word (results, sealed thinking, a signed summary) comes whole when its block begins.

use serde_json::{Map, Value, json};

use crate::context::{ApiError, Kind};

#[cfg(test)]
mod tests;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Its name, which is the `type` in its data as well.
    pub name: &'static str,
    /// Its data.
    pub data: Value,
}

impl Event {
    pub(super) fn new(name: &'static str, data: Value) -> Self {
        Self { name, data }
    }

    /// The event as the lines of `text/event-stream`, with the empty line after it.
    #[must_use]
    pub fn lines(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.name, self.data)
    }
}

/// The tokens of the output that are told when a message begins.
const FIRST_TOKENS: u64 = 4;
/// Characters of a piece: the first pieces are small, as the API's are.
const PIECES: [usize; 4] = [4, 9, 15, 22];
/// A text has about so many pieces at most.
const MOST_PIECES: usize = 256;
/// What the usage says at the end: what does not change is told at the beginning alone.
const CUMULATIVE: &[&str] = &[
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
    "iterations",
    "fallback_credit",
];
/// What of the usage is known at the end alone.
const LATE: &[&str] = &["output_tokens_details", "server_tool_use", "iterations"];

/// The events that a message is told in.
pub(super) fn events(message: &Value) -> Vec<Event> {
    let mut events = vec![start(message)];
    let content = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, block) in content.iter().enumerate() {
        let is_cut = index + 1 == content.len() && message["stop_reason"] == "max_tokens";
        let Told { begun, deltas } = told(block, is_cut);
        let begins = json!({"type": "content_block_start", "index": index, "content_block": begun});
        events.push(Event::new("content_block_start", begins));
        if index == 0 {
            events.push(ping());
        }
        events.extend(deltas.into_iter().map(|delta| {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            Event::new("content_block_delta", data)
        }));
        let ends = json!({"type": "content_block_stop", "index": index});
        events.push(Event::new("content_block_stop", ends));
    }
    if content.is_empty() {
        events.push(ping());
    }
    events.push(delta(message));
    events.push(Event::new("message_stop", json!({"type": "message_stop"})));
    events
}

/// The first so many events; and with an error, that one. The other part is whether the connection breaks.
pub(super) fn broken(mut events: Vec<Event>, after: usize, with: Option<&ApiError>) -> (Vec<Event>, bool) {
    if after >= events.len() {
        return (events, false);
    }
    events.truncate(after);
    let Some(error) = with else { return (events, true) };
    let error = json!({"type": "error", "error": {"type": error.kind, "message": error.message}});
    events.push(Event::new("error", error));
    (events, false)
}

fn ping() -> Event {
    Event::new("ping", json!({"type": "ping"}))
}

/// The message before anything is said.
fn start(message: &Value) -> Event {
    let content = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    let first = content.iter().find(|block| block["type"] == "fallback").map(|block| &block["from"]["model"]);
    let first = first.filter(|model| model.is_string()).cloned();
    let mut message = message.clone();
    message["content"] = json!([]);
    // Another takes over later.
    if let Some(model) = first {
        message["model"] = model;
    }
    for name in ["stop_reason", "stop_sequence", "stop_details", "context_management"] {
        if let Some(field) = message.get_mut(name) {
            *field = Value::Null;
        }
    }
    if let Some(fields) = message.as_object_mut() {
        fields.shift_remove("container");
    }
    if let Some(usage) = message.get_mut("usage").and_then(Value::as_object_mut) {
        usage.retain(|name, _| !LATE.contains(&name.as_str()));
        let tokens = usage.get("output_tokens").and_then(Value::as_u64).unwrap_or(1);
        usage.insert("output_tokens".to_owned(), json!(tokens.min(FIRST_TOKENS)));
    }
    Event::new("message_start", json!({"type": "message_start", "message": message}))
}

/// What is known when all is said.
fn delta(message: &Value) -> Event {
    let mut delta = Map::new();
    for name in ["container", "stop_reason", "stop_sequence", "stop_details"] {
        if let Some(value) = message.get(name) {
            delta.insert(name.to_owned(), value.clone());
        }
    }
    let mut usage = message["usage"].as_object().cloned().unwrap_or_default();
    usage.retain(|name, _| CUMULATIVE.contains(&name.as_str()));
    let mut data = json!({"type": "message_delta", "delta": delta, "usage": usage});
    if let Some(edits) = message.get("context_management") {
        data["context_management"] = edits.clone();
    }
    Event::new("message_delta", data)
}

/// How a block is told: as it begins, and what is added to it.
struct Told {
    begun: Value,
    deltas: Vec<Value>,
}

fn told(block: &Value, is_cut: bool) -> Told {
    let mut begun = block.clone();
    let mut deltas = Vec::new();
    let kind = block["type"].as_str().unwrap_or_default();
    match kind {
        "text" => {
            if let Some(citations) = block["citations"].as_array() {
                begun["citations"] = json!([]);
                let each = citations.iter().map(|one| json!({"type": "citations_delta", "citation": one}));
                deltas.extend(each);
            }
            begun["text"] = json!("");
            let text = block["text"].as_str().unwrap_or_default();
            deltas.extend(pieces(text).map(|piece| json!({"type": "text_delta", "text": piece})));
        }
        "thinking" => {
            begun["thinking"] = json!("");
            let thinking = block["thinking"].as_str().unwrap_or_default();
            deltas.extend(pieces(thinking).map(|piece| json!({"type": "thinking_delta", "thinking": piece})));
            if let Some(signature) = block["signature"].as_str() {
                begun["signature"] = json!("");
                deltas.push(json!({"type": "signature_delta", "signature": signature}));
            }
        }
        "compaction" if block["signature"].is_null() => {
            let mut delta = json!({"type": "compaction_delta", "content": block["content"]});
            begun["content"] = Value::Null;
            if let Some(sealed) = block.get("encrypted_content") {
                begun["encrypted_content"] = Value::Null;
                delta["encrypted_content"] = sealed.clone();
            }
            deltas.push(delta);
        }
        kind if Kind::of(kind).is_call() => {
            if let Some(input) = block["input"].as_object() {
                begun["input"] = json!({});
                let json = written(input, is_cut);
                let each = [""].into_iter().chain(pieces(&json));
                deltas.extend(each.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})));
            }
        }
        _ => {}
    }
    Told { begun, deltas }
}

/// The input of a call as a model writes it: nothing when it has no arguments, and without an end when it was cut off.
fn written(input: &Map<String, Value>, is_cut: bool) -> String {
    let each = input.iter().map(|(name, value)| format!("{}: {value}", json!(name)));
    let fields = each.collect::<Vec<_>>().join(", ");
    match (input.is_empty(), is_cut) {
        (true, false) => String::new(),
        (true, true) => "{\"".to_owned(),
        (false, true) => format!("{{{fields}, \""),
        (false, false) => format!("{{{fields}}}"),
    }
}

/// The pieces of a text, none of them empty, cut between characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let least = text.len().div_ceil(MOST_PIECES);
    let mut sizes = PIECES.iter().copied().cycle().map(move |size| size.max(least));
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = sizes.next()?;
        let end = (size..rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
