//! Front matter written anew.

use chrono::SecondsFormat;

use super::{KEYS, Value, scalar};

/// The file of a new entry: front matter in the order of the specification (other keys after it, as given) and the body,
/// which ends with a newline. An empty list is left out.
pub(crate) fn compose(fields: &[(&str, Value)], body: &str) -> String {
    let mut fields: Vec<_> = fields.iter().filter(|(_, value)| *value != Value::List(Vec::new())).collect();
    fields.sort_by_key(|(key, _)| rank(key));
    let mut text = "---\n".to_owned();
    for (key, value) in fields {
        scalar::push(&mut text, key);
        text.push_str(": ");
        text.push_str(&written(value));
        text.push('\n');
    }
    text.push_str("---\n");
    text.push_str(body);
    if !body.is_empty() && !body.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The place of a key in a new file.
pub(super) fn rank(key: &str) -> usize {
    KEYS.iter().position(|own| *own == key).unwrap_or(KEYS.len())
}

/// A value on one line.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Time(time) => time.to_rfc3339_opts(SecondsFormat::Secs, true),
        Value::Text(text) => {
            let mut out = String::new();
            scalar::push(&mut out, text);
            out
        }
        Value::List(items) => {
            let mut out = "[".to_owned();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                scalar::push(&mut out, item);
            }
            out.push(']');
            out
        }
    }
}
