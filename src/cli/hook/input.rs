//! What a host tells a hook on standard input.

use std::io::{IsTerminal as _, stdin};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::pipe;

/// So long the input is waited for; a host has it ready.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of an input.
const MOST: usize = 1 << 20;

/// What is read of it; all else that hosts tell is passed over.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Input {
    pub(super) session_id: Option<String>,
    pub(super) transcript_path: Option<String>,
    /// How the session began.
    pub(super) source: Option<String>,
    /// Who wants the conversation compacted.
    trigger: Option<String>,
    /// What a person wants kept of it.
    pub(super) custom_instructions: Option<String>,
}

/// Reads the input; what is wrong with it, where there is none.
pub(super) fn read() -> Result<Input, String> {
    if stdin().is_terminal() {
        return Err("a host gives the input of a hook on standard input, and there is a terminal".to_owned());
    }
    let began = Instant::now();
    let mut heard = Vec::new();
    while heard.len() <= MOST {
        // Not every host closes it.
        if let Some(input) = Input::parse(&heard) {
            return Ok(input);
        }
        let is_heard = pipe::is_heard_within(PATIENCE.saturating_sub(began.elapsed()));
        if !is_heard || matches!(pipe::hear(&mut heard), Ok(0) | Err(_)) {
            break;
        }
    }
    Err(if heard.is_empty() {
        "standard input has no input of a host".to_owned()
    } else {
        "the input of the host is not one JSON object".to_owned()
    })
}

impl Input {
    fn parse(text: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(text).ok().filter(Value::is_object)?;
        let text = |key: &str| {
            let text = value.get(key)?.as_str()?;
            (!text.trim().is_empty()).then(|| text.to_owned())
        };
        Some(Self {
            session_id: text("session_id"),
            transcript_path: text("transcript_path"),
            source: text("source"),
            trigger: text("trigger"),
            custom_instructions: text("custom_instructions"),
        })
    }

    /// The session's name in the memory: the first part of a UUID, else the whole id, as far as it may be a file's name.
    pub(super) fn session(&self) -> String {
        let id = self.session_id.as_deref().unwrap_or("session");
        let first = id.split('-').next().unwrap_or(id);
        let is_uuid = id.len() == 36 && first.len() == 8 && first.bytes().all(|b| b.is_ascii_hexdigit());
        crate::entry::slug(if is_uuid { first } else { id })
    }

    /// Who wants the conversation compacted, in a word.
    pub(super) fn trigger(&self) -> &'static str {
        match self.trigger.as_deref() {
            Some("auto") => "auto",
            Some("manual") => "manual",
            _ => "compaction",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_or_no_text_is_passed_over() {
        let text =
            br#"{"session_id":"s","cwd":"/","source":7,"trigger":"auto","transcript_path":" ","new":{}}"#;
        let input = Input::parse(text).unwrap();
        assert_eq!(input.session_id.as_deref(), Some("s"));
        assert_eq!(
            (input.source.as_ref(), input.transcript_path.as_ref(), input.trigger()),
            (None, None, "auto")
        );
        for none in ["", "{", "[]", "null", "{} {}", "\u{FEFF}{}"] {
            assert_eq!(Input::parse(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn a_session_has_a_name_that_may_be_a_file() {
        for (id, name) in [
            (Some("0198C1A2-7777-7abc-8def-0123456789ab"), "0198c1a2"),
            (Some("session_abc-1"), "session-abc-1"),
            (Some("../../etc/passwd"), "etc-passwd"),
            (Some("…"), "memory"),
            (None, "session"),
        ] {
            let input = Input { session_id: id.map(str::to_owned), ..Input::default() };
            assert_eq!(input.session(), name);
        }
    }
}
