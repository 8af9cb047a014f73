//! What is said without a script: enough to try an agent with.

use serde_json::{Map, Value, json};

use super::heard::Heard;
use super::{Line, text};
use crate::double::ask::Ask;
use crate::text::quote;

/// An answer that repeats what was said last; or the call that the request demands.
pub(super) fn reply(ask: &Ask, heard: &Heard, is_without_script: bool) -> Line {
    if let Some(call) = demanded(ask) {
        return Line { content: vec![call], ..Line::default() };
    }
    let why = if is_without_script { "I have no script" } else { "no line of my script fits this" };
    let (who, last) = match &heard.results {
        Some(results) => ("The tools answered", results),
        None => ("You said", &heard.last),
    };
    let said =
        format!("This is a stand-in for the Messages API, not a model, and {why}. {who}: {}", quote(last));
    Line { content: vec![text(said.trim_end())], ..Line::default() }
}

/// A summary that says what it stands for.
pub(super) fn summary(heard: &Heard, messages: usize) -> Line {
    let s = if messages == 1 { "" } else { "s" };
    let said = format!(
        "A stand-in for the Messages API wrote this in the place of {messages} message{s}. The user said last: {}",
        quote(&heard.last)
    );
    Line { content: vec![json!({"type": "compaction", "content": said.trim_end()})], ..Line::default() }
}

/// The call that `tool_choice` demands: of the tool that it names, or of the first that can be called.
fn demanded(ask: &Ask) -> Option<Value> {
    let choice = ask.fields.get("tool_choice")?;
    let named = match choice["type"].as_str()? {
        "any" => None,
        "tool" => Some(choice["name"].as_str()?),
        _ => return None,
    };
    let tools = ask.fields.get("tools")?.as_array()?;
    let is_clients = |tool: &Value| match tool["type"].as_str() {
        None | Some("custom") => true,
        Some(kind) => {
            ["bash_", "computer_", "memory_", "text_editor_"].iter().any(|one| kind.starts_with(one))
        }
    };
    let tool = tools.iter().find(|tool| match named {
        Some(named) => tool["name"] == named,
        None => tool["name"].is_string() && is_clients(tool),
    })?;
    let input = sample(&tool["input_schema"], 0);
    let input = if input.is_object() { input } else { json!({}) };
    Some(json!({"type": "tool_use", "name": tool["name"], "input": input, "caller": {"type": "direct"}}))
}

/// The least that a schema asks for.
fn sample(schema: &Value, depth: usize) -> Value {
    if let Some(first) = schema["enum"].get(0).or_else(|| schema.get("const")) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => json!(""),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(0)),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") if depth < 16 => {
            let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let fields = needed.map(|name| (name.to_owned(), sample(&schema["properties"][name], depth + 1)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Some("object") => json!({}),
        _ => Value::Null,
    }
}
