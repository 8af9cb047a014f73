//! The JSON-lines door: one line in, one line out, whatever the line holds; and whole assistant messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::memory::words;
use super::{Content, Dispatcher, Tool, ToolResult, ToolUse};

/// The user message that answers an assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename = "user")]
pub struct UserMessage {
    /// One result for each call that was answered, in the order of the calls.
    pub content: Vec<ToolResult>,
}

/// What came of an assistant message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The message to send back.
    pub message: UserMessage,
    /// The ids of the calls that are left to the caller: those of tools that are not memdir's.
    pub left_alone: Vec<String>,
}

/// Why a JSON value is no message that could be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It is not an object.
    #[error("the message must be a JSON object")]
    NotAnObject,
    /// It has another role, or none.
    #[error("the message must have the role `assistant`")]
    NotAssistant,
}

/// What a line asks for.
#[derive(Debug, PartialEq)]
enum Line {
    /// One call.
    Call(ToolUse),
    /// The calls of an assistant message.
    Message(Vec<ToolUse>),
    /// Nothing that could be understood.
    Unreadable(ToolResult),
}

impl Dispatcher {
    /// Answers the calls of an assistant message that are memdir's, in order, and names the others.
    ///
    /// # Errors
    /// [`MessageError`] where there is no assistant message. One without a call is answered by a message without a
    /// result.
    pub fn run_message(&self, message: &Value) -> Result<Answered, MessageError> {
        let message = message.as_object().ok_or(MessageError::NotAnObject)?;
        let (calls, left_alone) = calls_of(message)?;
        Ok(Answered { message: UserMessage { content: self.run_all(&calls) }, left_alone })
    }

    /// Answers one line: a `tool_use` block, a bare input, or an assistant message.
    ///
    /// The answer is one line of JSON without its newline: a result, or the user message that answers the message. A
    /// line that cannot be read, a blank one included, is answered with an error.
    #[must_use]
    pub fn run_line(&self, line: &[u8]) -> String {
        self.run_lines(&[line]).pop().unwrap_or_else(|| to_json(&not_json(String::new())))
    }

    /// Answers several lines as [`Dispatcher::run_line`] would one after the other, in fewer syncs.
    ///
    /// Blank lines have no answer.
    #[must_use]
    pub fn run_lines(&self, lines: &[&[u8]]) -> Vec<String> {
        let lines: Vec<_> = lines.iter().filter_map(|line| read_line(line)).collect();
        let calls = lines.iter().flat_map(|line| match line {
            Line::Call(call) => std::slice::from_ref(call),
            Line::Message(calls) => calls,
            Line::Unreadable(_) => &[],
        });
        let mut results = self.run_each(calls).into_iter();
        let answer = |line| match line {
            Line::Call(_) => to_json(&results.next()),
            Line::Message(calls) => {
                to_json(&UserMessage { content: results.by_ref().take(calls.len()).collect() })
            }
            Line::Unreadable(result) => to_json(&result),
        };
        lines.into_iter().map(answer).collect()
    }
}

fn read_line(line: &[u8]) -> Option<Line> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let Ok(value) = serde_json::from_slice(line) else {
        return Some(Line::Unreadable(not_json(readable_id(line))));
    };
    let Value::Object(mut object) = value else {
        return Some(unreadable(words::NOT_AN_OBJECT));
    };
    Some(match object.get("type").and_then(Value::as_str) {
        Some("tool_use") => Line::Call(take_call(&mut object)),
        _ if object.contains_key("role") && !object.contains_key("command") => match calls_of(&object) {
            Ok((calls, _)) => Line::Message(calls),
            Err(error) => unreadable(&words::no_message(error)),
        },
        _ => {
            let name = Tool::of_input(&object).name().to_owned();
            Line::Call(ToolUse { id: String::new(), name, input: Value::Object(object) })
        }
    })
}

/// The calls of a message that are answered here, and the ids of those that are not.
fn calls_of(message: &Map<String, Value>) -> Result<(Vec<ToolUse>, Vec<String>), MessageError> {
    if message.get("role").and_then(Value::as_str) != Some("assistant") {
        return Err(MessageError::NotAssistant);
    }
    let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (mut calls, mut left_alone) = (Vec::new(), Vec::new());
    for block in blocks.iter().filter_map(Value::as_object) {
        if block.get("type").and_then(Value::as_str) != Some("tool_use") {
            continue;
        }
        let call = take_call(&mut block.clone());
        if Tool::named(&call.name).is_some() {
            calls.push(call);
        } else {
            left_alone.push(call.id);
        }
    }
    Ok((calls, left_alone))
}

