//! A line of a script, read strictly.

use serde_json::{Map, Value};

use super::Row;
use super::recorded::Recorded;
use super::reply::{self, Reply};
use super::when::When;
use crate::text::{echo, nearest};

const LINE: &[&str] =
    &["when", "reply", "times", "request", "response", "status", "retry_after", "message", "lines", "note"];
const RULE: &[&str] = &["when", "reply", "times"];
const RECORDED: &[&str] = &["request", "response", "status", "retry_after"];

/// Reads a line. `None`: it says nothing.
pub(super) fn row(number: usize, line: &str) -> Result<Option<Row>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| not_json(&error))?;
    let fields = object(&value, "a line")?;
    let has = |name: &str| fields.contains_key(name);
    if let Some(name) = fields.keys().find(|name| reply::FIELDS.contains(&name.as_str())) {
        return Err(format!("`{name}` belongs into `reply`: {{\"reply\": {{\"{name}\": …}}}}"));
    }
    if has("request") || has("response") {
        only(fields, "a recorded line", RECORDED)?;
        return recorded(number, fields);
    }
    for log in ["message", "lines", "note"] {
        if has(log) {
            only(fields, "a line of a log", &[log])?;
            return logged(number, log, &fields[log]);
        }
    }
    only(fields, "a line", LINE)?;
    only(fields, "a line with a reply", RULE)?;
    let reply = fields.get("reply").ok_or("`reply` is missing: {\"reply\": {\"text\": …}}")?;
    let reply = Reply::read(reply)?;
    let when = fields.get("when").map(When::read).transpose()?;
    let times = count_of(fields, "times")?;
    if times == Some(0) {
        return Err("`times` is 0, and the line would never be played: 1 or more, or no line".to_owned());
    }
    let is_summary = when.as_ref().map_or_else(|| reply.is_summary(), |when| when.compaction);
    let left = times.or(if when.is_some() { None } else { Some(1) });
    Ok(Some(Row { line: number, when, is_summary, left, recorded: None, reply }))
}

/// A line of a session that was recorded. What was only counted says nothing.
fn recorded(number: usize, fields: &Map<String, Value>) -> Result<Option<Row>, String> {
    let request = fields.get("request").ok_or("`request` is missing: the body of the request")?;
    let response = fields.get("response").ok_or("`response` is missing: the body of the response")?;
    let status = match count_of(fields, "status")? {
        None => 200,
        Some(status) => u16::try_from(status).map_err(|_| "`status` is a status of HTTP")?,
    };
    object(response, "`response`")?;
    if response["input_tokens"].is_u64() {
        return Ok(None);
    }
    let is_summary = request.get("compaction").is_some_and(|it| !it.is_null());
    let recorded = Some(Recorded::read(request)?);
    let reply = Reply::recorded(status, response)?.after(count_of(fields, "retry_after")?);
    Ok(Some(Row { line: number, when: None, is_summary, left: Some(1), recorded, reply }))
}

/// A line of the log of a conversation. Only what the assistant said is said.
fn logged(number: usize, field: &str, value: &Value) -> Result<Option<Row>, String> {
    let message = match (field, value) {
        ("note", _) => return Ok(None),
        ("lines", Value::String(lines)) => serde_json::from_str(lines).map_err(|error| not_json(&error))?,
        ("lines", _) => return Err("`lines` is the JSON of a message, in a string".to_owned()),
        _ => value.clone(),
    };
    let message = object(&message, "`message`")?;
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => {}
        Some("user" | "system") => return Ok(None),
        _ => return Err("`role` of `message` is `user`, `assistant` or `system`".to_owned()),
    }
    let reply = Reply::logged(message.get("content").unwrap_or(&Value::Null))?;
    let is_summary = reply.is_summary();
    Ok(Some(Row { line: number, when: None, is_summary, left: Some(1), recorded: None, reply }))
}

fn not_json(error: &serde_json::Error) -> String {
    let why = error.to_string();
    let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    format!("no JSON, at column {}: {why}; a script has one object a line", error.column())
}

/// The fields of what should be an object.
pub(super) fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is {}, where an object belongs", kind_of(value)))
}

/// Refuses fields that are not known.
pub(super) fn only(fields: &Map<String, Value>, what: &str, known: &[&str]) -> Result<(), String> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let nearest = nearest(name, known);
            Err(format!("{what} has no field `{}`; the nearest known one is `{nearest}`", echo(name)))
        }
    }
}

pub(super) fn string_of(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    read_as(fields, name, "a text", |value| value.as_str().map(str::to_owned))
}

pub(super) fn count_of(fields: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    read_as(fields, name, "a whole number that is not negative", Value::as_u64)
}

pub(super) fn bool_of(fields: &Map<String, Value>, name: &str) -> Result<Option<bool>, String> {
    read_as(fields, name, "true or false", Value::as_bool)
}

fn read_as<T>(
    fields: &Map<String, Value>,
    name: &str,
    what: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let wrong = || format!("`{name}` is {}, where {what} belongs", kind_of(value));
    read(value).map(Some).ok_or_else(wrong)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
