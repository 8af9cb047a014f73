//! The commands for people, where a transcript does not reach: races, pipes that break, bytes, proofs.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Done, feed, memdir, shell, start};

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Makes a memory as an agent does.
fn create(dir: &Path, name: &str, text: &str) {
    let call =
        json!({"command": "create", "path": format!("/memories/{name}"), "file_text": text}).to_string();
    let done = feed(&mut memdir(dir, ["call", "--dir", "memory", &call]), "");
    assert_eq!(done.code, Some(0), "{}", done.out);
}

/// The objects that a command with `--json` answers.
fn objects(done: &Done) -> Vec<Value> {
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every command that reads a store, so that it may be run on any.
const READING: &[&str] = &[
    "tree",
    "cat a.md",
    "grep one",
    "log",
    "diff a.md",
    "stats",
    "check",
    "export --output -",
    "restore --before now --dry-run",
    "prune --history --keep-versions 10 --dry-run",
];

// Which store

#[test]
fn people_are_understood_anywhere_below_a_store() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    create(dir.path(), "deep/b.md", "two\n");
    for line in [
        "$MEMDIR cat a.md",
        "cd memory && $MEMDIR cat a.md",
        "cd memory/memories && $MEMDIR cat a.md",
        "cd memory/memories/deep && $MEMDIR cat ../a.md",
        "cd memory/memories/deep && $MEMDIR cat /memories/a.md",
        "cd memory/.memdir && $MEMDIR cat a.md",
        "$MEMDIR cat memory/memories/a.md",
        "$MEMDIR cat \"$PWD/memory/memories/a.md\"",
        "cd / && $MEMDIR cat --dir \"$OLDPWD/memory\" a.md",
        "mkdir -p other && cd other && MEMDIR_DIR=../memory $MEMDIR cat a.md",
        "mkdir -p other && cd other && $MEMDIR cat --dir ../memory ../memory/memories/a.md",
    ] {
        let done = shell(dir.path(), line);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "one\n", ""), "{line}");
    }
    let done = shell(dir.path(), "cd memory/memories/deep && $MEMDIR cat b.md && $MEMDIR tree . --json");
    assert!(done.out.starts_with("two\n") && done.out.contains("\"/memories/deep/b.md\""), "{done:?}");
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_looking_at_it() {
    let dir = scratch();
    let others = ["edit a.md", "redact memver_01ARZ3NDEKTSV4RRFFQ69G5FAV", "forget --all --yes"];
    for command in READING.iter().chain(&others) {
        let done = shell(dir.path(), &format!("EDITOR=true $MEMDIR {command} < /dev/null"));
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{command}: {}", done.err);
        assert!(done.err.starts_with("error: there is no memory store in `memory`\nhint: "), "{}", done.err);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_store_is_made_where_it_is_asked_for_and_not_above() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let done = shell(
        dir.path(),
        "cd memory && $MEMDIR init && mkdir sub && cd sub && $MEMDIR init x && $MEMDIR init --dir y",
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    for base in ["memory/memory", "memory/sub/x", "memory/sub/y"] {
        assert!(dir.path().join(base).join(".memdir/journal.db").exists(), "{base}");
        let mode = fs::metadata(dir.path().join(base)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{base}");
    }
    // Settings that are there are left alone.
    fs::write(dir.path().join("memory/memdir.toml"), "view_limit = 1\n").unwrap();
    assert_eq!(shell(dir.path(), "rm -r memory/memories memory/.memdir && $MEMDIR init").code, Some(0));
    assert_eq!(fs::read_to_string(dir.path().join("memory/memdir.toml")).unwrap(), "view_limit = 1\n");
}

#[test]
fn arguments_that_are_no_text_are_wrong_usage() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    for command in
        ["cat", "tree", "log", "diff", "grep", "edit", "import", "init", "log --since", "restore --to"]
    {
        let done = shell(dir.path(), &format!("$MEMDIR {command} \"$(printf 'a\\377')\""));
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{command}: {}", done.err);
        assert!(!done.err.contains("panicked") && !done.err.is_empty(), "{command}: {}", done.err);
    }
}

#[test]
fn without_a_history_nobody_is_said_to_have_written() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    shell(dir.path(), "rm memory/.memdir/journal.db-*; echo broken > memory/.memdir/journal.db");
    let done = shell(dir.path(), "$MEMDIR tree --json");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(objects(&done)[0]["changed_by"], Value::Null, "{done:?}");
    assert_eq!(done.err.matches("warning: ").count(), 1, "{done:?}");
}

#[test]
fn names_that_are_no_text_are_passed_over() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let odd = dir.path().join("memory/memories").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::write(odd, "one\n").unwrap();
    let nested = dir.path().join(std::ffi::OsStr::from_bytes(b"\xfe/here"));
    fs::create_dir_all(&nested).unwrap();
    for command in ["tree", "grep one", "log", "export --output -"] {
        let done = Command::new("sh")
            .args(["-c", &format!("{} {command} | tr -d '\\000'", env!("CARGO_BIN_EXE_memdir"))])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{command}: {done:?}");
        assert!(!done.stdout.contains(&0xff), "{command}: {done:?}");
    }
    // A working directory whose name is no text.
    fs::rename(dir.path().join("memory"), nested.join("memory")).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_memdir"))
        .args(["cat", "../a.md"])
        .current_dir(nested.join("memory/memories").join("."))
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let done = Command::new(env!("CARGO_BIN_EXE_memdir"))
        .args(["cat", "a.md"])
        .current_dir(nested.join("memory/memories"))
        .output()
        .unwrap();
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(0), &b"one\n"[..]), "{done:?}");
}

