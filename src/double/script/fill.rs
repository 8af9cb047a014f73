//! What stands in braces in the texts of a reply, filled in.

use serde_json::Value;

use super::heard::Heard;
use crate::double::ask::Ask;

/// What stands for what in texts.
pub(super) struct Fill(Vec<(&'static str, String)>);

impl Fill {
    pub(super) fn of(ask: &Ask, heard: &Heard) -> Self {
        Self(vec![
            ("{last}", heard.last.clone()),
            ("{result}", heard.results.clone().unwrap_or_default()),
            ("{model}", ask.model.clone()),
            ("{turn}", heard.turns.to_string()),
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
            Value::String(text) => *text = self.filled(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.deep(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.deep(value)),
            _ => {}
        }
    }

    /// In one pass: what was filled in is not looked at again.
    fn filled(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let (name, with) = self
                .0
                .iter()
                .find(|(name, _)| rest.starts_with(name))
                .map_or(("{", "{"), |(name, with)| (*name, with));
            filled.push_str(with);
            rest = &rest[name.len()..];
        }
        filled + rest
    }
}
