//! How near the estimate of tokens comes to what is tokenizer.

use serde_json::json;

use super::super::*;
use super::profile;

/// A tokenizer of which nothing is known but its results: by kind of content, with noise.
struct Tokenizer {
    /// Bytes per token of prose and of code, characters per token of CJK.
    rates: [f64; 3],
    chance: u64,
}

impl Tokenizer {
    fn noise(&mut self) -> f64 {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.chance >> 33).unwrap()) / f64::from(1_u32 << 31)
    }

    fn tokens(&mut self, kind: usize, units: f64) -> f64 {
        let off = 1.0 + 0.12 * (self.noise() - 0.5);
        units / self.rates[kind] * off + 4.0
    }
}

const PROSE: &str =
    "We looked at the report again and found that the second half does not agree with the first. ";
const CODE: &str =
    "    if let Some(x) = map.get(&key[1..]) { sum += x * 2_048 - y[i]; } // {\"a\": [1, 2.5]}\n";
const CJK: &str = "用户喜欢简短的回答，会议不要在十点之前。";

fn text(kind: usize, repeats: usize) -> (String, f64) {
    let text = [PROSE, CODE, CJK][kind].repeat(repeats);
    let units = if kind == 2 { text.chars().count() } else { text.len() };
    (text, f64::from(u32::try_from(units).unwrap()))
}

#[test]
fn after_five_reports_nineteen_of_twenty_estimates_are_within_five_percent() {
    let mut misses = Vec::new();
    for (seed, rates) in [[4.4, 3.1, 0.9], [3.3, 2.4, 0.7], [4.8, 3.6, 1.4]].into_iter().enumerate() {
        let mut tokenizer = Tokenizer { rates, chance: u64::try_from(seed).unwrap() + 7 };
        let mut log = Transcript::default();
        let policy = Policy {
            profile: profile(Binding::Ignore, 1 << 40),
            ..Policy::new(Budget::tokens(1 << 40, 1).unwrap(), vec![])
        };
        // System prompt and tools, of which the log knows nothing.
        let mut total = 6_500.0;
        for turn in 0..60 {
            for role in ["user", "assistant"] {
                let kind = usize::try_from(tokenizer.chance >> 40).unwrap() % 3;
                let (text, units) = text(kind, 3 + usize::try_from(tokenizer.chance >> 50).unwrap() % 60);
                let tokens = tokenizer.tokens(kind, units);
                total += tokens;
                log.push(Message::from_value(&json!({"role": role, "content": text})).unwrap());
                if role == "user" && turn >= 5 {
                    let estimate = f64::from(u32::try_from(plan(&log, &policy).unwrap().tokens).unwrap());
                    misses.push((estimate - total).abs() / total);
                }
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
            log.note(Note::Usage(Usage {
                input: 1_000,
                cache_read: total as u64 - 1_000,
                ..Usage::default()
            }));
        }
    }
    misses.sort_by(f64::total_cmp);
    let p95 = misses[misses.len() * 95 / 100];
    assert!(p95 <= 0.05, "{p95}");
}

#[test]
fn what_came_since_the_last_report_is_estimated_by_what_was_learned() {
    let rates = [5.0, 2.5, 0.8];
    let mut tokenizer = Tokenizer { rates, chance: 3 };
    let mut counter = ByClass::default();
    let miss = |counter: &ByClass, kind: usize| {
        let (text, units) = text(kind, 100);
        let tokens = units / rates[kind];
        (counter.tokens(&Mix::of_text(&text)) - tokens).abs() / tokens
    };
    assert!(miss(&counter, 1) > 0.3);
    for turn in 0..15 {
        let (text, units) = text(turn % 3, 20 + turn);
        let tokens = tokenizer.tokens(turn % 3, units);
        counter.learn(&Mix::of_text(&text), tokens);
    }
    for kind in 0..3 {
        assert!(miss(&counter, kind) < 0.05, "{kind}: {}", miss(&counter, kind));
    }
}

#[test]
fn files_count_by_number_and_signatures_not_at_all() {
    let mix = |content: serde_json::Value| {
        Mix::of(&Message::from_value(&json!({"role": "user", "content": [content]})).unwrap())
    };
    let image = |bytes: usize| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(bytes)}});
    assert_eq!(mix(image(100)), mix(image(1_000_000)));
    assert_eq!(mix(image(100)).images, 1);
    let pdf = json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A".repeat(120_000)}});
    assert_eq!(mix(pdf).images, 3);
    let nested = json!({"type": "tool_result", "tool_use_id": "a", "content": [image(100), image(100)]});
    assert_eq!(mix(nested).images, 2);
    let thought = |signature: &str| json!({"type": "thinking", "thinking": "hm", "signature": signature});
    assert_eq!(mix(thought("x")), mix(thought(&"x".repeat(2_000))));
    let four = FourCharacters.tokens(&Mix::of_text(&"word ".repeat(80)));
    assert!((four - 100.0).abs() < f64::EPSILON);
    let cold = ByClass::default().tokens(&Mix::of_text(&"word ".repeat(80)));
    assert!((cold - 100.0).abs() < f64::EPSILON);
}