// What is said

#[test]
fn a_reader_that_leaves_ends_every_command_quietly() {
    let dir = scratch();
    for n in 0..50 {
        create(dir.path(), &format!("{n}.md"), "one\n");
    }
    create(dir.path(), "a.md", "one\n");
    for command in READING {
        let done = shell(dir.path(), &format!("{{ $MEMDIR {command}; echo $? >&2; }} | true"));
        assert_eq!(done.err, "0\n", "{command}");
        let done = shell(dir.path(), &format!("$MEMDIR {command} > /dev/full"));
        assert_eq!(done.code, Some(1), "{command}: {}", done.err);
        assert!(done.err.starts_with("error: cannot write to standard output: "), "{command}: {}", done.err);
    }
}

#[test]
fn all_that_is_said_as_json_is_json() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    create(dir.path(), "deep/\u{e4}.md", "zwei\n");
    for command in READING.iter().filter(|command| !command.starts_with("export")) {
        let done = shell(dir.path(), &format!("$MEMDIR {command} --json"));
        let objects = objects(&done);
        assert!(objects.iter().all(Value::is_object), "{command}: {}", done.out);
    }
}

#[test]
fn a_pipe_gets_no_colours_and_no_color_neither() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let coloured = shell(dir.path(), "CLICOLOR_FORCE=1 $MEMDIR grep one");
    assert!(coloured.out.contains("\u{1b}["), "{coloured:?}");
    for line in ["$MEMDIR grep one", "NO_COLOR=1 $MEMDIR grep one", "NO_COLOR=1 $MEMDIR log", "$MEMDIR tree"]
    {
        let done = shell(dir.path(), line);
        assert!(!done.out.contains('\u{1b}') && !done.out.is_empty(), "{line}: {done:?}");
    }
}

