//! A request to the Messages API, or a list of messages alone, as it was given.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::block;
use super::fields::{self, Fields};
use super::message::{Malformed, Message};
use super::profile::Profile;

const MESSAGES: &str = "messages";

/// What stands in the list of messages.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A message.
    Message(Message),
    /// Something else.
    Broken {
        /// The JSON that it came as.
        json: Arc<str>,
        /// Why it is no message.
        why: Malformed,
    },
}

/// A request: `messages`, and all the other fields as they came. Or a list of messages, which is a request without other
/// fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// In their order, `messages` among them with no value. `None`: a list of messages.
    fields: Option<Vec<(Box<str>, Box<str>)>>,
    messages: Vec<Entry>,
}

impl Request {
    /// Reads a request. What is no message is kept beside the reason.
    ///
    /// # Errors
    /// [`Malformed`] for what is neither an object with a list of `messages` nor such a list.
    pub fn from_json(json: &str) -> Result<Self, Malformed> {
        if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(json) {
            return Ok(Self { fields: None, messages: entries(&list) });
        }
        let wrong = |at: &str, hint| Malformed { at: at.to_owned(), hint };
        let fields = Fields::read(json)
            .ok_or_else(|| wrong("", "a request is an object with `messages`, or a list of messages"))?;
        let messages =
            fields.get(MESSAGES).and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list).ok());
        let messages = entries(&messages.ok_or_else(|| wrong(MESSAGES, "a list of messages"))?);
        let kept =
            |(name, value): (&str, &str)| (name.into(), if name == MESSAGES { "" } else { value }.into());
        Ok(Self { fields: Some(fields.iter().map(kept).collect()), messages })
    }

    /// Reads a request from a value.
    ///
    /// # Errors
    /// As [`Request::from_json`].
    pub fn from_value(value: &Value) -> Result<Self, Malformed> {
        Self::from_json(&value.to_string())
    }

    /// The request as JSON: all messages and fields as they came, without the white space between them.
    #[must_use]
    pub fn json(&self) -> String {
        let messages = self.messages.iter().map(|entry| match entry {
            Entry::Message(message) => message.json().trim(),
            Entry::Broken { json, .. } => json,
        });
        let messages = fields::list(messages);
        let Some(fields) = &self.fields else { return messages };
        fields::object(
            fields
                .iter()
                .map(|(name, value)| (&**name, if &**name == MESSAGES { messages.as_str() } else { value })),
        )
    }

    /// The request as a value.
    ///
    /// # Panics
    /// Never: what a request is made of was read as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.json()).expect("made of what was read as JSON")
    }

    /// Its messages.
    #[must_use]
    pub fn messages(&self) -> &[Entry] {
        &self.messages
    }

    /// Whether it is a list of messages without other fields.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.fields.is_none()
    }

    /// The JSON of a field other than `messages`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.fields.iter().flatten();
        fields.into_iter().find(|(known, _)| &**known == name && name != MESSAGES).map(|(_, value)| &**value)
    }

    /// The name of the model that it is for.
    #[must_use]
    pub fn model(&self) -> Option<String> {
        serde_json::from_str(self.field("model")?).ok()
    }

    /// What that model allows; of one that is not named, what any model allows.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.model().map_or_else(Profile::default, |model| Profile::of(&model))
    }

    /// The same request with other messages.
    #[must_use]
    pub fn with_messages(&self, messages: impl IntoIterator<Item = Message>) -> Self {
        Self { fields: self.fields.clone(), messages: messages.into_iter().map(Entry::Message).collect() }
    }

    /// Whether thinking whose prefix has changed is dropped by the API, as the request asks for it.
    #[must_use]
    pub fn drops_unbound_thinking(&self) -> bool {
        let behavior = self.field("thinking").and_then(|thinking| {
            let binding = Fields::read(Fields::read(thinking)?.get("block_binding")?)?;
            serde_json::from_str::<String>(binding.get("prefix_mismatch_behavior")?).ok()
        });
        behavior.as_deref() == Some("drop_block")
    }

    /// How it asks for thinking: `enabled` (with a budget, on older models), `adaptive`, `disabled`.
    pub(super) fn thinking(&self) -> Option<String> {
        string(self.field("thinking")?, "type")
    }

    /// The parts of a field that is a list: of `system`, of `tools`.
    pub(super) fn parts(&self, name: &str) -> Vec<&str> {
        let list = self.field(name).and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list).ok());
        list.into_iter().flatten().map(RawValue::get).collect()
    }

    /// Changes a field that is there.
    pub(super) fn set(&mut self, name: &str, to: &str) {
        for (known, value) in self.fields.iter_mut().flatten() {
            if &**known == name {
                *value = to.into();
            }
        }
    }
}

