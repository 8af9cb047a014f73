//! What is cleared of a history, and what stands for it.

use std::time::Duration;

use super::*;
use crate::double::ask::Purpose;
use crate::double::script::Line;
use crate::double::{Call, Double, Script, Settings, headers};

const BETAS: [&str; 3] = ["context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"];

/// What comes of a summary that is asked for.
fn demanded(told: &Summary, ask: &Ask) -> Option<Value> {
    let signer = Signer::default();
    told.on_demand(ask, &Prompt::of(&ask.request, &ask.model, &signer, false), &signer)
}

/// A request as it is read. Which edits a model takes is another question: they are put in behind its back.
fn ask(request: &Value) -> Ask {
    let mut plain = request.clone();
    let fields = plain.as_object_mut().unwrap();
    fields.retain(|name, _| name != "context_management");
    fields.insert("model".to_owned(), json!("claude-opus-5"));
    let (body, betas) = (plain.to_string(), BETAS.join(","));
    let headers = headers("any", &betas);
    let call = Call { method: "POST", path: "/v1/messages", headers: &headers, body: &body };
    let mut ask = Ask::read(&call, Purpose::Message, &Settings::default()).unwrap();
    request["model"].as_str().unwrap().clone_into(&mut ask.model);
    ask.edits = request["context_management"]["edits"].as_array().cloned().unwrap_or_default();
    ask
}

fn edited(request: &Value) -> Edited {
    let ask = ask(request);
    let prompt = Prompt::of(&ask.request, &ask.model, &Signer::default(), false);
    let edited = edit(&ask, &prompt);
    let after = Prompt::of(&edited.request, &ask.model, &Signer::default(), false).tokens();
    let cleared: u64 = edited.applied.iter().map(|it| it["cleared_input_tokens"].as_u64().unwrap()).sum();
    // What is cleared by default is not told of.
    assert!(ask.edits.is_empty() || prompt.tokens() - cleared == after, "{:?}", edited.applied);
    edited
}

/// Words of about so many thousand tokens.
fn words(thousands: usize) -> String {
    "word ".repeat(800 * thousands)
}

fn answer(id: usize, content: &Value) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{id}"), "content": content}]})
}

/// A task, and rounds of one call each, by the tool and the thousands of tokens of its result.
fn rounds(rounds: &[(&str, usize)], edit: &Value) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Look."})];
    for (id, (tool, thousands)) in rounds.iter().enumerate() {
        let call = json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": tool, "input": {"path": "x".repeat(200)}});
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(answer(id, &json!(words(*thousands))));
    }
    json!({"model": "claude-sonnet-5", "max_tokens": 1, "messages": messages, "context_management": {"edits": [edit]},
        "tools": [{"name": "read", "input_schema": {"type": "object"}}, {"name": "find", "input_schema": {"type": "object"}}]})
}

/// About, rounds, the edit, which results are cleared, which inputs.
type Case = (&'static str, Vec<(&'static str, usize)>, Value, Vec<usize>, Vec<usize>);

