//! What holds for every conversation and every policy.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use serde_json::Value;

use super::super::Strategy;
use super::super::*;
use super::profile;
use super::scripts::{Host, Talk, steps};

fn policies() -> impl proptest::strategy::Strategy<Value = Policy> {
    let clear = ClearToolUses {
        trigger: Amount::InputTokens(500),
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
        (1..2_000_u64, 1..2_000_u64).prop_map(|(low, more)| Budget::tokens(low + more, low).unwrap()),
        (1..20_u64, 1..20_u64).prop_map(|(low, more)| Budget::messages(low + more, low).unwrap()),
    ];
    let binding = prop_oneof![
        3 => Just(Binding::StripThinking),
        1 => Just(Binding::DropBlock),
        2 => Just(Binding::Ignore),
        1 => Just(Binding::AppendOnly),
    ];
    let pins = prop_oneof![
        3 => Just(vec![Pin::FirstTask, Pin::LatestTask]),
        1 => Just(vec![Pin::FirstTask]),
        1 => Just(vec![]),
        1 => (0..20_usize).prop_map(|number| vec![Pin::Message(number)]),
    ];
    (prop::collection::vec(one, 0..3), budget, binding, pins, 3_000..30_000_u64).prop_map(
        |(strategies, budget, binding, pins, window)| Policy {
            pins,
            profile: profile(binding, window),
            output: 1_000,
            ..Policy::new(budget, strategies)
        },
    )
}

fn hosts() -> impl proptest::strategy::Strategy<Value = Host> {
    (any::<bool>(), 0..4_usize).prop_map(|(reports, fails)| Host { reports, fails })
}

/// More cases by `PROPTEST_CASES`, fewer by nothing.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(256), failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_is_valid(steps in steps(), policy in policies(), host in hosts()) {
        let mut talk = Talk::new(&policy, host);
        for step in &steps {
            if talk.step(step).is_none() {
                break;
            }
        }
        // Every request on the way was judged; so is what would come now.
        let transcript = &talk.transcript;
        let Ok(planned) = plan(transcript, &policy) else { return Ok(()) };
        check(transcript, &policy, &planned)?;
    }
}

fn check(transcript: &Transcript, policy: &Policy, planned: &Plan) -> Result<(), TestCaseError> {
    let request = render(transcript, planned);

    // A plan gives the same bytes again, and so does the log.
    let again: Plan = serde_json::from_str(&serde_json::to_string(planned).unwrap()).unwrap();
    prop_assert_eq!(&again, planned);
    prop_assert_eq!(&render(transcript, &again), &request);
    let lines: String = transcript.lines().map(|line| line + "\n").collect();
    let log = Transcript::from_lines(&lines).unwrap();
    prop_assert_eq!(&plan(&log, policy).unwrap(), planned);

    // Messages that are sent are the bytes that came, in their order, but for changes that the plan lists.
    let mut rest = &request[..];
    for verdict in planned.atoms.iter().filter(|verdict| verdict.fate.is_sent()) {
        for number in verdict.messages.clone() {
            let message = transcript.get(number).unwrap();
            let change = |block: usize| {
                planned.changes.iter().find(|change| (change.message, change.block) == (number, block))
            };
            if !planned.changes.iter().any(|change| change.message == number) {
                let at = rest.find(message.json());
                prop_assert!(at.is_some(), "message {} is not as it came", number);
                rest = &rest[at.unwrap() + message.json().len()..];
                continue;
            }
            for (at, block) in message.blocks().iter().enumerate() {
                if change(at).is_none() {
                    let json = message.block_json(block);
                    prop_assert!(rest.contains(json), "block {}.{} is not as it came", number, at);
                }
            }
        }
    }

    // Pins and tools stay.
    let fate =
        |number: usize| planned.atoms.iter().find(|verdict| verdict.messages.contains(&number)).unwrap().fate;
    let is_task = |message: &Message| {
        message.role() == Role::User && message.blocks().iter().all(|block| block.kind != Kind::ToolResult)
    };
    for (number, message) in transcript.messages().enumerate() {
        let is_state = message.blocks().iter().any(|block| block.kind == Kind::ToolChange);
        let is_pinned = policy.pins.contains(&Pin::Message(number));
        prop_assert!(!is_state && !is_pinned || fate(number).is_sent(), "message {} is lost", number);
    }
    if policy.pins.contains(&Pin::FirstTask) {
        let first = transcript.messages().position(is_task);
        prop_assert!(first.is_none_or(|first| fate(first).is_sent()));
    }

    // It fits, or says that it does not.
    prop_assert!(planned.tokens <= policy.limit() || planned.wanted.is_some());

    // What is sent, taken for a conversation of its own, is left alone, when it is below the mark.
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
    {
        let second = plan(&sent, policy).unwrap();
        prop_assert!(second.edits.is_empty());
        let (first, second): (Value, Value) =
            (serde_json::from_str(&request).unwrap(), serde_json::from_str(&render(&sent, &second)).unwrap());
        prop_assert_eq!(first, second);
    }
    Ok(())
}
