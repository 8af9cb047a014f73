//! What holds for every conversation and every policy.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use serde_json::{Value, json};

use super::super::Strategy;
use super::super::*;
use super::grammar::history;
use super::profile;
use super::scripts::{Host, Step, Talk, steps};

/// Policies of all kinds, for conversations of a few times so many tokens.
pub(crate) fn policies(tokens: u64) -> impl proptest::strategy::Strategy<Value = Policy> {
    let clear = ClearToolUses {
        trigger: Amount::InputTokens(tokens / 4),
        clear_tool_inputs: ClearInputs::All(true),
        ..ClearToolUses::default()
    };
    let one = prop_oneof![
        Just(Strategy::SlidingWindow),
        (0..8_usize).prop_map(|keep| Strategy::Summary(Summary {
            keep,
            window: 3_000,
            ..Summary::default()
        })),
        Just(Strategy::Retention(Retention::default())),
        Just(Strategy::ClearToolUses(clear)),
    ];
    let budget = prop_oneof![
        (1..tokens, 1..tokens).prop_map(|(low, more)| Budget::tokens(low + more, low).unwrap()),
        (1..20_u64, 1..20_u64).prop_map(|(low, more)| Budget::messages(low + more, low).unwrap()),
    ];
    let pins = prop_oneof![
        3 => Just(vec![Pin::FirstTask, Pin::LatestTask]),
        1 => Just(vec![Pin::FirstTask]),
        1 => Just(vec![]),
        1 => (0..20_usize).prop_map(|number| vec![Pin::Message(number)]),
    ];
    let own = (prop::collection::vec(one, 0..3), budget, pins)
        .prop_map(|(strategies, budget, pins)| Policy { pins, ..Policy::new(budget, strategies) });
    let policy = prop_oneof![
        8 => own,
        1 => Just(Policy::default()),
        1 => (0..20_usize).prop_map(Policy::sliding_window),
        1 => (1..tokens).prop_map(Policy::compact_with_summary),
        1 => (1..tokens).prop_map(Policy::selective_retention),
    ];
    let binding = prop_oneof![
        3 => Just(Binding::StripThinking),
        1 => Just(Binding::DropBlock),
        2 => Just(Binding::Ignore),
        1 => Just(Binding::AppendOnly),
    ];
    let flush = prop_oneof![2 => Just(Flush::Never), 1 => Just(Flush::BeforeEdits)];
    (policy, binding, flush, tokens / 4..tokens * 10).prop_map(|(policy, binding, flush, room)| Policy {
        profile: Profile { mid_system: true, ..profile(binding, 1_000 + room) },
        output: 1_000,
        flush,
        ..policy
    })
}

pub(crate) fn hosts() -> impl proptest::strategy::Strategy<Value = Host> {
    (any::<[bool; 2]>(), 0..4_usize).prop_map(|([reports, guards], fails)| Host { reports, fails, guards })
}

