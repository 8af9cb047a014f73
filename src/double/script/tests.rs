//! Scripts, read and played.

use serde_json::{Value, json};

use super::*;
use crate::double::ask::Purpose;
use crate::double::{Call, Double, Settings, headers};

/// A request that lacks nothing, with some fields of its own.
pub(in crate::double) fn ask(request: &Value) -> Ask {
    let mut whole = json!({"model": "claude-opus-5", "max_tokens": 1_000, "messages": [user("Hello.")]});
    for (name, value) in request.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let headers = headers("any", "compact-2026-09-04");
    let body = whole.to_string();
    let call = Call { method: "POST", path: "/v1/messages", headers: &headers, body: &body };
    Ask::read(&call, Purpose::Message, &Settings::default()).unwrap()
}

pub(in crate::double) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn tool(name: &str) -> Value {
    json!({"name": name, "input_schema": {"type": "object"}})
}

fn script(lines: &[Value]) -> Script {
    let lines: String = lines.iter().map(|line| line.to_string() + "\n").collect();
    Script::from_lines(&lines).unwrap()
}

/// What is said: the text of the first block, or the error.
fn said(script: &mut Script, request: &Value) -> String {
    match script.play(&ask(request)) {
        Play::Says(line) => {
            let block = line.content.first().cloned().unwrap_or_default();
            let said = block["text"].as_str().or_else(|| block["content"].as_str());
            said.map_or_else(|| block.to_string(), str::to_owned)
        }
        Play::Fails { error, .. } | Play::Refuses(error) => format!("{}: {}", error.status, error.message),
    }
}

#[test]
fn replies_are_said_once_each_and_in_order() {
    let lines = "\u{feff}# A short talk.\r\n\r\n{\"reply\":{\"text\":\"One.\"}}\r\n  {\"reply\":{\"text\":\"Two.\"},\"times\":2}\n";
    let mut script = Script::from_lines(lines).unwrap();
    for expected in ["One.", "Two.", "Two."] {
        assert_eq!(said(&mut script, &json!({})), expected);
    }
    let used_up = said(&mut script, &json!({}));
    assert!(
        used_up.starts_with("500: memdir double: the script is used up: ") && used_up.contains("line 4"),
        "{used_up}"
    );
}

#[test]
fn the_first_line_that_fits_and_is_not_used_up_is_played() {
    let mut script = script(&[
        json!({"when": {"last": "tea"}, "reply": {"text": "Green."}, "times": 1}),
        json!({"reply": {"text": "First."}}),
        json!({"when": {"last": "tea"}, "reply": {"text": "Again green."}}),
        json!({"when": {}, "reply": {"text": "Whatever."}}),
    ]);
    let tea = json!({"messages": [user("Which tea?")]});
    let other = json!({"messages": [user("Which cup?")]});
    for (request, expected) in [
        (&other, "First."),
        (&tea, "Green."),
        (&tea, "Again green."),
        (&other, "Whatever."),
        (&tea, "Again green."),
    ] {
        assert_eq!(said(&mut script, request), expected, "{request}");
    }
}

