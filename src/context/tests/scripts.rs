//! Conversations of all kinds, and an API that answers by them: it signs thinking, and counts.

use proptest::prelude::*;
use proptest::strategy::Strategy;
use serde_json::{Value, json};

use super::super::*;
use super::judge::{Seal, judge};
use super::prose;

/// What happens next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// The user says something, in one message or two.
    Task { bytes: usize, parts: usize },
    /// The user brings a document, and the answer cites it.
    Document { bytes: usize },
    /// The assistant answers.
    Say { bytes: usize, thinks: bool },
    /// The assistant only thinks.
    Think,
    /// Calls, and their results in one message or several, with words of the user after them.
    Round { calls: usize, bytes: usize, thinks: bool, is_split: bool, says_more: bool, fails: bool },
    /// A search by the API, in one message or two.
    Search { is_paused: bool },
    /// Code of the API's that calls tools of the client's.
    Code { calls: usize, bytes: usize },
    /// The operator adds a tool.
    AddTool,
    /// The assistant looks at an image.
    Image,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Step::{AddTool, Code, Document, Image, Round, Say, Search, Task, Think};
    let bytes = || prop_oneof![4 => 1..400_usize, 1 => 400..6_000_usize];
    let step = prop_oneof![
        3 => (bytes(), 1..3_usize).prop_map(|(bytes, parts)| Task { bytes, parts }),
        1 => bytes().prop_map(|bytes| Document { bytes }),
        4 => (bytes(), any::<bool>()).prop_map(|(bytes, thinks)| Say { bytes, thinks }),
        1 => Just(Think),
        8 => (1..4_usize, bytes(), any::<[bool; 4]>()).prop_map(
            |(calls, bytes, [thinks, is_split, says_more, fails])| {
                Round { calls, bytes, thinks, is_split, says_more, fails }
            }
        ),
        1 => any::<bool>().prop_map(|is_paused| Search { is_paused }),
        1 => (1..3_usize, bytes()).prop_map(|(calls, bytes)| Code { calls, bytes }),
        1 => Just(AddTool),
        1 => Just(Image),
    ];
    prop::collection::vec(step, 1..40)
}

/// How the summariser and the host behave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub(super) reports: bool,
    /// Every n-th summary fails; 0: none.
    pub(super) fails: usize,
}

/// A conversation under way.
pub(super) struct Talk<'a> {
    pub(super) transcript: Transcript,
    policy: &'a Policy,
    host: Host,
    next: usize,
    documents: usize,
    summaries: usize,
    /// The last request, and its plan.
    pub(super) last: Option<(String, Plan)>,
}

impl<'a> Talk<'a> {
    pub(super) fn new(policy: &'a Policy, host: Host) -> Self {
        Self {
            transcript: Transcript::default(),
            policy,
            host,
            next: 0,
            documents: 0,
            summaries: 0,
            last: None,
        }
    }

