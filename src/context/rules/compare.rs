//! What an edit of a history keeps: order, seals, prefixes, changes of the tools, citations, pins (I7, I8, I11, I12, I14, I15).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::block::{Block, Kind};
use super::super::fields::Fields;
use super::super::message::Role;
use super::super::profile::Binding;
use super::super::request::{self, Entry, Request};
use super::{Facts, Fault, Place, Spot, Violation, is_summary};

/// A block of either history, without its cache mark, which may come and go.
struct Piece<'a> {
    spot: Spot,
    role: Role,
    block: &'a Block,
    is_summary: bool,
    json: String,
}

/// What an edit of a history may not have done: `after` is made of blocks of `before` in their order, and of texts that are
/// marked (a line of theirs begins with `[…]`); thinking is where and what it was; on a model that binds it, nothing before
/// it has changed; changes of the tools, what is cited, the system prompt and the messages `pins` (by their number in
/// `before`, but for their thinking) are still there. Results may have been replaced by a marked text, and the inputs of calls been emptied.
#[must_use]
pub fn compare(before: &Request, after: &Request, pins: &[usize]) -> Vec<Violation> {
    let (old, new) = (pieces(before), pieces(after));
    let mut found = Vec::new();
    if before.field("system").map(request::unmarked) != after.field("system").map(request::unmarked) {
        found.push(Violation::new(Fault::LostSystem, Place::Field("system")));
    }
    let kept = align(before, after, &old, &new, &mut found);
    // Where two are the same, either may be the one that was kept.
    let same: HashSet<(Role, &str)> =
        kept.iter().map(|&number| (old[number].role, old[number].json.as_str())).collect();
    for (number, piece) in old.iter().enumerate() {
        let place = piece.spot.place();
        let is_kept = kept.contains(&number);
        if piece.block.kind == Kind::ToolChange && !is_kept {
            found.push(about(Fault::LostToolChange, place, piece.block));
        }
        let is_there =
            same.contains(&(piece.role, piece.json.as_str())) || piece.block.kind == Kind::Thinking;
        if pins.contains(&piece.spot.message) && !is_kept && !is_there {
            found.push(Violation::new(Fault::LostPin, place));
        }
    }
    cited(&old, &kept, &mut found);
    fallbacks(&old, &same, &kept, &mut found);
    found
}

fn about(fault: Fault, place: Place, block: &Block) -> Violation {
    Violation::with(fault, place, Facts { kind: block.name.clone(), ..Facts::default() })
}

fn pieces(request: &Request) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (message, entry) in request.messages().iter().enumerate() {
        let Entry::Message(it) = entry else { continue };
        for (block, kind) in it.blocks().iter().enumerate() {
            let json = request::plain(it, block);
            let (spot, is_summary) = (Spot { message, block }, is_summary(it, kind));
            pieces.push(Piece { spot, role: it.role(), block: kind, is_summary, json });
        }
    }
    pieces
}

