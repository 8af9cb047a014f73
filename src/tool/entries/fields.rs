//! The fields of a call's input: each there or not, and of the right JSON type or not.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::tool::memory::as_integer;

/// As many characters of a wrong value are quoted.
const QUOTED: usize = 100;

/// The input of a call. Fields that nobody asks for are ignored; an optional one that is null is absent.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub &'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub fn text(self, name: &'static str) -> Result<&'a str> {
        let value = self.required(name, "a string")?;
        value.as_str().ok_or_else(|| wrong(name, value, "must be a string"))
    }

    pub fn optional_text(self, name: &'static str) -> Result<Option<&'a str>> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| wrong(name, value, "must be a string"));
        self.optional(name).map(text).transpose()
    }

    /// Strings, none where the field is absent.
    pub fn texts(self, name: &'static str) -> Result<Vec<String>> {
        let Some(value) = self.optional(name) else { return Ok(Vec::new()) };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = value.as_array().and_then(|values| values.iter().map(text).collect());
        texts.ok_or_else(|| wrong(name, value, "must be a list of strings"))
    }

    /// 1 to 5.
    pub fn importance(self, name: &'static str) -> Result<u8> {
        let rule = "a whole number from 1 to 5";
        importance(name, self.required(name, rule)?)
    }

    /// As [`Fields::importance`], of a field that may be absent.
    pub fn optional_importance(self, name: &'static str) -> Result<Option<u8>> {
        self.optional(name).map(|value| importance(name, value)).transpose()
    }

    /// At least 1; what is more than `most` counts as that.
    pub fn count(self, name: &'static str, most: usize) -> Result<Option<usize>> {
        let count = |value: &Value| match as_integer(value) {
            Some(count @ 1..) => Ok(usize::try_from(count).unwrap_or(most).min(most)),
            None if is_huge(value) => Ok(most),
            _ => Err(wrong(name, value, &format!("must be a whole number from 1 to {most}"))),
        };
        self.optional(name).map(count).transpose()
    }

    fn required(self, name: &'static str, what: &str) -> Result<&'a Value> {
        self.0.get(name).ok_or_else(|| Error::Field {
            field: name,
            value: "missing".to_owned(),
            rule: format!("must be {what}"),
        })
    }

    fn optional(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }
}

fn importance(name: &'static str, value: &Value) -> Result<u8> {
    let number = as_integer(value).and_then(|number| u8::try_from(number).ok());
    number
        .filter(|number| (1..=5).contains(number))
        .ok_or_else(|| wrong(name, value, "must be a whole number from 1 to 5"))
}

/// Whether it is a whole number beyond what an `i64` holds.
fn is_huge(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 1e18 && number.fract() == 0.0)
}

/// The error for a value that breaks its rule.
pub(super) fn wrong(field: &'static str, value: &Value, rule: &str) -> Error {
    let value = match value {
        Value::String(text) if rule.contains("string") => quoted(text),
        // That it is a string is what is wrong with a number in quotation marks.
        Value::String(text) => format!("the string {}", quoted(text)),
        other => head(&other.to_string()),
    };
    Error::Field { field, value, rule: rule.to_owned() }
}

/// The error for a text that breaks its rule.
pub(super) fn wrong_text(field: &'static str, text: &str, rule: impl Into<String>) -> Error {
    Error::Field { field, value: quoted(text), rule: rule.into() }
}

fn quoted(text: &str) -> String {
    format!("{:?}", head(text))
}

fn head(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
