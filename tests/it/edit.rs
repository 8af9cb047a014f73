//! A memory edited by hand while an agent writes to it.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use memdir::{Dispatcher, Draft, Edited, Error, MemoryPath, Settings, Store, ToolUse};
use serde_json::{Value, json};

fn memory(path: &str) -> MemoryPath {
    MemoryPath::parse(&format!("/memories/{path}")).unwrap()
}

/// A call of the tool; whether it was answered without an error.
fn call(store: &Store, input: &Value) -> bool {
    let call: ToolUse =
        serde_json::from_value(json!({"type": "tool_use", "id": "t", "name": "memory", "input": input}))
            .unwrap();
    !Dispatcher::new(store.clone()).run(&call).is_error
}

fn create(store: &Store, path: &str, text: &str) {
    assert!(call(
        store,
        &json!({"command": "create", "path": format!("/memories/{path}"), "file_text": text})
    ));
}

struct World {
    dir: tempfile::TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Self { dir, store }
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join("memories").join(path)).unwrap()
    }

    fn copies(&self) -> usize {
        std::fs::read_dir(self.dir.path().join(".memdir/edits")).unwrap().count()
    }
}

#[test]
fn a_copy_is_private_and_goes_once_its_text_is_safe() {
    let world = World::new();
    create(&world.store, "notes/base", "one\n");
    let draft = Draft::begin(&world.store, &memory("notes/base")).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = draft.file().parent().unwrap().to_owned();
    assert!(directory.starts_with(world.dir.path().join(".memdir/edits")));
    assert_eq!(draft.file().file_name().unwrap(), "base");
    assert_eq!(
        (mode(draft.file()), mode(&directory), mode(directory.parent().unwrap())),
        (0o600, 0o700, 0o700)
    );
    assert_eq!(std::fs::read_to_string(draft.file()).unwrap(), "one\n");
    assert_eq!(std::fs::read_to_string(directory.join("base.orig")).unwrap(), "one\n");
    assert!(!draft.is_changed().unwrap());
    // As editors do it: another file takes its name, a backup stays beside it.
    std::fs::rename(draft.file(), directory.join("base~")).unwrap();
    std::fs::write(draft.file(), "two\n").unwrap();
    assert!(draft.is_changed().unwrap());
    assert_eq!(draft.finish().unwrap().edited, Edited::Written);
    assert_eq!(world.text("notes/base"), "two\n");
    assert_eq!(world.copies(), 0);
}

#[test]
fn a_missing_memory_begins_empty_and_is_made_only_with_a_text() {
    let world = World::new();
    let draft = Draft::begin(&world.store, &memory("d/new.md")).unwrap();
    assert_eq!(std::fs::read_to_string(draft.file()).unwrap(), "");
    assert_eq!(draft.finish().unwrap().edited, Edited::Unchanged);
    assert!(!world.dir.path().join("memories/d").exists());
    let draft = Draft::begin(&world.store, &memory("d/new.md")).unwrap();
    std::fs::write(draft.file(), "new\n").unwrap();
    assert_eq!(draft.finish().unwrap().edited, Edited::Written);
    assert_eq!(world.text("d/new.md"), "new\n");
    assert_eq!(world.copies(), 0);
}

#[test]
fn what_cannot_be_edited_is_refused_before_an_editor_opens() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.read_only = vec![memory("policies")];
    let store = Store::builder(dir.path()).settings(settings).open().unwrap();
    create(&store, "d/a.md", "a");
    let memories = dir.path().join("memories");
    std::fs::write(memories.join("binary"), [255]).unwrap();
    std::os::unix::fs::symlink("binary", memories.join("link")).unwrap();
    let begin = |path: &str| Draft::begin(&store, &memory(path)).unwrap_err();
    assert!(matches!(begin("binary"), Error::NotText { .. }));
    assert!(matches!(begin("link"), Error::Link { .. }));
    assert!(matches!(begin("d"), Error::Unsupported { .. }));
    assert!(matches!(begin(""), Error::ReadOnly { .. }), "something in it is");
    assert!(matches!(begin("d/a.md/b"), Error::BelowFile { .. }));
    assert!(matches!(begin(".hidden"), Error::Hidden { .. }));
    assert!(matches!(begin("policies/a.md"), Error::ReadOnly { .. }));
    assert!(!dir.path().join(".memdir/edits").exists());
}

