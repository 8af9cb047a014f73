//! What is sent of a conversation, and why: computed, serialisable, and the same every time.

use std::ops::Range;

use serde::de::Deserializer;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fold::Fold;
use super::policy::Policy;
use super::speech;
use super::strategy::summary;
use super::tokens::{ByClass, TokenCounter};
use super::transcript::{Note, Transcript};

/// What is sent of a [`Transcript`]. It can be kept, as JSON, and gives the same bytes again: see [`render`](super::render()).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// How many messages of the transcript it is about: those from 0.
    pub messages: usize,
    /// The tokens of the whole request, as far as they are known: system prompt and tools are in it once the API has
    /// reported a usage.
    pub tokens: u64,
    /// The edits that led here, oldest first.
    pub edits: Vec<Edit>,
    /// What the API made of older messages: a message of the assistant's that is sent first, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Value>,
    /// What becomes of each atom, and why.
    pub atoms: Vec<Verdict>,
    /// Texts that stand where something was: markers and summaries.
    pub inserts: Vec<Insert>,
    /// Blocks that are not sent as they came.
    pub changes: Vec<Change>,
    /// Memory files to write before the request is made; those of earlier plans are among them.
    pub spills: Vec<Spill>,
    /// What the request needs beside its messages.
    pub needs: Needs,
    /// A summary is to be had first: see [`Wanted`].
    pub wanted: Option<Wanted>,
    /// Something goes soon: a text for the model, to be sent as the next message of the user. Once it was, note
    /// [`Note::Flushed`](super::Note::Flushed).
    pub flush: Option<String>,
    /// What the host should hear of.
    pub warnings: Vec<Warning>,
}

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Edit {
    /// How many messages there were.
    pub at: usize,
    /// What made it.
    pub by: By,
    /// The tokens before it.
    pub before: u64,
    /// The tokens after it.
    pub after: u64,
}

/// What made an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum By {
    /// The latest messages stayed.
    SlidingWindow,
    /// A summary took the place of older messages.
    Summary,
    /// What matters stayed.
    Retention,
    /// Results of tools went to memory files.
    ClearToolUses,
    /// The window was full, whatever the policy says; the latest messages stayed.
    FullWindow,
}

/// What becomes of an atom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The numbers of its messages.
    pub messages: Range<usize>,
    /// Its tokens, as it is sent, or as it came when it is not.
    pub tokens: u64,
    /// Whether it is sent.
    pub fate: Fate,
}

/// Whether an atom is sent, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// Sent: the policy pins it.
    Pinned,
    /// Sent: it says which tools there are, or holds a summary that the API made.
    State,
    /// Sent: it is the newest.
    Newest,
    /// Sent: no edit took it away.
    Kept,
    /// Sent, but the API does not read it: a later compaction stands for it.
    Compacted,
    /// Not sent: the edit of this number, from 0, took it away.
    LeftOut(usize),
    /// Not sent: the summary of this edit stands for it.
    Summarised(usize),
}

impl Fate {
    /// Whether the atom is sent.
    #[must_use]
    pub fn is_sent(self) -> bool {
        !matches!(self, Self::LeftOut(_) | Self::Summarised(_))
    }
}

/// A message of the user's that stands where something was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Insert {
    /// The number of the message that it stands before.
    pub before: usize,
    /// What it says.
    pub text: String,
}

/// A block that is not sent as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The number of its message.
    pub message: usize,
    /// Its number in that.
    pub block: usize,
    /// What becomes of it.
    pub to: To,
}

/// What becomes of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum To {
    /// It is not sent: thinking whose prefix has changed. A message with nothing left is not sent either.
    Nothing,
    /// Its `content` is this text.
    Content(String),
    /// Its `input` is empty.
    NoInput,
}

/// A memory file to write. Its text is [`spilled`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spill {
    /// Its path, below `/memories`.
    pub path: String,
    /// The message of the result.
    pub message: usize,
    /// The number of the result in that.
    pub block: usize,
    /// The message and the number of the call, when its input is cleared as well.
    pub call: Option<(usize, usize)>,
}

/// What a request needs beside its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Needs {
    /// Values of the header `anthropic-beta`.
    pub betas: Vec<String>,
    /// Edits for `context_management.edits`.
    pub edits: Vec<Value>,
    /// Thinking whose prefix has changed is in it: `thinking.block_binding.prefix_mismatch_behavior` is to be `drop_block`.
    pub drops_blocks: bool,
    /// The turn that goes on does not begin with its thinking: a request whose `thinking` is `enabled` is refused, and it is to
    /// be `disabled` until the turn ends, without its later thinking. (`adaptive` does not ask for it.)
    #[serde(default)]
    pub lacks_thinking: bool,
    /// The field `compaction`: the request asks for a summary of its messages, and for nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Value>,
}

