//! What the model would read of a request, part by part: tools, then `system`, then the blocks of the messages.
//!
//! Two parts are the same when they say the same: cache marks, fields that are null, the order of fields and how text is
//! written in JSON do not count. Where one message of a role ends and the next begins does not either. Behind a compaction,
//! what was before it is not read; nor is thinking that the model may not read. Thinking is bound to all that was before it
//! when it was thought: behind a summary on demand, either to that, or to what the summary stands for.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::seal::{Signer, Standing};
use crate::context::{Block, ByClass, Entry, Kind, Message, Mix, Request, Seal, Seals, TokenCounter as _};
use crate::hash::Hash;

/// Tokens that frame a message or a tool.
pub(super) const FRAME: u64 = 3;
/// Tokens that a request with tools has beside them.
const TOOLS: u64 = 300;

/// What is read of a request.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    /// In their order.
    pub(super) parts: Vec<Part>,
    /// Thinking that is not read, and why.
    pub(super) dropped: Vec<Dropped>,
    /// The chain of tools and `system`.
    head: Hash,
    /// How the signatures of thinking stand.
    standings: HashMap<(usize, usize), Standing>,
    /// What the chain would be if what a summary on demand stands for were still there.
    others: Vec<Hash>,
}

/// A part that is read.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) at: At,
    /// `None`: it is no block of a message.
    pub(super) kind: Option<Kind>,
    /// Of this part and all before it.
    pub(super) chain: Hash,
    pub(super) tokens: u64,
    pub(super) mark: Option<Mark>,
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Tool,
    System,
    /// The number of the message, and of the block in it.
    Block(usize, usize),
}

/// A mark of the prompt cache, by how long what is before it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    FiveMinutes,
    OneHour,
}

/// Thinking that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) message: usize,
    pub(super) block: usize,
    /// As `input_transformations` has it.
    pub(super) reason: &'static str,
}

impl Prompt {
    /// What a model reads of a request. `drops`: thinking whose prefix has changed is dropped.
    pub(super) fn of(request: &Request, model: &str, signer: &Signer, drops: bool) -> Self {
        let mut chain = Hash([0; 32]);
        let mut prompt = Self {
            parts: Vec::new(),
            dropped: Vec::new(),
            head: chain,
            standings: HashMap::new(),
            others: Vec::new(),
        };
        for (field, at) in [("tools", At::Tool), ("system", At::System)] {
            for part in parts_of(request, field) {
                chain = link(&chain, field, &part);
                let frame = if prompt.parts.is_empty() && at == At::Tool { TOOLS } else { FRAME };
                let tokens = frame + count(&Mix::of_text(&plain(&part)));
                prompt.parts.push(Part { at, kind: None, chain, tokens, mark: Mark::of(&part) });
            }
        }
        let head = prompt.parts.len();
        prompt.head = chain;
        for (i, entry) in request.messages().iter().enumerate() {
            let Entry::Message(message) = entry else { continue };
            for (j, block) in message.blocks().iter().enumerate() {
                let value = value_of(message, block);
                if block.kind == Kind::Thinking {
                    let judge = |chain: &Hash| signer.judge(&value, chain, model);
                    let is_kept = || prompt.others.iter().any(|chain| judge(chain) == Standing::Fits);
                    let standing = match judge(&chain) {
                        Standing::Unbound if is_kept() => Standing::Fits,
                        standing => standing,
                    };
                    let reason = match standing {
                        Standing::OtherModel => Some("model_binding_mismatch"),
                        Standing::Unbound if drops => Some("prefix_binding_mismatch"),
                        _ => None,
                    };
                    prompt.standings.insert((i, j), standing);
                    if let Some(reason) = reason {
                        prompt.dropped.push(Dropped { message: i, block: j, reason });
                        continue;
                    }
                }
                if block.kind == Kind::Compaction && !value["content"].is_null() {
                    prompt.parts.truncate(head);
                    chain = prompt.head;
                    prompt.others = Signer::ends(&value);
                } else {
                    let role = message.role().as_str();
                    prompt.others.iter_mut().for_each(|chain| *chain = link(chain, role, &value));
                }
                chain = link(&chain, message.role().as_str(), &value);
                let tokens = if j == 0 { FRAME } else { 0 } + tokens_of(message, block);
                let (at, kind) = (At::Block(i, j), Some(block.kind));
                prompt.parts.push(Part { at, kind, chain, tokens, mark: Mark::of(&value) });
            }
        }
        let control =
            request.field("cache_control").and_then(|json| serde_json::from_str::<Value>(json).ok());
        let takes_mark = |part: &&mut Part| !matches!(part.kind, Some(Kind::Thinking | Kind::Fallback));
        let last = prompt.parts.iter_mut().rev().find(takes_mark);
        if let (Some(mark), Some(last)) = (control.and_then(|it| Mark::of_control(&it)), last) {
            last.mark.get_or_insert(mark);
        }
        prompt
    }