#[test]
fn a_copy_that_cannot_be_put_back_stays() {
    let world = World::new();
    create(&world.store, "a.md", "one\n");
    let begin = || Draft::begin(&world.store, &memory("a.md")).unwrap();

    let draft = begin();
    std::fs::write(draft.file(), [b'x', 255]).unwrap();
    assert!(matches!(draft.is_changed(), Err(Error::NotText { .. })));
    let file = draft.file().to_owned();
    assert!(matches!(draft.finish(), Err(Error::NotText { .. })));
    assert_eq!(std::fs::read(file).unwrap(), [b'x', 255]);

    let draft = begin();
    std::fs::File::create(draft.file()).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(draft.finish(), Err(Error::TooLarge { size, .. }) if size == 1 << 40));

    let draft = begin();
    std::fs::remove_file(draft.file()).unwrap();
    assert!(matches!(draft.is_changed(), Err(Error::Read { .. })));
    assert!(matches!(draft.finish(), Err(Error::Read { .. })));

    let draft = begin();
    std::fs::remove_file(draft.file()).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", draft.file()).unwrap();
    assert!(matches!(draft.finish(), Err(Error::Read { .. })));

    let draft = begin();
    std::fs::write(draft.file(), "kept\n").unwrap();
    assert_eq!(std::fs::read_to_string(draft.keep()).unwrap(), "kept\n");

    assert_eq!(world.text("a.md"), "one\n");
    assert_eq!(world.copies(), 5);
}

#[test]
fn where_edits_meet_the_memory_stays_and_both_texts_are_shown() {
    let world = World::new();
    create(&world.store, "a.md", "one\ntwo\n");
    let draft = Draft::begin(&world.store, &memory("a.md")).unwrap();
    std::fs::write(draft.file(), "one\nmine\n").unwrap();
    let replace =
        json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": "theirs"});
    assert!(call(&world.store, &replace));
    let edited = draft.finish().unwrap().edited;
    let Edited::Conflict { mine, both } = edited else { panic!("{edited:?}") };
    assert_eq!(both, "one\n<<<<<<< the memory now\ntheirs\n=======\nmine\n>>>>>>> your edit\n");
    assert_eq!(world.text("a.md"), "one\ntheirs\n");
    assert_eq!(world.store.history().unwrap().content(mine).unwrap().as_slice(), b"one\nmine\n");
    assert_eq!(world.copies(), 0);
}

/// An agent adds lines at the top of the file, a person at the end, and both change the line in the middle.
#[test]
fn no_line_is_lost_when_an_agent_writes_while_a_person_edits() {
    let world = World::new();
    create(&world.store, "a.md", "top\n\nmiddle\n\nend\n");
    let is_over = AtomicBool::new(false);
    let (mut conflicts, mut merges, mut written) = (0, 0, Vec::new());
    let added = std::thread::scope(|threads| {
        let agent = threads.spawn(|| {
            let mut added = Vec::new();
            for n in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let line = format!("agent {n}");
                let insert =
                    json!({"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": format!("{line}\n")});
                if call(&world.store, &insert) {
                    added.push(line);
                }
                if n % 3 == 0 {
                    // It may have been changed by the person just now.
                    let text = world.text("a.md");
                    let middle = text.lines().find(|line| line.starts_with("middle")).unwrap();
                    call(
                        &world.store,
                        &json!({"command": "str_replace", "path": "/memories/a.md", "old_str": format!("\n{middle}\n"), "new_str": format!("\nmiddle by agent {n}\n")}),
                    );
                }
            }
            added
        });
        for n in 0..60 {
            let draft = Draft::begin(&world.store, &memory("a.md")).unwrap();
            let mut text = std::fs::read_to_string(draft.file()).unwrap();
            while n % 2 == 0 && world.text("a.md") == text {
                std::thread::yield_now();
            }
            let line = format!("person {n}");
            text.extend([&*line, "\n"]);
            if n % 4 == 0 {
                let middle = text.lines().find(|line| line.starts_with("middle")).unwrap().to_owned();
                text = text.replace(&format!("\n{middle}\n"), &format!("\nmiddle by person {n}\n"));
            }
            std::fs::write(draft.file(), &text).unwrap();
            match draft.finish().unwrap().edited {
                Edited::Conflict { mine, both } => {
                    conflicts += 1;
                    let kept = world.store.history().unwrap().content(mine).unwrap();
                    let kept = str::from_utf8(&kept).unwrap();
                    assert!(kept.contains(&format!("{line}\n")) && !kept.contains("<<<<<<<"), "{kept}");
                    assert!(both.contains(&format!("{line}\n")));
                }
                Edited::Merged => {
                    merges += 1;
                    written.push(line);
                }
                Edited::Written => written.push(line),
                other => panic!("{other:?}"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        agent.join().unwrap()
    });
    let text = world.text("a.md");
    for line in added.iter().chain(&written) {
        assert_eq!(text.lines().filter(|found| found == line).count(), 1, "{line} in {text}");
    }
    assert!(!text.contains("<<<<<<<"));
    assert!(merges > 0, "{conflicts} conflicts, {} written", written.len());
    assert_eq!(world.copies(), 0);
}
