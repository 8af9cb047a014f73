//! Where a block ends early: at a stop sequence, or where the tokens end.

use serde_json::{Value, json};

use super::kind_of;
use crate::context::Kind;
use crate::double::prompt::tokens_of_text;

/// A block, as far as it goes.
pub(super) struct Cut {
    /// `None`: nothing is left of it.
    pub(super) block: Option<Value>,
    pub(super) tokens: u64,
    /// Why nothing comes after it, with the sequence that was met.
    pub(super) ends: Option<(&'static str, Option<String>)>,
}

/// Cuts a block. `left`: so many tokens may still be said.
pub(super) fn cut(mut block: Value, left: u64, stops: &[String]) -> Cut {
    let mut ends = None;
    if kind_of(&block) == "text"
        && let Some(text) = block["text"].as_str()
        && let Some((at, stop)) = first(text, stops)
    {
        block["text"] = json!(text[..at]);
        ends = Some(("stop_sequence", Some(stop.clone())));
    }
    let tokens = tokens_of(&block);
    if tokens > left {
        let block = (left > 0).then(|| shortened(block, left)).flatten();
        return Cut { block, tokens: left, ends: Some(("max_tokens", None)) };
    }
    // Of a text that began with the sequence nothing is left.
    let is_empty = ends.is_some() && block["text"] == "";
    Cut { block: Some(block).filter(|_| !is_empty), tokens, ends }
}

/// The stop sequence that comes first in a text, and where.
fn first<'s>(text: &str, stops: &'s [String]) -> Option<(usize, &'s String)> {
    let stops = stops.iter().filter(|stop| !stop.is_empty());
    stops.filter_map(|stop| Some((text.find(stop.as_str())?, stop))).min_by_key(|(at, _)| *at)
}

/// The tokens that a block took to say. What a server's tool answered, the model did not say.
fn tokens_of(block: &Value) -> u64 {
    let of = |name: &str| block[name].as_str().map_or(0, tokens_of_text);
    let kind = kind_of(block);
    match (kind, Kind::of(kind)) {
        ("text", _) => of("text"),
        ("thinking", _) => of("thinking"),
        ("redacted_thinking", _) => of("data"),
        ("compaction", _) => of("content"),
        (_, kind) if kind.is_call() => tokens_of_text(&format!("{} {}", block["name"], block["input"])),
        (_, Kind::Other) => tokens_of_text(&block.to_string()),
        _ => 0,
    }
}

/// What a block has of so many tokens. A call has those of its arguments that are whole.
fn shortened(mut block: Value, left: u64) -> Option<Value> {
    match kind_of(&block) {
        name @ ("text" | "thinking") => {
            let name = name.to_owned();
            let text = beginning(block[&name].as_str().unwrap_or_default(), left).to_owned();
            if text.is_empty() {
                return None;
            }
            block[name] = json!(text);
        }
        kind if Kind::of(kind).is_call() => {
            let mut tokens = tokens_of_text(&block["name"].to_string());
            let all = block["input"].as_object().cloned().unwrap_or_default();
            let fits = |(name, value): &(String, Value)| {
                tokens += tokens_of_text(&format!("{name}: {value}"));
                tokens <= left
            };
            block["input"] = Value::Object(all.into_iter().take_while(fits).collect());
        }
        // A summary that was cut off is none, and of what is sealed nothing can be taken away.
        "compaction" => block["content"] = Value::Null,
        _ => return None,
    }
    Some(block)
}

/// As much of a text as has so many tokens at most.
fn beginning(text: &str, tokens: u64) -> &str {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let kept = ends.partition_point(|end| tokens_of_text(&text[..*end]) <= tokens);
    &text[..kept.checked_sub(1).map_or(0, |last| ends[last])]
}
