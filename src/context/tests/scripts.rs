//! Conversations under way, with an API that answers: what is asked of it is judged, and it signs thinking and counts.

use proptest::prelude::*;
use proptest::strategy::Strategy;
use serde_json::{Value, json};

use super::super::rules::Fault;
use super::super::*;
use super::grammar::Signed;
use super::prose;

/// What happens next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The user says something, in one message or two.
    Task { bytes: usize, parts: usize },
    /// The user brings a document, and the answer cites it.
    Document { bytes: usize },
    /// The assistant answers.
    Say { bytes: usize, thinks: bool },
    /// Calls, and their results in one message or several, with words of the user after them.
    Round { calls: usize, bytes: usize, thinks: bool, is_split: bool, says_more: bool, fails: bool },
    /// A search by the API, in one message or two.
    Search { is_paused: bool },
    /// Code of the API's that calls tools of the client's.
    Code { calls: usize, bytes: usize },
    /// The operator adds a tool before the assistant answers.
    AddTool,
    /// The assistant looks at an image.
    Image,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Step::{AddTool, Code, Document, Image, Round, Say, Search, Task};
    let bytes = || prop_oneof![4 => 1..400_usize, 1 => 400..6_000_usize];
    let step = prop_oneof![
        3 => (bytes(), 1..3_usize).prop_map(|(bytes, parts)| Task { bytes, parts }),
        1 => bytes().prop_map(|bytes| Document { bytes }),
        4 => (bytes(), any::<bool>()).prop_map(|(bytes, thinks)| Say { bytes, thinks }),
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
pub(crate) struct Host {
    pub(crate) reports: bool,
    /// Every n-th summary fails; 0: none.
    pub(crate) fails: usize,
    /// Results that are too large for the window are cut before they are pushed.
    pub(crate) guards: bool,
}

/// A conversation under way.
pub(crate) struct Talk<'a> {
    pub(crate) transcript: Transcript,
    policy: &'a Policy,
    host: Host,
    next: usize,
    summaries: usize,
    /// The request without its messages.
    head: String,
    signed: Signed,
    /// The last request, and its plan.
    pub(crate) last: Option<(String, Plan)>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(head: &Value, policy: &'a Policy, host: Host) -> Self {
        Self {
            transcript: Transcript::default(),
            policy,
            host,
            next: 0,
            summaries: 0,
            head: head.to_string(),
            signed: Signed::default(),
            last: None,
        }
    }

    fn id(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}_{:03}", self.next)
    }

    fn push(&mut self, message: &Value) {
        let message = Message::from_value(message).unwrap();
        if !self.host.guards {
            return self.transcript.push(message);
        }
        let number = self.transcript.len();
        let guarded = Oversize::default().guard(message.clone(), number, &self.policy.profile);
        assert_eq!(guarded.spills.is_empty(), guarded.message == message);
        for (path, text) in &guarded.spills {
            assert!(message.json().contains(&Value::from(&**text).to_string()) && text.len() > 100);
            assert!(
                guarded.message.json().contains(path) && guarded.message.json().len() < message.json().len()
            );
        }
        self.transcript.push(guarded.message);
    }

    fn can_answer(&self) -> bool {
        self.transcript.messages().last().is_some_and(|message| message.role() != Role::Assistant)
    }

    /// Goes on by a step; `None`: what must stay does not fit.
    pub(crate) fn step(&mut self, step: &Step) -> Option<()> {
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
                let documents = self.asked()?.json().matches(r#"{"type":"document""#).count();
                let citation = json!({"type": "char_location", "cited_text": "x", "document_index": documents - 1,
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
                    self.answer(&blocks, false)?;
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
                self.answer(&[json!({"type": "text", "text": "I see."})], false)?;
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

    /// Answers with these blocks.
    fn answer(&mut self, blocks: &[Value], thinks: bool) -> Option<()> {
        let mut content = blocks.to_vec();
        if thinks {
            self.next += 1;
            let (thinking, signature) = (format!("{} {}", self.next, prose(60)), self.next.to_string());
            content.insert(0, json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
        self.hear(&json!({"role": "assistant", "content": content}))
    }

    /// Takes in the next message; before one of the assistant's, it is asked for.
    pub(crate) fn hear(&mut self, message: &Value) -> Option<()> {
        if message["role"] == "assistant" && !self.transcript.is_empty() {
            let asked = self.asked()?;
            let before = asked.messages().len();
            let messages = asked.messages().iter().map(|entry| match entry {
                Entry::Message(message) => message.clone(),
                Entry::Broken { .. } => unreachable!("it was judged"),
            });
            let answer = Message::from_value(message).unwrap();
            self.signed.sign(&asked.with_messages(messages.chain([answer])), before);
        }
        self.push(message);
        if let Some((request, plan)) = self.last.as_ref().filter(|_| self.host.reports && !self.can_answer())
        {
            let tokens = u64::try_from(request.len() / 4 + 300).unwrap();
            let output = u64::try_from(message.to_string().len() / 4).unwrap();
            let usage = Usage { input: tokens, output, edits: plan.edits.len(), ..Usage::default() };
            self.transcript.note(Note::Usage(usage));
        }
        Some(())
    }

    /// The request that is made now, judged; `None`: what must stay does not fit.
    pub(crate) fn asked(&mut self) -> Option<Request> {
        let mut plan = plan(&self.transcript, self.policy).ok()?;
        while let Some(wanted) = plan.wanted {
            let messages: Value = serde_json::from_str(&wanted.messages).unwrap();
            assert_eq!(validate(&messages), []);
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
        if let Some(notice) = plan.flush {
            self.push(&super::user(&notice));
            self.transcript.note(Note::Flushed);
            plan = super::super::plan(&self.transcript, self.policy).ok()?;
            assert_eq!(plan.flush, None, "it is told once");
            // The notice itself may have reached a mark.
            if plan.wanted.is_some() {
                return self.asked();
            }
        }
        let messages = render(&self.transcript, &plan);
        if let Some((last, before)) = &self.last
            && before.edits == plan.edits
        {
            assert!(
                messages.starts_with(&last[..last.len() - 1]),
                "the prefix changed without an edit\n{last}\n{messages}"
            );
        }
        let spliced = |needs| Request::from_json(&splice(&self.head, &messages, needs).unwrap()).unwrap();
        let request = spliced(&plan.needs);
        // Thinking with a budget is turned off where it would be refused, and nowhere else.
        let needs = Needs { lacks_thinking: false, ..plan.needs.clone() };
        let found = violations(&spliced(&needs), &self.policy.profile, &());
        let is_refused = found.iter().any(|it| it.fault == Fault::NoThinkingFirst);
        assert_eq!(request.json() != spliced(&needs).json(), is_refused, "{}\n{messages}", self.head);
        let wrong = self.wrong(&request);
        assert!(wrong.is_empty(), "{wrong:#?}\n{messages}\n{plan:#?}");
        self.last = Some((messages, plan));
        Some(request)
    }

    /// What is wrong with a request that is made now, as such and as an edit of the log.
    fn wrong(&self, request: &Request) -> Vec<Violation> {
        let mut wrong = violations(request, &self.policy.profile, &self.signed.seals(request));
        let whole =
            Request::from_json(&self.head).unwrap().with_messages(self.transcript.messages().cloned());
        // What came after an edit is bound to what was sent, and cites that: signatures and titles tell.
        let edits = compare(&whole, request, &self.pins());
        wrong.extend(
            edits.into_iter().filter(|it| !matches!(it.fault, Fault::ChangedPrefix | Fault::LostDocument)),
        );
        assert!(cites_what_is_there(&request.to_value()), "{}", request.json());
        wrong
    }

    /// The messages that the policy pins.
    fn pins(&self) -> Vec<usize> {
        let (mut tasks, mut has_results) = (Vec::new(), false);
        for (number, message) in self.transcript.messages().enumerate() {
            let blocks = message.blocks();
            match message.role() {
                Role::Assistant => has_results = false,
                Role::User if blocks.iter().any(|block| block.kind == Kind::ToolResult) => has_results = true,
                // Words behind results belong to the task before them, and notices are no task.
                Role::User if !has_results && !message.json().contains("[CONTEXT NOTICE]") => {
                    tasks.push(number);
                }
                _ => {}
            }
        }
        let pinned = |pin: &Pin| match pin {
            Pin::Message(number) => Some(*number),
            Pin::FirstTask => tasks.first().copied(),
            Pin::LatestTask => tasks.last().copied(),
        };
        self.policy.pins.iter().filter_map(pinned).collect()
    }
}

/// Whether each citation finds its document by number.
fn cites_what_is_there(request: &Value) -> bool {
    let messages = request["messages"].as_array().into_iter().flatten();
    let mut titles = Vec::new();
    messages.flat_map(|message| message["content"].as_array().into_iter().flatten()).all(|block| {
        if block["type"] == "document" {
            titles.push(&block["title"]);
        }
        let mut citations = block["citations"].as_array().into_iter().flatten();
        citations.all(|citation| {
            let index = citation["document_index"].as_u64().and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| titles.get(index)) == Some(&&citation["document_title"])
        })
    })
}
