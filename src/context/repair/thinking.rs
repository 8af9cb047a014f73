//! Thinking that what is before it, or its own signature, does not bear out.

use std::collections::BTreeSet;

use super::super::block::Kind;
use super::super::request::{self, Entry, Request};
use super::super::rules::{Fault, Place, Violation};
use super::{Deed, Mending};

impl Mending {
    /// Takes out the thinking at fault and all that comes after it, which is bound to it.
    pub(super) fn remove_thinking_from(&mut self, first: &Violation) {
        let Place::Block(from, at) = first.place else { return };
        for i in from..self.drafts.len() {
            let blocks = self.drafts[i].message.blocks().iter().enumerate();
            let thinking: BTreeSet<usize> = blocks
                .filter(|(j, block)| block.kind == Kind::Thinking && (i, *j) >= (from, at))
                .map(|(j, _)| j)
                .collect();
            for &j in &thinking {
                self.note(&first.at(Place::Block(i, j)), Deed::Removed);
            }
            if !thinking.is_empty() {
                self.drafts[i].remove(&thinking.into_iter().collect());
            }
        }
    }

    /// Takes out all thinking behind the first change since `before`, on a model that binds it. Whether there was any.
    pub(super) fn strip(&mut self, before: &Request) -> bool {
        let Some((i, j)) = self.unbound(before) else { return false };
        self.remove_thinking_from(&Violation::new(Fault::ChangedPrefix, Place::Block(i, j)));
        true
    }

    /// The first thinking that something has changed before.
    fn unbound(&self, before: &Request) -> Option<(usize, usize)> {
        let plain = |field: Option<&str>| field.map(request::unmarked);
        let is_same = |name| plain(before.field(name)) == plain(self.head.field(name));
        let mut has_changed = !is_same("system") || !is_same("tools");
        let mut old = before.messages().iter().enumerate().flat_map(|(i, entry)| {
            let blocks = match entry {
                Entry::Message(message) => message.blocks().len(),
                // Something that was there, and of which nobody knows what it is.
                Entry::Broken { .. } => 1,
            };
            (0..blocks).map(move |j| (i, j))
        });
        for (i, draft) in self.drafts.iter().enumerate() {
            for (j, block) in draft.message.blocks().iter().enumerate() {
                let from = match draft.origin(Some(j)) {
                    Some(Place::Block(i, j)) => Some((i, j)),
                    _ => None,
                };
                has_changed |= from.is_none() || old.next() != from || self.is_changed(before, from, i, j);
                if has_changed && block.kind == Kind::Thinking {
                    return Some((i, j));
                }
            }
        }
        None
    }

    /// Whether a block, or whose it is, is not what it was.
    fn is_changed(&self, before: &Request, from: Option<(usize, usize)>, i: usize, j: usize) -> bool {
        let Some((at, block)) = from else { return true };
        let Some(Entry::Message(old)) = before.messages().get(at) else { return true };
        let new = &self.drafts[i].message;
        old != new && (old.role() != new.role() || request::plain(old, block) != request::plain(new, j))
    }
}
