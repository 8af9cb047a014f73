//! Many at once: threads on one store, stores on one directory, processes. Whatever they do, it is as if one call came
//! after the other.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use camino::Utf8Path;
use memdir::{Content, Dispatcher, Error, Settings, Store, ToolUse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model::answers::{Limits, Said, answer};
use crate::model::files::Files;
use crate::model::look;
use crate::process::{feed, memdir, start};

const LIMITS: Limits = Limits { file: 1 << 20, view: 16_000 };
const BUSY: &str = "Error: The memory directory is busy, try again";

/// A store whose lock is waited for as long as a slow machine needs.
fn scratch() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("memdir.toml"), "lock_wait = \"5m\"\n").unwrap();
    dir
}

fn open(dir: &TempDir) -> Dispatcher {
    Dispatcher::new(Store::open(Utf8Path::from_path(dir.path()).unwrap()).unwrap())
}

fn run(dispatcher: &Dispatcher, input: &Value) -> Said {
    let call = ToolUse { id: String::new(), name: "memory".to_owned(), input: input.clone() };
    let result = dispatcher.run(&call);
    match (result.content, result.is_error) {
        (Content::Text(text), false) => Ok(text),
        (Content::Text(text), true) => Err(text),
        (Content::Blocks(_), _) => panic!("no image was asked for"),
    }
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn insert(line: usize, text: &str) -> Value {
    json!({"command": "insert", "path": "/memories/log.md", "insert_line": line, "insert_text": text})
}

fn rename(from: &str, to: &str) -> Value {
    json!({"command": "rename", "old_path": from, "new_path": to})
}

fn delete(path: &str) -> Value {
    json!({"command": "delete", "path": path})
}

fn to_lines(calls: impl IntoIterator<Item = Value>) -> String {
    calls.into_iter().map(|call| call.to_string()).collect::<Vec<_>>().join("\n")
}

/// A process that answers line by line.
struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    fn start(dir: &Path) -> Self {
        let mut child = start(&mut memdir(dir, ["call", "--dir", "."]));
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    fn tell(&mut self, input: &Value) {
        self.stdin.write_all(format!("{input}\n").as_bytes()).unwrap();
    }

    fn hear(&mut self) -> Said {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let text = answer["content"].as_str().unwrap().to_owned();
        if answer["is_error"] == true { Err(text) } else { Ok(text) }
    }

    fn run(&mut self, input: &Value) -> Said {
        self.tell(input);
        self.hear()
    }

    fn end(mut self) {
        drop(self.stdin);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

// Inserts

#[test]
fn inserts_from_many_processes_are_all_there() {
    let dir = scratch();
    run(&open(&dir), &create("/memories/log.md", "")).unwrap();
    thread::scope(|scope| {
        for who in 0..8 {
            let dir = dir.path();
            scope.spawn(move || {
                let input = to_lines((0..100).map(|n| insert(0, &format!("{who}: {n}"))));
                let done = feed(&mut memdir(dir, ["call", "--dir", "."]), input);
                assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
                assert_eq!(done.out.matches("has been edited.").count(), 100, "{}", done.out);
            });
        }
    });
    every_line_is_there_once(&dir, 8);
}

#[test]
fn inserts_from_many_threads_of_one_store_are_all_there() {
    let dir = scratch();
    let dispatcher = open(&dir);
    insert_from_threads(&dir, |_| dispatcher.clone());
}

#[test]
fn inserts_from_many_stores_on_one_directory_are_all_there() {
    let dir = scratch();
    insert_from_threads(&dir, |_| open(&dir));
}

fn insert_from_threads(dir: &TempDir, dispatcher: impl Fn(usize) -> Dispatcher + Sync) {
    run(&dispatcher(0), &create("/memories/log.md", "")).unwrap();
    thread::scope(|scope| {
        for who in 0..16 {
            let dispatcher = dispatcher(who);
            scope.spawn(move || {
                for n in 0..100 {
                    run(&dispatcher, &insert(0, &format!("{who}: {n}"))).unwrap();
                }
            });
        }
    });
    every_line_is_there_once(dir, 16);
}

fn every_line_is_there_once(dir: &TempDir, writers: usize) {
    let text = fs::read_to_string(dir.path().join("memories/log.md")).unwrap();
    let right: BTreeSet<String> =
        (0..writers).flat_map(|who| (0..100).map(move |n| format!("{who}: {n}"))).collect();
    assert_eq!(text.lines().map(str::to_owned).collect::<BTreeSet<_>>(), right);
    assert_eq!(text.lines().count(), right.len());
    // Each writer's lines are in the order in which it wrote them: the newest is on top.
    for who in 0..writers {
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with(&format!("{who}: "))).collect();
        let right: Vec<_> = (0..100).rev().map(|n| format!("{who}: {n}")).collect();
        assert_eq!(lines, right);
    }
}

#[test]
fn a_batch_may_edit_one_file_many_times() {
    let dir = scratch();
    let calls = [
        create("/memories/log.md", "one\n"),
        insert(1, "two"),
        json!({"command": "str_replace", "path": "/memories/log.md", "old_str": "two", "new_str": "three"}),
        create("/memories/log.md", "refused"),
        delete("/memories/log.md"),
        insert(0, "refused"),
        create("/memories/log.md", "four\n"),
        rename("/memories/log.md", "/memories/new/log.md"),
        create("/memories/log.md", "five\n"),
        insert(1, "six"),
        insert(3, "refused"),
        delete("/memories/new"),
    ];
    let mut files = Files::default();
    let right: Vec<Said> = calls.iter().map(|call| answer(&mut files, call, LIMITS)).collect();
    let lines = to_lines(calls);
    let done = feed(&mut memdir(dir.path(), ["call", "--dir", "."]), lines);
    let said: Vec<Said> = done
        .out
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            let text = answer["content"].as_str().unwrap().to_owned();
            if answer["is_error"] == true { Err(text) } else { Ok(text) }
        })
        .collect();
    assert_eq!(said, right);
    assert_eq!(look(&dir.path().join("memories")), files);
    assert_eq!(fs::read_to_string(dir.path().join("memories/log.md")).unwrap(), "five\nsix\n");
}

