//! Clearing results of tools and thinking.
//!
//! Source: <https://platform.claude.com/docs/en/build-with-claude/context-editing>. The API keeps nothing between two
//! requests, and yet "subsequent requests can reuse the newly cached prefix": so what is cleared is computed by going
//! through the history once more, as if each request of it came again. What was cleared then is cleared now.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{beginning, is_assistants, messages};
use crate::context::{Block, Kind, Message, Request, Role};
use crate::double::models::of_model;
use crate::double::prompt::{Dropped, FRAME, tokens_of, tokens_of_text, value_of, without};

/// What stands where a result was.
const PLACEHOLDER: &str = "[The result of this call was cleared to save room.]";

/// A request in which something was cleared.
#[derive(Debug, Clone)]
pub(super) struct Cleared {
    pub(super) request: Request,
    /// Of turns, or of uses.
    pub(super) number: u64,
    pub(super) tokens: u64,
}

/// Of which turns the thinking stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    /// Of the last so many that have any.
    Turns(usize),
    /// Of the turn that is not over: what the user says ends it.
    Open,
}

impl Keep {
    pub(super) fn read(keep: &Value, model: &str) -> Self {
        let kind = keep.as_str().or_else(|| keep["type"].as_str());
        match (kind, keep["value"].as_u64()) {
            (Some("all"), _) => Self::All,
            (Some("thinking_turns"), Some(turns)) => {
                Self::Turns(usize::try_from(turns).unwrap_or(usize::MAX))
            }
            _ => match Self::of_model(model) {
                Self::Open => Self::Turns(1),
                keep => keep,
            },
        }
    }

    /// What is kept when nobody asks: "all turns on Opus 4.5 and later, Sonnet 4.6 and later, and the Fable and Mythos models;
    /// the last turn only on earlier Opus and Sonnet models and all Haiku models".
    pub(super) fn of_model(model: &str) -> Self {
        const IS_EARLIER: [(&str, bool); 9] = [
            ("claude-3", true),
            ("claude-haiku-", true),
            ("claude-opus-4", true),
            ("claude-opus-4-5", false),
            ("claude-opus-4-6", false),
            ("claude-opus-4-7", false),
            ("claude-opus-4-8", false),
            ("claude-sonnet-4", true),
            ("claude-sonnet-4-6", false),
        ];
        let is_earlier = of_model(model, &IS_EARLIER).unwrap_or(false);
        if is_earlier { Self::Open } else { Self::All }
    }
}

/// Clears thinking.
pub(super) fn thinking(request: &Request, keep: Keep) -> Cleared {
    let nothing = Cleared { request: request.clone(), number: 0, tokens: 0 };
    if keep == Keep::All {
        return nothing;
    }
    let start = beginning(request);
    let mut turns: Vec<Vec<(Dropped, u64)>> = vec![Vec::new()];
    for (i, message) in messages(request) {
        let is_said = message.blocks().iter().any(|block| block.kind != Kind::ToolResult);
        if message.role() == Role::User && is_said {
            turns.push(Vec::new());
        }
        for (j, block) in message.blocks().iter().enumerate() {
            if block.kind == Kind::Thinking && (i, j) >= start {
                let dropped = Dropped { message: i, block: j, reason: "cleared" };
                let tokens = tokens_of(message, block);
                turns.last_mut().expect("there is one from the start").push((dropped, tokens));
            }
        }
    }
    if keep == Keep::Open {
        turns.pop();
    }
    turns.retain(|turn| !turn.is_empty());
    if let Keep::Turns(last) = keep {
        turns.truncate(turns.len().saturating_sub(last));
    }
    if turns.is_empty() {
        return nothing;
    }
    let dropped: Vec<Dropped> = turns.iter().flatten().map(|(dropped, _)| *dropped).collect();
    Cleared {
        request: without(request, &dropped),
        number: turns.len() as u64,
        tokens: turns.iter().flatten().map(|(_, tokens)| tokens).sum(),
    }
}

/// A `clear_tool_uses_20250919` edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolUses {
    trigger: Trigger,
    keep: usize,
    clear_at_least: u64,
    exclude_tools: Vec<String>,
    inputs: Inputs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    Tokens(u64),
    Uses(u64),
}

/// Of which tools the inputs go as well.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Inputs {
    All,
    Of(Vec<String>),
}

