//! `memdir context` as a process: conversations in, answers out.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Done, feed, memdir, start};

/// Policies that have something to do in most conversations.
const POLICIES: [&str; 5] = [
    "sliding_window=2",
    "compact_with_summary=20",
    "selective_retention=40",
    r#"{"strategies":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":1},
        "keep":{"type":"tool_uses","value":0}}],"budget":{"unit":"tokens","high":10,"low":1}}"#,
    r#"{"strategies":[{"type":"sliding_window"}],"budget":{"unit":"messages","high":3,"low":1},"profile":
        {"window":200000,"binding":"drop_block","prefill":false,"mid_system":true,"cache":{"write":1,"read":0}}}"#,
];

/// Files of a directory of `fixtures/context`, with their names, as values.
fn fixtures(directory: &str) -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/context").join(directory);
    let mut read: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), serde_json::from_str(&text).unwrap())
        })
        .collect();
    read.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(read.len() > 20, "{}", read.len());
    read
}

/// The lines that a command answers to lines.
fn ask(args: &[&str], lines: &[String]) -> Vec<String> {
    let mut command = memdir(Path::new("."), ["context"]);
    let done = feed(command.args(args), lines.join("\n"));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{args:?}");
    let answers: Vec<String> = done.out.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len(), "{args:?}");
    answers
}