#[test]
fn results_of_tools_are_cleared_oldest_first() {
    let read = |number: usize| vec![("read", 10); number];
    let mixed = vec![("read", 10), ("find", 10), ("read", 10), ("find", 10), ("read", 10)];
    let tokens = |n: u64| json!({"type": "input_tokens", "value": n});
    let uses = |n: u64| json!({"type": "tool_uses", "value": n});
    let cases: Vec<Case> = vec![
        ("nothing below the trigger", read(8), json!({}), vec![], vec![]),
        ("at 100,000 tokens all but three", read(10), json!({}), vec![0, 1, 2, 3, 4, 5, 6], vec![]),
        ("and those stay cleared, until it is time again", read(14), json!({}), (0..7).collect(), vec![]),
        ("time again", read(17), json!({}), (0..14).collect(), vec![]),
        ("at so many uses", read(5), json!({"trigger": uses(4)}), vec![0, 1], vec![]),
        ("not above so many uses", read(4), json!({"trigger": uses(4)}), vec![], vec![]),
        ("keep", read(5), json!({"trigger": tokens(45_000), "keep": uses(1)}), vec![0, 1, 2, 3], vec![]),
        (
            "enough",
            read(5),
            json!({"trigger": tokens(45_000), "clear_at_least": tokens(19_000)}),
            vec![0, 1],
            vec![],
        ),
        (
            "not enough",
            read(5),
            json!({"trigger": tokens(45_000), "clear_at_least": tokens(21_000)}),
            vec![],
            vec![],
        ),
        (
            "enough by and by",
            read(6),
            json!({"trigger": tokens(45_000), "clear_at_least": tokens(21_000)}),
            vec![0, 1, 2],
            vec![],
        ),
        (
            "tools that stay",
            mixed.clone(),
            json!({"trigger": tokens(45_000), "keep": uses(1), "exclude_tools": ["find"]}),
            vec![0, 2],
            vec![],
        ),
        (
            "inputs",
            read(5),
            json!({"trigger": tokens(45_000), "clear_tool_inputs": true}),
            vec![0, 1],
            vec![0, 1],
        ),
        (
            "inputs of some tools",
            mixed,
            json!({"trigger": tokens(45_000), "clear_tool_inputs": ["find"]}),
            vec![0, 1],
            vec![1],
        ),
    ];
    for (about, history, mut edit, results, inputs) in cases {
        edit["type"] = json!("clear_tool_uses_20250919");
        let edited = edited(&rounds(&history, &edit));
        let messages = edited.request.to_value()["messages"].clone();
        let numbers = |is_gone: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..history.len()).filter(|number| is_gone(*number)).collect()
        };
        let text =
            |number: usize| messages[2 + 2 * number]["content"][0]["content"].as_str().unwrap().to_owned();
        assert_eq!(numbers(&|number| text(number).starts_with('[')), results, "{about}");
        let input = |number: usize| messages[1 + 2 * number]["content"][0]["input"] == json!({});
        assert_eq!(numbers(&input), inputs, "{about}");
        let told: Vec<&Value> = edited.applied.iter().map(|it| &it["cleared_tool_uses"]).collect();
        assert_eq!(
            told,
            (!results.is_empty()).then_some(&json!(results.len())).into_iter().collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_mark_in_what_is_cleared_stays() {
    let mut request = rounds(
        &[("read", 1); 2],
        &json!({"type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 0}, "keep": {"type": "tool_uses", "value": 0}}),
    );
    let mark = json!({"type": "ephemeral"});
    request["messages"][2] = answer(0, &json!([{"type": "text", "text": words(1), "cache_control": mark}]));
    let edited = edited(&request).request.to_value();
    assert_eq!(edited["messages"][2]["content"][0]["cache_control"], mark);
    assert_eq!(edited["messages"][4]["content"][0]["cache_control"], Value::Null);
}

#[test]
fn thinking_of_earlier_turns_is_cleared() {
    let think = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "x"});
    let say = |text: &str| json!({"type": "text", "text": text});
    let history = |model: &str, edits: &Value| {
        json!({"model": model, "max_tokens": 1, "context_management": {"edits": edits}, "messages": [
            {"role": "user", "content": "A"},
            {"role": "assistant", "content": [think("1"), say("a")]},
            {"role": "user", "content": "B"},
            {"role": "assistant", "content": [say("b")]},
            {"role": "user", "content": "C"},
            {"role": "assistant", "content": [think("2"), {"type": "tool_use", "id": "toolu_0", "name": "read", "input": {}}]},
            answer(0, &json!("x")),
            {"role": "assistant", "content": [think("3"), say("c")]},
            {"role": "user", "content": "D"},
            {"role": "assistant", "content": [think("4"), {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}]},
            answer(1, &json!("x")),
        ]})
    };
    let keep = |keep: Value| json!([{"type": "clear_thinking_20251015", "keep": keep}]);
    let turns = |turns: u64| keep(json!({"type": "thinking_turns", "value": turns}));
    let bare = json!([{"type": "clear_thinking_20251015"}]);
    // About, the model, the edits, what is left, how many turns were cleared.
    for (about, model, edits, left, cleared) in [
        ("one turn", "claude-sonnet-5", turns(1), "4", Some(2)),
        ("turns with thinking count", "claude-sonnet-5", turns(2), "234", Some(1)),
        ("more than there are", "claude-sonnet-5", turns(9), "1234", None),
        ("all", "claude-opus-4-1", keep(json!("all")), "1234", None),
        ("all, as an object", "claude-opus-4-1", keep(json!({"type": "all"})), "1234", None),
        ("what is usual: all", "claude-opus-4-5", bare.clone(), "1234", None),
        ("what is usual: all", "claude-fable-5-1", json!([]), "1234", None),
        ("what was usual: one turn", "claude-sonnet-4-5-20250929", bare, "4", Some(2)),
        ("of earlier models without being asked", "claude-sonnet-4-20250514", json!([]), "4", None),
        ("of small models without being asked", "claude-haiku-4-5-20251001", json!([]), "4", None),
        ("not of later ones", "claude-sonnet-4-6", json!([]), "1234", None),
    ] {
        let edited = edited(&history(model, &edits));
        let whole = edited.request.to_value();
        let blocks = whole["messages"].as_array().unwrap().iter().filter_map(|it| it["content"].as_array());
        let thoughts: String = blocks.flatten().filter_map(|block| block["thinking"].as_str()).collect();
        assert_eq!(thoughts, left, "{about}: {model}");
        let told = edited.applied.first().map(|it| it["cleared_thinking_turns"].clone());
        assert_eq!(told, cleared.map(|turns: u64| json!(turns)), "{about}: {model}");
    }
}

#[test]
fn a_summary_is_due_at_so_many_tokens_that_are_left() {
    let clear = json!({"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 0}});
    let compact = |more: Value| {
        let mut edit = more;
        edit["type"] = json!("compact_20260112");
        edit
    };
    let at = |n: u64| json!({"trigger": {"type": "input_tokens", "value": n}});
    let plain = Compaction { pauses: false, instructions: None };
    for (about, thousands, edits, due) in [
        ("below what is usual", 140, json!([compact(json!({}))]), None),
        ("above it", 152, json!([compact(json!({}))]), Some(plain.clone())),
        ("at a trigger", 60, json!([compact(at(55_000))]), Some(plain.clone())),
        ("below a trigger", 50, json!([compact(at(55_000))]), None),
        ("what was cleared before does not count", 160, json!([clear, compact(json!({}))]), None),
        ("what is cleared after does", 160, json!([compact(json!({})), clear]), Some(plain)),
        (
            "with more",
            160,
            json!([compact(json!({"pause_after_compaction": true, "instructions": "Be short."}))]),
            Some(Compaction { pauses: true, instructions: Some("Be short.".to_owned()) }),
        ),
    ] {
        let mut request = rounds(&[("read", thousands / 2); 2], &json!({}));
        request["context_management"]["edits"] = edits;
        assert_eq!(edited(&request).compaction, due, "{about}");
    }
}

/// A conversation of about so many thousand tokens.
fn talk(thousands: usize) -> Value {
    json!({"model": "claude-opus-5", "max_tokens": 1_000, "messages": [
        {"role": "user", "content": words(thousands)},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "And then?"},
    ]})
}

fn double() -> Double {
    Double::new(Script::from_lines("").unwrap())
}

#[test]
fn at_a_threshold_a_summary_comes_before_the_answer() {
    let mut api = double();
    let mut request = talk(60);
    let trigger = json!({"type": "input_tokens", "value": 50_000});
    request["context_management"] = json!({"edits": [{"type": "compact_20260112", "trigger": trigger}]});
    let answer = api.create(&request, &BETAS).unwrap();
    assert_eq!(answer["content"][0]["type"], "compaction");
    assert!(answer["content"][0]["content"].as_str().unwrap().contains("3 messages"), "{answer}");
    assert_eq!((&answer["content"][1]["type"], &answer["stop_reason"]), (&json!("text"), &json!("end_turn")));
    assert_eq!(answer["context_management"]["applied_edits"], json!([]));
    let usage = &answer["usage"];
    let [summary, message] = &usage["iterations"].as_array().unwrap()[..] else { panic!("{usage}") };
    assert_eq!((&summary["type"], &message["type"]), (&json!("compaction"), &json!("message")));
    assert!(summary["input_tokens"].as_u64().unwrap() > 60_000, "{usage}");
    assert!(message["input_tokens"].as_u64().unwrap() < 100, "{usage}");
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&message["input_tokens"], &message["output_tokens"])
    );
    // It goes on from there: what was before is not read any more, and is no reason for another summary.
    let list = request["messages"].as_array_mut().unwrap();
    list.push(json!({"role": "assistant", "content": answer["content"]}));
    list.push(json!({"role": "user", "content": "Go on."}));
    let answer = api.create(&request, &BETAS).unwrap();
    assert_eq!(
        (&answer["content"][0]["type"], &answer["usage"]["iterations"]),
        (&json!("text"), &Value::Null)
    );
    assert!(answer["usage"]["input_tokens"].as_u64().unwrap() < 200, "{answer}");
}

