//! Calls and their results (I4, I5, I6).
//!
//! Sources: "Handle tool calls", "Programmatic tool calling", "Server tools", "MCP connector"; the errors themselves
//! (`errors.json`). A turn of the API's goes on through messages of the user's that hold nothing but results: code that calls
//! a client's tools waits for those, so that its own result comes in a later message. Anything else that the user says ends
//! it, and with it what is still open. What is open at the very end is a turn that is to be gone on with.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::block::{Block, Kind};
use super::super::message::Role;
use super::{Facts, Fault, History, Place, Spot, Turn, Violation, is_of_server};

/// Whether calls and results name each other at all: without ids nothing else can be told.
pub(super) fn names(history: &History<'_>, found: &mut Vec<Violation>) {
    for (spot, block) in history.turns.iter().flat_map(|turn| history.blocks(turn)) {
        let fault = match block.kind {
            kind if kind.is_call() && block.id.is_none() => Fault::NoId,
            kind if kind.is_result() && block.answers.is_none() => Fault::AnswersNothing,
            _ => continue,
        };
        let facts = Facts { kind: block.name.clone(), ..Facts::default() };
        found.push(Violation::with(fault, spot.place(), facts));
    }
}

pub(super) fn check(history: &History<'_>, found: &mut Vec<Violation>) {
    let mut ids = HashSet::new();
    for (at, turn) in history.turns.iter().enumerate() {
        match turn.role {
            Role::Assistant => {
                for (spot, block) in history.blocks(turn).filter(|(_, block)| block.kind.is_call()) {
                    if block.id.as_deref().is_some_and(|id| !ids.insert(id)) {
                        found.push(about(Fault::SecondId, spot, block.id.as_deref(), block));
                    }
                }
                answers(history, turn, history.turns.get(at + 1), found);
            }
            // Results that answer no turn of the assistant's.
            Role::User if at == 0 || history.turns[at - 1].role != Role::Assistant => {
                results(history, turn, &HashMap::new(), found);
            }
            _ => {}
        }
    }
    server(history, found);
}

fn about(fault: Fault, spot: Spot, id: Option<&str>, block: &Block) -> Violation {
    let ids = id.into_iter().map(Box::from).collect();
    Violation::with(fault, spot.place(), Facts { ids, kind: block.name.clone(), ..Facts::default() })
}

/// The calls of a turn and the results in the next one.
fn answers(history: &History<'_>, turn: &Turn, next: Option<&Turn>, found: &mut Vec<Violation>) {
    let calls = || {
        let calls = history.blocks(turn).filter(|(_, block)| block.kind == Kind::ToolUse);
        calls.filter_map(|(spot, block)| Some((block.id.as_deref()?, spot)))
    };
    let asked: HashMap<&str, usize> = calls().map(|(id, spot)| (id, spot.message)).collect();
    let next = next.filter(|next| next.role == Role::User);
    let seen = next.map(|next| results(history, next, &asked, found)).unwrap_or_default();
    let mut open: BTreeMap<usize, Vec<Box<str>>> = BTreeMap::new();
    for (id, spot) in calls().filter(|(id, _)| !seen.contains(id)) {
        open.entry(spot.message).or_default().push(id.into());
    }
    for (message, ids) in open {
        let facts = Facts { ids, ..Facts::default() };
        found.push(Violation::with(Fault::Unanswered, Place::Message(message), facts));
    }
}

/// The results of a user's turn, by what was asked for and in which message: those that answer it.
fn results<'a>(
    history: &History<'a>,
    turn: &Turn,
    asked: &HashMap<&str, usize>,
    found: &mut Vec<Violation>,
) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    let mut is_leading = true;
    for (spot, block) in history.blocks(turn) {
        let (Kind::ToolResult, Some(id)) = (block.kind, block.answers.as_deref()) else {
            is_leading = false;
            continue;
        };
        match asked.get(id) {
            None => found.push(about(Fault::Orphan, spot, Some(id), block)),
            Some(_) if !seen.insert(id) => found.push(about(Fault::SecondResult, spot, Some(id), block)),
            Some(&number) if !is_leading => {
                let facts = Facts { ids: vec![id.into()], number, ..Facts::default() };
                found.push(Violation::with(Fault::LateResult, spot.place(), facts));
            }
            Some(_) => {}
        }
    }
    seen
}

/// The calls that the API makes, and those that its code makes of the client's tools.
fn server(history: &History<'_>, found: &mut Vec<Violation>) {
    let mut open: Vec<(Spot, &Block)> = Vec::new();
    let mut code = HashSet::new();
    for turn in &history.turns {
        match turn.role {
            Role::System => {}
            Role::User => {
                if history.blocks(turn).any(|(_, block)| block.kind != Kind::ToolResult) {
                    found.extend(open.drain(..).map(|(spot, call)| unanswered(spot, call)));
                    code.clear();
                }
            }
            Role::Assistant => {
                for (spot, block) in history.blocks(turn) {
                    if let Some(caller) = block.caller.as_deref().filter(|_| block.kind.is_call())
                        && !code.contains(caller)
                    {
                        found.push(about(Fault::NoCaller, spot, Some(caller), block));
                    }
                    match block.kind {
                        Kind::ServerToolUse | Kind::McpToolUse => {
                            code.extend(block.id.as_deref().filter(|_| block.kind == Kind::ServerToolUse));
                            open.push((spot, block));
                        }
                        kind if is_of_server(kind) => {
                            let call = open.iter().position(|(_, call)| {
                                call.id == block.answers
                                    && (call.kind == Kind::McpToolUse) == (kind == Kind::McpToolResult)
                            });
                            match call {
                                Some(call) => drop(open.remove(call)),
                                None => found.push(server_orphan(spot, block)),
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

fn unanswered(spot: Spot, call: &Block) -> Violation {
    let tool = call.tool.as_deref().unwrap_or_default();
    let (kind, result) = match call.kind {
        Kind::McpToolUse => ("mcp_tool_use", "mcp_tool_result".to_owned()),
        // The two tools that search for tools have one kind of result.
        _ if tool.starts_with("tool_search_tool") => (tool, "tool_search_tool_result".to_owned()),
        _ => (tool, format!("{tool}_tool_result")),
    };
    let ids = call.id.iter().cloned().collect();
    let facts = Facts { ids, kind: kind.into(), result: result.into(), ..Facts::default() };
    Violation::with(Fault::ServerUnanswered, spot.place(), facts)
}

fn server_orphan(spot: Spot, result: &Block) -> Violation {
    let call = if result.kind == Kind::McpToolResult { "mcp_tool_use" } else { "server_tool_use" };
    let ids = result.answers.iter().cloned().collect();
    let facts = Facts { ids, kind: call.into(), result: result.name.clone(), ..Facts::default() };
    Violation::with(Fault::ServerOrphan, spot.place(), facts)
}
