//! Histories that are valid by how they are made, of all kinds of blocks, and ways to break them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};

use crate::context::{Entry, Kind, Request, Seal, Seals};

/// A model that goes on with the assistant's words, one that takes system messages, and one that binds thinking as well.
pub(crate) const MODELS: [&str; 3] = ["claude-opus-4-5", "claude-opus-5", "claude-opus-5-5"];

/// The API's own tools, each with the kind of its result.
const SERVER_TOOLS: [(&str, &str); 8] = [
    ("web_search", "web_search_tool_result"),
    ("web_fetch", "web_fetch_tool_result"),
    ("code_execution", "code_execution_tool_result"),
    ("bash_code_execution", "bash_code_execution_tool_result"),
    ("text_editor_code_execution", "text_editor_code_execution_tool_result"),
    ("tool_search_tool_regex", "tool_search_tool_result"),
    ("tool_search_tool_bm25", "tool_search_tool_result"),
    ("advisor", "advisor_tool_result"),
];

#[derive(Debug, Clone)]
enum Step {
    /// Calls at the same time, and whether each failed; then their results.
    Calls(Vec<(u8, bool)>, Lead),
    /// A tool of the API's.
    Server(usize, Lead),
    Mcp(Lead),
    /// Code that makes calls, whose results it waits for.
    Code(u8, Lead),
    Unknown,
    Compaction(bool),
    Fallback,
}

/// What an assistant says before it does something.
#[derive(Debug, Clone, Copy)]
enum Lead {
    Nothing,
    Text,
    Thinking,
    Redacted,
    ThinkingAndText,
}

#[derive(Debug, Clone)]
struct Round {
    asks: Vec<Vec<usize>>,
    system: Option<bool>,
    steps: Vec<Step>,
    lead: Lead,
}

/// A valid request.
pub(crate) fn history() -> impl Strategy<Value = Value> {
    let shape = (select(&MODELS[..]), any::<bool>(), any::<bool>(), vec(any::<Index>(), 0..4));
    (shape, vec(round(), 0..6), asks(), any::<bool>()).prop_map(
        |((model, system, compacted, marks), rounds, last, open)| {
            let mut made = Maker { has_system: model != MODELS[0], ..Maker::default() };
            if compacted {
                made.say(
                    "assistant",
                    vec![json!({"type": "compaction", "content": "What was before.", "signature": "c0"})],
                );
            }
            for round in &rounds {
                made.round(round);
            }
            if open || rounds.is_empty() {
                made.ask(&last);
            } else {
                made.end_in_results();
            }
            let mut messages = made.messages;
            let mut bare: Vec<&mut Value> = messages
                .iter_mut()
                .flat_map(|message| message["content"].as_array_mut().into_iter().flatten())
                .filter(|block| {
                    !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking" | "fallback"))
                })
                .collect();
            for mark in marks {
                if !bare.is_empty() {
                    let at = mark.index(bare.len());
                    bare[at]["cache_control"] = json!({"type": "ephemeral"});
                }
            }
            let mut request = json!({"model": model, "max_tokens": 1024});
            if system {
                request["system"] = json!([{"type": "text", "text": "You count."}]);
            }
            request["tools"] = json!([{"name": "count", "input_schema": {"type": "object"}}]);
            request["messages"] = Value::from(messages);
            request
        },
    )
}

fn round() -> impl Strategy<Value = Round> {
    let step = prop_oneof![
        4 => (vec((0..5_u8, any::<bool>()), 1..4), lead()).prop_map(|(calls, lead)| Step::Calls(calls, lead)),
        2 => (0..SERVER_TOOLS.len(), lead()).prop_map(|(tool, lead)| Step::Server(tool, lead)),
        1 => lead().prop_map(Step::Mcp),
        1 => (0..3_u8, lead()).prop_map(|(calls, lead)| Step::Code(calls, lead)),
        1 => Just(Step::Unknown),
        1 => any::<bool>().prop_map(Step::Compaction),
        1 => Just(Step::Fallback),
    ];
    (asks(), proptest::option::of(any::<bool>()), vec(step, 0..4), lead())
        .prop_map(|(asks, system, steps, lead)| Round { asks, system, steps, lead })
}

fn lead() -> impl Strategy<Value = Lead> {
    select(vec![Lead::Nothing, Lead::Text, Lead::Thinking, Lead::Redacted, Lead::ThinkingAndText])
}

/// Neighbouring messages of the user's, each a choice of what a user may bring.
fn asks() -> impl Strategy<Value = Vec<Vec<usize>>> {
    vec(subsequence((0..8).collect::<Vec<_>>(), 1..4), 1..3)
}

