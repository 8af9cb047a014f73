//! What went wrong elsewhere: each conversation is made afresh, and what is sent of it is judged.

use serde_json::{Value, json};

use super::super::*;
use super::{assistant, profile, prose, rendered, round, text_of, transcript, user};

/// What a policy sends of a conversation, judged.
fn sent(messages: &[Value], policy: &Policy) -> Vec<Value> {
    let transcript = transcript(messages);
    let sent = rendered(&transcript, &plan(&transcript, policy).unwrap());
    assert_eq!(validate(&Value::from(sent.clone())), [], "{sent:?}");
    sent
}

fn window(high: u64, low: u64) -> Policy {
    Policy {
        profile: profile(Binding::Ignore, 200_000),
        ..Policy::new(Budget::messages(high, low).unwrap(), vec![Strategy::SlidingWindow])
    }
}

fn rounds(ids: &[&str], bytes: usize) -> Vec<Value> {
    ids.iter().flat_map(|id| round(&[id], bytes)).collect()
}

fn has(messages: &[Value], id: &str) -> bool {
    messages.iter().any(|message| message.to_string().contains(id))
}

#[test]
fn a_trim_to_the_last_five_does_not_begin_with_a_result() {
    let messages = [vec![user("find it")], rounds(&["a", "b", "c", "d"], 10)].concat();
    let sent = sent(&messages, &window(9, 5));
    assert_eq!(sent.len(), 6);
    assert_eq!(sent[1], user("[… 4 messages left out …]"));
    assert!(!has(&sent, "\"b\"") && has(&sent, "\"c\"") && has(&sent, "\"d\""));
}

#[test]
fn a_cut_does_not_land_between_two_results_of_one_round() {
    let mut messages = [vec![user("find it")], rounds(&["a"], 10)].concat();
    let [calls, results] = round(&["b", "c"], 10);
    messages.push(calls);
    for result in results["content"].as_array().unwrap() {
        messages.push(json!({"role": "user", "content": [result]}));
    }
    for low in 1..6 {
        let sent = sent(&messages, &window(6, low));
        assert!(has(&sent, "\"b\"") && has(&sent, "\"c\""), "the newest round stays");
    }
}

#[test]
fn an_odd_window_does_not_start_with_the_assistant() {
    let messages: Vec<Value> =
        (0..9).map(|n| if n % 2 == 0 { user("question") } else { assistant("answer") }).collect();
    let policy = Policy { pins: vec![], ..window(9, 3) };
    assert_eq!(sent(&messages, &policy)[0], user("[… 6 messages left out …]"));
    // An answer alone, without its question, does not stay.
    let policy = Policy { pins: vec![], ..window(9, 2) };
    assert_eq!(sent(&messages, &policy), [user("[… 8 messages left out …]"), user("question")]);
}

#[test]
fn a_summary_does_not_part_a_question_from_its_answer() {
    let messages: Vec<Value> = (0..9)
        .map(|n| if n % 2 == 0 { user(&format!("question {n}")) } else { assistant("answer") })
        .collect();
    let summary = Summary { keep: 2, ..Summary::default() };
    let policy = Policy {
        pins: vec![],
        ..Policy::new(Budget::messages(9, 1).unwrap(), vec![Strategy::Summary(summary)])
    };
    let mut log = transcript(&messages);
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    assert_eq!(wanted.upto, 6);
    log.note(wanted.answered("It is about tea."));
    let sent = rendered(&log, &plan(&log, &policy).unwrap());
    assert_eq!(sent[1..], messages[6..]);
}

#[test]
fn what_the_operator_says_stays_before_the_answer() {
    let operator = |text: &str| json!({"role": "system", "content": text});
    let messages: Vec<Value> = (0..8)
        .flat_map(|n| [user("question"), operator(&format!("rule {n}")), assistant("answer")])
        .chain([user("question")])
        .collect();
    for low in 1..24 {
        let transcript = transcript(&messages);
        let policy = window(24, low).for_model("claude-opus-5");
        let sent = rendered(&transcript, &plan(&transcript, &policy).unwrap());
        let found = validate(&json!({"model": "claude-opus-5", "messages": sent}));
        assert_eq!(found, [], "{sent:?}");
    }
}

