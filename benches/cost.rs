//! What a long conversation costs, by what is sent of it: `cargo bench --no-default-features --bench cost`.
//!
//! An agent works through tasks with tools: the same requests under each policy, sent to the stand-in for the Messages API
//! (`memdir::double`), which refuses what is not valid and accounts for the prompt cache. Marks of the cache are on `system` and,
//! automatic, at the end. With `-- --test` the conversation is a short one.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::time::Duration;

use memdir::context::{
    Budget, ClearToolUses, Delegate, Message, Note, Policy, Profile, Retention, Strategy, Summary,
    Transcript, Usage, plan, render, splice,
};
use memdir::double::{Double, Script};
use serde_json::{Value, json};

const MODEL: &str = "claude-opus-5";
/// Dollars for a million tokens of input and of output, without the cache.
const PRICES: (f64, f64) = (5.0, 25.0);
/// Where editing starts, and where it ends.
const MARKS: (u64, u64) = (150_000, 30_000);
const MAX_TOKENS: u64 = 8_192;
/// Between two requests of a task, and before the next task: nothing in the cache expires.
const PAUSES: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(240));

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let is_short = args.iter().any(|arg| arg == "--test") || !args.iter().any(|arg| arg == "--bench");
    let talk = if is_short { Talk::of(24, 8) } else { Talk::of(300, 1) };
    println!("{} requests to {MODEL}, {} tokens at the end\n", talk.steps.len(), talk.tokens());
    println!(
        "| sent | requests | input | cache written | cache read | output | dollars | of append only |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|"
    );
    let mut first = None;
    for (name, policy) in policies() {
        let bill = run(&talk, &policy);
        let dollars = bill.dollars();
        let of = dollars / *first.get_or_insert(dollars);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {dollars:.2} | {of:.2} |",
            bill.requests,
            thousands(bill.fresh),
            thousands(bill.written),
            thousands(bill.read),
            thousands(bill.output)
        );
    }
}

fn policies() -> Vec<(&'static str, Policy)> {
    let between = |high, low, strategy: Strategy| {
        let budget = Budget::tokens(high, low).expect("the high mark is above the low one");
        Policy::new(budget, vec![strategy]).for_model(MODEL)
    };
    let (high, low) = MARKS;
    let clearing = Delegate::clearing(&ClearToolUses::default());
    vec![
        ("everything (append only)", between(u64::MAX, low, Strategy::SlidingWindow)),
        ("the last 150k tokens, moving every turn", between(high + 1, high, Strategy::SlidingWindow)),
        ("the latest messages, 150k → 30k", between(high, low, Strategy::SlidingWindow)),
        ("a summary and the latest, from 150k", between(high, low, Strategy::Summary(Summary::default()))),
        ("what matters, 150k → 30k", between(high, low, Strategy::Retention(Retention::default()))),
        ("results cleared by the API, from 100k", between(u64::MAX, low, Strategy::Delegate(clearing))),
        ("results to memory files, from 100k, then 150k → 30k", Policy::default().for_model(MODEL)),
    ]
}

/// What was used.
#[derive(Default)]
struct Bill {
    requests: u64,
    fresh: u64,
    written: u64,
    read: u64,
    output: u64,
}

impl Bill {
    fn add(&mut self, usage: Usage) {
        self.requests += 1;
        self.fresh += usage.input;
        self.written += usage.cache_creation;
        self.read += usage.cache_read;
        self.output += usage.output;
    }

    fn dollars(&self) -> f64 {
        let cache = Profile::of(MODEL).cache;
        let input = self.fresh as f64 + self.written as f64 * cache.write + self.read as f64 * cache.read;
        (input * PRICES.0 + self.output as f64 * PRICES.1) / 1e6
    }
}

/// The conversation under a policy, request by request.
fn run(talk: &Talk, policy: &Policy) -> Bill {
    let mut api = Double::new(Script::from_lines("").expect("no line is a script"));
    let (mut log, mut bill, mut now) = (Transcript::default(), Bill::default(), Duration::ZERO);
    for step in &talk.steps {
        now += if step.is_task { PAUSES.1 } else { PAUSES.0 };
        log.push(message(&step.asked));
        let mut planned = plan(&log, policy).expect("it fits");
        while let Some(wanted) = planned.wanted.take() {
            let said = format!("The goal is as it was. {}", words(&mut Chance(wanted.upto as u64), 1_500));
            let messages: Value = serde_json::from_str(&wanted.messages).expect("a list of messages");
            let request = json!({"model": MODEL, "max_tokens": wanted.max_tokens, "messages": messages});
            bill.add(sent(&mut api, &request, &[], now, tokens(&said), 0));
            log.note(wanted.answered(&said));
            planned = plan(&log, policy).expect("it fits");
        }
        let request = splice(&talk.head, &render(&log, &planned), &planned.needs).expect("an object");
        let request: Value = serde_json::from_str(&request).expect("an object");
        let betas: Vec<&str> = planned.needs.betas.iter().map(String::as_str).collect();
        let answered = tokens(&step.answer.to_string());
        let usage = sent(&mut api, &request, &betas, now, answered, planned.edits.len());
        bill.add(usage);
        log.push(message(&step.answer));
        log.note(Note::Usage(usage));
    }
    bill
}