/// Finds each block of `after` in `before`, in order: the numbers of those that were kept.
fn align(
    before: &Request,
    after: &Request,
    old: &[Piece<'_>],
    new: &[Piece<'_>],
    found: &mut Vec<Violation>,
) -> BTreeSet<usize> {
    let mut places: HashMap<(Role, &str), Vec<usize>> = HashMap::new();
    for (number, piece) in old.iter().enumerate() {
        places.entry((piece.role, &piece.json)).or_default().push(number);
    }
    let is_bound = after.profile().binding != Binding::Ignore && !after.drops_unbound_thinking();
    let is_same =
        |name| before.field(name).map(request::unmarked) == after.field(name).map(request::unmarked);
    let is_headed_anew = !is_same("system") || !is_same("tools");
    let mut has_changed = is_headed_anew;
    let (mut kept, mut from) = (BTreeSet::new(), 0);
    for piece in new {
        let same = places.get(&(piece.role, piece.json.as_str()));
        let next = same.and_then(|same| same.get(same.partition_point(|&at| at < from)).copied());
        let next = next.filter(|&next| next == from || !is_marked(piece));
        let Some(next) = next else {
            let is_tool = matches!(piece.block.kind, Kind::ToolUse | Kind::ToolResult);
            let edited = old[from..].iter().position(|old| is_tool && is_edited(old, piece));
            if let Some(at) = edited {
                kept.insert(from + at);
                from += at + 1;
            } else if piece.block.kind.is_sealed() {
                found.push(about(Fault::ChangedSeal, piece.spot.place(), piece.block));
            } else if !is_marked(piece) {
                found.push(about(Fault::NotInOrder, piece.spot.place(), piece.block));
            }
            has_changed = true;
            continue;
        };
        has_changed |= next != from;
        // What the API has summed up is no longer before what comes after.
        if piece.is_summary {
            has_changed = is_headed_anew;
        }
        if piece.block.kind == Kind::Thinking && has_changed && is_bound {
            found.push(about(Fault::ChangedPrefix, piece.spot.place(), piece.block));
        }
        kept.insert(next);
        from = next + 1;
    }
    kept
}

/// Whether an edit made it: a line of it begins with `[…]`.
fn is_marked(piece: &Piece<'_>) -> bool {
    let own = |name| request::string(&piece.json, name).into_iter().collect::<Vec<_>>();
    let texts = match piece.block.kind {
        Kind::Text => own("text"),
        Kind::ToolResult => {
            let parts = Block::parts(&piece.json).into_iter();
            let parts = parts.filter_map(|(_, part)| request::string(&piece.json[part.span], "text"));
            own("content").into_iter().chain(parts).collect()
        }
        _ => Vec::new(),
    };
    texts.iter().flat_map(|text| text.lines()).any(|line| line.starts_with('[') && line.contains(']'))
}

/// Whether `new` is the result or the call `old`, shortened.
fn is_edited(old: &Piece<'_>, new: &Piece<'_>) -> bool {
    let (kind, other) = (old.block, new.block);
    match kind.kind {
        Kind::ToolResult => other.kind == kind.kind && other.answers == kind.answers && is_marked(new),
        Kind::ToolUse => {
            let emptied = Fields::read(&old.json).map(|fields| fields.with(&[("input", Some("{}"))]));
            other.id == kind.id && emptied.as_deref() == Some(&new.json)
        }
        _ => false,
    }
}

/// A citation names a document by its number among all documents before it.
fn cited(old: &[Piece<'_>], kept: &BTreeSet<usize>, found: &mut Vec<Violation>) {
    let numbers = |name: &str| {
        let named = old.iter().enumerate().filter(|(_, piece)| &*piece.block.name == name);
        named.map(|(number, _)| number).collect::<Vec<_>>()
    };
    let (documents, results) = (numbers("document"), numbers("search_result"));
    for &number in kept.iter().filter(|&&number| old[number].block.kind == Kind::Text) {
        let Some(citations) = Fields::read(&old[number].json).and_then(|fields| fields.get("citations"))
        else {
            continue;
        };
        let citations: Vec<serde_json::Value> = serde_json::from_str(citations).unwrap_or_default();
        let lost = citations.iter().any(|citation| {
            let cited = |name: &str, among: &[usize]| {
                let index = citation.get(name).and_then(serde_json::Value::as_u64)?;
                among.get(usize::try_from(index).ok()?).copied()
            };
            let cited =
                cited("document_index", &documents).or_else(|| cited("search_result_index", &results));
            cited.is_some_and(|cited| !kept.contains(&cited))
        });
        if lost {
            found.push(Violation::new(Fault::LostDocument, old[number].spot.place()));
        }
    }
}

/// A message in which another model took over stays whole, but for its thinking, or goes. What is there more than once
/// does not tell which of them was kept.
fn fallbacks(
    old: &[Piece<'_>],
    same: &HashSet<(Role, &str)>,
    kept: &BTreeSet<usize>,
    found: &mut Vec<Violation>,
) {
    let mut often: HashMap<(Role, &str), usize> = HashMap::new();
    for piece in old {
        *often.entry((piece.role, &piece.json)).or_default() += 1;
    }
    let numbered: Vec<(usize, &Piece<'_>)> = old.iter().enumerate().collect();
    for whole in numbered.chunk_by(|(_, a), (_, b)| a.spot.message == b.spot.message) {
        let Some((_, fallback)) = whole.iter().find(|(_, piece)| piece.block.kind == Kind::Fallback) else {
            continue;
        };
        let is_in_part = whole.iter().any(|(number, piece)| {
            let is_other = !matches!(piece.block.kind, Kind::Thinking | Kind::Fallback);
            is_other && often[&(piece.role, piece.json.as_str())] == 1 && kept.contains(number)
        });
        let mut rest = whole.iter().filter(|(_, piece)| piece.block.kind != Kind::Thinking);
        let is_whole = rest.all(|(_, piece)| same.contains(&(piece.role, piece.json.as_str())));
        if is_in_part && !is_whole {
            found.push(Violation::new(Fault::SplitFallback, fallback.spot.place()));
        }
    }
}