/// A `tool_use` block, in which a model or a host may have put anything: what has the wrong type counts as empty.
fn take_call(block: &mut Map<String, Value>) -> ToolUse {
    let mut take = |key| block.get_mut(key).map(Value::take).unwrap_or_default();
    let text = |value| if let Value::String(text) = value { text } else { String::new() };
    ToolUse { id: text(take("id")), name: text(take("name")), input: take("input") }
}

/// The id of a line whose JSON has a flaw that its reader can pass over, as a lone surrogate or a number too large is.
fn readable_id(line: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Head {
        id: String,
    }
    serde_json::from_slice(line).map_or_else(|_| String::new(), |head: Head| head.id)
}

fn unreadable(words: &str) -> Line {
    Line::Unreadable(error(String::new(), words))
}

fn not_json(tool_use_id: String) -> ToolResult {
    error(tool_use_id, words::NOT_JSON)
}

fn error(tool_use_id: String, words: &str) -> ToolResult {
    ToolResult { tool_use_id, content: Content::Text(words.to_owned()), is_error: true }
}

fn to_json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("text, booleans and lists of them can be written as JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, input: Value) -> Line {
        Line::Call(ToolUse { id: id.to_owned(), name: name.to_owned(), input })
    }

    #[test]
    fn what_a_line_asks_for() {
        let view = json!({"command": "view"});
        let not_json = |id: &str| Line::Unreadable(super::not_json(id.to_owned()));
        let not_an_object = || unreadable(words::NOT_AN_OBJECT);
        let not_assistant = || unreadable(&words::no_message(MessageError::NotAssistant));
        for (line, asks) in [
            (r#"{"command":"view"}"#, call("", "memory", view.clone())),
            ("{}\r", call("", "memory", json!({}))),
            (r#"{"command":"view","role":"x"}"#, call("", "memory", json!({"command": "view", "role": "x"}))),
            (
                r#"{"type":"tool_use","id":"t","name":"memory","input":{"command":"view"}}"#,
                call("t", "memory", view.clone()),
            ),
            (r#"{"type":"tool_use","id":7,"name":"bash"}"#, call("", "bash", Value::Null)),
            (r#"{"type":"tool_use","id":"t","name":["memory"],"input":[]}"#, call("t", "", json!([]))),
            (r#"{"role":"assistant","content":"hello"}"#, Line::Message(vec![])),
            (r#"{"role":"assistant"}"#, Line::Message(vec![])),
            (
                r#"{"id":"msg_1","type":"message","role":"assistant","content":[1,{"type":"text"},
                    {"type":"tool_use","name":"bash","id":"b"},
                    {"type":"tool_use","name":"memory","id":"m","input":{"command":"view"}}]}"#,
                Line::Message(vec![ToolUse { id: "m".to_owned(), name: "memory".to_owned(), input: view }]),
            ),
            (r#"{"role":"user","content":[]}"#, not_assistant()),
            (r#"{"role":null}"#, not_assistant()),
            ("nope", not_json("")),
            ("{} {}", not_json("")),
            (r#"{"type":"tool_use","id":"t","input":{"command":"\ud800"}}"#, not_json("t")),
            (r#"{"type":"tool_use","id":"t","input":{"insert_line":1e999}}"#, not_json("t")),
            (r#"{"type":"tool_use","id":"\ud800","input":{}}"#, not_json("")),
            (r#"{"type":"tool_use","id":"t","input":{"#, not_json("")),
            ("[]", not_an_object()),
            ("null", not_an_object()),
            ("\"view\"", not_an_object()),
        ] {
            assert_eq!(read_line(line.as_bytes()), Some(asks), "{line}");
        }
        assert_eq!(read_line(b"\xff"), Some(not_json("")));
        assert_eq!(read_line("[".repeat(100_000).as_bytes()), Some(not_json("")));
        assert_eq!(read_line(b" \t\r"), None);
    }

    #[test]
    fn the_calls_of_other_tools_are_left_alone() {
        let message = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
            {"type": "tool_use", "id": "b", "name": "memory", "input": {}},
            {"type": "server_tool_use", "id": "c", "name": "memory", "input": {}},
        ]});
        let (calls, left_alone) = calls_of(message.as_object().unwrap()).unwrap();
        assert_eq!(calls.iter().map(|call| &call.id).collect::<Vec<_>>(), ["b"]);
        assert_eq!(left_alone, ["a"]);
    }
}