/// A summary that is to be had before the request is made.
///
/// Send `messages` to a model with `max_tokens`; note [`Wanted::answered`] with what it says, or
/// [`Note::SummaryFailed`] when nothing came or it was cut off; then plan again. Until then the history stays as it is, and
/// may be over the window.
///
/// With `needs`, the API itself makes it: [`splice`](super::splice()) `messages` and `needs` into the request, send that with the
/// beta headers, and note [`Wanted::compacted`]. The conversation may go on in the meantime, as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Wanted {
    /// The first message that the summary is not about.
    pub upto: usize,
    /// The `messages` of the request, as a JSON list: one message of the user, without calls, thinking and files. Or, with
    /// `needs`, all that is sent of the messages before `upto`.
    #[serde(serialize_with = "as_json", deserialize_with = "from_json")]
    pub messages: String,
    /// The `max_tokens` of the request.
    pub max_tokens: u64,
    /// To-dos, URLs, paths, numbers and names that the summary must not lack, most precious first.
    pub facts: Vec<String>,
    /// So many bytes of them are added to a summary at most.
    pub room: usize,
    /// What the request needs beside its messages, where the API makes the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
}

impl Wanted {
    /// The note of a summary: what the model said, and the facts that it lacks.
    #[must_use]
    pub fn answered(&self, text: &str) -> Note {
        if text.trim().is_empty() {
            return Note::SummaryFailed { why: "the summary is empty".to_owned() };
        }
        Note::Summary { upto: self.upto, text: summary::with_facts(text, &self.facts, self.room) }
    }

    /// The note of what the API answered to a request with `needs`: the whole response.
    #[must_use]
    pub fn compacted(&self, response: &Value) -> Note {
        let message = json!({"role": "assistant", "content": response["content"]});
        if speech::compacted(&message).is_none() {
            let why = response["stop_reason"].as_str().unwrap_or("no answer");
            return Note::SummaryFailed { why: format!("the API made no summary: {why}") };
        }
        Note::Compacted { upto: self.upto, message }
    }
}

/// Writes JSON as what it is, not as a string.
fn as_json<S: Serializer>(json: &str, to: S) -> Result<S::Ok, S::Error> {
    serde_json::from_str::<&RawValue>(json).map_err(S::Error::custom)?.serialize(to)
}

fn from_json<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Box::<RawValue>::deserialize(from).map(|json| json.get().to_owned())
}

/// What the host should hear of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// Two summaries in a row failed: the oldest messages go instead.
    SummariesFailed,
    /// The marks are reached, but the turn has an open call and thinking that must stay: editing waits for its end.
    WaitsForTurn,
    /// The window was full in the middle of such a turn: the API drops the thinking that is no longer valid.
    DropsOpenThinking,
    /// No strategy of the policy made enough room: the oldest messages went.
    FullWindow,
}

/// A conversation that cannot be sent, whatever is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what must stay takes {min} tokens, and the window has {limit}")]
#[non_exhaustive]
pub struct CannotFit {
    /// The tokens of what must stay: pins, the newest atom, what these need; with `append_only`, everything.
    pub min: u64,
    /// The tokens that there is room for.
    pub limit: u64,
}

/// Plans what is sent of a conversation: pure, and the same for the same log.
///
/// The log is read from its beginning. After each message with which a request can be made, the marks of the budget are looked
/// at, and what is cut there stays cut. So messages that are added change nothing that was sent before, until a mark is
/// reached again.
///
/// # Errors
/// [`CannotFit`] when what must stay is larger than the window.
pub fn plan(transcript: &Transcript, policy: &Policy) -> Result<Plan, CannotFit> {
    plan_with(transcript, policy, &mut ByClass::default())
}

/// Plans with another way to count tokens.
///
/// # Errors
/// As [`plan`].
pub fn plan_with(
    transcript: &Transcript,
    policy: &Policy,
    counter: &mut dyn TokenCounter,
) -> Result<Plan, CannotFit> {
    let mut fold = Fold::new(transcript, policy, counter);
    let mut notes = transcript.notes().iter().peekable();
    for (number, message) in transcript.messages().enumerate() {
        while let Some((_, note)) = notes.next_if(|(after, _)| *after <= number) {
            fold.note(note);
        }
        fold.message(number, message);
    }
    notes.for_each(|(_, note)| fold.note(note));
    fold.finish()
}

impl Plan {
    /// Whether the size is so near to the high mark (within a tenth) that counting it exactly is worth a request: note what
    /// `count_tokens` says as a [`Usage`](super::Usage), and plan again.
    #[must_use]
    pub fn is_near(&self, policy: &Policy) -> bool {
        self.tokens.abs_diff(policy.budget.high()) <= policy.budget.high() / 10
    }
}

/// The text of a memory file that a plan wants written.
#[must_use]
pub fn spilled(transcript: &Transcript, spill: &Spill) -> String {
    let text = |message: usize, block: usize| {
        let message = transcript.get(message)?;
        Some(speech::text_of(message, message.blocks().get(block)?).into_owned())
    };
    let result = text(spill.message, spill.block).unwrap_or_default();
    match spill.call.and_then(|(message, block)| text(message, block)) {
        Some(input) => format!("{input}\n\n{result}"),
        None => result,
    }
}
