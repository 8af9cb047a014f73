//! Summaries: what one is made of, what becomes of one that fails, and where one may stand.
//!
//! Sources: <https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand> and `compaction-threshold` beside it,
//! `types/beta/beta_compaction_block.py` of the Python SDK. A summary on demand is signed, and then stands first and alone;
//! one at a threshold is not, and stands behind what it is of.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{beginning, is_assistants, messages};
use crate::context::{ApiError, Kind, Request, Seal};
use crate::double::ask::Ask;
use crate::double::fault::Fault;
use crate::double::prompt::{Prompt, tokens_of_text, value_of};
use crate::double::script::Line;
use crate::double::seal::Signer;
use crate::hash::Hash;

/// Tokens of what the API asks for a summary with.
const ASKING: u64 = 200;

/// What came of asking for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::double) struct Summary {
    /// `Err`: why there is none, as a `stop_reason`.
    pub(in crate::double) text: Result<String, String>,
    /// Of the answer.
    pub(in crate::double) tokens: u64,
}

impl Summary {
    /// Reads what was said, of which at most so many tokens count: "A summary is produced only when the summarization call ends
    /// normally with text and no tool call."
    pub(in crate::double) fn of(line: Option<Line>, most: u64) -> Self {
        let Some(line) = line else { return Self { text: Err("end_turn".to_owned()), tokens: 0 } };
        let said = line.content.iter().filter_map(|block| match block["type"].as_str() {
            Some("text") => block["text"].as_str(),
            Some("compaction") => block["content"].as_str(),
            _ => None,
        });
        let text: String = said.collect();
        let calls = line
            .content
            .iter()
            .any(|block| block["type"].as_str().is_some_and(|kind| Kind::of(kind).is_call()));
        let told = tokens_of_text(&text);
        let failed = match line.stop_reason {
            Some(why) if !matches!(&*why, "end_turn" | "stop_sequence" | "compaction") => Some(why),
            _ if calls => Some("tool_use".to_owned()),
            _ if text.trim().is_empty() => Some("end_turn".to_owned()),
            _ if told > most => Some("max_tokens".to_owned()),
            _ => None,
        };
        Self { tokens: line.output_tokens.unwrap_or(told.min(most)), text: failed.map_or(Ok(text), Err) }
    }

    /// The block at a threshold: of a summary that failed, the content is null.
    pub(in crate::double) fn at_threshold(&self) -> Value {
        json!({"type": "compaction", "content": self.text.as_ref().ok()})
    }

    /// The block on demand, of a prompt that was sent. `None`: it failed.
    pub(in crate::double) fn on_demand(&self, ask: &Ask, sent: &Prompt, signer: &Signer) -> Option<Value> {
        let mut block = json!({"type": "compaction", "content": self.text.as_ref().ok()?});
        let changes = tool_changes(&ask.request);
        if !changes.is_empty() {
            block["tool_changes"] = Value::from(changes);
        }
        signer.sign_summary(&mut block, &sent.head(), &ask.model, &sent.ends());
        Some(block)
    }
}

/// The tokens that a summary is asked for with.
pub(in crate::double) fn asking(instructions: Option<&str>) -> u64 {
    let own = instructions.filter(|text| !text.trim().is_empty());
    own.map_or(ASKING, tokens_of_text)
}

/// The last change of each tool, those before an earlier summary among them.
fn tool_changes(request: &Request) -> Vec<Value> {
    let mut changes: Vec<Value> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    let start = beginning(request);
    for (i, message) in messages(request) {
        let blocks = message.blocks().iter().enumerate().filter(|(j, _)| (i, *j) >= start);
        for (_, block) in blocks {
            let value = value_of(message, block);
            let new = match block.kind {
                Kind::ToolChange => vec![json!({"type": value["type"], "tool": value["tool"]})],
                Kind::Compaction => value["tool_changes"].as_array().cloned().unwrap_or_default(),
                _ => continue,
            };
            for change in new {
                let tool = &change["tool"];
                let names =
                    [&tool["name"], &tool["tool_name"], &tool["definition"]["name"], &tool["server_name"]];
                let key = json!(names).to_string();
                if let Some(known) = at.get(&key) {
                    changes[*known] = change;
                } else {
                    at.insert(key, changes.len());
                    changes.push(change);
                }
            }
        }
    }
    changes
}

/// Whether a request may have the summaries that it has, and ask for the one that it asks for.
pub(in crate::double) fn check(ask: &Ask, signer: &Signer) -> Result<(), ApiError> {
    let blocks: Vec<(usize, usize, Value)> = messages(&ask.request)
        .flat_map(|(i, message)| {
            let blocks = message.blocks().iter().enumerate();
            let blocks = blocks.filter(|(_, block)| block.kind == Kind::Compaction);
            blocks.map(move |(j, block)| (i, j, value_of(message, block)))
        })
        .collect();
    let sealed = blocks.iter().find(|(_, _, block)| block["signature"].is_string());
    if let Some((i, j, block)) = sealed {
        if blocks.len() > 1 {
            return Err(Fault::TwoCompactions.error(&[]));
        }
        if (*i, *j) != (0, 0) {
            return Err(Fault::LateCompaction.at(&format!("messages.{i}.content.{j}")));
        }
        if signer.judge(block, &Hash([0; 32]), &ask.model).seal() == Seal::Forged {
            return Err(Fault::ForgedCompaction.error(&[]));
        }
        if ask.edits.iter().any(|edit| edit["type"] == "compact_20260112") {
            return Err(Fault::CompactedAgain.error(&[]));
        }
    }
    let field = |name: &str| ask.fields.get(name).unwrap_or(&Value::Null);
    let budget = &field("output_config")["task_budget"]["remaining"];
    if (ask.compacts || sealed.is_some()) && !budget.is_null() {
        return Err(Fault::CompactionAndBudget.error(&[]));
    }
    if ask.compacts { check_demand(ask, &field) } else { Ok(()) }
}

/// "They would do nothing on a summarization call, and the API rejects them."
fn check_demand<'a>(ask: &Ask, field: &impl Fn(&str) -> &'a Value) -> Result<(), ApiError> {
    let choice = field("tool_choice")["type"].as_str();
    let refused = match () {
        () if field("stop_sequences").as_array().is_some_and(|list| !list.is_empty()) => "stop_sequences",
        () if !field("output_config")["format"].is_null() => "output_config.format",
        () if matches!(choice, Some("any" | "tool")) => "tool_choice",
        () => return open_call(ask),
    };
    Err(Fault::CompactionAndField.at(refused))
}

/// What is summed up does not end in a call without its result.
fn open_call(ask: &Ask) -> Result<(), ApiError> {
    let last = messages(&ask.request).last().filter(|(_, message)| is_assistants(message));
    let open = last.filter(|(_, message)| message.blocks().last().is_some_and(|block| block.kind.is_call()));
    open.map_or(Ok(()), |(i, _)| Err(Fault::CompactionOfOpenCall.at(&format!("messages.{i}"))))
}
