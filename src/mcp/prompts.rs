//! Prompts that a person may choose: what is known, tidying up, handing over.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt};

use crate::recall::Recall;

/// All prompts.
pub(super) fn all() -> Vec<Prompt> {
    Vec::new()
}

/// One prompt, filled in.
pub(super) fn get(_recall: &Recall, request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    Err(ErrorData::invalid_params(format!("Unknown prompt: {}", request.name), None))
}
