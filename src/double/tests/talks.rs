//! Conversations of all kinds of blocks, edited by all kinds of policies, with the stand-in in the place of the API: no
//! request that is planned is ever refused. A million of them, in about ten minutes:
//! `PROPTEST_CASES=1000000 cargo test --release --lib no_request_of_a_conversation_is_refused`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use crate::context::tests::grammar::history;
use crate::context::tests::properties::{hosts, policies};
use crate::context::tests::scripts::{Host, Talk, steps};
use crate::context::{
    Binding, Budget, Message, Needs, Note, Policy, Profile, Role, Strategy as Way, Summariser, Transcript,
    Usage, Wanted, plan, render, splice,
};

/// A model whose thinking has a budget.
const BUDGETED: &str = "claude-opus-4-5";

/// An agent that sends what is planned, and logs what comes back.
struct Agent<'a> {
    api: Double,
    log: Transcript,
    policy: &'a Policy,
    host: Host,
    /// The request without its messages.
    head: Value,
    summaries: usize,
}

/// How a conversation ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// All was said.
    Said,
    /// What must stay does not fit.
    CannotFit,
}

impl<'a> Agent<'a> {
    /// One that will be told what the messages of the assistant in a conversation say.
    fn new(whole: &Value, policy: &'a Policy, host: Host) -> Self {
        // A first message of the assistant's, with a summary, was said before.
        let replies = whole["messages"].as_array().unwrap().iter().skip(1);
        let replies = replies.filter(|it| it["role"] == "assistant");
        let script: String = replies
            .map(|it| {
                let mut blocks = match &it["content"] {
                    Value::String(text) => json!([{"type": "text", "text": text}]),
                    blocks => blocks.clone(),
                };
                for block in blocks.as_array_mut().unwrap() {
                    let fields = block.as_object_mut().unwrap();
                    for name in ["signature", "cache_control"] {
                        fields.shift_remove(name);
                    }
                    if fields["type"] == "redacted_thinking" {
                        fields.shift_remove("data");
                    }
                }
                json!({"reply": {"content": blocks}}).to_string() + "\n"
            })
            .chain([r#"{"when":{"compaction":true},"reply":{"text":"The user wanted something."}}
                   {"when":{},"reply":{"text":"That is all."}}"#
                .to_owned()])
            .collect();
        let settings = Settings { window: Some(policy.profile.window), ..Settings::default() };
        let mut head = whole.clone();
        head["max_tokens"] = json!(policy.output);
        head["thinking"] = if whole["model"] == BUDGETED {
            json!({"type": "enabled", "budget_tokens": 1_024})
        } else {
            json!({"type": "adaptive"})
        };
        head["messages"] = json!([]);
        let api = Double::with(Script::from_lines(&script).unwrap(), settings);
        Self { api, log: Transcript::default(), policy, host, head, summaries: 0 }
    }

    /// The whole conversation, message by message.
    fn talk(&mut self, messages: &[Value]) -> End {
        let first = self.first(messages);
        self.log.push(Message::from_value(&first).unwrap());
        for message in &messages[1..] {
            if message["role"] == "assistant" {
                if self.ask() == End::CannotFit {
                    return End::CannotFit;
                }
            } else {
                self.log.push(Message::from_value(message).unwrap());
            }
        }
        match self.log.messages().last().map(Message::role) {
            Some(Role::Assistant) | None => End::Said,
            _ => self.ask(),
        }
    }

