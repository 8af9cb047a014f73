//! The log of a conversation: messages as they came, and what was learned beside them. Nothing in it is ever changed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{Malformed, Message};
use super::tokens::Mix;

/// What the API counted for a request and its answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Input that was not in the cache.
    pub input: u64,
    /// Input that was written to the cache.
    pub cache_creation: u64,
    /// Input that was read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
    /// How many edits the plan of that request had ([`Plan::edits`](super::Plan)): a report of another history says
    /// nothing about this one.
    pub edits: usize,
}

impl Usage {
    /// Reads the `usage` of a response; fields that are not there count as 0.
    #[must_use]
    pub fn of(usage: &Value, edits: usize) -> Self {
        let field = |name: &str| usage[name].as_u64().unwrap_or(0);
        Self {
            input: field("input_tokens"),
            cache_creation: field("cache_creation_input_tokens"),
            cache_read: field("cache_read_input_tokens"),
            output: field("output_tokens"),
            edits,
        }
    }

    /// All of it: what the next request has before what is new.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.cache_creation, self.cache_read, self.output].into_iter().fold(self.input, u64::saturating_add)
    }
}

/// What is recorded beside messages, at its place among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// A report of the API, after the message that it came with; or what `count_tokens` said of what would be sent.
    Usage(Usage),
    /// The summary of the messages before `upto`.
    Summary {
        /// The first message that it is not about.
        upto: usize,
        /// What the model wrote.
        text: String,
    },
    /// What the API made of the messages before `upto`, on demand: it is sent in their place.
    Compacted {
        /// The first message that it is not about.
        upto: usize,
        /// The assistant's message that it is, as it came.
        message: Value,
    },
    /// A summary that could not be had, or was cut off.
    SummaryFailed {
        /// Why, in words for people.
        why: String,
    },
    /// The model has been told that the oldest messages are about to go.
    Flushed,
}

/// An append-only log of messages, and of what was learned beside them.
///
/// ```
/// use memdir::context::{Message, Note, Transcript, Usage};
///
/// let mut transcript = Transcript::default();
/// transcript.push(Message::from_json(r#"{"role":"user","content":"Hello"}"#)?);
/// transcript.push(Message::from_json(r#"{"role":"assistant","content":"Hello!"}"#)?);
/// transcript.note(Note::Usage(Usage { input: 11, output: 4, ..Usage::default() }));
/// let lines: String = transcript.lines().map(|line| line + "\n").collect();
/// assert_eq!(Transcript::from_lines(&lines)?, transcript);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    messages: Vec<(Message, Mix)>,
    /// With the number of messages before it.
    notes: Vec<(usize, Note)>,
}

/// A line of a log that is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the log is no event: {why}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: Malformed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    /// A message whose JSON has more than one line.
    #[serde(default)]
    lines: Option<String>,
    #[serde(default)]
    note: Option<Note>,
}

impl Transcript {
    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        let mix = Mix::of(&message);
        self.messages.push((message, mix));
    }

    /// Records something after the last message.
    pub fn note(&mut self, note: Note) {
        self.notes.push((self.messages.len(), note));
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// A message by its number, from 0.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Message> {
        self.messages.get(number).map(|(message, _)| message)
    }

    /// All messages, oldest first.
    #[must_use = "iterators are lazy"]
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &Message> {
        self.messages.iter().map(|(message, _)| message)
    }

    /// All notes, oldest first, each with the number of messages before it.
    #[must_use]
    pub fn notes(&self) -> &[(usize, Note)] {
        &self.notes
    }

    pub(super) fn mix(&self, number: usize) -> Mix {
        self.messages[number].1
    }

    /// The log, one event a line, without line ends: what [`Transcript::from_lines`] reads back.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mut notes = self.notes.iter().peekable();
        let mut messages = self.messages.iter().enumerate().peekable();
        std::iter::from_fn(move || {
            let before = messages.peek().map_or(usize::MAX, |(number, _)| *number);
            if let Some((_, note)) = notes.next_if(|(after, _)| *after <= before) {
                return Some(note_line(note));
            }
            messages.next().map(|(_, (message, _))| message_line(message))
        })
    }

    /// Reads a log.
    ///
    /// # Errors
    /// [`BadLine`] for a line that is no event; what a killed process left half-written is the last one.
    pub fn from_lines(lines: &str) -> Result<Self, BadLine> {
        let mut transcript = Self::default();
        for (number, line) in lines.lines().enumerate() {
            transcript.read_line(line).map_err(|why| BadLine { line: number + 1, why })?;
        }
        Ok(transcript)
    }

    fn read_line(&mut self, line: &str) -> Result<(), Malformed> {
        let wrong = || Malformed { at: String::new(), hint: "an object with `message`, `lines` or `note`" };
        match serde_json::from_str(line).map_err(|_| wrong())? {
            Line { message: Some(message), lines: None, note: None } => {
                self.push(Message::from_json(message.get())?);
            }
            Line { message: None, lines: Some(json), note: None } => self.push(Message::from_json(&json)?),
            Line { message: None, lines: None, note: Some(note) } => self.note(note),
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

fn message_line(message: &Message) -> String {
    let json = message.json();
    if json.contains(['\n', '\r']) || json.trim() != json {
        return serde_json::json!({ "lines": json }).to_string();
    }
    format!("{{\"message\":{json}}}")
}

fn note_line(note: &Note) -> String {
    serde_json::json!({ "note": note }).to_string()
}

impl FromIterator<Message> for Transcript {
    fn from_iter<T: IntoIterator<Item = Message>>(messages: T) -> Self {
        let mut transcript = Self::default();
        messages.into_iter().for_each(|message| transcript.push(message));
        transcript
    }
}
