//! Histories of all kinds, and broken in all ways: what is found, and what repair makes of them.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::context::{
    Entry, Request, Rule, Violation, compare, repair, repair_line, repaired, validate, validate_line,
    violations,
};

use crate::context::rules::Fault;

use super::grammar::{Signed, breaks, history, plain};

fn request(value: &Value) -> Request {
    Request::from_value(value).unwrap()
}

/// The blocks of a history, without cache marks.
fn blocks(request: &Request) -> Vec<String> {
    let mut blocks = Vec::new();
    for entry in request.messages() {
        let Entry::Message(message) = entry else { continue };
        for block in message.blocks() {
            let json = plain(message.block_json(block));
            let text = format!(r#"{{"type":"text","text":{json}}}"#);
            blocks.push(if message.is_string() { text } else { json });
        }
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_valid_stays_as_it_is(whole in history()) {
        prop_assert_eq!(validate(&whole), []);
        let given = request(&whole);
        let signed = Signed::of(&given);
        let (same, repairs) = repaired(&given, &given.profile(), &signed);
        prop_assert_eq!(repairs, []);
        prop_assert_eq!(same.json(), whole.to_string());
        prop_assert_eq!(compare(&given, &given, &[0]), []);
    }

    #[test]
    fn what_is_broken_is_made_valid(mut whole in history(), breaks in breaks()) {
        for it in &breaks {
            it.apply(&mut whole);
        }
        let given = request(&whole);
        let (mended, repairs) = repaired(&given, &given.profile(), &());
        prop_assert_eq!(violations(&mended, &mended.profile(), &()), [], "{} {:?}", mended.json(), repairs);
        prop_assert_eq!(repairs.is_empty(), validate(&whole).is_empty());
        let (again, repairs) = repaired(&mended, &mended.profile(), &());
        prop_assert_eq!(repairs, []);
        prop_assert_eq!(again.json(), mended.json());
        // No thinking is kept behind something that changed.
        let signed = violations(&mended, &mended.profile(), &Signed::of(&given));
        prop_assert!(signed.iter().all(|it| it.rule != Rule::I8), "{signed:?}");
    }

    #[test]
    fn repair_makes_up_nothing_but_what_it_marks(mut whole in history(), breaks in breaks()) {
        for it in &breaks {
            it.apply(&mut whole);
        }
        let given = request(&whole);
        let (mended, _) = repaired(&given, &given.profile(), &());
        // Of a message that could not be read, blocks may have been kept.
        let text = given.json();
        let known: BTreeSet<String> = blocks(&given).into_iter().collect();
        let is_marked = |block: &str| block.contains(r#""text":"["#) || block.contains(r#""content":"[result"#);
        let is_trimmed = |block: &str| block.contains("And so") || block.contains("text\":\"x\"");
        for block in blocks(&mended) {
            let is_known = known.contains(&block) || is_marked(&block) || is_trimmed(&block);
            prop_assert!(is_known || text.contains(&block) || plain(&text).contains(&block), "{block}");
        }
    }

    #[test]
    fn with_the_key_no_thinking_stays_that_would_be_refused(whole in history(), breaks in breaks()) {
        let signed = Signed::of(&request(&whole));
        let mut broken = whole;
        for it in &breaks {
            it.apply(&mut broken);
        }
        let given = request(&broken);
        let (mended, _) = repaired(&given, &given.profile(), &signed);
        prop_assert_eq!(violations(&mended, &mended.profile(), &signed), []);
    }
}

/// A case of a file.
#[derive(serde::Deserialize)]
struct Case {
    about: String,
    request: Option<Box<serde_json::value::RawValue>>,
    before: Option<Value>,
    after: Option<Value>,
    #[serde(default)]
    pins: Vec<usize>,
    #[serde(default)]
    violations: Vec<Value>,
    #[serde(default)]
    repaired: Value,
    #[serde(default)]
    repairs: Vec<Value>,
}

fn cases(folder: &str) -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/context").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file: std::path::PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(file).unwrap())
    };
    files.into_iter().map(read).collect()
}

#[test]
fn each_kind_of_block_is_valid_and_stays() {
    let mut names = BTreeSet::new();
    for (name, text) in cases("blocks") {
        let given = Request::from_json(&text).unwrap();
        let profile = given.profile();
        assert_eq!(violations(&given, &profile, &()), [], "{name}");
        let (same, repairs) = repaired(&given, &profile, &());
        assert_eq!((same.json(), repairs), (given.json(), Vec::new()), "{name}");
        assert_eq!(compare(&given, &given, &[0]), [], "{name}");
        for entry in given.messages() {
            let Entry::Message(message) = entry else { panic!("{name}: {entry:?}") };
            assert!(text.contains(message.json()), "{name}");
            names.extend(message.blocks().iter().map(|block| block.name.clone()));
        }
    }
    let all = "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction container_upload \
        document fallback gesture hologram image mcp_tool_result mcp_tool_use redacted_thinking search_result \
        server_tool_use text text_editor_code_execution_tool_result thinking tool_addition tool_removal tool_result \
        tool_search_tool_result tool_use web_fetch_tool_result web_search_tool_result";
    assert_eq!(
        names.iter().map(|name| &**name).collect::<Vec<_>>(),
        all.split_whitespace().collect::<Vec<_>>()
    );
}

#[test]
fn each_failure_is_found_and_mended() {
    for (name, text) in cases("failures") {
        let case: Case = serde_json::from_str(&text).unwrap();
        let about = format!("{name}: {}", case.about);
        let Some(given) = &case.request else {
            let read = |history: Option<Value>| Request::from_value(&history.unwrap()).unwrap();
            let found = compare(&read(case.before), &read(case.after), &case.pins);
            let found = found.iter().map(|it| json!({"path": it.path, "rule": it.rule, "hint": it.hint}));
            assert_eq!(found.collect::<Vec<_>>(), case.violations, "{about}");
            continue;
        };
        let given = Request::from_json(given.get()).unwrap();
        let found = violations(&given, &given.profile(), &());
        let found = found
            .iter()
            .map(|it| json!({"path": it.path, "rule": it.rule, "error": it.api_error().unwrap().message}));
        assert_eq!(found.collect::<Vec<_>>(), case.violations, "{about}");
        let (mended, repairs) = repaired(&given, &given.profile(), &());
        assert_eq!(mended.to_value()["messages"], case.repaired, "{about}");
        let repairs = repairs.iter().map(|it| json!({"path": it.path, "what": it.what, "why": it.why}));
        assert_eq!(repairs.collect::<Vec<_>>(), case.repairs, "{about}");
        assert_eq!(violations(&mended, &mended.profile(), &()), [], "{about}");
    }
}

#[test]
fn a_broken_field_of_the_request_is_mended() {
    let all: Vec<_> = cases("failures")
        .into_iter()
        .filter(|(name, _)| name == "blanks" || name == "no_thinking_first")
        .collect();
    let mended = |text: &str| {
        let case: Case = serde_json::from_str(text).unwrap();
        let given = Request::from_json(case.request.unwrap().get()).unwrap();
        repaired(&given, &given.profile(), &()).0
    };
    assert_eq!(mended(&all[0].1).field("system"), Some(r#"[{"type": "text", "text": "Be short."}]"#));
    assert_eq!(mended(&all[1].1).field("thinking"), Some(r#"{"type":"disabled"}"#));
}

#[test]
fn what_comes_on_a_line_stays_byte_for_byte() {
    let line = r#"{"x":1.00,"messages":[ {"role":"user","content":[{"type":"new","n":1e2},{"type":"text","text":""}]},{"content":"\u00e9 ","role":"user"}]}"#;
    assert_eq!(
        repair_line(line),
        r#"{"request":{"x":1.00,"messages":[{"role":"user","content":[{"type":"new","n":1e2}]},{"content":"\u00e9 ","role":"user"}]},"#.to_owned()
            + r#""repairs":[{"path":"messages.0.content.1","what":"removed","why":"I9","hint":"a text without anything in it"}]}"#
    );
    assert_eq!(
        validate_line(line).to_string(),
        r#"{"valid":false,"violations":[{"path":"messages.0.content.1","rule":"I9","hint":"a text without anything in it"}]}"#
    );
    let no_request = r#"{"violations":[{"path":"messages","rule":"shape","hint":"a list of messages"}]}"#;
    assert_eq!(repair_line("{}"), no_request);
    assert_eq!(validate_line("{}").to_string(), no_request.replacen('{', r#"{"valid":false,"#, 1));
    assert_eq!(repair(&json!(7)), (json!(7), Vec::new()));
}

#[test]
fn what_is_in_a_result_stays_beside_what_is_taken_out() {
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [7, {"type": "text", "text": ""}, {"text": "x"}]});
    let whole = json!([
        {"role": "user", "content": "List them."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "list", "input": {}}]},
        {"role": "user", "content": [result]},
    ]);
    assert_eq!(validate(&whole)[0].path, "messages.2.content.0.content.1");
    assert_eq!(repair(&whole).0[2]["content"][0]["content"], json!([7, {"text": "x"}]));
}

#[test]
fn what_does_not_fit_says_so_as_the_api_does() {
    let error = Violation::too_long(210_000, 200_000).api_error().unwrap();
    assert_eq!((error.status, error.kind), (400, "invalid_request_error"));
    assert_eq!(error.message, "prompt is too long: 210000 tokens > 200000 maximum");
}

#[test]
fn too_many_messages_lose_the_first_ones() {
    let rounds = (0..50_001).flat_map(|_| {
        [json!({"role": "user", "content": "Go on."}), json!({"role": "assistant", "content": "Yes."})]
    });
    let given = Request::from_value(&Value::from(
        rounds.chain([json!({"role": "user", "content": "Stop."})]).collect::<Vec<_>>(),
    ))
    .unwrap();
    let found = violations(&given, &given.profile(), &());
    assert_eq!(
        found.iter().map(|it| (it.path.as_str(), it.rule)).collect::<Vec<_>>(),
        [("messages", Rule::I13)]
    );
    let (mended, _) = repaired(&given, &given.profile(), &());
    assert!(violations(&mended, &mended.profile(), &()).is_empty());
    assert_eq!(mended.messages().len(), 99_901);
    assert_eq!(mended.messages().last(), given.messages().last());
}

#[test]
fn a_long_history_that_is_broken_everywhere_is_mended() {
    let round = |n: usize| {
        [
            json!({"role": "user", "content": [{"type": "text", "text": "Go on."}, {"type": "text", "text": ""}]}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": n.to_string(), "name": "x", "input": {}}]}),
            json!({"role": "system", "content": "Be short."}),
            json!({"role": "assistant", "content": []}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("{n}?")}]}),
            json!({"role": "user", "content": "And then?"}),
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]}),
        ]
    };
    let messages: Vec<Value> = (0..3_000).flat_map(round).collect();
    let given = request(&json!({"model": "claude-opus-5-5", "messages": messages}));
    let (mended, repairs) = repaired(&given, &given.profile(), &());
    assert_eq!(violations(&mended, &mended.profile(), &()), []);
    assert!(repairs.len() >= 18_000, "{}", repairs.len());
}

