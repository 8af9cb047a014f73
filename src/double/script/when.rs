//! When a rule is played.

use serde_json::Value;

use super::heard::Heard;
use super::read::{bool_of, count_of, object, only, string_of};
use crate::double::ask::Ask;

/// What must hold, all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct When {
    last: Option<String>,
    result: Option<String>,
    system: Option<String>,
    model: Option<String>,
    tool: Option<String>,
    turn: Option<u64>,
    pub(super) compaction: bool,
}

const FIELDS: &[&str] = &["last", "result", "system", "model", "tool", "turn", "compaction"];

impl When {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let fields = object(value, "`when`")?;
        only(fields, "`when`", FIELDS)?;
        Ok(Self {
            last: string_of(fields, "last")?,
            result: string_of(fields, "result")?,
            system: string_of(fields, "system")?,
            model: string_of(fields, "model")?,
            tool: string_of(fields, "tool")?,
            turn: count_of(fields, "turn")?,
            compaction: bool_of(fields, "compaction")?.unwrap_or(false),
        })
    }

    /// Whether it holds; whether a summary is asked for, the line knows.
    pub(super) fn fits(&self, ask: &Ask, heard: &Heard) -> bool {
        let has =
            |part: &Option<String>, whole: &str| part.as_ref().is_none_or(|part| whole.contains(&**part));
        let ends_with = |part: &String| heard.results.as_ref().is_some_and(|results| results.contains(part));
        has(&self.last, &heard.last)
            && self.result.as_ref().is_none_or(ends_with)
            && has(&self.system, &heard.system)
            && has(&self.model, &ask.model)
            && self.tool.as_ref().is_none_or(|tool| heard.is_offered(tool))
            && self.turn.is_none_or(|turn| turn == heard.turns)
    }
}
