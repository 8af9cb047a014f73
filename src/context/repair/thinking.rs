//! Thinking that is bound to what is no longer before it.

use super::super::block::Kind;
use super::super::request::{self, Entry, Request};
use super::super::rules::{self, Fault, Place, Violation};
use super::Mending;

impl Mending {
    /// Takes out all thinking that something has changed before since `before`, on a model that binds it. Whether there was any.
    pub(super) fn strip(&mut self, before: &Request) -> bool {
        let unbound = self.unbound(before).into_iter();
        let found: Vec<Violation> =
            unbound.map(|place| Violation::new(Fault::ChangedPrefix, place)).collect();
        self.remove(&found.iter().collect::<Vec<_>>());
        !found.is_empty()
    }

    /// The thinking that something has changed before. A summary of the API's stands for all that was before it.
    fn unbound(&self, before: &Request) -> Vec<Place> {
        let plain = |field: Option<&str>| field.map(request::unmarked);
        let is_same = |name| plain(before.field(name)) == plain(self.head.field(name));
        let is_headed_anew = !is_same("system") || !is_same("tools");
        // What cannot be read counts as one block: something was there.
        let blocks = before.messages().iter().map(|entry| match entry {
            Entry::Message(message) => message.blocks().len(),
            Entry::Broken { .. } => 1,
        });
        let starts: Vec<usize> =
            blocks.scan(0, |end, blocks| Some(std::mem::replace(end, *end + blocks))).collect();
        let mut unbound = Vec::new();
        let (mut has_changed, mut next) = (is_headed_anew, 0);
        for (i, draft) in self.drafts.iter().enumerate() {
            for (j, block) in draft.message.blocks().iter().enumerate() {
                let from = match draft.origin(Some(j)) {
                    Some(Place::Block(i, j)) => Some((i, j)),
                    _ => None,
                };
                let number = from.map(|(i, j)| starts[i] + j);
                let is_changed = self.is_changed(before, from, i, j);
                has_changed |= number != Some(next) || is_changed;
                next = number.map_or(next, |number| number + 1);
                if has_changed && block.kind == Kind::Thinking {
                    unbound.push(Place::Block(i, j));
                }
                if !is_changed && rules::is_summary(&draft.message, block) {
                    has_changed = is_headed_anew;
                }
            }
        }
        unbound
    }

    /// Whether a block, or whose it is, is not what it was.
    fn is_changed(&self, before: &Request, from: Option<(usize, usize)>, i: usize, j: usize) -> bool {
        let Some((at, block)) = from else { return true };
        let Some(Entry::Message(old)) = before.messages().get(at) else { return true };
        let new = &self.drafts[i].message;
        old != new && (old.role() != new.role() || request::plain(old, block) != request::plain(new, j))
    }
}
