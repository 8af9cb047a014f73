//! What stands in braces in the texts of a reply, filled in.

use serde_json::Value;

use super::heard::Heard;
use crate::double::ask::Ask;
use crate::text::fill;

/// What stands for what in texts.
pub(super) struct Fill(Vec<(&'static str, String)>);

impl Fill {
    pub(super) fn of(ask: &Ask, heard: &Heard) -> Self {
        Self(vec![
            ("last", heard.last.clone()),
            ("result", heard.results.clone().unwrap_or_default()),
            ("model", ask.model.clone()),
            ("turn", heard.turns.to_string()),
        ])
    }

    /// Fills in all texts but names: of a block, those that say something.
    pub(super) fn fill(&self, block: &mut Value) {
        for name in ["text", "thinking", "input"] {
            if let Some(value) = block.get_mut(name) {
                self.deep(value);
            }
        }
    }

    fn deep(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = fill(text, &self.0),
            Value::Array(list) => list.iter_mut().for_each(|value| self.deep(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.deep(value)),
            _ => {}
        }
    }
}