#[test]
fn a_rule_fits_when_all_of_it_holds() {
    let result = |text: &str| {
        json!([user("Weather?"), {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}]}])
    };
    let removed = json!([user("Hello."), {"role": "system", "content": [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "tool_name": "weather"}},
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "wind", "input_schema": {"type": "object"}}}}]}]);
    let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    for (when, request, fits) in [
        (json!({"last": "ell"}), json!({}), true),
        (json!({"last": "ELL"}), json!({}), false),
        (
            json!({"last": "ell"}),
            json!({"messages": [user("Hello."), assistant("Hi."), user("Bye.")]}),
            false,
        ),
        (json!({"last": "ell"}), json!({"messages": [user("Hello."), user("Are you there?")]}), true),
        (json!({"last": "Weather"}), json!({"messages": result("Sun.")}), true),
        (json!({"last": "Sun"}), json!({"messages": result("Sun.")}), false),
        (json!({"result": "Sun"}), json!({"messages": result("Sun.")}), true),
        (json!({"result": "Rain"}), json!({"messages": result("Sun.")}), false),
        (json!({"result": ""}), json!({}), false),
        (json!({"system": "short"}), json!({"system": "Be short."}), true),
        (json!({"system": "short"}), json!({"system": [{"type": "text", "text": "Be short."}]}), true),
        (json!({"system": "short"}), json!({}), false),
        (json!({"model": "opus"}), json!({}), true),
        (json!({"model": "haiku"}), json!({}), false),
        (json!({"tool": "weather"}), json!({"tools": tools}), true),
        (json!({"tool": "weather"}), json!({"tools": tools, "messages": removed}), false),
        (json!({"tool": "wind"}), json!({"tools": tools, "messages": removed}), true),
        (json!({"turn": 0}), json!({}), true),
        (json!({"turn": 1}), json!({"messages": result("Sun.")}), true),
        (json!({"turn": 1, "result": "Rain"}), json!({"messages": result("Sun.")}), false),
        (json!({"compaction": true}), json!({"compaction": {"type": "summarize"}}), true),
        (json!({"compaction": false}), json!({"compaction": {"type": "summarize"}}), false),
        (json!({"compaction": true}), json!({}), false),
    ] {
        let mut script = script(&[json!({"when": when, "reply": {"text": "It fits."}})]);
        assert_eq!(said(&mut script, &request) == "It fits.", fits, "{when} {request}");
    }
}

