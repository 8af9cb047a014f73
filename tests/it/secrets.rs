//! The write gate at every door: no byte of a secret is in a store, and no answer quotes one.

use std::path::Path;

use memdir::{
    Content, Dispatcher, Draft, Edit, Error, Found, Limits, Log, MemoryPath, Others, Restore, Settings,
    Store, ToolUse, import_directory,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A made-up secret, and the text that it stands in.
struct Positive {
    secret: String,
    before: String,
    after: String,
}

fn positives() -> Vec<Positive> {
    let lines = include_str!("../../fixtures/secrets/positives.jsonl").lines();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            Positive {
                secret: case["secret"].as_array().unwrap().iter().map(text).collect(),
                before: text(&case["before"]),
                after: text(&case["after"]),
            }
        })
        .collect()
}

fn scratch() -> TempDir {
    // In memory, where there is such a file system: nothing here is about syncs.
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(base: &Path, settings: &str) -> Store {
    Store::builder(base).settings(Settings::parse(settings).unwrap()).open().unwrap()
}

fn memory(path: &str) -> MemoryPath {
    MemoryPath::parse(&format!("/memories/{path}")).unwrap()
}

fn call(input: Value) -> ToolUse {
    ToolUse { id: "toolu_1".to_owned(), name: "memory".to_owned(), input }
}

fn texts(dispatcher: &Dispatcher, calls: impl IntoIterator<Item = Value>) -> Vec<(String, bool)> {
    let calls: Vec<_> = calls.into_iter().map(call).collect();
    let answer = |result: memdir::ToolResult| match result.content {
        Content::Text(text) => (text, result.is_error),
        Content::Blocks(_) => panic!("no image was asked for"),
    };
    dispatcher.run_all(&calls).into_iter().map(answer).collect()
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

/// Every file of a store, and every name.
fn bytes_of(base: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in walkdir::WalkDir::new(base) {
        let entry = entry.unwrap();
        let name = entry.path().strip_prefix(base).unwrap().to_str().unwrap().to_owned();
        let is_file = entry.file_type().is_file();
        all.push((name, if is_file { std::fs::read(entry.path()).unwrap() } else { Vec::new() }));
    }
    all
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

/// Calls of every kind that bring a secret, or quote one.
fn doors(i: usize, Positive { secret, before, after }: &Positive) -> Vec<Value> {
    let text = format!("{before}{secret}{after}");
    let middle = secret.char_indices().nth(secret.chars().count() / 2).unwrap().0;
    let (one, two) = secret.split_at(middle);
    let at = |what: &str| format!("/memories/{what}-{i}.md");
    let mut calls = vec![
        create(&at("created"), &text),
        create(&at("plain"), "A line.\nX\n"),
        json!({"command": "str_replace", "path": at("plain"), "old_str": "X\n", "new_str": text}),
        json!({"command": "insert", "path": at("plain"), "insert_line": 1, "insert_text": text}),
        json!({"command": "str_replace", "path": at("plain"), "old_str": text, "new_str": ""}),
        create(&at("halves"), &format!("{before}{one}{after}")),
        json!({"command": "str_replace", "path": at("halves"), "old_str": one, "new_str": secret}),
        create(&at("parts"), &format!("{before}{one}\n")),
        json!({"command": "str_replace", "path": at("parts"), "old_str": format!("{one}\n"), "new_str": format!("{one}{two}{after}")}),
        json!({"command": "view", "path": format!("/memories/{before}{secret}{after}")}),
        json!({"command": text, "path": "/memories/a"}),
    ];
    if !secret.contains(['\n', '/']) && secret.len() < 240 {
        let path = format!("/memories/{before}{secret}{after}").replace(['\n', '"'], " ");
        calls.push(create(&path, "a name\n"));
        calls.push(json!({"command": "rename", "old_path": at("plain"), "new_path": path}));
    }
    calls
}

/// Calls of the tools over entries, and of the one-file tool, with a secret in each field that is a text.
fn entry_doors(Positive { secret, before, after }: &Positive) -> Vec<ToolUse> {
    let text = format!("{before}{secret}{after}");
    let store = |changed: Value| {
        let mut input = json!({"content": "A fact.", "category": "task_progress", "importance": 3});
        for (name, value) in changed.as_object().unwrap() {
            input[name] = value.clone();
        }
        ("memory_store", input)
    };
    let calls = [
        store(json!({"content": text})),
        store(json!({"content": format!("{text} {text}"), "tags": ["a", text]})),
        store(json!({"key": text})),
        store(json!({"key": text, "category": text})),
        store(json!({"expires_at": text, "importance": text})),
        ("memory_retrieve", json!({"query": text, "categories": [text], "tags": [text]})),
        ("memory_retrieve", json!({"query": text})),
        ("memory_delete", json!({"memory_id": "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": text})),
        ("memory_delete", json!({"memory_id": text, "reason": text})),
        ("memory_20250818", json!({"action": "save", "content": text})),
        ("memory_20250818", json!({"action": text, "content": text})),
    ];
    calls.map(|(name, input)| ToolUse { name: name.to_owned(), ..call(input) }).into()
}

#[test]
fn no_secret_is_in_any_byte_of_a_store_whatever_door_it_came_to() {
    for mode in ["block", "redact"] {
        let dir = scratch();
        let base = dir.path().join("base");
        let store = open(&base, &format!("[guard]\nmode = \"{mode}\"\n"));
        let dispatcher = Dispatcher::new(store.clone());
        let positives = positives();
        for (i, positive) in positives.iter().enumerate() {
            for (text, _) in texts(&dispatcher, doors(i, positive)) {
                assert!(!text.contains(&positive.secret), "{mode}: an answer quotes it: {text}");
            }
        }
        for positive in positives.iter().step_by(3) {
            for result in dispatcher.run_all(&entry_doors(positive)) {
                let text = format!("{:?}", result.content);
                assert!(!text.contains(&positive.secret), "{mode}: an answer quotes it: {text}");
            }
        }
        for (i, positive) in positives.iter().enumerate().step_by(6) {
            people(&dir, &store, i, positive);
        }
        drop((dispatcher, store));
        let files = bytes_of(&base);
        assert!(files.iter().any(|(name, bytes)| name == ".memdir/journal.db" && bytes.len() > 100_000));
        for Positive { secret, .. } in &positives {
            for (name, bytes) in &files {
                assert!(!holds(bytes, secret.as_bytes()), "{mode}: {secret} is in {name}");
                assert!(!name.contains(secret), "{mode}: {secret} is a name");
            }
        }
    }
}

/// What people's commands bring: an edited copy, imported files, a change of a program's own, a reason.
fn people(dir: &TempDir, store: &Store, i: usize, Positive { secret, before, after }: &Positive) {
    let text = format!("{before}{secret}{after}");
    let draft = Draft::begin(store, &memory(&format!("edited-{i}.md"))).unwrap();
    std::fs::write(draft.file(), &text).unwrap();
    let said = draft.finish().map_or_else(|error| format!("{error} {error:?}"), |done| format!("{done:?}"));
    assert!(!said.contains(secret), "{said}");
    let source = dir.path().join(format!("source-{i}"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("a.md"), &text).unwrap();
    let into = memory(&format!("imported-{i}"));
    let said = import_directory(store, &source, &into, Others::Keep, &Limits::default());
    assert!(!format!("{said:?}").contains(secret), "{said:?}");
    std::fs::remove_dir_all(source).unwrap();
    let edit = Edit::write(&memory(&format!("changed-{i}.md")), text.clone());
    let changed = store.with_reason(&text).change(move |_| Ok::<_, Error>((vec![edit.clone()], ())));
    assert!(!format!("{changed:?}").contains(secret), "{changed:?}");
    let edit = Edit::write(&memory(&format!("reason-{i}.md")), "fine\n");
    store.with_reason(&text).change(move |_| Ok::<_, Error>((vec![edit.clone()], ()))).unwrap();
}

const TOKEN: &str = concat!("ghp", "_Zq8kLm2Nx7Rt4Vw9Yb3Cd6Fg1Hj5KpQsUaEi");

#[test]
fn answers_name_the_line_and_the_rule() {
    let text = format!("one\ntwo\ntoken {TOKEN}\n");
    for (settings, said, stored) in [
        ("", "Error: Not stored: line 3 looks like github-pat. Remove the secret and try again", None),
        (
            "[guard]\nmode = \"warn\"",
            "File created successfully at: /memories/a.md\nWarning: line 3 looks like github-pat",
            Some(text.clone()),
        ),
        (
            "[guard]\nrules = { github-pat = \"redact\" }",
            "File created successfully at: /memories/a.md\nWarning: line 3 looked like github-pat and was not stored",
            Some("one\ntwo\ntoken [redacted: github-pat]\n".to_owned()),
        ),
        ("[guard]\nmode = \"off\"", "File created successfully at: /memories/a.md", Some(text.clone())),
    ] {
        let dir = scratch();
        let store = open(dir.path(), settings);
        let dispatcher = Dispatcher::new(store.clone());
        let answers = texts(&dispatcher, [create("/memories/a.md", &text)]);
        assert_eq!(answers, [(said.to_owned(), stored.is_none())], "{settings}");
        let found = match store.read(&memory("a.md")).unwrap() {
            Found::File(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            Found::Not(_) => None,
        };
        assert_eq!(found, stored, "{settings}");
        let mut warned = 0;
        let count = &mut |version: memdir::Version| {
            warned += version.warnings.len();
            Ok(std::ops::ControlFlow::Continue(()))
        };
        store.history().unwrap().versions(&Log::default(), count).unwrap();
        assert_eq!(warned, usize::from(said.contains("Warning")), "{settings}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn a_card_number_is_no_name_at_any_depth() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let dispatcher = Dispatcher::new(store.clone());
    let card = concat!("4111", "111111111111");
    for path in ["{}.md", "{}", "a/{}.md", "a/{}", "{}/a.md", "a/b-{}/c"] {
        let path = path.replace("{}", card);
        let answer = texts(&dispatcher, [create(&format!("/memories/{path}"), "x")]).remove(0);
        assert!(answer.1 && answer.0.contains("looks like card-number"), "{path}: {answer:?}");
    }
    assert!(
        bytes_of(dir.path())
            .iter()
            .all(|(name, bytes)| { !name.contains(card) && !holds(bytes, card.as_bytes()) })
    );

    // What others named so is told where it is looked for.
    drop(dispatcher);
    std::fs::create_dir(dir.path().join("memories/a")).unwrap();
    std::fs::write(dir.path().join(format!("memories/a/{card}.md")), "x").unwrap();
    let done = memdir(dir.path(), &["check"]);
    assert_eq!((done.code, done.out.contains(card)), (Some(0), false), "{done:?}");
    let note = "note      /memories/a/[redacted: card-number].md: the path looks like card-number\n          \
                if it is one: delete or rename the file, whose path `memdir log` shows, then `memdir redact memver_";
    assert!(done.out.contains(note), "{done:?}");
    let done = memdir(dir.path(), &["check", "--secrets"]);
    assert!(done.out.contains("the path looks like card-number"), "{done:?}");
}

#[test]
fn a_path_is_judged_where_it_is_new() {
    let dir = scratch();
    let dispatcher = Dispatcher::new(open(dir.path(), ""));
    std::fs::write(dir.path().join("memories").join(TOKEN), "a person's\n").unwrap();
    let path = format!("/memories/{TOKEN}");
    let refused = "Error: Not stored: the path looks like github-pat. Remove the secret and try again";
    let answers = texts(
        &dispatcher,
        [
            create(&format!("/memories/d/{TOKEN}.md"), "x"),
            create("/memories/a", "x"),
            json!({"command": "rename", "old_path": "/memories/a", "new_path": format!("{path}.md")}),
            json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "more"}),
            json!({"command": "rename", "old_path": path, "new_path": "/memories/b"}),
        ],
    );
    assert_eq!(answers[0], (refused.to_owned(), true));
    assert_eq!(answers[2], (refused.to_owned(), true));
    assert!(!answers[3].1 && !answers[4].1, "{answers:?}");
    assert!(!dir.path().join("memories/d").exists());
}

#[test]
fn every_command_that_brings_a_path_is_refused_one_that_is_a_secret() {
    let dir = scratch();
    let store = open(&dir.path().join("base"), "");
    let dispatcher = Dispatcher::new(store.clone());
    let refused = "Error: Not stored: the path looks like github-pat. Remove the secret and try again";
    let rename = |from: &str, to: &str| json!({"command": "rename", "old_path": format!("/memories/{from}"), "new_path": format!("/memories/{to}")});
    let made = [create("/memories/d/e/a.md", "x\n"), create("/memories/f.md", "x\n")];
    assert!(texts(&dispatcher, made).iter().all(|answer| !answer.1));
    let names = [TOKEN.to_owned(), format!("new/{TOKEN}"), format!("{TOKEN}/below"), format!("d/{TOKEN}.md")];
    for name in &names {
        let calls = [
            create(&format!("/memories/{name}"), "x"),
            rename("f.md", name),
            rename("d/e", name),
            rename("d/e/a.md", name),
        ];
        for answer in texts(&dispatcher, calls) {
            assert_eq!(answer, (refused.to_owned(), true), "{name}");
        }
        let is_refused = |error: &Error| matches!(error, Error::Secret { line: None, .. });
        let version = store.history().unwrap().head(&memory("f.md")).unwrap().unwrap().id;
        let what = Restore::Version { path: memory(name), version };
        for others in [Others::Keep, Others::Overwrite] {
            assert!(is_refused(&store.restore(&what, others).unwrap_err()), "{name}");
            assert!(is_refused(&store.preview_restore(&what, others).unwrap_err()), "{name}");
        }
        assert!(is_refused(&Draft::begin(&store, &memory(name)).unwrap_err()), "{name}");
        let source = dir.path().join("source");
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("a.md"), "x").unwrap();
        let said = import_directory(&store, &source, &memory(name), Others::Keep, &Limits::default());
        assert!(format!("{said:?}").contains("Secret"), "{name}: {said:?}");
        std::fs::remove_dir_all(&source).unwrap();
        std::fs::create_dir_all(source.join(name)).unwrap();
        std::fs::write(source.join(name).join("a.md"), "x").unwrap();
        let said = import_directory(&store, &source, &memory("i"), Others::Keep, &Limits::default());
        assert!(format!("{said:?}").contains("Secret"), "{name}: {said:?}");
        std::fs::remove_dir_all(&source).unwrap();
        let edit = Edit::write(&memory(name), "x");
        assert!(is_refused(&store.change(move |_| Ok::<_, Error>((vec![edit.clone()], ()))).unwrap_err()));
        for from in ["f.md", "d/e"] {
            let edit = Edit::rename(&memory(from), &memory(name));
            let changed = store.change(move |_| Ok::<_, Error>((vec![edit.clone()], ())));
            assert!(is_refused(&changed.unwrap_err()));
        }
    }
    drop((dispatcher, store));
    for (name, bytes) in bytes_of(dir.path()) {
        assert!(!name.contains(TOKEN) && !holds(&bytes, TOKEN.as_bytes()), "{name}");
    }
}

/// What stands before a name may make a secret of it.
#[test]
fn a_directory_is_not_moved_to_where_what_is_in_it_becomes_a_secret() {
    let dir = scratch();
    let dispatcher = Dispatcher::new(open(dir.path(), ""));
    let rest = concat!("services/T0Z7QX4MR/B0K2VW5YB/", "Zq8kLm2Nx7Rt4Vw9Yb3Cd6Fg");
    let refused = "Error: Not stored: the path looks like slack-webhook-url. Remove the secret and try again";
    let rename = |to: &str| json!({"command": "rename", "old_path": "/memories/a", "new_path": to});
    let calls = [
        create(&format!("/memories/https:/hooks.slack.com/{rest}"), "x"),
        create(&format!("/memories/a/{rest}"), "x"),
        rename("/memories/hooks.slack.com"),
        rename("/memories/b"),
    ];
    let answers = texts(&dispatcher, calls);
    assert_eq!(answers[0], (refused.to_owned(), true));
    assert!(!answers[1].1);
    assert_eq!(answers[2], (refused.to_owned(), true));
    assert!(!answers[3].1, "{answers:?}");
}

/// What a secret is made of may stand in the path before, in the same order, and be none there.
#[test]
fn a_path_whose_letters_were_there_is_judged_all_the_same() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let secret = format!("{}/{}", "7".repeat(18), ["x7Fq2LmPz9Kd4Rt6W"; 4].concat());
    let refused = "Error: Not stored: the path looks like discord-webhook. Remove the secret and try again";
    let from = format!("/memories/x/api/webhooks/{secret}/a.md");
    let to = format!("/memories/discord.com/api/webhooks/{secret}/a.md");
    let rename = |from: &str, to: &str| json!({"command": "rename", "old_path": from, "new_path": to});
    let answers = texts(
        &Dispatcher::new(store.clone()),
        [
            create(&to, "x"),
            create(&from, "x"),
            rename("/memories/x", "/memories/discord.com"),
            rename(&from, &to),
        ],
    );
    let is_refused = |answer: &(String, bool)| *answer == (refused.to_owned(), true);
    assert_eq!(answers.iter().map(is_refused).collect::<Vec<_>>(), [true, false, true, true], "{answers:?}");
    let version = store.history().unwrap().head(&MemoryPath::parse(&from).unwrap()).unwrap().unwrap().id;
    let what = Restore::Version { path: MemoryPath::parse(&to).unwrap(), version };
    let error = store.restore(&what, Others::Keep).unwrap_err();
    assert!(matches!(error, Error::Secret { line: None, .. }), "{error}");
}

#[test]
fn what_was_at_a_path_goes_back_to_it_with_a_warning() {
    let dir = scratch();
    let store = open(dir.path(), "[guard]\nmode = \"off\"");
    let at = format!("/memories/{TOKEN}.md");
    texts(&Dispatcher::new(store.clone()), [create(&at, "x\n")]);
    let path = memory(&format!("{TOKEN}.md"));
    let version = store.history().unwrap().head(&path).unwrap().unwrap().id;
    texts(&Dispatcher::new(store.clone()), [json!({"command": "delete", "path": at})]);
    drop(store);
    let store = open(dir.path(), "");
    store.restore(&Restore::Version { path, version }, Others::Keep).unwrap();
    let warned: Vec<_> = store.take_warned().iter().map(|warned| warned.warning.to_string()).collect();
    assert_eq!(warned, ["the path looks like github-pat"]);
}

#[test]
fn what_a_person_put_into_a_file_does_not_keep_others_from_it() {
    let dir = scratch();
    let store = open(dir.path(), "");
    std::fs::write(dir.path().join("memories/a.md"), format!("one\n{TOKEN}\n")).unwrap();
    let dispatcher = Dispatcher::new(store.clone());
    let insert = |text: &str| json!({"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": text});
    let other = TOKEN.replace('Z', "Y");
    let answers = texts(&dispatcher, [insert("zero"), insert(&other)]);
    assert_eq!(answers[0], ("The file /memories/a.md has been edited.".to_owned(), false));
    assert!(answers[1].0.starts_with("Error: Not stored: line 1 looks like github-pat"), "{answers:?}");
    // It is in the history as theirs, and told there.
    let mut told = Vec::new();
    let tell = &mut |version: memdir::Version| {
        told.extend(version.warnings.iter().map(ToString::to_string));
        Ok(std::ops::ControlFlow::Continue(()))
    };
    store.history().unwrap().versions(&Log::default(), tell).unwrap();
    assert_eq!(told, ["line 2 looks like github-pat"]);
}

#[test]
fn what_an_edit_makes_a_secret_is_told_though_its_letters_were_there() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let key = concat!("AKIA", "Z7QXLM4RT2VW5YB3");
    let replace = |old: &str, new: &str| json!({"command": "str_replace", "path": "/memories/a.md", "old_str": old, "new_str": new});
    let text = format!("{key}x\nTr0ub4dor&3kZ\n");
    let calls = [create("/memories/a.md", &text), replace("x\n", "\n"), replace("Tr0", "password: Tr0")];
    let answers = texts(&Dispatcher::new(store), calls);
    assert!(answers[1].0.starts_with("Error: Not stored: line 1 looks like aws-access-token"), "{answers:?}");
    assert!(answers[2].0.ends_with("Warning: line 2 looks like password"), "{answers:?}");
}

#[test]
fn what_stands_for_a_secret_counts_for_the_limit() {
    let dir = scratch();
    let dispatcher = Dispatcher::new(open(dir.path(), "file_limit = 20\n[guard]\nmode = \"redact\"\n"));
    let card = ["4111", "1111", "1111", "1111"].concat();
    let answers = texts(&dispatcher, [create("/memories/a.md", &format!("n {card}"))]);
    let words = "Error: File /memories/a.md would be 25 bytes, over the limit of 20 bytes";
    assert_eq!(answers, [(words.to_owned(), true)]);
}

#[test]
fn an_answer_tells_a_few_warnings_and_counts_the_rest() {
    let dir = scratch();
    let lines: Vec<_> = (10..40).map(|i| format!("password: Tr0ub4dor&3k{i}\n")).collect();
    let calls = [create("/memories/a.md", &lines.concat())];
    let answer = texts(&Dispatcher::new(open(dir.path(), "")), calls).remove(0).0;
    assert!(
        answer.ends_with("\nWarning: line 10 looks like password\nWarning: and 20 more like these"),
        "{answer}"
    );
}

#[test]
fn a_version_has_a_bounded_number_of_warnings_and_is_redacted_all_the_same() {
    for (mode, last) in [
        ("warn", "line 100 looks like password, and 50 more like these"),
        ("redact", "line 100 looked like password and was not stored, and 50 more like these"),
    ] {
        let dir = scratch();
        let store = open(dir.path(), &format!("[guard]\nmode = \"{mode}\"\n"));
        let lines: Vec<_> = (100..250).map(|i| format!("password: Tr0ub4dor&3k{i}\n")).collect();
        let answer =
            texts(&Dispatcher::new(store.clone()), [create("/memories/a.md", &lines.concat())]).remove(0).0;
        assert!(answer.ends_with("\nWarning: and 140 more like these"), "{answer}");
        let version = store.history().unwrap().head(&memory("a.md")).unwrap().unwrap();
        assert_eq!(version.warnings.len(), memdir::MOST_WARNINGS);
        let warning = version.warnings.last().unwrap();
        assert_eq!((warning.to_string().as_str(), warning.rule.as_str()), (last, "password"));
        let text = std::fs::read_to_string(dir.path().join("memories/a.md")).unwrap();
        assert_eq!(text.contains("Tr0ub4dor"), mode == "warn");
    }
}

#[test]
fn what_comes_to_many_that_are_known_is_told() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let lines: Vec<_> = (1000..2500).map(|i| format!("password: Tr0ub4dor&3k{i}\n")).collect();
    let insert = json!({"command": "insert", "path": "/memories/a.md", "insert_line": 1500, "insert_text": "password: K-g7yZWwRBTiqU\n"});
    let calls = [create("/memories/a.md", &lines.concat()), insert];
    let answers = texts(&Dispatcher::new(store.clone()), calls);
    assert!(answers[1].0.ends_with("\nWarning: line 1501 looks like password"), "{answers:?}");
    let version = store.history().unwrap().head(&memory("a.md")).unwrap().unwrap();
    assert_eq!(version.warnings.len(), 1);
}

/// All of them have the same place in the journal.
#[test]
fn many_on_one_line_are_counted() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let line: Vec<_> = (100..250).map(|i| format!("password: Tr0ub4dor&3k{i} ")).collect();
    texts(&Dispatcher::new(store.clone()), [create("/memories/a.md", &line.concat())]);
    let version = store.history().unwrap().head(&memory("a.md")).unwrap().unwrap();
    let told: Vec<_> = version.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["line 1 looks like password, and 50 more like these"]);
}