// Calls that meet

/// Files that are there before, and two calls that come at the same time.
fn meetings() -> Vec<(&'static [&'static str], [Value; 2])> {
    let append =
        |path: &str| json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "more"});
    vec![
        (&[], [create("/memories/a", "one"), create("/memories/a", "two")]),
        (&[], [create("/memories/d/a", "one"), create("/memories/d/b", "two")]),
        (&[], [create("/memories/d", "one"), create("/memories/d/b", "two")]),
        (&["a", "b"], [rename("/memories/a", "/memories/c"), rename("/memories/b", "/memories/c")]),
        (&["a", "b"], [rename("/memories/a", "/memories/n/m/c"), rename("/memories/b", "/memories/n/m/d")]),
        (&["a"], [rename("/memories/a", "/memories/b"), rename("/memories/b", "/memories/a")]),
        (&["a"], [rename("/memories/a", "/memories/b"), rename("/memories/a", "/memories/c")]),
        (&["a"], [rename("/memories/a", "/memories/b"), delete("/memories/a")]),
        (&["a"], [rename("/memories/a", "/memories/b"), delete("/memories/b")]),
        (&["a"], [rename("/memories/a", "/memories/b"), create("/memories/b", "new")]),
        (&["a"], [rename("/memories/a", "/memories/b"), create("/memories/a", "new")]),
        (&["a"], [rename("/memories/a", "/memories/b"), append("/memories/a")]),
        (&["a"], [delete("/memories/a"), append("/memories/a")]),
        (&["a"], [append("/memories/a"), append("/memories/a")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), create("/memories/d/b", "new")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), create("/memories/e/b", "new")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), append("/memories/d/a")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), append("/memories/e/a")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), delete("/memories/d/a")]),
        (&["d/a"], [rename("/memories/d", "/memories/e"), rename("/memories/d/a", "/memories/a")]),
        (&["d/a", "e/b"], [rename("/memories/d", "/memories/e/d"), rename("/memories/e", "/memories/d/e")]),
        (&["d/a"], [delete("/memories/d"), create("/memories/d/b", "new")]),
        (&["d/a"], [delete("/memories/d"), append("/memories/d/a")]),
        (&["d/a"], [delete("/memories/d"), delete("/memories/d/a")]),
        (&["d/a"], [delete("/memories/d"), delete("/memories/d")]),
        (&["d/a", "b"], [delete("/memories/d"), rename("/memories/b", "/memories/d/b")]),
    ]
}

/// Lets both calls come at the same time, in one of the ways there are, and says what was answered.
type Meet<'a> = &'a mut dyn FnMut(&[Value; 2]) -> [Said; 2];

