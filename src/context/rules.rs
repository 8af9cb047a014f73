//! What a valid history keeps: each rule in one place, with the error that the API gives for it.
//!
//! | | rule | where |
//! |---|---|---|
//! | I1 | at least one message; the first is the user's, or begins with a compaction | `roles` |
//! | I2 | roles, where system messages may stand, which block belongs to whom | `roles` |
//! | I3 | no assistant message last on models without prefill (but for a paused turn) | `roles` |
//! | I4 | a call of a client's tool has one result, in the next message, before other blocks | `pairs` |
//! | I5 | a call of a server's tool has its result in the same turn | `pairs` |
//! | I6 | what code called stays with that code | `pairs` |
//! | I7 | thinking is signed, unchanged, and not the last of a message | `thinking` |
//! | I8 | thinking stands after what it was thought after | `thinking` |
//! | I9 | nothing is empty | `content` |
//! | I10 | four cache marks, none on thinking, long ones first | `content` |
//! | I11, I12, I14, I15 | what an edit keeps: between two histories | `compare` |
//! | I13 | no more messages than 100,000; tokens are counted elsewhere | `roles` |
//!
//! Neighbours of one role are one turn, since the API merges them. A system message without content that only has
//! `output_config` may stand anywhere and is no turn.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block::{Block, Kind};
use super::fields::Fields;
use super::message::{Malformed, Message, Role};
use super::profile::Profile;
use super::request::{Entry, Request};
use super::table::Table;
use crate::text;

mod compare;
mod content;
mod pairs;
mod roles;
mod thinking;

pub use compare::compare;
pub(super) use content::{is_empty, is_long, marks};
pub(super) use thinking::{lacking, open_turn};

/// Cache marks that a request may have.
pub(super) const MOST_MARKS: usize = 4;
/// Messages that a request may have.
pub(super) const MOST_MESSAGES: usize = 100_000;

/// Which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the table of the module says what they are")]
pub enum Rule {
    /// It is no request, no message or no block.
    #[serde(rename = "shape")]
    Shape,
    I1,
    I2,
    I3,
    I4,
    I5,
    I6,
    I7,
    I8,
    I9,
    I10,
    I11,
    I12,
    I13,
    I14,
    I15,
}

/// A way to break a rule: a row of `errors.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    BrokenMessage,
    NoId,
    AnswersNothing,
    NoMessages,
    NotUserFirst,
    SystemUnsupported,
    SystemFirst,
    SystemAfterAssistant,
    SystemBeforeUser,
    WrongRole,
    EndsWithAssistant,
    EndsWithSpace,
    Unanswered,
    LateResult,
    Orphan,
    SecondResult,
    SecondId,
    ServerUnanswered,
    ServerOrphan,
    NoCaller,
    EndsInThinking,
    NoThinkingFirst,
    ThinkingDisabled,
    Unsigned,
    Forged,
    Unbound,
    EmptyText,
    BlankText,
    EmptyMessage,
    EmptyCompaction,
    TooManyMarks,
    MarkOnSealed,
    LongAfterShort,
    TwoLifetimes,
    TooManyMessages,
    TooLong,
    ChangedSeal,
    ChangedPrefix,
    LostToolChange,
    LostDocument,
    SplitFallback,
    LostSystem,
    LostPin,
    NotInOrder,
}

#[derive(Deserialize)]
struct Row {
    rule: Rule,
    hint: Box<str>,
    message: Option<Box<str>>,
}

impl Fault {
    fn row(self) -> &'static Row {
        static TABLE: OnceLock<Table<Fault, Row>> = OnceLock::new();
        TABLE.get_or_init(|| Table::read(include_str!("errors.json"))).row(&self)
    }
}

/// Where something is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    /// The request itself.
    Whole,
    /// A part of `tools`.
    Tool(usize),
    /// A part of `system`.
    System(usize),
    /// All messages.
    Messages,
    /// A message.
    Message(usize),
    /// A block of a message.
    Block(usize, usize),
    /// A block in the content of a block of a message.
    Part(usize, usize, usize),
    /// A field of the request.
    Field(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Tool(tool) => write!(to, "tools.{tool}"),
            Self::System(part) => write!(to, "system.{part}"),
            Self::Messages => to.write_str("messages"),
            Self::Message(i) => write!(to, "messages.{i}"),
            Self::Block(i, j) => write!(to, "messages.{i}.content.{j}"),
            Self::Part(i, j, k) => write!(to, "messages.{i}.content.{j}.content.{k}"),
            Self::Field(name) => to.write_str(name),
        }
    }
}