/// Sends a request: what it took, with so many tokens of an answer.
fn sent(
    api: &mut Double,
    request: &Value,
    betas: &[&str],
    now: Duration,
    output: u64,
    edits: usize,
) -> Usage {
    let answer = api.create_at(request, betas, now).expect("the request is valid");
    Usage { output, ..Usage::of(&answer["usage"], edits) }
}

fn message(value: &Value) -> Message {
    Message::from_value(value).expect("a message")
}

/// A conversation of an agent.
struct Talk {
    /// A request without messages.
    head: String,
    steps: Vec<Step>,
}

/// What is asked, and what is answered.
struct Step {
    is_task: bool,
    asked: Value,
    answer: Value,
}

impl Talk {
    /// So many requests, with results that are so many times longer than usual.
    fn of(requests: usize, times: u64) -> Self {
        let mut chance = Chance(7);
        let tools = ["list_files", "read_file", "search", "edit_file", "run_tests", "run_command"].map(|name| {
            let about = words(&mut chance, 400);
            json!({"name": name, "description": about, "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}})
        });
        let system = json!([{"type": "text", "text": words(&mut chance, 2_500), "cache_control": {"type": "ephemeral"}}]);
        let head = json!({"model": MODEL, "max_tokens": MAX_TOKENS, "cache_control": {"type": "ephemeral"}, "tools": tools,
            "system": system, "messages": []});
        let (mut steps, mut calls): (Vec<Step>, Vec<String>) = (Vec::new(), Vec::new());
        for number in 0..requests {
            let is_task = calls.is_empty();
            let asked = if is_task {
                let task = format!("Task {number}: {}", words(&mut chance, 80));
                json!({"role": "user", "content": task})
            } else {
                json!({"role": "user", "content": calls.iter().map(|id| result(&mut chance, id, times)).collect::<Vec<_>>()})
            };
            let says = 30 + chance.below(120);
            let mut answer = vec![json!({"type": "text", "text": words(&mut chance, says)})];
            calls = match number % 25 {
                24 => Vec::new(),
                _ => (0..=chance.below(5) / 3).map(|call| format!("toolu_{number}_{call}")).collect(),
            };
            answer.extend(calls.iter().map(|id| {
                let length = 20 + chance.below(150);
                let input = json!({"path": format!("src/part_{}.rs", chance.below(90)), "text": words(&mut chance, length)});
                json!({"type": "tool_use", "id": id, "name": "read_file", "input": input})
            }));
            steps.push(Step { is_task, asked, answer: json!({"role": "assistant", "content": answer}) });
        }
        Self { head: head.to_string(), steps }
    }

    fn tokens(&self) -> String {
        let steps =
            self.steps.iter().map(|step| tokens(&step.asked.to_string()) + tokens(&step.answer.to_string()));
        thousands(tokens(&self.head) + steps.sum::<u64>())
    }
}

/// A result of a tool: many are short, a few are whole files.
fn result(chance: &mut Chance, id: &str, times: u64) -> Value {
    let length = match chance.below(10) {
        0..=3 => 50 + chance.below(300),
        4..=7 => 400 + chance.below(1_600),
        8 => 2_000 + chance.below(3_000),
        _ => 5_000 + chance.below(7_000),
    };
    json!({"type": "tool_result", "tool_use_id": id, "content": words(chance, length * times)})
}

/// A text of so many tokens, in lines, at four characters a token.
fn words(chance: &mut Chance, tokens: u64) -> String {
    const WORDS: [&str; 24] = [
        "let", "file", "the", "error", "in", "value", "parser", "returns", "none", "test", "of", "a",
        "request", "when", "index", "is", "missing", "line", "and", "then", "cache", "state", "fixed",
        "module",
    ];
    let length = usize::try_from(tokens * 4).expect("a short text");
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        text.push_str(WORDS[usize::try_from(chance.below(24)).expect("a number of a word")]);
        text.push_str(if chance.below(12) == 0 { "\n" } else { " " });
    }
    text.trim_end().to_owned()
}

fn tokens(text: &str) -> u64 {
    text.len() as u64 / 4
}

/// The same numbers every time (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        let mut next = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0 = next;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (next ^ (next >> 31)) % end
    }
}

/// A number with a comma at every thousand.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).expect("digits")).collect();
    parts.join(",")
}