fn meet(dir: &TempDir, rounds: usize, both: Meet) {
    let dispatcher = open(dir);
    let root = dir.path().join("memories");
    for (there, calls) in meetings() {
        for _ in 0..rounds {
            for entry in fs::read_dir(&root).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                run(&dispatcher, &delete(&format!("/memories/{name}"))).unwrap();
            }
            for path in there {
                run(&dispatcher, &create(&format!("/memories/{path}"), path)).unwrap();
            }
            let before = look(&root);
            let said = both(&calls);
            let after = (look(&root), said);
            let serial = |order: [usize; 2]| {
                let mut files = before.clone();
                let mut right = [const { Err(String::new()) }; 2];
                for i in order {
                    right[i] = answer(&mut files, &calls[i], LIMITS);
                }
                (files, right)
            };
            assert!(
                after == serial([0, 1]) || after == serial([1, 0]),
                "{there:?} {calls:#?}: {after:#?} is no order of the two"
            );
        }
    }
}

fn at_once(dispatchers: [&Dispatcher; 2], calls: &[Value; 2]) -> [Said; 2] {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let run = |i: usize| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                run(dispatchers[i], &calls[i])
            }
        };
        let (one, two) = (scope.spawn(run(0)), scope.spawn(run(1)));
        [one.join().unwrap(), two.join().unwrap()]
    })
}

#[test]
fn calls_that_meet_on_one_store_come_one_after_the_other() {
    let dir = scratch();
    let dispatcher = open(&dir);
    meet(&dir, 8, &mut |calls| at_once([&dispatcher, &dispatcher], calls));
}

#[test]
fn calls_that_meet_on_two_stores_come_one_after_the_other() {
    let dir = scratch();
    let (one, two) = (open(&dir), open(&dir));
    meet(&dir, 8, &mut |calls| at_once([&one, &two], calls));
}

#[test]
fn calls_that_meet_from_two_processes_come_one_after_the_other() {
    let dir = scratch();
    let (mut one, mut two) = (Process::start(dir.path()), Process::start(dir.path()));
    meet(&dir, 8, &mut |calls| {
        one.tell(&calls[0]);
        two.tell(&calls[1]);
        [one.hear(), two.hear()]
    });
    one.end();
    two.end();
}

#[test]
fn of_many_who_create_one_path_exactly_one_wins() {
    let dir = scratch();
    let mut processes: Vec<Process> = (0..2).map(|_| Process::start(dir.path())).collect();
    let shared = open(&dir);
    let dispatchers = [shared.clone(), shared, open(&dir), open(&dir)];
    for round in 0..60 {
        let path = format!("/memories/{}/{round}.md", round / 3);
        let text = |who: usize| format!("written by {who}");
        for (who, process) in processes.iter_mut().enumerate() {
            process.tell(&create(&path, &text(who)));
        }
        let mut said: Vec<Said> = thread::scope(|scope| {
            let (path, text) = (&path, &text);
            let race = |(i, dispatcher)| scope.spawn(move || run(dispatcher, &create(path, &text(2 + i))));
            let running: Vec<_> = dispatchers.iter().enumerate().map(race).collect();
            running.into_iter().map(|running| running.join().unwrap()).collect()
        });
        said.splice(0..0, processes.iter_mut().map(Process::hear));
        let winners: Vec<usize> = (0..said.len()).filter(|&who| said[who].is_ok()).collect();
        let [winner] = winners[..] else { panic!("{round}: {said:?}") };
        let file = dir.path().join(path.trim_start_matches('/'));
        assert_eq!(fs::read_to_string(file).unwrap(), text(winner));
        let lost = Err(format!("Error: File {path} already exists"));
        assert!(said.iter().enumerate().all(|(who, said)| who == winner || *said == lost), "{said:?}");
    }
    processes.into_iter().for_each(Process::end);
}

// Readers

