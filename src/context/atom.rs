//! Atoms: the smallest runs of messages that can go or stay as one.
//!
//! A run goes on while a call in it has no result: a round of parallel calls with its results is one atom, and so is a tool
//! of the API's whose result comes in a later message. What only needs another message to be there (a citation its
//! documents, a call the code that made it) says so and is not bound to it in the other direction.
//!
//! What the operator says in between must stand behind the user's words and before the assistant's. So it is one with what
//! the assistant says next; before that, a text of the user's stands for whatever is left out.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memmem;
use serde::Deserialize;

use super::block::{Block, Kind};
use super::message::{Message, Role};
use super::rules;
use super::strategy::flush;

/// A run of messages that goes or stays as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The numbers of its messages.
    pub messages: Range<usize>,
    /// Earlier messages that must be there as long as this one is.
    pub needs: Vec<usize>,
    /// Whether it says which tools there are: it is never left out.
    pub is_state: bool,
}

/// Atoms of messages that come one by one.
#[derive(Debug, Default)]
pub(super) struct Atoms<'a> {
    list: Vec<Atom>,
    /// Calls of the client's tools without a result, and of others.
    open: HashSet<&'a str>,
    open_elsewhere: HashSet<&'a str>,
    /// Calls of the API's tools, and the message of each.
    calls: HashMap<&'a str, usize>,
    last: Option<Role>,
    /// Messages with a document, and with a search result: once for each, in order.
    documents: Vec<usize>,
    search_results: Vec<usize>,
}

#[derive(Deserialize)]
struct Cited {
    #[serde(default)]
    citations: Option<Vec<Place>>,
}

#[derive(Deserialize)]
struct Place {
    document_index: Option<usize>,
    search_result_index: Option<usize>,
}

impl<'a> Atoms<'a> {
    /// Takes in the next message. `true`: it begins an atom.
    pub(super) fn push(&mut self, number: usize, message: &'a Message) -> bool {
        match (self.last, message.role()) {
            // A call whose result did not come in the next message never gets one.
            (Some(Role::User | Role::System), Role::Assistant) => self.open.clear(),
            // Neither does one of the API's, once the next task has begun.
            (_, Role::User) if !message.has_results() && self.open.is_empty() => self.open_elsewhere.clear(),
            _ => {}
        }
        let is_closed = self.open.is_empty() && self.open_elsewhere.is_empty();
        let is_awaited = self.last == Some(Role::System) && message.role() != Role::User;
        // A notice is no reason to leave out what came right before it and was not answered yet.
        let begins = is_closed && !is_awaited && !flush::is_notice(message) || self.list.is_empty();
        if begins {
            self.list.push(Atom { messages: number..number, needs: Vec::new(), is_state: false });
        }
        let mut needs = Vec::new();
        for block in message.blocks() {
            needs.extend(self.needs(message, block));
            self.follow(number, block);
        }
        if !rules::is_directive(message) {
            self.last = Some(message.role());
        }
        let atom = self.list.last_mut().expect("the first message begins one");
        atom.messages.end = number + 1;
        atom.is_state |= message.blocks().iter().any(|block| block.kind == Kind::ToolChange);
        needs.retain(|needed| *needed < atom.messages.start);
        atom.needs.extend(needs);
        atom.needs.sort_unstable();
        atom.needs.dedup();
        begins
    }

    fn needs(&self, message: &Message, block: &Block) -> Vec<usize> {
        let mut needs: Vec<usize> = [&block.caller, &block.answers]
            .into_iter()
            .filter_map(|id| self.calls.get(id.as_deref()?).copied())
            .collect();
        let json = message.block_json(block);
        if block.kind == Kind::Text
            && message.role() == Role::Assistant
            && memmem::find(json.as_bytes(), b"\"citations\"").is_some()
        {
            let cited: Cited = serde_json::from_str(json).unwrap_or(Cited { citations: None });
            for place in cited.citations.into_iter().flatten() {
                // The index counts all that come before, so that these must stay as well.
                for (index, of) in [
                    (place.document_index, &self.documents),
                    (place.search_result_index, &self.search_results),
                ] {
                    needs.extend(index.into_iter().flat_map(|index| of.iter().take(index.saturating_add(1))));
                }
            }
            needs.sort_unstable();
            needs.dedup();
        }
        needs
    }

    fn follow(&mut self, number: usize, block: &'a Block) {
        match (block.kind, block.id.as_deref(), block.answers.as_deref()) {
            (Kind::ToolUse, Some(id), _) => {
                self.open.insert(id);
            }
            (Kind::ServerToolUse | Kind::McpToolUse, Some(id), _) => {
                self.open_elsewhere.insert(id);
                self.calls.insert(id, number);
            }
            (Kind::ToolResult, _, Some(id)) => {
                self.open.remove(id);
            }
            (Kind::ServerToolResult | Kind::McpToolResult, _, Some(id)) => {
                self.open_elsewhere.remove(id);
            }
            (Kind::Attachment, ..) if &*block.name == "document" => self.documents.push(number),
            (Kind::Attachment, ..) if &*block.name == "search_result" => self.search_results.push(number),
            _ => {}
        }
    }

    /// Whether a call of the client's tools waits for its result: no request can be made now.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a message of the user's may come next: no call waits for its result, the API's code for that of a call of its, or
    /// an operator's words for the assistant.
    pub(super) fn is_at_rest(&self) -> bool {
        self.open.is_empty() && self.open_elsewhere.is_empty() && self.last != Some(Role::System)
    }

    /// What was left out is no document that a later citation counts.
    pub(super) fn forget(&mut self, is_gone: impl Fn(usize) -> bool) {
        self.documents.retain(|number| !is_gone(*number));
        self.search_results.retain(|number| !is_gone(*number));
    }

    pub(super) fn list(&self) -> &[Atom] {
        &self.list
    }
}

/// The atoms of messages, oldest first.
#[must_use]
pub fn atoms<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Atom> {
    let mut atoms = Atoms::default();
    for (number, message) in messages.into_iter().enumerate() {
        atoms.push(number, message);
    }
    atoms.list
}