#[test]
fn after_a_summary_the_response_may_end() {
    let mut request = talk(60);
    request["context_management"] = json!({"edits": [{"type": "compact_20260112", "pause_after_compaction": true,
        "trigger": {"type": "input_tokens", "value": 50_000}}]});
    let answer = double().create(&request, &BETAS).unwrap();
    assert_eq!(answer["content"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(
        (&answer["content"][0]["type"], &answer["stop_reason"]),
        (&json!("compaction"), &json!("compaction"))
    );
    assert_eq!((&answer["usage"]["input_tokens"], &answer["usage"]["output_tokens"]), (&json!(0), &json!(0)));
    assert_eq!(answer["usage"]["iterations"].as_array().unwrap().len(), 1);
}

#[test]
fn on_demand_a_summary_comes_alone_and_takes_the_place_of_all() {
    let mut api = double();
    let mut request = talk(3);
    // What the assistant said may be last.
    request["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "Then tea."}));
    request["compaction"] = json!({"type": "summarize"});
    let answer = api.create(&request, &BETAS).unwrap();
    assert_eq!(answer["stop_reason"], "compaction", "{answer}");
    let [block] = &answer["content"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert!(block["signature"].is_string() && block["content"].is_string());
    assert_eq!((&answer["usage"]["input_tokens"], &answer["usage"]["output_tokens"]), (&json!(0), &json!(0)));
    assert_eq!(answer["usage"]["iterations"][0]["type"], "compaction");

    let user = json!({"role": "user", "content": "Go on."});
    let summary = |block: &Value| json!({"role": "assistant", "content": [block]});
    let mut altered = block.clone();
    altered["content"] = json!("It was coffee.");
    let mut first = json!({"role": "user", "content": [block, {"type": "text", "text": "Go on."}]});
    let again = json!({"compaction": {"type": "summarize"}});
    let threshold = json!({"context_management": {"edits": [{"type": "compact_20260112"}]}});
    let budget =
        json!({"output_config": {"task_budget": {"type": "tokens", "total": 100_000, "remaining": 7}}});
    for (about, messages, more, refusal) in [
        ("first", json!([summary(block), user]), json!({}), ""),
        ("first in the user's message", json!([first.take()]), json!({}), ""),
        ("summarised again", json!([summary(block), user]), again, ""),
        ("altered", json!([summary(&altered), user]), json!({}), "Invalid `signature`"),
        ("behind what it is of", json!([user, summary(block), user]), json!({}), "must come first"),
        ("twice", json!([summary(block), summary(block), user]), json!({}), "at most one"),
        ("at a threshold", json!([summary(block), user]), threshold, "cannot run on a signed"),
        ("with a budget that is left", json!([summary(block), user]), budget, "task_budget.remaining"),
    ] {
        let mut request = json!({"model": "claude-opus-5", "max_tokens": 1_000, "messages": messages});
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        let said = api.create(&request, &BETAS).err().map(|error| error.message).unwrap_or_default();
        let is_said = if refusal.is_empty() { said.is_empty() } else { said.contains(refusal) };
        // What is not in the call alone is refused before.
        assert!(is_said || said.contains("task_budget"), "{about}: {said}");
    }
}

#[test]
fn what_does_nothing_for_a_summary_is_refused() {
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let open = |call: Value| json!({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "content": [call]}]});
    for (about, more, refusal) in [
        ("stop sequences", json!({"stop_sequences": ["x"]}), "stop_sequences"),
        (
            "a format",
            json!({"output_config": {"format": {"type": "json_schema", "schema": {}}}}),
            "output_config.format",
        ),
        ("a call that must come", json!({"tools": tools, "tool_choice": {"type": "any"}}), "tool_choice"),
        ("a call without a result", open(call), "without `tool_result` blocks"),
        ("a call of the API's without a result", open(search), "without a result"),
    ] {
        let mut ask = ask(&talk(1));
        ask.compacts = true;
        if let Some(messages) = more.get("messages") {
            let request = json!({"model": "claude-opus-5", "max_tokens": 1_000, "messages": messages, "compaction": {"type": "summarize"}});
            let said = double().create(&request, &BETAS).unwrap_err().message;
            assert!(said.contains(refusal), "{about}: {said}");
            continue;
        }
        ask.fields.extend(more.as_object().unwrap().clone());
        let said = check(&ask, &Signer::default()).unwrap_err().message;
        assert!(said.starts_with(refusal), "{about}: {said}");
    }
    let mut harmless = ask(&talk(1));
    harmless.compacts = true;
    let more =
        json!({"stop_sequences": [], "output_config": {"effort": "low"}, "tool_choice": {"type": "none"}});
    harmless.fields.extend(more.as_object().unwrap().clone());
    assert_eq!(check(&harmless, &Signer::default()), Ok(()));
}

/// "Handle a missing summary or an error"
#[test]
fn a_summary_may_fail() {
    let line = |content: Value, stop_reason: Option<&str>| {
        let Value::Array(content) = content else { panic!("{content}") };
        Some(Line { content, stop_reason: stop_reason.map(str::to_owned), ..Line::default() })
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}});
    for (line, expected) in [
        (line(json!([text("It was tea.")]), None), Ok("It was tea.")),
        (
            line(json!([{"type": "compaction", "content": "It was tea."}]), Some("compaction")),
            Ok("It was tea."),
        ),
        (line(json!([text(&words(2))]), None), Err("max_tokens")),
        (line(json!([text("It was")]), Some("max_tokens")), Err("max_tokens")),
        (line(json!([text("It was tea."), call]), None), Err("tool_use")),
        (line(json!([text("No.")]), Some("refusal")), Err("refusal")),
        (line(json!([text(" \n")]), None), Err("end_turn")),
        (line(json!([{"type": "compaction", "content": null}]), None), Err("end_turn")),
        (None, Err("end_turn")),
    ] {
        let told = Summary::of(line, 1_000);
        assert_eq!(told.text.as_deref().map_err(String::as_str), expected);
        assert!(told.tokens <= 1_000);
        let block = told.at_threshold();
        assert_eq!(block["content"].as_str(), expected.ok());
        let demanded = demanded(&told, &ask(&talk(1)));
        assert_eq!(demanded.is_some(), expected.is_ok());
        // One that failed changes nothing of what is read.
        let request = ask(&talk(3)).request;
        let read = behind(&request, &block, "claude-opus-5", &Signer::default()).tokens();
        assert_eq!(read > 3_000, expected.is_err(), "{block}: {read}");
    }
}