#[test]
fn no_name_says_anything_to_a_terminal() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let odd = "x\u{1b}[2J\nhint: \u{202e}y";
    fs::create_dir(dir.path().join("from")).unwrap();
    fs::write(dir.path().join("from").join(odd), "one\n").unwrap();
    fs::write(dir.path().join("memory/memories").join(odd), "one\n").unwrap();
    for command in [
        "import from",
        "import \"$ODD\"",
        "cat \"$ODD\"",
        "tree --dir \"$ODD\"",
        "log --since \"$ODD\"",
        "check",
        "check --print-head",
        "tree",
    ] {
        let line = format!("ODD=$(printf 'x\\033[2J\\nhint: \\342\\200\\256y'); $MEMDIR {command}");
        let done = shell(dir.path(), &line);
        let said = done.out + &done.err;
        assert!(!said.contains(['\u{1b}', '\u{202e}']) && said.contains("202E"), "{command}: {said}");
        assert!(command.starts_with("log") || !said.contains("\nhint: \\u{202E}y"), "{command}: {said}");
    }
}

#[test]
fn what_is_no_store_is_told_in_words() {
    let dir = scratch();
    create(dir.path(), "sub/a.md", "one\n");
    fs::write(dir.path().join("file"), "").unwrap();
    for (line, said) in [
        (
            "$MEMDIR init file",
            "error: `file` is no directory\nhint: a store is a directory, with `memories` in it\n",
        ),
        (
            "$MEMDIR tree --dir file",
            "error: `file` is no directory\nhint: a store is a directory, with `memories` in it\n",
        ),
        ("$MEMDIR init file/x", "error: `file/x` leads through something that is no directory\n"),
        (
            "$MEMDIR tree --dir memory/memories/",
            "error: `memory/memories/` is the inside of a store\nhint: the store is `memory`: --dir memory\n",
        ),
        (
            "cd memory && $MEMDIR tree --dir memories",
            "error: `memories` is the inside of a store\nhint: the store is `.`: --dir .\n",
        ),
        (
            "cd memory/memories && $MEMDIR tree --dir .",
            "error: `.` is the inside of a store\nhint: the store is `..`: --dir ..\n",
        ),
        (
            "cd memory/memories/sub && MEMDIR_DIR=.. $MEMDIR tree",
            "error: `..` is the inside of a store\nhint: the store is `../..`: --dir ../..\n",
        ),
    ] {
        let done = shell(dir.path(), line);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(2), "", said), "{line}");
    }
}

#[test]
fn a_tree_that_knows_no_history_blames_nobody() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    fs::write(dir.path().join("memory/.memdir/journal.db"), "no database").unwrap();
    let done = shell(dir.path(), "$MEMDIR tree --json");
    assert_eq!(objects(&done)[0]["changed_by"], Value::Null, "{done:?}");
    let done = shell(dir.path(), "$MEMDIR tree");
    assert!(!done.out.contains("outside") && done.err.contains("without their history"), "{done:?}");
    // Once, though more than one look at the journal fails.
    assert_eq!(done.err.matches("warning: ").count(), 1, "{done:?}");
}

#[test]
fn no_host_path_is_said_that_nobody_gave() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let host = dir.path().to_str().unwrap();
    for command in READING.iter().chain(&["cat nowhere", "tree nowhere", "edit a.md", "diff nowhere"]) {
        let done = shell(dir.path(), &format!("EDITOR=true $MEMDIR {command}"));
        assert!(!done.err.contains(host), "{command}: {done:?}");
        assert!(!done.out.contains(host), "{command}: {done:?}");
    }
}

// Editing

