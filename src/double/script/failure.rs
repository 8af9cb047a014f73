//! Errors of the API that a script has it answer with.

use serde_json::Value;

use super::read::{count_of, object, only, string_of};
use crate::context::ApiError;
use crate::text::{echo, nearest};

/// Status, type and text of an error.
type Known = (u16, &'static str, &'static str);

const INVALID: Known = (400, "invalid_request_error", "Invalid request");
const INTERNAL: Known = (500, "api_error", "Internal server error");
/// The API's errors.
const ERRORS: &[Known] = &[
    INVALID,
    (401, "authentication_error", "invalid x-api-key"),
    (402, "billing_error", "Your credit balance is too low to access the Anthropic API."),
    (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    (404, "not_found_error", "Not Found"),
    (413, "request_too_large", "Request exceeds the maximum size"),
    (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    INTERNAL,
    (504, "timeout_error", "Request timed out"),
    (529, "overloaded_error", "Overloaded"),
];

/// An error, and how long to wait after it.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) error: ApiError,
    pub(super) retry_after: Option<u64>,
}

impl Failure {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = object(value, "`error`")?;
        only(fields, "`error`", &["status", "type", "message", "retry_after"])?;
        let (status, kind) = (count_of(fields, "status")?, string_of(fields, "type")?);
        let status = status.map(|status| match u16::try_from(status) {
            Ok(status @ 400..=599) => Ok(status),
            _ => Err(format!("`status` of an error is from 400 to 599, not {status}")),
        });
        let status = status.transpose()?;
        let row = match (&kind, status) {
            (Some(kind), _) => {
                let names: Vec<&str> = ERRORS.iter().map(|(_, name, _)| *name).collect();
                ERRORS.iter().find(|(_, name, _)| name == kind).ok_or_else(|| {
                    let nearest = nearest(kind, &names);
                    format!("no error has the type `{}`; the nearest known one is `{nearest}`", echo(kind))
                })?
            }
            (None, Some(status)) => {
                let of_server = if status < 500 { &INVALID } else { &INTERNAL };
                ERRORS.iter().find(|(known, ..)| *known == status).unwrap_or(of_server)
            }
            (None, None) => return Err("`error` needs a `status`, or a `type`".to_owned()),
        };
        let message = string_of(fields, "message")?.unwrap_or_else(|| row.2.to_owned());
        let error = ApiError::new(status.unwrap_or(row.0), row.1, message);
        Ok(Self { error, retry_after: count_of(fields, "retry_after")? })
    }

    /// What a response that was recorded says.
    pub(super) fn recorded(status: u16, response: &Value) -> Self {
        let kind = response["error"]["type"].as_str().unwrap_or_default();
        let known = ERRORS.iter().find(|(_, known, _)| *known == kind);
        let of_status = ERRORS.iter().find(|(known, ..)| *known == status);
        let (of_kind, kind, _) = known.or(of_status).unwrap_or(&INTERNAL);
        let status = if (400..600).contains(&status) { status } else { *of_kind };
        let message = response["error"]["message"].as_str().unwrap_or_default().to_owned();
        Self { error: ApiError::new(status, kind, message), retry_after: None }
    }
}