#[test]
fn a_history_of_tools_alone_can_be_trimmed() {
    let ids: Vec<String> = (0..40).map(|n| format!("toolu_{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let sent = sent(&[vec![user("work")], rounds(&ids, 10)].concat(), &window(20, 5));
    assert!(sent.len() < 20);
    assert_eq!(sent[0], user("work"));
}

#[test]
fn pruning_does_not_lose_the_task() {
    let chat = |n: usize| {
        if n.is_multiple_of(2) { user(&format!("task {n}")) } else { assistant(&format!("done {n}")) }
    };
    let messages: Vec<Value> = (0..31).map(chat).collect();
    for policy in [window(10, 2), Policy::selective_retention(60), Policy::sliding_window(4)] {
        let sent = sent(&messages, &policy);
        assert!(sent.len() < 20);
        assert_eq!(sent[0], user("task 0"));
        assert_eq!(*sent.last().unwrap(), user("task 30"));
    }
}

#[test]
fn a_call_by_code_keeps_the_code() {
    let caller = json!({"type": "code_execution_20260120", "tool_id": "srvtoolu_1"});
    let code = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}});
    let call =
        |id: &str| json!({"type": "tool_use", "id": id, "name": "grep", "input": {}, "caller": caller});
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x"}]});
    let messages = [
        user("work"),
        assistant("yes"),
        user("go on"),
        json!({"role": "assistant", "content": [code, call("a")]}),
        result("a"),
        json!({"role": "assistant", "content": [call("b")]}),
        result("b"),
    ];
    for low in 1..7 {
        assert!(has(&sent(&messages, &window(7, low)), "server_tool_use"));
    }
    let atoms = atoms(transcript(&messages).messages());
    assert_eq!(atoms.last().unwrap().messages, 3..7);
}

#[test]
fn a_second_compaction_does_not_come_right_after_the_first() {
    let policy = Policy { profile: profile(Binding::Ignore, 200_000), ..Policy::compact_with_summary(1_000) };
    let mut log = transcript(&[vec![user("work")], rounds(&["a", "b", "c", "d", "e", "f"], 900)].concat());
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    log.note(wanted.answered("Worked."));
    let after = plan(&log, &policy).unwrap();
    assert_eq!((after.edits.len(), &after.wanted), (1, &None));
    let sent = rendered(&log, &after);
    assert_eq!(text_of(&sent[0]), "work");
    assert!(text_of(&sent[1]).starts_with("[CONVERSATION SUMMARY]\nWorked."), "{sent:?}");
    // What stays is above the mark, and is not summarised again with every message.
    let [call, result] = round(&["g"], 100);
    log.push(Message::from_value(&call).unwrap());
    log.push(Message::from_value(&result).unwrap());
    assert_eq!(plan(&log, &policy).unwrap().wanted, None);
}

#[test]
fn a_failed_summary_leaves_the_history_and_two_fall_back() {
    let policy = Policy { profile: profile(Binding::Ignore, 200_000), ..Policy::compact_with_summary(1_000) };
    let mut log = transcript(&[vec![user("work")], rounds(&["a", "b", "c", "d", "e", "f"], 900)].concat());
    log.note(Note::Summary { upto: 7, text: " \n".into() });
    let first = plan(&log, &policy).unwrap();
    assert!(first.wanted.is_some() && first.edits.is_empty());
    log.note(Note::SummaryFailed { why: "cut off".into() });
    let second = plan(&log, &policy).unwrap();
    assert_eq!((second.wanted, second.edits.len()), (None, 1));
    assert_eq!(second.edits[0].by, By::SlidingWindow);
    assert_eq!(second.warnings, [Warning::SummariesFailed]);
}