#[test]
fn each_way_to_break_a_rule_has_a_case() {
    let table: serde_json::Map<String, Value> = serde_json::from_str(include_str!("../errors.json")).unwrap();
    let mut all: BTreeSet<Fault> = BTreeSet::new();
    for name in table.keys().filter(|name| *name != "about") {
        all.insert(serde_json::from_value(json!(name)).unwrap());
    }
    // Those of other tests: of counts, and of signatures.
    let mut seen = BTreeSet::from([Fault::TooLong, Fault::TooManyMessages, Fault::Forged, Fault::Unbound]);
    for (_, text) in cases("failures") {
        let case: Case = serde_json::from_str(&text).unwrap();
        if let Some(given) = case.request {
            let given = Request::from_json(given.get()).unwrap();
            seen.extend(violations(&given, &given.profile(), &()).iter().map(|it| it.fault));
        } else {
            let (before, after) = (request(&case.before.unwrap()), request(&case.after.unwrap()));
            seen.extend(compare(&before, &after, &case.pins).iter().map(|it| it.fault));
        }
    }
    assert_eq!(seen, all);
}

#[test]
fn signatures_are_asked_for() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": text});
    let of = |model: &str, first: &str, second: &str| {
        request(&json!({"model": model, "messages": [
            {"role": "user", "content": first},
            {"role": "assistant", "content": [thinking(second), {"type": "text", "text": "A"}]},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": [thinking("b"), {"type": "text", "text": "B"}]},
            {"role": "user", "content": "Thanks."},
        ]}))
    };
    for (model, first, second, faults, left) in [
        ("claude-opus-5-5", "Q", "a", vec![], 2),
        (
            "claude-opus-5-5",
            "q",
            "a",
            vec![("messages.1.content.0", Rule::I8), ("messages.3.content.0", Rule::I8)],
            0,
        ),
        (
            "claude-opus-5-5",
            "Q",
            "x",
            vec![("messages.1.content.0", Rule::I7), ("messages.3.content.0", Rule::I8)],
            0,
        ),
        ("claude-opus-5", "q", "a", vec![], 2),
        ("claude-opus-5", "Q", "x", vec![("messages.1.content.0", Rule::I7)], 1),
    ] {
        let signed = Signed::of(&of(model, "Q", "a"));
        let given = of(model, first, second);
        let found = violations(&given, &given.profile(), &signed);
        assert_eq!(
            found.iter().map(|it| (it.path.as_str(), it.rule)).collect::<Vec<_>>(),
            faults,
            "{model} {first} {second}"
        );
        let (mended, _) = repaired(&given, &given.profile(), &signed);
        assert_eq!(mended.json().matches(r#""thinking""#).count() / 2, left, "{model} {first} {second}");
    }
}

#[test]
fn one_result_of_many_megabytes_stays_as_it_is() {
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "tea ".repeat(3 << 20)});
    let whole = json!([
        {"role": "user", "content": "List them."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "list", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "Here."}, result]},
    ]);
    let (mended, repairs) = repair(&whole);
    assert_eq!(repairs.len(), 1);
    assert_eq!(mended[2]["content"], json!([result, {"type": "text", "text": "Here."}]));
}