/// A script that is the editor: what it does with the copy, `"$1"`.
fn editor(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn edit(dir: &Path, script: &str) -> Done {
    let editor = editor(dir, script);
    let mut command = memdir(dir, ["edit", "list.md", "--json"]);
    command.env_remove("VISUAL").env("EDITOR", editor).env("MEMDIR", env!("CARGO_BIN_EXE_memdir"));
    feed(&mut command, "")
}

#[test]
fn an_edit_that_is_raced_by_the_tool_loses_neither() {
    let dir = scratch();
    let lines = (0..40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    create(dir.path(), "list.md", &lines);
    // While the person's line is being written, the agent inserts one after the other.
    let script = r#"
        for n in 1 2 3 4 5; do
            "$MEMDIR" call --dir memory '{"command":"insert","path":"/memories/list.md","insert_line":0,"insert_text":"agent"}' > /dev/null || exit 1
        done
        echo person >> "$1""#;
    let done = edit(dir.path(), script);
    assert_eq!(objects(&done)[0]["result"], "merged", "{done:?}");
    let text = fs::read_to_string(dir.path().join("memory/memories/list.md")).unwrap();
    assert_eq!(text, format!("{}{lines}person\n", "agent\n".repeat(5)));
}

#[test]
fn an_edit_in_the_same_place_is_kept_beside_the_tools() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\ntwo\nthree\n");
    let call = r#"{"command":"str_replace","path":"/memories/list.md","old_str":"two","new_str":"agent"}"#;
    let script = format!("\"$MEMDIR\" call --dir memory '{call}' > /dev/null; sed -i s/two/person/ \"$1\"");
    let done = edit(dir.path(), &script);
    assert_eq!(done.code, Some(1), "{done:?}");
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(said["result"], "conflict");
    let both = said["both"].as_str().unwrap();
    assert!(both.contains("agent\n") && both.contains("person\n"), "{both}");
    let file = dir.path().join("memory/memories/list.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\nagent\nthree\n");
    // The command that it names puts the person's text in place.
    let command = said["restore"].as_str().unwrap().strip_prefix("memdir ").unwrap().to_owned();
    let done = shell(dir.path(), &format!("$MEMDIR {command}"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\nperson\nthree\n");
    let id = said["version_id"].as_str().unwrap();
    assert_eq!(shell(dir.path(), &format!("$MEMDIR cat --version {id}")).out, "one\nperson\nthree\n");
}

#[test]
fn what_was_written_in_an_editor_that_fails_is_where_it_says() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\n");
    let done = edit(dir.path(), "echo hours of work >> \"$1\"; exit 3");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""));
    assert!(done.err.contains("ended with exit code 3; `/memories/list.md` stays as it is"), "{}", done.err);
    let place = done.err.split_once("what you wrote is in ").unwrap().1.trim();
    assert_eq!(fs::read_to_string(dir.path().join(place)).unwrap(), "one\nhours of work\n");
    assert_eq!(fs::read_to_string(dir.path().join("memory/memories/list.md")).unwrap(), "one\n");
}

#[test]
fn a_ctrl_c_in_the_editor_is_the_editors() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\n");
    let editor = editor(dir.path(), "trap 'echo interrupted >> \"$1\"' INT; kill -INT 0; echo two >> \"$1\"");
    let mut command = memdir(dir.path(), ["edit", "list.md"]);
    // A process group of its own, as a terminal has one in front.
    command.process_group(0).env_remove("VISUAL").env("EDITOR", editor);
    let done = feed(&mut command, "");
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = fs::read_to_string(dir.path().join("memory/memories/list.md")).unwrap();
    assert_eq!(text, "one\ninterrupted\ntwo\n");
}

#[test]
fn an_editor_that_fails_leaves_nothing_where_nothing_was_written() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\n");
    let done = edit(dir.path(), "exit 1");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert_eq!(fs::read_dir(dir.path().join("memory/.memdir/edits")).unwrap().count(), 0);
    // Nor where it removes the copy.
    let done = edit(dir.path(), "rm \"$1\"");
    assert!(done.err.contains("left no file; `/memories/list.md` stays as it is\n"), "{done:?}");
    assert_eq!(fs::read_dir(dir.path().join("memory/.memdir/edits")).unwrap().count(), 0);
    // What is no text cannot be put in place, and is kept.
    let done = edit(dir.path(), "printf '\\377' > \"$1\"");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    let place = done.err.split_once("what you wrote is in ").unwrap().1.trim();
    assert!(place.starts_with("memory/.memdir/edits/"), "it is named as the store is: {place}");
    assert_eq!(fs::read(dir.path().join(place)).unwrap(), b"\xff");
    assert_eq!(fs::read_to_string(dir.path().join("memory/memories/list.md")).unwrap(), "one\n");
}

