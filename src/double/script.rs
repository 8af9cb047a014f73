//! What is said: rules and replies from a file.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::ask::Ask;
use crate::context::ApiError;

mod failure;
mod fill;
mod heard;
mod offhand;
mod read;
mod recorded;
mod reply;
#[cfg(test)]
pub(super) mod tests;
mod when;

use heard::Heard;
use recorded::Recorded;
use reply::Reply;
use when::When;

/// What a stand-in says, and when.
///
#[doc = "```text"]
#[doc = include_str!("script.txt")]
#[doc = "```"]
#[derive(Debug, Clone, Default)]
pub struct Script {
    rows: Vec<Row>,
}

/// A line of a script that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {why}")]
#[non_exhaustive]
pub struct BadScript {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it, and what belongs there.
    pub why: String,
}

/// What is done about a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Play {
    Says(Line),
    Fails {
        error: ApiError,
        /// Seconds, for the header `retry-after`.
        retry_after: Option<u64>,
    },
    /// The stand-in cannot say what the script has: an error of its own.
    Refuses(ApiError),
}

/// What is said to a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    /// Blocks; ids, signatures and the like may be missing.
    pub(super) content: Vec<Value>,
    /// `None`: what follows from the content.
    pub(super) stop_reason: Option<String>,
    /// `None`: counted.
    pub(super) output_tokens: Option<u64>,
    /// After so many events, a stream breaks.
    pub(super) breaks_after: Option<usize>,
    /// The error that it breaks with; `None`: the connection breaks.
    pub(super) breaks_with: Option<ApiError>,
    /// Other fields of the message: `stop_details`, `stop_sequence`, `container`.
    pub(super) fields: Map<String, Value>,
}

impl Line {
    /// Nothing, for that reason.
    pub(super) fn empty(stop_reason: &str) -> Self {
        Self { stop_reason: Some(stop_reason.to_owned()), ..Self::default() }
    }
}

/// A line of a script.
#[derive(Debug, Clone)]
struct Row {
    /// Its number, from 1.
    line: usize,
    /// `None`: always.
    when: Option<When>,
    /// Whether it is for requests for a summary, and for no others.
    is_summary: bool,
    /// How often it may still be played; `None`: without end.
    left: Option<u64>,
    /// What the request has to be.
    recorded: Option<Recorded>,
    reply: Reply,
}

impl Row {
    fn fits(&self, ask: &Ask, heard: &Heard) -> bool {
        self.is_summary == ask.compacts && self.when.as_ref().is_none_or(|when| when.fits(ask, heard))
    }

    /// Whether it was recorded, of another request.
    fn is_other(&self, sent: Option<&Recorded>) -> bool {
        self.recorded.as_ref().zip(sent).is_some_and(|(recorded, sent)| !recorded.is_same(sent))
    }

    fn is_used_up(&self) -> bool {
        self.left == Some(0)
    }

    fn use_up(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
    }
}

impl FromStr for Script {
    type Err = BadScript;

    /// As [`Script::from_lines`].
    fn from_str(lines: &str) -> Result<Self, BadScript> {
        Self::from_lines(lines)
    }
}

impl Script {
    /// What a script looks like, for people.
    pub const FORMAT: &'static str = include_str!("script.txt");