#[test]
fn a_summary_is_updated_and_lacks_no_fact() {
    let policy = Policy { profile: profile(Binding::Ignore, 200_000), ..Policy::compact_with_summary(1_000) };
    let facts = "See https://example.org/a?b=1 and src/net/retry.rs, max_backoff = 250 ms.\n- [ ] ask Mei about CVE-2026-1";
    let mut log =
        transcript(&[vec![user("work"), assistant(facts)], rounds(&["a", "b", "c", "d", "e"], 900)].concat());
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    assert!(wanted.messages.contains("src/net/retry.rs"));
    log.note(wanted.answered("See src/net/retry.rs."));
    let summary = |log: &Transcript| text_of(&rendered(log, &plan(log, &policy).unwrap())[1]).to_owned();
    let first = summary(&log);
    for fact in ["https://example.org/a?b=1", "250 ms", "max_backoff", "- [ ] ask Mei about CVE-2026-1"] {
        assert!(first.contains(fact), "{fact} is not in {first}");
    }
    assert_eq!(first.matches("src/net/retry.rs").count(), 1);
    for message in rounds(&["f", "g", "h", "i", "j"], 900) {
        log.push(Message::from_value(&message).unwrap());
    }
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    assert!(wanted.messages.contains("<summary>") && wanted.messages.contains("See src/net/retry.rs."));
    log.note(wanted.answered("All new."));
    let second = summary(&log);
    assert!(second.contains("All new.") && second.contains("src/net/retry.rs") && second.contains("250 ms"));
    let sent = rendered(&log, &plan(&log, &policy).unwrap());
    assert_eq!(sent.iter().filter(|one| text_of(one).contains("[CONVERSATION SUMMARY]")).count(), 1);
}

