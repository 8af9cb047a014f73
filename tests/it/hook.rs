//! `memdir hook`, as the host of a coding agent runs it.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use memdir::{Error, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Done, feed, memdir, shell, start};

const SESSION: &str = "0198c1a2-7777-7abc-8def-0123456789ab";
/// A hook is given up after two seconds; a machine that is busy with other tests may take longer to notice.
const AT_MOST: Duration = Duration::from_secs(15);

/// A home directory, with the transcript of a session in it.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command<const N: usize>(&self, args: [&str; N]) -> Command {
        let mut command = memdir(self.path(), args);
        command.env("HOME", self.path()).env_remove("XDG_DATA_HOME");
        command
    }

    fn session_start(&self, input: &str) -> Done {
        feed(&mut self.command(["hook", "session-start", "--dir", "store"]), input)
    }

    fn pre_compact(&self, transcript: &str) -> Done {
        let input = json!({
            "session_id": SESSION, "transcript_path": transcript, "cwd": "/", "hook_event_name": "PreCompact",
            "trigger": "auto", "custom_instructions": "", "permission_mode": "default",
        });
        feed(&mut self.command(["hook", "pre-compact", "--dir", "store"]), input.to_string())
    }

    fn say(&self, lines: &[Value]) {
        let file = self.path().join("t.jsonl");
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
    }

    fn know(&self, fact: &str) {
        let args = ["store", fact, "--category", "user_preference", "--dir", "store"];
        assert_eq!(feed(&mut self.command(args), "").code, Some(0));
    }

    /// The note of the session, and its name.
    fn note(&self) -> (String, String) {
        let mut notes = fs::read_dir(self.path().join("store/memories/sessions")).unwrap();
        let note = notes.next().expect("a note").unwrap();
        assert!(notes.next().is_none(), "one note for a session");
        (note.file_name().into_string().unwrap(), fs::read_to_string(note.path()).unwrap())
    }
}

fn user(uuid: &str, text: &str) -> Value {
    json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}})
}

/// What a session begins with, from the answer of the hook.
fn context(done: &Done) -> String {
    assert_eq!((done.code, done.out.lines().count()), (Some(0), 1), "{done:?}");
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    let output = json!({"hookEventName": "SessionStart", "additionalContext": context});
    assert_eq!(answer, json!({"hookSpecificOutput": output}));
    context
}

// The beginning of a session

#[test]
fn a_session_begins_with_what_is_known() {
    let home = Home::new();
    home.know("The user prefers dark mode.");
    for source in ["startup", "resume", "clear", "compact", "anything"] {
        let input = json!({"session_id": SESSION, "hook_event_name": "SessionStart", "source": source});
        let context = context(&home.session_start(&input.to_string()));
        assert!(context.ends_with("\n## Relevant Memory\n- [user_preference] The user prefers dark mode."));
        assert!(context.contains("It is data"), "{context}");
    }
}

#[test]
fn as_much_is_told_as_the_budget_holds() {
    let home = Home::new();
    let dir = home.path().join("store/memories/facts");
    fs::create_dir_all(&dir).unwrap();
    for n in 0..20 {
        fs::write(dir.join(format!("{n}.md")), format!("---\nimportance: 3\n---\nPort {n} is open.\n"))
            .unwrap();
    }
    let told = context(&home.session_start("{}"));
    assert_eq!(told.matches("is open.").count(), 20, "{told}");
    let mut tight = home.command(["hook", "session-start", "--dir", "store", "--budget", "100"]);
    let told = context(&feed(&mut tight, "{}"));
    let (told, end) = told.split_once("\n… and ").expect("not all is told");
    assert!((1..20).contains(&told.matches("is open.").count()), "{told}");
    assert!(end.contains(" more\n") && end.contains("memory_retrieve"), "{end}");
}

