//! The command line: which store, exit codes, and pipes that break.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Done, feed, memdir, shell, start};

const VIEW: &str = r#"{"command":"view","path":"/memories"}"#;
const CREATE: &str = r#"{"command":"create","path":"/memories/a.md","file_text":"one\n"}"#;
const NOTE: &str = "memories/a.md";

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The `content` of each answer.
fn contents(done: &Done) -> Vec<String> {
    let content =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["content"].as_str().unwrap().to_owned();
    done.out.lines().map(content).collect()
}

// Help and usage

#[test]
fn help_tells_a_stranger_what_to_type() {
    let dir = scratch();
    let done = feed(&mut memdir(dir.path(), ["--help"]), "");
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    for word in [
        "plain files",
        "memdir call '{",
        "--dir",
        "MEMDIR_DIR",
        "`mcp` and `hook`: these options, else $MEMDIR_DIR, else ~/.local/share/memdir",
        "memdir.toml",
        "Exit codes",
    ] {
        assert!(done.out.contains(word), "no `{word}` in\n{}", done.out);
    }
    assert_eq!(
        feed(&mut memdir(dir.path(), ["--version"]), "").out,
        concat!("memdir ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn wrong_usage_is_exit_code_2_and_makes_nothing() {
    let dir = scratch();
    let cases: &[&str] = &[
        "$MEMDIR",
        "$MEMDIR remember",
        "$MEMDIR call --dir",
        "$MEMDIR call --dir '' '{}'",
        "$MEMDIR call --dir a --home b --store c '{}'",
        "$MEMDIR call --home b '{}'",
        "$MEMDIR call --store c '{}'",
        "$MEMDIR call --home b --store ../c '{}'",
        "$MEMDIR call --home b --store .c '{}'",
        "$MEMDIR call '{}' '{}'",
        "$MEMDIR call ''",
        "$MEMDIR call --actor '' '{}'",
        "$MEMDIR tools --dialect klingon",
        "MEMDIR_DIR=$(printf '\\377') $MEMDIR call '{}'",
        "MEMDIR_DIR=$(printf '\\377') $MEMDIR tree",
        "$MEMDIR init ''",
        "$MEMDIR init a --dir b",
        "$MEMDIR cat",
        "$MEMDIR cat a.md --version 1",
        "$MEMDIR log --since 03/04/2026",
        "$MEMDIR restore",
        "$MEMDIR restore --to memver_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "$MEMDIR restore --before now --change memchg_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "$MEMDIR check --expect-head 00",
        "$MEMDIR prune --keep-age 1d",
        "$MEMDIR export",
        "$MEMDIR forget",
        "$MEMDIR redact",
    ];
    let entries: &[&str] = &[
        "$MEMDIR store",
        "$MEMDIR store 'no category'",
        "$MEMDIR store x --category food",
        "$MEMDIR store ' ' --category decision_log",
        "$MEMDIR store x --category decision_log --importance 0",
        "$MEMDIR store x --category decision_log --supersedes 7",
        "$MEMDIR retrieve",
        "$MEMDIR search x --limit 0",
        "$MEMDIR list --min-importance 6",
        "$MEMDIR delete --id mem_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "$MEMDIR delete --id mem_01ARZ3NDEKTSV4RRFFQ69G5FAV --reason ' '",
        "$MEMDIR prefetch --budget 0",
        "$MEMDIR prune --history --yes",
        "$MEMDIR tools --one-file --system",
        "$MEMDIR call --agent '' '{}'",
        "$MEMDIR call --agent a/b '{}'",
    ];
    let entries = if cfg!(feature = "search") { entries } else { &[] };
    for line in cases.iter().chain(entries) {
        let done = shell(dir.path(), line);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{line}: {}", done.err);
        assert!(!done.err.is_empty(), "{line}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn completions_and_manual_are_printed() {
    let dir = scratch();
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = feed(&mut memdir(dir.path(), ["completions", name]), "");
        assert_eq!(done.code, Some(0), "{name}");
        assert!(done.out.contains("memdir") && !done.out.contains("__traces"), "{name}");
    }
    let manual = feed(&mut memdir(dir.path(), ["man"]), "");
    assert_eq!(manual.code, Some(0));
    assert!(
        manual.out.contains(".TH memdir 1") && manual.out.contains(".TH memdir-call 1"),
        "{}",
        manual.out
    );
    assert!(
        manual.out.contains(".TH memdir-restore 1") && !manual.out.contains("__traces"),
        "{}",
        manual.out
    );
}

#[test]
fn tools_are_json_in_every_dialect() {
    let dir = scratch();
    for dialect in ["anthropic", "openai", "mcp"] {
        let done = feed(&mut memdir(dir.path(), ["tools", "--dialect", dialect]), "");
        assert_eq!(done.code, Some(0), "{dialect}");
        let tools: Value = serde_json::from_str(&done.out).unwrap();
        assert!(tools.is_array() || tools.is_object(), "{dialect}: {tools}");
    }
    let usual = feed(&mut memdir(dir.path(), ["tools"]), "");
    assert_eq!(usual.out, feed(&mut memdir(dir.path(), ["tools", "--dialect", "anthropic"]), "").out);
    assert!(usual.out.contains("memory_20250818"), "{}", usual.out);
    let system = feed(&mut memdir(dir.path(), ["tools", "--system"]), "");
    assert_eq!(system.code, Some(0));
    assert!(serde_json::from_str::<Value>(&system.out).is_err() && system.out.len() > 80, "{}", system.out);
}

// Which store

#[test]
fn the_store_is_the_first_that_is_named() {
    let cases = [
        ("$MEMDIR call --dir given", "given"),
        ("MEMDIR_DIR=variable $MEMDIR call --dir given", "given"),
        ("MEMDIR_DIR=variable $MEMDIR call --home h --store s", "h/stores/s"),
        ("MEMDIR_DIR=variable $MEMDIR call", "variable"),
        ("MEMDIR_DIR= $MEMDIR call", "memory"),
        ("$MEMDIR call", "memory"),
        // Only people's commands look for a store in the directories above.
        ("$MEMDIR call --dir . \"$VIEW\" > /dev/null && mkdir d && cd d && $MEMDIR call", "d/memory"),
    ];
    for (line, base) in cases {
        let dir = scratch();
        let done = shell(dir.path(), &format!("VIEW='{VIEW}'; {line} '{CREATE}'"));
        assert_eq!(done.code, Some(0), "{line}: {}", done.err);
        assert_eq!(fs::read_to_string(dir.path().join(base).join(NOTE)).unwrap(), "one\n", "{line}");
    }
}

#[test]
fn the_inside_of_a_store_is_refused() {
    let dir = scratch();
    assert_eq!(feed(&mut memdir(dir.path(), ["call", "--dir", "s", CREATE]), "").code, Some(0));
    for (line, right) in
        [("$MEMDIR call --dir s/memories/", "s"), ("cd s/memories && $MEMDIR call --dir .", "..")]
    {
        let done = shell(dir.path(), &format!("{line} '{VIEW}'"));
        assert_eq!(done.code, Some(2), "{line}");
        assert!(
            done.err.ends_with(&format!("hint: the store is `{right}`: --dir {right}\n")),
            "{}",
            done.err
        );
    }
    assert!(!dir.path().join("s/memories/memories").exists());
}

#[test]
fn a_faulty_setting_names_its_line() {
    let dir = scratch();
    fs::create_dir(dir.path().join("s")).unwrap();
    fs::write(dir.path().join("s/memdir.toml"), "\nveiw_limit = 1\n").unwrap();
    let done = feed(&mut memdir(dir.path(), ["call", "--dir", "s", VIEW]), "");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""));
    let error =
        "error: memdir.toml: line 2: unknown key `veiw_limit`; the nearest known one is `view_limit`\n";
    assert!(done.err.starts_with(error), "{}", done.err);
}

// Calls

#[test]
fn one_call_as_argument_tells_by_its_exit_code() {
    let dir = scratch();
    let call = |json: &str| feed(&mut memdir(dir.path(), ["call", json]), "");
    let made = call(CREATE);
    assert_eq!(
        (made.code, contents(&made)),
        (Some(0), vec!["File created successfully at: /memories/a.md".to_owned()])
    );
    let again = call(CREATE);
    assert_eq!(
        (again.code, contents(&again)),
        (Some(1), vec!["Error: File /memories/a.md already exists".to_owned()])
    );
    let junk = call("junk");
    assert_eq!(
        (junk.code, contents(&junk)),
        (Some(1), vec!["Error: The memory tool's input is not valid JSON".to_owned()])
    );
    assert_eq!(made.err + &again.err + &junk.err, "");

    let failing =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"memory","input":{}}]}"#;
    let message = call(failing);
    assert_eq!((message.code, message.out.lines().count()), (Some(1), 1), "{}", message.out);
}