fn entries(list: &[&RawValue]) -> Vec<Entry> {
    let entry = |json: &&RawValue| match Message::from_json(json.get()) {
        Ok(message) => Entry::Message(message),
        Err(why) => Entry::Broken { json: json.get().into(), why },
    };
    list.iter().map(entry).collect()
}

/// A block as it would stand in a list, without cache marks: what the API compares.
pub(super) fn plain(message: &Message, block: usize) -> String {
    let json = message.block_json(&message.blocks()[block]);
    if message.is_string() { format!(r#"{{"type":"text","text":{json}}}"#) } else { unmarked(json) }
}

/// A block, or a list of them, without cache marks, its own and those of what is in it.
pub(super) fn unmarked(json: &str) -> String {
    if let Ok(parts) = serde_json::from_str::<Vec<&RawValue>>(json) {
        return fields::list(parts.into_iter().map(|part| unmarked(part.get())));
    }
    let Some(fields) = Fields::read(json) else { return json.to_owned() };
    let content = fields.get("content").map(unmarked);
    let content = content.as_deref().map(|content| ("content", Some(content)));
    fields.with(&[("cache_control", None)].into_iter().chain(content).collect::<Vec<_>>())
}

/// Whether a block or a tool has a cache mark.
pub(super) fn is_marked(json: &str) -> bool {
    Fields::read(json).and_then(|fields| fields.get("cache_control")).is_some_and(|mark| mark != "null")
}

/// The string in a field of a block.
pub(super) fn string(json: &str, name: &str) -> Option<String> {
    let value = Fields::read(json)?.get(name)?;
    block::text(serde_json::from_str(value).ok()).map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_stay_in_their_order() {
        let json = r#"{"model":"claude-opus-5","max_tokens":1e3,"messages":[{"role":"user","content":"a"},7],"x":[ 1.00 ]}"#;
        let request = Request::from_json(json).unwrap();
        assert_eq!(request.json(), json);
        assert_eq!((request.field("max_tokens"), request.field("messages")), (Some("1e3"), None));
        assert!(request.profile().mid_system && !request.is_list());
        assert!(matches!(&request.messages()[1], Entry::Broken { json, .. } if &**json == "7"));
    }

    #[test]
    fn a_list_is_a_request_without_other_fields() {
        let request = Request::from_json(r#" [ {"role":"user","content":"a"} ] "#).unwrap();
        assert!(request.is_list() && request.model().is_none());
        assert_eq!(request.json(), r#"[{"role":"user","content":"a"}]"#);
    }

    #[test]
    fn what_is_no_request_is_told() {
        for (json, at) in [("7", ""), ("{", ""), ("{}", "messages"), (r#"{"messages":{}}"#, "messages")] {
            assert_eq!(Request::from_json(json).unwrap_err().at, at, "{json}");
        }
    }

    #[test]
    fn the_request_says_what_is_done_about_unbound_thinking() {
        let ask = |thinking: &str| format!(r#"{{"messages":[],"thinking":{thinking}}}"#);
        for (thinking, drops) in [
            (r#"{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#, true),
            (r#"{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}"#, false),
            (r#"{"type":"enabled","budget_tokens":1024}"#, false),
            ("null", false),
        ] {
            let request = Request::from_json(&ask(thinking)).unwrap();
            assert_eq!(request.drops_unbound_thinking(), drops, "{thinking}");
            assert_eq!(
                request.thinking().is_some_and(|kind| kind == "enabled"),
                thinking.contains("enabled")
            );
        }
    }
}
