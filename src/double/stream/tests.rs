//! Events, and what a client makes of them.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn message(content: &Value, stop_reason: &str) -> Value {
    let took_over = content.as_array().unwrap().iter().rev().find_map(|block| block["to"]["model"].as_str());
    let model = took_over.unwrap_or("claude-opus-5").to_owned();
    json!({"model": model, "id": "msg_1", "type": "message", "role": "assistant", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "stop_details": null,
        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 70, "service_tier": "standard"}})
}

/// What a client makes of events, as the official SDK for Python does.
fn assembled(events: &[Event]) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        assert_eq!(event.name, event.data["type"]);
        let data = &event.data;
        let index = || usize::try_from(data["index"].as_u64().unwrap()).unwrap();
        match event.name {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                assert_eq!(index(), inputs.len());
                message["content"].as_array_mut().unwrap().push(data["content_block"].clone());
                inputs.push(String::new());
                if let Some(model) = data["content_block"]["to"]["model"].as_str() {
                    message["model"] = json!(model);
                }
            }
            "content_block_delta" => {
                assert_eq!(index() + 1, inputs.len());
                add(&mut message["content"][index()], &mut inputs[index()], &data["delta"]);
            }
            "message_delta" => end(&mut message, data),
            "content_block_stop" => assert_eq!(index() + 1, inputs.len()),
            "ping" | "message_stop" => {}
            name => panic!("{name}"),
        }
    }
    message
}

fn add(block: &mut Value, input: &mut String, delta: &Value) {
    let append = |block: &mut Value, name: &str| {
        let whole = block[name].as_str().unwrap().to_owned() + delta[name].as_str().unwrap();
        block[name] = json!(whole);
    };
    match delta["type"].as_str().unwrap() {
        "text_delta" => append(block, "text"),
        "thinking_delta" => append(block, "thinking"),
        "signature_delta" => block["signature"] = delta["signature"].clone(),
        "citations_delta" => match &mut block["citations"] {
            Value::Array(citations) => citations.push(delta["citation"].clone()),
            none => *none = json!([delta["citation"]]),
        },
        "compaction_delta" => {
            block["content"] = delta["content"].clone();
            if let Some(sealed) = delta.get("encrypted_content") {
                block["encrypted_content"] = sealed.clone();
            }
        }
        "input_json_delta" => {
            input.push_str(delta["partial_json"].as_str().unwrap());
            if !input.is_empty() {
                block["input"] = begun_json(input);
            }
        }
        kind => panic!("{kind}"),
    }
}

/// What is whole of JSON that may not be complete: here, that ends in a name or between two fields.
fn begun_json(json: &str) -> Value {
    let ends = (0..=json.len()).rev().filter(|end| json.is_char_boundary(*end));
    let tries = ends.map(|end| (json[..end].trim_end_matches([' ', ',', '"'])).to_owned() + "}");
    let mut read = serde_json::from_str(json)
        .ok()
        .into_iter()
        .chain(tries.filter_map(|json| serde_json::from_str(&json).ok()));
    read.next().unwrap_or_else(|| json!({}))
}

fn end(message: &mut Value, data: &Value) {
    for name in ["stop_reason", "stop_sequence", "stop_details"] {
        message[name] = data["delta"][name].clone();
    }
    if let Some(container) = data["delta"].get("container") {
        message["container"] = container.clone();
    }
    if let Some(edits) = data.get("context_management") {
        message["context_management"] = edits.clone();
    }
    for (name, value) in data["usage"].as_object().unwrap() {
        message["usage"][name] = value.clone();
    }
}

/// All contents of the assistant in the fixtures.
fn contents() -> Vec<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/context/blocks");
    let mut contents = Vec::new();
    for file in fs::read_dir(directory).unwrap() {
        let case: Value = serde_json::from_str(&fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        let messages = if case.is_array() { &case } else { &case["messages"] };
        let said = messages.as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
        contents.extend(said.map(|message| match &message["content"] {
            Value::String(text) => json!([{"type": "text", "text": text}]),
            blocks => blocks.clone(),
        }));
    }
    assert!(contents.len() > 30);
    contents
}

#[test]
fn messages_of_all_kinds_of_blocks_come_together_again() {
    for content in contents() {
        let mut whole = message(&content, "end_turn");
        assert_eq!(assembled(&events(&whole)), whole);
        whole["usage"]["output_tokens_details"] = json!({"thinking_tokens": 3});
        whole["usage"]["server_tool_use"] = json!({"web_search_requests": 1, "web_fetch_requests": 0});
        whole["container"] = json!({"id": "container_1", "expires_at": "9999-12-31T23:59:59Z"});
        whole["context_management"] = json!({"applied_edits": []});
        whole["input_transformations"] = json!([]);
        whole["stop_reason"] = json!("refusal");
        whole["stop_details"] = json!({"type": "refusal", "category": null});
        assert_eq!(assembled(&events(&whole)), whole);
    }
}