#[test]
fn without_an_editor_and_a_terminal_nothing_is_started() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    for environment in ["VISUAL= EDITOR=", "VISUAL=' ' EDITOR='  '"] {
        let done = shell(dir.path(), &format!("{environment} $MEMDIR edit a.md < /dev/null"));
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{done:?}");
        assert_eq!(
            done.err,
            "error: no editor is named, and there is no terminal for vi\n\
             hint: $VISUAL, else $EDITOR, names the editor\n"
        );
    }
}

#[test]
fn what_is_no_plain_file_is_no_edit() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\n");
    for script in
        ["rm \"$1\"; mkdir \"$1\"", "rm \"$1\"; ln -s /etc/passwd \"$1\"", "rm \"$1\"; mkfifo \"$1\""]
    {
        let done = edit(dir.path(), script);
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
        let said = "left something else than a plain file; `/memories/list.md` stays as it is\nhint: what you wrote is in ";
        assert!(done.err.contains(said), "{script}: {}", done.err);
    }
}

#[test]
fn a_command_that_is_to_be_run_is_shown_as_a_shell_takes_it() {
    let dir = scratch();
    create(dir.path(), "it's a list.md", "one\n");
    let script = "echo mine > \"$1\"; echo theirs > \"memory/memories/it's a list.md\"";
    let mut command = memdir(dir.path(), ["edit", "it's a list.md", "--json"]);
    command.env_remove("VISUAL").env("EDITOR", editor(dir.path(), script));
    let done = feed(&mut command, "");
    assert_eq!(done.code, Some(1), "{done:?}");
    let said: Value = serde_json::from_str(&done.out).unwrap();
    let restore = said["restore"].as_str().unwrap().strip_prefix("memdir ").unwrap();
    let done = shell(dir.path(), &format!("$MEMDIR {restore} && $MEMDIR cat \"it's a list.md\""));
    assert!(done.out.ends_with("mine\n"), "{done:?}");
}

#[test]
fn the_copy_of_an_editor_is_private_and_goes_away() {
    let dir = scratch();
    create(dir.path(), "list.md", "one\n");
    let done = edit(dir.path(), "ls -l \"$1\" | cut -c 1-10 > seen; echo \"$1\" >> seen; echo two >> \"$1\"");
    assert_eq!(objects(&done)[0]["result"], "written", "{done:?}");
    let seen = fs::read_to_string(dir.path().join("seen")).unwrap();
    let (mode, copy) = seen.trim_end().split_once('\n').unwrap();
    assert_eq!(mode, "-rw-------");
    assert!(copy.ends_with("list.md"), "an editor tells by the name what it is: {copy}");
    assert!(!dir.path().join(copy).exists(), "{copy}");
}

// Check, forget, archives

#[test]
fn a_broken_chain_is_found_and_its_place_named() {
    let dir = scratch();
    for n in 0..5 {
        create(dir.path(), &format!("{n}.md"), "one\n");
    }
    let journal = dir.path().join("memory/.memdir/journal.db");
    let db = rusqlite::Connection::open(journal).unwrap();
    let changed = db.execute("update version set chain = zeroblob(32) where n = 3", []).unwrap();
    assert_eq!(changed, 1);
    db.close().unwrap();
    let done = shell(dir.path(), "$MEMDIR check --json");
    assert_eq!(done.code, Some(1), "{done:?}");
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|finding| finding["kind"] == "chain" && finding["is_wrong"] == true),
        "{report}"
    );
    assert_eq!(report["is_sound"], false);
    let done = shell(dir.path(), "$MEMDIR check");
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.contains("wrong"), "{}", done.out);
}

#[test]
fn of_many_edits_from_outside_a_check_shows_some() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    for n in 0..25 {
        fs::write(dir.path().join(format!("memory/memories/{n}.md")), format!("{n}\n")).unwrap();
    }
    let done = shell(dir.path(), "$MEMDIR check");
    assert_eq!((done.code, done.out.matches("\ncreated ").count() + 1), (Some(0), 20), "{}", done.out);
    assert!(done.out.contains("and 5 more, which `memdir log --actor outside` lists"), "{}", done.out);
    assert_eq!(objects(&shell(dir.path(), "$MEMDIR log --actor outside --json")).len(), 25);
}

