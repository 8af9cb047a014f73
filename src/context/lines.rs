//! A line of JSON in, a JSON value out: for commands and for pipes.

use serde_json::{Value, json};

use super::fields;
use super::repair::repaired;
use super::request::Request;
use super::rules::{Violation, violations};

/// Whether a line, which is a request or a list of messages, is valid: `{"valid":…,"violations":[…]}`.
///
/// ```
/// let answer = memdir::context::validate_line(r#"[{"role":"user","content":"Hello."}]"#);
/// assert_eq!(answer.to_string(), r#"{"valid":true,"violations":[]}"#);
/// ```
#[must_use]
pub fn validate_line(line: &str) -> Value {
    let found = match Request::from_json(line) {
        Ok(request) => violations(&request, &request.profile(), &()),
        Err(why) => vec![Violation::no_request(&why)],
    };
    json!({"valid": found.is_empty(), "violations": found})
}

/// A line, which is a request or a list of messages, repaired, as a line of JSON: `{"request":…,"repairs":[…]}` or
/// `{"messages":[…],"repairs":[…]}`. What stays is byte for byte what it was. For what is no request, `violations` in place
/// of `repairs`, and nothing else.
///
/// ```
/// let line = memdir::context::repair_line(r#"[{"role":"user","content":"Hello."},{"role":"user","content":" "}]"#);
/// assert!(line.starts_with(r#"{"messages":[{"role":"user","content":"Hello."}],"repairs":[{"path":"messages.1.content.0""#));
/// ```
#[must_use]
pub fn repair_line(line: &str) -> String {
    let request = match Request::from_json(line) {
        Ok(request) => request,
        Err(why) => return json!({"violations": [Violation::no_request(&why)]}).to_string(),
    };
    let (whole, repairs) = repaired(&request, &request.profile(), &());
    let name = if request.is_list() { "messages" } else { "request" };
    let (whole, repairs) = (whole.json(), json!(repairs).to_string());
    fields::object([(name, whole.as_str()), ("repairs", &repairs)].into_iter())
}
