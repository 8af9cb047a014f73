//! Reading a call: its headers and its fields, and what the API refuses of them.

use serde_json::{Map, Value};

use super::{Call, Settings, fault};
use crate::context::{ApiError, Profile, Request};

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
    /// All fields but `messages`.
    pub(super) fields: Map<String, Value>,
    pub(super) model: String,
    pub(super) profile: Profile,
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

/// Whether the headers of a call are right.
pub(super) fn admit(call: &Call<'_>, settings: &Settings) -> Result<(), ApiError> {
    let _ = (call, settings);
    Ok(())
}

impl Ask {
    pub(super) fn read(call: &Call<'_>, purpose: Purpose, settings: &Settings) -> Result<Self, ApiError> {
        let request = Request::from_json(call.body).map_err(|why| fault::field(&why.at, why.hint))?;
        let fields: Map<String, Value> =
            serde_json::from_str(call.body).map_err(|_| fault::field("", "not an object"))?;
        let model = fields.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut profile = Profile::of(&model);
        profile.window = settings.window.unwrap_or(profile.window);
        let _ = purpose;
        Ok(Self {
            request,
            model,
            profile,
            max_tokens: fields.get("max_tokens").and_then(Value::as_u64).unwrap_or(1),
            is_stream: fields.get("stream").and_then(Value::as_bool).unwrap_or(false),
            thinks: fields.get("thinking").is_some_and(|it| it["type"] != "disabled"),
            stop_sequences: Vec::new(),
            betas: Vec::new(),
            edits: fields
                .get("context_management")
                .and_then(|it| it["edits"].as_array())
                .cloned()
                .unwrap_or_default(),
            compacts: fields.contains_key("compaction"),
            fields,
        })
    }
}