    /// Reads a script: JSON lines.
    ///
    /// # Errors
    /// [`BadScript`] for the first line that is none.
    pub fn from_lines(lines: &str) -> Result<Self, BadScript> {
        let mut rows = Vec::new();
        for (at, line) in lines.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                rows.extend(read::row(at + 1, line).map_err(|why| BadScript { line: at + 1, why })?);
            }
        }
        Ok(Self { rows })
    }

    /// What is said to a request now.
    pub(super) fn play(&mut self, ask: &Ask) -> Play {
        if ask.max_tokens == 0 && !ask.compacts {
            // The prompt is to be cached, and nothing to be said.
            return Play::Says(Line::default());
        }
        let heard = Heard::of(ask);
        let sent = self.compared(ask);
        let is_other = |row: &Row| row.is_other(sent.as_ref());
        let mut used_up = None;
        for row in self.rows.iter_mut().filter(|row| row.fits(ask, &heard) && !is_other(row)) {
            if row.is_used_up() {
                used_up = Some(row.line);
                continue;
            }
            if let Some(tool) = row.reply.calls().find(|tool| !heard.is_offered(tool)) {
                let why = format!(
                    "line {} of the script calls the tool `{}`, which the request does not offer",
                    row.line,
                    crate::text::echo(tool)
                );
                return refuses(500, "api_error", &why);
            }
            row.use_up();
            return row.reply.play(ask, &heard);
        }
        if let Some(line) = used_up {
            let why = format!(
                "the script is used up: the last line that fits this request is line {line}, and it was played; \
                 a rule with `\"when\": {{}}` at its end would be played for all that comes after"
            );
            return refuses(500, "api_error", &why);
        }
        if let Some(why) = sent.and_then(|sent| self.recorded_otherwise(ask, &heard, &sent)) {
            return refuses(400, "invalid_request_error", &why);
        }
        let what = if ask.compacts {
            offhand::summary(&heard, heard.messages)
        } else {
            offhand::reply(ask, &heard, self.rows.is_empty())
        };
        Play::Says(what)
    }

    /// What a request says, for lines that were recorded; `None`: there are none.
    fn compared(&self, ask: &Ask) -> Option<Recorded> {
        let has_recorded = self.rows.iter().any(|row| row.recorded.is_some());
        has_recorded.then(|| Recorded::of(ask.sent.as_ref().unwrap_or(&ask.request)))
    }

    /// Where a request parts ways with the nearest of those that were recorded and are left; `None`: none was recorded.
    fn recorded_otherwise(&self, ask: &Ask, heard: &Heard, sent: &Recorded) -> Option<String> {
        let recorded = || {
            let rows = self.rows.iter().filter(|row| row.fits(ask, heard));
            rows.filter_map(|row| Some((row, row.recorded.as_ref()?)))
        };
        let left = recorded().filter(|(row, _)| !row.is_used_up());
        // Of those that go equally far, the first.
        let nearest = left.rev().max_by_key(|(_, recorded)| recorded.goes_with(sent));
        if let Some((row, recorded)) = nearest {
            let parted = recorded.parts_with(sent);
            return Some(format!("line {} of the script was recorded otherwise: {parted}", row.line));
        }
        let (row, _) = recorded().next_back()?;
        let line = row.line;
        Some(format!(
            "the script is used up: all that was recorded up to line {line} was played, and nothing of it to this request"
        ))
    }

    /// The summary of so many messages that comes before an answer, when the request has it made at a threshold: a
    /// `compaction` alone. `None`: none could be made.
    pub(super) fn summary(&mut self, ask: &Ask, messages: usize) -> Option<Line> {
        let heard = Heard::of(ask);
        let asked = Ask { compacts: true, ..ask.clone() };
        let rule = self
            .rows
            .iter_mut()
            .find(|row| row.recorded.is_none() && !row.is_used_up() && row.fits(&asked, &heard));
        if let Some(rule) = rule {
            rule.use_up();
            return match rule.reply.play(&asked, &heard) {
                Play::Says(line) => Some(line),
                Play::Fails { .. } | Play::Refuses(_) => None,
            };
        }
        // What is told block by block begins with its summary, if it has one.
        let sent = self.compared(ask);
        let is_other = |row: &Row| row.is_other(sent.as_ref());
        let mut left = self.rows.iter_mut().filter(|row| !row.is_used_up() && row.fits(ask, &heard));
        let next = left.find(|row| !is_other(row));
        if let Some(summary) = next.and_then(|row| row.reply.take_summary()) {
            let has_content = !summary["content"].is_null();
            return has_content.then(|| Line { content: vec![summary], ..Line::default() });
        }
        Some(offhand::summary(&heard, messages))
    }
}

/// A refusal that is the stand-in's own.
fn refuses(status: u16, kind: &'static str, why: &str) -> Play {
    Play::Refuses(ApiError::new(status, kind, format!("memdir double: {why}")))
}

/// A block of text.
fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