#[test]
fn what_was_stored_before_is_restored_with_a_warning() {
    let dir = scratch();
    let store = open(dir.path(), "[guard]\nmode = \"off\"");
    let text = format!("{TOKEN}\n");
    texts(&Dispatcher::new(store.clone()), [create("/memories/a.md", &text)]);
    let version = store.history().unwrap().head(&memory("a.md")).unwrap().unwrap().id;
    texts(&Dispatcher::new(store.clone()), [json!({"command": "delete", "path": "/memories/a.md"})]);
    drop(store);
    let store = open(dir.path(), "");
    store.restore(&Restore::Version { path: memory("a.md"), version }, Others::Keep).unwrap();
    let warned: Vec<_> = store.take_warned().iter().map(|warned| warned.warning.to_string()).collect();
    assert_eq!(warned, ["line 1 looks like github-pat"]);
    assert!(matches!(store.read(&memory("a.md")).unwrap(), Found::File(_)));
}

#[test]
fn a_blocked_edit_leaves_its_copy_without_the_secret() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let draft = Draft::begin(&store, &memory("a.md")).unwrap();
    let file = draft.file().to_owned();
    std::fs::write(&file, format!("mine\n{TOKEN}\n")).unwrap();
    assert!(matches!(draft.finish(), Err(Error::Secret { line: Some(2), .. })));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine\n[redacted: github-pat]\n");
}

