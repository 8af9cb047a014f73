//! Reading the log from its beginning: what stays, what goes, and when that was decided.
//!
//! The state after a message depends on nothing that comes later. That makes a plan stable: what is appended changes nothing
//! that was decided before.
//!
//! On models that bind thinking to what stands before it, an edit takes all thinking after it along; but the thinking of a
//! turn with an open call must stay. The two cannot both hold in the middle of such a turn. So an edit waits for its end;
//! and if the window is full before that, the API is told to drop what is no longer valid (`drop_block`), from then on.
//! [`repair`](super::repair()) cannot wait: of a history that has changed already, the thinking of an open turn goes as well.

mod choose;
mod clear;
mod compact;
mod edit;
mod finish;
mod live;
mod summarise;

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::atom::Atoms;
use super::block::Kind;
use super::message::{Message, Role};
use super::plan::{By, Edit, Fate, Insert, Spill, To, Warning};
use super::policy::{Policy, Strategy, Unit};
use super::profile::Binding;
use super::rules::MOST_MESSAGES;
use super::speech::{self, text_of};
use super::strategy::{Summariser, Summary, flush};
use super::tokens::{Mix, TokenCounter};
use super::transcript::{Note, Transcript, Usage};
use compact::Head;
use live::Live;

/// Without `clear_at_least`, this part of the trigger is to be cleared, or the cache is worth more.
const WORTH_CLEARING: f64 = 0.2;
/// So many summaries may fail in a row before none is asked for any more.
const MOST_FAILURES: usize = 2;

/// What a report said, and what was sent then.
struct Anchor {
    tokens: f64,
    mix: Mix,
    edits: usize,
}

/// A call of a tool of the client's, without its result: its tool, its message and its number in that.
type Call<'a> = (&'a str, (usize, usize));

/// A call of a tool of the client's with its result, not cleared.
struct Use<'a> {
    tool: &'a str,
    id: &'a str,
    call: (usize, usize),
    result: (usize, usize),
}

/// The turn that is under way.
#[derive(Default)]
struct Turn {
    /// Results have come since the assistant last spoke.
    has_results: bool,
    /// The assistant has thought.
    has_thinking: bool,
}

