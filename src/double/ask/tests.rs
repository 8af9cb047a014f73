//! Calls that are refused and calls that are not, through the whole of the stand-in.
//!
//! A row of `fixtures/double/*.jsonl` is a plain request to `claude-opus-4-8` (`count`: to count tokens) but for what it
//! says: `with` and `without` fields, other `headers` (null: without), `betas`, another body (`raw`), another `call`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;
use crate::double::{Answer, Body, Double, Script};

const REFUSALS: &str = include_str!("../../../fixtures/double/refusals.jsonl");
const ACCEPTED: &str = include_str!("../../../fixtures/double/accepted.jsonl");

fn rows(lines: &str) -> impl Iterator<Item = Value> + '_ {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn settings() -> Settings {
    Settings { key: Some("key".to_owned()), window: None }
}

fn plain(purpose: Purpose) -> Map<String, Value> {
    let mut request = json!({"model": "claude-opus-4-8", "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}]});
    let fields = request.as_object_mut().unwrap();
    if purpose == Purpose::Count {
        fields.remove("max_tokens");
    }
    fields.clone()
}

fn answer(row: &Value) -> Answer {
    let mut headers = json!({"x-api-key": "key", "anthropic-version": "2023-06-01",
        "content-type": "application/json"});
    if let Some(betas) = row.get("betas") {
        headers["anthropic-beta"] = betas.clone();
    }
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        headers[name] = value.clone();
    }
    let purpose = if row["count"] == true { Purpose::Count } else { Purpose::Message };
    let mut fields = plain(purpose);
    fields.extend(row["with"].as_object().cloned().unwrap_or_default());
    for name in row["without"].as_array().into_iter().flatten() {
        fields.shift_remove(name.as_str().unwrap());
    }
    let body = row["raw"].as_str().map_or_else(|| Value::from(fields).to_string(), str::to_owned);
    let headers: Vec<(&str, &str)> = headers
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect();
    let usual =
        if purpose == Purpose::Count { "POST /v1/messages/count_tokens" } else { "POST /v1/messages" };
    let (method, path) = row["call"].as_str().unwrap_or(usual).split_once(' ').unwrap();
    Double::with(Script::default(), settings())
        .answer(&Call::new(method, path, &headers, &body), Duration::ZERO)
}

fn said(answer: &Answer) -> &Value {
    match &answer.body {
        Body::Json(json) => json,
        Body::Events { .. } => panic!("no stream was asked for"),
    }
}

#[test]
fn what_is_wrong_is_refused_with_the_words_of_the_api() {
    let mut wrong = Vec::new();
    for row in rows(REFUSALS) {
        let answer = answer(&row);
        let said = said(&answer);
        let told = (json!(answer.status), &said["error"]["type"], &said["error"]["message"]);
        if told != (row["status"].clone(), &row["type"], &row["message"]) {
            wrong.push(format!(
                "{}: {} {said}\n   wants {} {}",
                row["is"], answer.status, row["status"], row["message"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_right_is_taken() {
    for row in rows(ACCEPTED) {
        let answer = answer(&row);
        assert_eq!(answer.status, 200, "{}: {}", row["is"], said(&answer));
    }
}

fn ask(purpose: Purpose, with: Value, betas: &str) -> Ask {
    let mut fields = plain(purpose);
    fields.extend(with.as_object().unwrap().clone());
    let body = Value::from(fields).to_string();
    let headers = [
        ("x-api-key", "key"),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
        ("anthropic-beta", betas),
        ("Anthropic-Beta", "files-api-2025-04-14"),
    ];
    Ask::read(&Call::new("POST", "", &headers, &body), purpose, &settings()).unwrap()
}

#[test]
fn what_is_asked_for_is_read() {
    let edit = json!({"type": "compact_20260112"});
    let read = ask(
        Purpose::Message,
        json!({"max_tokens": 1e3, "stream": true, "stop_sequences": ["END"],
            "context_management": {"edits": [edit]}}),
        "compact-2026-01-12,compact-2026-01-12",
    );
    assert_eq!((read.max_tokens, read.is_stream, read.compacts), (1_000, true, false));
    assert_eq!(read.stop_sequences, ["END"]);
    assert_eq!(read.betas, ["compact-2026-01-12", "files-api-2025-04-14"]);
    assert_eq!(read.edits, [edit]);
    assert!(!read.fields.contains_key("messages") && read.fields.contains_key("stream"));
    let read = ask(Purpose::Count, json!({"compaction": {"type": "summarize"}}), "compact-2026-09-04");
    assert_eq!((read.max_tokens, read.compacts), (0, true));
}

#[test]
fn a_model_thinks_when_it_is_told_to_or_not_told_anything() {
    let (adaptive, disabled) = (json!({"type": "adaptive"}), json!({"type": "disabled"}));
    for (model, thinking, thinks) in [
        ("claude-opus-4-8", None, false),
        ("claude-opus-4-8", Some(&adaptive), true),
        ("claude-opus-5", None, true),
        ("claude-opus-5", Some(&disabled), false),
        ("claude-haiku-4-5", None, false),
        ("claude-haiku-4-5", Some(&json!({"type": "enabled", "budget_tokens": 1024})), true),
        ("claude-sonnet-5-5", Some(&json!({"type": "between_tools"})), true),
        ("llama-5", None, false),
        ("llama-5", Some(&adaptive), true),
    ] {
        let mut with = json!({"model": model});
        if let Some(thinking) = thinking {
            with["thinking"] = thinking.clone();
        }
        assert_eq!(ask(Purpose::Message, with, "").thinks, thinks, "{model} {thinking:?}");
    }
}

#[test]
fn whatever_comes_is_an_answer() {
    let deep = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
    let message = |content: &str| {
        format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":{content}}}]}}"#)
    };
    let large = message(&format!("\"{}\"", "a".repeat(32 << 20)));
    for (body, status) in [
        (deep("[", "]", 10_000), 400),
        (deep(r#"{"a":"#, "}", 10_000), 400),
        (message(&deep("[", "]", 10_000)), 400),
        ("[".repeat(100_000), 400),
        (message(r#"[{"type":"text","text":"a","text":"b"}]"#), 400),
        (message(r#""\udc00\ud800""#), 400),
        (message("-1e999"), 400),
        (message("99999999999999999999999999"), 400),
        (message("\"\0\""), 400),
        (r#"{"max_tokens":1e308,"model":"m","messages":[{"role":"user","content":"a"}]}"#.to_owned(), 400),
        (r#"{"max_tokens":-0,"model":"\u0000","messages":[{"role":"user","content":"a"}]}"#.to_owned(), 200),
        ("\u{feff}{}".to_owned(), 400),
        (large, 413),
    ] {
        let answer = answer(&json!({"raw": body}));
        let start: String = body.chars().take(40).collect();
        assert_eq!(answer.status, status, "{start} {}", said(&answer));
    }
}
