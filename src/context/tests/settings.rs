//! Policies, logs and requests as they are written down.

use serde_json::{Value, json};

use super::super::*;
use super::{assistant, prose, user};

#[test]
fn marks_that_leave_nothing_between_them_are_refused() {
    for (high, low) in [(5, 5), (5, 6), (0, 0)] {
        assert_eq!(Budget::tokens(high, low), Err(BadBudget { high, low }));
        assert_eq!(Budget::messages(high, low), Err(BadBudget { high, low }));
    }
    let policy = r#"{"strategies": [], "budget": {"unit": "tokens", "high": 5, "low": 5}}"#;
    let error = serde_json::from_str::<Policy>(policy).unwrap_err().to_string();
    assert!(error.starts_with("the high mark (5) must be above the low mark (5)"), "{error}");
}

#[test]
fn the_usual_numbers_make_the_usual_policies() {
    let window = Policy::sliding_window(20).budget;
    assert_eq!((window.unit(), window.high(), window.low()), (Unit::Messages, 21, 10));
    let summary = Policy::compact_with_summary(15_000);
    assert_eq!((summary.budget.unit(), summary.budget.high()), (Unit::Tokens, 15_000));
    let Strategy::Summary(settings) = &summary.strategies[0] else { panic!("{summary:?}") };
    assert_eq!(settings.keep, 5);
    assert_eq!(Policy::selective_retention(50_000).budget.high(), 50_001);
    for extreme in [0, 1, u64::MAX] {
        let marks =
            [Policy::compact_with_summary(extreme).budget, Policy::selective_retention(extreme).budget];
        assert!(marks.iter().all(|budget| budget.high() > budget.low()), "{marks:?}");
    }
    assert_eq!(Policy::default().for_model("claude-opus-4-5").limit(), 200_000 - 8_192);
}

#[test]
fn a_policy_is_read_back() {
    let mut policy = Policy { flush: Flush::BeforeEdits, ..Policy::default() };
    policy.strategies.extend([
        Strategy::Summary(Summary::default()),
        Strategy::Retention(Retention::default()),
        Strategy::Delegate(Delegate::compacting(1).and(Delegate::clearing_thinking(2))),
    ]);
    policy.pins.push(Pin::Message(3));
    assert_eq!(serde_json::from_str::<Policy>(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
    for wrong in [
        r#"{"strategies": [{"type": "sliding_windows"}], "budget": {"unit": "tokens", "high": 5, "low": 2}}"#,
        r#"{"strategies": [{"type": "summary", "kept": 5}], "budget": {"unit": "tokens", "high": 5, "low": 2}}"#,
        r#"{"strategies": [], "budget": {"unit": "tokens", "high": 5, "low": 2, "mid": 3}}"#,
        r#"{"strategies": [], "budget": {"unit": "tokens", "high": 5, "low": 2}, "pin": []}"#,
    ] {
        assert!(serde_json::from_str::<Policy>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_log_is_read_back() {
    let mut log = Transcript::default();
    log.note(Note::Flushed);
    for json in [
        "{\n  \"role\": \"user\",\n  \"content\": \"one\"\n}",
        r#"{"role":"assistant","content":[{"type":"new_kind","x":1.00,"text":"\u00e9"}]}"#,
        r#" {"role":"user","content":"two"} "#,
    ] {
        log.push(Message::from_json(json).unwrap());
        log.note(Note::Usage(Usage { input: 1, cache_creation: 2, cache_read: 3, output: 4, edits: 5 }));
        log.note(Note::Summary { upto: 1, text: "a\nb".into() });
        log.note(Note::SummaryFailed { why: "no".into() });
    }
    let lines: Vec<String> = log.lines().collect();
    assert_eq!(lines.len(), 13);
    assert!(lines.iter().all(|line| !line.contains('\n')));
    let read = Transcript::from_lines(&lines.join("\n")).unwrap();
    assert_eq!(read, log);
    for wrong in ["{}", r#"{"note":"flushed","lines":""}"#, r#"{"message":{"role":"user"}}"#, r#"{"mess"#] {
        let error = Transcript::from_lines(&format!("{}\n{wrong}", lines[1])).unwrap_err();
        assert_eq!(error.line, 2, "{wrong}");
    }
}

#[test]
fn a_usage_is_read_from_a_response() {
    let usage =
        json!({"input_tokens": 1, "cache_creation_input_tokens": 2, "output_tokens": 4, "service_tier": "x"});
    let usage = Usage::of(&usage, 1);
    assert_eq!(usage, Usage { input: 1, cache_creation: 2, cache_read: 0, output: 4, edits: 1 });
    assert_eq!(usage.total(), 7);
}

#[test]
fn the_api_is_asked_to_edit_and_nothing_is_edited_here() {
    let clear =
        ClearToolUses { clear_at_least: Some(Amount::InputTokens(5_000)), ..ClearToolUses::default() };
    let delegate =
        Delegate::clearing(&clear).and(Delegate::clearing_thinking(1)).and(Delegate::compacting(150_000));
    let mut policy = Policy::new(
        Budget::tokens(100, 10).unwrap(),
        vec![Strategy::SlidingWindow, Strategy::Delegate(delegate)],
    );
    policy.profile.binding = Binding::AppendOnly;
    let chat = (0..41).map(|n| if n % 2 == 0 { user(&prose(100)) } else { assistant(&prose(100)) });
    let log: Transcript = chat.map(|message| Message::from_value(&message).unwrap()).collect();
    let planned = plan(&log, &policy).unwrap();
    assert!(planned.edits.is_empty() && planned.atoms.iter().all(|atom| atom.fate.is_sent()));
    assert_eq!(planned.needs.betas, ["compact-2026-01-12", "context-management-2025-06-27"]);
    let request =
        splice(r#"{"model":"m","messages":[],"context_management":{"x":1}}"#, "[]", &planned.needs).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    assert_eq!(request["context_management"]["x"], 1);
    let edits = &request["context_management"]["edits"];
    assert_eq!(edits[0]["type"], "clear_thinking_20251015");
    assert_eq!(
        edits[1],
        json!({"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 100_000},
            "keep": {"type": "tool_uses", "value": 3}, "clear_at_least": {"type": "input_tokens", "value": 5_000},
            "exclude_tools": ["memory"], "clear_tool_inputs": false})
    );
    assert_eq!(edits[2]["trigger"]["value"], 150_000);
    assert!(
        splice("[]", "[]", &planned.needs).is_err()
            && splice(r#"{"a":1,"a":2}"#, "[]", &Needs::default()).is_err()
    );
}
