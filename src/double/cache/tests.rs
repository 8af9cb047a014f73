//! Requests one after the other, and what of them is read, and written for how long.
//!
//! A request is written as its blocks: `t` a tool, `s` a part of `system`, `u` and `a` what the user and the assistant say,
//! `h` thinking, `c` a call and `r` a result; `5` and `1` mark the block for five minutes or an hour; `~` says something else than
//! without; `*15`: so many of them. Every block has about 600 tokens.

use super::*;
use crate::double::{Call, Settings, ask::Purpose, headers, seal::Signer};

const MODEL: &str = "claude-opus-5";

fn request(blocks: &str) -> Value {
    let (mut tools, mut system, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    let mut number = 0;
    for word in blocks.split_whitespace() {
        let (word, times) = word.split_once('*').unwrap_or((word, "1"));
        for time in 1..=times.parse().unwrap() {
            number += 1;
            let other = if word.contains('~') { "other" } else { "same" };
            let text = format!("{number} {other} {}", "word ".repeat(480));
            let mut block = match &word[..1] {
                "t" => {
                    let schema = json!({"type": "object"});
                    json!({"name": format!("tool_{number}"), "description": text, "input_schema": schema})
                }
                "h" => json!({"type": "thinking", "thinking": text, "signature": "x"}),
                "c" => {
                    json!({"type": "tool_use", "id": number.to_string(), "name": "f", "input": {"x": text}})
                }
                "r" => json!({"type": "tool_result", "tool_use_id": number.to_string(), "content": text}),
                _ => json!({"type": "text", "text": text}),
            };
            let is_last = time.to_string() == times;
            match word.find(['1', '5']).map(|at| &word[at..=at]) {
                Some("1") if is_last => block["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"}),
                Some(_) if is_last => block["cache_control"] = json!({"type": "ephemeral"}),
                _ => {}
            }
            match &word[..1] {
                "t" => tools.push(block),
                "s" => system.push(block),
                "u" | "r" => messages.push(json!({"role": "user", "content": [block]})),
                _ => messages.push(json!({"role": "assistant", "content": [block]})),
            }
        }
    }
    json!({"model": MODEL, "max_tokens": 1, "tools": tools, "system": system, "messages": messages})
}

fn with(mut request: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more}") };
    for (name, value) in more {
        request[name] = value;
    }
    request
}

/// What is read and written of a request, as numbers of parts: up to where it is read, up to where it is then written for an
/// hour, and up to where for five minutes.
fn take(cache: &mut Cache, request: &Value, seconds: u64) -> [usize; 3] {
    // What only the head of a request is asked about is put in behind its back: whether it may be there is another question.
    const BEHIND: [&str; 6] = ["model", "speed", "thinking", "output_config", "tool_choice", "metadata"];
    let mut plain = request.clone();
    let fields = plain.as_object_mut().unwrap();
    fields.retain(|name, value| !BEHIND.contains(&&**name) && *value != json!([]));
    fields.insert("model".to_owned(), json!(MODEL));
    let body = plain.to_string();
    let headers = headers("any", "");
    let call = Call { method: "POST", path: "/v1/messages", headers: &headers, body: &body };
    let mut ask = Ask::read(&call, Purpose::Message, &Settings::default()).unwrap();
    for name in BEHIND.iter().filter(|name| !request[**name].is_null()) {
        ask.fields.insert((*name).to_owned(), request[*name].clone());
    }
    request["model"].as_str().unwrap().clone_into(&mut ask.model);
    let prompt = Prompt::of(&ask.request, &ask.model, &Signer::default(), false);
    let usage = cache.take(&prompt, &ask, Duration::from_secs(seconds));
    assert_eq!(usage.fresh + usage.read + usage.short + usage.long, prompt.tokens());
    let parts = |tokens: u64| {
        let mut sum = 0;
        let ends = prompt.parts.iter().map(|part| {
            sum += part.tokens;
            sum
        });
        let ends: Vec<u64> = [0].into_iter().chain(ends).collect();
        ends.iter().position(|end| *end == tokens).expect("the end of a part")
    };
    let long = usage.read + usage.long;
    [parts(usage.read), parts(long), parts(long + usage.short)]
}