fn one(args: &[&str]) -> Done {
    feed(memdir(Path::new("."), ["context"]).args(args), "")
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn chat(messages: usize) -> Vec<Value> {
    let role = |n: usize| if n.is_multiple_of(2) { "user" } else { "assistant" };
    (0..messages).map(|n| json!({"role": role(n), "content": format!("number {n}")})).collect()
}

#[test]
fn every_kind_of_block_is_valid_and_stays_as_it_is() {
    let (names, requests): (Vec<_>, Vec<_>) =
        fixtures("blocks").into_iter().map(|(name, request)| (name, request.to_string())).unzip();
    let answers = ask(&["validate"], &requests);
    let repairs = ask(&["repair"], &requests);
    for (((name, request), answer), repair) in names.iter().zip(&requests).zip(answers).zip(repairs) {
        assert_eq!(answer, r#"{"valid":true,"violations":[]}"#, "{name}");
        let field = if request.starts_with('[') { "messages" } else { "request" };
        assert_eq!(repair, format!(r#"{{"{field}":{request},"repairs":[]}}"#), "{name}");
    }
}

#[test]
fn every_failure_is_found_and_mended() {
    let broken: Vec<(String, Value)> = fixtures("failures")
        .into_iter()
        .filter(|(_, case)| case["request"].is_object() || case["request"].is_array())
        .collect();
    let requests: Vec<String> = broken.iter().map(|(_, case)| case["request"].to_string()).collect();
    let answers = ask(&["validate"], &requests);
    let mut found = 0;
    for ((name, case), answer) in broken.iter().zip(&answers) {
        let answer = value(answer);
        let violations = case["violations"].as_array().unwrap();
        assert_eq!(answer["valid"], violations.is_empty(), "{name}");
        assert_eq!(answer["violations"].as_array().unwrap().len(), violations.len(), "{name}");
        found += violations.len();
    }
    assert!(found > 20, "{found}");

    // An answer of `repair` is a line for `validate`.
    let repaired = ask(&["repair"], &requests);
    let answers = ask(&["validate"], &repaired);
    for (((name, case), repaired), answer) in broken.iter().zip(&repaired).zip(answers) {
        assert_eq!(answer, r#"{"valid":true,"violations":[]}"#, "{name}: {repaired}");
        let repaired = value(repaired);
        assert_eq!(repaired["request"]["messages"], case["repaired"], "{name}");
        assert_eq!(
            repaired["repairs"].as_array().unwrap().is_empty(),
            case["repairs"] == json!([]),
            "{name}"
        );
    }
}

#[test]
fn a_plan_that_was_kept_renders_what_one_step_renders() {
    let (mut names, mut conversations): (Vec<_>, Vec<_>) = fixtures("blocks").into_iter().unzip();
    names.push("a chat".to_owned());
    conversations.push(json!(chat(61)));
    let requests: Vec<String> = conversations.iter().map(Value::to_string).collect();
    let mut edited = 0;
    for policy in POLICIES {
        let at_once = ask(&["render", "--policy", policy], &requests);
        let plans = ask(&["plan", "--policy", policy], &requests);
        let planned: Vec<String> = conversations
            .iter()
            .zip(&plans)
            .map(|(conversation, plan)| {
                let name = if conversation.is_array() { "messages" } else { "request" };
                format!(r#"{{"{name}":{conversation},"plan":{plan}}}"#)
            })
            .collect();
        assert_eq!(ask(&["render"], &planned), at_once, "{policy}");
        let judged = ask(&["validate"], &at_once);
        for (name, answer) in names.iter().zip(judged) {
            assert_eq!(answer, r#"{"valid":true,"violations":[]}"#, "{name}: {policy}");
        }
        edited += plans.iter().filter(|plan| !plan.contains(r#""edits":[],"atoms""#)).count();
    }
    assert!(edited > 20, "{edited}");
}

#[test]
fn what_is_kept_is_kept_to_the_byte() {
    let line = r#"{"x" : 1.00, "max_tokens":1e3,"messages":[{"role" : "user","content":"\u00e9"} , {"content":[],"role":"assistant"},{"role":"user","content":"b","y":[ 2E0 ]}]}"#;
    let request = r#"{"x":1.00,"max_tokens":1e3,"messages":[{"role" : "user","content":"\u00e9"},{"role":"user","content":"b","y":[ 2E0 ]}]}"#;
    let repaired = &ask(&["repair"], &[line.to_owned()])[0];
    assert!(repaired.starts_with(&format!(r#"{{"request":{request},"repairs":[{{"#)), "{repaired}");
    let rendered = &ask(&["render"], std::slice::from_ref(repaired))[0];
    assert!(rendered.starts_with(&format!(r#"{{"request":{request},"needs":{{"#)), "{rendered}");
}

#[test]
fn an_answer_is_one_line_however_many_the_conversation_has() {
    let many = "[{\"role\":\"user\",\r\n\"content\":\"a\\n\"}\n]";
    let answer = one(&["repair", many]).out;
    assert_eq!(answer, "{\"messages\":[{\"role\":\"user\",  \"content\":\"a\\n\"}],\"repairs\":[]}\n");
    assert_eq!(ask(&["repair"], &[many.replace('\n', "")])[0].matches('\r').count(), 0);
}

#[test]
fn a_summary_of_the_api_is_asked_for_and_stands_first() {
    let policy = json!({"strategies": [{"type": "summary", "by": "api", "keep": 3}],
        "budget": {"unit": "messages", "high": 9, "low": 2}});
    let messages = chat(39);
    let request =
        json!({"model": "claude-opus-5-5", "max_tokens": 500, "stop_sequences": ["x"], "messages": messages});
    let line = json!({"request": request, "policy": policy});
    let wanted = value(&ask(&["render"], &[line.to_string()])[0])["wanted"].take();
    let upto = usize::try_from(wanted["upto"].as_u64().unwrap()).unwrap();
    assert_eq!(
        wanted["request"],
        json!({"model": "claude-opus-5-5", "max_tokens": 500,
        "messages": messages[..upto], "compaction": {"type": "summarize"}})
    );
    assert_eq!(wanted["needs"]["betas"], json!(["compact-2026-09-04"]));

    let block = json!({"type": "compaction", "content": "They count.", "signature": "c"});
    let response = json!({"type": "message", "content": [block], "stop_reason": "compaction"});
    let failed = json!({"type": "message", "content": [], "stop_reason": "max_tokens"});
    let with = |answer: Value| {
        let notes = json!([{"wanted": {"upto": upto}, "answer": answer}]);
        json!({"request": request, "policy": policy, "notes": notes}).to_string()
    };
    let answers = ask(&["render"], &[with(response), with(failed), with(json!(7))]);
    let [first, again, refused] = [0, 1, 2].map(|at| value(&answers[at]));
    let sent = first["request"]["messages"].as_array().unwrap();
    assert_eq!(sent[0], json!({"role": "assistant", "content": [block]}));
    assert_eq!(sent[1..], messages[upto..]);
    assert_eq!(first["needs"]["betas"], json!(["compact-2026-09-04"]));
    assert_eq!((&again["wanted"]["upto"], &again["request"]["messages"]), (&json!(upto), &json!(messages)));
    assert_eq!(refused["error"]["type"], "bad_note");
}

#[test]
fn a_summary_is_wanted_answered_and_stands() {
    let messages = chat(40);
    let line = json!({"messages": messages, "policy": "compact_with_summary=100"});
    let wanted = value(&ask(&["plan"], &[line.to_string()])[0])["wanted"].take();
    assert!(wanted["max_tokens"].as_u64().unwrap() > 0, "{wanted}");
    let summariser = &wanted["messages"];
    assert!(summariser[0]["content"].as_str().unwrap().contains("number 12"), "{summariser}");

    let mut short = wanted.clone();
    short.as_object_mut().unwrap().retain(|name, _| ["upto", "facts", "room"].contains(&name.as_str()));
    let with = |wanted: &Value, answer: &str, messages: &[Value]| {
        let notes = json!([{"after": 40, "wanted": wanted, "answer": answer}]);
        json!({"messages": messages, "notes": notes, "policy": "compact_with_summary=100"}).to_string()
    };
    let more: Vec<Value> =
        messages.iter().cloned().chain([json!({"role": "user", "content": "more"})]).collect();
    let lines = [
        with(&wanted, "They count.", &messages),
        with(&short, "They count.", &messages),
        with(&short, "They count.", &more),
        with(&short, " ", &messages),
    ];
    let answers = ask(&["render"], &lines);
    assert_eq!(answers[0], answers[1]);
    let [first, _, longer, failed] = [0, 1, 2, 3].map(|at| value(&answers[at]));
    assert_eq!(first["wanted"], Value::Null);
    let text = first["messages"][1]["content"].as_str().unwrap();
    assert!(text.starts_with("[CONVERSATION SUMMARY]\nThey count."), "{first}");
    // What comes later changes nothing of what was sent.
    let (sent, later) = (first["messages"].as_array().unwrap(), longer["messages"].as_array().unwrap());
    assert_eq!(later[..sent.len()], sent[..]);
    assert_eq!(failed["messages"], json!(messages));
}

#[test]
fn a_cleared_result_comes_with_the_file_to_write() {
    let conversation = json!([
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "count", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 files\n".repeat(900)}]},
        {"role": "assistant", "content": "Twelve."},
        {"role": "user", "content": "Thanks."},
    ]);
    let answer = value(&ask(&["render", "--policy", POLICIES[3]], &[conversation.to_string()])[0]);
    let spill = &answer["spills"][0];
    assert_eq!(spill["text"], conversation[2]["content"][0]["content"]);
    let placeholder = answer["messages"][2]["content"][0]["content"].as_str().unwrap();
    assert!(placeholder.contains(spill["path"].as_str().unwrap()), "{placeholder}");
}

#[test]
fn what_the_api_is_to_do_is_put_into_the_request() {
    let line = json!({
        "request": {"model": "claude-opus-5", "max_tokens": 9, "messages": chat(3)},
        "policy": {"strategies": [{"type": "delegate", "edits": [{"type": "compact_20260112"}]}],
                   "budget": {"unit": "tokens", "high": 2, "low": 1}},
    });
    let answer = value(&ask(&["render"], &[line.to_string()])[0]);
    assert_eq!(answer["request"]["context_management"], json!({"edits": [{"type": "compact_20260112"}]}));
    assert_eq!(answer["needs"]["betas"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn the_model_decides_and_an_option_comes_before_the_request() {
    let prefilled = |model: &str| {
        let messages = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
        json!({"model": model, "max_tokens": 1, "messages": messages}).to_string()
    };
    let lines = [prefilled("claude-opus-4-5"), prefilled("claude-opus-5")];
    let valid =
        |args: &[&str]| ask(args, &lines).iter().map(|one| value(one)["valid"] == true).collect::<Vec<_>>();
    assert_eq!(valid(&["validate"]), [true, false]);
    assert_eq!(valid(&["validate", "--model", "claude-opus-4-5"]), [true, true]);
    assert_eq!(valid(&["validate", "--model", "claude-opus-5"]), [false, false]);
}

#[test]
fn what_is_no_conversation_is_an_error_and_the_next_goes_on() {
    let good = json!({"messages": chat(1)}).to_string();
    let plan = &ask(&["plan"], std::slice::from_ref(&good))[0];
    let wrapped = |beside: &str| format!(r#"{{"messages":[{{"role":"user","content":"a"}}],{beside}}}"#);
    let cases = [
        ("{".to_owned(), "no_json"),
        ("[1] 2".to_owned(), "no_json"),
        ("7".to_owned(), "no_request"),
        ("{}".to_owned(), "no_request"),
        (r#"[{"role":"user"}]"#.to_owned(), "no_request"),
        (r#"{"request":[],"messages":[]}"#.to_owned(), "no_request"),
        (r#"{"plan":{}}"#.to_owned(), "no_request"),
        (wrapped(r#""plan":null,"note":[]"#), "no_request"),
        (wrapped(r#""policy":"policy.json""#), "bad_policy"),
        (wrapped(r#""policy":"sliding_window=0""#), "bad_policy"),
        (wrapped(r#""policy":{"strategies":[],"budget":{"unit":"tokens","high":1,"low":1}}"#), "bad_policy"),
        (wrapped(r#""notes":[{"after":2,"note":"flushed"}]"#), "bad_note"),
        (wrapped(r#""notes":[{"answer":"a"}]"#), "bad_note"),
        (wrapped(r#""notes":[{"usage":7}]"#), "bad_note"),
        (wrapped(r#""plan":7"#), "wrong_plan"),
        (format!(r#"{{"messages":[],"plan":{plan}}}"#), "wrong_plan"),
        (
            wrapped(&format!(r#""plan":{}"#, plan.replace(r#""end":1"#, r#""end":18446744073709551615"#))),
            "wrong_plan",
        ),
        (wrapped(&format!(r#""plan":{}"#, plan.replace(r#""start":0"#, r#""start":1"#))), "wrong_plan"),
        (format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)), "no_request"),
    ];
    // Notes that are right, but beyond all measure.
    let most = u64::MAX;
    let usage = format!(r#"{{"input_tokens":{most},"output_tokens":{most}}}"#);
    let lines = cases.iter().flat_map(|(line, _)| [line.clone(), String::new(), good.clone()]);
    let lines: Vec<String> = lines.chain([wrapped(&format!(r#""notes":[{{"usage":{usage}}}]"#))]).collect();
    let done = feed(&mut memdir(Path::new("."), ["context", "render"]), lines.join("\n"));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let answers: Vec<Value> = done.out.lines().map(value).collect();
    assert_eq!(answers.len(), 2 * cases.len() + 1, "{}", done.out);
    for (pair, (line, kind)) in answers.chunks(2).zip(&cases) {
        assert_eq!(pair[0]["error"]["type"], *kind, "{line}");
        assert!(pair[0]["error"]["message"].as_str().unwrap().len() > 10, "{}", pair[0]);
        assert_eq!(pair[1]["request"]["messages"], json!(chat(1)));
    }
    assert_eq!(answers.last().unwrap()["error"]["type"], "cannot_fit");
}

#[test]
fn bytes_that_are_no_text_are_an_error() {
    let done = feed(&mut memdir(Path::new("."), ["context", "validate"]), b"[\"\xff\"]\n[]");
    let answers: Vec<Value> = done.out.lines().map(value).collect();
    assert_eq!(
        (answers[0]["error"]["type"].as_str(), answers[1]["valid"].as_bool()),
        (Some("no_json"), Some(false))
    );
}

#[test]
fn what_cannot_fit_is_told_with_what_it_takes() {
    let profile = json!({"window": 20, "binding": "ignore", "prefill": false, "mid_system": false, "cache": {"write": 1, "read": 0}});
    let policy = json!({
        "strategies": [], "budget": {"unit": "tokens", "high": 2, "low": 1}, "output": 0, "profile": profile,
    });
    let line = json!([{"role": "user", "content": "word ".repeat(40)}]).to_string();
    let done = one(&["plan", "--policy", &policy.to_string(), &line]);
    assert_eq!(done.code, Some(1));
    let error = value(&done.out)["error"].take();
    assert_eq!((error["type"].as_str(), error["limit"].as_u64()), (Some("cannot_fit"), Some(20)));
    assert!(error["min"].as_u64().unwrap() > 20, "{error}");
}

#[test]
fn an_argument_says_by_the_exit_code_whether_it_is_fine() {
    let dir = tempfile::tempdir().unwrap();
    let good = json!(chat(1));
    let bad = json!([{"role": "user", "content": " "}]);
    fs::write(dir.path().join("good.json"), format!("{good:#}\n")).unwrap();
    fs::write(dir.path().join("lines.jsonl"), format!("{good}\n\n{bad}\n{good}\n")).unwrap();
    fs::write(dir.path().join("policy.json"), "\"sliding_window\"").unwrap();
    fs::write(dir.path().join("preset"), "sliding_window=3\n").unwrap();
    let run = |args: &[&str]| feed(memdir(dir.path(), ["context"]).args(args), "");
    let good_line = good.to_string();
    let bad_line = bad.to_string();
    for (args, code, lines) in [
        (&["validate", good_line.as_str()][..], 0, 1),
        (&["validate", &bad_line], 1, 1),
        (&["validate", "[{]"], 1, 1),
        (&["validate", "good.json"], 0, 1),
        (&["validate", "lines.jsonl"], 1, 3),
        (&["repair", "lines.jsonl"], 0, 3),
        (&["repair", "good.json"], 0, 1),
        (&["render", "--policy", "preset", "good.json"], 0, 1),
        (&["render", "--policy", "policy.json", "good.json"], 2, 0),
        (&["plan", "{}"], 1, 1),
        (&["plan", "--policy", "sliding_window=many", "[]"], 2, 0),
        (&["plan", "--policy", "nowhere", "[]"], 1, 0),
        (&["validate", "nowhere.json"], 1, 0),
        (&["validate", "-"], 0, 0),
        (&["validate", ""], 2, 0),
    ] {
        let done = run(args);
        assert_eq!((done.code, done.out.lines().count()), (Some(code), lines), "{args:?}: {done:?}");
        assert_eq!(done.err.is_empty(), lines > 0 || code == 0, "{args:?}: {}", done.err);
    }
}

#[test]
fn a_result_of_twelve_megabytes_is_no_trouble() {
    let result = "a line of a log\n".repeat(12 << 16);
    let conversation = json!([
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]},
        {"role": "assistant", "content": "It is long."},
        {"role": "user", "content": "Thanks."},
    ]);
    let line = conversation.to_string();
    assert!(line.len() > 12 << 20);
    let small = json!(chat(1)).to_string();
    let lines = [line.clone(), small.clone()];
    assert_eq!(ask(&["validate"], &lines), [r#"{"valid":true,"violations":[]}"#; 2]);
    assert_eq!(ask(&["repair"], &lines)[0], format!(r#"{{"messages":{line},"repairs":[]}}"#));
    let answers = ask(&["render", "--policy", "sliding_window=2"], &lines);
    assert!(answers[0].len() < 1 << 10, "{}", answers[0].len());
    assert!(answers[0].contains("[… 3 messages left out …]"), "{}", answers[0]);
}

#[test]
fn a_line_that_is_too_long_is_told_and_not_kept() {
    let mut input = vec![b' '; (128 << 20) + 1];
    input.extend_from_slice(b"\n[]\n");
    let done = feed(&mut memdir(Path::new("."), ["context", "render"]), input);
    let answers: Vec<Value> = done.out.lines().map(value).collect();
    assert_eq!(answers[0]["error"]["type"], "too_long");
    assert_eq!((answers.len(), &answers[1]["messages"]), (2, &json!([])));
}

#[test]
fn a_line_is_answered_before_the_next_is_sent() {
    let mut child = start(&mut memdir(Path::new("."), ["context", "render", "--policy", "sliding_window=4"]));
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let mut conversation = Vec::new();
    for (number, message) in chat(31).into_iter().enumerate() {
        conversation.push(message);
        writeln!(to, "{}", json!(conversation)).unwrap();
        let mut answer = String::new();
        from.read_line(&mut answer).unwrap();
        let sent = value(&answer)["messages"].as_array().unwrap().len();
        assert!((1..=7).contains(&sent) && sent <= number + 1, "{answer}");
    }
    drop(to);
    assert!(child.wait().unwrap().success());
}
