//! Reading a call: its headers and its fields, and what the API refuses of them.
//!
//! What is wrong is told as the API tells it, the first of all that is: the size, the key, the version, betas, then the
//! body as JSON, the shape of each field, and what fields may not say together. What is in the messages comes last and is
//! judged elsewhere. Any name may be a model's but an empty one: agents with any model are pointed here.

use serde_json::{Map, Value};

use super::fault::Fault;
use super::models::Model;
use super::{Call, Settings};
use crate::context::{ApiError, Profile, Request};

mod body;
mod head;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

#[cfg(feature = "http")]
pub(crate) use head::MOST_BYTES;
pub(super) use head::admit;
use rules::{Asked, whole};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Message,
    Count,
}

/// A request whose head is right. Its messages are still to be judged.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) request: Request,
    /// The request as it was sent, where thinking was dropped of it since.
    pub(super) sent: Option<Request>,
    /// All fields but `messages`.
    pub(super) fields: Map<String, Value>,
    pub(super) model: String,
    pub(super) profile: Profile,
    /// 0: nothing is to be said, the prompt is to be cached.
    pub(super) max_tokens: u64,
    pub(super) is_stream: bool,
    /// Whether the model may think.
    pub(super) thinks: bool,
    pub(super) stop_sequences: Vec<String>,
    /// Values of the header `anthropic-beta`.
    pub(super) betas: Vec<String>,
    /// `context_management.edits`
    pub(super) edits: Vec<Value>,
    /// Whether it asks for a summary of the whole conversation (`compaction`).
    pub(super) compacts: bool,
}

impl Ask {
    pub(super) fn read(call: &Call<'_>, purpose: Purpose, settings: &Settings) -> Result<Self, ApiError> {
        let head = admit(call, settings)?;
        head::is_json(call)?;
        let mut fields = body::read(call.body)?;
        shape::check(&fields, purpose, &head)?;
        let request = Request::from_json(call.body).map_err(|_| Fault::FieldTwice.error(&[]))?;
        let model = fields["model"].as_str().unwrap_or_default().to_owned();
        let asked = Asked { fields: &fields, purpose, head: &head, model: Model::of(&model) };
        asked.check()?;
        let thinks = asked.thinks();
        fields.shift_remove("messages");
        let mut profile = Profile::of(&model);
        profile.window = settings.window.unwrap_or(profile.window);
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let stops = list(fields.get("stop_sequences"));
        Ok(Self {
            request,
            sent: None,
            model,
            profile,
            max_tokens: fields.get("max_tokens").map_or(0, whole),
            is_stream: fields.get("stream").is_some_and(|stream| *stream == true),
            thinks,
            stop_sequences: stops.iter().filter_map(|stop| stop.as_str().map(str::to_owned)).collect(),
            betas: head.betas,
            edits: list(fields.get("context_management").and_then(|it| it.get("edits"))),
            compacts: fields.get("compaction").is_some_and(|it| !it.is_null()),
            fields,
        })
    }
}
