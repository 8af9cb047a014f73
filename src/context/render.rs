//! From a plan to bytes: what is kept is copied, never written anew.

use std::fmt::Write;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::block::Kind;
use super::message::Message;
use super::plan::{Change, Needs, Plan, To};
use super::speech;
use super::transcript::Transcript;

/// The `messages` of the request, as a JSON list. Messages and blocks that are kept are the bytes that came; the same plan,
/// or one read back from JSON, gives the same bytes.
#[must_use]
pub fn render(transcript: &Transcript, plan: &Plan) -> String {
    let mut list = String::from("[");
    let mut inserts = plan.inserts.iter().peekable();
    let mut changes = &plan.changes[..];
    for verdict in plan.atoms.iter().filter(|verdict| verdict.fate.is_sent()) {
        for number in verdict.messages.clone() {
            while let Some(insert) = inserts.next_if(|insert| insert.before <= number) {
                add(&mut list, &user(&insert.text));
            }
            let Some(message) = transcript.get(number) else { continue };
            changes = &changes[changes.partition_point(|change| change.message < number)..];
            let here = &changes[..changes.partition_point(|change| change.message == number)];
            if here.is_empty() {
                add(&mut list, message.json());
            } else if let Some(json) = edited(message, here) {
                add(&mut list, &json);
            }
        }
    }
    list.push(']');
    list
}

fn add(list: &mut String, message: &str) {
    if list.len() > 1 {
        list.push(',');
    }
    list.push_str(message);
}

/// A message of the user with a text.
pub(super) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":{}}}"#, Value::from(text))
}

/// A message with changes; `None`: nothing of it is left.
pub(super) fn edited(message: &Message, changes: &[Change]) -> Option<String> {
    let blocks = message.blocks();
    let (first, last) = (blocks.first()?, blocks.last()?);
    let mut kept = String::new();
    let mut is_blank = true;
    for (number, block) in blocks.iter().enumerate() {
        let json = message.block_json(block);
        let change = changes.iter().find(|change| change.block == number);
        let json = match change.map(|change| &change.to) {
            None => json.to_owned(),
            Some(To::Nothing) => continue,
            Some(To::Content(text)) => with_content(json, text),
            Some(To::NoInput) => with_field(json, "input", "{}"),
        };
        is_blank &= block.is_blank && block.kind == Kind::Text;
        if !kept.is_empty() {
            kept.push(',');
        }
        kept.push_str(&json);
    }
    let json = message.json();
    (!is_blank).then(|| format!("{}{kept}{}", &json[..first.span.start], &json[last.span.end..]))
}

/// A block with another `content`, a text.
pub(super) fn with_content(json: &str, text: &str) -> String {
    with_field(json, "content", &Value::from(text).to_string())
}

/// A block with another value in a field that it has.
fn with_field(json: &str, field: &str, value: &str) -> String {
    let said = speech::said(json);
    let old = said.and_then(|said| if field == "input" { said.input } else { said.content });
    let Some(old) = old else { return json.to_owned() };
    let start = old.get().as_ptr().addr() - json.as_ptr().addr();
    format!("{}{value}{}", &json[..start], &json[start + old.get().len()..])
}

/// The fields of an object, in their order, as they came.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if fields.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("the field `{name}` is there twice")));
                    }
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// Puts the messages into a request, and what they need; all other fields stay as they are, in their order. The beta
/// headers ([`Needs::betas`]) are the caller's to send.
///
/// # Errors
/// When the request, its `thinking` or its `context_management` is no JSON object.
pub fn splice(request: &str, messages: &str, needs: &Needs) -> Result<String, serde_json::Error> {
    let Fields(fields) = serde_json::from_str(request)?;
    let mut written: Vec<(String, String)> =
        fields.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect();
    set(&mut written, "messages", |_| Ok(messages.to_owned()))?;
    if needs.drops_blocks {
        set(&mut written, "thinking", |thinking| {
            let mut thinking = object(thinking.unwrap_or(r#"{"type":"adaptive"}"#))?;
            set(&mut thinking, "block_binding", |binding| {
                let mut binding = object(binding.unwrap_or("{}"))?;
                set(&mut binding, "prefix_mismatch_behavior", |_| Ok(r#""drop_block""#.to_owned()))?;
                Ok(join(&binding))
            })?;
            Ok(join(&thinking))
        })?;
    }
    if !needs.edits.is_empty() {
        set(&mut written, "context_management", |management| {
            let mut management = object(management.unwrap_or("{}"))?;
            set(&mut management, "edits", |_| serde_json::to_string(&needs.edits))?;
            Ok(join(&management))
        })?;
    }
    Ok(join(&written))
}

fn object(json: &str) -> Result<Vec<(String, String)>, serde_json::Error> {
    let Fields(fields) = serde_json::from_str(json)?;
    Ok(fields.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect())
}

fn set(
    fields: &mut Vec<(String, String)>,
    name: &str,
    to: impl FnOnce(Option<&str>) -> Result<String, serde_json::Error>,
) -> Result<(), serde_json::Error> {
    let at = fields.iter().position(|(known, _)| known == name);
    let value = to(at.map(|at| fields[at].1.as_str()))?;
    match at {
        Some(at) => fields[at].1 = value,
        None => fields.push((name.to_owned(), value)),
    }
    Ok(())
}

fn join(fields: &[(String, String)]) -> String {
    let mut json = String::from("{");
    for (name, value) in fields {
        let comma = if json.len() > 1 { "," } else { "" };
        let _ = write!(json, "{comma}{}:{value}", Value::from(name.as_str()));
    }
    json + "}"
}