#[test]
fn a_report_of_what_was_before_an_edit_makes_no_other() {
    let ids: Vec<String> = (0..13).map(|n| format!("toolu_{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for policy in [Policy::compact_with_summary(1_000), Policy::selective_retention(1_000)] {
        let policy = Policy { profile: profile(Binding::Ignore, 200_000), ..policy };
        let mut log = transcript(&[vec![user("work")], rounds(&ids, 300)].concat());
        let report = |input: u64, edits: usize| Note::Usage(Usage { input, edits, ..Usage::default() });
        log.note(report(1_500, 0));
        if let Some(wanted) = plan(&log, &policy).unwrap().wanted {
            log.note(wanted.answered("Worked."));
        }
        let [call, result] = round(&["g"], 100);
        log.push(Message::from_value(&call).unwrap());
        log.push(Message::from_value(&result).unwrap());
        let first = plan(&log, &policy).unwrap();
        let edits = first.edits.len();
        assert!(edits > 0 && first.wanted.is_none());
        // Late, and of the history that was: it says nothing of this one.
        log.note(report(1_600, 0));
        for id in ["h", "i"] {
            for message in round(&[id], 40) {
                log.push(Message::from_value(&message).unwrap());
            }
            let after = plan(&log, &policy).unwrap();
            assert_eq!((after.edits.len(), &after.wanted), (edits, &None), "it compacts at every turn");
            assert!(after.tokens < 1_000, "{}", after.tokens);
        }
        // What counts is what was reported of it.
        log.note(report(1_234, edits));
        assert_eq!(plan(&log, &policy).unwrap().tokens, 1_234);
    }
}

#[test]
fn nothing_is_said_between_a_system_message_or_a_call_and_what_must_follow() {
    let policy = Policy { flush: Flush::BeforeEdits, pins: vec![], ..window(10, 1) };
    let before: Vec<Value> = (0..6).map(|n| if n % 2 == 0 { user("a") } else { assistant("b") }).collect();
    let told = |messages: &[Value]| {
        plan(&transcript(&[&before, messages].concat()), &policy).unwrap().flush.is_some()
    };
    let code = json!({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}},
        {"type": "tool_use", "id": "a", "name": "grep", "input": {},
         "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}]});
    let [call, result] = round(&["a"], 10);
    assert!(told(&[user("a"), call, result.clone()]));
    assert!(!told(&[user("a"), user("b"), json!({"role": "system", "content": "Be short."})]));
    assert!(!told(&[user("a"), code, result]));
}

#[test]
fn the_notice_is_no_task() {
    let policy = Policy { flush: Flush::BeforeEdits, pins: vec![Pin::LatestTask], ..window(12, 1) };
    let mut log =
        transcript(&(0..11).map(|n| if n % 2 == 0 { user("a") } else { assistant("b") }).collect::<Vec<_>>());
    let notice = plan(&log, &policy).unwrap().flush.unwrap();
    log.push(Message::from_value(&user(&notice)).unwrap());
    log.note(Note::Flushed);
    let sent = rendered(&log, &plan(&log, &policy).unwrap());
    assert_eq!(sent, [user("[… 10 messages left out …]"), user("a"), user(&notice)]);
}

#[test]
fn a_history_over_the_window_is_still_summarised() {
    let mut policy = Policy::compact_with_summary(1_000);
    policy.profile = profile(Binding::Ignore, 20_000);
    policy.strategies = vec![Strategy::Summary(Summary { window: 6_000, ..Summary::default() })];
    let ids: Vec<String> = (0..60).map(|n| format!("toolu_{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut log = transcript(&[vec![user("work")], rounds(&ids, 4_000)].concat());
    let mut asked = 0;
    while let Some(wanted) = plan(&log, &policy).unwrap().wanted {
        assert!(wanted.messages.len() < 12_000, "{}", wanted.messages.len());
        log.note(wanted.answered("Worked."));
        asked += 1;
        assert!(asked < 20);
    }
    assert!(plan(&log, &policy).unwrap().tokens < 10_000);
}

#[test]
fn a_search_that_waits_is_no_part_of_what_is_summarised() {
    let search = json!({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}]});
    let policy = Policy { profile: profile(Binding::Ignore, 200_000), ..Policy::compact_with_summary(500) };
    let messages = [vec![user("work")], rounds(&["a", "b", "c", "d", "e", "f"], 900), vec![search]].concat();
    let wanted = plan(&transcript(&messages), &policy).unwrap().wanted.unwrap();
    assert!(!wanted.messages.contains("server_tool_use") && wanted.upto <= 9);
    let request: Vec<Value> = serde_json::from_str(&wanted.messages).unwrap();
    assert_eq!(validate(&Value::from(request)), []);
}

#[test]
fn thinking_after_a_summary_is_stripped_and_not_kept_with_its_old_signature() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "EqQB"});
    let said = json!({"type": "text", "text": "answer"});
    let mut messages = vec![user("work")];
    for _ in 0..10 {
        messages.extend([json!({"role": "assistant", "content": [thought, said]}), user(&prose(400))]);
    }
    let policy =
        Policy { profile: profile(Binding::StripThinking, 200_000), ..Policy::compact_with_summary(1_000) };
    let mut log = transcript(&messages);
    let wanted = plan(&log, &policy).unwrap().wanted.unwrap();
    log.note(wanted.answered("Worked."));
    let sent = rendered(&log, &plan(&log, &policy).unwrap());
    assert!(!has(&sent, "EqQB"), "{sent:?}");
    assert!(has(&sent, "answer"));
}

#[test]
fn a_message_of_thinking_alone_goes_with_its_thinking() {
    let thought = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "EqQB"}]});
    let mut messages: Vec<Value> =
        (0..8).map(|n| if n % 2 == 0 { user("a") } else { assistant("b") }).collect();
    messages.extend([user("c"), thought, user("d")]);
    let policy = Policy { profile: profile(Binding::StripThinking, 200_000), ..window(11, 6) };
    let sent = sent(&messages, &policy);
    assert!(!has(&sent, "EqQB"));
    assert_eq!(sent[sent.len() - 2..], [user("c"), user("d")]);
}