    /// The first message. A summary in it is signed; one that is followed by others is not.
    fn first(&mut self, messages: &[Value]) -> Value {
        let is_alone = !json!(messages[1..]).to_string().contains(r#""type":"compaction""#);
        self.head["messages"] = json!(messages[..1]);
        if is_alone {
            return self.api.signed(&self.head).unwrap()["messages"][0].take();
        }
        let mut first = messages[0].clone();
        if let Some(block) = first["content"].get_mut(0).and_then(Value::as_object_mut) {
            block.shift_remove("signature");
        }
        first
    }

    /// Sends what is planned now, and logs the answer.
    fn ask(&mut self) -> End {
        let Ok(mut planned) = plan(&self.log, self.policy) else { return End::CannotFit };
        while let Some(wanted) = planned.wanted {
            self.summaries += 1;
            assert!(self.summaries < 200, "a summary leads to no end of summaries");
            let fails = self.host.fails != 0 && self.summaries.is_multiple_of(self.host.fails);
            let note = match &wanted.needs {
                _ if fails => Note::SummaryFailed { why: "overloaded".to_owned() },
                None => wanted.answered(&summarised(&wanted.messages)),
                Some(needs) => self.compacted(&wanted, needs),
            };
            self.log.note(note);
            let Ok(again) = plan(&self.log, self.policy) else { return End::CannotFit };
            planned = again;
        }
        let request = splice(&self.head.to_string(), &render(&self.log, &planned), &planned.needs).unwrap();
        let request: Value = serde_json::from_str(&request).unwrap();
        let betas: Vec<&str> = planned.needs.betas.iter().map(String::as_str).collect();
        let answer = match self.api.create(&request, &betas) {
            Ok(answer) => answer,
            // Tokens are estimated here, counted there.
            Err(error) if does_not_fit(&error) => return End::CannotFit,
            Err(error) => panic!("{error}\n{request}\n{planned:#?}"),
        };
        if answer["content"] == json!([]) {
            return End::Said;
        }
        self.log
            .push(Message::from_value(&json!({"role": "assistant", "content": answer["content"]})).unwrap());
        if self.host.reports {
            self.log.note(Note::Usage(Usage::of(&answer["usage"], planned.edits.len())));
        }
        End::Said
    }

    /// What the API itself makes of the older part.
    fn compacted(&mut self, wanted: &Wanted, needs: &Needs) -> Note {
        let request = splice(&self.head.to_string(), &wanted.messages, needs).unwrap();
        let request: Value = serde_json::from_str(&request).unwrap();
        let betas: Vec<&str> = needs.betas.iter().map(String::as_str).collect();
        match self.api.create(&request, &betas) {
            Ok(answer) => {
                assert_eq!(answer["stop_reason"], "compaction");
                wanted.compacted(&answer)
            }
            Err(error) if does_not_fit(&error) => Note::SummaryFailed { why: error.message },
            Err(error) => panic!("{error}\n{request}\n{wanted:#?}"),
        }
    }
}

/// What another model makes of the older part.
fn summarised(messages: &str) -> String {
    let messages: Value = serde_json::from_str(messages).unwrap();
    let request = json!({"model": "claude-haiku-4-5", "max_tokens": 2_000, "messages": messages});
    let script = Script::from_lines(r#"{"reply":{"text":"The user wants something."}}"#).unwrap();
    let answer = Double::new(script).create(&request, &[]).unwrap();
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The policy whose summaries the API makes, and the conversation without those that it makes at a threshold: it makes
/// none where one that was made on demand is sent.
fn delegated(mut policy: Policy, whole: &mut Value) -> Policy {
    for strategy in &mut policy.strategies {
        if let Way::Summary(summary) = strategy {
            summary.by = Summariser::Api;
        }
    }
    for message in whole["messages"].as_array_mut().unwrap().iter_mut().skip(1) {
        let Some(blocks) = message["content"].as_array_mut() else { continue };
        blocks.retain(|block| block["type"] != "compaction");
        if blocks.is_empty() {
            message["content"] = json!("Go on.");
        }
    }
    policy
}

/// Whether a request is refused for its tokens alone. `system` and tools are not known to a plan before the first report.
fn does_not_fit(error: &ApiError) -> bool {
    ["prompt is too long: ", "input length and `max_tokens` exceed"]
        .iter()
        .any(|it| error.message.starts_with(it))
}

/// The policy for a model: what is bound stays so.
fn fitted(policy: &Policy, model: &str) -> Policy {
    let known = Profile::of(model);
    let binding = match (known.binding, policy.profile.binding) {
        (Binding::StripThinking, binding) if binding != Binding::Ignore => binding,
        (binding, _) => binding,
    };
    let output = if model == BUDGETED { 1_100 } else { policy.output };
    Policy {
        profile: Profile { binding, window: policy.profile.window + 100, ..known },
        output,
        ..policy.clone()
    }
}

/// More cases by `PROPTEST_CASES`, fewer by nothing.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases, failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_request_of_a_conversation_is_refused(
        mut whole in history(), policy in policies(300), host in hosts(), delegates: bool,
    ) {
        let policy = if delegates { delegated(policy, &mut whole) } else { policy };
        let policy = fitted(&policy, whole["model"].as_str().unwrap());
        let mut agent = Agent::new(&whole, &policy, host);
        agent.talk(whole["messages"].as_array().unwrap());
    }

    #[test]
    fn no_request_of_a_long_conversation_is_refused(
        steps in steps(), policy in policies(2_000), host in hosts(), model in 0..2_usize, delegates: bool,
    ) {
        let unedited = Policy { profile: Profile { mid_system: true, binding: Binding::Ignore, window: 1 << 40, ..Profile::default() },
            ..Policy::new(Budget::tokens(1 << 40, 1).unwrap(), vec![]) };
        let mut talk = Talk::new(&json!({"messages": []}), &unedited, Host { reports: false, fails: 0, guards: false });
        let _ = steps.iter().try_for_each(|step| talk.step(step));
        let messages: Vec<Value> =
            talk.transcript.messages().map(|it| serde_json::from_str(it.json()).unwrap()).collect();
        let model = ["claude-opus-5", "claude-opus-5-5"][model];
        let tools = ["grep", "screenshot"].map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
        let mut whole = json!({"model": model, "tools": tools, "messages": messages});
        let policy = if delegates { delegated(policy, &mut whole) } else { policy };
        let policy = fitted(&policy, model);
        Agent::new(&whole, &policy, host).talk(&messages);
    }
}