#[derive(Default)]
struct Maker {
    messages: Vec<Value>,
    has_system: bool,
    number: usize,
}

impl Maker {
    fn next(&mut self) -> usize {
        self.number += 1;
        self.number
    }

    fn say(&mut self, role: &str, content: Vec<Value>) {
        if !content.is_empty() {
            self.messages.push(json!({"role": role, "content": Value::from(content)}));
        }
    }

    fn text(&mut self) -> Value {
        json!({"type": "text", "text": format!("Text {}.", self.next())})
    }

    fn ask(&mut self, asks: &[Vec<usize>]) {
        for ask in asks {
            if ask == &[0] {
                let text = format!("Question {}?", self.next());
                self.messages.push(json!({"role": "user", "content": text}));
                continue;
            }
            let content = ask.iter().map(|&kind| self.brought(kind)).collect();
            self.say("user", content);
        }
    }

    fn brought(&mut self, kind: usize) -> Value {
        let number = self.next();
        match kind {
            0 | 1 => json!({"type": "text", "text": format!("Text {number}")}),
            2 => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}})
            }
            3 => {
                json!({"type": "image", "source": {"type": "url", "url": format!("https://example.com/{number}.png")}})
            }
            4 => {
                json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Tea is green."},
                "title": format!("Document {number}"), "citations": {"enabled": true}})
            }
            5 => {
                json!({"type": "search_result", "source": format!("https://example.com/{number}"), "title": "Tea",
                "content": [{"type": "text", "text": "Tea is green."}], "citations": {"enabled": true}})
            }
            6 => json!({"type": "container_upload", "file_id": format!("file_{number}")}),
            _ => json!({"type": "hologram", "id": number, "parts": [{"text": ""}]}),
        }
    }

    fn lead(&mut self, lead: Lead) -> Vec<Value> {
        let number = self.next();
        let thinking = json!({"type": "thinking", "thinking": format!("Thought {number}."), "signature": format!("s{number}")});
        match lead {
            Lead::Nothing => Vec::new(),
            Lead::Text => vec![self.text()],
            Lead::Thinking => vec![thinking],
            Lead::Redacted => vec![json!({"type": "redacted_thinking", "data": format!("r{number}")})],
            Lead::ThinkingAndText => vec![thinking, self.text()],
        }
    }

    fn round(&mut self, round: &Round) {
        self.ask(&round.asks);
        if let Some(changes_tools) = round.system.filter(|_| self.has_system) {
            let mut content = vec![self.text()];
            if changes_tools {
                let tool = json!({"type": "tool_reference", "tool_name": "count"});
                content.push(json!({"type": "tool_removal", "tool": tool}));
                content.push(json!({"type": "tool_addition", "tool": tool}));
            }
            self.say("system", content);
        }
        let mut said = Vec::new();
        for step in &round.steps {
            self.step(step, &mut said);
        }
        said.extend(self.lead(round.lead));
        said.push(self.text());
        self.say("assistant", said);
    }

    fn step(&mut self, step: &Step, said: &mut Vec<Value>) {
        match step {
            Step::Calls(calls, lead) => {
                said.extend(self.lead(*lead));
                let ids: Vec<_> = calls.iter().map(|_| format!("toolu_{}", self.next())).collect();
                said.extend(
                    ids.iter().map(
                        |id| json!({"type": "tool_use", "id": id, "name": "count", "input": {"what": id}}),
                    ),
                );
                self.say("assistant", std::mem::take(said));
                let results = ids.iter().zip(calls).map(|(id, (form, failed))| result(id, *form, *failed));
                self.say("user", results.collect());
            }
            Step::Server(tool, lead) => {
                let (name, kind) = SERVER_TOOLS[*tool];
                said.extend(self.lead(*lead));
                let id = format!("srvtoolu_{}", self.next());
                said.push(json!({"type": "server_tool_use", "id": id, "name": name, "input": {}}));
                said.push(json!({"type": kind, "tool_use_id": id, "content": []}));
            }
            Step::Mcp(lead) => {
                said.extend(self.lead(*lead));
                let id = format!("mcptoolu_{}", self.next());
                said.push(json!({"type": "mcp_tool_use", "id": id, "name": "echo", "server_name": "s", "input": {}}));
                said.push(
                    json!({"type": "mcp_tool_result", "tool_use_id": id, "is_error": false, "content": []}),
                );
            }
            Step::Code(calls, lead) => {
                said.extend(self.lead(*lead));
                let code = format!("srvtoolu_{}", self.next());
                said.push(json!({"type": "server_tool_use", "id": code, "name": "code_execution", "input": {"code": "x"}}));
                let ids: Vec<_> = (0..*calls).map(|_| format!("toolu_{}", self.next())).collect();
                said.extend(ids.iter().map(|id| {
                    let caller = json!({"type": "code_execution_20260120", "tool_id": code});
                    json!({"type": "tool_use", "id": id, "name": "count", "input": {}, "caller": caller})
                }));
                if !ids.is_empty() {
                    self.say("assistant", std::mem::take(said));
                    self.say("user", ids.iter().map(|id| result(id, 0, false)).collect());
                }
                said.push(json!({"type": "code_execution_tool_result", "tool_use_id": code,
                    "content": {"type": "code_execution_result", "stdout": "", "stderr": "", "return_code": 0, "content": []}}));
            }
            Step::Unknown => {
                said.push(json!({"type": "hologram", "tool_use_id": "none", "text": "", "content": ""}));
            }
            Step::Compaction(failed) => {
                let content = if *failed { Value::Null } else { json!(format!("Summary {}.", self.next())) };
                said.push(json!({"type": "compaction", "content": content}));
            }
            Step::Fallback => {
                said.push(json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}));
            }
        }
    }

    /// Ends with results: a turn that is to be gone on with.
    fn end_in_results(&mut self) {
        self.ask(&[vec![1]]);
        self.step(&Step::Calls(vec![(1, false), (3, true)], Lead::Thinking), &mut Vec::new());
    }
}

