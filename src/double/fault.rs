//! Refusals that are about the call, not about its messages: what is wrong with the messages, `context` says. The words are
//! in `faults.json`.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::{ApiError, Table};
use crate::text::fill;

/// A way in which a call is wrong: a row of `faults.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    BodyTooLarge,
    BodyCutOff,
    NoUtf8,
    FromElsewhere,
    NoKey,
    WrongKey,
    WrongBearer,
    NoVersion,
    UnknownVersion,
    UnknownBetas,
    NoJsonType,
    Charset,
    BadJson,
    NotAnObject,
    FieldTwice,
    NoRoute,
    WrongMethod,
    NoModel,
    UnknownCursor,
    Missing,
    Extra,
    NoString,
    NoInteger,
    Fraction,
    NoNumber,
    NoBoolean,
    NoList,
    NoMap,
    NoTagged,
    TooLittle,
    TooMuch,
    TooShort,
    TooLong,
    Pattern,
    NoSuchWord,
    NoSuchTag,
    NoTag,
    BlankStop,
    ToolTwice,
    PropertyKeys,
    CombinedSchema,
    NoSuchTool,
    ChoiceWithoutTools,
    NoForcedTools,
    ForcedWhileThinking,
    MaxTokens,
    OverWindow,
    ThinksNot,
    NoBudget,
    NoAdaptive,
    NoDisabled,
    NoDisabledButBudget,
    NoDisabledButBetweenTools,
    NoBetweenTools,
    BudgetOverMax,
    DisplayUpdates,
    TemperatureThinking,
    TopPThinking,
    TopKThinking,
    Deprecated,
    TemperatureAndTopP,
    NoEffort,
    NoSuchEffort,
    EffortWhileDisabled,
    ClearThinkingFirst,
    ClearThinkingOff,
    CompactionAndEdits,
    CompactionAndField,
    CompactionAndBudget,
    CompactionOfOpenCall,
    TwoCompactions,
    LateCompaction,
    ForgedCompaction,
    CompactedAgain,
    ThreadNotFound,
    ThreadContinued,
    ThreadMismatch,
    AssistantDocument,
    UserCitations,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default = "bad_request")]
    status: u16,
    #[serde(default = "invalid_request")]
    kind: Box<str>,
    message: Box<str>,
    code: Option<Box<str>>,
}

fn bad_request() -> u16 {
    400
}

fn invalid_request() -> Box<str> {
    "invalid_request_error".into()
}

impl Fault {
    fn row(self) -> &'static Row {
        static TABLE: OnceLock<Table<Fault, Row>> = OnceLock::new();
        TABLE.get_or_init(|| Table::read(include_str!("faults.json"))).row(&self)
    }

    /// The error, with what its text names: each fact takes the place of its name in braces.
    pub(super) fn error(self, facts: &[(&str, &str)]) -> ApiError {
        let row = self.row();
        ApiError::new(row.status, &row.kind, fill(&row.message, facts))
    }

    /// `error.details.error_code`, which few have.
    pub(super) fn code(self) -> Option<&'static str> {
        self.row().code.as_deref()
    }

    /// The error of what stands at `path`, as `tools.0.name`.
    pub(super) fn at(self, path: &str) -> ApiError {
        self.error(&[("path", path)])
    }
}

/// The body that the API sends with an error.
pub(super) fn body(error: &ApiError, request_id: &str) -> Value {
    json!({
        "type": "error",
        "error": {"type": error.kind, "message": error.message},
        "request_id": request_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_fault_with_a_source() {
        let table: serde_json::Map<String, Value> =
            serde_json::from_str(include_str!("faults.json")).unwrap();
        for (name, row) in table.iter().filter(|(name, _)| *name != "about") {
            let fault: Fault = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(fault.row().message.as_ref(), row["message"].as_str().unwrap(), "{name}");
            assert!(row["seen"].is_boolean() && !row["source"].as_str().unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn a_fact_is_not_filled_again() {
        assert_eq!(Fault::Missing.at("{path}").message, "{path}: Field required");
        let keys = Fault::PropertyKeys.at("tools.0").message;
        assert_eq!(keys, "tools.0.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'");
    }
}
