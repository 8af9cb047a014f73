//! Thinking (I7, I8), as far as one history shows it.
//!
//! Sources: "Extended thinking", "Preserved thinking"; the errors themselves (`errors.json`). Whether a signature fits is for
//! [`Seals`] to say; that nothing before it may change is a rule for the models that bind thinking.

use super::super::block::{Block, Kind};
use super::super::message::Role;
use super::super::profile::{Binding, Profile};
use super::super::request;
use super::{Facts, Fault, History, Seal, Seals, Spot, Violation, is_directive};

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
    let messages = history.messages.iter().enumerate().rev().filter(|(_, message)| !is_directive(message));
    let back = messages.map(|(message, it)| {
        let spots = (0..).map(|block| Spot { message, block });
        (it.role(), spots.zip(it.blocks().iter().map(|block| block.kind)).collect())
    });
    let about = |fault, spot: Spot| about(fault, spot, &history.messages[spot.message].blocks()[spot.block]);
    match history.request.thinking().as_deref() {
        Some("enabled") => {
            let spot = lacking(&open_turn(back));
            found.extend(spot.map(|spot| about(Fault::NoThinkingFirst, spot)));
        }
        Some("disabled") => {
            let thinking = open_turn(back).into_iter().filter(|(_, kind)| *kind == Kind::Thinking);
            found.extend(thinking.map(|(spot, _)| about(Fault::ThinkingDisabled, spot)));
        }
        _ => {}
    }
}

fn about(fault: Fault, spot: Spot, block: &Block) -> Violation {
    Violation::with(fault, spot.place(), Facts { kind: block.name.clone(), ..Facts::default() })
}

/// What the assistant has said in a turn that goes on after results: where each block is and what. Nothing: no turn goes on.
///
/// The messages come from the last one back, without directives: whose each is, and its blocks with what tells where they
/// are.
pub(in super::super) fn open_turn<T>(back: impl Iterator<Item = (Role, Vec<(T, Kind)>)>) -> Vec<(T, Kind)> {
    let mut said = Vec::new();
    let mut is_open = false;
    for (role, blocks) in back {
        match role {
            Role::User if blocks.iter().any(|(_, kind)| *kind != Kind::ToolResult) => break,
            Role::User => is_open = true,
            _ if !is_open => break,
            Role::Assistant => said.push(blocks),
            Role::System => {}
        }
    }
    said.into_iter().rev().flatten().collect()
}

/// Where a turn that goes on begins with something else than its thinking. Of a conversation that was compacted, it begins
/// behind the summary.
pub(in super::super) fn lacking<T: Copy>(open_turn: &[(T, Kind)]) -> Option<T> {
    let first = open_turn.first().filter(|(_, kind)| !matches!(kind, Kind::Thinking | Kind::Compaction));
    first.map(|(place, _)| *place)
}