fn result(id: &str, form: u8, failed: bool) -> Value {
    let mut result = json!({"type": "tool_result", "tool_use_id": id});
    match form {
        0 => {}
        1 => result["content"] = json!("Three."),
        2 => result["content"] = json!([{"type": "text", "text": "Three."}]),
        3 => {
            result["content"] = json!([
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
                {"type": "search_result", "source": "a", "title": "A", "content": [{"type": "text", "text": "Tea."}]},
                {"type": "tool_reference", "tool_name": "count"},
            ]);
        }
        _ => result["content"] = json!([]),
    }
    if failed {
        result["is_error"] = json!(true);
    }
    result
}

/// A way to break a history.
#[derive(Debug, Clone)]
pub(crate) struct Break {
    how: u8,
    message: Index,
    other: Index,
    block: Index,
}

/// Any ways to break a history, one after the other.
pub(crate) fn breaks() -> impl Strategy<Value = Vec<Break>> {
    let one = (0..24_u8, any::<Index>(), any::<Index>(), any::<Index>());
    vec(one.prop_map(|(how, message, other, block)| Break { how, message, other, block }), 1..6)
}

impl Break {
    /// Breaks a history, or leaves it, where there is nothing of what this breaks.
    pub(crate) fn apply(&self, request: &mut Value) {
        let Some(messages) = request["messages"].as_array_mut().filter(|messages| !messages.is_empty())
        else {
            return;
        };
        let (at, other) = (self.message.index(messages.len()), self.other.index(messages.len()));
        if !messages[at].is_object() {
            return;
        }
        match self.how {
            0 => drop(messages.remove(at)),
            1 => messages.insert(other, messages[at].clone()),
            2 => messages.swap(at, other),
            3 => drop(messages.drain(..at)),
            4 => messages.truncate(at + 1),
            5 => messages[at]["role"] = json!(["user", "assistant", "system", "tool"][self.block.index(4)]),
            6 => {
                messages[at]["content"] = [json!([]), json!(""), json!(" \n"), json!(null), json!("x ")]
                    [self.block.index(5)]
                .clone();
            }
            7 => messages.insert(
                at,
                json!({"role": "system", "content": [{"type": "text", "text": "From now on, in French."}]}),
            ),
            8 => messages
                .insert(at, json!({"role": "system", "content": [], "output_config": {"effort": "low"}})),
            9 => messages.insert(at, json!({"role": "user", "content": "A word in between."})),
            10 => messages.insert(
                at,
                [json!(7), json!({"content": "x"}), json!({"role": "user"})][self.block.index(3)].clone(),
            ),
            11 => messages.clear(),
            12 => messages.push(json!({"role": "assistant", "content": "And so "})),
            13 => request["thinking"] = json!({"type": "enabled", "budget_tokens": 1024}),
            14 => {
                request["system"] = json!([{"type": "text", "text": ""}, {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]);
            }
            how => self.break_block(how, messages, at, other),
        }
    }

    fn break_block(&self, how: u8, messages: &mut [Value], at: usize, other: usize) {
        let content = messages[at].get_mut("content").and_then(Value::as_array_mut);
        let Some(blocks) = content.filter(|blocks| !blocks.is_empty()) else { return };
        let block = self.block.index(blocks.len());
        if !blocks[block].is_object() {
            return;
        }
        let taken = match how {
            15 => return drop(blocks.remove(block)),
            16 => return blocks.swap(0, block),
            17 => {
                return blocks.insert(0, json!({"type": "text", "text": if block == 0 { "" } else { " " }}));
            }
            18 => {
                return blocks[block] =
                    [json!("text"), json!(7), json!({}), json!({"type": 7})][block % 4].clone();
            }
            19 => {
                let names = ["id", "tool_use_id", "caller", "signature", "content", "type"];
                let fields = blocks[block].as_object_mut();
                return drop(
                    fields.and_then(|fields| fields.shift_remove(names[self.other.index(names.len())])),
                );
            }
            20 => {
                for (at, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.is_object()) {
                    let ttl = if (self.other.index(3) + at).is_multiple_of(2) { "5m" } else { "1h" };
                    block["cache_control"] = json!({"type": "ephemeral", "ttl": ttl});
                }
                return;
            }
            21 => {
                let names = ["id", "tool_use_id", "content", "text"];
                return blocks[block][names[self.other.index(names.len())]] = json!("toolu_1");
            }
            22 => blocks[block].clone(),
            _ => blocks.remove(block),
        };
        if let Some(blocks) = messages[other].get_mut("content").and_then(Value::as_array_mut) {
            let block = self.block.index(blocks.len() + 1);
            blocks.insert(block, taken);
        }
    }
}

/// Knows what each thinking was thought after, as whoever signed it does.
#[derive(Debug, Default)]
pub(crate) struct Signed(HashMap<String, Vec<u64>>);

impl Signed {
    /// Signs all thinking of a history.
    pub(crate) fn of(request: &Request) -> Self {
        let mut signed = Self::default();
        signed.sign(request, 0);
        signed
    }