#[test]
fn an_edit_that_cannot_be_merged_keeps_the_rest_of_what_was_written() {
    let dir = scratch();
    let store = open(dir.path(), "[guard]\nmode = \"redact\"");
    let dispatcher = Dispatcher::new(store.clone());
    texts(&dispatcher, [create("/memories/a.md", "one\n")]);
    let draft = Draft::begin(&store, &memory("a.md")).unwrap();
    std::fs::write(draft.file(), format!("mine\n{TOKEN}\n")).unwrap();
    let theirs =
        json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "theirs"});
    texts(&dispatcher, [theirs]);
    let memdir::Edited::Conflict { mine, .. } = draft.finish().unwrap().edited else {
        panic!("it was merged")
    };
    let kept = store.history().unwrap().content(mine).unwrap();
    assert_eq!(String::from_utf8_lossy(&kept), "mine\n[redacted: github-pat]\n");
}

#[test]
fn an_import_with_a_secret_changes_nothing_however_many_files_come_before_it() {
    let dir = scratch();
    let base = dir.path().join("base");
    let store = open(&base, "");
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    for i in 0..600 {
        std::fs::write(source.join(format!("{i:03}.md")), "fine\n").unwrap();
    }
    let import = |others| import_directory(&store, &source, &memory("i"), others, &Limits::default());
    std::fs::write(source.join("599.md"), format!("one\n{TOKEN}\n")).unwrap();
    let said = format!("{:?}", import(Others::Keep).unwrap_err());
    assert!(said.starts_with("Store(Secret"), "{said}");
    std::fs::rename(source.join("599.md"), source.join("history.jsonl")).unwrap();
    assert!(import(Others::Keep).is_err());
    std::fs::remove_file(source.join("history.jsonl")).unwrap();
    std::fs::write(source.join(format!("z {TOKEN}.md")), "fine\n").unwrap();
    let said = format!("{:?}", import(Others::Keep).unwrap_err());
    assert!(said.starts_with("Store(Secret") && !said.contains(TOKEN), "{said}");
    assert!(!base.join("memories/i").exists());

    // What a person put there already is no reason to refuse it.
    std::fs::remove_file(source.join(format!("z {TOKEN}.md"))).unwrap();
    std::fs::write(source.join("599.md"), format!("one\n{TOKEN}\n")).unwrap();
    std::fs::create_dir_all(base.join("memories/i")).unwrap();
    std::fs::write(base.join("memories/i/599.md"), format!("{TOKEN}\n")).unwrap();
    let done = import(Others::Keep).unwrap();
    assert_eq!((done.written.len(), done.conflicts.len()), (599, 1));
    assert_eq!(import(Others::Overwrite).unwrap().written.len(), 1);
}