#[test]
fn a_summary_says_what_became_of_the_tools() {
    let change = |kind: &str, tool: Value| json!({"type": kind, "tool": tool});
    let named = |name: &str| json!({"type": "tool_reference", "name": name});
    let system = |changes: &[Value]| json!({"role": "system", "content": changes});
    let said = |role: &str| json!({"role": role, "content": "A"});
    let whole = |messages: &[Value]| {
        json!({"model": "claude-opus-5", "max_tokens": 1_000, "messages": messages,
        "tools": [{"name": "read", "input_schema": {"type": "object"}}]})
    };
    let (add, take) = (change("tool_addition", named("read")), change("tool_removal", named("read")));
    let other = change(
        "tool_addition",
        json!({"type": "tool_definition", "definition": {"name": "find", "input_schema": {}}}),
    );
    let earlier = json!({"role": "assistant", "content": [{"type": "compaction", "content": "Tea.", "tool_changes": [take]}]});
    for (messages, expected) in [
        (vec![said("user")], Value::Null),
        (vec![said("user"), system(std::slice::from_ref(&take)), said("assistant")], json!([take])),
        (
            vec![
                said("user"),
                system(&[take.clone(), other.clone()]),
                said("assistant"),
                said("user"),
                system(std::slice::from_ref(&add)),
            ],
            json!([add, other]),
        ),
        (vec![earlier, said("user"), system(std::slice::from_ref(&other))], json!([take, other])),
    ] {
        let told = Summary { text: Ok("Tea.".to_owned()), tokens: 1 };
        let made = demanded(&told, &ask(&whole(&messages)));
        assert_eq!(made.unwrap()["tool_changes"], expected);
    }
}

