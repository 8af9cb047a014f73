//! Refusals that are about the call, not about its messages: what is wrong with the messages, `context` says.

use serde_json::{Value, json};

use crate::context::ApiError;

/// A refusal of a field: `path` is where it stands, as `tools.0.name`.
pub(super) fn field(path: &str, what: &str) -> ApiError {
    ApiError::new(400, "invalid_request_error", format!("{path}: {what}"))
}

/// The body that the API sends with an error.
pub(super) fn body(error: &ApiError, request_id: &str) -> Value {
    json!({
        "type": "error",
        "error": {"type": error.kind, "message": error.message},
        "request_id": request_id,
    })
}