#[test]
fn a_bad_line_is_answered_and_the_next_goes_on() {
    let dir = scratch();
    let input = format!("{CREATE}\r\nnonsense\n\n   \n[]\n\u{0}\n{VIEW}");
    let done = feed(&mut memdir(dir.path(), ["call"]), input);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let answers = contents(&done);
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert!(answers[1..4].iter().all(|answer| answer.starts_with("Error: ")), "{answers:?}");
    assert!(
        answers[4].ends_with("4B\t/memories\n4B\t/memories/a.md"),
        "the last line has no line end: {answers:?}"
    );
}

#[test]
fn no_input_is_no_call() {
    let dir = scratch();
    for line in ["$MEMDIR call < /dev/null", "$MEMDIR call <&-", "echo | $MEMDIR call"] {
        let done = shell(dir.path(), line);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""), "{line}");
    }
}

#[test]
fn a_lone_line_is_answered_at_once() {
    let dir = scratch();
    let mut child = start(&mut memdir(dir.path(), ["call"]));
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for line in [CREATE, VIEW, VIEW] {
        writeln!(stdin, "{line}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.ends_with("}\n"), "{answer}");
    }
    // Half a line waits for its rest.
    write!(stdin, "{}", &VIEW[..9]).unwrap();
    writeln!(stdin, "{}", &VIEW[9..]).unwrap();
    drop(stdin);
    assert_eq!(answers.lines().count(), 1);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn many_lines_at_once_are_answered_in_order() {
    let dir = scratch();
    let mut input = format!("{CREATE}\n");
    for n in 0..200 {
        let (id, at) = (format!("toolu_{n}"), n + 1);
        let call = json!({"type": "tool_use", "id": id, "name": "memory", "input": {
            "command": "insert", "path": "/memories/a.md", "insert_line": at, "insert_text": format!("line {n}"),
        }});
        input.push_str(&call.to_string());
        input.push('\n');
    }
    let done = feed(&mut memdir(dir.path(), ["call"]), input);
    assert_eq!((done.code, contents(&done).len()), (Some(0), 201));
    for (n, line) in done.out.lines().skip(1).enumerate() {
        assert!(line.contains(&format!("\"toolu_{n}\"")) && !line.contains("is_error"), "{line}");
    }
    let lines: Vec<_> =
        std::iter::once("one".to_owned()).chain((0..200).map(|n| format!("line {n}"))).collect();
    assert_eq!(fs::read_to_string(dir.path().join("memory").join(NOTE)).unwrap(), lines.join("\n") + "\n");
}

#[test]
fn a_line_that_is_too_long_is_answered_and_skipped() {
    let dir = scratch();
    let mut input = format!("{CREATE}\n").into_bytes();
    input.resize(input.len() + (16 << 20) + 1, b'x');
    input.extend_from_slice(format!("\n{VIEW}\n").as_bytes());
    let done = feed(&mut memdir(dir.path(), ["call"]), input);
    let answers = contents(&done);
    assert_eq!((done.code, answers.len()), (Some(0), 3));
    assert_eq!(answers[1], "Error: The memory tool's input is longer than 16777216 bytes");
    assert!(answers[2].ends_with("/memories/a.md"), "{}", answers[2]);
}

// Pipes that break

#[test]
fn a_reader_that_leaves_is_no_error() {
    let dir = scratch();
    let mut child = start(&mut memdir(dir.path(), ["call"]));
    drop(child.stdout.take());
    let input = format!("{CREATE}\n{VIEW}\n");
    // The command may have ended before all of it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = Done::from(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert!(dir.path().join("memory").join(NOTE).exists());
    for line in ["--help", "man", "completions bash", "tools"] {
        let done = shell(dir.path(), &format!("{{ $MEMDIR {line}; echo $? >&2; }} | true"));
        assert_eq!(done.err, "0\n", "{line}");
    }
}

#[test]
fn an_output_that_is_full_is_an_error() {
    let dir = scratch();
    let cases =
        ["call \"$CALL\"", "call < call.json", "--help", "--version", "man", "completions bash", "tools"];
    fs::write(dir.path().join("call.json"), VIEW).unwrap();
    for line in cases {
        let done = shell(dir.path(), &format!("CALL='{VIEW}'; $MEMDIR {line} > /dev/full"));
        assert_eq!(done.code, Some(1), "{line}");
        assert!(done.err.starts_with("error: cannot write to standard output: "), "{line}: {}", done.err);
    }
}

#[test]
fn nothing_panics_when_standard_files_are_closed_or_broken() {
    let dir = scratch();
    let cases = [
        (format!("$MEMDIR call '{VIEW}' >&-"), 0),
        (format!("$MEMDIR call '{VIEW}' <&- >&- 2>&-"), 0),
        ("$MEMDIR call --help >&-".to_owned(), 0),
        ("$MEMDIR call < .".to_owned(), 1),
        ("$MEMDIR call < . 2> /dev/full".to_owned(), 1),
        ("$MEMDIR wrong 2> /dev/full".to_owned(), 2),
        ("$MEMDIR wrong 2>&-".to_owned(), 2),
    ];
    for (line, code) in cases {
        let done = shell(dir.path(), &line);
        assert_eq!(done.code, Some(code), "{line}: {}", done.err);
        assert!(!done.err.contains("panicked"), "{line}: {}", done.err);
    }
}

#[test]
fn a_damaged_journal_is_told_with_what_to_do() {
    let dir = scratch();
    let call = |json: &str| feed(&mut memdir(dir.path(), ["call", json]), "");
    assert_eq!(call(CREATE).code, Some(0));
    damage(&dir.path().join("memory/.memdir"));
    let done = call(r#"{"command":"delete","path":"/memories/a.md"}"#);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("its journal is damaged"), "{}", done.out);
    let hint = "hint: the plain files in `memories` are intact; to start a new journal, ";
    assert!(done.err.contains(hint), "{}", done.err);
    assert_eq!(fs::read_to_string(dir.path().join("memory").join(NOTE)).unwrap(), "one\n");

    let line = format!("mkdir away && mv memory/.memdir/journal.db* away && $MEMDIR call '{VIEW}'");
    assert_eq!(shell(dir.path(), &line).code, Some(0));
    assert_eq!(call(r#"{"command":"delete","path":"/memories/a.md"}"#).code, Some(0));
}

#[test]
fn who_only_reads_is_not_told_that_something_cannot_be_written() {
    let dir = scratch();
    assert_eq!(feed(&mut memdir(dir.path(), ["call", CREATE]), "").code, Some(0));
    damage(&dir.path().join("memory/.memdir"));
    for line in
        ["log", "stats", "diff a.md", "grep --history one", "prune --history --keep-versions 10 --dry-run"]
    {
        let done = shell(dir.path(), &format!("$MEMDIR {line}"));
        assert_eq!(done.code, Some(1), "{line}: {}", done.err);
        let said = "error: the memory directory cannot be read: its journal is damaged";
        assert!(done.err.contains(said), "{line}: {}", done.err);
        assert!(!done.err.contains("written"), "{line}: {}", done.err);
    }
}

#[test]
fn a_warning_is_told_once_and_the_answers_go_on() {
    let dir = scratch();
    let base = dir.path().join("memory");
    assert_eq!(feed(&mut memdir(dir.path(), ["call", CREATE]), "").code, Some(0));
    damage(&base.join(".memdir"));
    let done = feed(&mut memdir(dir.path(), ["call"]), format!("{VIEW}\n").repeat(100));
    assert_eq!((done.code, contents(&done).len()), (Some(0), 100));
    assert!(contents(&done).iter().all(|answer| answer.ends_with("4B\t/memories/a.md")), "{}", done.out);
    assert!(done.err.matches("warning: ").count() <= 1, "{}", done.err);
    assert!(done.err.is_empty() || done.err.contains("hint: the plain files"), "{}", done.err);
}

fn damage(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name.to_str().unwrap().starts_with("journal.db")) {
            fs::write(path, "this is not a database, and it is long enough to be seen as none".repeat(200))
                .unwrap();
        }
    }
}