#[test]
fn of_a_forgotten_store_no_byte_is_left() {
    let dir = scratch();
    let canary = |n: usize| format!("canary-{n}-{}", "x".repeat(n));
    for n in 0..20 {
        create(dir.path(), &format!("{}.md", canary(n)), &format!("the text of {}\n", canary(n + 20)));
    }
    shell(dir.path(), "$MEMDIR call '{\"command\":\"delete\",\"path\":\"/memories/canary-3-xxx.md\"}'");
    fs::write(dir.path().join("memory/memories/by-hand.md"), canary(40)).unwrap();
    let done = shell(dir.path(), "$MEMDIR forget --all --yes --json --receipt receipt.json");
    let receipt = &objects(&done)[0];
    assert_eq!((receipt["files"].as_u64(), receipt["memories"].as_u64()), (Some(20), Some(21)), "{receipt}");
    assert_eq!(receipt["search"]["found_in"], json!([]), "{receipt}");
    assert!(receipt["search"]["traces"].as_u64().unwrap() > 20, "{receipt}");
    let kept: Value = serde_json::from_slice(&fs::read(dir.path().join("receipt.json")).unwrap()).unwrap();
    assert_eq!(&kept, receipt);
    assert_eq!(fs::metadata(dir.path().join("receipt.json")).unwrap().permissions().mode() & 0o777, 0o600);
    let left =
        shell(dir.path(), "grep -rc canary memory receipt.json | grep -v ':0$'; find . -name '*canary*'");
    assert_eq!(left.out, "");
    // The store can be used again.
    create(dir.path(), "a.md", "one\n");
    assert_eq!(shell(dir.path(), "$MEMDIR check").code, Some(0));
}

#[test]
fn an_edit_for_which_there_is_no_room_leaves_nothing_behind() {
    let dir = scratch();
    create(dir.path(), "a.md", &"a text\n".repeat(6000));
    // 32 KiB: enough for what the database needs to be read, not for the copy.
    let done =
        shell(dir.path(), "trap '' XFSZ; ulimit -f 64; EDITOR=true VISUAL= $MEMDIR edit a.md 2>&1 | cat");
    assert!(done.out.contains("no space left"), "{done:?}");
    assert_eq!(fs::read_dir(dir.path().join("memory/.memdir/edits")).unwrap().count(), 0);
}

#[test]
fn the_search_finds_what_a_forgetting_would_leave() {
    let dir = scratch();
    create(dir.path(), "canary.md", "the text of a canary\n");
    fs::write(dir.path().join("memory/memdir.toml"), "# the text of a canary\n").unwrap();
    // `the text of a canary`, and `never there`.
    let traces = "dGhlIHRleHQgb2YgYSBjYW5hcnk=\nbmV2ZXIgdGhlcmU=\n";
    let done = feed(&mut memdir(dir.path(), ["__traces", "memory"]), traces);
    let found = &objects(&done)[0]["found"];
    let found: Vec<_> = found.as_array().unwrap().iter().map(|place| place.as_str().unwrap()).collect();
    assert!(found.contains(&"memories/canary.md") && found.contains(&"memdir.toml"), "{found:?}");
    assert!(found.iter().any(|place| place.starts_with(".memdir/journal.db")), "{found:?}");
    assert_eq!(feed(&mut memdir(dir.path(), ["__traces", "memory"]), "no base64!\n").code, Some(2));
}

#[test]
fn an_archive_that_is_not_finished_has_no_name() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    fs::write(dir.path().join("there.tar"), "precious").unwrap();
    let done = shell(dir.path(), "$MEMDIR export --output there.tar");
    assert_eq!(done.code, Some(1));
    assert_eq!(fs::read_to_string(dir.path().join("there.tar")).unwrap(), "precious");
    fs::create_dir(dir.path().join("taken.tar")).unwrap();
    let done = shell(dir.path(), "$MEMDIR export --output taken.tar --force");
    assert_eq!(done.code, Some(1), "{done:?}");
    let mut names: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["memory", "taken.tar", "there.tar"]);
}

