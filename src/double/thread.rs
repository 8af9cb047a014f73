//! Threads: conversations that are held here for a while, so that a request has only what is new.
//!
//! <https://platform.claude.com/docs/en/build-with-claude/message-threads>. The tool runner of the official Python SDK
//! makes threads without being asked to.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Refusal;
use super::fault::Fault;
use super::prompt::plain;

/// How long a conversation is held after its last message.
const LIFE: Duration = Duration::from_secs(5 * 60);
/// What a thread keeps beside its messages.
const KEPT: [&str; 2] = ["system", "tools"];

/// The conversations that are held, by the ids of the messages that they can be continued from.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    held: HashMap<String, Held>,
}

#[derive(Debug, Clone)]
struct Held {
    until: Duration,
    /// `None`: it was continued, which can be done once.
    conversation: Option<Map<String, Value>>,
}

/// A request that makes or continues a thread.
#[derive(Debug)]
pub(super) struct Turn {
    /// All of it: what is held, and what is new.
    fields: Map<String, Value>,
    continues: Option<String>,
}

impl Threads {
    /// The turn that a request is, if it is one.
    pub(super) fn turn(&self, body: &str, now: Duration) -> Result<Option<Turn>, Refusal> {
        if !body.contains("\"thread\"") {
            return Ok(None);
        }
        // What is wrong with a request is said by who judges it.
        let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(body) else { return Ok(None) };
        let thread = fields.get("thread").cloned().unwrap_or_default();
        match (thread["type"].as_str(), thread["previous_message_id"].as_str()) {
            (Some("create"), _) => Ok(Some(Turn { fields, continues: None })),
            (Some("continue"), Some(id)) => {
                self.join(&mut fields, id, now)?;
                Ok(Some(Turn { fields, continues: Some(id.to_owned()) }))
            }
            _ => Ok(None),
        }
    }

    /// Puts what is held before what is new.
    fn join(&self, fields: &mut Map<String, Value>, id: &str, now: Duration) -> Result<(), Refusal> {
        let held = self
            .held
            .get(id)
            .filter(|held| now <= held.until)
            .ok_or_else(|| refusal(Fault::ThreadNotFound, ""))?;
        let conversation = held.conversation.as_ref().ok_or_else(|| refusal(Fault::ThreadContinued, ""))?;
        for field in KEPT {
            let kept = conversation.get(field);
            let sent = fields.get(field).filter(|sent| !sent.is_null());
            if sent.is_some_and(|sent| kept.is_none_or(|kept| plain(sent) != plain(kept))) {
                return Err(refusal(Fault::ThreadMismatch, field));
            }
            fields.extend(kept.map(|kept| (field.to_owned(), kept.clone())));
        }
        if let (Some(Value::Array(new)), Some(old)) =
            (fields.get_mut("messages"), conversation["messages"].as_array())
        {
            new.splice(0..0, old.iter().cloned());
        }
        Ok(())
    }

    /// Holds a turn and what was answered to it.
    pub(super) fn keep(&mut self, turn: Turn, message: &Value, now: Duration) {
        self.held.retain(|_, held| now <= held.until);
        if let Some(before) = turn.continues.and_then(|id| self.held.get_mut(&id)) {
            *before = Held { until: now + LIFE, conversation: None };
        }
        let Turn { mut fields, .. } = turn;
        fields.retain(|name, _| name == "messages" || KEPT.contains(&name.as_str()));
        let content = &message["content"];
        if let Some(Value::Array(messages)) = fields.get_mut("messages")
            && content != &json!([])
        {
            messages.push(json!({"role": "assistant", "content": content}));
        }
        let id = message["id"].as_str().unwrap_or_default().to_owned();
        self.held.insert(id, Held { until: now + LIFE, conversation: Some(fields) });
    }
}

impl Turn {
    /// The request, to be judged.
    pub(super) fn body(&self) -> String {
        json!(self.fields).to_string()
    }

    /// The request as it would be without a thread.
    pub(super) fn alone(&self) -> String {
        let mut fields = self.fields.clone();
        fields.shift_remove("thread");
        json!(fields).to_string()
    }
}

fn refusal(fault: Fault, field: &str) -> Refusal {
    Refusal { code: fault.code(), ..fault.error(&[("value", field)]).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::double::{Answer, Body, Call, Double, Script, headers};

    const BETA: &str = "message-threads-2026-08-12";

    fn ask(api: &mut Double, request: &Value, now: u64) -> Answer {
        let headers = headers("any", BETA);
        let body = request.to_string();
        api.answer(
            &Call { method: "POST", path: "/v1/messages", headers: &headers, body: &body },
            Duration::from_secs(now),
        )
    }

    fn request(messages: &Value, thread: &Value) -> Value {
        json!({"model": "claude-opus-5", "max_tokens": 100, "messages": messages, "thread": thread})
    }

    fn json(answer: &Answer) -> &Value {
        let Body::Json(json) = &answer.body else { panic!("{answer:?}") };
        json
    }

    #[test]
    fn what_is_new_follows_what_is_held() {
        let script = r#"{"reply":{"tool_use":{"name":"weather","input":{}}}}
            {"reply":{"error":{"status":529}}}
            {"reply":{"text":"It is sunny."}}"#;
        let mut api = Double::new(Script::from_lines(script).unwrap());
        let mut first =
            request(&json!([{"role": "user", "content": "Weather?"}]), &json!({"type": "create"}));
        first["tools"] = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
        let call = json(&ask(&mut api, &first, 0)).clone();
        let result =
            json!({"type": "tool_result", "tool_use_id": call["content"][0]["id"], "content": "sunny"});
        let thread = json!({"type": "continue", "previous_message_id": call["id"]});
        let second = request(&json!([{"role": "user", "content": [result]}]), &thread);

        // What fails has not continued it.
        assert_eq!(ask(&mut api, &second, 299).status, 529);
        let answer = ask(&mut api, &second, 300);
        assert_eq!(json(&answer)["content"][0]["text"], "It is sunny.", "{answer:?}");
        let played: Value = serde_json::from_str(answer.played.as_deref().unwrap()).unwrap();
        assert_eq!(played["messages"].as_array().unwrap().len(), 3);
        assert_eq!((&played["tools"], played.get("thread")), (&first["tools"], None));

        let code = |answer: &Answer| json(answer)["error"]["details"]["error_code"].clone();
        let again = ask(&mut api, &second, 301);
        assert_eq!((again.status, code(&again)), (400, json!("thread_already_continued")));
        let thread = json!({"type": "continue", "previous_message_id": json(&answer)["id"]});
        let third = request(&json!([{"role": "user", "content": "And tomorrow?"}]), &thread);
        let mut other = third.clone();
        other["system"] = json!("Be short.");
        let other = ask(&mut api, &other, 302);
        assert_eq!((other.status, code(&other)), (400, json!("thread_fingerprint_mismatch")));
        let late = ask(&mut api, &third, 601);
        assert_eq!((late.status, code(&late)), (404, json!("thread_not_found")));
    }
}