#[test]
fn a_reader_sees_every_file_whole_while_it_is_edited() {
    let dir = scratch();
    let dispatcher = open(&dir);
    let text = |n: usize| format!("{n}\n{}", format!("{}\n", n % 10).repeat(20_000));
    let is_whole =
        |seen: &str| seen.lines().next().and_then(|n| n.parse().ok()).is_some_and(|n| text(n) == seen);
    run(&dispatcher, &create("/memories/log.md", &text(0))).unwrap();
    run(&dispatcher, &create("/memories/small.md", "small")).unwrap();
    let over = AtomicBool::new(false);
    let is_over = || over.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let (is_over, dir) = (&is_over, &dir);
        scope.spawn(move || {
            while !is_over() {
                let seen = fs::read_to_string(dir.path().join("memories/log.md")).unwrap();
                assert!(is_whole(&seen), "{} bytes", seen.len());
            }
        });
        let reader = open(dir);
        scope.spawn(move || {
            let ends = json!({"command": "view", "path": "/memories/log.md", "view_range": [1, 2]});
            let list = json!({"command": "view", "path": "/memories"});
            while !is_over() {
                let view = run(&reader, &ends).unwrap();
                let digits: Vec<_> = view.lines().skip(1).map(|line| line.chars().last()).collect();
                assert_eq!(digits[0], digits[1], "{view}");
                let list = run(&reader, &list).unwrap();
                assert!(list.contains("\t/memories/log.md"), "{list}");
            }
        });
        let mut process = Process::start(dir.path());
        scope.spawn(move || {
            while !is_over() {
                process.run(&json!({"command": "view", "path": "/memories/log.md"})).unwrap();
            }
            process.end();
        });
        for n in 1..100 {
            let edit = json!({
                "command": "str_replace", "path": "/memories/log.md", "old_str": text(n - 1), "new_str": text(n),
            });
            run(&dispatcher, &edit).unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
}

// The lock

#[test]
fn who_cannot_get_the_lock_is_told_that_it_is_busy_and_reads_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("memdir.toml"), "lock_wait = \"200ms\"\n").unwrap();
    run(&open(&dir), &create("/memories/a", "text")).unwrap();
    let mut process = Process::start(dir.path());
    let store = Store::open(Utf8Path::from_path(dir.path()).unwrap()).unwrap();
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
    let refused = Err(BUSY.to_owned());
    assert_eq!(process.run(&create("/memories/b", "")), refused);
    assert_eq!(process.run(&delete("/memories/a")), refused);
    assert!(process.run(&json!({"command": "view", "path": "/memories/a"})).unwrap().ends_with("\ttext"));
    assert!(process.run(&json!({"command": "view", "path": "/memories"})).unwrap().ends_with("/a"));
    release.send(()).unwrap();
    holder.join().unwrap().unwrap();
    assert!(process.run(&create("/memories/b", "")).is_ok());
    process.end();
}

#[test]
fn a_decision_that_panics_harms_nobody_else() {
    let dir = scratch();
    let mut settings = Settings::default();
    settings.lock_wait = Duration::from_secs(300);
    let base = Utf8Path::from_path(dir.path()).unwrap();
    let store = Store::builder(base).settings(settings).open().unwrap();
    let dispatcher = Dispatcher::new(store.clone());
    run(&dispatcher, &create("/memories/log.md", "")).unwrap();
    thread::scope(|scope| {
        for who in 0..4 {
            let (store, dispatcher) = (store.clone(), dispatcher.clone());
            scope.spawn(move || {
                for n in 0..20 {
                    let store = std::panic::AssertUnwindSafe(&store);
                    let panic = std::panic::catch_unwind(|| {
                        store.change::<(), Error, _>(|_| std::panic::resume_unwind(Box::new("a decision")))
                    });
                    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"a decision"));
                    run(&dispatcher, &insert(0, &format!("{who}: {n}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(dir.path().join("memories/log.md")).unwrap().lines().count(), 80);
}

#[test]
fn a_decision_that_changes_its_own_store_panics_and_does_not_wait_for_itself() {
    let dir = scratch();
    let store = Store::open(dir.path()).unwrap();
    let again = store.clone();
    let nested = move || {
        store.change::<(), Error, _>(move |_| {
            again.change::<(), Error, _>(|_| Ok((Vec::new(), ())))?;
            Ok((Vec::new(), ()))
        })
    };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(nested)).unwrap_err();
    let text = panic.downcast_ref::<&str>().copied().unwrap_or_default();
    assert_eq!(text, "a decision must not change the store that it decides for");
}

#[test]
fn memories_may_be_removed_under_a_running_process() {
    let dir = scratch();
    let root = dir.path().join("memories");
    let mut process = Process::start(dir.path());
    let empty = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories";
    let view = json!({"command": "view", "path": "/memories"});
    for round in 0..3 {
        process.run(&create("/memories/d/log.md", "old")).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(process.run(&view).as_deref(), Ok(empty));
        assert_eq!(
            process.run(&delete("/memories/d")),
            Err("Error: The path /memories/d does not exist".to_owned())
        );
        assert!(!root.exists(), "a call that fails makes nothing");
        process.run(&create("/memories/new.md", "new")).unwrap();
        assert_eq!(look(&root).things.len(), 1, "round {round}: nothing comes back");
        process.run(&delete("/memories/new.md")).unwrap();
    }
    process.end();
}