/// A request, when it comes, and what of it is read and written.
type Step = (&'static str, u64, [usize; 3]);

#[test]
fn what_is_there_is_read_and_what_is_marked_is_kept() {
    let cases: &[(&str, &[Step])] = &[
        ("nothing is kept without a mark", &[("s u", 0, [0, 0, 0]), ("s u", 1, [0, 0, 0])]),
        ("a prefix up to a mark", &[("s u5", 0, [0, 0, 2]), ("s u5 a u", 1, [2, 2, 2])]),
        ("the whole prefix counts", &[("s u5", 0, [0, 0, 2]), ("s~ u5", 1, [0, 0, 2])]),
        (
            "one mark, which moves on",
            &[("u5", 0, [0, 0, 1]), ("u a u5", 1, [1, 1, 3]), ("u a u a u5", 2, [3, 3, 5])],
        ),
        // "Lookback in a growing conversation"
        (
            "twenty positions back, its own among them",
            &[("u*10 u5", 0, [0, 0, 11]), ("u*11 u*19 u5", 1, [0, 0, 31]), ("u*31 u*18 u5", 2, [31, 31, 50])],
        ),
        (
            "a second mark has a window of its own",
            &[("u*14 u5", 0, [0, 0, 15]), ("u*14 u5 u*19 u5", 1, [15, 15, 35])],
        ),
        (
            "a run of calls, and one of results, is one position",
            &[
                ("u5", 0, [0, 0, 1]),
                ("u c*30 r*29 r5", 1, [1, 1, 61]),
                ("u c*30 r*30 a*18 u5", 2, [61, 61, 80]),
            ],
        ),
        (
            "but calls and results by turns are not",
            &[("u5", 0, [0, 0, 1]), ("u c r c r c r c r c r c r c r c r c r c r5", 1, [0, 0, 21])],
        ),
        // "Common mistake: Breakpoint on content that changes every request"
        (
            "what changes all the time is never read",
            &[("s*5 u5", 0, [0, 0, 6]), ("s*5 u~5", 1, [0, 0, 6]), ("s*4 s5 u", 2, [0, 0, 5])],
        ),
        ("several marks: each is kept", &[("s5 u5", 0, [0, 0, 2]), ("s5 u~5", 1, [1, 1, 2])]),
        ("five minutes", &[("u5", 0, [0, 0, 1]), ("u5", 300, [0, 0, 1])]),
        (
            "and as long again when it is used",
            &[("u5", 0, [0, 0, 1]), ("u5", 299, [1, 1, 1]), ("u5", 598, [1, 1, 1])],
        ),
        (
            "an hour",
            &[
                ("u1", 0, [0, 1, 1]),
                ("u1", 3_599, [1, 1, 1]),
                ("u1", 7_198, [1, 1, 1]),
                ("u1", 10_798, [0, 1, 1]),
            ],
        ),
        // "Mixing different TTLs"
        ("an hour up to the last mark for one", &[("t1 s1 u a5 u", 0, [0, 2, 4])]),
        ("only what was not there", &[("t1 s u", 0, [0, 1, 1]), ("t1 s1 u5 u", 1, [1, 2, 3])]),
        (
            "what is read goes on being kept",
            &[("t1 u5", 0, [0, 1, 2]), ("t1 u5", 301, [1, 1, 2]), ("t1 u5", 3_700, [1, 1, 2])],
        ),
        ("thinking in between is kept with the rest", &[("u h a5", 0, [0, 0, 3]), ("u h a5", 1, [3, 3, 3])]),
    ];
    for (about, steps) in cases {
        let mut cache = Cache::default();
        for (number, (blocks, seconds, expected)) in steps.iter().enumerate() {
            assert_eq!(take(&mut cache, &request(blocks), *seconds), *expected, "{about}: {number}");
        }
    }
}

/// "What invalidates the cache": a part of each level is there, and something else changes.
#[test]
fn what_changes_makes_some_of_it_useless() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}});
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"},
        "citations": {"enabled": true}});
    let said = |block: &Value| {
        let mut messages = request("t5 s5 u5")["messages"].clone();
        messages.as_array_mut().unwrap().push(json!({"role": "user", "content": [block]}));
        json!({ "messages": messages })
    };
    let cases = [
        ("nothing", json!({}), 3),
        (
            "what the answer may be",
            json!({"max_tokens": 7, "stop_sequences": ["x"], "metadata": {"user_id": "x"}}),
            3,
        ),
        ("another model", json!({"model": "claude-fable-5"}), 0),
        ("tools", json!({"tools": request("t~5")["tools"]}), 0),
        ("system", json!({"system": request("t s~5")["system"]}), 1),
        ("speed", json!({"speed": "fast"}), 1),
        ("citations", said(&document), 1),
        ("the choice of a tool", json!({"tool_choice": {"type": "any"}}), 2),
        ("a choice that is the default", json!({"tool_choice": {"type": "auto"}}), 3),
        ("an image", said(&image), 2),
        (
            "an image in a result",
            said(&json!({"type": "tool_result", "tool_use_id": "1", "content": [image]})),
            2,
        ),
        ("how it thinks", json!({"thinking": {"type": "adaptive"}}), 2),
        ("effort", json!({"output_config": {"effort": "low"}}), 2),
        ("an effort that is the default", json!({"output_config": {"effort": "high"}}), 3),
    ];
    for (about, change, read) in cases {
        let mut cache = Cache::default();
        take(&mut cache, &request("t5 s5 u5"), 0);
        let changed = with(request("t5 s5 u5"), change);
        assert_eq!(take(&mut cache, &changed, 1)[0], read, "{about}");
    }
}

