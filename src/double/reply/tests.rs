//! What is said, completed.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::double::prompt::tokens_of_text;
use crate::double::script::tests::{ask, user};
use crate::double::script::{Play, Script};
use crate::double::seal::Signer;
use crate::double::stream::events;

fn say(content: &Value, ask: &Ask) -> Said {
    let line = Line { content: content.as_array().unwrap().clone(), ..Line::default() };
    let mut signer = Signer::default();
    let prompt = Prompt::of(&ask.request, &ask.model, &signer, false);
    Said::of(line, ask, &prompt, &mut signer, 7)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn with_tokens(tokens: u64) -> Ask {
    Ask { max_tokens: tokens, thinks: true, ..ask(&json!({})) }
}

#[test]
fn calls_get_ids_that_nothing_has() {
    let history = json!({"messages": [user("Hi."), {"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_010000000000000700000001", "name": "a", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_010000000000000700000001"}]}]});
    let content = json!([{"type": "tool_use", "name": "a"}, {"type": "server_tool_use", "name": "web_search", "input": {"q": 1}},
        {"type": "mcp_tool_use", "name": "echo", "server_name": "s"}, {"type": "tool_use", "name": "b", "more": 1}]);
    let direct = json!({"type": "direct"});
    let said = say(&content, &ask(&history)).content;
    let expected = json!([
        {"type": "tool_use", "id": "toolu_010000000000000700000000", "name": "a", "input": {}, "caller": direct},
        {"type": "server_tool_use", "id": "srvtoolu_010000000000000700000001", "name": "web_search", "input": {"q": 1}, "caller": direct},
        {"type": "mcp_tool_use", "id": "mcptoolu_010000000000000700000002", "name": "echo", "input": {}, "server_name": "s"},
        {"type": "tool_use", "id": "toolu_010000000000000700000003", "name": "b", "input": {}, "more": 1, "caller": direct}]);
    assert_eq!(Value::Array(said).to_string(), expected.to_string());
    let second = say(
        &json!([{"type": "text", "text": "a"}, {"type": "tool_use", "name": "a"}, {"type": "tool_use", "name": "a"}]),
        &ask(&history),
    );
    assert_eq!(second.content[2]["id"], "toolu_010000000000000700000002", "the second is taken");
}

#[test]
fn a_call_that_has_an_id_is_taken_as_it_is() {
    let call = json!({"id": "toolu_1", "type": "tool_use", "input": {"b": 1, "a": 2}, "name": "a"});
    assert_eq!(say(&json!([call]), &ask(&json!({}))).content[0].to_string(), call.to_string());
}

#[test]
fn results_of_servers_tools_find_their_calls() {
    let content = json!([{"type": "server_tool_use", "name": "web_search"}, {"type": "mcp_tool_use", "name": "e", "server_name": "s"},
        {"type": "mcp_tool_result", "is_error": false, "content": []}, {"type": "web_search_tool_result", "content": []}]);
    let said = say(&content, &ask(&json!({}))).content;
    assert_eq!((&said[2]["tool_use_id"], &said[3]["tool_use_id"]), (&said[1]["id"], &said[0]["id"]));

    let paused = json!({"messages": [user("Hi."), {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}]}]});
    let said = say(&json!([{"type": "web_search_tool_result", "content": []}]), &ask(&paused)).content;
    assert_eq!(said[0]["tool_use_id"], "srvtoolu_1");
}

#[test]
fn it_thinks_when_it_may_and_what_it_thinks_is_signed() {
    let content =
        json!([{"type": "thinking", "thinking": "Hm."}, {"type": "redacted_thinking"}, text("Yes.")]);
    let mut ask = ask(&json!({}));
    ask.thinks = false;
    assert_eq!(say(&content, &ask).content, [text("Yes.")]);
    ask.thinks = true;
    let said = say(&content, &ask);
    assert!(said.content[0]["signature"].as_str().unwrap().len() > 40);
    assert!(said.content[1]["data"].as_str().unwrap().len() > 40);
    let usage = said.message(&ask, "msg_1", Usage::default(), Map::new())["usage"].clone();
    assert_eq!(
        (&usage["output_tokens_details"]["thinking_tokens"], &usage["output_tokens"]),
        (&json!(1), &json!(2))
    );
}

#[test]
fn thinking_is_not_shown_to_who_does_not_want_it() {
    let mut ask = Ask { thinks: true, ..ask(&json!({})) };
    ask.fields.insert("thinking".to_owned(), json!({"type": "adaptive", "display": "omitted"}));
    let said = say(&json!([{"type": "thinking", "thinking": "Hm, tea."}, text("Yes.")]), &ask);
    assert_eq!(said.content[0]["thinking"], "");
    assert!(said.content[0]["signature"].is_string());
    assert_eq!((said.thought, said.tokens), (2, 3));
}

#[test]
fn only_the_summary_of_a_whole_is_signed() {
    let content = json!([{"type": "compaction", "content": "Tea."}]);
    let mut ask = ask(&json!({}));
    assert!(say(&content, &ask).content[0].get("signature").is_none());
    ask.compacts = true;
    let said = say(&content, &ask);
    assert!(said.content[0]["signature"].is_string());
    assert_eq!(said.stop_reason, "compaction");
}

#[test]
fn a_text_ends_at_the_first_stop_sequence() {
    let mut ask = ask(&json!({}));
    ask.thinks = false;
    ask.stop_sequences = vec!["END".to_owned(), "é".to_owned(), String::new()];
    for (content, left, sequence) in [
        (json!([text("One END é"), text("Two")]), json!([text("One ")]), Some("END")),
        (json!([text("One é END")]), json!([text("One ")]), Some("é")),
        (json!([text("Zero"), text("END")]), json!([text("Zero")]), Some("END")),
        (json!([{"type": "thinking", "thinking": "END"}, text("One")]), json!([text("One")]), None),
        (json!([text("One")]), json!([text("One")]), None),
    ] {
        let said = say(&content, &ask);
        assert_eq!(Value::Array(said.content.clone()), left);
        assert_eq!(said.stop_sequence.as_deref(), sequence);
        assert_eq!(said.stop_reason, if sequence.is_some() { "stop_sequence" } else { "end_turn" });
    }
}

#[test]
fn what_is_too_long_is_cut() {
    let words = "tea ".repeat(100);
    let call = |input: &Value| json!([{"type": "tool_use", "id": "t", "name": "n", "input": input}]);
    let whole = json!([text(&words)]);
    for (content, tokens, left, reason) in [
        (whole.clone(), 100, whole.clone(), "end_turn"),
        (whole.clone(), 99, json!([text(&words[..396])]), "max_tokens"),
        (whole.clone(), 1, json!([text("tea ")]), "max_tokens"),
        (json!([text(&words), text("More.")]), 100, whole.clone(), "max_tokens"),
        (json!([text(&words), {"type": "tool_use", "name": "n"}]), 100, whole.clone(), "max_tokens"),
        (json!([text("茶茶茶")]), 2, json!([text("茶茶")]), "max_tokens"),
        (call(&json!({"a": 1, "b": words, "c": 2})), 20, call(&json!({"a": 1})), "max_tokens"),
        (call(&json!({"b": words})), 2, call(&json!({})), "max_tokens"),
        (call(&json!({"a": 1})), 20, call(&json!({"a": 1})), "tool_use"),
        (
            json!([{"type": "compaction", "content": words}]),
            9,
            json!([{"type": "compaction", "content": null}]),
            "max_tokens",
        ),
        (json!([{"type": "redacted_thinking", "data": words}, text("T")]), 9, json!([]), "max_tokens"),
        (
            json!([{"type": "web_search_tool_result", "tool_use_id": "s", "content": words}]),
            1,
            json!([{"type": "web_search_tool_result", "tool_use_id": "s", "content": words}]),
            "end_turn",
        ),
    ] {
        let said = say(&content, &with_tokens(tokens));
        assert_eq!(Value::Array(said.content), left, "{content} {tokens}");
        assert_eq!(said.stop_reason, reason, "{content} {tokens}");
        assert!(said.tokens <= tokens, "{content} {tokens}");
    }
    let thought = say(&json!([{"type": "thinking", "thinking": words}, text("T")]), &with_tokens(3));
    assert_eq!((&thought.content[0]["thinking"], thought.content.len()), (&json!("tea tea tea "), 1));
    assert!(thought.content[0]["signature"].is_string());
}

#[test]
fn what_only_fills_the_cache_takes_no_output() {
    let ask = with_tokens(0);
    let said = say(&json!([]), &ask);
    assert_eq!((said.tokens, said.stop_reason.as_str()), (0, "max_tokens"));
}

#[test]
fn it_ends_as_its_content_says() {
    for (content, reason) in [
        (json!([]), "end_turn"),
        (json!([text("a")]), "end_turn"),
        (json!([{"type": "tool_use", "name": "n"}, text("a")]), "tool_use"),
        (json!([text("a"), {"type": "server_tool_use", "name": "web_search"}]), "pause_turn"),
        (json!([{"type": "compaction", "content": "a"}]), "compaction"),
        (json!([{"type": "compaction", "content": "a"}, text("b")]), "end_turn"),
    ] {
        assert_eq!(say(&content, &ask(&json!({}))).stop_reason, reason, "{content}");
    }
}

#[test]
fn a_message_has_the_fields_of_the_api_in_its_order() {
    let ask = ask(&json!({}));
    let usage = Usage { fresh: 9, read: 2, short: 3, long: 0 };
    let message = say(&json!([text("Tea.")]), &ask).message(&ask, "msg_1", usage, Map::new());
    let expected = concat!(
        r#"{"model":"claude-opus-5","id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Tea."}],"#,
        r#""stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":9,"#,
        r#""cache_creation_input_tokens":3,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":3,"#,
        r#""ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}"#
    );
    assert_eq!(message.to_string(), expected);
}

#[test]
fn what_the_script_says_of_the_message_counts() {
    let ask = ask(&json!({}));
    let prompt = Prompt::of(&ask.request, &ask.model, &Signer::default(), false);
    let message = |line: Line| {
        let said = Said::of(line, &ask, &prompt, &mut Signer::default(), 1);
        said.message(&ask, "msg_1", Usage::default(), Map::new())
    };
    let refused = message(Line { stop_reason: Some("refusal".to_owned()), ..Line::default() });
    assert_eq!(refused["stop_details"], json!({"type": "refusal", "category": null, "explanation": null}));
    let details = json!({"type": "refusal", "category": "bio"});
    let fields = json!({"stop_details": details}).as_object().unwrap().clone();
    let line =
        Line { stop_reason: Some("refusal".to_owned()), output_tokens: Some(77), fields, ..Line::default() };
    let refused = message(line);
    assert_eq!((&refused["stop_details"], &refused["usage"]["output_tokens"]), (&details, &json!(77)));
}

#[test]
fn the_model_that_took_over_signs_as_the_author() {
    let content = json!([{"type": "fallback", "from": {"model": "claude-opus-5"}, "to": {"model": "claude-opus-4-8"}}, text("T")]);
    let ask = ask(&json!({}));
    let message = say(&content, &ask).message(&ask, "msg_1", Usage::default(), Map::new());
    assert_eq!(message["model"], "claude-opus-4-8");
}

#[test]
fn what_servers_did_is_reported() {
    let content = json!([{"type": "server_tool_use", "name": "web_search"}, {"type": "web_search_tool_result", "content": []},
        {"type": "server_tool_use", "name": "code_execution"}, {"type": "code_execution_tool_result", "content": {}}, text("T")]);
    let mut ask = ask(&json!({}));
    let message = |ask: &Ask| say(&content, ask).message(ask, "msg_1", Usage::default(), Map::new());
    let used = json!({"web_search_requests": 1, "web_fetch_requests": 0});
    assert_eq!(message(&ask)["usage"]["server_tool_use"], used);
    assert_eq!(message(&ask)["container"]["id"], "container_1");
    for container in [json!("container_9"), json!({"id": "container_9", "skills": []})] {
        ask.fields.insert("container".to_owned(), container);
        assert_eq!(message(&ask)["container"]["id"], "container_9");
    }
}

/// JSON of the words that scripts are made of, in any order.
fn any_json() -> impl Strategy<Value = Value> {
    let words = "text thinking tool_use content error type name input id role citations signature data tool_use_id \
                 status retry_after message stop_reason output_tokens breaks_after server_tool_use mcp_tool_result \
                 compaction fallback to model redacted_thinking assistant refusal overloaded_error {last}";
    let words: Vec<&str> = words.split_whitespace().collect();
    let leaf = prop_oneof![
        prop::sample::select(words.clone()).prop_map(Value::from),
        prop::sample::select(vec![
            Value::Null,
            json!(0),
            json!(1),
            json!(529),
            json!(-1),
            json!(0.5),
            json!(true),
            json!("")
        ]),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let field = (prop::sample::select(words.clone()), inner.clone());
        let fields = prop::collection::vec(field, 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|all| all
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

/// A block that a script may have, with anything in its other fields.
fn any_block() -> impl Strategy<Value = Value> {
    let kinds = vec![
        "text",
        "thinking",
        "tool_use",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "compaction",
        "fallback",
        "redacted_thinking",
        "web_search_tool_result",
        "hologram",
    ];
    (prop::sample::select(kinds), "[a-cé {}]{0,20}", any_json(), any_json()).prop_map(|(kind, text, one, other)| {
        let mut block = json!({"type": kind, "name": "weather", "text": text, "thinking": text, "id": one, "signature": other,
            "citations": other, "tool_use_id": one, "content": other, "data": one, "caller": other, "to": one});
        if let Some(fields) = one.as_object() {
            block["input"] = json!(fields);
        }
        block
    })
}

proptest! {
    #[test]
    fn whatever_a_script_says_there_is_an_answer(
        junk in any_json(), blocks in prop::collection::vec(any_block(), 0..4), tokens in 0..40_u64, after in 0..9_usize,
    ) {
        let lines = [json!({"reply": junk}), json!({"reply": {"content": junk}}), json!({"when": junk, "reply": {"text": "{last}"}}),
            json!({"request": {"messages": junk}, "response": junk}), json!({"message": junk}), junk.clone(),
            json!({"reply": {"content": blocks, "breaks_after": after, "error": {"status": 529}}})];
        let mut ask = with_tokens(tokens);
        ask.stop_sequences = vec!["c".to_owned()];
        ask.is_stream = true;
        ask.fields.insert("tools".to_owned(), json!([{"name": "weather"}]));
        let prompt = Prompt::of(&ask.request, &ask.model, &Signer::default(), false);
        for line in lines {
            let Ok(mut script) = Script::from_lines(&line.to_string()) else { continue };
            let _: Option<Line> = script.summary(&ask, 3);
            let Play::Says(line) = script.play(&ask) else { continue };
            let said = Said::of(line, &ask, &prompt, &mut Signer::default(), 1);
            let whole = said.message(&ask, "msg_1", Usage::default(), Map::new());
            let events = events(&whole);
            prop_assert_eq!(events.last().map(|event| event.name), Some("message_stop"));
        }
    }

    #[test]
    fn junk_is_no_script(junk in "\\PC{0,40}") {
        let _: Result<Script, _> = Script::from_lines(&junk);
    }

    #[test]
    fn a_cut_text_begins_as_the_whole_and_is_no_shorter_than_it_must_be(text in "[a-c é茶\n.{}]{0,60}", tokens in 1..20_u64) {
        let said = say(&json!([{"type": "text", "text": text}]), &with_tokens(tokens));
        let kept = said.content.first().map_or("", |block| block["text"].as_str().unwrap());
        prop_assert!(text.starts_with(kept) && tokens_of_text(kept) <= tokens);
        if let Some(next) = text[kept.len()..].chars().next() {
            let longer = &text[..kept.len() + next.len_utf8()];
            prop_assert!(tokens_of_text(longer) > tokens);
        }
        prop_assert_eq!(said.stop_reason == "max_tokens", kept != text);
    }
}
