//! Which atoms stay: what an edit may take, and which are taken.

use super::live::Live;
use super::{Fold, float, said};
use crate::context::block::Kind;
use crate::context::message::{Message, Role};
use crate::context::plan::{By, Fate, Warning};
use crate::context::policy::{Pin, Unit};
use crate::context::profile::Binding;
use crate::context::rules::MOST_MESSAGES;
use crate::context::speech::{self, text_of};
use crate::context::strategy::retention::{self, Voice};
use crate::context::strategy::{Candidate, Retention, cost, must_stay, window};

/// The part of what stays that may go for the sake of thinking.
const A_LITTLE: f64 = 0.1;

impl Fold<'_> {
    /// An edit that takes less is not worth the cache that it costs.
    pub(super) fn least(&self) -> f64 {
        if self.is_over() {
            return f64::MIN_POSITIVE;
        }
        float(self.policy.budget.high() - self.policy.budget.low()) / 2.0
    }

    pub(super) fn candidates(&self, unit: Unit) -> Vec<Candidate> {
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

    pub(super) fn pinned(&self) -> Vec<usize> {
        let pin = |pin: &Pin| match pin {
            Pin::FirstTask => self.tasks.map(|(first, _)| first),
            Pin::LatestTask => self.tasks.map(|(_, latest)| latest),
            Pin::Message(number) => Some(*number),
        };
        self.policy.pins.iter().filter_map(pin).collect()
    }

    /// Where a message is among what is live.
    pub(super) fn find(&self, message: usize) -> Option<usize> {
        let at = self.live.partition_point(|live| live.messages.end <= message);
        self.live.get(at).filter(|live| live.messages.contains(&message)).map(|_| at)
    }

    pub(super) fn slide(&mut self, by: By) {
        // A full window is one of tokens, unless there are too many messages.
        let (unit, size, target) = if by == By::FullWindow && self.policy.budget.unit() == Unit::Messages {
            (Unit::Tokens, self.tokens(), self.policy.limit() / 2)
        } else if self.sent > MOST_MESSAGES {
            let half = u64::try_from(MOST_MESSAGES / 2).unwrap_or(u64::MAX);
            (Unit::Messages, float(u64::try_from(self.sent).unwrap_or(u64::MAX)), half)
        } else {
            (self.policy.budget.unit(), self.size(), self.policy.budget.low().min(self.policy.limit()))
        };
        let candidates = self.candidates(unit);
        let all: f64 = candidates.iter().map(|candidate| candidate.cost).sum();
        let mut room = float(target) - (size - all);
        let mut stays = self.choose(&candidates, room);
        // What stands where something was counts, too. All that may go does before a conversation cannot fit.
        if unit == Unit::Tokens && self.is_over() && self.sent <= MOST_MESSAGES {
            room -= self.excess(&candidates, &stays);
            stays = self.choose(&candidates, room);
            if self.excess(&candidates, &stays) > 0.0 {
                stays = must_stay(&candidates);
            }
        }
        if self.leave_out(&candidates, &stays, by) && by == By::FullWindow {
            self.warn(Warning::FullWindow);
        }
    }

    /// The latest candidates that there is room for, and begin well.
    fn choose(&self, candidates: &[Candidate], room: f64) -> Vec<bool> {
        let mut stays = window::choose(candidates, room);
        self.begin_with_a_question(candidates, &mut stays);
        if self.policy.profile.binding == Binding::Ignore {
            self.begin_with_thinking(candidates, &mut stays);
        }
        stays
    }

    /// The tokens that are over the limit still when what does not stay is left out.
    fn excess(&self, candidates: &[Candidate], stays: &[bool]) -> f64 {
        let frees: f64 = self.frees(&self.worth_it(candidates, stays)).iter().map(|(_, tokens)| tokens).sum();
        (self.tokens() - frees - float(self.policy.limit())).max(0.0)
    }

    /// An answer whose question goes does, too, when it is alone: the next atom is a question again.
    fn begin_with_a_question(&self, candidates: &[Candidate], stays: &mut [bool]) {
        let Some(gap) = stays.iter().rposition(|stays| !stays) else { return };
        let first = gap + 1;
        let is_alone = self.is_question(gap) && !self.is_question(first) && self.is_question(first + 1);
        let is_needed = candidates.iter().any(|one| one.needs.contains(&first));
        if is_alone && !is_needed && !candidates[first].must {
            stays[first] = false;
        }
    }

    /// Whether an atom of those that are live is words of the user.
    pub(super) fn is_question(&self, at: usize) -> bool {
        let first = self.live.get(at).and_then(|live| self.transcript.get(live.messages.start));
        first.is_some_and(|message| message.role() == Role::User && !message.has_results())
    }

    /// Older models want thinking at the beginning of a turn that goes on. Where a cut takes that away, and taking a little
    /// more makes what stays begin with later thinking, it does.
    fn begin_with_thinking(&self, candidates: &[Candidate], stays: &mut [bool]) {
        let Some(gap) = stays.iter().rposition(|stays| !stays) else { return };
        let tail = &self.live[gap + 1..];
        let messages = |live: &Live| live.messages.clone().filter_map(|number| self.transcript.get(number));
        let is_task = |message: &Message| {
            message.role() == Role::User
                && message.blocks().iter().any(|block| block.kind != Kind::ToolResult)
        };
        let thinks = |live: &Live| {
            let first = messages(live).next().and_then(|message| message.blocks().first());
            first.is_some_and(|block| block.kind == Kind::Thinking)
        };
        let Some(less) = tail.iter().position(thinks).filter(|less| *less > 0) else { return };
        let more = gap + 1..gap + 1 + less;
        let may_go = !candidates[more.clone()].iter().any(|one| one.must)
            && !candidates[more.end..].iter().any(|one| one.needs.iter().any(|needed| more.contains(needed)));
        let cost_more: f64 = candidates[more.clone()].iter().map(|one| one.cost).sum();
        if may_go
            && cost_more <= cost(candidates, stays) * A_LITTLE
            && !tail.iter().flat_map(messages).any(is_task)
        {
            stays[more].fill(false);
        }
    }

    pub(super) fn retain(&mut self, retention: &Retention) {
        let candidates = self.candidates(self.policy.budget.unit());
        let all: f64 = candidates.iter().map(|candidate| candidate.cost).sum();
        let room = float(self.policy.budget.low()) - (self.size() - all);
        let voices: Vec<Voice<'_>> = self.live.iter().map(|live| self.voice(live)).collect();
        let task = self.tasks.and_then(|(_, latest)| self.transcript.get(latest));
        let task = task.map(said).unwrap_or_default().join("\n");
        let stays = retention::choose(retention, &candidates, &voices, &task, room);
        self.leave_out(&candidates, &stays, By::Retention);
    }

    fn voice(&self, live: &Live) -> Voice<'_> {
        let mut voice = Voice::default();
        for message in live.messages.clone().filter_map(|number| self.transcript.get(number)) {
            for block in message.blocks() {
                voice.said.push(text_of(message, block));
                voice.has_error |= block.kind == Kind::ToolResult
                    && speech::said(message.block_json(block))
                        .is_some_and(|said| said.is_error == Some(true));
                voice.is_task |= message.role() == Role::User && block.kind == Kind::Text;
            }
        }
        voice
    }

    /// Leaves out what does not stay, if that is worth it; whether it was.
    pub(super) fn leave_out(&mut self, candidates: &[Candidate], stays: &[bool], by: By) -> bool {
        let stays = self.worth_it(candidates, stays);
        let gone: f64 = candidates.iter().map(|one| one.cost).sum::<f64>() - cost(candidates, &stays);
        let is_worth_it = gone >= self.least();
        if is_worth_it {
            let edit = self.edits.len();
            self.take(&stays, Fate::LeftOut(edit), by, |_| {});
        }
        is_worth_it
    }

    /// Where tokens count, what takes fewer of them than what would stand in its place stays after all.
    fn worth_it(&self, candidates: &[Candidate], stays: &[bool]) -> Vec<bool> {
        let mut worth = stays.to_vec();
        let counts_tokens =
            self.policy.budget.unit() == Unit::Tokens || self.tokens() > float(self.policy.limit());
        if counts_tokens && self.sent <= MOST_MESSAGES {
            for (run, tokens) in self.frees(stays) {
                let needs_none = candidates[run.clone()]
                    .iter()
                    .all(|one| one.needs.iter().all(|needed| stays[*needed] || run.contains(needed)));
                if tokens <= 0.0 && needs_none {
                    worth[run].fill(true);
                }
            }
        }
        worth
    }
}
