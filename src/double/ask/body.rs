//! The body of a call: an object of JSON.

use serde_json::{Map, Value};

use crate::context::ApiError;
use crate::double::fault::Fault;

/// What a message of `serde_json` is in the words of the API, which reads with `orjson`. The first that is in it counts.
const WORDS: [(&str, &str); 7] = [
    ("control character", "unexpected control character in string"),
    ("surrogate", "no low surrogate in string"),
    ("hex escape", "no low surrogate in string"),
    ("invalid escape", "invalid escaped character in string"),
    ("trailing characters", "unexpected content after document"),
    ("number out of range", "number is infinity when parsed as double"),
    ("recursion limit", "recursion limit reached"),
];

/// The fields of a body. Lists and objects may be in each other 127 deep; the API takes more.
pub(super) fn read(body: &str) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_str(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Fault::NotAnObject.error(&[])),
        Err(error) => Err(refused(body, &error)),
    }
}

fn refused(body: &str, error: &serde_json::Error) -> ApiError {
    let told = error.to_string();
    let why = match WORDS.iter().find(|(theirs, _)| told.contains(theirs)) {
        _ if body.is_empty() => "Input is a zero-length, empty document",
        Some((_, ours)) => ours,
        None if error.is_eof() => "unexpected end of data",
        None => "unexpected character",
    };
    let line = error.line().max(1);
    let column = error.column().max(1);
    let before: usize = body.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let at = (before + column - 1).min(body.len());
    let char = body.char_indices().take_while(|(index, _)| *index < at).count();
    Fault::BadJson.error(&[
        ("why", why),
        ("line", &line.to_string()),
        ("column", &column.to_string()),
        ("char", &char.to_string()),
    ])
}