    /// The tokens of all of it.
    pub(super) fn tokens(&self) -> u64 {
        self.parts.iter().map(|part| part.tokens).sum()
    }

    /// The tokens of tools and `system`.
    pub(super) fn head_tokens(&self) -> u64 {
        let head = self.parts.iter().take_while(|part| matches!(part.at, At::Tool | At::System));
        head.map(|part| part.tokens).sum()
    }

    /// The chain of all of it.
    pub(super) fn chain(&self) -> Hash {
        self.parts.last().map_or(self.head, |last| last.chain)
    }

    /// The chains that end in all of it: what was thought before a summary on demand was made goes by another one.
    pub(super) fn ends(&self) -> Vec<Hash> {
        std::iter::once(self.chain()).chain(self.others.iter().copied()).collect()
    }

    /// The chain of tools and `system`, which is all that is before a summary of the whole.
    pub(super) fn head(&self) -> Hash {
        self.head
    }

    /// How the signature of a block of a message stands.
    pub(super) fn standing(&self, place: (usize, usize)) -> Option<Standing> {
        self.standings.get(&place).copied()
    }

    /// What was dropped, as `input_transformations` of a response.
    pub(super) fn transformations(&self) -> Value {
        let each = self.dropped.iter().map(|one| {
            let path = format!("messages.{}.content.{}", one.message, one.block);
            json!({"type": "thinking_dropped", "path": path, "reason": one.reason})
        });
        each.collect()
    }
}

impl Seals for Prompt {
    fn seal(&self, _: &Request, message: usize, block: usize) -> Seal {
        self.standing((message, block)).map_or(Seal::Fits, Standing::seal)
    }
}

impl Mark {
    /// The mark of a part, or of the last block with one in the result of a tool.
    fn of(part: &Value) -> Option<Self> {
        let own = part.get("cache_control").and_then(Self::of_control);
        own.or_else(|| part.get("content")?.as_array()?.iter().rev().find_map(Self::of))
    }

    fn of_control(control: &Value) -> Option<Self> {
        let is_long = control.as_object()?.get("ttl").is_some_and(|ttl| ttl == "1h");
        Some(if is_long { Self::OneHour } else { Self::FiveMinutes })
    }
}

/// A request without what is dropped of it; a message of nothing else goes with it.
pub(super) fn without(request: &Request, dropped: &[Dropped]) -> Request {
    let is_dropped = |i: usize, j: usize| dropped.iter().any(|one| (one.message, one.block) == (i, j));
    let kept = request.messages().iter().enumerate().filter_map(|(i, entry)| {
        let Entry::Message(message) = entry else { return None };
        let blocks = message.blocks().iter().enumerate();
        let blocks: Vec<&str> =
            blocks.filter(|(j, _)| !is_dropped(i, *j)).map(|(_, block)| message.block_json(block)).collect();
        match blocks.len() {
            0 if !message.blocks().is_empty() => None,
            n if n == message.blocks().len() => Some(message.clone()),
            _ => Some(message.with_blocks(message.role(), blocks.into_iter())),
        }
    });
    request.with_messages(kept)
}

/// A request whose signed thinking and summaries are signed anew, each after what is before it.
pub(super) fn signed(request: &Request, model: &str, signer: &mut Signer) -> Request {
    let mut chain = Hash([0; 32]);
    for field in ["tools", "system"] {
        chain = parts_of(request, field).iter().fold(chain, |chain, part| link(&chain, field, part));
    }
    let head = chain;
    let messages = request.messages().iter().map(|entry| {
        let Entry::Message(message) = entry else { return None };
        let blocks: Vec<String> = message
            .blocks()
            .iter()
            .map(|block| {
                let mut value = value_of(message, block);
                let is_summary = block.kind == Kind::Compaction && !value["content"].is_null();
                if is_summary {
                    chain = head;
                }
                let is_signed = Signer::is_signed(&value) && (block.kind == Kind::Thinking || is_summary);
                if is_signed {
                    signer.sign_anew(&mut value, &chain, model);
                }
                chain = link(&chain, message.role().as_str(), &value);
                if is_signed { value.to_string() } else { message.block_json(block).to_owned() }
            })
            .collect();
        Some(if message.is_string() {
            message.clone()
        } else {
            message.with_blocks(message.role(), blocks.iter())
        })
    });
    let messages: Option<Vec<Message>> = messages.collect();
    messages.map_or_else(|| request.clone(), |messages| request.with_messages(messages))
}

