//! What is to be done about a conversation that grows, and when.

use serde::{Deserialize, Deserializer, Serialize};

use super::profile::Profile;
use super::strategy::{ClearToolUses, Delegate, Retention, Summary};

/// Strategies, when they begin and how far they go, and what they must not touch.
///
/// In JSON, unknown fields are refused:
///
/// ```
/// use memdir::context::{Budget, Policy, Strategy};
///
/// let policy: Policy = serde_json::from_str(
///     r#"{"strategies": [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 5}},
///                        {"type": "sliding_window"}],
///         "budget": {"unit": "tokens", "high": 150000, "low": 30000}}"#,
/// )?;
/// assert_eq!(policy.budget, Budget::tokens(150_000, 30_000)?);
/// assert!(serde_json::from_str::<Policy>(r#"{"strategies": [], "budgets": 3}"#).is_err());
/// assert!(serde_json::from_str::<Strategy>(r#"{"type": "sliding_window", "messages": 3}"#).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What is tried, in this order, until the low mark is reached.
    pub strategies: Vec<Strategy>,
    /// When, and how far.
    pub budget: Budget,
    /// What always stays.
    #[serde(default = "first_and_latest_task")]
    pub pins: Vec<Pin>,
    /// What the model allows.
    #[serde(default)]
    pub profile: Profile,
    /// Tokens kept free for the answer: the request's `max_tokens`.
    #[serde(default = "answer")]
    pub output: u64,
    /// Whether the model is told before anything goes.
    #[serde(default)]
    pub flush: Flush,
}

/// One way to make a conversation smaller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// The latest messages stay, as many as the low mark allows.
    #[serde(deserialize_with = "no_fields")]
    SlidingWindow,
    /// A summary takes the place of all but the latest messages.
    Summary(Summary),
    /// The messages that matter stay.
    Retention(Retention),
    /// Results of tools go to memory files.
    #[serde(rename = "clear_tool_uses_20250919")]
    ClearToolUses(ClearToolUses),
    /// The API edits; nothing is edited here.
    Delegate(Delegate),
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tokens of the whole request, as far as known.
    Tokens,
    /// Messages.
    Messages,
}

/// Editing starts when the high mark is reached, and goes down to the low mark.
///
/// An edit makes the prompt cache useless from there on. So it is made rarely and then in earnest: one that would take away
/// less than half of what lies between the marks is not made at all, as long as the window has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Marks", into = "Marks")]
pub struct Budget {
    unit: Unit,
    high: u64,
    low: u64,
}

/// Marks of which the high one is not above the low one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the high mark ({high}) must be above the low mark ({low}): what is edited at every turn is never in the cache"
)]
pub struct BadBudget {
    /// The high mark that was given.
    pub high: u64,
    /// The low mark that was given.
    pub low: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Marks {
    unit: Unit,
    high: u64,
    low: u64,
}

impl Budget {
    /// A budget of tokens.
    ///
    /// # Errors
    /// [`BadBudget`] unless `high` is above `low`.
    pub fn tokens(high: u64, low: u64) -> Result<Self, BadBudget> {
        Marks { unit: Unit::Tokens, high, low }.try_into()
    }

    /// A budget of messages.
    ///
    /// # Errors
    /// As [`Budget::tokens`].
    pub fn messages(high: u64, low: u64) -> Result<Self, BadBudget> {
        Marks { unit: Unit::Messages, high, low }.try_into()
    }

    /// Up to so much is left alone: editing starts above it and goes down to half.
    fn up_to(unit: Unit, most: u64) -> Self {
        Self { unit, high: most.max(1).saturating_add(1), low: most / 2 }
    }

    /// What it counts.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Where editing starts.
    #[must_use]
    pub fn high(&self) -> u64 {
        self.high
    }

    /// Where it ends.
    #[must_use]
    pub fn low(&self) -> u64 {
        self.low
    }
}

impl TryFrom<Marks> for Budget {
    type Error = BadBudget;

