//! From what the script says to the message that is answered.

use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::cache::Usage;
use super::prompt::{Prompt, link, tokens_of_text};
use super::script::Line;
use super::seal::Signer;

/// What is said, complete: as the API would say it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) content: Vec<Value>,
    pub(super) stop_reason: String,
    pub(super) stop_sequence: Option<String>,
    pub(super) tokens: u64,
}

impl Said {
    /// Completes a line: what the request does not ask for is left out, what is too long is cut, calls get ids, and what the
    /// model thinks is signed.
    pub(super) fn of(line: Line, ask: &Ask, prompt: &Prompt, signer: &mut Signer, number: u64) -> Self {
        let mut said =
            Self { content: Vec::new(), stop_reason: String::new(), stop_sequence: None, tokens: 0 };
        let mut cut = None;
        for mut block in line.content {
            let kind = block["type"].as_str().unwrap_or_default().to_owned();
            if matches!(kind.as_str(), "thinking" | "redacted_thinking") && !ask.thinks {
                continue;
            }
            if matches!(kind.as_str(), "tool_use" | "server_tool_use" | "mcp_tool_use") {
                let prefix = if kind == "tool_use" { "toolu" } else { "srvtoolu" };
                let id = format!("{prefix}_{number:016}{:08}", said.content.len());
                let fields = block.as_object_mut();
                fields.map(|fields| fields.entry("id").or_insert_with(|| json!(id)));
                let input = block.get("input").is_none();
                if input {
                    block["input"] = json!({});
                }
            }
            cut = said.cut(&mut block, ask);
            said.content.push(block);
            if cut.is_some() {
                break;
            }
        }
        said.sign(ask, prompt, signer);
        said.tokens = line.output_tokens.unwrap_or(said.tokens).max(1);
        said.stop_reason = cut.or(line.stop_reason).unwrap_or_else(|| said.usual_end().to_owned());
        said
    }

    /// Ends a text at a stop sequence, or where the tokens end; says why, when it did.
    fn cut(&mut self, block: &mut Value, ask: &Ask) -> Option<String> {
        let mut why = None;
        if block["type"] == "text" {
            let text = block["text"].as_str().unwrap_or_default();
            let stops = ask.stop_sequences.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop)));
            if let Some((at, stop)) = stops.min_by_key(|(at, _)| *at) {
                self.stop_sequence = Some(stop.clone());
                why = Some("stop_sequence".to_owned());
                block["text"] = json!(text[..at]);
            }
        }
        let left = ask.max_tokens.saturating_sub(self.tokens);
        let tokens = tokens_of_text(&said_in(block));
        self.tokens += tokens.min(left);
        if tokens <= left {
            return why;
        }
        self.stop_sequence = None;
        for field in ["text", "thinking"] {
            if let Some(text) = block[field].as_str() {
                block[field] = json!(beginning(text, left));
            }
        }
        Some("max_tokens".to_owned())
    }

    fn sign(&mut self, ask: &Ask, prompt: &Prompt, signer: &mut Signer) {
        let mut chain = prompt.chain();
        for block in &mut self.content {
            match block["type"].as_str() {
                Some("compaction") if !block["content"].is_null() => {
                    chain = prompt.head();
                    signer.sign(block, &chain, &ask.model);
                }
                Some("thinking" | "redacted_thinking") => signer.sign(block, &chain, &ask.model),
                _ => {}
            }
            chain = link(&chain, "assistant", block);
        }
    }

    /// Why it ends, when nobody says why.
    fn usual_end(&self) -> &'static str {
        let is = |kind: &str| self.content.last().is_some_and(|block| block["type"] == kind);
        match () {
            () if self.content.iter().any(|block| block["type"] == "tool_use") => "tool_use",
            () if is("compaction") => "compaction",
            () if is("server_tool_use") => "pause_turn",
            () => "end_turn",
        }
    }

    /// The message.
    pub(super) fn message(self, ask: &Ask, id: &str, usage: Usage, more: Map<String, Value>) -> Value {
        let mut usage = usage.json();
        usage["output_tokens"] = json!(self.tokens);
        let mut message = json!({
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": ask.model,
            "content": self.content,
            "stop_reason": self.stop_reason,
            "stop_sequence": self.stop_sequence,
            "usage": usage,
        });
        for (name, value) in more {
            message[name] = value;
        }
        message
    }
}

/// What takes tokens of a block that is said.
fn said_in(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("thinking") => block["thinking"].as_str().unwrap_or_default().to_owned(),
        _ => block.to_string(),
    }
}

/// As much of a text as has so many tokens at most.
fn beginning(text: &str, tokens: u64) -> &str {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let kept = ends.partition_point(|end| tokens_of_text(&text[..*end]) <= tokens);
    &text[..kept.checked_sub(1).map_or(0, |last| ends[last])]
}
