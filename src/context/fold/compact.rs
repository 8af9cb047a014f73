//! A summary that the API makes on demand: where it may end, what is asked, and what it takes the place of.
//!
//! Source: <https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand> and `keep-recent-turns`,
//! `compaction-thinking-blocks` beside it. The answer stands first, in place of exactly what was sent with the request, and
//! what is kept follows unchanged: so nothing is put in between, and thinking in it stays valid.

use serde_json::Value;

use super::live::{Gap, Live};
use super::{Fold, float};
use crate::context::block::Kind;
use crate::context::message::Role;
use crate::context::plan::{By, Fate, Needs, Plan, Wanted};
use crate::context::render;
use crate::context::speech;
use crate::context::strategy::{Summary, delegate};
use crate::context::tokens::Mix;

/// What the API made of older messages.
pub(super) struct Head {
    /// The message, as it came.
    pub(super) message: Value,
    pub(super) mix: Mix,
}

impl Fold<'_> {
    /// The first message that a summary of the API's would not be about, if one is worth it now: the latest one that may be.
    pub(super) fn cut_by_api(&self, summary: &Summary) -> Option<usize> {
        let kept = self.latest(summary.keep)?;
        let candidates = self.candidates(self.policy.budget.unit());
        // What is read so far, and what of it a request for a summary leaves away.
        let mut read = self.tokens() - self.live[kept..].iter().map(|live| self.tokens_of(live)).sum::<f64>();
        let mut needed = candidates[kept..].iter().flat_map(|one| one.needs.iter().copied()).min();
        for at in (1..=kept).rev() {
            let is_free = needed.is_none_or(|needed| needed >= at);
            if is_free && read <= float(self.policy.limit()) && self.may_begin(at) {
                let gain = candidates[..at].iter().map(|one| one.cost).sum::<f64>();
                return (gain >= self.least()).then(|| self.live[at].messages.start);
            }
            read -= self.tokens_of(&self.live[at - 1]);
            needed = needed.into_iter().chain(candidates[at - 1].needs.iter().copied()).min();
        }
        None
    }

    fn tokens_of(&self, live: &Live) -> f64 {
        self.counter.tokens(&live.mix)
    }

    /// Whether what is kept may begin with this atom: "not a system message, and of another role than the last summarised
    /// one"; and no other summary may be sent with one that is signed.
    fn may_begin(&self, at: usize) -> bool {
        let role =
            |number: usize| self.kinds(number).map(|(role, _)| role).filter(|role| *role != Role::System);
        let first = role(self.live[at].messages.start);
        let last = role(self.live[at - 1].messages.end - 1);
        let is_compaction = |number: usize| {
            let blocks = self.transcript.get(number).map(|message| message.blocks().iter());
            blocks.is_some_and(|mut blocks| blocks.any(|block| block.kind == Kind::Compaction))
        };
        self.live[at].gap.text(self.summary.as_deref()).is_none()
            && first.is_some()
            && last.is_some()
            && first != last
            && !self.live[at..].iter().flat_map(|live| live.messages.clone()).any(is_compaction)
    }

    /// What is asked of the API, of a plan that is ready but for it.
    pub(super) fn asked_of_api(&self, plan: &Plan, upto: usize, summary: &Summary) -> Wanted {
        let mut needs = Needs { compaction: Some(summary.compaction()), ..self.needs_upto(upto) };
        needs.betas.insert(0, delegate::ON_DEMAND.to_owned());
        Wanted {
            upto,
            messages: render::before(self.transcript, plan, upto),
            max_tokens: self.policy.output,
            facts: Vec::new(),
            room: 0,
            needs: Some(needs),
        }
    }

    /// Puts what the API made in the place of what it is about. What is no summary, or about no beginning of what is sent, is
    /// not taken: then one is still wanted.
    pub(super) fn compact(&mut self, upto: usize, message: &Value) {
        let Some(whole) = speech::compacted(message) else {
            self.failures += 1;
            return;
        };
        let first = self.live.partition_point(|live| live.messages.end <= upto);
        if first == 0 || self.live.get(first).is_none_or(|live| live.messages.start != upto) {
            return;
        }
        self.failures = 0;
        let stays: Vec<bool> = (0..self.live.len()).map(|at| at >= first).collect();
        let fate = Fate::Summarised(self.edits.len());
        let before = self.tokens();
        // What stood before a compaction was sent, and is no more.
        for live in std::mem::take(&mut self.before_compaction) {
            self.sent -= live.messages.len();
            self.fates[live.atom] = fate;
        }
        self.remove(&stays, fate, |fold| {
            fold.live[0].gap = Gap::default();
            if !fold.live.iter().any(|live| live.gap.has_summary) {
                fold.summary = None;
            }
            fold.head = Some(Head { message: message.clone(), mix: Mix::of(&whole) });
        });
        self.atoms.forget(|message| message < upto);
        self.record(By::Summary, before);
    }
}
