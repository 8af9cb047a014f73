//! Asking for a summary, and putting it in the place of what it is about.

use super::live::Live;
use super::{Fold, said};
use crate::context::block::Kind;
use crate::context::message::Role;
use crate::context::plan::{By, Fate, Wanted};
use crate::context::policy::Unit;
use crate::context::profile::Binding;
use crate::context::speech::text_of;
use crate::context::strategy::{Candidate, Summariser, Summary, cost, facts, must_stay, summary};

impl Fold<'_> {
    /// The first message that a summary would not be about, if one is worth it now.
    pub(super) fn cut(&self, summary: &Summary) -> Option<usize> {
        if summary.by == Summariser::Api {
            return self.cut_by_api(summary);
        }
        let kept = self.latest(summary.keep)?;
        // What is answered stays with its answer.
        let is_answer = kept > 0 && !self.is_question(kept) && self.is_question(kept - 1);
        let kept = if is_answer { kept - 1 } else { kept };
        let upto = self.live[kept].messages.start;
        let candidates = self.candidates(self.policy.budget.unit());
        let stays = summary_leaves(&candidates, upto);
        let gain = candidates.iter().map(|one| one.cost).sum::<f64>() - cost(&candidates, &stays);
        (gain >= self.least()).then_some(upto)
    }

    /// Where the latest messages begin among what is live, so many and what is one atom with them.
    pub(super) fn latest(&self, keep: usize) -> Option<usize> {
        let newest = self.live.len().checked_sub(1)?;
        let latest = self.live[newest].messages.end.saturating_sub(keep);
        Some(self.live.partition_point(|live| live.messages.end <= latest).min(newest))
    }

    /// Puts a summary in the place of what it is about.
    pub(super) fn summarise(&mut self, upto: usize, text: &str) {
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

    pub(super) fn said_in(&self, live: &Live) -> Vec<String> {
        live.messages.clone().filter_map(|number| self.transcript.get(number)).flat_map(said).collect()
    }

    pub(super) fn ask(&self, upto: usize, summary: &Summary) -> Option<Wanted> {
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
        let (max_tokens, room) = (summary.max_tokens, summary.facts);
        Some(Wanted { upto, messages, max_tokens, facts, room, needs: None })
    }

    /// What is said in an atom, and by whom.
    pub(super) fn told_in(&self, live: &Live) -> Vec<String> {
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
}

/// What stays when a summary stands for all before `upto`.
fn summary_leaves(candidates: &[Candidate], upto: usize) -> Vec<bool> {
    let kept: Vec<Candidate> = candidates
        .iter()
        .map(|one| Candidate { must: one.must || one.messages.end > upto, ..one.clone() })
        .collect();
    must_stay(&kept)
}