#[test]
fn texts_are_filled_in() {
    let reply = json!({"text": "{turn} {last}? {{last} {other} {", "tool_use": {"name": "n", "input": {"a": [{"b": "{model}"}]}}});
    let request =
        json!({"tools": [tool("n")], "messages": [user("a {turn}"), assistant("b"), user("{last}")]});
    let Play::Says(line) = script(&[json!({"reply": reply})]).play(&ask(&request)) else { panic!() };
    assert_eq!(line.content[0]["text"], "1 {last}? {{last} {other} {");
    assert_eq!(line.content[1]["input"], json!({"a": [{"b": "claude-opus-5"}]}));
    let called = json!({"messages": [user("Weather?"), {"role": "assistant", "content": [
        {"type": "tool_use", "id": "toolu_1", "name": "n", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sun."}]}]});
    let reply = json!({"text": "{last} {result}"});
    assert_eq!(said(&mut script(&[json!({"reply": reply})]), &called), "Weather? Sun.");
    let content = json!([{"type": "text", "text": "{last}"}]);
    assert_eq!(said(&mut script(&[json!({"reply": {"content": content}})]), &json!({})), "{last}");
}

#[test]
fn what_a_reply_says_becomes_blocks() {
    let tools = json!({"tools": [tool("a"), tool("b")]});
    let direct = json!({"type": "direct"});
    for (reply, content) in [
        (json!({"text": "T."}), json!([{"type": "text", "text": "T."}])),
        (
            json!({"tool_use": {"name": "a", "id": "toolu_7"}, "text": "T.", "thinking": "H."}),
            json!([{"type": "thinking", "thinking": "H."}, {"type": "text", "text": "T."},
                {"type": "tool_use", "id": "toolu_7", "name": "a", "input": {}, "caller": direct}]),
        ),
        (
            json!({"tool_use": [{"name": "a", "input": {"x": 1}}, {"name": "b"}]}),
            json!([{"type": "tool_use", "name": "a", "input": {"x": 1}, "caller": direct},
                {"type": "tool_use", "name": "b", "input": {}, "caller": direct}]),
        ),
        (json!({"content": []}), json!([])),
        (json!({"content": [{"type": "hologram", "x": 1}]}), json!([{"type": "hologram", "x": 1}])),
    ] {
        let Play::Says(line) = script(&[json!({"reply": reply})]).play(&ask(&tools)) else {
            panic!("{reply}")
        };
        assert_eq!(Value::Array(line.content), content, "{reply}");
    }
}

#[test]
fn errors_have_the_type_of_their_status() {
    for (error, status, kind, message) in [
        (json!({"status": 529}), 529, "overloaded_error", "Overloaded"),
        (json!({"status": 503}), 503, "api_error", "Internal server error"),
        (json!({"status": 418, "message": "Tea."}), 418, "invalid_request_error", "Tea."),
        (json!({"type": "not_found_error"}), 404, "not_found_error", "Not Found"),
        (json!({"status": 500, "type": "overloaded_error"}), 500, "overloaded_error", "Overloaded"),
    ] {
        let mut error = error;
        error["retry_after"] = json!(3);
        let play = script(&[json!({"reply": {"error": error}})]).play(&ask(&json!({"stream": true})));
        let expected = ApiError::new(status, kind, message.to_owned());
        assert_eq!(play, Play::Fails { error: expected, retry_after: Some(3) });
    }
}

#[test]
fn an_error_beside_a_message_is_for_its_stream() {
    let line = json!({"reply": {"text": "T.", "breaks_after": 3, "error": {"status": 529}}, "times": 2});
    let mut script = script(&[line]);
    assert!(said(&mut script, &json!({})).starts_with("529"));
    let Play::Says(line) = script.play(&ask(&json!({"stream": true}))) else { panic!() };
    assert_eq!((line.breaks_after, line.breaks_with.unwrap().kind), (Some(3), "overloaded_error"));
}

#[test]
fn a_tool_that_is_not_offered_cannot_be_called() {
    let mut script =
        script(&[json!({"reply": {"tool_use": {"name": "weather"}}}), json!({"reply": {"text": "T."}})]);
    let error =
        "500: memdir double: line 1 of the script calls the tool `weather`, which the request does not offer";
    assert_eq!(said(&mut script, &json!({})), error);
    // Whoever tries again is told the same.
    assert_eq!(said(&mut script, &json!({})), error);
    assert!(said(&mut script, &json!({"tools": [tool("weather")]})).contains("tool_use"));
    // What tools a set of them has is not told.
    let mut offers_a_set = ask(&json!({}));
    offers_a_set.fields.insert("tools".to_owned(), json!([{"type": "browser_toolset_20260801"}]));
    assert!(Heard::of(&offers_a_set).is_offered("left_click"));
}

#[test]
fn a_recorded_session_is_played_to_who_says_the_same() {
    let message = |text: &str| {
        json!({"type": "message", "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"output_tokens": 7}})
    };
    let lines = [
        json!({"request": {"messages": [user("A")]}, "response": message("B")}),
        json!({"request": {"messages": [user("A")]}, "response": {"input_tokens": 3}}),
        json!({"request": {"messages": [user("A"), assistant("B"), user("C")]}, "status": 529,
            "response": {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}}),
        json!({"request": {"messages": [user("A"), assistant("B"), user("C")]}, "response": message("D")}),
    ];
    let mut script = script(&lines);
    let refused = |script: &mut Script, messages: Value| {
        let error = said(script, &json!({"messages": messages}));
        error
            .strip_prefix("400: memdir double: line 1 of the script was recorded otherwise: ")
            .unwrap()
            .to_owned()
    };
    for (messages, why) in [
        (
            json!([user("X")]),
            "messages.0.content.0 is `{\"text\":\"X\",\"type\":\"text\"}`, and was `{\"text\":\"A\",\"type\":\"text\"}`",
        ),
        (json!([user("A"), user("C")]), "messages.1.content.0 was not there"),
        (json!([assistant("A")]), "messages.0.content.0 is of the role assistant, and was of user"),
        (json!([]), "the request ends before messages.0.content.0: {\"text\":\"A\",\"type\":\"text\"}"),
    ] {
        assert_eq!(refused(&mut script, messages), why);
    }
    let marked = json!({"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}});
    assert_eq!(said(&mut script, &json!({"messages": [{"role": "user", "content": [marked]}]})), "B");
    let next = json!({"messages": [user("A"), {"role": "assistant", "content": [{"type": "text", "text": "B", "citations": null}]}, user("C")]});
    assert_eq!(said(&mut script, &next), "529: Busy.");
    let Play::Says(line) = script.play(&ask(&next)) else { panic!() };
    assert_eq!((line.stop_reason.as_deref(), line.output_tokens), (Some("end_turn"), Some(7)));
    assert!(said(&mut script, &next).contains("used up"));
}

#[test]
fn conversations_that_were_recorded_together_are_played_in_any_order() {
    let line = |messages: Value, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"request": {"messages": messages}, "response": {"content": content}})
    };
    let (tea, cup) = (json!([user("Tea?")]), json!([user("Cup?")]));
    let more = |messages: &Value, said: &str, next: &str| json!([messages[0], assistant(said), user(next)]);
    let (black, blue) = (more(&tea, "Green.", "No, black."), more(&cup, "Red.", "No, blue."));
    let mut script = script(&[
        line(tea.clone(), "Green."),
        line(cup.clone(), "Red."),
        line(tea.clone(), "Green again."),
        line(black.clone(), "Black."),
        line(blue.clone(), "Blue."),
    ]);
    for (messages, expected) in [
        (&cup, "Red."),
        (&blue, "Blue."),
        (&tea, "Green."),
        (&tea, "Green again."),
        (
            &more(&tea, "Green.", "No, white."),
            "400: memdir double: line 4 of the script was recorded otherwise: \
            messages.2.content.0 is `{\"text\":\"No, white.\",\"type\":\"text\"}`, \
            and was `{\"text\":\"No, black.\",\"type\":\"text\"}`",
        ),
        (&black, "Black."),
    ] {
        assert_eq!(said(&mut script, &json!({"messages": messages})), expected, "{messages}");
    }
    let again = said(&mut script, &json!({"messages": cup}));
    assert!(again.starts_with("500: ") && again.contains("line 2, and it was played"), "{again}");
    let other = said(&mut script, &json!({}));
    assert!(other.starts_with("400: ") && other.contains("up to line 5 was played"), "{other}");
}

#[test]
fn a_session_in_which_another_model_went_on_is_played() {
    let thinks = json!({"when": {}, "reply": {"thinking": "Tea.", "text": "Green."}});
    let mut request = json!({"model": "claude-opus-5-5", "max_tokens": 2_000, "thinking": {"type": "adaptive"},
        "messages": [user("Which?")]});
    let mut recorder = Double::new(script(&[thinks]));
    let mut lines = Vec::new();
    for model in ["claude-opus-5-5", "claude-opus-5"] {
        request["model"] = json!(model);
        let response = recorder.create(&request, &[]).unwrap();
        lines.push(json!({"request": request, "response": response}));
        let messages = request["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": response["content"]}));
        messages.push(user("Why?"));
    }
    let mut player = Double::new(script(&lines));
    for line in &lines {
        let said = player.create(&line["request"], &[]).unwrap();
        assert_eq!(said["content"], line["response"]["content"]);
    }
}

#[test]
fn a_rule_after_what_was_recorded_is_for_what_was_not() {
    let recorded = json!({"request": {"messages": [user("A")]}, "response": {"content": []}});
    let mut script = script(&[recorded, json!({"when": {}, "reply": {"text": "Whatever."}})]);
    assert_eq!(said(&mut script, &json!({"messages": [user("B")]})), "Whatever.");
    assert_eq!(said(&mut script, &json!({"messages": [user("A")]})), "null");
}

#[test]
fn a_difference_far_down_in_a_text_is_shown() {
    let request = |end: &str| json!({"messages": [user(&format!("{}{end}", "é ".repeat(1_000)))]});
    let mut script = script(&[json!({"request": request("tea"), "response": {"content": []}})]);
    let error = said(&mut script, &request("mate"));
    assert!(error.contains("é mate\",") && error.contains("é tea\",") && error.len() < 400, "{error}");
}

#[test]
fn the_log_of_a_conversation_is_said_in_order() {
    let mut log = crate::context::Transcript::default();
    for message in [
        user("A"),
        assistant("B"),
        user("C"),
        json!({"role": "assistant", "content": [
        {"type": "text", "text": "D", "cache_control": {"type": "ephemeral"}}]}),
    ] {
        log.push(crate::context::Message::from_value(&message).unwrap());
    }
    log.push(crate::context::Message::from_json("{\n\"role\":\"assistant\",\"content\":\"E\"}").unwrap());
    log.note(crate::context::Note::Flushed);
    let lines: String = log.lines().map(|line| line + "\n").collect();
    let mut script = Script::from_lines(&lines).unwrap();
    let Play::Says(first) = script.play(&ask(&json!({}))) else { panic!() };
    let Play::Says(second) = script.play(&ask(&json!({}))) else { panic!() };
    assert_eq!((&first.content[0], &second.content[0]), (&text("B"), &text("D")));
    assert_eq!(said(&mut script, &json!({})), "E");
}

#[test]
fn without_a_script_it_repeats_what_was_said() {
    let mut script = Script::default();
    let answer = said(&mut script, &json!({}));
    assert!(answer.contains("no script") && answer.ends_with("You said: Hello."), "{answer}");
    let results = json!({"messages": [user("Weather?"),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Sun."}]}]}]});
    assert!(said(&mut script, &results).ends_with("The tools answered: Sun."));
    let long = json!({"messages": [user(&"é".repeat(1 << 20))]});
    assert!(said(&mut script, &long).len() < 1_000);

    let summary =
        json!({"compaction": {"type": "summarize"}, "messages": [user("A"), assistant("B"), user("C")]});
    assert!(said(&mut script, &summary).contains("3 messages"));
    let Some(line) = script.summary(&ask(&json!({})), 12) else { panic!() };
    assert!(line.content[0]["content"].as_str().unwrap().contains("12 messages"));
}

#[test]
fn a_tool_that_must_be_called_is_called() {
    let schema = json!({"type": "object", "required": ["city", "days", "unit", "at"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}, "unit": {"enum": ["C", "F"]},
        "at": {"type": "object", "required": ["hour"], "properties": {"hour": {"type": ["number", "null"]}}},
        "more": {"type": "string"}}});
    let tools = json!([{"type": "web_search_20250305", "name": "web_search"}, {"name": "now", "input_schema": {"type": "object"}},
        {"name": "weather", "input_schema": schema}]);
    let call =
        |choice: Value| match Script::default().play(&ask(&json!({"tools": tools, "tool_choice": choice}))) {
            Play::Says(line) => line.content[0].clone(),
            other => panic!("{other:?}"),
        };
    assert_eq!(call(json!({"type": "any"}))["name"], "now");
    let input = json!({"city": "", "days": 1, "unit": "C", "at": {"hour": 0}});
    assert_eq!(call(json!({"type": "tool", "name": "weather"}))["input"], input);
    assert_eq!(call(json!({"type": "none"}))["type"], "text");
}

#[test]
fn a_summary_is_said_by_who_is_asked_for_one() {
    let lines = [
        json!({"reply": {"text": "Later."}}),
        json!({"when": {"compaction": true}, "reply": {"text": "Tea was talked about."}, "times": 2}),
        json!({"when": {"compaction": true}, "reply": {"error": {"status": 500}}, "times": 1}),
        json!({"reply": {"content": [{"type": "compaction", "content": "Told."}, {"type": "text", "text": "Then."}]}}),
    ];
    let mut script = script(&lines);
    let asked = json!({"compaction": {"type": "summarize"}});
    assert_eq!(said(&mut script, &asked), "Tea was talked about.");
    let content =
        |script: &mut Script| script.summary(&ask(&json!({})), 1).map(|line| line.content[0].clone());
    let summary = json!({"type": "compaction", "content": "Tea was talked about."});
    assert_eq!(content(&mut script), Some(summary));
    assert_eq!(content(&mut script), None);
    assert_eq!(said(&mut script, &json!({})), "Later.");
    assert_eq!(content(&mut script).unwrap()["content"], "Told.");
    assert_eq!(said(&mut script, &json!({})), "Then.");
}

#[test]
fn what_is_no_script_is_told_with_what_to_do() {
    for (line, why) in [
        ("{", "no JSON, at column 1: EOF while parsing an object; a script has one object a line"),
        ("[1]", "a line is a list, where an object belongs"),
        ("{}", "`reply` is missing: {\"reply\": {\"text\": …}}"),
        (r#"{"repply":{}}"#, "a line has no field `repply`; the nearest known one is `reply`"),
        (r#"{"text":"a"}"#, "`text` belongs into `reply`: {\"reply\": {\"text\": …}}"),
        (r#"{"reply":"a"}"#, "`reply` is a text, where an object belongs"),
        (
            r#"{"reply":{}}"#,
            "`reply` says nothing: `text`, `tool_use`, `content` or `error` belongs there (`\"content\": []` is an empty message)",
        ),
        (r#"{"reply":{"txt":"a"}}"#, "`reply` has no field `txt`; the nearest known one is `text`"),
        (r#"{"reply":{"text":7}}"#, "`text` is a number, where a text belongs"),
        (
            r#"{"reply":{"text":" "}}"#,
            "`text` is blank, which no history may have: `\"content\": []` is an empty message",
        ),
        (r#"{"reply":{"content":"a"}}"#, "`content` is a list of blocks; a text goes into `text`"),
        (r#"{"reply":{"content":[7]}}"#, "`content.0`: a block is a number, where an object belongs"),
        (r#"{"reply":{"content":[{}]}}"#, "`content.0`: a block needs a `type`"),
        (r#"{"reply":{"content":[{"type":"text"}]}}"#, "`content.0`: `text` is missing in `text`"),
        (
            r#"{"reply":{"content":[{"type":"tool_use","name":"a","input":[]}]}}"#,
            "`content.0`: `input` is a list, where an object belongs",
        ),
        (
            r#"{"reply":{"content":[],"text":"a"}}"#,
            "`content` holds all blocks: no `text`, `thinking` or `tool_use` beside it",
        ),
        (r#"{"reply":{"tool_use":{"input":{}}}}"#, "`tool_use` needs the `name` of a tool"),
        (
            r#"{"reply":{"tool_use":{"name":"a","inputs":{}}}}"#,
            "`tool_use` has no field `inputs`; the nearest known one is `input`",
        ),
        (
            r#"{"reply":{"text":"a","stop_reason":"stop"}}"#,
            "`stop_reason` is never `stop`; the nearest that is, is `end_turn`",
        ),
        (
            r#"{"reply":{"text":"a","output_tokens":-1}}"#,
            "`output_tokens` is a number, where a whole number that is not negative belongs",
        ),
        (r#"{"reply":{"error":{}}}"#, "`error` needs a `status`, or a `type`"),
        (r#"{"reply":{"error":{"status":200}}}"#, "`status` of an error is from 400 to 599, not 200"),
        (
            r#"{"reply":{"error":{"type":"overloaded"}}}"#,
            "no error has the type `overloaded`; the nearest known one is `overloaded_error`",
        ),
        (
            r#"{"reply":{"error":{"status":500},"breaks_after":1}}"#,
            "`breaks_after` breaks a message, and there is none: `text` or `content` belongs beside `error`",
        ),
        (
            r#"{"reply":{"text":"a","error":{"status":500}}}"#,
            "`error` beside a message ends its stream: `breaks_after` says after how many events",
        ),
        (r#"{"reply":{"text":"a"},"when":[]}"#, "`when` is a list, where an object belongs"),
        (
            r#"{"reply":{"text":"a"},"when":{"lst":"a"}}"#,
            "`when` has no field `lst`; the nearest known one is `last`",
        ),
        (
            r#"{"reply":{"text":"a"},"when":{"turn":"1"}}"#,
            "`turn` is a text, where a whole number that is not negative belongs",
        ),
        (
            r#"{"reply":{"text":"a"},"when":{"compaction":1}}"#,
            "`compaction` is a number, where true or false belongs",
        ),
        (
            r#"{"reply":{"text":"a"},"times":0}"#,
            "`times` is 0, and the line would never be played: 1 or more, or no line",
        ),
        (
            r#"{"reply":{"text":"a"},"request":{}}"#,
            "a recorded line has no field `reply`; the nearest known one is `request`",
        ),
        (
            r#"{"reply":{"text":"a"},"status":1}"#,
            "a line with a reply has no field `status`; the nearest known one is `times`",
        ),
        (r#"{"request":{"messages":[]}}"#, "`response` is missing: the body of the response"),
        (r#"{"request":{"messages":[]},"response":{}}"#, "`response` is no message: it has no `content`"),
        (r#"{"request":{},"response":{"content":[]}}"#, "`request` is none: messages: a list of messages"),
        (
            r#"{"request":{"messages":[]},"response":{"content":[]},"status":500}"#,
            "`status` is 500, and `response` is no error",
        ),
        (r#"{"message":{"role":"assistant"}}"#, "`content` is a list of blocks; a text goes into `text`"),
        (
            r#"{"message":{"role":"robot","content":""}}"#,
            "`role` of `message` is `user`, `assistant` or `system`",
        ),
        (r#"{"lines":7}"#, "`lines` is the JSON of a message, in a string"),
    ] {
        let bad = Script::from_lines(&format!("\n# A comment.\n{line}\n")).unwrap_err();
        assert_eq!((bad.line, bad.why.as_str()), (3, why), "{line}");
    }
    let error = "{}".parse::<Script>().unwrap_err().to_string();
    assert!(error.starts_with("line 1 of the script: `reply` is missing"), "{error}");
}

#[test]
fn large_and_deep_lines_are_read_or_refused() {
    let large = format!(r#"{{"reply":{{"text":"{}"}}}}"#, "tea ".repeat(3_000_000));
    assert_eq!(Script::from_lines(&large).unwrap().rows.len(), 1);
    let long_name = format!(r#"{{"{}":1}}"#, "n".repeat(10_000_000));
    assert!(Script::from_lines(&long_name).unwrap_err().why.len() < 1_000);
    let deep = format!(r#"{{"reply":{{"content":{}"#, "[".repeat(1_000_000));
    assert!(Script::from_lines(&deep).unwrap_err().why.contains("recursion limit"));
}

#[test]
fn what_only_fills_the_cache_is_said_nothing_and_uses_up_nothing() {
    let mut script = script(&[json!({"reply": {"text": "One."}})]);
    let mut warms = ask(&json!({}));
    warms.max_tokens = 0;
    assert_eq!(script.play(&warms), Play::Says(Line::default()));
    assert_eq!(said(&mut script, &json!({})), "One.");
}

/// The examples in what people read are scripts.
#[test]
fn the_examples_of_the_format_are_scripts() {
    let examples: Vec<&str> =
        Script::FORMAT.lines().map(str::trim).filter(|line| line.starts_with("{\"")).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        Script::from_lines(example).unwrap_or_else(|bad| panic!("{example}: {bad}"));
    }
    // Longer ones are broken where they are shown, and can be copied no more.
    let long: Vec<&str> = Script::FORMAT.lines().filter(|line| line.len() > 98).collect();
    assert!(long.is_empty(), "{long:?}");
}
