//! Reading the log from its beginning: what stays, what goes, and when that was decided.
//!
//! The state after a message depends on nothing that comes later. That makes a plan stable: what is appended changes nothing
//! that was decided before.
//!
//! On models that bind thinking to what stands before it, an edit takes all thinking after it along; but the thinking of a
//! turn with an open call must stay. The two cannot both hold in the middle of such a turn. So an edit waits for its end;
//! and if the window is full before that, the API is told to drop what is no longer valid (`drop_block`), from then on.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::atom::Atoms;
use super::block::Kind;
use super::live::{Gap, Live};
use super::message::{Message, Role};
use super::plan::{
    By, CannotFit, Change, Edit, Fate, Insert, Needs, Plan, Spill, To, Verdict, Wanted, Warning,
};
use super::policy::{Flush, Pin, Policy, Strategy, Unit};
use super::profile::Binding;
use super::render::edited;
use super::speech::{self, text_of};
use super::strategy::retention::{self, Voice};
use super::strategy::{
    Amount, Candidate, ClearToolUses, Summary, clear, cost, facts, flush, must_stay, summary, window,
};
use super::tokens::{Mix, TokenCounter};
use super::transcript::{Note, Transcript, Usage};

/// A request has at most so many messages.
const MOST_MESSAGES: usize = 100_000;
/// So many summaries may fail in a row before none is asked for any more.
const MOST_FAILURES: usize = 2;

/// What a report said, and what was sent then.
struct Anchor {
    tokens: f64,
    mix: Mix,
    edits: usize,
}

/// A call of a tool of the client's, without its result: its tool, its message and its number in that.
type Call = (Box<str>, (usize, usize));