#[test]
fn a_broken_input_does_not_keep_a_session_from_its_memory() {
    let home = Home::new();
    home.know("The user prefers dark mode.");
    for input in ["", "{", "[1]", "\u{0}", &format!("{{\"a\":\"{}\"", "x".repeat(3 << 20))] {
        let done = home.session_start(input);
        assert!(context(&done).contains("dark mode"));
        assert!(done.err.starts_with("warning: "), "{}", done.err);
    }
}

#[test]
fn a_session_without_a_memory_begins_with_nothing_and_makes_none() {
    let home = Home::new();
    let done = home.session_start("{}");
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    assert_eq!(feed(&mut home.command(["init", "store"]), "").code, Some(0));
    fs::write(home.path().join("store/memories/empty.md"), "").unwrap();
    assert_eq!(home.session_start("{}").out, "");
}

#[test]
fn the_store_is_that_of_the_server_of_the_same_host() {
    let home = Home::new();
    let input = format!(r#"{{"session_id":"{SESSION}","transcript_path":"~/t.jsonl"}}"#);
    home.say(&[user("u1", "The tide is high.")]);
    assert_eq!(feed(&mut home.command(["hook", "pre-compact"]), &input).code, Some(0));
    assert!(home.path().join(".local/share/memdir/memories/sessions").is_dir());
    let elsewhere = home.path().join("elsewhere");
    let mut command = home.command(["hook", "pre-compact"]);
    assert_eq!(feed(command.env("MEMDIR_DIR", &elsewhere), &input).code, Some(0));
    assert!(elsewhere.join("memories/sessions").is_dir());
}

// Before the conversation is compacted

#[test]
fn the_end_of_the_conversation_is_noted_once() {
    let home = Home::new();
    home.say(&[
        user("u1", "The tide is high."),
        json!({"type": "summary"}),
        user("u2", "Where is the boat?"),
    ]);
    let done = home.pre_compact("t.jsonl");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    let (name, first) = home.note();
    assert!(name.ends_with("-0198c1a2.md") && name.len() == "2026-11-30-0198c1a2.md".len(), "{name}");
    assert!(first.contains("UTC, auto\n\nUser:\n> The tide is high.\n> Where is the boat?\n"), "{first}");
    assert_eq!(home.pre_compact("t.jsonl").code, Some(0));
    assert_eq!(home.note().1, first);

    home.say(&[user("u3", "In the bay.")]);
    home.pre_compact("t.jsonl");
    let (_, second) = home.note();
    let added = second.strip_prefix(first.as_str()).expect("the first section stays as it was");
    assert!(added.contains("> In the bay.\n") && !added.contains("boat"), "{added}");

    let log = feed(&mut home.command(["log", "--dir", "store", "--json"]), "").out;
    let authors: Vec<_> = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    assert_eq!(authors.len(), 2, "a run with nothing new makes no version: {log}");
    assert!(log.contains(r#""created_by":{"type":"agent","name":"hook"}"#), "{log}");

    let input = json!({"session_id": SESSION, "source": "compact"});
    let context = context(&home.session_start(&input.to_string()));
    assert!(context.contains(&format!("is noted in /memories/sessions/{name}.")), "{context}");
}

#[test]
fn notes_of_sessions_do_not_crowd_out_what_is_known() {
    let home = Home::new();
    home.know("The user prefers dark mode.");
    home.say(&[user("u1", "The tide is high.")]);
    home.pre_compact("t.jsonl");
    let context = context(&home.session_start("{}"));
    assert!(context.contains("dark mode") && !context.contains("tide"), "{context}");
    let found = feed(&mut home.command(["search", "how is the tide?", "--dir", "store"]), "");
    assert!(found.out.contains("The tide is high."), "{found:?}");
}

#[test]
fn a_note_holds_nothing_of_the_memory_and_is_not_alike_to_what_is_stored() {
    let home = Home::new();
    let call = json!({
        "type": "tool_use", "id": "t1", "name": "mcp__memdir__memory_store",
        "input": {"content": "The user likes juniper tea."},
    });
    let answer = json!({"type": "tool_result", "tool_use_id": "t1", "content": "juniper"});
    home.say(&[
        user("u1", "The tide is high at the western pier in the morning."),
        json!({"type": "assistant", "uuid": "u2", "message": {"content": [call]}}),
        json!({"type": "user", "uuid": "u3", "message": {"content": [answer]}}),
        user("u4", "<system-reminder>juniper</system-reminder>"),
    ]);
    assert_eq!(home.pre_compact("t.jsonl").code, Some(0));
    let (_, note) = home.note();
    assert!(note.contains("The tide is high") && !note.contains("juniper"), "{note}");
    let fact = "The tide is high at the western pier in the morning.";
    let args = ["store", fact, "--category", "factual_knowledge", "--dir", "store", "--json"];
    let done = feed(&mut home.command(args), "");
    let stored: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&stored["success"], stored.get("similar")), (&json!(true), None), "{done:?}");
}

#[test]
fn no_secret_comes_into_a_note_and_none_keeps_it_from_being_written() {
    let home = Home::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let call =
        json!({"type": "tool_use", "name": "Bash", "input": {"command": format!("export GH={secret}")}});
    home.say(&[
        user("u1", &format!("The token is {secret}, keep it.")),
        json!({"type": "assistant", "uuid": "u2", "message": {"content": [call]}}),
        json!({"type": "user", "uuid": "u3", "message": {"content": [{"type": "tool_result", "content": secret}]}}),
    ]);
    let done = home.pre_compact("t.jsonl");
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let (_, note) = home.note();
    assert_eq!(note.matches("[redacted: github-pat]").count(), 3, "{note}");
    assert!(!note.contains(&secret[4..20]), "{note}");
}

#[test]
fn what_was_said_before_an_image_is_noted() {
    let home = Home::new();
    let image = json!({"type": "image", "source": {"data": "A".repeat(3 << 19)}});
    let result = json!([{"type": "tool_result", "tool_use_id": "x", "content": [image]}]);
    home.say(&[
        user("u1", "The office is in Kupferberg."),
        json!({"type": "user", "uuid": "u2", "message": {"content": result}}),
        user("u3", "What do you see?"),
    ]);
    assert_eq!(home.pre_compact("t.jsonl").code, Some(0));
    let (_, note) = home.note();
    assert!(note.contains("Kupferberg") && note.contains("What do you see?"), "{note}");
}

#[test]
fn the_beginning_of_a_huge_transcript_is_not_read() {
    let home = Home::new();
    let mut file = fs::File::create(home.path().join("t.jsonl")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    let half = r#"{"type":"user","uuid":"u2","mess"#;
    write!(file, "\n{}\n{half}", user("u1", "The tide is high.")).unwrap();
    assert_eq!(home.pre_compact("t.jsonl").code, Some(0));
    assert!(home.note().1.contains("> The tide is high.\n\n<!-- until u1 -->"));
}

#[test]
fn a_transcript_that_is_no_file_is_refused_and_nothing_is_made() {
    let home = Home::new();
    let path = |name: &str| home.path().join(name);
    home.say(&[user("u1", "The tide is high.")]);
    symlink(path("t.jsonl"), path("link")).unwrap();
    assert_eq!(shell(home.path(), "mkfifo fifo").code, Some(0));
    for name in ["link", "fifo", "gone", ".", "/dev/zero", "/dev/stdin", "~/gone", ""] {
        let done = home.pre_compact(name);
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{name}: {done:?}");
        assert!(done.err.starts_with("error: "), "{name}: {done:?}");
        assert!(!done.err.contains(home.path().to_str().unwrap()), "{name}: {done:?}");
    }
    fs::write(path("words"), "no JSON\nroot:x:0:0\n").unwrap();
    let done = home.pre_compact("words");
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert!(!path("store").exists());
}

#[test]
fn what_the_settings_refuse_is_told() {
    let home = Home::new();
    home.say(&[user("u1", "The tide is high.")]);
    fs::create_dir(home.path().join("store")).unwrap();
    for (settings, code, words) in [
        ("read_only = [\"/memories/sessions/\"]", 1, "read-only"),
        ("file_limit = 100", 1, "over the limit"),
        ("tpyo = 1", 1, "tpyo"),
        ("hidden = \"deny\"", 0, ""),
    ] {
        fs::write(home.path().join("store/memdir.toml"), settings).unwrap();
        let done = home.pre_compact("t.jsonl");
        assert_eq!((done.code, done.out.as_str()), (Some(code), ""), "{settings}: {done:?}");
        assert!(done.err.contains(words), "{settings}: {done:?}");
    }
}

// The host is never blocked

#[test]
fn no_use_of_a_hook_ends_with_the_exit_code_that_blocks() {
    let home = Home::new();
    for line in [
        "$MEMDIR hook",
        "$MEMDIR hook post-compact",
        "$MEMDIR hook session-start --budget 0",
        "$MEMDIR hook session-start --budget many",
        "$MEMDIR hook session-start extra",
        "$MEMDIR hook pre-compact --dir ''",
        "$MEMDIR hook pre-compact --dir a --home b --store c",
        "$MEMDIR hook pre-compact --store c",
        "$MEMDIR hook --frob",
        "$MEMDIR --dir a hook session-start",
        "$MEMDIR --home a --store b hook pre-compact",
        "$MEMDIR -q hook session-start",
        "MEMDIR_DIR=$(printf '\\377') $MEMDIR hook session-start",
        "MEMDIR_DIR=/dev/null $MEMDIR hook session-start",
        "HOME= XDG_DATA_HOME= $MEMDIR hook session-start",
        "$MEMDIR hook pre-compact",
    ] {
        let done = shell(home.path(), &format!("{line} < /dev/null"));
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{line}: {done:?}");
        assert!(!done.err.is_empty(), "{line}");
    }
}

#[test]
fn an_input_that_does_not_end_is_not_waited_for() {
    let home = Home::new();
    home.know("The user prefers dark mode.");
    for (input, is_noted) in [("", false), ("{\"session_id\":", false), ("{\"source\":\"startup\"}", true)] {
        let began = Instant::now();
        let mut child = start(&mut home.command(["hook", "session-start", "--dir", "store"]));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        let done = Done::from(child.wait_with_output().unwrap());
        drop(stdin);
        assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
        assert!(context(&done).contains("dark mode"));
        assert_eq!(done.err.is_empty(), is_noted, "{done:?}");
    }
}

#[test]
fn a_lock_that_another_process_holds_is_not_waited_for() {
    let home = Home::new();
    home.know("The user prefers dark mode.");
    home.say(&[user("u1", "The tide is high.")]);
    let store = Store::open(home.path().join("store")).unwrap();
    let (entered, is_in) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let holder = thread::spawn(move || {
        store.change::<_, Error, _>(move |_| {
            entered.send(()).unwrap();
            released.recv().unwrap();
            Ok((vec![], ()))
        })
    });
    is_in.recv().unwrap();
    let began = Instant::now();
    let done = home.pre_compact("t.jsonl");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert!(done.err.starts_with("error: "), "{done:?}");
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    let began = Instant::now();
    let done = home.session_start("{}");
    assert!(context(&done).contains("dark mode"), "reading takes no lock");
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    release.send(()).unwrap();
    holder.join().unwrap().unwrap();
    assert_eq!(home.pre_compact("t.jsonl").code, Some(0));
}

#[test]
fn an_answer_that_nobody_reads_is_not_waited_for() {
    let home = Home::new();
    for n in 0..100 {
        let text =
            format!("---\nimportance: 5\npinned: true\n---\nFact {n}. {}\n", "More words. ".repeat(90));
        let dir = home.path().join("store/memories/facts");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{n}.md")), text).unwrap();
    }
    let began = Instant::now();
    let mut command = home.command(["hook", "session-start", "--dir", "store", "--budget", "100000"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(began.elapsed() < AT_MOST, "{:?}", began.elapsed());
    let mut told = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut told).unwrap();
    assert!(told.len() > 60_000, "the pipe was full: {}", told.len());
}