/// "Automatic caching"
#[test]
fn the_mark_of_the_request_falls_on_the_last_block_that_takes_one() {
    let auto = |blocks: &str, ttl: &str| {
        with(request(blocks), json!({"cache_control": {"type": "ephemeral", "ttl": ttl}}))
    };
    let mut cache = Cache::default();
    assert_eq!(take(&mut cache, &auto("s u", "5m"), 0), [0, 0, 2]);
    assert_eq!(take(&mut cache, &auto("s u a u", "5m"), 1), [2, 2, 4]);
    assert_eq!(take(&mut cache, &auto("s u a u5", "5m"), 2), [4, 4, 4]);
    assert_eq!(take(&mut cache, &auto("s1 u a u~", "1h"), 3), [2, 4, 4]);
    assert_eq!(take(&mut cache, &auto("s~ u h", "5m"), 4), [0, 0, 2]);
    let empty = with(request("u"), json!({"cache_control": null}));
    assert_eq!(take(&mut cache, &empty, 5), [0, 0, 0]);
}

/// "Cache limitations"
#[test]
fn what_is_too_short_is_not_kept() {
    for (model, least) in [
        ("claude-fable-5-1", 512),
        ("claude-opus-5-5", 512),
        ("us.anthropic.claude-opus-4-6-v1:0", 4_096),
        ("anthropic/claude-opus-4.7", 2_048),
        ("claude-opus-4-1-20250805", 1_024),
        ("claude-opus-4-8", 1_024),
        ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4-20250514", 1_024),
        ("claude-haiku-4-5-20251001", 4_096),
        ("claude-3-5-haiku-latest", 2_048),
        ("claude-mythos-preview", 2_048),
        ("claude-mythos-5-1", 512),
        ("llama-4", 4_096),
    ] {
        assert_eq!(super::least(model), least, "{model}");
    }
    let sonnet = |blocks: &str| with(request(blocks), json!({"model": "claude-sonnet-5"}));
    let mut cache = Cache::default();
    assert_eq!(take(&mut cache, &sonnet("s5 u"), 0), [0, 0, 0]);
    assert_eq!(take(&mut cache, &sonnet("s5 u5"), 1), [0, 0, 2]);
    assert_eq!(take(&mut cache, &sonnet("s5 u5"), 2), [2, 2, 2]);
}

#[test]
fn no_more_is_kept_than_so_much() {
    let mut cache = Cache::default();
    let key = |number: usize| Hash::of(&number.to_be_bytes());
    for number in 0..=MOST + 9 {
        let until = Duration::from_secs(1 + number as u64);
        cache.kept.insert(key(number), Kept { until, lifetime: until });
    }
    cache.forget();
    assert_eq!(cache.kept.len(), MOST);
    assert!(!cache.kept.contains_key(&key(9)) && cache.kept.contains_key(&key(10)));
    take(&mut cache, &request("u"), 1_000_000);
    assert!(cache.kept.is_empty());
}
