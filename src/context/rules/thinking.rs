//! Thinking (I7, I8), as far as one history shows it.
//!
//! Sources: "Extended thinking", "Preserved thinking"; the errors themselves (`errors.json`). Whether a signature fits is for
//! [`Seals`] to say; that nothing before it may change is a rule for the models that bind thinking.

use super::super::block::{Block, Kind};
use super::super::message::Role;
use super::super::profile::{Binding, Profile};
use super::super::request;
use super::{Facts, Fault, History, Seal, Seals, Spot, Violation};

pub(super) fn check(
    history: &History<'_>,
    profile: &Profile,
    seals: &impl Seals,
    found: &mut Vec<Violation>,
) {
    let is_bound = profile.binding != Binding::Ignore && !history.request.drops_unbound_thinking();
    for turn in history.turns.iter().filter(|turn| turn.role == Role::Assistant) {
        for (spot, block) in history.blocks(turn).filter(|(_, block)| block.kind == Kind::Thinking) {
            let is_unsigned = &*block.name == "thinking"
                && request::string(history.json(spot, block), "signature").is_none();
            let fault = match seals.seal(history.request, spot.message, spot.block) {
                _ if is_unsigned => Fault::Unsigned,
                Seal::Forged => Fault::Forged,
                Seal::Unbound if is_bound => Fault::Unbound,
                Seal::Unbound | Seal::Fits => continue,
            };
            found.push(about(fault, spot, block));
        }
        let last = history.blocks(turn).rev().take_while(|(_, block)| block.kind == Kind::Thinking);
        found.extend(last.map(|(spot, block)| about(Fault::EndsInThinking, spot, block)));
    }
    if history.request.has_budgeted_thinking() {
        open_turn(history, found);
    }
}

fn about(fault: Fault, spot: Spot, block: &Block) -> Violation {
    Violation::with(fault, spot.place(), Facts { kind: block.name.clone(), ..Facts::default() })
}

/// A turn that goes on after results begins with thinking, in its first message.
fn open_turn(history: &History<'_>, found: &mut Vec<Violation>) {
    let is_results = |turn: &super::Turn| {
        turn.role == Role::User && history.blocks(turn).all(|(_, block)| block.kind == Kind::ToolResult)
    };
    let goes_on = history.turns.iter().rev().take_while(|turn| turn.role != Role::User || is_results(turn));
    let turns: Vec<_> = goes_on.collect();
    if !turns.first().is_some_and(|last| is_results(last)) {
        return;
    }
    let first = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
    let first = first.and_then(|turn| history.blocks(turn).next());
    // Of a conversation that was compacted, the turn begins behind the summary.
    if let Some((spot, block)) =
        first.filter(|(_, block)| !matches!(block.kind, Kind::Thinking | Kind::Compaction))
    {
        found.push(about(Fault::NoThinkingFirst, spot, block));
    }
}
