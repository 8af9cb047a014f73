//! A strict reader of requests: what it lets through, the API does.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// What is wrong with the messages of a request; `has_bound_thinking`: signatures are of what stands before.
pub(super) fn judge(messages: &[Value], has_bound_thinking: bool) -> Result<(), String> {
    let runs = runs(messages)?;
    let first = runs.iter().find(|(role, _)| role != "system").ok_or("nobody speaks")?;
    let is_compacted = first.1[0]["type"] == "compaction";
    if first.0 != "user" && !is_compacted {
        return Err("the first message is not the user's".into());
    }
    if runs.last().unwrap().0 == "assistant" {
        return Err("it ends with the assistant".into());
    }
    let mut ids = HashSet::new();
    let mut open_elsewhere = BTreeMap::new();
    for (at, (role, blocks)) in runs.iter().enumerate() {
        let calls = |kind: &str| -> Vec<&str> {
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            of_kind.map(|block| block["id"].as_str().unwrap()).collect()
        };
        for id in ["tool_use", "server_tool_use", "mcp_tool_use"].into_iter().flat_map(calls) {
            if !ids.insert(id.to_owned()) {
                return Err(format!("{id} is there twice"));
            }
        }
        for block in blocks {
            if let Some(caller) = block["caller"]["tool_id"].as_str()
                && !ids.contains(caller)
            {
                return Err(format!("the caller {caller} is gone"));
            }
            match block["type"].as_str().unwrap() {
                "server_tool_use" | "mcp_tool_use" => {
                    open_elsewhere.insert(block["id"].as_str().unwrap(), at);
                }
                kind if kind != "tool_result" && kind.ends_with("_tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap();
                    open_elsewhere.remove(id).ok_or(format!("a result of {id} without its call"))?;
                }
                _ => {}
            }
        }
        if role == "assistant" {
            let mut wanted = calls("tool_use");
            let next = runs.get(at + 1).map_or(&[][..], |(_, blocks)| &blocks[..]);
            let is_result = |block: &&Value| block["type"] == "tool_result";
            let mut found: Vec<&str> = next
                .iter()
                .take_while(is_result)
                .map(|block| block["tool_use_id"].as_str().unwrap())
                .collect();
            if next.iter().filter(is_result).count() != found.len() {
                return Err("results do not come first".into());
            }
            wanted.sort_unstable();
            found.sort_unstable();
            if wanted != found {
                return Err(format!("calls {wanted:?}, results {found:?}"));
            }
        } else if (at == 0 || runs[at - 1].0 != "assistant")
            && blocks.iter().any(|b| b["type"] == "tool_result")
        {
            return Err("a result without a call".into());
        }
    }
    // Code that is running waits for results of the client's.
    let is_answered = |(role, blocks): &(String, Vec<Value>)| {
        role != "user" || blocks.iter().any(|block| block["type"] == "tool_result")
    };
    if let Some((id, _)) = open_elsewhere.iter().find(|(_, at)| !runs[**at..].iter().all(is_answered)) {
        return Err(format!("{id} has no result"));
    }
    documents(&runs)?;
    if has_bound_thinking { thinking(&runs) } else { Ok(()) }
}

/// Messages of one role after another are one.
fn runs(messages: &[Value]) -> Result<Vec<(String, Vec<Value>)>, String> {
    let mut runs: Vec<(String, Vec<Value>)> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap();
        let blocks = match &message["content"] {
            Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
            Value::Array(blocks) => blocks.clone(),
            _ => return Err("no content".into()),
        };
        let is_blank = |block: &Value| block["text"].as_str().is_some_and(|text| text.trim().is_empty());
        if blocks.is_empty() || blocks.iter().any(is_blank) {
            return Err("an empty message, or a blank text".into());
        }
        match runs.last_mut() {
            Some((last, of)) if last == role => of.extend(blocks),
            _ => runs.push((role.to_owned(), blocks)),
        }
    }
    Ok(runs)
}

fn documents(runs: &[(String, Vec<Value>)]) -> Result<(), String> {
    let mut titles = Vec::new();
    for block in runs.iter().flat_map(|(_, blocks)| blocks) {
        if block["type"] == "document" {
            titles.push(&block["title"]);
        }
        for citation in block["citations"].as_array().into_iter().flatten() {
            let index = usize::try_from(citation["document_index"].as_u64().unwrap()).unwrap();
            if titles.get(index) != Some(&&citation["document_title"]) {
                return Err(format!("{citation} is of another document"));
            }
        }
    }
    Ok(())
}

fn thinking(runs: &[(String, Vec<Value>)]) -> Result<(), String> {
    let mut seal = Seal::default();
    for (role, blocks) in runs {
        for block in blocks {
            if block["type"] == "thinking" && block["signature"] != seal.signature() {
                return Err(format!(
                    "the thinking {} is bound to a different conversation",
                    block["thinking"]
                ));
            }
            seal.add(role, block);
        }
    }
    Ok(())
}

/// What thinking is bound to.
#[derive(Default, Clone)]
pub(super) struct Seal(DefaultHasher);

impl Seal {
    pub(super) fn of(messages: &[Value]) -> Self {
        let mut seal = Self::default();
        for (role, blocks) in &runs(messages).unwrap() {
            for block in blocks {
                seal.add(role, block);
            }
        }
        seal
    }

    pub(super) fn add(&mut self, role: &str, block: &Value) {
        (role, block.to_string()).hash(&mut self.0);
    }

    pub(super) fn signature(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

#[test]
fn what_is_wrong_is_seen() {
    let call = serde_json::json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]});
    let result = serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]});
    let said = |role: &str| serde_json::json!({"role": role, "content": "hello"});
    let (user, assistant) = (said("user"), said("assistant"));
    let thought = serde_json::json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]});
    assert_eq!(judge(&[user.clone(), call.clone(), result.clone()], true), Ok(()));
    for wrong in [
        vec![assistant.clone(), user.clone()],
        vec![user.clone(), assistant.clone()],
        vec![user.clone(), call.clone(), user.clone()],
        vec![user.clone(), result.clone()],
        vec![user.clone(), call.clone(), result.clone(), result.clone()],
        vec![user.clone(), call.clone(), user.clone(), result.clone()],
        vec![user.clone(), thought, user.clone()],
    ] {
        assert!(judge(&wrong, true).is_err(), "{wrong:?}");
    }
}
