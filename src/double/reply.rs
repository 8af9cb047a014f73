//! From what the script says to the message that is answered.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::cache::Usage;
use super::prompt::{Prompt, link};
use super::script::Line;
use super::seal::Signer;
use crate::context::{Entry, Kind, Request};

mod cut;
#[cfg(test)]
mod tests;

use cut::{Cut, cut};

/// What is said, complete: as the API would say it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) content: Vec<Value>,
    pub(super) stop_reason: String,
    pub(super) stop_sequence: Option<String>,
    pub(super) tokens: u64,
    /// Of these, what it thought.
    thought: u64,
    /// Other fields of the message.
    fields: Map<String, Value>,
}

impl Said {
    /// Completes a line: what the request does not ask for is left out, what is too long is cut, calls get ids, and what the
    /// model thinks is signed.
    pub(super) fn of(line: Line, ask: &Ask, prompt: &Prompt, signer: &mut Signer, number: u64) -> Self {
        let mut said = Self {
            content: Vec::new(),
            stop_reason: String::new(),
            stop_sequence: None,
            tokens: 0,
            thought: 0,
            fields: line.fields,
        };
        let mut ids = Ids::of(&ask.request, number);
        let omits = ask.fields.get("thinking").is_some_and(|thinking| thinking["display"] == "omitted");
        let mut why = None;
        for mut block in line.content {
            if is_thinking(&block) && !ask.thinks {
                continue;
            }
            ids.give(&mut block);
            let before = said.tokens;
            let left = ask.max_tokens.saturating_sub(before);
            let Cut { block, tokens, ends } = cut(block, left, &ask.stop_sequences);
            said.tokens += tokens;
            if let Some(mut block) = block {
                said.thought += if is_thinking(&block) { tokens } else { 0 };
                if omits && block["type"] == "thinking" {
                    block["thinking"] = json!("");
                }
                said.content.push(block);
            }
            if let Some((reason, sequence)) = ends {
                said.stop_sequence = sequence;
                why = Some(reason.to_owned());
                break;
            }
        }
        said.sign(ask, prompt, signer);
        if ask.max_tokens == 0 {
            // Nothing is to be said: the prompt is to be cached.
            why = Some("max_tokens".to_owned());
        } else {
            said.tokens = line.output_tokens.unwrap_or(said.tokens).max(1);
        }
        said.stop_reason = why.or(line.stop_reason).unwrap_or_else(|| said.usual_end().to_owned());
        said
    }

    fn sign(&mut self, ask: &Ask, prompt: &Prompt, signer: &mut Signer) {
        let mut chain = prompt.chain();
        for block in &mut self.content {
            match block["type"].as_str() {
                Some("compaction") if !block["content"].is_null() => {
                    chain = prompt.head();
                    // One that a threshold asked for is not signed.
                    if ask.compacts {
                        signer.sign(block, &chain, &ask.model);
                    }
                }
                Some("thinking" | "redacted_thinking") => signer.sign(block, &chain, &ask.model),
                _ => {}
            }
            chain = link(&chain, "assistant", block);
        }
    }

    /// Why it ends, when nobody says why.
    fn usual_end(&self) -> &'static str {
        let ends_with = |kinds: &[&str]| {
            let last = self.content.last().and_then(|block| block["type"].as_str());
            last.is_some_and(|last| kinds.contains(&last))
        };
        match () {
            () if self.content.iter().any(|block| block["type"] == "tool_use") => "tool_use",
            () if ends_with(&["compaction"]) => "compaction",
            () if ends_with(&["server_tool_use", "mcp_tool_use"]) => "pause_turn",
            () => "end_turn",
        }
    }

    /// The message. `more`: fields that it has beside what is said.
    pub(super) fn message(mut self, ask: &Ask, id: &str, usage: Usage, more: Map<String, Value>) -> Value {
        let sequence = match self.stop_reason.as_str() {
            "stop_sequence" => self.stop_sequence.take().or_else(|| ask.stop_sequences.first().cloned()),
            _ => None,
        };
        let details = match self.stop_reason.as_str() {
            "refusal" => json!({"type": "refusal", "category": null, "explanation": null}),
            _ => Value::Null,
        };
        let model = self.content.iter().rev().find_map(|block| match kind_of(block) {
            "fallback" => block["to"]["model"].as_str(),
            _ => None,
        });
        let mut message = json!({
            "model": model.unwrap_or(&ask.model),
            "id": id,
            "type": "message",
            "role": "assistant",
            "content": self.content,
            "stop_reason": self.stop_reason,
            "stop_sequence": sequence,
            "stop_details": details,
            "usage": self.usage(usage),
        });
        if let Some(container) = self.container(ask, id) {
            message["container"] = container;
        }
        for (name, value) in self.fields.into_iter().chain(more) {
            message[name] = value;
        }
        message
    }

    /// What the request and the message took, in the order in which the API has it.
    fn usage(&self, usage: Usage) -> Value {
        let mut usage = usage.counts();
        usage["output_tokens"] = json!(self.tokens);
        if self.thought > 0 {
            usage["output_tokens_details"] = json!({"thinking_tokens": self.thought.min(self.tokens)});
        }
        let calls = |name: Option<&str>| {
            let calls = self.content.iter().filter(|block| Kind::of(kind_of(block)).is_call());
            let of_server = calls.filter(|block| block["type"] != "tool_use");
            of_server.filter(|block| name.is_none_or(|name| block["name"] == name)).count()
        };
        if calls(None) > 0 {
            let (searches, fetches) = (calls(Some("web_search")), calls(Some("web_fetch")));
            usage["server_tool_use"] =
                json!({"web_search_requests": searches, "web_fetch_requests": fetches});
        }
        usage["service_tier"] = json!("standard");
        usage
    }

    /// Where code ran, if some did: the container of the request, or one that is named after the message. It has no end,
    /// since nothing is in it.
    fn container(&self, ask: &Ask, id: &str) -> Option<Value> {
        let has_code = self.content.iter().any(|block| {
            let name = if block["type"] == "server_tool_use" {
                block["name"].as_str()
            } else {
                Some(kind_of(block))
            };
            name.is_some_and(|name| name.contains("code_execution"))
        });
        if !has_code {
            return None;
        }
        let asked = ask.fields.get("container").unwrap_or(&Value::Null);
        let given = asked.as_str().or_else(|| asked["id"].as_str()).map(str::to_owned);
        let id = given.unwrap_or_else(|| id.replacen("msg_", "container_", 1));
        Some(json!({"id": id, "expires_at": "9999-12-31T23:59:59Z"}))
    }
}