    fn id(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}_{:03}", self.next)
    }

    fn push(&mut self, message: &Value) {
        self.transcript.push(Message::from_value(message).unwrap());
    }

    fn can_answer(&self) -> bool {
        self.transcript.messages().last().is_some_and(|message| message.role() != Role::Assistant)
    }

    /// Goes on by a step; `None`: what must stay does not fit.
    pub(super) fn step(&mut self, step: &Step) -> Option<()> {
        let text = |bytes: usize, next: usize| format!("{next} {}", prose(bytes));
        if !self.can_answer() || matches!(step, Step::Task { .. } | Step::Document { .. }) {
            let parts = if let Step::Task { parts, .. } = step { *parts } else { 1 };
            for _ in 0..parts {
                let bytes = if let Step::Task { bytes, .. } = step { *bytes } else { 20 };
                self.next += 1;
                self.push(&super::user(&text(bytes, self.next)));
            }
        }
        match *step {
            Step::Task { .. } => {}
            Step::Document { bytes } => {
                let title = self.id("doc");
                let source = json!({"type": "text", "media_type": "text/plain", "data": prose(bytes)});
                self.push(&json!({"role": "user", "content": [
                    {"type": "document", "title": title, "source": source, "citations": {"enabled": true}},
                    {"type": "text", "text": "What does it say?"}]}));
                self.documents = self
                    .asked()?
                    .iter()
                    .flat_map(|m| m["content"].as_array().into_iter().flatten())
                    .filter(|block| block["type"] == "document")
                    .count();
                let citation = json!({"type": "char_location", "cited_text": "x", "document_index": self.documents - 1,
                    "document_title": title, "start_char_index": 0, "end_char_index": 1});
                self.answer(
                    &[json!({"type": "text", "text": "It says x.", "citations": [citation]})],
                    false,
                )?;
            }
            Step::Say { bytes, thinks } => {
                self.next += 1;
                let text = text(bytes, self.next);
                self.answer(&[json!({"type": "text", "text": text})], thinks)?;
            }
            Step::Think => self.answer(&[], true)?,
            Step::Round { calls, bytes, thinks, is_split, says_more, fails } => {
                let ids: Vec<String> = (0..calls).map(|_| self.id("toolu")).collect();
                let blocks: Vec<Value> = ids
                    .iter()
                    .map(|id| json!({"type": "tool_use", "id": id, "name": "grep", "input": {"pattern": prose(30)}}))
                    .collect();
                self.answer(&blocks, thinks)?;
                self.results(&ids, bytes, is_split, says_more, fails);
            }
            Step::Search { is_paused } => {
                let id = self.id("srvtoolu");
                let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}});
                let found = json!([{"type": "web_search_result", "url": "https://example.org", "title": "x",
                    "encrypted_content": prose(100)}]);
                let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": found});
                let text = json!({"type": "text", "text": "Found."});
                if is_paused {
                    self.answer(&[call], true)?;
                    self.push(&json!({"role": "assistant", "content": [result, text]}));
                } else {
                    self.answer(&[call, result, text], true)?;
                }
            }
            Step::Code { calls, bytes } => {
                let code = self.id("srvtoolu");
                let caller = json!({"type": "code_execution_20260120", "tool_id": code});
                let mut blocks = vec![
                    json!({"type": "server_tool_use", "id": code, "name": "code_execution", "input": {"code": "x()"}}),
                ];
                for _ in 0..calls {
                    let id = self.id("toolu");
                    blocks.push(
                        json!({"type": "tool_use", "id": id, "name": "grep", "input": {}, "caller": caller}),
                    );
                    self.push_answer(&blocks, false)?;
                    self.results(&[id], bytes, false, false, false);
                    blocks.clear();
                }
                let result = json!({"type": "code_execution_tool_result", "tool_use_id": code, "content": {"stdout": "x"}});
                self.push(
                    &json!({"role": "assistant", "content": [result, {"type": "text", "text": "Done."}]}),
                );
            }
            Step::AddTool => {
                let name = self.id("tool");
                self.push(&json!({"role": "system", "content": [{"type": "tool_addition", "name": name}]}));
            }
            Step::Image => {
                let id = self.id("toolu");
                self.answer(
                    &[json!({"type": "tool_use", "id": id, "name": "screenshot", "input": {}})],
                    true,
                )?;
                let source =
                    json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo".repeat(20)});
                self.push(&json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                    "content": [{"type": "text", "text": "shot"}, {"type": "image", "source": source}]}]}));
            }
        }
        Some(())
    }

    fn results(&mut self, ids: &[String], bytes: usize, is_split: bool, says_more: bool, fails: bool) {
        let result = |id: &String| {
            let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": prose(bytes)});
            if fails {
                result["is_error"] = json!(true);
            }
            result
        };
        let mut results: Vec<Value> = ids.iter().map(result).collect();
        if is_split {
            let first = results.remove(0);
            self.push(&json!({"role": "user", "content": [first]}));
        }
        if says_more {
            results.push(json!({"type": "text", "text": "Go on."}));
        }
        if !results.is_empty() {
            self.push(&json!({"role": "user", "content": results}));
        }
    }

    fn answer(&mut self, blocks: &[Value], thinks: bool) -> Option<()> {
        self.push_answer(blocks, thinks)
    }

    /// Asks, judges what is asked, and answers with these blocks.
    fn push_answer(&mut self, blocks: &[Value], thinks: bool) -> Option<()> {
        let asked = self.asked()?;
        let mut seal = Seal::of(&asked);
        let mut content = Vec::new();
        if thinks {
            self.next += 1;
            let thinking = format!("{} {}", self.next, prose(60));
            content.push(json!({"type": "thinking", "thinking": thinking, "signature": seal.signature()}));
            seal.add("assistant", &content[0]);
        }
        content.extend(blocks.iter().cloned());
        self.push(&json!({"role": "assistant", "content": content}));
        if self.host.reports {
            let (request, plan) = self.last.as_ref().unwrap();
            let tokens = u64::try_from(request.len() / 4 + 300).unwrap();
            let output = u64::try_from(Value::from(content).to_string().len() / 4).unwrap();
            let usage = Usage { input: tokens, output, edits: plan.edits.len(), ..Usage::default() };
            self.transcript.note(Note::Usage(usage));
        }
        Some(())
    }

    /// The messages of the request that is made now, judged.
    pub(super) fn asked(&mut self) -> Option<Vec<Value>> {
        let mut plan = plan(&self.transcript, self.policy).ok()?;
        while let Some(wanted) = plan.wanted {
            let messages: Vec<Value> = serde_json::from_str(&wanted.messages).unwrap();
            judge(&messages, false).unwrap();
            self.summaries += 1;
            let fails = self.host.fails != 0 && self.summaries.is_multiple_of(self.host.fails);
            self.transcript.note(if fails {
                Note::SummaryFailed { why: "overloaded".into() }
            } else {
                wanted.answered("The user wants something.")
            });
            plan = super::super::plan(&self.transcript, self.policy).ok()?;
            assert!(self.summaries < 200, "a summary leads to no end of summaries");
        }
        let request = render(&self.transcript, &plan);
        let messages: Vec<Value> = serde_json::from_str(&request).unwrap();
        let is_bound = self.policy.profile.binding != Binding::Ignore && !plan.needs.drops_blocks;
        if let Err(wrong) = judge(&messages, is_bound) {
            panic!("{wrong}\n{request}\n{plan:#?}");
        }
        if let Some((last, before)) = &self.last
            && before.edits == plan.edits
        {
            assert!(
                request.starts_with(&last[..last.len() - 1]),
                "the prefix changed without an edit\n{last}\n{request}"
            );
        }
        self.last = Some((request, plan));
        Some(messages)
    }
}