#[test]
fn what_is_no_plain_file_is_not_replaced_by_an_archive() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let line = "mkfifo pipe && mkdir sub && ln -s pipe link && ln -s all.tar latest.tar";
    assert_eq!(shell(dir.path(), line).code, Some(0));
    for name in ["pipe", "sub", "link"] {
        let done = shell(dir.path(), &format!("$MEMDIR export --output {name} --force"));
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
        assert_eq!(done.err, format!("error: `{name}` is no plain file, and is not replaced\n"));
    }
    assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
    let line =
        "$MEMDIR export --output all.tar && $MEMDIR export --output all.tar --force && ls -A | tr '\\n' ' '";
    let done = shell(dir.path(), line);
    assert!(done.out.ends_with("\nall.tar latest.tar link memory pipe sub "), "{done:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_that_is_killed_leaves_nothing() {
    let dir = scratch();
    let dir = dir.path();
    create(dir, "a.md", "one\n");
    // It waits for the writer's lock when its file is there already.
    let lock = fs::File::options().write(true).open(dir.join("memory/.memdir/lock")).unwrap();
    let turn = fs::File::options().write(true).open(dir.join("memory/.memdir/turn")).unwrap();
    lock.lock().unwrap();
    turn.lock().unwrap();
    let mut child = start(&mut memdir(dir, ["export", "--output", "all.tar"]));
    let held = || {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok())
            .any(|file| file.starts_with(dir) && !file.starts_with(dir.join("memory")) && file != dir)
    };
    while !held() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["memory"]);
}

#[test]
fn nothing_but_memories_is_written_among_them() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    std::os::unix::fs::symlink("memory/memories", dir.path().join("link")).unwrap();
    for line in [
        "$MEMDIR export --output memory/memories/all.tar",
        "$MEMDIR export --output link/all.tar",
        "cd memory/memories && $MEMDIR export --output all.tar",
        "$MEMDIR export --output memory/x/../.memdir/all.tar",
        "$MEMDIR forget --all --yes --receipt memory/memories/receipt.json",
    ] {
        let done = shell(dir.path(), line);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{line}: {done:?}");
    }
    assert_eq!(fs::read_dir(dir.path().join("memory/memories")).unwrap().count(), 1);
    assert_eq!(shell(dir.path(), "$MEMDIR export --output memory/all.tar").code, Some(0));
}

#[test]
fn what_retention_took_is_not_told_as_nothing() {
    let dir = scratch();
    create(dir.path(), "a.md", "0\n");
    let insert =
        json!({"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "1\n"});
    let calls = format!("{insert}\n").repeat(12);
    assert_eq!(feed(&mut memdir(dir.path(), ["call"]), calls).code, Some(0));
    let done = shell(dir.path(), "$MEMDIR diff a.md 1h");
    assert!(done.out.starts_with("--- /dev/null\n"), "{done:?}");
    let done =
        shell(dir.path(), "$MEMDIR prune --history --keep-versions 1 > pruned && $MEMDIR diff a.md 1h");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert!(
        done.err.starts_with("error: the history of `/memories/a.md` does not reach back so far\nhint: "),
        "{done:?}"
    );
}

#[test]
fn a_version_that_is_named_twice_is_redacted_once() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    shell(dir.path(), "echo two > memory/memories/a.md");
    let log = objects(&shell(dir.path(), "$MEMDIR log --json"));
    let id = log[1]["id"].as_str().unwrap();
    let done = shell(dir.path(), &format!("$MEMDIR redact {id} {id} --json"));
    assert_eq!(objects(&done)[0]["versions"].as_array().unwrap().len(), 1, "{done:?}");
}

#[test]
fn a_receipt_replaces_nothing() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    fs::write(dir.path().join("receipt.json"), "precious").unwrap();
    let done = shell(dir.path(), "$MEMDIR forget --all --yes --receipt receipt.json");
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(done.err, "error: `receipt.json` is there already\nhint: give the receipt another name\n");
    assert_eq!(shell(dir.path(), "$MEMDIR cat a.md").out, "one\n");
}