#[test]
fn an_edit_waits_for_the_end_of_a_turn_that_thinks() {
    let thinking = |message: &Value| {
        let mut message = message.clone();
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "EqQB"});
        if message["role"] == "assistant" {
            message["content"].as_array_mut().unwrap().insert(0, thought);
        }
        message
    };
    let open: Vec<Value> =
        [vec![user("work")], rounds(&["a", "b", "c", "d"], 4_000)].concat().iter().map(thinking).collect();
    let policy = |window: u64| Policy {
        profile: profile(Binding::StripThinking, window),
        output: 0,
        ..Policy::new(Budget::tokens(1_000, 500).unwrap(), vec![Strategy::SlidingWindow])
    };
    let waiting = plan(&transcript(&open), &policy(200_000)).unwrap();
    assert_eq!((waiting.edits.len(), &waiting.warnings[..]), (0, &[Warning::WaitsForTurn][..]));
    // The window is full before that: the thinking stays as it is, and the API is told to drop what is not valid.
    let full = plan(&transcript(&open), &policy(3_500)).unwrap();
    assert!(full.needs.drops_blocks && full.changes.is_empty());
    assert_eq!(full.needs.betas, ["thinking-binding-controls-2026-08-01"]);
    let request = r#"{"model":"m", "max_tokens":1.0e3,"messages":[],"thinking":{"type":"adaptive"}}"#;
    assert_eq!(
        splice(request, "[7]", &full.needs).unwrap(),
        r#"{"model":"m","max_tokens":1.0e3,"messages":[7],"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}"#
    );
    // The turn ends.
    let closed = [open, vec![assistant("done"), user("thanks")]].concat();
    let after = plan(&transcript(&closed), &policy(200_000)).unwrap();
    assert!(after.edits.len() == 1 && !after.needs.drops_blocks);
    assert!(!render(&transcript(&closed), &after).contains("EqQB"));
}

/// Rounds of one call each, the n-th with thinking where `thinks` has a 1 there.
fn thoughtful(thinks: &str, bytes: usize) -> Vec<Value> {
    let mut messages = vec![user("work")];
    for (number, thinks) in thinks.bytes().enumerate() {
        let [mut call, result] = round(&[&format!("toolu_{number}")], bytes);
        if thinks == b'1' {
            let thought = json!({"type": "thinking", "thinking": "hm", "signature": format!("s{number}")});
            call["content"].as_array_mut().unwrap().insert(0, thought);
        }
        messages.extend([call, result]);
    }
    messages
}

