#![allow(clippy::disallowed_macros, reason = "a test prints the figures that are published")]

use super::*;

#[test]
fn every_rule_compiles() {
    let mut names = std::collections::HashSet::new();
    for rule in scan::rules() {
        rule.compile();
        assert!(!rule.keywords.is_empty(), "{}", rule.id);
        for keyword in rule.keywords {
            let is_lower = keyword.bytes().all(|byte| !byte.is_ascii_uppercase());
            assert!(is_lower && keyword.len() >= 2, "{}: {keyword}", rule.id);
        }
        names.insert(rule.id);
    }
    assert!(names.len() > 180, "{}", names.len());
}

/// A line of the labelled set.
#[derive(serde::Deserialize)]
struct Case {
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    secret: Vec<String>,
    #[serde(default)]
    after: String,
}

fn cases(lines: &str) -> Vec<Case> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const POSITIVES: &str = include_str!("../../fixtures/secrets/positives.jsonl");
const NEGATIVES: &str = include_str!("../../fixtures/secrets/negatives.jsonl");

#[test]
fn most_secrets_of_the_labelled_set_are_found_and_little_else() {
    let guard = Guard::default();
    let positives = cases(POSITIVES);
    let kinds: std::collections::BTreeSet<_> = positives.iter().map(|case| &case.kind).collect();
    assert!(positives.len() >= 200 && kinds.len() >= 40, "{} of {} kinds", positives.len(), kinds.len());
    let mut missed = Vec::new();
    for Case { kind, before, secret, after, .. } in &positives {
        let secret = secret.concat();
        let text = format!("{before}{secret}{after}");
        let masked = guard.mask(&text);
        if masked.contains(&secret) {
            missed.push(format!("{kind}: {text:?}"));
        }
    }
    let negatives = cases(NEGATIVES);
    assert!(negatives.len() >= 500, "{}", negatives.len());
    let mut wrong = Vec::new();
    for Case { kind, text, .. } in &negatives {
        let found = guard.scan(text.as_bytes());
        assert!(found.iter().all(|found| found.action != Action::Block), "{kind}: {text:?}: {found:?}");
        if let Some(found) = found.first() {
            wrong.push(format!("{kind}: {text:?}: {}", found.rule));
        }
    }
    let figures = format!(
        "found {} of {}, wrong {} of {}",
        positives.len() - missed.len(),
        positives.len(),
        wrong.len(),
        negatives.len()
    );
    eprintln!("{figures}\n{}", [missed.as_slice(), wrong.as_slice()].concat().join("\n"));
    assert!(missed.len() * 20 <= positives.len(), "{figures}");
    assert!(wrong.len() * 100 <= negatives.len(), "{figures}");
}

#[test]
fn an_escaped_character_is_no_letter_before_a_secret() {
    let key = concat!("AKIA", "Z7QXLM4RT2VW5YB3");
    for (before, is_found) in
        [(r"a\n", true), (r"a\t", true), ("%20", true), ("%3D", true), ("an", false), ("%zz", false)]
    {
        let found = Guard::default().scan(format!("{before}{key}").as_bytes());
        assert_eq!(found.len(), usize::from(is_found), "{before}");
    }
}

#[test]
fn a_quoted_or_indented_private_key_without_its_end_is_one() {
    let body = ["Xq9LmPz0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567", "7Xq9LmPz0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456"];
    for before in ["", "\t", "> ", "# ", "* ", "| "] {
        let header = concat!("-----BEGIN RSA ", "PRIVATE KEY-----");
        let text = format!("{before}{header}\n{before}{}\n{before}{}\n", body[0], body[1]);
        let left = Guard { mode: Mode::All(Action::Redact), ..Guard::default() }.mask(&text).into_owned();
        assert!(!left.contains(body[0]) && !left.contains(body[1]), "{left}");
    }
}
