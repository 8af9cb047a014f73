//! Carrying out an edit: what goes, and what goes with it.

use std::ops::Range;

use super::live::Gap;
use super::{Fold, round};
use crate::context::block::Kind;
use crate::context::plan::{By, Edit, Fate, To, Warning};
use crate::context::profile::Binding;
use crate::context::tokens::Mix;

impl Fold<'_> {
    /// Takes away what does not stay, and all that hangs on it; `then` is done before the tokens are counted again.
    pub(super) fn take(&mut self, stays: &[bool], fate: Fate, by: By, then: impl FnOnce(&mut Self)) {
        let before = self.tokens();
        if let Some(from) = self.remove(stays, fate, then) {
            self.edited(from, by, before);
        }
    }

    /// Takes away what does not stay; the first message of that.
    pub(super) fn remove(
        &mut self,
        stays: &[bool],
        fate: Fate,
        then: impl FnOnce(&mut Self),
    ) -> Option<usize> {
        let first = stays.iter().position(|stays| !stays)?;
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
                self.sent -= live.messages.len();
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
        Some(from)
    }

    /// The runs of what does not stay, and the tokens that leaving out each would free.
    pub(super) fn frees(&self, stays: &[bool]) -> Vec<(Range<usize>, f64)> {
        let mut runs = Vec::new();
        let (mut less, mut gap, mut first) = (Mix::default(), Gap::default(), 0);
        for (at, (live, stays)) in self.live.iter().zip(stays).enumerate() {
            less += live.gap.mix(self.summary.as_deref());
            gap.add(live.gap);
            if *stays {
                less -= gap.mix(self.summary.as_deref());
                if first < at {
                    runs.push((first..at, self.counter.tokens(&less)));
                }
                (less, gap, first) = (Mix::default(), Gap::default(), at + 1);
            } else {
                less += live.mix;
                gap.take(live.messages.len(), Fate::LeftOut(0));
            }
        }
        runs
    }

    /// Records an edit whose first change is in message `from`, and does what that makes of the thinking after it.
    pub(super) fn edited(&mut self, from: usize, by: By, before: f64) {
        match self.policy.profile.binding {
            Binding::StripThinking if self.drops_blocks => {}
            Binding::StripThinking if self.may_edit() => self.strip(from),
            Binding::StripThinking => {
                self.drops_blocks = true;
                self.warn(Warning::DropsOpenThinking);
            }
            Binding::DropBlock => self.drops_blocks = true,
            _ => {}
        }
        self.record(by, before);
    }

    /// Records an edit that leaves all thinking valid.
    pub(super) fn record(&mut self, by: By, before: f64) {
        let at = self.live.last().map_or(0, |live| live.messages.end);
        self.edits.push(Edit { at, by, before: round(before), after: round(self.tokens()) });
        if let Some(anchor) = &mut self.anchor {
            anchor.edits = usize::MAX;
        }
        self.is_flushed = false;
        (self.idle_until, self.clear_from) = (0.0, 0.0);
    }

    /// Takes away all thinking after message `from`.
    pub(super) fn strip(&mut self, from: usize) {
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
    pub(super) fn weigh(&mut self, message: usize) {
        let Some((whole, at)) = self.transcript.get(message).zip(self.find(message)) else { return };
        let changes = self.changes.range((message, 0)..(message + 1, 0));
        let new = Mix::of_edited(whole, changes.map(|((_, block), to)| (*block, to)));
        let old = self.changed.insert(message, new).unwrap_or(self.transcript.mix(message));
        self.mix -= old;
        self.mix += new;
        self.live[at].mix -= old;
        self.live[at].mix += new;
    }

    /// What stands where something was.
    pub(super) fn inserted(&self) -> Mix {
        let mut mix = self.head.as_ref().map_or(Mix::default(), |head| head.mix);
        for live in &self.live {
            mix += live.gap.mix(self.summary.as_deref());
        }
        mix
    }
}
