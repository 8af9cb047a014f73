//! Messages that are being repaired: what they are now, and where they were.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::super::block::{Block, Kind};
use super::super::fields::{self, Fields};
use super::super::message::{Message, Role};
use super::super::rules::Place;

/// A message, and where it and its blocks were in the history as it came; what was added was nowhere.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) message: Message,
    from: Option<usize>,
    blocks: Vec<Option<usize>>,
}

/// A block as it stands in a list, and where it was.
type Item<'a> = (Cow<'a, str>, Option<usize>);

impl Draft {
    pub(super) fn of(message: Message, from: usize) -> Self {
        let blocks = (0..message.blocks().len()).map(Some).collect();
        Self { message, from: Some(from), blocks }
    }

    /// Of what is no message, the blocks that are blocks; with the numbers of the others. `None`: nothing can be kept.
    pub(super) fn salvage(json: &str, from: usize) -> Option<(Self, Vec<usize>)> {
        let fields = Fields::read(json)?;
        let items: Vec<&RawValue> = serde_json::from_str(fields.get("content")?).ok()?;
        let is_block = |item: &RawValue| Block::from_json(item.get()).is_some();
        let (kept, lost): (Vec<_>, Vec<_>) = items.iter().enumerate().partition(|(_, item)| is_block(item));
        let content = fields::list(kept.iter().map(|(_, item)| item.get()));
        let message = Message::from_json(&fields.with(&[("content", Some(&content))])).ok()?;
        let blocks = kept.into_iter().map(|(number, _)| Some(number)).collect();
        let lost = lost.into_iter().map(|(number, _)| number).collect();
        Some((Self { message, from: Some(from), blocks }, lost))
    }

    /// A message that was not there, made of blocks that were not there.
    pub(super) fn new(role: Role, block: &str) -> Self {
        let message = format!(r#"{{"role":"{}","content":[{block}]}}"#, role.as_str());
        let message = Message::from_json(&message).expect("a role and a block make a message");
        Self { message, from: None, blocks: vec![None] }
    }

    /// Where something in it was.
    pub(super) fn origin(&self, block: Option<usize>) -> Option<Place> {
        let from = self.from?;
        let Some(block) = block else { return Some(Place::Message(from)) };
        Some(self.blocks[block].map_or(Place::Message(from), |block| Place::Block(from, block)))
    }

    fn items(&self) -> Vec<Item<'_>> {
        let item = |(block, from): (&Block, &Option<usize>)| (as_item(&self.message, block), *from);
        self.message.blocks().iter().zip(&self.blocks).map(item).collect()
    }

    fn with(&self, role: Role, items: &[Item<'_>]) -> Self {
        let message = self.message.with_blocks(role, items.iter().map(|(json, _)| json));
        Self { message, from: self.from, blocks: items.iter().map(|(_, from)| *from).collect() }
    }

    /// Takes blocks away.
    pub(super) fn remove(&mut self, gone: &HashSet<usize>) {
        let items = self.items().into_iter().enumerate().filter(|(number, _)| !gone.contains(number));
        *self = self.with(self.message.role(), &items.map(|(_, item)| item).collect::<Vec<_>>());
    }

    /// Puts blocks, which were nowhere in this message, behind the results that it begins with.
    pub(super) fn add_results(&mut self, results: &[String]) {
        let leading = self.message.blocks().iter().take_while(|block| block.kind == Kind::ToolResult).count();
        let mut items = self.items();
        items.splice(leading..leading, results.iter().map(|json| (Cow::Borrowed(json.as_str()), None)));
        *self = self.with(self.message.role(), &items);
    }

    /// Moves its results before its other blocks.
    pub(super) fn results_first(&mut self) {
        let kinds: Vec<Kind> = self.message.blocks().iter().map(|block| block.kind).collect();
        let is_result = |number: usize| kinds[number] == Kind::ToolResult;
        let (results, others): (Vec<_>, Vec<_>) =
            self.items().into_iter().enumerate().partition(|(number, _)| is_result(*number));
        let items: Vec<_> = results.into_iter().chain(others).map(|(_, item)| item).collect();
        *self = self.with(self.message.role(), &items);
    }

    /// Writes one block anew.
    pub(super) fn rewrite(&mut self, block: usize, json: String) {
        let mut items = self.items();
        items[block].0 = Cow::Owned(json);
        *self = self.with(self.message.role(), &items);
    }

    /// Makes it the user's, behind a block that says what it was. Its other fields go: they are for system messages alone.
    pub(super) fn make_user(&mut self, mark: &str) {
        let mut items = self.items();
        items.insert(0, (Cow::Borrowed(mark), None));
        let message = Message::from_json(r#"{"role":"user","content":[]}"#)
            .expect("a role and no blocks make a message");
        *self = Self { message, ..self.clone() }.with(Role::User, &items);
    }

    /// One block as it would stand in a list.
    pub(super) fn item(&self, block: usize) -> String {
        as_item(&self.message, &self.message.blocks()[block]).into_owned()
    }
}

fn as_item<'a>(message: &'a Message, block: &Block) -> Cow<'a, str> {
    let json = message.block_json(block);
    if message.is_string() {
        return Cow::Owned(format!(r#"{{"type":"text","text":{json}}}"#));
    }
    Cow::Borrowed(json)
}
