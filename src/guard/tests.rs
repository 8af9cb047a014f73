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
const LOOKALIKES: &str = include_str!("../../fixtures/secrets/lookalikes.jsonl");
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
fn what_only_looks_like_a_secret_is_none() {
    let wrong: Vec<_> = cases(LOOKALIKES)
        .into_iter()
        .filter(|case| !found(&case.text).is_empty())
        .map(|case| format!("{}: {:?}: {:?}", case.kind, case.text, found(&case.text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_programs_and_manuals_hold_is_no_secret() {
    let digest = "3f9ac1d8e7b60a5f4e2d7c1b9a0f8e6d".repeat(2);
    for text in [
        "pub const ERROR_INVALID_PASSWORD: WIN32_ERROR = 86u32;",
        "let url = Url::parse(\"https://user:he%2F%2Fo@host\");",
        "csrf token: 3f9ac1d8-e7b6-4a5f-ae2d-7c1b9a0f8e6d",
        "login: ann / admin, and the account: ops / read-only",
        "pw of the box: in the vault",
        "publickey = Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE=",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
    assert_eq!(Guard::default().scan(format!("key_{digest}").as_bytes())[0].action, Action::Warn);
}

/// What is found in a text, in order.
fn found(text: &str) -> Vec<&'static str> {
    Guard::default().scan(text.as_bytes()).into_iter().map(|found| found.rule).collect()
}

#[test]
fn nothing_before_a_telling_prefix_hides_a_key_but_a_blob() {
    let keys = [
        ("aws-access-token", concat!("AKIA", "Z7QXLM4RT2VW5YB3")),
        ("github-pat", concat!("gh", "p_x7Fq2LmPz9Kd4Rt6Wv8Yb1Nc3Hs5Jg0Ta2Ue")),
        ("npm-access-token", concat!("np", "m_x7Fq2LmPz9Kd4Rt6Wv8Yb1Nc3Hs5Jg0Ta2Ue")),
        ("gitlab-pat", concat!("gl", "pat-x7Fq2LmPz9Kd4Rt6Wv8Y")),
        ("stripe-access-token", concat!("sk", "_live_x7Fq2LmPz9Kd4Rt6Wv8Y")),
    ];
    for (rule, key) in keys {
        for before in [
            "key_",
            "key",
            "KEY",
            "x7",
            "n",
            r"a\n",
            r"a\t",
            "%20",
            "%3D",
            "%zz",
            "\x1b[31m",
            r"\x1b[0;1m",
            r"\033[m",
            r"\u003d",
            "=",
            "/",
            "-",
            "my/long/path/of/words/key",
            "ключ",
        ] {
            let text = format!("{before}{key} ");
            assert_eq!(found(&text), [rule], "{text}");
        }
    }
    let blob = "x7Fq2LmPz9Kd4Rt6Wv8Yb1Nc3Hs5";
    for (rule, key) in [keys[0], keys[2], keys[4]] {
        assert!(found(&format!("{blob}{key}")).is_empty(), "{rule}");
        assert_eq!(found(&format!("{blob} {key}")), [rule]);
        assert_eq!(found(&format!("{blob}_{key}")), [rule]);
    }
    // Behind it, a letter makes it something else.
    assert!(found(&format!("{}x", keys[0].1)).is_empty());
}

#[test]
fn a_prefix_of_many_other_things_is_none_inside_of_a_word() {
    let hex = "3f9ac1d8e7b60a5f4e2d7c1b9a0f8e6d";
    let key = format!("{}{hex}", concat!("S", "K"));
    for before in ["", "sid_", "sid=", r"\n", "%3D", "\x1b[31m"] {
        assert_eq!(found(&format!("{before}{key}")), ["twilio-api-key"], "{before}");
    }
    // The check sum of a task, of an icon; a name in capitals, in camel case.
    for text in [
        format!("TA{key}"),
        format!("favico-{hex}.png"),
        "EURASIANDEVELOPMENTBANK".to_owned(),
        "defaultAiModelConfigurations".to_owned(),
    ] {
        assert!(found(&text).is_empty(), "{text}");
    }
}

#[test]
fn a_user_of_curl_is_told_from_others() {
    for (text, is_one) in [
        ("curl -u ann:Tr0ub4dor3 https://x.y", true),
        ("curl -sS -u ann:Tr0ub4dor3 https://x.y", true),
        ("CURL\t-X POST\t--user=ann:Tr0ub4dor3 https://x.y", true),
        ("curl https://x.y --user 'ann:Tr0ub4dor3'", true),
        ("curl -x p -uann:Tr0ub4dor3 https://x.y", true),
        ("run -u ann:Tr0ub4dor3", false),
        ("curl x\nrun -u ann:Tr0ub4dor3", false),
        ("curl x -u ann", false),
    ] {
        assert_eq!(found(text).contains(&"curl-auth-user"), is_one, "{text}");
    }
}

#[test]
fn what_a_shape_refuses_no_pattern_takes() {
    for Case { before, secret, after, .. } in cases(POSITIVES) {
        let text = format!("{before}{}{after}", secret.concat());
        for rule in scan::rules() {
            for at in 0..before.len() {
                assert!(rule.shape_is_sound(&text.as_bytes()[at..]), "{}: {text:?}", rule.id);
            }
        }
    }
}

#[test]
fn as_many_warnings_are_told_as_a_person_reads_and_all_is_redacted() {
    let lines: Vec<_> = (0..2500).map(|i| format!("password: Tr0ub4dor&3k{i}\n")).collect();
    let text = lines.concat();
    let scanned = Guard::default().scan(text.as_bytes());
    let told = warnings(&scanned, |_| false);
    assert_eq!((scanned.len(), told.len()), (2500, MOST_WARNINGS));
    assert_eq!(told[0].to_string(), "line 1 looks like password");
    let last = &told[MOST_WARNINGS - 1];
    assert_eq!((last.rule.as_str(), last.more), ("password", 2400));
    assert_eq!(last.to_string(), "line 100 looks like password, and 2400 more like these");
    assert_eq!(serde_json::to_value(last).unwrap()["more"], 2400);
    let few = warnings(&scanned[..MOST_WARNINGS], |_| true);
    assert_eq!(few[MOST_WARNINGS - 1].to_string(), "line 100 looked like password and was not stored");
    assert!(serde_json::to_value(&few[MOST_WARNINGS - 1]).unwrap().get("more").is_none());
    let words = words(told.iter());
    assert_eq!(words[9..], ["line 10 looks like password", "and 2490 more like these"]);

    let guard = Guard { mode: Mode::All(Action::Redact), ..Guard::default() };
    let masked = guard.mask(&text);
    assert_eq!(masked, "password: [redacted: password]\n".repeat(2500));
    // What is sure is found behind all that only warns.
    let text = format!("{text}{}", concat!("AKIA", "Z7QXLM4RT2VW5YB3"));
    let last = Guard::default().scan(text.as_bytes()).pop().unwrap();
    assert_eq!((last.rule, last.action, last.line), ("aws-access-token", Action::Block, 2501));
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
