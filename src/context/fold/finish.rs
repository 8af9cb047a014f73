//! The plan that a fold ends in.

use super::{Fold, float, round};
use crate::context::block::{Block, Kind};
use crate::context::message::Role;
use crate::context::plan::{By, CannotFit, Change, Fate, Insert, Needs, Plan, To, Verdict, Warning};
use crate::context::policy::{Flush, Strategy};
use crate::context::profile::Binding;
use crate::context::rules;
use crate::context::strategy::{Summariser, delegate, flush};

/// The beta of `block_binding`.
const BINDING: &str = "thinking-binding-controls-2026-08-01";

impl Fold<'_> {
    pub(in crate::context) fn finish(mut self) -> Result<Plan, CannotFit> {
        let wanted = self.wanted.and_then(|summary| Some((summary, self.cut(summary)?)));
        if self.is_over() && wanted.is_none() {
            // No request could be made since the last look at the marks; it is asked for one now.
            if self.policy.profile.binding != Binding::AppendOnly && !self.live.is_empty() {
                self.slide(By::FullWindow);
            }
            if self.is_over() {
                return Err(self.cannot_fit());
            }
        }
        if self.waits {
            self.warn(Warning::WaitsForTurn);
        }
        let size = self.size();
        let (high, low) = (float(self.policy.budget.high()), float(self.policy.budget.low()));
        let is_soon = size >= high * 0.9 && size > low && wanted.is_none() && self.atoms.is_at_rest();
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
        let atoms: Vec<Verdict> = atoms.collect();
        let is_sent = |message: usize| {
            let at = atoms.partition_point(|atom| atom.messages.end <= message);
            atoms.get(at).is_some_and(|atom| atom.fate.is_sent())
        };
        let changes = self.changes.iter().filter(|((message, _), _)| is_sent(*message));
        let changes =
            changes.map(|(&(message, block), to)| Change { message, block, to: to.clone() }).collect();
        let inserts = self.live.iter().filter_map(|live| {
            let text = live.gap.text(self.summary.as_deref())?;
            Some(Insert { before: live.messages.start, text })
        });
        let inserts = self.settled.iter().cloned().chain(inserts);
        let mut plan = Plan {
            messages: self.transcript.len(),
            tokens: round(self.tokens()),
            atoms,
            inserts: inserts.collect(),
            needs: self.needs(),
            head: self.head.as_ref().map(|head| head.message.clone()),
            wanted: None,
            flush,
            edits: std::mem::take(&mut self.edits),
            changes,
            spills: std::mem::take(&mut self.spills),
            warnings: std::mem::take(&mut self.warnings),
        };
        plan.wanted = wanted.and_then(|(summary, upto)| match summary.by {
            Summariser::Caller => self.ask(upto, summary),
            Summariser::Api => Some(self.asked_of_api(&plan, upto, summary)),
        });
        Ok(plan)
    }

    pub(super) fn cannot_fit(&self) -> CannotFit {
        // All that may go has gone.
        CannotFit { min: round(self.tokens().ceil()), limit: self.policy.limit() }
    }

    /// What is sent for the messages before `upto`, from the last one back: whose it is, and the kinds of its blocks.
    fn back(&self, upto: usize) -> impl Iterator<Item = (Role, Vec<((), Kind)>)> {
        let all = self.before_compaction.iter().chain(&self.live).rev();
        let head = self.head.iter().map(|_| (Role::Assistant, vec![((), Kind::Compaction)]));
        let live = all.skip_while(move |live| live.messages.start >= upto).flat_map(|live| {
            let is_settled = self.settled.binary_search_by_key(&live.messages.start, |it| it.before).is_ok();
            let is_gap = is_settled || live.gap.text(self.summary.as_deref()).is_some();
            let gap = is_gap.then(|| (Role::User, vec![((), Kind::Text)]));
            live.messages.clone().rev().filter_map(|number| self.kinds(number)).chain(gap)
        });
        live.chain(head)
    }

    /// What is sent of a message; `None`: nothing, or nothing that counts.
    pub(super) fn kinds(&self, number: usize) -> Option<(Role, Vec<((), Kind)>)> {
        let message = self.transcript.get(number).filter(|message| !rules::is_directive(message))?;
        let is_gone = |block| matches!(self.changes.get(&(number, block)), Some(To::Nothing));
        let blocks = message.blocks();
        let sent: Vec<_> = (0..blocks.len()).filter(|block| !is_gone(*block)).collect();
        let is_whole = sent.len() == blocks.len();
        let is_blank = |block: &Block| block.kind == Kind::Text && block.is_blank;
        let says_something = sent.iter().any(|block| !is_blank(&blocks[*block]));
        (is_whole || says_something)
            .then(|| (message.role(), sent.iter().map(|block| ((), blocks[*block].kind)).collect()))
    }

    pub(super) fn needs(&self) -> Needs {
        let mut needs = self.needs_upto(usize::MAX);
        for strategy in &self.policy.strategies {
            if let Strategy::Delegate(delegate) = strategy {
                let edits =
                    delegate.edits.iter().filter(|edit| self.head.is_none() || !delegate::compacts(edit));
                needs.betas.extend(edits.clone().map(|edit| delegate::beta(edit).to_owned()));
                needs.edits.extend(edits.cloned());
            }
        }
        if self.head.is_some() {
            needs.betas.push(delegate::ON_DEMAND.to_owned());
        }
        needs.betas.sort_unstable();
        needs.betas.dedup();
        needs
    }

    /// What a request of the messages before `upto` needs, whatever it is made for.
    pub(super) fn needs_upto(&self, upto: usize) -> Needs {
        Needs {
            drops_blocks: self.drops_blocks,
            lacks_thinking: rules::lacking(&rules::open_turn(self.back(upto))).is_some(),
            betas: self.drops_blocks.then(|| BINDING.to_owned()).into_iter().collect(),
            ..Needs::default()
        }
    }
}
