//! Clearing results of tools, the oldest first.

use super::{Fold, Use, WORTH_CLEARING, float};
use crate::context::message::Message;
use crate::context::plan::{By, Change, Spill, To};
use crate::context::speech;
use crate::context::strategy::{Amount, ClearToolUses, clear};
use crate::context::tokens::Mix;

impl Fold<'_> {
    /// Clears results of tools, the oldest first, all but the latest.
    pub(super) fn clear(&mut self, clear: &ClearToolUses) {
        let is_due = match clear.trigger {
            Amount::InputTokens(tokens) => self.tokens() >= float(tokens),
            Amount::ToolUses(uses) => self.uses.len() >= usize::try_from(uses).unwrap_or(usize::MAX),
        };
        if !is_due || self.tokens() < self.clear_from {
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
                gain += less;
                cleared.push((at, spill, changes));
            }
        }
        let least = match (clear.clear_at_least, clear.trigger) {
            (Some(Amount::InputTokens(tokens)), _) => float(tokens),
            (_, Amount::InputTokens(tokens)) => float(tokens) * WORTH_CLEARING,
            (_, Amount::ToolUses(_)) => 0.0,
        };
        let before = self.tokens();
        let first =
            cleared.first().map(|(_, spill, _)| spill.call.map_or(spill.message, |(message, _)| message));
        let Some(from) = first.filter(|_| gain >= least) else {
            self.clear_from = before + least.max(before / 10.0) / 4.0;
            return;
        };
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

    /// What clearing one use takes, and about how many tokens fewer that makes; `None` when it must stay, or is small.
    pub(super) fn clearing(&self, clear: &ClearToolUses, one: &Use<'_>) -> Option<(Spill, Vec<Change>, f64)> {
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
        let path = clear::path(&clear.spill_to, one.id, message);
        let text = clear::placeholder(&path, answer.images);
        let mut less = self.share(whole, message, content.get()) - self.counter.tokens(&Mix::of_text(&text));
        let mut changes = vec![Change { message, block, to: To::Content(text) }];
        let call = Some(one.call).filter(|_| clear.clears_input(one.tool));
        if let Some((message, block)) = call {
            let whole = self.transcript.get(message)?;
            less += self.share(whole, message, whole.block_json(whole.blocks().get(block)?));
            changes.insert(0, Change { message, block, to: To::NoInput });
        }
        (less > 0.0).then_some((Spill { path, message, block, call }, changes, less))
    }

    /// The tokens of a part of a message, by its length.
    fn share(&self, message: &Message, number: usize, part: &str) -> f64 {
        let length = |json: &str| float(u64::try_from(json.len()).unwrap_or(u64::MAX));
        self.counter.tokens(&self.transcript.mix(number)) * length(part) / length(message.json())
    }
}