/// What a text about a fault names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Facts {
    ids: Vec<Box<str>>,
    kind: Box<str>,
    result: Box<str>,
    number: usize,
    most: usize,
}

/// Something that the API would refuse, or that an edit may not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Where, as `messages.3.content.1`; empty: the request itself.
    pub path: String,
    /// Against which rule.
    pub rule: Rule,
    /// What is wrong, for people.
    pub hint: String,
    #[serde(skip)]
    pub(super) fault: Fault,
    #[serde(skip)]
    pub(super) place: Place,
    #[serde(skip)]
    facts: Facts,
}

/// How the API refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status} {kind}: {message}")]
#[non_exhaustive]
pub struct ApiError {
    /// The status of HTTP.
    pub status: u16,
    /// `error.type`
    pub kind: &'static str,
    /// `error.message`
    pub message: String,
}

impl ApiError {
    pub(crate) fn new(status: u16, kind: &'static str, message: String) -> Self {
        Self { status, kind, message }
    }
}

impl Violation {
    pub(super) fn new(fault: Fault, place: Place) -> Self {
        Self::with(fault, place, Facts::default())
    }

    fn with(fault: Fault, place: Place, facts: Facts) -> Self {
        let path = place.to_string();
        let hint = fill(&fault.row().hint, &path, place, &facts);
        Self { path, rule: fault.row().rule, hint, fault, place, facts }
    }

    /// That the tokens of a request, counted elsewhere, do not fit.
    #[must_use]
    pub fn too_long(tokens: usize, most: usize) -> Self {
        Self::with(Fault::TooLong, Place::Messages, Facts { number: tokens, most, ..Facts::default() })
    }

    /// What [`Malformed`] says of a request, or of a message at `place`.
    fn malformed(place: Place, why: &Malformed) -> Self {
        let facts = Facts { kind: why.hint.into(), ..Facts::default() };
        let whole = Self::with(Fault::BrokenMessage, place, facts);
        let parts = [whole.path.as_str(), why.at.as_str()];
        let path = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        Self { path, ..whole }
    }

    /// What is wrong with something that is no request.
    pub(super) fn no_request(why: &Malformed) -> Self {
        Self::malformed(Place::Whole, why)
    }

    /// How the API refuses a request for this. What only an edit can do wrong, between two histories, has no such error.
    #[must_use]
    pub fn api_error(&self) -> Option<ApiError> {
        let message = fill(self.fault.row().message.as_ref()?, &self.path, self.place, &self.facts);
        Some(ApiError::new(400, "invalid_request_error", message))
    }

    /// The same of another place.
    pub(super) fn at(&self, place: Place) -> Self {
        Self::with(self.fault, place, self.facts.clone())
    }

    /// The message and the block whose signature does not fit, if it is about that.
    pub(crate) fn misfit(&self) -> Option<(usize, usize)> {
        match (self.fault, self.place) {
            (Fault::Forged | Fault::Unbound, Place::Block(message, block)) => Some((message, block)),
            _ => None,
        }
    }

    /// The ids that it is about.
    pub(super) fn ids(&self) -> &[Box<str>] {
        &self.facts.ids
    }
}

fn fill(text: &str, path: &str, place: Place, facts: &Facts) -> String {
    let (i, j) = match place {
        Place::Message(i) => (i, 0),
        Place::Block(i, j) | Place::Part(i, j, _) => (i, j),
        _ => (0, 0),
    };
    let field = path.split('.').next().unwrap_or_default();
    let facts: [(&str, &str); 9] = [
        ("path", path),
        ("field", field),
        ("i", &i.to_string()),
        ("j", &j.to_string()),
        ("n", &facts.number.to_string()),
        ("max", &facts.most.to_string()),
        ("type", &facts.kind),
        ("result", &facts.result),
        ("id", &facts.ids.join(", ")),
    ];
    text::fill(text, &facts)
}

/// What is known of the signature of a block of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// It fits, or nothing is known.
    Fits,
    /// The block is not what was signed.
    Forged,
    /// Something before the block has changed.
    Unbound,
}

/// Who can tell whether a signature fits. `()` knows nothing: to it, all fit.
pub trait Seals {
    /// Whether the signature of block `block` of message `message`, which is thinking, fits what it is and what is before it.
    fn seal(&self, request: &Request, message: usize, block: usize) -> Seal;
}

