//! Whole conversations, planned and judged as the API would.

mod compaction;
mod failures;
pub(crate) mod grammar;
pub(crate) mod properties;
pub(crate) mod scripts;
mod settings;
mod sizes;
mod validity;

use serde_json::{Value, json};

use super::*;

/// A profile with a small window.
fn profile(binding: Binding, window: u64) -> Profile {
    Profile { window, binding, ..Profile::default() }
}

fn transcript(messages: &[Value]) -> Transcript {
    messages.iter().map(|message| Message::from_value(message).unwrap()).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A round: calls with these ids, and their results, each of so many bytes.
fn round(ids: &[&str], bytes: usize) -> [Value; 2] {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"type": "tool_use", "id": id, "name": "grep", "input": {"pattern": "x"}}))
        .collect();
    let results: Vec<Value> = ids
        .iter()
        .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": prose(bytes)}))
        .collect();
    [json!({"role": "assistant", "content": calls}), json!({"role": "user", "content": results})]
}

/// So many bytes of words.
fn prose(bytes: usize) -> String {
    "the quick brown fox jumps over the lazy dog and ".chars().cycle().take(bytes).collect()
}

fn rendered(transcript: &Transcript, plan: &Plan) -> Vec<Value> {
    serde_json::from_str(&render(transcript, plan)).unwrap()
}

fn text_of(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}