    fn try_from(Marks { unit, high, low }: Marks) -> Result<Self, BadBudget> {
        if high > low { Ok(Self { unit, high, low }) } else { Err(BadBudget { high, low }) }
    }
}

impl From<Budget> for Marks {
    fn from(Budget { unit, high, low }: Budget) -> Self {
        Self { unit, high, low }
    }
}

/// What always stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pin {
    /// The first message of the user that is no result of a tool.
    FirstTask,
    /// The latest such message.
    LatestTask,
    /// The message of this number, from 0.
    Message(usize),
}

/// Whether the model is told before anything goes, so that it can write down what it wants to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// It is not.
    #[default]
    Never,
    /// It is, once before each edit, when nine tenths of the high mark are reached.
    BeforeEdits,
}

/// A strategy without fields.
fn no_fields<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(from).map(|Nothing {}| ())
}

fn first_and_latest_task() -> Vec<Pin> {
    vec![Pin::FirstTask, Pin::LatestTask]
}

fn answer() -> u64 {
    8_192
}

impl Policy {
    /// A policy with the pins, the profile and the room for an answer that are usual.
    #[must_use]
    pub fn new(budget: Budget, strategies: Vec<Strategy>) -> Self {
        Self {
            strategies,
            budget,
            pins: first_and_latest_task(),
            profile: Profile::default(),
            output: answer(),
            flush: Flush::default(),
        }
    }

    /// The latest messages, at most `max_messages` (20 is usual), and the tasks: when there are more, half of them go.
    ///
    /// ```
    /// use memdir::context::{Message, Policy, Transcript, plan, render};
    ///
    /// let say = |n: usize| format!(r#"{{"role":"{}","content":"{n}"}}"#, ["user", "assistant"][n % 2]);
    /// let chat: Transcript = (0..31).map(|n| Message::from_json(&say(n))).collect::<Result<_, _>>()?;
    /// let messages: Vec<serde_json::Value> =
    ///     serde_json::from_str(&render(&chat, &plan(&chat, &Policy::sliding_window(20))?))?;
    /// assert_eq!(messages[0]["content"], "0");
    /// assert_eq!(messages[1]["content"], "[… 11 messages left out …]");
    /// assert_eq!(messages.len(), 21);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sliding_window(max_messages: usize) -> Self {
        let most = u64::try_from(max_messages).unwrap_or(u64::MAX);
        Self::new(Budget::up_to(Unit::Messages, most), vec![Strategy::SlidingWindow])
    }

    /// A summary of all but the last five messages, once there are `threshold` tokens (15,000 is usual).
    #[must_use]
    pub fn compact_with_summary(threshold: u64) -> Self {
        let budget = Budget { unit: Unit::Tokens, high: threshold.max(2), low: threshold.max(2) / 2 };
        Self::new(budget, vec![Strategy::Summary(Summary::default())])
    }

    /// The messages that matter, once there are more than `max_tokens` (50,000 is usual): half of that stays.
    #[must_use]
    pub fn selective_retention(max_tokens: u64) -> Self {
        Self::new(Budget::up_to(Unit::Tokens, max_tokens), vec![Strategy::Retention(Retention::default())])
    }

    /// The same policy for a model, by its name.
    #[must_use]
    pub fn for_model(self, model: &str) -> Self {
        Self { profile: Profile::of(model), ..self }
    }

    /// The tokens that a request may have.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.profile.window.saturating_sub(self.output)
    }
}

impl Default for Policy {
    /// Results of tools go to memory files at 100,000 tokens; at 150,000 the oldest messages go, down to 30,000.
    fn default() -> Self {
        Self::new(
            Budget { unit: Unit::Tokens, high: 150_000, low: 30_000 },
            vec![Strategy::ClearToolUses(ClearToolUses::default()), Strategy::SlidingWindow],
        )
    }
}