/// Ids for what has none.
struct Ids {
    number: u64,
    given: u64,
    /// Those that the conversation has.
    taken: HashSet<Box<str>>,
    /// Calls of servers' tools that are still to be answered.
    open: Vec<String>,
}

impl Ids {
    fn of(request: &Request, number: u64) -> Self {
        let mut ids = Self { number, given: 0, taken: HashSet::new(), open: Vec::new() };
        for entry in request.messages() {
            let Entry::Message(message) = entry else { continue };
            for block in message.blocks() {
                if let (true, Some(id)) = (block.kind.is_call(), &block.id) {
                    ids.taken.insert(id.clone());
                    if block.kind != Kind::ToolUse {
                        ids.open.push(id.to_string());
                    }
                }
                ids.open.retain(|open| Some(&**open) != block.answers.as_deref());
            }
        }
        ids
    }

    /// Completes a call, or the result of a server's tool. A call that has an id is taken as it is.
    fn give(&mut self, block: &mut Value) {
        let kind = Kind::of(kind_of(block));
        if matches!(kind, Kind::ServerToolResult | Kind::McpToolResult) {
            let call = match block["tool_use_id"].as_str() {
                Some(id) => Some(id.to_owned()),
                None => self.open.last().cloned(),
            };
            self.open.retain(|open| Some(open) != call.as_ref());
            if let Some(id) = call {
                block["tool_use_id"] = json!(id);
            }
        }
        if !kind.is_call() {
            return;
        }
        if block["id"].is_null() {
            let id = self.next(match kind {
                Kind::ToolUse => "toolu",
                Kind::ServerToolUse => "srvtoolu",
                _ => "mcptoolu",
            });
            complete(block, &id);
        }
        if let (true, Some(id)) = (kind != Kind::ToolUse, block["id"].as_str()) {
            self.open.push(id.to_owned());
        }
    }

    /// The next id that nothing in the conversation has: another process may have given some before.
    fn next(&mut self, prefix: &str) -> String {
        loop {
            let id = format!("{prefix}_01{:014}{:08}", self.number, self.given);
            self.given += 1;
            if !self.taken.contains(id.as_str()) {
                return id;
            }
        }
    }
}

/// A call with its id, and in the order in which the API has its fields.
fn complete(block: &mut Value, id: &str) {
    let Some(fields) = block.as_object_mut() else { return };
    let mut rest = std::mem::take(fields);
    fields.insert("type".to_owned(), rest.shift_remove("type").unwrap_or_default());
    rest.shift_remove("id");
    fields.insert("id".to_owned(), json!(id));
    let is_mcp = fields["type"] == "mcp_tool_use";
    for (name, missing) in [("name", None), ("input", Some(json!({})))] {
        if let Some(value) = rest.shift_remove(name).or(missing) {
            fields.insert(name.to_owned(), value);
        }
    }
    fields.append(&mut rest);
    if !is_mcp && !fields.contains_key("caller") {
        fields.insert("caller".to_owned(), json!({"type": "direct"}));
    }
}

fn kind_of(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

fn is_thinking(block: &Value) -> bool {
    matches!(kind_of(block), "thinking" | "redacted_thinking")
}
