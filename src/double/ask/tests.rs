//! Calls that are refused and calls that are not, through the whole of the stand-in.
//!
//! A row of `fixtures/double/*.jsonl` is a plain request to `claude-opus-4-8` (`count`: to count tokens) but for what it
//! says: `with` and `without` fields, other `headers` (null: without), `betas`, another body (`raw`), another `call`.

use std::time::Duration;

use proptest::prelude::*;
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
        .answer(&Call { method, path, headers: &headers, body: &body }, Duration::ZERO)
}

fn said(answer: &Answer) -> &Value {
    let Body::Json(json) = &answer.body else { panic!("no stream was asked for") };
    json
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

fn ask(purpose: Purpose, with: &Value, betas: &str) -> Ask {
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
    Ask::read(&Call { method: "POST", path: "", headers: &headers, body: &body }, purpose, &settings())
        .unwrap()
}

#[test]
fn what_is_asked_for_is_read() {
    let edit = json!({"type": "compact_20260112"});
    let read = ask(
        Purpose::Message,
        &json!({"max_tokens": 1e3, "stream": true, "stop_sequences": ["END"],
            "context_management": {"edits": [edit]}}),
        "compact-2026-01-12,compact-2026-01-12",
    );
    assert_eq!((read.max_tokens, read.is_stream, read.compacts), (1_000, true, false));
    assert_eq!(read.stop_sequences, ["END"]);
    assert_eq!(read.betas, ["compact-2026-01-12", "files-api-2025-04-14"]);
    assert_eq!(read.edits, [edit]);
    assert!(!read.fields.contains_key("messages") && read.fields.contains_key("stream"));
    let read = ask(Purpose::Count, &json!({"compaction": {"type": "summarize"}}), "compact-2026-09-04");
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
        assert_eq!(ask(Purpose::Message, &with, "").thinks, thinks, "{model} {thinking:?}");
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

/// Names of fields, types and other words that mean something somewhere in a request.
const WORDS: &[&str] = &[
    "type",
    "name",
    "value",
    "model",
    "messages",
    "role",
    "content",
    "text",
    "user",
    "assistant",
    "document",
    "citations",
    "system",
    "tools",
    "tool_choice",
    "tool",
    "custom",
    "memory",
    "memory_20250818",
    "mcp_toolset",
    "input_schema",
    "properties",
    "object",
    "thinking",
    "enabled",
    "adaptive",
    "disabled",
    "between_tools",
    "budget_tokens",
    "display",
    "updates",
    "block_binding",
    "output_config",
    "effort",
    "max",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "context_management",
    "edits",
    "clear_thinking_20251015",
    "compact_20260112",
    "trigger",
    "keep",
    "compaction",
    "summarize",
    "cache_control",
    "ephemeral",
    "ttl",
    "1h",
    "claude-opus-5",
    "",
    "fallbacks",
    "default",
    "stream",
];
/// Fields of a request.
const FIELDS: &[&str] = &[
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "context_management",
    "compaction",
    "cache_control",
    "fallbacks",
    "mcp_servers",
    "metadata",
    "container",
];
const BETAS: &str = "context-management-2025-06-27,compact-2026-01-12,compact-2026-09-04,mcp-client-2025-11-20,\
    thinking-binding-controls-2026-08-01,server-side-fallback-2026-07-01";

fn json_of_words() -> impl Strategy<Value = Value> {
    let word = || proptest::sample::select(WORDS);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_in_any_field_is_an_answer(
        fields in proptest::collection::vec((proptest::sample::select(FIELDS), json_of_words()), 0..3),
        count in any::<bool>(),
        newest in any::<bool>(),
    ) {
        let with: Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let version = if newest { "2026-10-21" } else { "2023-06-01" };
        let row = json!({"with": with, "count": count, "betas": BETAS, "headers": {"anthropic-version": version}});
        let answer = answer(&row);
        prop_assert!(matches!(answer.status, 200 | 400), "{row}: {answer:?}");
    }

    #[test]
    fn any_body_and_any_header_is_an_answer(body in any::<String>(), name in any::<String>(), value in any::<String>()) {
        let headers = json!({name.as_str(): value, "anthropic-version": value, "content-type": "application/json"});
        let of_body = answer(&json!({"raw": body})).status;
        let of_headers = answer(&json!({"headers": headers})).status;
        prop_assert!(matches!(of_body, 200 | 400), "{body:?}: {of_body}");
        prop_assert!(matches!(of_headers, 200 | 400 | 401), "{name:?} {value:?}: {of_headers}");
    }
}