    /// Signs the thinking of message `from` and those after it.
    pub(crate) fn sign(&mut self, request: &Request, from: usize) {
        for (_, thinking, prefix) in prefixes(request).into_iter().filter(|((i, _), ..)| *i >= from) {
            self.0.entry(thinking).or_default().push(prefix);
        }
    }

    /// What is known of all thinking of a history.
    pub(crate) fn seals(&self, request: &Request) -> Known {
        let known = prefixes(request).into_iter().map(|(place, thinking, prefix)| {
            let seal = match self.0.get(&thinking) {
                None => Seal::Forged,
                Some(signed) if signed.contains(&prefix) => Seal::Fits,
                Some(_) => Seal::Unbound,
            };
            (place, seal)
        });
        Known(known.collect())
    }
}

impl Seals for Signed {
    fn seal(&self, request: &Request, message: usize, block: usize) -> Seal {
        self.seals(request).seal(request, message, block)
    }
}

/// What is known of the thinking of one request.
pub(crate) struct Known(HashMap<(usize, usize), Seal>);

impl Seals for Known {
    fn seal(&self, _: &Request, message: usize, block: usize) -> Seal {
        self.0[&(message, block)]
    }
}

/// All thinking: where, what, and a hash of what is before it, cache marks left out; behind a summary of the API's, from that on.
fn prefixes(request: &Request) -> Vec<((usize, usize), String, u64)> {
    let mut head = DefaultHasher::new();
    for field in ["system", "tools"] {
        plain(request.field(field).unwrap_or("null")).hash(&mut head);
    }
    let mut prefix = head.clone();
    let mut all = Vec::new();
    for (i, entry) in request.messages().iter().enumerate() {
        let Entry::Message(message) = entry else { continue };
        for (j, block) in message.blocks().iter().enumerate() {
            let json = plain(message.block_json(block));
            if block.kind == Kind::Compaction && !json.contains(r#""content":null"#) {
                prefix.clone_from(&head);
            }
            if block.kind == Kind::Thinking {
                all.push(((i, j), json.clone(), prefix.finish()));
            }
            let text = serde_json::from_str::<String>(&json)
                .map(|text| json!({"type": "text", "text": text}).to_string());
            (message.role(), text.unwrap_or(json)).hash(&mut prefix);
        }
    }
    all
}

/// JSON without cache marks.
pub(crate) fn plain(json: &str) -> String {
    fn bare(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(bare),
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(bare);
            }
            _ => {}
        }
    }
    let mut value = serde_json::from_str(json).unwrap();
    bare(&mut value);
    value.to_string()
}
