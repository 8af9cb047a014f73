//! What is valid is answered, of every kind of block; what is known to fail is refused, in the API's words.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::*;

/// Files of a directory of `fixtures/context`, with their names.
fn fixtures(directory: &str) -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/context").join(directory);
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 30, "{}", files.len());
    let read = |file: &std::path::PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
    };
    files.iter().map(read).collect()
}

/// A history as a request that lacks nothing, and all beta headers.
fn whole(history: &Value) -> (Value, Vec<String>) {
    let mut request = match history {
        Value::Array(messages) => json!({"messages": messages}),
        request => request.clone(),
    };
    let defaults = json!({"model": "claude-opus-5", "max_tokens": 2_048});
    for (name, value) in defaults.as_object().unwrap() {
        if request.get(name).is_none() {
            request[name] = value.clone();
        }
    }
    let betas: Value = serde_json::from_str(include_str!("../ask/betas.json")).unwrap();
    let betas = betas.as_object().unwrap().values().flat_map(|names| names.as_array().into_iter().flatten());
    (request, betas.map(|name| name.as_str().unwrap().to_owned()).collect())
}

#[test]
fn valid_histories_of_every_kind_of_block_are_answered() {
    for (name, history) in fixtures("blocks") {
        let mut api = Double::new(Script::default());
        let (request, betas) = whole(&history);
        let request = api.signed(&request).unwrap();
        let answer = api.create(&request, &betas.iter().map(String::as_str).collect::<Vec<_>>());
        // A history may have fields of a host's beside those of the API, which takes none.
        if name == "fields_of_messages" {
            assert_eq!(answer.unwrap_err().message, "messages.0.id: Extra inputs are not permitted");
            continue;
        }
        let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer["role"], "assistant", "{name}");
    }
}

#[test]
fn known_failures_are_refused_for_what_they_are() {
    let mut refused = 0;
    let mut otherwise = Vec::new();
    for (name, case) in fixtures("failures") {
        // The others are valid as they are: there is something that an edit may not do with them.
        let Some(history) = case.get("request").filter(|_| case["violations"] != json!([])) else { continue };
        let mut api = Double::new(Script::default());
        let (request, betas) = whole(history);
        let signed = api.signed(&request).unwrap_or(request);
        let error =
            api.create(&signed, &betas.iter().map(String::as_str).collect::<Vec<_>>()).expect_err(&name);
        assert_eq!((error.status, error.kind), (400, "invalid_request_error"), "{name}");
        let violations = case["violations"].as_array().unwrap();
        // What has not the shape of a message is refused by the table of shapes, in its words.
        let is_known = |violation: &Value| match violation["rule"].as_str() {
            Some("shape") => error.message.starts_with(violation["path"].as_str().unwrap()),
            _ => violation["error"] == error.message,
        };
        if !violations.iter().any(is_known) {
            otherwise.push(format!("{name}: {error}"));
        }
        refused += 1;
    }
    assert!(otherwise.is_empty(), "{}", otherwise.join("\n"));
    assert!(refused > 30, "{refused}");
}

#[test]
fn thinking_comes_back_as_it_was_or_is_refused() {
    let script = r#"{"when":{},"reply":{"content":[{"type":"thinking","thinking":"Tea."},{"type":"text","text":"Green."}]}}"#;
    let mut api = Double::new(Script::from_lines(script).unwrap());
    let mut request = json!({"model": "claude-opus-5-5", "max_tokens": 100,
        "thinking": {"type": "adaptive"}, "system": "Be short.",
        "messages": [{"role": "user", "content": "Tea?"}]});
    let answer = api.create(&request, &[]).unwrap();
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": "Which?"}));
    api.create(&request, &[]).unwrap();

    let mut altered = request.clone();
    altered["messages"][1]["content"][0]["thinking"] = json!("Coffee.");
    let error = api.create(&altered, &[]).unwrap_err();
    assert!(
        error.message.contains("messages.1.content.0: Invalid `signature` in `thinking` block"),
        "{error}"
    );

    let mut moved = request.clone();
    moved["system"] = json!("Be long.");
    let error = api.create(&moved, &[]).unwrap_err();
    assert!(error.message.contains("bound to a different conversation"), "{error}");

    moved["thinking"]["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    let answer = api.create(&moved, &["thinking-binding-controls-2026-08-01"]).unwrap();
    let dropped = json!([{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]);
    assert_eq!(answer["input_transformations"], dropped);

    // What is dropped is not counted either.
    moved.as_object_mut().unwrap().shift_remove("max_tokens");
    let headers = headers("any", "thinking-binding-controls-2026-08-01");
    let body = moved.to_string();
    let call = Call { method: "POST", path: "/v1/messages/count_tokens", headers: &headers, body: &body };
    let Body::Json(counted) = api.answer(&call, Duration::ZERO).body else { panic!("it is no stream") };
    assert_eq!(counted, json!({"input_tokens": answer["usage"]["input_tokens"]}));
}

#[test]
fn a_session_with_thinking_that_was_dropped_is_played_as_it_was_recorded() {
    let script = r#"{"when":{},"reply":{"thinking":"Tea.","text":"Green."}}"#;
    let mut api = Double::new(Script::from_lines(script).unwrap());
    let mut request = json!({"model": "claude-opus-5", "max_tokens": 100,
        "messages": [{"role": "user", "content": "Tea?"}]});
    let first = api.create(&request, &[]).unwrap();
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": first["content"]}));
    messages.push(json!({"role": "user", "content": "Which?"}));
    request["model"] = json!("claude-opus-5-5");
    let second = api.create(&request, &[]).unwrap();

    let line = json!({"request": request, "response": second}).to_string();
    let mut replay = Double::new(Script::from_lines(&line).unwrap());
    assert_eq!(replay.create(&request, &[]).unwrap()["content"][1]["text"], "Green.");
}

#[test]
fn what_does_not_fit_is_refused() {
    let settings = Settings { window: Some(1_000), ..Settings::default() };
    let mut api = Double::with(Script::default(), settings);
    let ask = |words: usize| {
        json!({"model": "claude-opus-5", "max_tokens": 100,
            "messages": [{"role": "user", "content": "tea ".repeat(words)}]})
    };
    api.create(&ask(500), &[]).unwrap();
    let error = api.create(&ask(5_000), &[]).unwrap_err();
    assert!(error.message.starts_with("prompt is too long: "), "{error}");
}
