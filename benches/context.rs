//! Long conversations: `cargo bench --no-default-features --bench context`.

use divan::Bencher;
use memdir::context::{Binding, Message, Policy, Transcript, plan, render};

fn main() {
    divan::main();
}

/// A conversation of so many messages, about 100 tokens each: rounds of one call, and a task every hundred messages.
fn conversation(messages: usize) -> Vec<Message> {
    let words = "we looked at the report again and found that the second half does not agree with it ";
    let each = (0..messages).map(|n| {
        let id = n / 2;
        let json = match (n % 100, n % 2) {
            (0, _) => format!(r#"{{"role":"user","content":"task {n}: {}"}}"#, words.repeat(4)),
            (99, _) => format!(r#"{{"role":"assistant","content":"done {n}: {}"}}"#, words.repeat(4)),
            (_, 1) => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}},{{"type":"tool_use","id":"toolu_{id}","name":"grep","input":{{"pattern":"x"}}}}]}}"#,
                words.repeat(3)
            ),
            _ => format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{}","content":"{}"}}]}}"#,
                id - 1,
                words.repeat(4)
            ),
        };
        Message::from_json(&json).expect("it is a message")
    });
    each.collect()
}

fn policy(name: &str) -> Policy {
    let mut policy = match name {
        "window" => Policy::default(),
        "retention" => Policy::selective_retention(50_000),
        _ => Policy::compact_with_summary(2_000_000_000),
    };
    policy.profile.binding = Binding::StripThinking;
    if name == "whole" {
        policy.profile.window = 4_000_000_000;
    }
    policy
}

#[divan::bench(args = [1_000, 10_000, 100_000], consts = [0, 1, 2])]
fn plan_and_render<const POLICY: usize>(bencher: Bencher, messages: usize) {
    let transcript: Transcript = conversation(messages).into_iter().collect();
    let policy = policy(["whole", "window", "retention"][POLICY]);
    bencher.bench(|| render(&transcript, &plan(&transcript, &policy).expect("it fits")).len());
}

#[divan::bench]
fn push(bencher: Bencher) {
    let messages = conversation(1_000);
    bencher.counter(messages.len()).bench(|| messages.iter().cloned().collect::<Transcript>());
}

#[divan::bench]
fn read(bencher: Bencher) {
    let json: Vec<String> = conversation(1_000).iter().map(|message| message.json().to_owned()).collect();
    bencher.counter(json.len()).bench(|| {
        json.iter().map(|json| Message::from_json(json).expect("it is one")).collect::<Transcript>()
    });
}
