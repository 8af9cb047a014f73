//! Nothing is empty, and cache marks are few (I9, I10).
//!
//! Sources: the errors themselves (`errors.json`); "Prompt caching": a mark may be on tools, parts of `system`, blocks and the
//! blocks in a tool's result; one for the whole request counts as well, and falls on the last block that can have one.
//! Thinking and `fallback` take none. What is kept for an hour comes before what is kept for five minutes.

use super::super::block::{Block, Kind};
use super::super::fields::Fields;
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
    lifetimes(history, &marks, found);
}

/// The order of lifetimes, and the two marks that one block may get.
fn lifetimes(history: &History<'_>, marks: &[Place], found: &mut Vec<Violation>) {
    let is_long = |place: &Place| is_long(history.request, *place);
    let Some(first) = marks.iter().position(|place| !is_long(place)) else { return };
    let twice = marks.iter().rev().find(|place| matches!(place, Place::Block(..)));
    let twice = twice.filter(|place| marks.contains(&WHOLE) && last_markable(history) == Some(**place));
    if let Some(&place) = twice.filter(|place| is_long(place) != is_long(&WHOLE)) {
        found.push(Violation::new(Fault::TwoLifetimes, place));
    }
    for place in marks[first..].iter().filter(|place| is_long(place)) {
        if *place == WHOLE && twice.is_some() {
            continue;
        }
        let path = place.to_string();
        let path = if *place == WHOLE { path } else { format!("{path}.cache_control") };
        let facts = Facts { kind: path.into(), ..Facts::default() };
        found.push(Violation::with(Fault::LongAfterShort, *place, facts));
    }
}

/// The mark of the request itself.
const WHOLE: Place = Place::Field("cache_control");

/// Where the mark of the request itself falls.
fn last_markable(history: &History<'_>) -> Option<Place> {
    let blocks = history.messages.iter().enumerate().rev().flat_map(|(i, message)| {
        message.blocks().iter().enumerate().rev().map(move |(j, block)| (Place::Block(i, j), block.kind))
    });
    let mut blocks = blocks.filter(|(_, kind)| !matches!(kind, Kind::Thinking | Kind::Fallback));
    blocks.next().map(|(place, _)| place)
}

/// Whether a mark is for an hour.
pub(in super::super) fn is_long(request: &Request, place: Place) -> bool {
    let part = |name, number: usize| request.parts(name).get(number).copied();
    let block = |i: usize, j: usize| match &request.messages()[i] {
        Entry::Message(message) => Some(message.block_json(&message.blocks()[j])),
        Entry::Broken { .. } => None,
    };
    let whole = match place {
        Place::Tool(k) => part("tools", k),
        Place::System(k) => part("system", k),
        Place::Block(i, j) => block(i, j),
        Place::Part(i, j, k) => block(i, j).and_then(|json| {
            let part = Block::parts(json).into_iter().find(|(number, _)| *number == k);
            part.map(|(_, part)| &json[part.span])
        }),
        _ => None,
    };
    let control = match place {
        WHOLE => request.field("cache_control"),
        _ => whole.and_then(Fields::read).and_then(|fields| fields.get("cache_control")),
    };
    control.and_then(|control| request::string(control, "ttl")).as_deref() == Some("1h")
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
    marks.extend(request.field("cache_control").filter(|mark| *mark != "null").map(|_| WHOLE));
    marks
}