#[test]
fn the_name_of_who_opens_a_store_is_stored_without_a_secret() {
    let dir = scratch();
    let settings = Settings::parse("").unwrap();
    let actor = memdir::Actor::Agent(format!("bot {TOKEN}"));
    let store = Store::builder(dir.path()).settings(settings).actor(actor).open().unwrap();
    texts(&Dispatcher::new(store.clone()), [create("/memories/a.md", "fine\n")]);
    let version = store.history().unwrap().head(&memory("a.md")).unwrap().unwrap();
    assert_eq!(version.created_by, memdir::Actor::Agent("bot [redacted: github-pat]".to_owned()));
    drop(store);
    for (name, bytes) in bytes_of(dir.path()) {
        assert!(!holds(&bytes, TOKEN.as_bytes()), "{name}");
    }
}

/// Runs the command on a store.
#[cfg(feature = "cli")]
fn memdir(base: &Path, args: &[&str]) -> crate::process::Done {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_memdir"));
    command.args(args).args(["--dir", "."]).current_dir(base);
    command.output().unwrap().into()
}

#[cfg(feature = "cli")]
#[test]
fn a_wrong_argument_that_is_a_secret_is_not_said() {
    let dir = scratch();
    for arguments in [&["restore", "a.md", "--before", TOKEN][..], &["log", "--no", TOKEN], &[TOKEN]] {
        let done = memdir(dir.path(), arguments);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(!format!("{done:?}").contains(TOKEN), "{done:?}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn a_check_finds_what_is_there_and_says_how_to_be_rid_of_it() {
    let dir = scratch();
    let store = open(dir.path(), "[guard]\nmode = \"off\"");
    let text = format!("one\n{TOKEN}\n");
    let replace =
        json!({"command": "str_replace", "path": "/memories/a.md", "old_str": TOKEN, "new_str": ""});
    texts(
        &Dispatcher::new(store.clone()),
        [create("/memories/a.md", &text), replace, create("/memories/b.md", &text)],
    );
    drop(store);
    std::fs::write(dir.path().join("memories/c.md"), &text).unwrap();

    let done = memdir(dir.path(), &["check"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("note      /memories/c.md: line 2 looks like github-pat"), "{}", done.out);

    let done = memdir(dir.path(), &["check", "--secrets"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    for line in [
        "wrong     /memories/b.md: line 2 looks like github-pat",
        "edit the file, then `memdir redact memver_",
        "wrong     /memories/a.md: in its version memver_",
        "wrong     /memories/c.md: line 2",
        "3 things are wrong",
    ] {
        assert!(done.out.contains(line), "{line}: {}", done.out);
    }
    assert!(!format!("{done:?}").contains(TOKEN));
    let log = memdir(dir.path(), &["log"]);
    assert!(log.out.contains("      line 2 looks like github-pat"), "{}", log.out);
}

#[cfg(feature = "cli")]
#[test]
fn a_check_counts_all_and_leaves_out_what_a_rule_is_off_for() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let lines: Vec<_> = (1000..4001).map(|i| format!("password: Tr0ub4dor&3k{i}\n")).collect();
    texts(&Dispatcher::new(store), [create("/memories/a.md", &lines.concat())]);
    for (settings, is_found) in [
        ("", true),
        ("[guard]\nmode = \"off\"\n", true),
        ("[guard]\nrules = { password = \"off\" }\n", false),
        ("[guard]\nmode = \"off\"\nrules = { password = \"off\" }\n", false),
    ] {
        std::fs::write(dir.path().join("memdir.toml"), settings).unwrap();
        let done = memdir(dir.path(), &["check", "--secrets"]);
        assert_eq!(done.code, Some(i32::from(is_found)), "{settings}: {done:?}");
        assert_eq!(
            done.out.contains("line 3 looks like password, and 2998 more\n"),
            is_found,
            "{}",
            done.out
        );
    }
}

#[cfg(feature = "cli")]
#[test]
fn a_check_says_where_the_path_is_that_it_does_not_say() {
    let dir = scratch();
    let store = open(dir.path(), "[guard]\nmode = \"off\"");
    texts(&Dispatcher::new(store), [create(&format!("/memories/d/{TOKEN}.md"), "x\n")]);
    let done = memdir(dir.path(), &["check", "--secrets"]);
    assert!(
        done.out.contains("wrong     /memories/d/[redacted: github-pat].md: the path looks like"),
        "{done:?}"
    );
    assert!(done.out.contains("delete or rename the file, whose path `memdir log` shows, then"), "{done:?}");
    assert!(memdir(dir.path(), &["log"]).out.contains(TOKEN));
}

#[cfg(feature = "cli")]
#[test]
fn the_rules_are_listed_for_who_wants_one_off() {
    let dir = scratch();
    std::fs::write(dir.path().join("memdir.toml"), "[guard]\nrules = { github-path = \"off\" }\n").unwrap();
    // Also where the settings cannot be read, of which it is told there.
    let done = memdir(dir.path(), &["check", "--list-rules"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let line = |name: &str| done.out.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    assert!(line("github-pat").ends_with("  refused"));
    assert!(line("card-number").ends_with("  refused"));
    assert!(line("jwt").ends_with("  warned of"));
    assert!(line("cursor-api-key").ends_with("  refused or warned of, by its shape"));
    assert!(done.out.lines().is_sorted());
    let done = memdir(dir.path(), &["check"]);
    let words = "unknown rule `github-path`; the nearest known one is `github-pat`, and `memdir check --list-rules` lists all";
    assert!(done.err.contains(words), "{done:?}");
}

#[cfg(feature = "cli")]
#[test]
fn a_check_looks_into_what_is_in_no_history_too() {
    let dir = scratch();
    let store = open(dir.path(), "");
    texts(&Dispatcher::new(store.clone()), [create("/memories/a.md", "fine\n")]);
    // Somebody ended the command while the editor was open.
    let draft = Draft::begin(&store, &memory("a.md")).unwrap();
    std::fs::write(draft.file(), format!("one\n{TOKEN}\n")).unwrap();
    let copy = draft.keep().strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned();
    std::fs::write(dir.path().join("memories/.env"), format!("{TOKEN}\n")).unwrap();
    drop(store);
    assert_eq!(memdir(dir.path(), &["check"]).code, Some(0));
    let done = memdir(dir.path(), &["check", "--secrets"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let above = copy.rsplit_once('/').unwrap().0;
    for line in [
        "wrong     /memories/.env: line 1 looks like github-pat; it is not in the history\n".to_owned(),
        "          edit or remove the file\n".to_owned(),
        format!(
            "wrong     {copy}: line 2 looks like github-pat; a copy that `memdir edit` made has it still\n"
        ),
        format!("and remove `{above}`: nothing else clears it\n"),
        "2 things are wrong".to_owned(),
    ] {
        assert!(done.out.contains(&line), "{line}: {}", done.out);
    }
    // It is not told once more that an edit was left.
    assert!(!done.out.contains("an unfinished edit"), "{}", done.out);
    let json = memdir(dir.path(), &["check", "--secrets", "--json"]);
    let said: Value = serde_json::from_str(&json.out).unwrap();
    let places = said["findings"].as_array().unwrap().iter().filter(|found| found["kind"] == "secret");
    let places: Vec<_> = places.map(|found| found["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["/memories/.env", &copy]);
    for done in [done, json] {
        assert!(!format!("{done:?}").contains(TOKEN));
    }
}

#[test]
fn read_only_paths_are_refused_at_either_end_by_everything_that_writes() {
    let dir = scratch();
    let store = open(dir.path(), "");
    let dispatcher = Dispatcher::new(store.clone());
    texts(&dispatcher, [create("/memories/ro/a.md", "one\n"), create("/memories/b.md", "b\n")]);
    let version = store.history().unwrap().head(&memory("ro/a.md")).unwrap().unwrap();
    let replace =
        json!({"command": "str_replace", "path": "/memories/ro/a.md", "old_str": "one", "new_str": "two"});
    texts(&dispatcher, [replace]);
    drop((dispatcher, store));

    let store = open(dir.path(), "read_only = [\"/memories/ro/\"]");
    let before = bytes_of(&dir.path().join("memories"));
    let calls = [
        create("/memories/ro/new.md", "x"),
        json!({"command": "str_replace", "path": "/memories/ro/a.md", "old_str": "two", "new_str": "3"}),
        json!({"command": "insert", "path": "/memories/ro/a.md", "insert_line": 0, "insert_text": "x"}),
        json!({"command": "delete", "path": "/memories/ro/a.md"}),
        json!({"command": "delete", "path": "/memories/ro"}),
        json!({"command": "rename", "old_path": "/memories/ro/a.md", "new_path": "/memories/x.md"}),
        json!({"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/ro/b.md"}),
        json!({"command": "rename", "old_path": "/memories/ro", "new_path": "/memories/rw"}),
    ];
    for (text, is_error) in texts(&Dispatcher::new(store.clone()), calls) {
        assert!(
            is_error && text.starts_with("Error: /memories/ro") && text.ends_with(" is read-only"),
            "{text}"
        );
    }
    let is_refused = |error: &Error| matches!(error, Error::ReadOnly { .. });
    assert!(is_refused(&Draft::begin(&store, &memory("ro/a.md")).unwrap_err()));
    for what in [
        Restore::Version { path: memory("ro/a.md"), version: version.id },
        Restore::Version { path: memory("ro/other.md"), version: version.id },
        Restore::Before { path: memory("ro"), time: version.created_at },
        Restore::Change(version.change_id),
    ] {
        let error = store.restore(&what, Others::Overwrite).unwrap_err();
        assert!(is_refused(&error), "{what:?}: {error:?}");
    }
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("i.md"), "x").unwrap();
    let error =
        import_directory(&store, &source, &memory("ro"), Others::Overwrite, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    let edit = Edit::write(&memory("ro/e.md"), "x");
    let error = store.change(move |_| Ok::<_, Error>((vec![edit.clone()], ()))).unwrap_err();
    assert!(is_refused(&error));
    assert_eq!(bytes_of(&dir.path().join("memories")), before);
}