#[test]
fn an_archive_comes_through_any_pipe() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let line = "$MEMDIR export --output all.tar && mkfifo pipe && { cat all.tar > pipe & } && \
                $MEMDIR import pipe --dir copy && $MEMDIR cat --dir copy a.md";
    let done = shell(dir.path(), line);
    assert!(done.code == Some(0) && done.out.ends_with("one\n"), "{done:?}");
}

#[test]
fn a_place_that_cannot_be_imported_into_is_named() {
    let dir = scratch();
    fs::create_dir(dir.path().join("from")).unwrap();
    fs::write(dir.path().join("from/a.md"), "one\n").unwrap();
    let done = shell(dir.path(), "$MEMDIR import from --into .hidden");
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert!(done.err.starts_with("error: `/memories/.hidden` is hidden"), "{done:?}");
    create(dir.path(), "pol/a.md", "one\n");
    fs::write(dir.path().join("memory/memdir.toml"), "read_only = [\"/memories/pol/\"]\n").unwrap();
    assert_eq!(shell(dir.path(), "$MEMDIR import from && $MEMDIR cat a.md").code, Some(0));
    let done = shell(dir.path(), "$MEMDIR import from --into pol");
    assert!(done.err.contains("the entry `a.md` cannot be imported: its place is read-only"), "{done:?}");
    let done = shell(dir.path(), "$MEMDIR import from --into .git");
    assert!(done.err.contains("hint: `.git` is never changed"), "{done:?}");
}

#[test]
fn what_cannot_be_overwritten_is_not_said_to_be() {
    let dir = scratch();
    create(dir.path(), "a.md/b.md", "one\n");
    fs::create_dir(dir.path().join("from")).unwrap();
    fs::write(dir.path().join("from/a.md"), "two\n").unwrap();
    for (option, hint) in [("", "--overwrite replaces files"), ("--overwrite", "no file is in the way there")]
    {
        let done = shell(dir.path(), &format!("$MEMDIR import from {option}"));
        assert_eq!(done.code, Some(1), "{done:?}");
        let said =
            format!("error: 1 place holds something else, and nothing was changed there\nhint: {hint}");
        assert!(done.err.starts_with(&said), "{done:?}");
    }
    assert_eq!(shell(dir.path(), "$MEMDIR cat a.md/b.md").out, "one\n");
}

#[test]
fn lines_of_two_files_are_kept_apart() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\ntwo\n");
    create(dir.path(), "b.md", "one\ntwo\n");
    let done = shell(dir.path(), "$MEMDIR grep one -A 1");
    assert_eq!(
        done.out,
        "/memories/a.md:1:one\n/memories/a.md-2-two\n--\n/memories/b.md:1:one\n/memories/b.md-2-two\n"
    );
}

#[test]
fn an_archive_on_standard_input_is_bounded() {
    let dir = scratch();
    create(dir.path(), "a.md", "one\n");
    let mut child =
        start(&mut memdir(dir.path(), ["import", "-", "--max-bytes", "1KiB", "--max-files", "1"]));
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // It stops listening long before that.
            let piece = vec![b'x'; 1 << 20];
            (0..1000)
                .find(|_| std::io::Write::write_all(&mut stdin, &piece).is_err())
                .expect("it is bounded");
        });
        let done = Done::from(child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(
            done.err.starts_with("error: nothing was imported: there are more than 1024 bytes"),
            "{}",
            done.err
        );
    });
    assert_eq!(shell(dir.path(), "$MEMDIR tree").out.lines().last().unwrap(), "1 file, 0 directories, 4B");
}