pub(super) struct Fold<'a> {
    transcript: &'a Transcript,
    policy: &'a Policy,
    counter: &'a mut dyn TokenCounter,
    atoms: Atoms<'a>,
    fates: Vec<Fate>,
    /// What is sent and may be edited, oldest first.
    live: Vec<Live>,
    /// What is sent, but stands before a compaction of the API's.
    before_compaction: Vec<Live>,
    /// What stands in gaps there.
    settled: Vec<Insert>,
    summary: Option<String>,
    head: Option<Head>,
    /// How many messages are sent, and all that is sent and read.
    sent: usize,
    mix: Mix,
    /// Of messages with changes.
    changed: HashMap<usize, Mix>,
    changes: BTreeMap<(usize, usize), To>,
    /// Messages whose thinking is sent.
    thinking: Vec<usize>,
    calls: HashMap<&'a str, Call<'a>>,
    uses: VecDeque<Use<'a>>,
    turn: Turn,
    tasks: Option<(usize, usize)>,
    anchor: Option<Anchor>,
    edits: Vec<Edit>,
    spills: Vec<Spill>,
    /// A summary that came and waits for the end of a turn.
    pending: Option<(usize, String)>,
    failures: usize,
    wanted: Option<&'a Summary>,
    /// Nothing was worth an edit: below this size it is not tried again, nor clearing below these tokens.
    idle_until: f64,
    clear_from: f64,
    /// Whether the model was told of the next edit.
    is_flushed: bool,
    drops_blocks: bool,
    waits: bool,
    warnings: Vec<Warning>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(
        transcript: &'a Transcript,
        policy: &'a Policy,
        counter: &'a mut dyn TokenCounter,
    ) -> Self {
        Self {
            transcript,
            policy,
            counter,
            atoms: Atoms::default(),
            fates: Vec::new(),
            live: Vec::new(),
            before_compaction: Vec::new(),
            settled: Vec::new(),
            summary: None,
            head: None,
            sent: 0,
            mix: Mix::default(),
            changed: HashMap::new(),
            changes: BTreeMap::new(),
            thinking: Vec::new(),
            calls: HashMap::new(),
            uses: VecDeque::new(),
            turn: Turn::default(),
            tasks: None,
            anchor: None,
            edits: Vec::new(),
            spills: Vec::new(),
            pending: None,
            failures: 0,
            wanted: None,
            idle_until: 0.0,
            clear_from: 0.0,
            is_flushed: false,
            drops_blocks: false,
            waits: false,
            warnings: Vec::new(),
        }
    }

    pub(super) fn message(&mut self, number: usize, message: &'a Message) {
        let mix = self.transcript.mix(number);
        let is_new = self.atoms.push(number, message);
        if is_new {
            self.fates.push(Fate::Kept);
            self.live.push(Live::new(number, self.fates.len() - 1));
        }
        let live = self.live.last_mut().expect("the newest atom is never left out");
        live.mix += mix;
        live.messages.end = number + 1;
        self.mix += mix;
        self.sent += 1;
        self.follow(number, message);
        if message.role() != Role::Assistant && !self.atoms.is_open() {
            self.consider();
        }
    }

    /// Keeps track of the turn, its calls and its thinking.
    fn follow(&mut self, number: usize, message: &'a Message) {
        let (mut has_results, mut has_thinking) = (false, false);
        for (at, block) in message.blocks().iter().enumerate() {
            match (block.kind, block.id.as_deref(), block.answers.as_deref()) {
                (Kind::Thinking, ..) => has_thinking = true,
                (Kind::ToolUse, Some(id), _) => {
                    self.calls.insert(id, (block.tool.as_deref().unwrap_or_default(), (number, at)));
                }
                (Kind::ToolResult, _, Some(id)) => {
                    has_results = true;
                    if let Some((tool, call)) = self.calls.remove(id) {
                        self.uses.push_back(Use { tool, id, call, result: (number, at) });
                    }
                }
                (Kind::ToolResult, ..) => has_results = true,
                (Kind::Compaction, ..) if speech::compaction(message.block_json(block)).is_some() => {
                    self.compacted();
                }
                _ => {}
            }
        }
        if has_thinking {
            self.thinking.push(number);
        }
        match message.role() {
            Role::User if has_results => self.turn.has_results = true,
            Role::User if !self.turn.has_results && !flush::is_notice(message) => {
                self.turn.has_thinking = false;
                self.tasks = Some((self.tasks.map_or(number, |(first, _)| first), number));
            }
            Role::User | Role::System => {}
            Role::Assistant => {
                self.turn.has_results = false;
                self.turn.has_thinking |= has_thinking;
            }
        }
    }

    /// The API has summarised all that stands before the newest atom: it reads nothing of that, and nothing of it is edited.
    fn compacted(&mut self) {
        // What stands where something was before it stays as it is: thinking in the newest atom is bound to that, too.
        let summary = self.summary.take();
        for live in &mut self.live {
            let text = std::mem::take(&mut live.gap).text(summary.as_deref());
            self.settled.extend(text.map(|text| Insert { before: live.messages.start, text }));
        }
        let newest = self.live.pop().expect("the compaction stands in an atom");
        for live in &self.live {
            self.fates[live.atom] = Fate::Compacted;
        }
        *self.fates.last_mut().expect("the newest has one") = Fate::State;
        self.mix = newest.mix;
        self.anchor = None;
        self.thinking.clear();
        self.uses.clear();
        self.before_compaction.append(&mut self.live);
        self.live.push(newest);
    }

    pub(super) fn note(&mut self, note: &Note) {
        match note {
            Note::Usage(usage) => self.report(usage),
            Note::Summary { upto, text } if !text.trim().is_empty() => {
                self.failures = 0;
                self.wanted = None;
                self.pending = Some((*upto, text.clone()));
                self.consider();
            }
            Note::Compacted { upto, message } => {
                self.wanted = None;
                self.compact(*upto, message);
                self.consider();
            }
            Note::Summary { .. } | Note::SummaryFailed { .. } => {
                self.wanted = None;
                self.failures += 1;
                self.consider();
            }
            Note::Flushed => self.is_flushed = true,
        }
    }

    fn report(&mut self, usage: &Usage) {
        if usage.edits != self.edits.len() {
            return;
        }
        let tokens = float(usage.total());
        if let Some(last) = self.anchor.as_ref().filter(|last| last.edits == usage.edits) {
            self.counter.learn(&(self.mix - last.mix), tokens - last.tokens);
        }
        self.anchor = Some(Anchor { tokens, mix: self.mix, edits: usage.edits });
    }

    /// The tokens of the request that would be made now.
    fn tokens(&self) -> f64 {
        let tokens = match &self.anchor {
            Some(anchor) => anchor.tokens + self.counter.tokens(&(self.mix - anchor.mix)),
            None => self.counter.tokens(&self.mix),
        };
        tokens.max(0.0)
    }

    /// How much there is of what the budget counts.
    fn size(&self) -> f64 {
        match self.policy.budget.unit() {
            Unit::Tokens => self.tokens(),
            Unit::Messages => float(u64::try_from(self.sent).unwrap_or(u64::MAX)),
        }
    }

    fn is_over(&self) -> bool {
        self.tokens() > float(self.policy.limit()) || self.sent > MOST_MESSAGES
    }

    /// Looks at the marks, now that a request can be made.
    fn consider(&mut self) {
        self.waits = false;
        if self.live.is_empty() {
            return;
        }
        let only_appends = self.policy.profile.binding == Binding::AppendOnly;
        let may_edit = |fold: &Self| !only_appends && (fold.may_edit() || fold.is_over());
        let mut may = may_edit(self);
        if may && let Some((upto, text)) = self.pending.take() {
            self.summarise(upto, &text);
            may = may_edit(self);
        }
        let is_due = self.size() >= float(self.policy.budget.high());
        // A summary that is wanted is so until it comes: what it is about only grows.
        self.wanted = self.wanted.filter(|_| is_due);
        self.waits = is_due && !may && !only_appends && self.wanted.is_none();
        if self.pending.is_some() || self.wanted.is_some() {
            return;
        }
        let edits = self.edits.len();
        let mut has_tried = may;
        for strategy in &self.policy.strategies {
            // What the API makes leaves all thinking as it is.
            let is_by_api = matches!(strategy, Strategy::Summary(summary) if summary.by == Summariser::Api);
            if may || is_by_api && self.failures < MOST_FAILURES {
                self.apply(strategy, is_due);
                has_tried = true;
            }
            if self.wanted.is_some() {
                self.waits = false;
                return;
            }
        }
        if !has_tried {
            return;
        }
        if may && self.is_over() {
            self.slide(By::FullWindow);
        }
        if is_due && self.edits.len() == edits && self.size() >= self.idle_until {
            self.idle_until = self.size() + self.least() / 4.0;
        }
    }

    fn apply(&mut self, strategy: &'a Strategy, is_due: bool) {
        let is_idle = self.size() < self.idle_until && !self.is_over();
        match strategy {
            Strategy::ClearToolUses(clear) => self.clear(clear),
            Strategy::Delegate(_) => {}
            _ if !is_due || is_idle || self.size() <= float(self.policy.budget.low()) => {}
            Strategy::SlidingWindow => self.slide(By::SlidingWindow),
            Strategy::Retention(retention) => self.retain(retention),
            Strategy::Summary(summary) if self.failures < MOST_FAILURES => {
                self.wanted = self.cut(summary).map(|_| summary);
            }
            Strategy::Summary(_) => {
                self.warn(Warning::SummariesFailed);
                self.slide(By::SlidingWindow);
            }
        }
    }

    /// Whether an edit leaves the thinking of an open turn valid.
    fn may_edit(&self) -> bool {
        self.policy.profile.binding != Binding::StripThinking
            || self.drops_blocks
            || !(self.turn.has_results && self.turn.has_thinking)
    }

    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// What the blocks of a message say.
fn said(message: &Message) -> Vec<String> {
    message.blocks().iter().map(|block| text_of(message, block).into_owned()).collect()
}

#[allow(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens are none or more, and few"
)]
fn round(tokens: f64) -> u64 {
    tokens.max(0.0).round() as u64
}
