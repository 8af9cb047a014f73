//! Summaries that the API makes on demand.

use serde_json::{Value, json};

use super::super::*;
use super::{assistant, profile, prose, rendered, round, transcript, user};

/// The API writes summaries, of all but the last two messages or so.
fn by_api(high: u64, low: u64) -> Policy {
    let summary = Summary { keep: 2, ..Summary::by_api() };
    Policy {
        profile: profile(Binding::StripThinking, 200_000),
        ..Policy::new(Budget::messages(high, low).unwrap(), vec![Strategy::Summary(summary)])
    }
}

/// A long turn: a task, and rounds with thinking.
fn turn(rounds: usize) -> Vec<Value> {
    let each = (0..rounds).flat_map(|n| {
        let [mut calls, results] = round(&[&format!("toolu_{n}")], 40);
        let thinking = json!({"type": "thinking", "thinking": format!("{n}."), "signature": format!("s{n}")});
        calls["content"].as_array_mut().unwrap().insert(0, thinking);
        [calls, results]
    });
    [user("work")].into_iter().chain(each).collect()
}

/// What the API answers.
fn response(content: &Value) -> Value {
    let stop = if *content == json!([]) { "max_tokens" } else { "compaction" };
    json!({"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stop})
}

fn summary(text: &str) -> Value {
    json!([{"type": "compaction", "content": text, "tool_changes": [], "signature": "c"}])
}

fn head(text: &str) -> Value {
    json!({"role": "assistant", "content": summary(text)})
}

#[test]
fn what_the_api_made_stands_first_and_what_is_kept_follows_unchanged() {
    let policy = by_api(9, 2);
    let messages = turn(4);
    let mut log = transcript(&messages);
    let planned = plan(&log, &policy).unwrap();
    let wanted = planned.wanted.clone().unwrap();
    assert_eq!((wanted.upto, wanted.max_tokens), (7, policy.output));
    assert_eq!(serde_json::from_str::<Value>(&wanted.messages).unwrap(), json!(messages[..7]));
    let needs = wanted.needs.clone().unwrap();
    assert_eq!(needs.betas, ["compact-2026-09-04"]);
    assert_eq!(needs.compaction, Some(json!({"type": "summarize"})));
    // An edit of ours would have to wait for the end of the turn; nothing has happened yet.
    assert_eq!((planned.warnings.len(), planned.needs.betas.len()), (0, 0));
    assert_eq!(rendered(&log, &planned), messages);

    log.note(wanted.compacted(&response(&summary("It works."))));
    let planned = plan(&log, &policy).unwrap();
    assert_eq!(rendered(&log, &planned), [&[head("It works.")], &messages[7..]].concat());
    assert_eq!(planned.atoms[0].fate, Fate::Summarised(0));
    assert_eq!((planned.edits.len(), planned.edits[0].by), (1, By::Summary));
    assert_eq!((planned.wanted, planned.needs.betas), (None, vec!["compact-2026-09-04".to_owned()]));
}

#[test]
fn what_comes_in_the_meantime_follows_what_was_kept() {
    let messages = turn(6);
    let policy = by_api(9, 2);
    let mut log = transcript(&messages[..9]);
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    for message in &messages[9..] {
        log.push(Message::from_value(message).unwrap());
    }
    log.note(wanted.compacted(&response(&summary("It works."))));
    let lines: String = log.lines().map(|line| line + "\n").collect();
    assert_eq!(Transcript::from_lines(&lines).unwrap(), log);
    let planned = plan(&log, &policy).unwrap();
    assert_eq!(rendered(&log, &planned), [&[head("It works.")], &messages[7..]].concat());
    let again: Plan = serde_json::from_str(&serde_json::to_string(&planned).unwrap()).unwrap();
    assert_eq!(render(&log, &again), render(&log, &planned));
}

#[test]
fn a_later_summary_takes_the_place_of_the_first() {
    let messages = turn(9);
    let policy = by_api(9, 2);
    let mut log = Transcript::default();
    let mut asked = Vec::new();
    for message in &messages {
        log.push(Message::from_value(message).unwrap());
        while let Some(wanted) = plan(&log, &policy).unwrap().wanted {
            asked.push(serde_json::from_str::<Vec<Value>>(&wanted.messages).unwrap());
            log.note(wanted.compacted(&response(&summary(&format!("{}.", asked.len())))));
        }
    }
    assert!(asked.len() > 1);
    let last = asked.last().unwrap();
    assert_eq!(last[0], head(&format!("{}.", asked.len() - 1)));
    let sent = rendered(&log, &plan(&log, &policy).unwrap());
    assert_eq!(sent[0], head(&format!("{}.", asked.len())));
    assert_eq!(json!(sent).to_string().matches("\"compaction\"").count(), 1);
}

#[test]
fn what_the_api_made_stays_when_others_cut() {
    let mut policy = by_api(9, 2);
    let mut log = transcript(&turn(4));
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    log.note(wanted.compacted(&response(&summary("It works."))));
    for n in 0..8 {
        for message in [assistant("done"), user(&format!("task {n}"))] {
            log.push(Message::from_value(&message).unwrap());
        }
    }
    policy.strategies = vec![Strategy::SlidingWindow];
    let planned = plan(&log, &policy).unwrap();
    let sent = rendered(&log, &planned);
    assert_eq!(sent[0], head("It works."));
    assert!(sent[1]["content"].as_str().unwrap().starts_with("[… "), "{sent:?}");
    assert!(!json!(sent).to_string().contains("\"thinking\""));
    assert_eq!(validate(&json!(sent)), []);
    assert_eq!(planned.needs.betas, ["compact-2026-09-04"]);
}

#[test]
fn a_summary_is_about_what_may_be_left_alone() {
    let document = json!({"role": "user", "content": [{"type": "document", "title": "x",
        "source": {"type": "text", "media_type": "text/plain", "data": prose(90)}, "citations": {"enabled": true}}]});
    let cites = json!({"role": "assistant", "content": [{"type": "text", "text": "x",
        "citations": [{"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "x",
            "start_char_index": 0, "end_char_index": 1}]}]});
    let marked = json!({"role": "assistant", "content": [{"type": "compaction", "content": null}]});
    let (ask, say) = (user("and?"), assistant("yes"));
    for (messages, upto) in [
        (vec![&ask, &say, &ask, &say, &ask], Some(3)),
        // Two of one role.
        (vec![&ask, &say, &ask, &say, &say, &ask], Some(3)),
        // A document that is cited in what is kept.
        (vec![&ask, &say, &document, &say, &ask, &cites, &ask], Some(2)),
        (vec![&document, &say, &ask, &cites, &ask], None),
        // Another summary in what is kept.
        (vec![&ask, &say, &ask, &marked, &ask], None),
    ] {
        let messages: Vec<Value> = messages.into_iter().cloned().collect();
        let policy = Policy { pins: vec![], ..by_api(messages.len() as u64, messages.len() as u64 - 1) };
        let wanted = plan(&transcript(&messages), &policy).unwrap().wanted;
        assert_eq!(wanted.map(|wanted| wanted.upto), upto, "{messages:?}");
    }
}

#[test]
fn two_failures_fall_back() {
    let policy = by_api(9, 2);
    let mut log = transcript(
        &[turn(3), vec![assistant("done"), user("more"), assistant("done"), user("more")]].concat(),
    );
    for failed in [response(&json!([])), json!({"type": "error"})] {
        let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
        let note = wanted.compacted(&failed);
        assert!(matches!(note, Note::SummaryFailed { .. }), "{note:?}");
        log.note(note);
    }
    let planned = plan(&log, &policy).unwrap();
    assert_eq!((planned.wanted.as_ref(), &planned.head), (None, &None));
    assert_eq!(planned.warnings, [Warning::SummariesFailed]);
    assert_eq!(planned.edits[0].by, By::SlidingWindow);
    // What is no summary is not taken for one.
    let mut log = transcript(&turn(4));
    for message in [json!({"role": "user", "content": summary("x")}), json!(7), head(" ")] {
        log.note(Note::Compacted { upto: 7, message });
        log.note(Note::Compacted { upto: 6, message: head("x") });
        assert_eq!(plan(&log, &policy).unwrap().head, None);
    }
}

#[test]
fn a_history_that_is_only_appended_to_may_be_summarised_by_the_api() {
    let policy = Policy { profile: profile(Binding::AppendOnly, 200_000), ..by_api(9, 2) };
    let mut log = transcript(&turn(4));
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    log.note(wanted.compacted(&response(&summary("It works."))));
    assert!(plan(&log, &policy).unwrap().head.is_some());
}

#[test]
fn what_does_not_fit_into_one_request_is_not_asked_for() {
    let messages =
        [user(&prose(4_000)), assistant("yes"), user(&prose(4_000)), assistant(&prose(8_000)), user("?")];
    for (window, upto) in [(4_000, 3), (40_000, 4)] {
        let budget = Budget::tokens(2_500, 500).unwrap();
        let strategies = vec![Strategy::Summary(Summary { keep: 1, ..Summary::by_api() })];
        let policy = Policy {
            profile: profile(Binding::Ignore, window),
            output: 1_000,
            ..Policy::new(budget, strategies)
        };
        let wanted = plan(&transcript(&messages), &policy).unwrap().wanted.unwrap();
        assert_eq!(wanted.upto, upto, "{window}");
    }
}

#[test]
fn a_request_for_a_summary_loses_what_is_taken_in_none() {
    let request = r#"{"model":"claude-opus-5-5","max_tokens":9000,"messages":[],"stop_sequences":["x"],"tool_choice":{"type":"any"},"output_config":{"effort":"low","format":{"type":"json_schema"}},"context_management":{"edits":[]},"tools":[]}"#;
    let summary = Summary { instructions: Some("Briefly.".to_owned()), keep: 2, ..Summary::by_api() };
    let edits = Delegate::clearing_thinking(2).and(Delegate::compacting(100_000));
    let policy = Policy {
        strategies: vec![Strategy::Delegate(edits), Strategy::Summary(summary)],
        profile: profile(Binding::DropBlock, 200_000),
        ..by_api(9, 2)
    };
    let mut log = transcript(&turn(4));
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    let asked = splice(request, "[]", wanted.needs.as_ref().unwrap()).unwrap();
    assert_eq!(
        asked,
        r#"{"model":"claude-opus-5-5","max_tokens":9000,"messages":[],"output_config":{"effort":"low"},"tools":[],"compaction":{"type":"summarize","instructions":"Briefly."}}"#
    );
    // Where the one is sent, the other is not asked for.
    assert_eq!(plan(&log, &policy).unwrap().needs.edits.len(), 2);
    log.note(wanted.compacted(&response(&self::summary("It works."))));
    let needs = plan(&log, &policy).unwrap().needs;
    assert_eq!(needs.edits, Delegate::clearing_thinking(2).edits);
    assert_eq!(needs.betas, ["compact-2026-09-04", "context-management-2025-06-27"]);
}