fn words() -> impl Strategy<Value = String> {
    "[a-z éß茶🫖\"\\\\\n{},:]{0,80}"
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((words(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn input() -> impl Strategy<Value = Value> {
    prop::collection::vec((words(), json_value()), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        words().prop_map(|text| json!({"type": "text", "text": text})),
        (words(), prop::collection::vec(json_value(), 0..3))
            .prop_map(|(text, all)| json!({"citations": all, "type": "text", "text": text})),
        (words(), words())
            .prop_map(|(text, by)| json!({"type": "thinking", "thinking": text, "signature": by})),
        words().prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
        (input(), prop::sample::select(vec!["tool_use", "server_tool_use", "mcp_tool_use"]))
            .prop_map(|(input, kind)| json!({"type": kind, "id": "x", "name": "n", "input": input})),
        json_value()
            .prop_map(|found| json!({"type": "web_fetch_tool_result", "tool_use_id": "x", "content": found})),
        prop::option::of(words()).prop_map(|text| json!({"type": "compaction", "content": text})),
        words().prop_map(|text| json!({"type": "compaction", "content": text, "encrypted_content": text})),
        (words(), words())
            .prop_map(|(text, by)| json!({"type": "compaction", "content": text, "signature": by})),
        (words(), json_value()).prop_map(|(name, value)| {
            let mut unknown = json!({"type": "hologram"});
            unknown[format!("_{name}")] = value;
            unknown
        }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_comes_together_again(content in prop::collection::vec(block(), 0..6)) {
        let whole = message(&Value::Array(content), "end_turn");
        prop_assert_eq!(assembled(&events(&whole)), whole);
    }

    #[test]
    fn a_text_comes_in_pieces_that_are_not_empty(text in words(), times in 0..400_usize) {
        let text = text.repeat(times);
        let pieces: Vec<&str> = pieces(&text).collect();
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty()) && pieces.len() <= MOST_PIECES);
        prop_assert_eq!(pieces.concat(), text);
    }
}

#[test]
fn a_call_that_was_cut_off_has_no_end() {
    for input in [json!({}), json!({"a": 1}), json!({"a": "b, \"", "c": [{"d": "}"}]})] {
        let whole =
            message(&json!([{"type": "tool_use", "id": "x", "name": "n", "input": input}]), "max_tokens");
        let events = events(&whole);
        let told: String =
            events.iter().filter_map(|event| event.data["delta"]["partial_json"].as_str()).collect();
        assert!(serde_json::from_str::<Value>(&told).is_err(), "{told}");
        assert_eq!(assembled(&events), whole);
    }
}

#[test]
fn events_are_those_of_the_api() {
    let content = json!([
        {"type": "thinking", "thinking": "Hm, tea.", "signature": "c2ln"},
        {"citations": [{"type": "char_location"}], "type": "text", "text": "Green."},
        {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Rome"}, "caller": {"type": "direct"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "compaction", "content": "Tea."},
    ]);
    let mut whole = message(&content, "tool_use");
    whole["usage"]["output_tokens_details"] = json!({"thinking_tokens": 3});
    whole["context_management"] = json!({"applied_edits": []});
    let lines: String = events(&whole).iter().map(|event| event.data.to_string() + "\n").collect();
    let expected = r#"
{"type":"message_start","message":{"model":"claude-opus-5","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":4,"service_tier":"standard"},"context_management":null}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, "}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"tea."}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"citations":[],"type":"text","text":""}}
{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"char_location"}}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Gree"}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"n."}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"now","input":{},"caller":{"type":"direct"}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"weather","input":{},"caller":{"type":"direct"}}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"ci"}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"ty\": \"Rom"}}
{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"e\"}"}}
{"type":"content_block_stop","index":3}
{"type":"content_block_start","index":4,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[]}}
{"type":"content_block_stop","index":4}
{"type":"content_block_start","index":5,"content_block":{"type":"compaction","content":null}}
{"type":"content_block_delta","index":5,"delta":{"type":"compaction_delta","content":"Tea."}}
{"type":"content_block_stop","index":5}
{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":70,"output_tokens_details":{"thinking_tokens":3}},"context_management":{"applied_edits":[]}}
{"type":"message_stop"}
"#;
    assert_eq!(lines, expected.trim_start());
    let empty: Vec<_> = events(&message(&json!([]), "end_turn")).iter().map(|event| event.name).collect();
    assert_eq!(empty, ["message_start", "ping", "message_delta", "message_stop"]);
}

#[test]
fn a_stream_breaks_where_it_is_told_to() {
    let whole = events(&message(&json!([{"type": "text", "text": "Green tea."}]), "end_turn"));
    let error = ApiError::new(529, "overloaded_error", "Overloaded".to_owned());
    assert_eq!(broken(whole.clone(), 2, None), (whole[..2].to_vec(), true));
    assert_eq!(broken(whole.clone(), whole.len(), Some(&error)), (whole.clone(), false));
    let (events, breaks) = broken(whole.clone(), 2, Some(&error));
    assert!(events.len() == 3 && !breaks);
    let lines = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert_eq!(events[2].lines(), lines);
}