impl ToolUses {
    pub(super) fn read(edit: &Value) -> Self {
        let number = |name: &str| edit[name]["value"].as_u64();
        let names = |value: &Value| {
            let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let at = number("trigger").unwrap_or(100_000);
        let is_uses = edit["trigger"]["type"] == "tool_uses";
        let inputs = &edit["clear_tool_inputs"];
        Self {
            trigger: if is_uses { Trigger::Uses(at) } else { Trigger::Tokens(at) },
            keep: number("keep").map_or(3, |keep| usize::try_from(keep).unwrap_or(usize::MAX)),
            clear_at_least: number("clear_at_least").unwrap_or(0),
            exclude_tools: names(&edit["exclude_tools"]),
            inputs: if *inputs == true { Inputs::All } else { Inputs::Of(names(inputs)) },
        }
    }

    fn clears_input(&self, tool: &str) -> bool {
        match &self.inputs {
            Inputs::All => true,
            Inputs::Of(tools) => tools.iter().any(|one| one == tool),
        }
    }
}

/// A call and its result.
struct Use {
    /// What of it may go: the call, when its input does, and the result.
    call: Option<(usize, usize)>,
    result: (usize, usize),
    saves: u64,
    is_kept: bool,
    is_cleared: bool,
}

/// Clears results of tools; `head`: the tokens before the messages.
pub(super) fn tool_uses(request: &Request, edit: &ToolUses, head: u64) -> Cleared {
    let start = beginning(request);
    let mut calls: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut uses: Vec<Use> = Vec::new();
    let mut tokens = head;
    let all: Vec<(usize, &Message)> = messages(request).collect();
    let block_at = |(i, j): (usize, usize)| {
        let (_, message) = all.get(i)?;
        Some((*message, message.blocks().get(j)?))
    };
    for (at, (i, message)) in all.iter().enumerate() {
        let blocks = message.blocks().iter().enumerate().filter(|(j, _)| (*i, *j) >= start);
        for (j, block) in blocks {
            tokens += if j == 0 { FRAME } else { 0 } + tokens_of(message, block);
            match (block.kind, &block.id, &block.answers) {
                (Kind::ToolUse, Some(id), _) => drop(calls.insert(id, (*i, j))),
                (Kind::ToolResult, _, Some(id)) => {
                    let call = calls.get(&**id).copied();
                    uses.push(edit.of_use(call, call.and_then(block_at), (*i, j), (message, block)));
                }
                _ => {}
            }
        }
        let is_asked = all.get(at + 1).is_none_or(|(_, next)| is_assistants(next));
        if is_asked && !is_assistants(message) {
            tokens -= edit.clear(&mut uses, tokens);
        }
    }
    let gone: Vec<&Use> = uses.iter().filter(|one| one.is_cleared).collect();
    if gone.is_empty() {
        return Cleared { request: request.clone(), number: 0, tokens: 0 };
    }
    let results: HashSet<(usize, usize)> = gone.iter().map(|one| one.result).collect();
    let inputs: HashSet<(usize, usize)> = gone.iter().filter_map(|one| one.call).collect();
    let edited = all.iter().map(|(i, message)| {
        let is_touched = |j: usize| results.contains(&(*i, j)) || inputs.contains(&(*i, j));
        if !(0..message.blocks().len()).any(is_touched) {
            return (*message).clone();
        }
        let blocks = message.blocks().iter().enumerate().map(|(j, block)| match () {
            () if results.contains(&(*i, j)) => without_result(value_of(message, block)).to_string(),
            () if inputs.contains(&(*i, j)) => without_input(value_of(message, block)).to_string(),
            () => message.block_json(block).to_owned(),
        });
        message.with_blocks(message.role(), blocks)
    });
    Cleared {
        request: request.with_messages(edited),
        number: gone.len() as u64,
        tokens: gone.iter().map(|one| one.saves).sum(),
    }
}

impl ToolUses {
    fn of_use(
        &self,
        call: Option<(usize, usize)>,
        called: Option<(&Message, &Block)>,
        result: (usize, usize),
        (message, block): (&Message, &Block),
    ) -> Use {
        let tool = called.and_then(|(_, block)| block.tool.as_deref()).unwrap_or_default();
        let bare = unmarked(without_result(value_of(message, block))).to_string();
        let mut saves = tokens_of(message, block).saturating_sub(tokens_of_text(&bare));
        let clears_input = self.clears_input(tool);
        if let Some((message, block)) = called.filter(|_| clears_input) {
            let bare = unmarked(without_input(value_of(message, block))).to_string();
            saves += tokens_of(message, block).saturating_sub(tokens_of_text(&bare));
        }
        let is_kept = self.exclude_tools.iter().any(|one| one == tool);
        Use { call: call.filter(|_| clears_input), result, saves, is_kept, is_cleared: false }
    }

    /// Clears what may go, if it is time to: the tokens that this saves.
    fn clear(&self, uses: &mut [Use], tokens: u64) -> u64 {
        let is_due = match self.trigger {
            Trigger::Tokens(most) => tokens > most,
            Trigger::Uses(most) => uses.iter().filter(|one| !one.is_cleared).count() as u64 > most,
        };
        let older = uses.len().saturating_sub(self.keep);
        let gone: Vec<&mut Use> =
            uses[..older].iter_mut().filter(|one| !one.is_kept && !one.is_cleared).collect();
        let saved: u64 = gone.iter().map(|one| one.saves).sum();
        if !is_due || saved < self.clear_at_least {
            return 0;
        }
        for one in gone {
            one.is_cleared = true;
        }
        saved
    }
}

/// A block without its cache mark, which has no tokens.
fn unmarked(mut block: Value) -> Value {
    block.as_object_mut().and_then(|fields| fields.shift_remove("cache_control"));
    block
}

fn without_result(mut block: Value) -> Value {
    // A mark in what goes stays at its place.
    let parts = block["content"].as_array().into_iter().flatten();
    let mark = parts.rev().find_map(|part| part.get("cache_control").filter(|mark| !mark.is_null())).cloned();
    block["content"] = json!(PLACEHOLDER);
    if let (Some(mark), true) = (mark, block["cache_control"].is_null()) {
        block["cache_control"] = mark;
    }
    block
}

fn without_input(mut block: Value) -> Value {
    block["input"] = json!({});
    block
}
