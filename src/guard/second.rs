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

/// What providers have come to give out since, and how people note it: the rule, the text before it, its pieces, the text
/// behind it.
const NEWER: &[(&str, &str, &str, &str)] = &[
    (
        "azure-ai-key",
        "Azure OpenAI key ",
        concat!("zymMlopiWfqUyHRSIf8NFmAUNLnY5Yx0y3RnjDQl2Kvf8THRXfEuJQQ", "J99BKACYeBjFXJ3w3AAABACOGzcrJ"),
        "",
    ),
    (
        "gemini-api-key",
        "AI Studio key is ",
        concat!("AQ.", "Ab8RN6a2AUk7z7gTqBu4wweocv81k2lsNaWQrZzhB4GZqT8hqt"),
        "",
    ),
    (
        "together-api-key",
        "TOGETHER_API_KEY=",
        concat!("tgp_", "v1_0pmpsLww0sAO_DGpUxjKbgRBWZRZX1VlxeVZ4DNCNnO"),
        "",
    ),
    ("voyage-api-key", "embeddings key ", concat!("pa", "-nWZTRTpysCW9f4CA96qeGs6R3uYEIi75qB4sA9Q0Nks"), ""),
    (
        "jina-api-key",
        "jina reader ",
        concat!("jin", "a_ce6ca6b0b9658d7dbc036095e68de960nNjeh1MVLymYZwH6Qqq5X1wUGAJ7"),
        "",
    ),
    ("e2b-api-key", "E2B: ", concat!("e2", "b_c5ff527e03af2a080ad8541c11a795e1d763f588"), ""),
    (
        "context7-api-key",
        "context7-mcp --api-key ",
        concat!("ctx7", "sk-b265b234-4421-4c5b-a75a-1ad69534f07c"),
        "",
    ),
    (
        "cursor-api-key",
        "CURSOR_API_KEY=",
        concat!("crs", "r_37e255eb8a1c095409993fd21b5aaa1c87409cd75d167853d006459185d401ce"),
        "",
    ),
    (
        "cursor-api-key",
        "Cursor agents: ",
        concat!("ke", "y_257ad4f2b57f63d654f75852777dc278aaf6301d1a619588096b35bc4986e10b"),
        "",
    ),
    ("browserbase-api-key", "browserbase is ", concat!("bb_", "live_ojMf13ybw8u4ypIjXebblnovNqW"), ""),
    ("sk-api-key", "moonshot: ", concat!("sk", "-8ePaBhQBfS2UxFBJ4yXJ5PquTwZhrHpe7coruNgr4tNNpnCQ"), ""),
    (
        "vercel-access-token",
        "vercel --token ",
        concat!("vc", "p_CHbMVqeXyhVbsFW85ZTCBY7WuGpMSI733g6szXneL7rDVFvMfSbdKfOi"),
        "",
    ),
    ("render-api-key", "Render: ", concat!("rn", "d_3AmB4QQLLbbhZunnQOgaB184sl1i"), ""),
    (
        "aws-session-token",
        "it gave ",
        concat!(
            "IQoJb3Jp",
            "Z2luX2VjEKw1nNx1XmjIMGuJpeiG8YqL9BN5GGx6KtyQqDTjD3saRZkb2l26nkaylEMyosHNwyloPdBMZQf4G9SBSqfPDA28uSwNccStq3fiOLUwQmLeR2zufwl8Y2WVWHnATriHmaVXOEpLJ0qrqKdHsF0qHM3XlSd+D9i/MEeq6iTqTfibBb5z6/aBfCt3xq6KceMheFYV/rKSt"
        ),
        "",
    ),
    (
        "neon-database-password",
        "postgresql://owner:",
        concat!("np", "g_S6cYvK0xI1mQ"),
        "@ep-cool-1234.aws.neon.tech/db",
    ),
    ("laravel-app-key", "APP_KEY=base64:", concat!("1HwG9kX0HM9awdGDwcuC", "MGPYTZuHVvat77J9OwPsgZt="), ""),
    (
        "private-key",
        "[Interface]\nPrivateKey = ",
        concat!("7BpYQ2OQBilCFXuF0DRk", "xhhl8WBH4Rax23OJvs9Vr94="),
        "\nAddress = 10.0.0.2/24",
    ),
    (
        "generic-api-key",
        "SECRET_KEY = '",
        concat!("k(3z-", "w!q@7v*t)u$2p&e+8n_x4r^j5m#c6b0h%d9g=y1s(a-f"),
        "'",
    ),
    ("generic-api-key", "RAILWAY_TOKEN=", concat!("e5ef9ee3-f1e6-43bf-a", "fbb-ba790e3516c9"), ""),
    ("password", "sudo pw on the build box: ", concat!("mK4#", "tiger09"), ""),
    ("password", "Staging login: ann / ", concat!("kX92!v", "bQ7w"), "\n"),
];

#[test]
fn what_is_newer_than_the_sets_is_found() {
    for (rule, before, secret, after) in NEWER {
        let text = format!("{before}{secret}{after}");
        let found = Guard::default().scan(text.as_bytes());
        let found: Vec<_> = found.iter().map(|found| (found.rule, &text[found.range.clone()])).collect();
        assert_eq!(found, [(*rule, *secret)], "{text:?}");
    }
}

#[test]
fn every_rule_finds_an_example() {
    let positives: Vec<Positive> = lines(POSITIVES);
    let texts: Vec<String> = positives.into_iter().map(|positive| positive.text.concat()).collect();
    let newer: Vec<_> =
        NEWER.iter().map(|(_, before, secret, after)| [*before, *secret, *after].concat()).collect();
    let texts: Vec<&str> =
        texts.iter().chain(&newer).map(String::as_str).chain(MORE.iter().copied()).collect();
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