/// A call of a tool of the client's with its result, not cleared.
struct Use {
    tool: Box<str>,
    id: Box<str>,
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
    atoms: Atoms,
    fates: Vec<Fate>,
    /// What is sent and may be edited, oldest first.
    live: Vec<Live>,
    /// What is sent, but stands before a compaction of the API's.
    before_compaction: Vec<Live>,
    summary: Option<String>,
    /// All that is sent and read.
    mix: Mix,
    /// Of messages with changes.
    changed: HashMap<usize, Mix>,
    changes: BTreeMap<(usize, usize), To>,
    /// Messages whose thinking is sent.
    thinking: Vec<usize>,
    calls: HashMap<Box<str>, Call>,
    uses: VecDeque<Use>,
    turn: Turn,
    tasks: Option<(usize, usize)>,
    anchor: Option<Anchor>,
    edits: Vec<Edit>,
    spills: Vec<Spill>,
    /// A summary that came and waits for the end of a turn.
    pending: Option<(usize, String)>,
    failures: usize,
    wanted: Option<(usize, &'a Summary)>,
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
            summary: None,
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
            is_flushed: false,
            drops_blocks: policy.profile.binding == Binding::DropBlock,
            waits: false,
            warnings: Vec::new(),
        }
    }

    pub(super) fn message(&mut self, number: usize, message: &Message) {
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
        self.follow(number, message);
        if message.role() != Role::Assistant && !self.atoms.is_open() {
            self.consider();
        }
    }

    /// Keeps track of the turn, its calls and its thinking.
    fn follow(&mut self, number: usize, message: &Message) {
        let (mut has_results, mut has_thinking) = (false, false);
        for (at, block) in message.blocks().iter().enumerate() {
            match (block.kind, &block.id, &block.answers) {
                (Kind::Thinking, ..) => has_thinking = true,
                (Kind::ToolUse, Some(id), _) => {
                    self.calls.insert(id.clone(), (block.tool.clone().unwrap_or_default(), (number, at)));
                }
                (Kind::ToolResult, _, Some(id)) => {
                    has_results = true;
                    if let Some((tool, call)) = self.calls.remove(id) {
                        self.uses.push_back(Use { tool, id: id.clone(), call, result: (number, at) });
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
            Role::User if !self.turn.has_results => {
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
                self.pending = Some((*upto, text.clone()));
                self.consider();
            }
            Note::Summary { .. } | Note::SummaryFailed { .. } => {
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

    fn count(&self) -> usize {
        self.live.iter().chain(&self.before_compaction).map(|live| live.messages.len()).sum()
    }

    /// How much there is of what the budget counts.
    fn size(&self) -> f64 {
        match self.policy.budget.unit() {
            Unit::Tokens => self.tokens(),
            Unit::Messages => float(u64::try_from(self.count()).unwrap_or(u64::MAX)),
        }
    }

    fn is_over(&self) -> bool {
        self.tokens() > float(self.policy.limit())
            || self.transcript.len() > MOST_MESSAGES && self.count() > MOST_MESSAGES
    }

    /// Looks at the marks, now that a request can be made.
    fn consider(&mut self) {
        self.wanted = None;
        self.waits = false;
        if self.policy.profile.binding == Binding::AppendOnly || self.live.is_empty() {
            return;
        }
        let mut may = self.may_edit() || self.is_over();
        if may && let Some((upto, text)) = self.pending.take() {
            self.summarise(upto, &text);
            may = self.may_edit() || self.is_over();
        }
        let is_due = self.size() >= float(self.policy.budget.high());
        self.waits = is_due && !may;
        if !may || self.pending.is_some() {
            return;
        }
        for strategy in &self.policy.strategies {
            match strategy {
                Strategy::ClearToolUses(clear) => self.clear(clear),
                Strategy::Delegate(_) => {}
                _ if !is_due || self.size() <= float(self.policy.budget.low()) => {}
                Strategy::SlidingWindow => self.slide(By::SlidingWindow),
                Strategy::Retention(retention) => self.retain(retention),
                Strategy::Summary(summary) if self.failures < MOST_FAILURES => {
                    self.wanted = self.cut(summary).map(|upto| (upto, summary));
                    if self.wanted.is_some() {
                        return;
                    }
                }
                Strategy::Summary(_) => {
                    self.warn(Warning::SummariesFailed);
                    self.slide(By::SlidingWindow);
                }
            }
        }
        if self.is_over() {
            self.slide(By::FullWindow);
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

    /// An edit that takes less is not worth the cache that it costs.
    fn least(&self) -> f64 {
        if self.is_over() {
            return f64::MIN_POSITIVE;
        }
        float(self.policy.budget.high() - self.policy.budget.low()) / 2.0
    }

    fn candidates(&self, unit: Unit) -> Vec<Candidate> {
        let pinned = self.pinned();
        let newest = self.live.len() - 1;
        let each = self.live.iter().enumerate();
        each.map(|(at, live)| {
            let atom = &self.atoms.list()[live.atom];
            let must = at == newest
                || atom.is_state
                || self.fates[live.atom] == Fate::State
                || pinned.iter().any(|pin| live.messages.contains(pin));
            let needs = atom.needs.iter().filter_map(|needed| self.find(*needed)).collect();
            let cost = match unit {
                Unit::Tokens => self.counter.tokens(&live.mix),
                Unit::Messages => float(u64::try_from(live.messages.len()).unwrap_or(u64::MAX)),
            };
            Candidate { messages: live.messages.clone(), cost, must, needs }
        })
        .collect()
    }

    fn pinned(&self) -> Vec<usize> {
        let pin = |pin: &Pin| match pin {
            Pin::FirstTask => self.tasks.map(|(first, _)| first),
            Pin::LatestTask => self.tasks.map(|(_, latest)| latest),
            Pin::Message(number) => Some(*number),
        };
        self.policy.pins.iter().filter_map(pin).collect()
    }

    /// Where a message is among what is live.
    fn find(&self, message: usize) -> Option<usize> {
        let at = self.live.partition_point(|live| live.messages.end <= message);
        self.live.get(at).filter(|live| live.messages.contains(&message)).map(|_| at)
    }

    fn slide(&mut self, by: By) {
        // A full window is one of tokens, unless there are too many messages.
        let (unit, size, target) = if by == By::FullWindow && self.policy.budget.unit() == Unit::Messages {
            (Unit::Tokens, self.tokens(), self.policy.limit() / 2)
        } else if self.count() > MOST_MESSAGES {
            let half = u64::try_from(MOST_MESSAGES / 2).unwrap_or(u64::MAX);
            (Unit::Messages, float(u64::try_from(self.count()).unwrap_or(u64::MAX)), half)
        } else {
            (self.policy.budget.unit(), self.size(), self.policy.budget.low().min(self.policy.limit()))
        };
        let candidates = self.candidates(unit);
        let all: f64 = candidates.iter().map(|candidate| candidate.cost).sum();
        let stays = window::choose(&candidates, float(target) - (size - all));
        self.leave_out(&candidates, &stays, by);
        if by == By::FullWindow {
            self.warn(Warning::FullWindow);
        }
    }

    fn retain(&mut self, retention: &super::strategy::Retention) {
        let candidates = self.candidates(self.policy.budget.unit());
        let all: f64 = candidates.iter().map(|candidate| candidate.cost).sum();
        let room = float(self.policy.budget.low()) - (self.size() - all);
        let voices: Vec<Voice> = self.live.iter().map(|live| self.voice(live)).collect();
        let task = self.tasks.and_then(|(_, latest)| self.transcript.get(latest));
        let task = task.map(said).unwrap_or_default().join("\n");
        let stays = retention::choose(retention, &candidates, &voices, &task, room);
        self.leave_out(&candidates, &stays, By::Retention);
    }

    fn voice(&self, live: &Live) -> Voice {
        let mut voice = Voice::default();
        for message in live.messages.clone().filter_map(|number| self.transcript.get(number)) {
            for block in message.blocks() {
                voice.text.push_str(&text_of(message, block));
                voice.text.push('\n');
                voice.has_error |= block.kind == Kind::ToolResult
                    && speech::said(message.block_json(block))
                        .is_some_and(|said| said.is_error == Some(true));
                voice.is_task |= message.role() == Role::User && block.kind == Kind::Text;
            }
        }
        voice
    }

    /// Leaves out what does not stay, if that is worth it.
    fn leave_out(&mut self, candidates: &[Candidate], stays: &[bool], by: By) {
        let gone: f64 = candidates.iter().map(|one| one.cost).sum::<f64>() - cost(candidates, stays);
        if gone < self.least() {
            return;
        }
        let edit = self.edits.len();
        self.take(stays, Fate::LeftOut(edit), by, |_| {});
    }

    /// Takes away what does not stay, and all that hangs on it; `then` is done before the tokens are counted again.
    fn take(&mut self, stays: &[bool], fate: Fate, by: By, then: impl FnOnce(&mut Self)) {
        let before = self.tokens();
        let Some(first) = stays.iter().position(|stays| !stays) else { return };
        let from = self.live[first].messages.start;
        self.mix -= self.inserted();
        let mut kept = Vec::with_capacity(self.live.len());
        let mut gap = Gap::default();
        for (mut live, stays) in self.live.drain(..).zip(stays) {
            if *stays {
                live.gap.add(std::mem::take(&mut gap));
                kept.push(live);
            } else {
                self.mix -= live.mix;
                self.fates[live.atom] = fate;
                gap.add(live.gap);
                gap.take(live.messages.len(), fate);
            }
        }
        self.live = kept;
        let live = &self.live;
        let is_gone = |message: usize| {
            let at = live.partition_point(|live| live.messages.end <= message);
            message >= from && live.get(at).is_none_or(|live| !live.messages.contains(&message))
        };
        self.atoms.forget(is_gone);
        self.thinking.retain(|message| !is_gone(*message));
        self.uses.retain(|one| !is_gone(one.result.0));
        then(self);
        self.mix += self.inserted();
        self.edited(from, by, before);
    }

    /// Records an edit whose first change is in message `from`.
    fn edited(&mut self, from: usize, by: By, before: f64) {
        if self.policy.profile.binding == Binding::StripThinking && !self.drops_blocks {
            if self.may_edit() {
                self.strip(from);
            } else {
                self.drops_blocks = true;
                self.warn(Warning::DropsOpenThinking);
            }
        }
        let at = self.live.last().map_or(0, |live| live.messages.end);
        self.edits.push(Edit { at, by, before: round(before), after: round(self.tokens()) });
        if let Some(anchor) = &mut self.anchor {
            anchor.edits = usize::MAX;
        }
        self.is_flushed = false;
    }

    /// Takes away all thinking after message `from`.
    fn strip(&mut self, from: usize) {
        let at = self.thinking.partition_point(|message| *message <= from);
        for message in self.thinking.split_off(at) {
            let Some(whole) = self.transcript.get(message) else { continue };
            for (number, block) in whole.blocks().iter().enumerate() {
                if block.kind == Kind::Thinking {
                    self.changes.insert((message, number), To::Nothing);
                }
            }
            self.weigh(message);
        }
    }

    /// Takes in what the changes of a message make of its tokens.
    fn weigh(&mut self, message: usize) {
        let Some((whole, at)) = self.transcript.get(message).zip(self.find(message)) else { return };
        let rendered = edited(whole, &self.changes_of(message));
        let new =
            rendered.and_then(|json| Message::from_json(&json).ok()).map_or(Mix::default(), |m| Mix::of(&m));
        let old = self.changed.insert(message, new).unwrap_or(self.transcript.mix(message));
        self.mix -= old;
        self.mix += new;
        self.live[at].mix -= old;
        self.live[at].mix += new;
    }

    fn changes_of(&self, message: usize) -> Vec<Change> {
        let range = self.changes.range((message, 0)..(message + 1, 0));
        range.map(|(&(message, block), to)| Change { message, block, to: to.clone() }).collect()
    }

    /// What stands where something was.
    fn inserted(&self) -> Mix {
        let mut mix = Mix::default();
        for text in self.live.iter().filter_map(|live| live.gap.text(self.summary.as_deref())) {
            mix += Mix::of_text(&text);
        }
        mix
    }

    /// Clears results of tools, the oldest first, all but the latest.
    fn clear(&mut self, clear: &ClearToolUses) {
        let is_due = match clear.trigger {
            Amount::InputTokens(tokens) => self.tokens() >= float(tokens),
            Amount::ToolUses(uses) => self.uses.len() >= usize::try_from(uses).unwrap_or(usize::MAX),
        };
        if !is_due {
            return;
        }
        let keep = match clear.keep {
            Amount::ToolUses(uses) => usize::try_from(uses).unwrap_or(usize::MAX),
            Amount::InputTokens(_) => 0,
        };
        let older = self.uses.len().saturating_sub(keep);
        let mut cleared = Vec::new();
        let mut gain = 0.0;
        for (at, one) in self.uses.iter().take(older).enumerate() {
            if let Some((spill, changes, less)) = self.clearing(clear, one) {
                gain += self.counter.tokens(&less);
                cleared.push((at, spill, changes));
            }
        }
        let least = match clear.clear_at_least {
            Some(Amount::InputTokens(tokens)) => float(tokens),
            _ if self.policy.budget.unit() == Unit::Tokens => self.least(),
            _ => 0.0,
        };
        let Some(from) = cleared.first().map(|(_, spill, _)| spill.call.unwrap_or((spill.message, 0)).0)
        else {
            return;
        };
        if gain < least {
            return;
        }
        let before = self.tokens();
        let mut gone = cleared.iter().map(|(at, ..)| *at).peekable();
        let mut number = 0..;
        self.uses.retain(|_| {
            let at = number.next();
            gone.next_if(|next| Some(*next) == at).is_none()
        });
        for (_, spill, changes) in cleared {
            self.spills.push(spill);
            for change in changes {
                self.changes.insert((change.message, change.block), change.to);
                self.weigh(change.message);
            }
        }
        self.edited(from, By::ClearToolUses, before);
    }

    /// What clearing one use takes, and by how much it makes the history smaller; `None` when it must stay, or is small.
    fn clearing(&self, clear: &ClearToolUses, one: &Use) -> Option<(Spill, Vec<Change>, Mix)> {
        let (message, block) = one.result;
        if clear.exclude_tools.iter().any(|tool| **tool == *one.tool) {
            return None;
        }
        let whole = self.transcript.get(message)?;
        let content = speech::said(whole.block_json(whole.blocks().get(block)?))?.content?;
        let answer = speech::answer(content);
        if answer.has_more {
            return None;
        }
        let path = clear::path(&clear.spill_to, &one.id, message);
        let text = clear::placeholder(&path, answer.images);
        let mut less =
            Mix { images: i64::try_from(answer.images).unwrap_or(0), ..Mix::of_text(&answer.text) };
        less -= Mix::of_text(&text);
        let mut changes = vec![Change { message, block, to: To::Content(text) }];
        let call = Some(one.call).filter(|_| clear.clears_input(&one.tool));
        if let Some((message, block)) = call {
            let whole = self.transcript.get(message)?;
            less += Mix::of_text(whole.block_json(whole.blocks().get(block)?));
            changes.insert(0, Change { message, block, to: To::NoInput });
        }
        (self.counter.tokens(&less) > 0.0).then_some((Spill { path, message, block, call }, changes, less))
    }

    /// The first message that a summary would not be about, if one is worth it now.
    fn cut(&self, summary: &Summary) -> Option<usize> {
        let end = self.live.last()?.messages.end;
        let latest = end.saturating_sub(summary.keep);
        let kept = self.live.partition_point(|live| live.messages.end <= latest).min(self.live.len() - 1);
        let upto = self.live[kept].messages.start;
        let candidates = self.candidates(self.policy.budget.unit());
        let stays = summary_leaves(&candidates, upto);
        let gain = candidates.iter().map(|one| one.cost).sum::<f64>() - cost(&candidates, &stays);
        (gain >= self.least()).then_some(upto)
    }

    /// Puts a summary in the place of what it is about.
    fn summarise(&mut self, upto: usize, text: &str) {
        let candidates = self.candidates(Unit::Tokens);
        let stays = summary_leaves(&candidates, upto);
        if stays.iter().all(|stays| *stays) {
            return;
        }
        // An earlier summary may stand before what goes now.
        let first = stays.iter().position(|stays| !stays).unwrap_or(0);
        let from = self.live.iter().position(|live| live.gap.has_summary).map_or(first, |at| at.min(first));
        let from = self.live[from].messages.start;
        let edit = self.edits.len();
        self.take(&stays, Fate::Summarised(edit), By::Summary, |fold| {
            fold.live.iter_mut().for_each(|live| live.gap.has_summary = false);
            if let Some(live) = fold.live.iter_mut().rev().find(|live| live.gap.summarised > 0) {
                live.gap.has_summary = true;
            }
            fold.summary = Some(summary::stands(text));
        });
        if self.policy.profile.binding == Binding::StripThinking && !self.drops_blocks {
            self.strip(from.saturating_sub(1));
        }
    }

    fn said_in(&self, live: &Live) -> Vec<String> {
        live.messages.clone().filter_map(|number| self.transcript.get(number)).flat_map(said).collect()
    }

    fn ask(&self, upto: usize, summary: &Summary) -> Option<Wanted> {
        let candidates = self.candidates(self.policy.budget.unit());
        let stays = summary_leaves(&candidates, upto);
        let gone: Vec<&Live> =
            self.live.iter().zip(&stays).filter(|(_, stays)| !**stays).map(|(live, _)| live).collect();
        let parts: Vec<Vec<String>> = gone.iter().map(|live| self.told_in(live)).collect();
        let earlier = self.summary.as_deref();
        let (mut messages, mut taken) = summary::ask(summary, earlier, &parts, 0);
        // What stays may need all that was taken: then nothing would go, and more must be taken.
        let is_in_vain = |taken: usize| {
            gone.get(taken).is_some_and(|next| {
                summary_leaves(&candidates, next.messages.start).iter().all(|stays| *stays)
            })
        };
        if is_in_vain(taken) {
            let more: Vec<usize> = (taken..gone.len()).collect();
            let least = taken + more.partition_point(|taken| is_in_vain(*taken));
            (messages, taken) = summary::ask(summary, earlier, &parts[..least], least);
        }
        let upto = if taken == gone.len() { upto } else { gone.get(taken)?.messages.start };
        let mut removed: Vec<String> = self.summary.iter().cloned().collect();
        removed.extend(gone.iter().take(taken).flat_map(|live| self.said_in(live)));
        // A good summary has most of them.
        let facts = facts::facts_of(&removed, summary.facts.saturating_mul(4));
        Some(Wanted { upto, messages, max_tokens: summary.max_tokens, facts, room: summary.facts })
    }

    /// What is said in an atom, and by whom.
    fn told_in(&self, live: &Live) -> Vec<String> {
        let messages = live.messages.clone().filter_map(|number| self.transcript.get(number));
        messages
            .flat_map(|message| {
                message.blocks().iter().filter_map(|block| {
                    let text = text_of(message, block);
                    let who = match (block.kind, message.role()) {
                        _ if text.trim().is_empty() => return None,
                        (kind, _) if kind.is_call() => {
                            format!("ASSISTANT calls {}", block.tool.as_deref().unwrap_or("a tool"))
                        }
                        (kind, _) if kind.is_result() => "RESULT".to_owned(),
                        (Kind::Attachment, _) => return Some(format!("USER attaches a {}", block.name)),
                        (_, Role::User) => "USER".to_owned(),
                        (_, Role::Assistant) => "ASSISTANT".to_owned(),
                        (_, Role::System) => "OPERATOR".to_owned(),
                    };
                    Some(format!("{who}: {text}"))
                })
            })
            .collect()
    }

    pub(super) fn finish(mut self) -> Result<Plan, CannotFit> {
        let wanted = self.wanted.take().and_then(|(upto, summary)| self.ask(upto, summary));
        if self.is_over() && wanted.is_none() {
            return Err(self.cannot_fit());
        }
        if self.waits {
            self.warn(Warning::WaitsForTurn);
        }
        let size = self.size();
        let (high, low) = (float(self.policy.budget.high()), float(self.policy.budget.low()));
        let is_soon = size >= high * 0.9 && size > low && wanted.is_none() && !self.atoms.is_open();
        let flush = (self.policy.flush == Flush::BeforeEdits && is_soon && !self.is_flushed)
            .then(|| flush::NOTICE.to_owned());
        let pinned = self.pinned();
        let newest = self.fates.len().saturating_sub(1);
        let atoms = self.atoms.list().iter().zip(&self.fates).enumerate().map(|(at, (atom, fate))| {
            let is_pinned = pinned.iter().any(|pin| atom.messages.contains(pin));
            let fate = match fate {
                Fate::Kept if is_pinned => Fate::Pinned,
                Fate::Kept if atom.is_state => Fate::State,
                Fate::Kept if at == newest => Fate::Newest,
                fate => *fate,
            };
            let mix = atom.messages.clone().map(|number| {
                self.changed.get(&number).copied().unwrap_or_else(|| self.transcript.mix(number))
            });
            let tokens = mix.map(|mix| self.counter.tokens(&mix)).sum();
            Verdict { messages: atom.messages.clone(), tokens: round(tokens), fate }
        });
        let inserts = self.before_compaction.iter().chain(&self.live).filter_map(|live| {
            let text = live.gap.text(self.summary.as_deref())?;
            Some(Insert { before: live.messages.start, text })
        });
        Ok(Plan {
            messages: self.transcript.len(),
            tokens: round(self.tokens()),
            atoms: atoms.collect(),
            inserts: inserts.collect(),
            needs: self.needs(),
            wanted,
            flush,
            edits: self.edits,
            changes: self
                .changes
                .into_iter()
                .map(|((message, block), to)| Change { message, block, to })
                .collect(),
            spills: self.spills,
            warnings: self.warnings,
        })
    }

    fn cannot_fit(&self) -> CannotFit {
        let mut min = self.tokens();
        if self.policy.profile.binding != Binding::AppendOnly && !self.live.is_empty() {
            let candidates = self.candidates(Unit::Tokens);
            min -= candidates.iter().map(|candidate| candidate.cost).sum::<f64>();
            min += cost(&candidates, &must_stay(&candidates));
        }
        CannotFit { min: round(min), limit: self.policy.limit() }
    }

    fn needs(&self) -> Needs {
        let mut needs = Needs { drops_blocks: self.drops_blocks, ..Needs::default() };
        for strategy in &self.policy.strategies {
            if let Strategy::Delegate(delegate) = strategy {
                needs.edits.extend(delegate.edits.iter().cloned());
                needs.betas.extend(delegate.betas().map(str::to_owned));
            }
        }
        if needs.drops_blocks {
            needs.betas.push("thinking-binding-controls-2026-08-01".to_owned());
        }
        needs.betas.sort_unstable();
        needs.betas.dedup();
        needs
    }
}

/// What stays when a summary stands for all before `upto`.
fn summary_leaves(candidates: &[Candidate], upto: usize) -> Vec<bool> {
    let kept: Vec<Candidate> = candidates
        .iter()
        .map(|one| Candidate { must: one.must || one.messages.end > upto, ..one.clone() })
        .collect();
    must_stay(&kept)
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
