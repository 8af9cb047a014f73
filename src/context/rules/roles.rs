//! Who may say what, and when: the first message, the last, system messages in between (I1, I2, I3, I13).
//!
//! Sources: `POST /v1/messages`; "Mid-conversation system messages and tool changes"; the errors themselves (`errors.json`).
//! An assistant message may be last on any model if it ends in a call or a result of the API's own tools: such a turn was
//! paused (`pause_turn`) and is sent back to be gone on with.

use super::super::block::Kind;
use super::super::message::Role;
use super::super::profile::Profile;
use super::super::request;
use super::{Facts, Fault, History, MOST_MESSAGES, Place, Violation, is_of_server};

pub(super) fn check(history: &History<'_>, profile: &Profile, found: &mut Vec<Violation>) {
    let number = history.messages.len();
    if number > MOST_MESSAGES {
        let facts = Facts { number, most: MOST_MESSAGES, ..Facts::default() };
        found.push(Violation::with(Fault::TooManyMessages, Place::Messages, facts));
    }
    first(history, found);
    for (i, message) in history.messages.iter().enumerate() {
        if message.role() == Role::System && !profile.mid_system {
            found.push(Violation::new(Fault::SystemUnsupported, Place::Message(i)));
        }
        for (j, block) in message.blocks().iter().enumerate() {
            if let Some(role) = speaker(block.kind).filter(|role| *role != message.role()) {
                let facts =
                    Facts { kind: block.name.clone(), result: role.as_str().into(), ..Facts::default() };
                found.push(Violation::with(Fault::WrongRole, Place::Block(i, j), facts));
            }
        }
    }
    if profile.mid_system {
        system(history, found);
    }
}

fn first(history: &History<'_>, found: &mut Vec<Violation>) {
    let Some(first) = history.turns.iter().find(|turn| turn.role != Role::System) else {
        found.push(Violation::new(Fault::NoMessages, Place::Messages));
        return;
    };
    let begins = history.blocks(first).next().map(|(_, block)| block.kind);
    if first.role == Role::Assistant && begins != Some(Kind::Compaction) {
        found.push(Violation::new(Fault::NotUserFirst, Place::Message(first.messages[0])));
    }
}

/// In whose messages alone such a block may be.
fn speaker(kind: Kind) -> Option<Role> {
    match kind {
        Kind::ToolUse | Kind::Thinking => Some(Role::Assistant),
        Kind::ToolResult => Some(Role::User),
        Kind::ToolChange => Some(Role::System),
        kind => is_of_server(kind).then_some(Role::Assistant),
    }
}

/// Where system messages stand.
fn system(history: &History<'_>, found: &mut Vec<Violation>) {
    for (at, turn) in history.turns.iter().enumerate().filter(|(_, turn)| turn.role == Role::System) {
        let before = at.checked_sub(1).map(|before| &history.turns[before]);
        let fault = match before {
            None => Some(Fault::SystemFirst),
            Some(before) if before.role == Role::Assistant && !ends_in_result(history, at - 1) => {
                Some(Fault::SystemAfterAssistant)
            }
            Some(_) => {
                let after = history.turns.get(at + 1);
                after.is_some_and(|after| after.role == Role::User).then_some(Fault::SystemBeforeUser)
            }
        };
        for &message in turn.messages.iter().filter(|_| fault.is_some()) {
            found.extend(fault.map(|fault| Violation::new(fault, Place::Message(message))));
        }
    }
}

fn ends_in_result(history: &History<'_>, turn: usize) -> bool {
    let last = history.blocks(&history.turns[turn]).next_back();
    last.is_some_and(|(_, block)| matches!(block.kind, Kind::ServerToolResult | Kind::McpToolResult))
}

/// What the last message may be.
pub(super) fn end(history: &History<'_>, profile: &Profile, found: &mut Vec<Violation>) {
    let Some(turn) = history.turns.last().filter(|turn| turn.role == Role::Assistant) else { return };
    let (Some(&message), last) = (turn.messages.last(), history.blocks(turn).next_back()) else { return };
    if !profile.prefill && !last.is_some_and(|(_, block)| is_of_server(block.kind)) {
        found.push(Violation::new(Fault::EndsWithAssistant, Place::Message(message)));
    }
    let Some((spot, block)) = last.filter(|(_, block)| block.kind == Kind::Text && !block.is_blank) else {
        return;
    };
    let json = history.json(spot, block);
    let text = serde_json::from_str(json).ok().or_else(|| request::string(json, "text"));
    if profile.prefill && text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        found.push(Violation::new(Fault::EndsWithSpace, spot.place()));
    }
}
