//! What comes in on a line: a conversation, and what stands beside it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::{CannotFit, Entry, Malformed, Note, Request, Transcript, Usage, Wanted};

/// A conversation, and what stands beside it.
pub(super) struct Line<'a> {
    pub(super) request: Request,
    pub(super) policy: Option<&'a RawValue>,
    pub(super) plan: Option<&'a RawValue>,
    /// Each with the number of messages before it, in order.
    notes: Vec<(usize, Note)>,
}

/// Why a line is not answered.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Refusal {
    NoJson { message: String },
    NoRequest { message: String, path: String },
    BadPolicy { message: String },
    BadNote { message: String },
    WrongPlan { message: String },
    CannotFit { message: String, min: u64, limit: u64 },
    TooLong { message: String },
}

/// A request or a list of messages with something beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    notes: Option<&'a RawValue>,
    #[serde(borrow)]
    policy: Option<&'a RawValue>,
    #[serde(borrow)]
    plan: Option<&'a RawValue>,
    // What the other commands answer, so that one can be piped into the next.
    #[serde(rename = "repairs")]
    _repairs: Option<IgnoredAny>,
    #[serde(rename = "needs")]
    _needs: Option<IgnoredAny>,
    #[serde(rename = "edits")]
    _edits: Option<IgnoredAny>,
    #[serde(rename = "spills")]
    _spills: Option<IgnoredAny>,
    #[serde(rename = "wanted")]
    _wanted: Option<IgnoredAny>,
    #[serde(rename = "flush")]
    _flush: Option<IgnoredAny>,
    #[serde(rename = "warnings")]
    _warnings: Option<IgnoredAny>,
}

/// What tells a wrapped conversation from a request: the API has no such fields.
const BESIDE: [&str; 11] = [
    "request", "notes", "policy", "plan", "repairs", "needs", "edits", "spills", "wanted", "flush",
    "warnings",
];

/// A note, as it stands in `notes`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Noted {
    after: Option<usize>,
    note: Option<Note>,
    usage: Option<Value>,
    edits: Option<usize>,
    wanted: Option<Asked>,
    answer: Option<Value>,
}

/// What is needed of a [`Wanted`] once it is answered.
#[derive(Deserialize)]
struct Asked {
    upto: usize,
    #[serde(default)]
    facts: Vec<String>,
    #[serde(default)]
    room: usize,
}

impl<'a> Line<'a> {
    /// Reads a line.
    pub(super) fn read(line: &'a str) -> Result<Self, Refusal> {
        if let Err(error) = serde_json::from_str::<&RawValue>(line) {
            return Err(Refusal::NoJson { message: format!("the line is no JSON: {error}") });
        }
        let names: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line).unwrap_or_default();
        if !BESIDE.iter().any(|name| names.contains_key(*name)) {
            return Ok(Self { request: request(line)?, policy: None, plan: None, notes: Vec::new() });
        }
        let wrapped: Wrapped<'a> = serde_json::from_str(line)
            .map_err(|error| no_request(format!("beside `request` or `messages`: {error}")))?;
        let ((Some(conversation), None) | (None, Some(conversation))) = (wrapped.request, wrapped.messages)
        else {
            return Err(no_request("either `request` or `messages` is needed".to_owned()));
        };
        let request = request(conversation.get())?;
        let notes = wrapped.notes.map_or(Ok(Vec::new()), |notes| read_notes(notes, request.messages().len()));
        Ok(Self { request, policy: wrapped.policy, plan: wrapped.plan, notes: notes? })
    }

    /// The log that the conversation is.
    pub(super) fn transcript(&self) -> Result<Transcript, Refusal> {
        let mut transcript = Transcript::default();
        let mut notes = self.notes.iter().peekable();
        for (number, entry) in self.request.messages().iter().enumerate() {
            while let Some((_, note)) = notes.next_if(|(after, _)| *after <= number) {
                transcript.note(note.clone());
            }
            match entry {
                Entry::Message(message) => transcript.push(message.clone()),
                Entry::Broken { why, .. } => return Err(malformed(&format!("messages.{number}"), why)),
            }
        }
        notes.for_each(|(_, note)| transcript.note(note.clone()));
        Ok(transcript)
    }
}

fn request(json: &str) -> Result<Request, Refusal> {
    Request::from_json(json).map_err(|why| malformed("", &why))
}

fn malformed(place: &str, why: &Malformed) -> Refusal {
    let path = [place, &why.at].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    let message = if path.is_empty() { why.hint.to_owned() } else { format!("{path}: {}", why.hint) };
    Refusal::NoRequest { message, path }
}

fn no_request(message: String) -> Refusal {
    Refusal::NoRequest { message, path: String::new() }
}

/// Reads notes, and puts them in the order of their places.
fn read_notes(json: &RawValue, messages: usize) -> Result<Vec<(usize, Note)>, Refusal> {
    let bad = |message: String| Refusal::BadNote { message };
    let given: Vec<Noted> = serde_json::from_str(json.get()).map_err(|error| bad(error.to_string()))?;
    let mut notes = Vec::new();
    for (number, noted) in given.into_iter().enumerate() {
        let after = noted.after.unwrap_or(messages);
        if after > messages {
            return Err(bad(format!(
                "notes.{number}: `after` is {after}, and there are {messages} messages"
            )));
        }
        let note = read_note(noted).ok_or_else(|| {
            bad(format!("notes.{number}: one of `note`, `usage` (with `edits`), `wanted` with `answer`"))
        })?;
        notes.push((after, note));
    }
    notes.sort_by_key(|(after, _)| *after);
    Ok(notes)
}

fn read_note(noted: Noted) -> Option<Note> {
    match noted {
        Noted { note: Some(note), usage: None, edits: None, wanted: None, answer: None, .. } => Some(note),
        Noted { usage: Some(usage), edits, note: None, wanted: None, answer: None, .. } => {
            usage.is_object().then(|| Note::Usage(Usage::of(&usage, edits.unwrap_or(0))))
        }
        Noted { wanted: Some(asked), answer: Some(answer), note: None, usage: None, edits: None, .. } => {
            let Asked { upto, facts, room } = asked;
            let wanted = Wanted { upto, messages: String::new(), max_tokens: 0, facts, room, needs: None };
            match answer {
                Value::String(text) => Some(wanted.answered(&text)),
                Value::Object(_) => Some(wanted.compacted(&answer)),
                _ => None,
            }
        }
        _ => None,
    }
}

impl From<CannotFit> for Refusal {
    fn from(why: CannotFit) -> Self {
        Self::CannotFit { message: why.to_string(), min: why.min, limit: why.limit }
    }
}