/// The parts of `tools` or `system`.
fn parts_of(request: &Request, field: &str) -> Vec<Value> {
    match request.field(field).and_then(|json| serde_json::from_str(json).ok()) {
        Some(Value::Array(parts)) => parts,
        Some(Value::String(text)) => vec![text_block(&text)],
        _ => Vec::new(),
    }
}

/// The tokens of a block of a message.
pub(super) fn tokens_of(message: &Message, block: &Block) -> u64 {
    count(&Mix::of_block(message, block))
}

/// The tokens of a text, or of JSON.
pub(super) fn tokens_of_text(text: &str) -> u64 {
    count(&Mix::of_text(text))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count, and not negative")]
fn count(mix: &Mix) -> u64 {
    ByClass::default().tokens(mix).max(0.0).ceil() as u64
}

/// A block as a value; a plain string is a block of text.
pub(super) fn value_of(message: &Message, block: &Block) -> Value {
    match serde_json::from_str(message.block_json(block)) {
        Ok(Value::String(text)) => text_block(&text),
        Ok(value) => value,
        Err(_) => Value::Null,
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A chain with a part more; `whose`: `tools`, `system`, or the role of its message.
pub(super) fn link(chain: &Hash, whose: &str, part: &Value) -> Hash {
    Hash::of_parts(&[&chain.0, whose.as_bytes(), b"\0", plain(part).as_bytes()])
}

/// What a part says, written in one way.
pub(super) fn plain(part: &Value) -> String {
    fn bare(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(bare),
            Value::Object(fields) => {
                fields.retain(|name, value| name != "cache_control" && !value.is_null());
                fields.sort_keys();
                fields.values_mut().for_each(bare);
            }
            _ => {}
        }
    }
    let mut value = part.clone();
    bare(&mut value);
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(request: &Value) -> Prompt {
        Prompt::of(&Request::from_value(request).unwrap(), "claude-opus-5-5", &Signer::default(), false)
    }

    #[test]
    fn what_says_the_same_is_the_same() {
        let one = prompt(&json!({"system": "Be short.", "messages": [
            {"role": "user", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "b", "citations": null}]}]}));
        let other = prompt(&json!({
            "system": [{"text": "Be short.", "type": "text", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}));
        assert_eq!(one.chain(), other.chain());
        assert_eq!(other.parts[0].mark, Some(Mark::FiveMinutes));
        let third = prompt(&json!({"system": "Be short!", "messages": [{"role": "user", "content": "a"}]}));
        assert_ne!(one.parts[1].chain, third.parts[1].chain);
    }

    #[test]
    fn a_cache_mark_has_no_tokens() {
        let request = |marks: bool| {
            let mut request = json!({
                "tools": [{"name": "tea", "input_schema": {"type": "object"}}],
                "system": [{"type": "text", "text": "Be short."}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Tea?"}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "tea", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "Green."}]}]}]});
            let places =
                ["/tools/0", "/system/0", "/messages/0/content/0", "/messages/2/content/0/content/0"];
            for place in places.iter().filter(|_| marks) {
                request.pointer_mut(place).unwrap()["cache_control"] =
                    json!({"type": "ephemeral", "ttl": "1h"});
            }
            prompt(&request).parts.iter().map(|part| part.tokens).collect::<Vec<_>>()
        };
        assert_eq!(request(true), request(false));
    }

    #[test]
    fn what_was_before_a_compaction_is_not_read() {
        let after = [
            json!({"role": "assistant", "content": [{"type": "compaction", "content": "It was tea."}]}),
            json!({"role": "user", "content": "And now?"}),
        ];
        let before = json!({"role": "user", "content": "tea ".repeat(1_000)});
        let whole: Vec<Value> = [before].into_iter().chain(after.clone()).collect();
        let (whole, bare) = (prompt(&json!({"messages": whole})), prompt(&json!({"messages": after})));
        assert_eq!((whole.tokens(), whole.chain()), (bare.tokens(), bare.chain()));
    }
}