#[test]
fn a_turn_that_lost_its_first_thinking_goes_on_without_thinking() {
    let messages = thoughtful("10000000", 100);
    let planned = |policy: &Policy| plan(&transcript(&messages), policy).unwrap();
    assert!(!planned(&window(90, 5)).needs.lacks_thinking);
    let cut = planned(&window(17, 5));
    assert!(cut.needs.lacks_thinking && cut.edits.len() == 1);
    let spliced = |request: Value, needs: &Needs| -> Value {
        serde_json::from_str(&splice(&request.to_string(), "[]", needs).unwrap()).unwrap()
    };
    let enabled = json!({"type": "enabled", "budget_tokens": 1024});
    let management =
        json!({"edits": [{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}]});
    let request = json!({"thinking": enabled, "context_management": management});
    let off = spliced(request.clone(), &cut.needs);
    assert_eq!(off["thinking"], json!({"type": "disabled"}));
    assert_eq!(off["context_management"], json!({"edits": [{"type": "clear_tool_uses_20250919"}]}));
    assert_eq!(spliced(request.clone(), &Needs::default())["context_management"], management);
    // What is thought later in that turn is not taken either.
    let later = thoughtful("10000001", 100);
    let cut = plan(&transcript(&later), &window(17, 5)).unwrap();
    let sent = render(&transcript(&later), &cut);
    let off = splice(&json!({"thinking": enabled, "messages": []}).to_string(), &sent, &cut.needs).unwrap();
    assert!(sent.contains("\"s7\"") && !off.contains("\"s7\"") && off.contains("\"toolu_7\""), "{off}");
    assert_eq!(validate(&serde_json::from_str(&off).unwrap()), []);
    // What is disabled takes no block binding; what is adaptive asks for no thinking first.
    let both = Needs { drops_blocks: true, ..cut.needs };
    assert_eq!(spliced(request, &both)["thinking"], json!({"type": "disabled"}));
    let adaptive = spliced(json!({"thinking": {"type": "adaptive"}}), &both);
    assert_eq!(adaptive["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
    assert_eq!(spliced(json!({}), &both)["thinking"]["type"], "adaptive");
    // The turn ends.
    let closed = [messages.clone(), vec![assistant("done"), user("thanks")]].concat();
    assert!(!plan(&transcript(&closed), &window(17, 5)).unwrap().needs.lacks_thinking);
}

#[test]
fn a_cut_takes_a_little_more_where_thinking_begins() {
    let cut = |thinks: &str, bytes: usize| {
        let messages = thoughtful(thinks, bytes);
        let policy = Policy { budget: Budget::messages(65, 41).unwrap(), ..window(65, 41) };
        let planned = plan(&transcript(&messages), &policy).unwrap();
        assert_eq!(planned.edits.len(), 1);
        (rendered(&transcript(&messages), &planned).len(), planned.needs.lacks_thinking)
    };
    let thinks =
        |at: &[usize]| -> String { (0..32).map(|n| if at.contains(&n) { '1' } else { '0' }).collect() };
    assert_eq!(cut(&thinks(&[0, 12]), 100), (42, false));
    // Two rounds of twenty are a little, ten are not.
    assert_eq!(cut(&thinks(&[0, 14]), 100), (38, false));
    assert_eq!(cut(&thinks(&[0, 22]), 100), (42, true));
    assert_eq!(cut(&thinks(&[0]), 100), (42, true));
}

#[test]
fn a_blank_compaction_stands_for_nothing() {
    let compaction = |content: Value| {
        json!({"role": "assistant", "content": [
        {"type": "compaction", "content": content}, {"type": "text", "text": "going on"}]})
    };
    let messages = |content: Value| {
        [vec![user("work")], rounds(&["a", "b"], 4_000), vec![compaction(content), user("more")]].concat()
    };
    let policy = Policy { profile: profile(Binding::AppendOnly, 200_000), ..Policy::default() };
    let tokens = |content: Value| plan(&transcript(&messages(content)), &policy).unwrap().tokens;
    assert!(tokens(json!("What was said.")) < 200);
    assert!(tokens(Value::Null) > 1_900);
    assert!(tokens(json!("")) > 1_900);
}

#[test]
fn one_huge_result_is_cut_and_nothing_is_lost() {
    let text = prose(12 << 20);
    let message = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": text, "is_error": false}, {"type": "text", "text": "so"}]});
    let guard = Oversize::default();
    let guarded = guard.guard(Message::from_value(&message).unwrap(), 2, &Profile::default());
    assert_eq!(guarded.spills, [("/memories/context/toolu_1.txt".to_owned(), text)]);
    assert!(guarded.message.json().len() < 100_000);
    assert!(guarded.message.json().contains("the whole is in /memories/context/toolu_1.txt"));
    assert!(guarded.message.json().ends_with(r#","is_error":false},{"type":"text","text":"so"}]}"#));
    let small = Message::from_value(&round(&["a"], 100)[1]).unwrap();
    assert_eq!(guard.guard(small.clone(), 0, &Profile::default()).message, small);
}

#[test]
fn what_is_cleared_is_spilled() {
    let ids = ["toolu_1", "toolu_2", "toolu_3", "toolu_4", "toolu_5"];
    let messages = [vec![user("work")], rounds(&ids, 4_000)].concat();
    let mut memory = messages.clone();
    memory[1]["content"][0]["name"] = "memory".into();
    let clear = ClearToolUses { trigger: Amount::InputTokens(4_000), ..ClearToolUses::default() };
    let policy = Policy {
        profile: profile(Binding::Ignore, 200_000),
        ..Policy::new(Budget::tokens(4_000, 2_000).unwrap(), vec![Strategy::ClearToolUses(clear)])
    };
    let log = transcript(&messages);
    let planned = plan(&log, &policy).unwrap();
    let paths: Vec<&str> = planned.spills.iter().map(|spill| &*spill.path).collect();
    assert_eq!(paths, ["/memories/context/toolu_1.txt", "/memories/context/toolu_2.txt"]);
    assert_eq!(spilled(&log, &planned.spills[0]), prose(4_000));
    let sent = rendered(&log, &planned);
    assert!(sent[2]["content"][0]["content"].as_str().unwrap().contains("/memories/context/toolu_1.txt"));
    assert_eq!(sent[6], messages[6]);
    assert_eq!(validate(&Value::from(sent)), []);
    let log = transcript(&memory);
    let planned = plan(&log, &policy).unwrap();
    assert!(planned.spills.iter().all(|spill| spill.message != 2), "what the memory tool said stays");
}

#[test]
fn what_must_stay_may_be_too_large() {
    let policy = Policy { profile: profile(Binding::Ignore, 10_000), ..Policy::default() };
    let error = plan(&transcript(&[user(&prose(80_000))]), &policy).unwrap_err();
    assert!(error.min > 10_000 && error.limit == 10_000 - 8_192, "{error}");
}

#[test]
fn cited_documents_stay_and_their_numbers_with_them() {
    let document = |title: &str| {
        json!({"role": "user", "content": [
        {"type": "document", "title": title, "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]})
    };
    let citing = json!({"role": "assistant", "content": [{"type": "text", "text": "x", "citations": [
        {"type": "char_location", "document_index": 1, "document_title": "b", "cited_text": "x"}]}]});
    let messages = [
        document("a"),
        assistant("read"),
        user("more"),
        assistant("yes"),
        document("b"),
        assistant("read"),
        user("and"),
        assistant("so"),
        user("what of b?"),
        citing,
        user("thanks"),
    ];
    let sent = sent(&messages, &Policy { pins: vec![], ..window(11, 5) });
    assert!(has(&sent, "\"a\"") && has(&sent, "\"b\"") && !has(&sent, "more"), "{sent:?}");
}

#[test]
fn a_larger_budget_keeps_what_a_smaller_one_keeps() {
    let chat = |n: usize| match n % 5 {
        0 => user(&format!("an important decision {n}")),
        2 => user(&prose(40 + 97 * n % 700)),
        _ => assistant(&format!("{n} {}", prose(13 * n % 300))),
    };
    let log = transcript(&(0..61).map(chat).collect::<Vec<_>>());
    let kept = |low: u64| -> Vec<bool> {
        let policy = Policy {
            profile: profile(Binding::Ignore, 200_000),
            ..Policy::new(
                Budget::tokens(3_000, low).unwrap(),
                vec![Strategy::Retention(Retention::default())],
            )
        };
        // One edit, at the end.
        let planned =
            plan(&log, &Policy { budget: Budget::tokens(u64::MAX, low).unwrap(), ..policy.clone() }).unwrap();
        let all = planned.tokens;
        let planned = plan(&log, &Policy { budget: Budget::tokens(all, low).unwrap(), ..policy }).unwrap();
        planned.atoms.iter().map(|atom| atom.fate.is_sent()).collect()
    };
    let mut last = kept(100);
    for low in (200..2_600).step_by(100) {
        let more = kept(low);
        assert!(last.iter().zip(&more).all(|(less, more)| more >= less), "at {low}");
        last = more;
    }
    assert!(last.iter().filter(|kept| **kept).count() > 30);
}

#[test]
fn the_model_is_told_before_anything_goes_and_once() {
    let policy = Policy { flush: Flush::BeforeEdits, ..window(21, 10) };
    let mut log =
        transcript(&(0..19).map(|n| if n % 2 == 0 { user("a") } else { assistant("b") }).collect::<Vec<_>>());
    let notice = plan(&log, &policy).unwrap().flush.unwrap();
    log.push(Message::from_value(&user(&notice)).unwrap());
    log.note(Note::Flushed);
    assert_eq!(plan(&log, &policy).unwrap().flush, None);
    log.push(Message::from_value(&assistant("noted")).unwrap());
    log.push(Message::from_value(&user("go on")).unwrap());
    let after = plan(&log, &policy).unwrap();
    assert_eq!((after.edits.len(), after.flush), (1, None));
}
