//! Nothing is empty, and cache marks are few (I9, I10).
//!
//! Sources: the errors themselves (`errors.json`); "Prompt caching": a mark may be on tools, parts of `system`, blocks and the
//! blocks in a tool's result; one for the whole request counts as well. Thinking and `fallback` take none.

use super::super::block::{Block, Kind};
use super::super::message::{Message, Role};
use super::super::request::{self, Entry, Request};
use super::{Facts, Fault, History, MOST_MARKS, Place, Violation, is_directive};

pub(super) fn check(history: &History<'_>, found: &mut Vec<Violation>) {
    for (k, part) in history.request.parts("system").into_iter().enumerate() {
        let block = Block::from_json(part);
        found.extend(block.and_then(|block| Some(Violation::new(blank(&block, part)?, Place::System(k)))));
    }
    for (i, message) in history.messages.iter().enumerate() {
        let is_last = i + 1 == history.messages.len();
        if is_empty(message) {
            let may_be = is_directive(message) || is_last && message.role() == Role::Assistant;
            found.extend((!may_be).then(|| Violation::new(Fault::EmptyMessage, Place::Message(i))));
            continue;
        }
        for (j, block) in message.blocks().iter().enumerate() {
            let json = message.block_json(block);
            found.extend(blank(block, json).map(|fault| Violation::new(fault, Place::Block(i, j))));
            for (k, part) in parts(block, json) {
                let fault = blank(&part, &json[part.span.clone()]);
                found.extend(fault.map(|fault| Violation::new(fault, Place::Part(i, j, k))));
            }
        }
    }
    let marks = marks(history.request);
    for &place in &marks {
        let Place::Block(i, j) = place else { continue };
        let block = &history.messages[i].blocks()[j];
        if matches!(block.kind, Kind::Thinking | Kind::Fallback) {
            let facts = Facts { kind: block.name.clone(), ..Facts::default() };
            found.push(Violation::with(Fault::MarkOnSealed, place, facts));
        }
    }
    if marks.len() > MOST_MARKS {
        let facts = Facts { number: marks.len(), most: MOST_MARKS, ..Facts::default() };
        found.push(Violation::with(Fault::TooManyMarks, Place::Messages, facts));
    }
}

/// Whether a message has no content: no block, or an empty string.
pub(in super::super) fn is_empty(message: &Message) -> bool {
    message.blocks().iter().all(|block| message.is_string() && message.block_json(block) == "\"\"")
}

fn blank(block: &Block, json: &str) -> Option<Fault> {
    match block.kind {
        Kind::Compaction if block.is_blank => Some(Fault::EmptyCompaction),
        Kind::Text if block.is_blank => {
            let is_space = serde_json::from_str::<String>(json).is_ok()
                || request::string(json, "text").is_some_and(|text| !text.is_empty());
            Some(if is_space { Fault::BlankText } else { Fault::EmptyText })
        }
        _ => None,
    }
}

/// The blocks in a tool's result.
fn parts(block: &Block, json: &str) -> Vec<(usize, Block)> {
    if block.kind == Kind::ToolResult { Block::parts(json) } else { Vec::new() }
}

/// The cache marks of a request in the API's order: tools, `system`, messages, the request itself.
pub(in super::super) fn marks(request: &Request) -> Vec<Place> {
    let of_parts = |name, place: fn(usize) -> Place| {
        let parts = request.parts(name).into_iter().enumerate();
        parts.filter(|(_, part)| request::is_marked(part)).map(move |(k, _)| place(k)).collect::<Vec<_>>()
    };
    let mut marks = of_parts("tools", Place::Tool);
    marks.extend(of_parts("system", Place::System));
    for (i, entry) in request.messages().iter().enumerate() {
        let Entry::Message(message) = entry else { continue };
        for (j, block) in message.blocks().iter().enumerate() {
            let inner = parts(block, message.block_json(block)).into_iter();
            marks.extend(inner.filter(|(_, part)| part.is_cache_mark).map(|(k, _)| Place::Part(i, j, k)));
            marks.extend(block.is_cache_mark.then_some(Place::Block(i, j)));
        }
    }
    marks.extend(
        request.field("cache_control").filter(|mark| *mark != "null").map(|_| Place::Field("cache_control")),
    );
    marks
}