#[test]
fn what_was_thought_before_a_summary_came_stays_valid_behind_it() {
    let script = r#"{"when":{"compaction":true},"reply":{"text":"It was tea."}}
        {"when":{},"reply":{"content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Tea."}]}}"#;
    let mut api = Double::new(Script::from_lines(script).unwrap());
    let mut ask = |messages: &[Value], compacts: bool| {
        let mut request = json!({"model": "claude-opus-5-5", "max_tokens": 1_000, "messages": messages,
            "thinking": {"type": "adaptive"}});
        if compacts {
            request["compaction"] = json!({"type": "summarize"});
        }
        let answer = api.create(&request, &["compact-2026-09-04"]);
        answer.map(|answer| json!({"role": "assistant", "content": answer["content"]}))
    };
    let said = json!({"role": "user", "content": "And?"});
    let mut talk = Vec::new();
    // Each summary is of all but the last two turns, and those of earlier ones stay valid.
    for _ in 0..4 {
        for _ in 0..2 {
            talk.push(said.clone());
            let answer = ask(&talk, false).unwrap();
            talk.push(answer);
        }
        let kept = talk.split_off(talk.len() - 3);
        talk = [vec![ask(&talk, true).unwrap()], kept].concat();
    }
    talk.push(said.clone());
    assert!(ask(&talk, false).is_ok());
    // It goes by what was sent, all of it, and nothing else.
    let without = [&talk[..1], &talk[2..]].concat();
    let more = [&talk[..1], std::slice::from_ref(&said), &talk[1..]].concat();
    for changed in [without, more] {
        assert!(ask(&changed, false).unwrap_err().message.contains("thinking"), "{changed:?}");
    }
}

#[test]
fn what_is_cleared_costs_the_cache_once() {
    let edit =
        json!({"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 45_000}});
    let mut api = double();
    let mut reads = Vec::new();
    for number in 1..=8 {
        let mut request = rounds(&vec![("read", 10); number], &edit);
        request["cache_control"] = json!({"type": "ephemeral"});
        let answer = api.create_at(&request, &BETAS, Duration::from_secs(10 * number as u64)).unwrap();
        reads.push(answer["usage"]["cache_read_input_tokens"].as_u64().unwrap() / 10_000);
    }
    // Cleared in the fifth request, and again in the seventh.
    assert_eq!(reads, [0, 1, 2, 3, 0, 3, 0, 3]);
}