/// More cases by `PROPTEST_CASES`, fewer by nothing.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(256), failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_is_valid(steps in steps(), policy in policies(2_000), host in hosts(), thinks: bool) {
        let mut head = json!({"messages": []});
        // Models that bind thinking take none with a budget.
        if thinks && policy.profile.binding == Binding::Ignore {
            head["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        }
        let mut talk = Talk::new(&head, &policy, host);
        let _ = steps.iter().try_for_each(|step| talk.step(step));
        check(&talk.transcript, &policy)?;
    }

    #[test]
    fn what_is_valid_stays_valid(mut whole in history(), policy in policies(300), host in hosts(), thinks: bool) {
        let model = Profile::of(whole["model"].as_str().unwrap());
        let binding = match (model.binding, policy.profile.binding) {
            (Binding::StripThinking, binding) if binding != Binding::Ignore => binding,
            (binding, _) => binding,
        };
        let policy = Policy {
            profile: Profile { binding, window: policy.profile.window, ..model },
            ..policy
        };
        if thinks && binding == Binding::Ignore {
            whole["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
        }
        let mut talk = Talk::new(&whole, &policy, host);
        let heard = whole["messages"].as_array().unwrap().iter().try_for_each(|message| talk.hear(message));
        // Messages of the user's and results of tools are last.
        heard.and_then(|()| talk.asked());
        check(&talk.transcript, &policy)?;
    }

    #[test]
    fn what_cannot_fit_says_what_it_takes(steps in steps(), part in 1..100_u64, keeps: bool, high in 1..4_000_u64) {
        says_what_it_takes(&steps, part, keeps, high)?;
    }

    #[test]
    fn a_larger_budget_keeps_all_that_a_smaller_one_keeps(steps in steps(), low in 1..100_u64, more in 1..100_u64) {
        let transcript = talked(&steps);
        let policy = |budget| Policy {
            profile: Profile { mid_system: true, ..profile(Binding::Ignore, 1 << 40) },
            ..Policy::new(budget, vec![Strategy::Retention(Retention::default())])
        };
        // One edit, when all has been said.
        let all = plan(&transcript, &policy(Budget::tokens(1 << 40, 1).unwrap())).unwrap().tokens;
        let kept = |low: u64| {
            let plan = plan(&transcript, &policy(Budget::tokens(all.max(2) - 1, low).unwrap())).unwrap();
            let at = plan.edits.first().map(|edit| edit.at);
            let sent = plan.atoms.iter().filter(|atom| atom.fate.is_sent()).flat_map(|atom| atom.messages.clone());
            at.map(|at| (at, sent.collect::<std::collections::BTreeSet<_>>()))
        };
        let low = (all * low / 200).max(1);
        let (less, more) = (low.min(all.max(3) - 2), (low + all * more / 400).min(all.max(3) - 2));
        if let (Some((at, less)), Some((same, more))) = (kept(less), kept(more))
            && at == same
        {
            prop_assert!(less.is_subset(&more), "{less:?} {more:?}");
        }
    }
}

/// What must stay is what the smallest window has room for.
fn says_what_it_takes(steps: &[Step], part: u64, keeps: bool, high: u64) -> Result<(), TestCaseError> {
    let strategies =
        vec![if keeps { Strategy::Retention(Retention::default()) } else { Strategy::SlidingWindow }];
    let budget = Budget::tokens(high + 1, high / 2).unwrap();
    let limited = |limit: u64| Policy {
        profile: Profile { mid_system: true, ..profile(Binding::Ignore, limit) },
        output: 0,
        ..Policy::new(budget, strategies.clone())
    };
    let transcript = talked(steps);
    let all = plan(&transcript, &Policy { strategies: vec![], ..limited(1 << 40) }).unwrap().tokens;
    let limit = (all * part / 100).max(1);
    match plan(&transcript, &limited(limit)) {
        Ok(plan) => prop_assert!(plan.tokens <= limit),
        Err(CannotFit { min, .. }) => {
            prop_assert!(min > limit);
            prop_assert!(plan(&transcript, &limited(min)).is_ok());
            prop_assert!(plan(&transcript, &limited(min - 1)).is_err());
        }
    }
    Ok(())
}

/// Where markers would take more than what goes, it matters what goes at once.
#[test]
fn what_must_stay_does_not_depend_on_when_the_rest_went() {
    let task = Step::Task { bytes: 1, parts: 2 };
    let says = [task.clone(), task, Step::Say { bytes: 1, thinks: false }];
    says_what_it_takes(&says, 1, false, 54).unwrap();
    let adds = [Step::AddTool, Step::AddTool, Step::AddTool, Step::Search { is_paused: false }];
    says_what_it_takes(&adds, 1, false, 450).unwrap();
}

/// A cut by messages that makes room enough takes no more than it would if there were room anyway.
#[test]
fn a_budget_of_messages_is_kept_to_where_the_window_is_full_as_well() {
    let turns = (0..21).map(|n| {
        let text = format!("{n} {}", super::prose(400));
        if n % 2 == 0 { super::user(&text) } else { super::assistant(&text) }
    });
    let transcript = super::transcript(&turns.collect::<Vec<_>>());
    let policy = |limit| Policy {
        profile: profile(Binding::Ignore, limit),
        output: 0,
        ..Policy::new(Budget::messages(21, 10).unwrap(), vec![Strategy::SlidingWindow])
    };
    let sent = |plan: &Plan| -> Vec<_> {
        let sent = plan.atoms.iter().filter(|atom| atom.fate.is_sent());
        sent.flat_map(|atom| atom.messages.clone()).collect()
    };
    let all = plan(&transcript, &Policy { strategies: vec![], ..policy(1 << 40) }).unwrap().tokens;
    let roomy = plan(&transcript, &policy(1 << 40)).unwrap();
    assert!((8..=10).contains(&sent(&roomy).len()), "{:?}", sent(&roomy));
    assert_eq!(sent(&plan(&transcript, &policy(all - 1)).unwrap()), sent(&roomy));
}

/// A conversation of which nothing was left out.
fn talked(steps: &[Step]) -> Transcript {
    let policy = Policy {
        profile: Profile { mid_system: true, ..profile(Binding::AppendOnly, 1 << 40) },
        ..Policy::default()
    };
    let mut talk =
        Talk::new(&json!({"messages": []}), &policy, Host { reports: false, fails: 0, guards: false });
    steps.iter().try_for_each(|step| talk.step(step)).expect("there is room");
    talk.transcript
}

/// What would be sent now: every request on the way was judged.
fn check(transcript: &Transcript, policy: &Policy) -> Result<(), TestCaseError> {
    let Ok(planned) = &plan(transcript, policy) else { return Ok(()) };
    let request = render(transcript, planned);

    // A plan gives the same bytes again, and so does the log.
    let again: Plan = serde_json::from_str(&serde_json::to_string(planned).unwrap()).unwrap();
    prop_assert_eq!(&again, planned);
    prop_assert_eq!(&render(transcript, &again), &request);
    let lines: String = transcript.lines().map(|line| line + "\n").collect();
    let log = Transcript::from_lines(&lines).unwrap();
    prop_assert_eq!(&plan(&log, policy).unwrap(), planned);

    // Messages without changes are the bytes that came.
    let sent = planned.atoms.iter().filter(|verdict| verdict.fate.is_sent());
    for number in sent.flat_map(|verdict| verdict.messages.clone()) {
        let is_changed = planned.changes.iter().any(|change| change.message == number);
        prop_assert!(is_changed || request.contains(transcript.get(number).unwrap().json()));
    }

    // It fits, or says that it does not.
    prop_assert!(planned.tokens <= policy.limit() || planned.wanted.is_some());

    // What is sent, taken for a conversation of its own, is left alone, when it is below the mark and always was: what a
    // compaction of the API's stands for may have been above it.
    let sent: Vec<&serde_json::value::RawValue> = serde_json::from_str(&request).unwrap();
    let sent: Transcript = sent.iter().map(|json| Message::from_json(json.get()).unwrap()).collect();
    let size = |plan: &Plan| match policy.budget.unit() {
        Unit::Tokens => plan.tokens,
        Unit::Messages => sent.len() as u64,
    };
    let has_own_mark = policy.strategies.iter().any(|one| matches!(one, Strategy::ClearToolUses(_)));
    if let Ok(second) = plan(&sent, &Policy { strategies: vec![], ..policy.clone() })
        && second.edits.is_empty()
        && size(&second) < policy.budget.high()
        && !has_own_mark
        && !planned.atoms.iter().any(|verdict| verdict.fate == Fate::Compacted)
    {
        let second = plan(&sent, policy).unwrap();
        prop_assert!(second.edits.is_empty());
        let (first, second): (Value, Value) =
            (serde_json::from_str(&request).unwrap(), serde_json::from_str(&render(&sent, &second)).unwrap());
        prop_assert_eq!(first, second);
    }
    Ok(())
}