impl Seals for () {
    fn seal(&self, _: &Request, _: usize, _: usize) -> Seal {
        Seal::Fits
    }
}

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    message: usize,
    block: usize,
}

impl Spot {
    fn place(self) -> Place {
        Place::Block(self.message, self.block)
    }
}

/// Neighbours of one role, as the API merges them.
struct Turn {
    role: Role,
    messages: Vec<usize>,
}

/// The messages of a request, all of them readable, and their turns.
struct History<'a> {
    request: &'a Request,
    messages: Vec<&'a Message>,
    turns: Vec<Turn>,
}

impl<'a> History<'a> {
    /// `None`: something in it is no message.
    fn of(request: &'a Request) -> Option<Self> {
        let message = |entry: &'a Entry| match entry {
            Entry::Message(message) => Some(message),
            Entry::Broken { .. } => None,
        };
        let messages: Vec<&Message> = request.messages().iter().map(message).collect::<Option<_>>()?;
        let mut turns: Vec<Turn> = Vec::new();
        for (i, message) in messages.iter().enumerate().filter(|(_, message)| !is_directive(message)) {
            match turns.last_mut() {
                Some(turn) if turn.role == message.role() => turn.messages.push(i),
                _ => turns.push(Turn { role: message.role(), messages: vec![i] }),
            }
        }
        Some(Self { request, messages, turns })
    }

    /// The blocks of a turn.
    fn blocks(&self, turn: &Turn) -> impl DoubleEndedIterator<Item = (Spot, &'a Block)> {
        turn.messages.iter().flat_map(|&message| {
            let blocks = self.messages[message].blocks().iter().enumerate();
            blocks.map(move |(block, it)| (Spot { message, block }, it))
        })
    }

    fn json(&self, spot: Spot, block: &Block) -> &'a str {
        self.messages[spot.message].block_json(block)
    }
}

/// Whether it is a system message that only sets `output_config`: such may stand anywhere.
pub(super) fn is_directive(message: &Message) -> bool {
    message.role() == Role::System
        && message.blocks().is_empty()
        && Fields::read(message.json()).is_some_and(|fields| fields.get("output_config").is_some())
}

/// Whether a block is a summary of the API's: it stands for all that was before it.
pub(super) fn is_summary(message: &Message, block: &Block) -> bool {
    block.kind == Kind::Compaction
        && super::request::string(message.block_json(block), "content").is_some_and(|text| !text.is_empty())
}

/// What the API would refuse in a request (an object with `messages`, or a list of messages), as if it were sent now to the
/// model that it names. None: it is valid, as far as can be seen without counting tokens and without the key that thinking
/// is signed with.
///
/// ```
/// use memdir::context::{Rule, validate};
/// use serde_json::json;
///
/// let found = validate(&json!([
///     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 files"}]},
/// ]));
/// assert_eq!((found[0].path.as_str(), found[0].rule), ("messages.0.content.0", Rule::I4));
/// ```
#[must_use]
pub fn validate(request: &Value) -> Vec<Violation> {
    match Request::from_value(request) {
        Ok(request) => violations(&request, &request.profile(), &()),
        Err(why) => vec![Violation::no_request(&why)],
    }
}

/// As [`validate`], for a model and with signatures that are known. What is no message hides what else is wrong, as it does
/// in the API.
#[must_use]
pub fn violations(request: &Request, profile: &Profile, seals: &impl Seals) -> Vec<Violation> {
    let Some(history) = History::of(request) else {
        let broken = request.messages().iter().enumerate().filter_map(|(i, entry)| match entry {
            Entry::Broken { why, .. } => Some(Violation::malformed(Place::Message(i), why)),
            Entry::Message(_) => None,
        });
        return broken.collect();
    };
    let mut found = Vec::new();
    pairs::names(&history, &mut found);
    if !found.is_empty() {
        return found;
    }
    roles::check(&history, profile, &mut found);
    content::check(&history, &mut found);
    pairs::check(&history, &mut found);
    thinking::check(&history, profile, seals, &mut found);
    roles::end(&history, profile, &mut found);
    found
}

/// Whether a block belongs to the API's side of a turn: a call of its own tools, or the result.
fn is_of_server(kind: Kind) -> bool {
    matches!(kind, Kind::ServerToolUse | Kind::ServerToolResult | Kind::McpToolUse | Kind::McpToolResult)
}
