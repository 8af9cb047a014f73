//! The second labelled set: made by somebody who had not seen the rules.
#![allow(clippy::disallowed_macros, reason = "a test prints the figures that are published")]

use super::around::Around;
use super::{Action, Guard, commands, keyblock, password, providers};

const POSITIVES: &str = include_str!("../../fixtures/secrets/second/positives.jsonl");
const NEGATIVES: &str = include_str!("../../fixtures/secrets/second/negatives.jsonl");

/// A text with a secret, in pieces.
#[derive(serde::Deserialize)]
struct Positive {
    kind: String,
    shape: String,
    /// It is to be refused; else at least told.
    sure: bool,
    text: Vec<String>,
    value: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Negative {
    kind: String,
    text: String,
}

fn lines<T: serde::de::DeserializeOwned>(lines: &str) -> Vec<T> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn most_secrets_of_the_second_set_are_found_and_little_else() {
    let guard = Guard::default();
    let (mut blocked, mut sure, mut told, mut likely, mut left) = (0, 0, 0, 0, 0);
    for Positive { kind, shape, sure: is_sure, text, value } in lines(POSITIVES) {
        let (text, value) = (text.concat(), value.concat());
        let found = guard.scan(text.as_bytes());
        let is_blocked = found.iter().any(|found| found.action == Action::Block);
        let is_found = is_blocked || !is_sure && !found.is_empty();
        if is_sure {
            sure += 1;
            blocked += usize::from(is_found);
        } else {
            likely += 1;
            told += usize::from(is_found);
        }
        if !is_found {
            eprintln!("missed: {kind}, {shape}: {:?}", text.chars().take(200).collect::<String>());
        } else if guard.mask(&text).contains(&value) {
            left += 1;
            eprintln!("left: {kind}, {shape}: {:?}", guard.mask(&text));
        }
    }
    let negatives: Vec<Negative> = lines(NEGATIVES);
    let mut wrong = 0;
    for Negative { kind, text } in &negatives {
        let found = guard.scan(text.as_bytes());
        assert!(found.iter().all(|found| found.action != Action::Block), "{kind}: {text:?}: {found:?}");
        if let Some(found) = found.first() {
            wrong += 1;
            eprintln!("wrong: {kind}: {text:?}: {}", found.rule);
        }
    }
    let figures = format!(
        "blocked {blocked} of {sure}, told {told} of {likely}, left {left}, wrong {wrong} of {}",
        negatives.len()
    );
    eprintln!("{figures}");
    assert_eq!((sure, likely, negatives.len()), (394, 258, 409));
    assert!(blocked >= 391 && told >= 233 && left == 0 && wrong == 0, "{figures}");
}

/// Examples of what is in neither set.
const MORE: &[&str] = &[
    concat!(
        "-----BEGIN%20RSA%20PRIV",
        "ATE%20KEY-----%0AMIIEpAIBAAKCAQEA7Xq9LmPz0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"
    ),
    "Password:\n    Tr0ub4dor&3x\n",
    "| **password** | `Tr0ub4dor&3x` |\n",
    "| user | password | since |\n|---|---|---|\n| ann | Tr0ub4dor&3x | 2026 |\n",
    "openssl rsa -passin pass:Tr0ub4dor3x -in a.key",
    "mariadb -u app -pTr0ub4dor3x shop",
    concat!("discord: ", "NDExMjIyMzMzNDQ0NTU1NjY2.X7Fq2L.mPz9Kd4Rt6Wv8Yb1Nc3Hs5Jg0Ta2Ue"),
];

#[test]
fn every_rule_finds_an_example() {
    let positives: Vec<Positive> = lines(POSITIVES);
    let texts: Vec<String> = positives.into_iter().map(|positive| positive.text.concat()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).chain(MORE.iter().copied()).collect();
    let rules: [&'static [super::rule::Rule]; 4] =
        [&keyblock::RULES, &password::RULES, &commands::RULES, &providers::RULES];
    for (n, rule) in rules.into_iter().flatten().enumerate() {
        let finds = |text: &&str| {
            let (text, mut around) = (text.as_bytes(), Around::new(text.as_bytes()));
            (0..text.len()).any(|at| {
                let is_there = |word: &&'static str| {
                    text[at..]
                        .get(..word.len())
                        .is_some_and(|there| there.eq_ignore_ascii_case(word.as_bytes()))
                };
                rule.keywords.iter().any(is_there) && rule.find(&mut around, text, at).is_some()
            })
        };
        assert!(texts.iter().any(finds), "{n}: {}", rule.id);
    }
}
