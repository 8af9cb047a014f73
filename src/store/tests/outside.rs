//! What other programs do to the files, before a change and at any moment within one: nothing of theirs is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use super::*;
use crate::fail;

const BINARY: &[u8] = b"\xff\xfe\0 not text";

fn seed(store: &Store) {
    put(store, "a.md", "a\n").unwrap();
    put(store, "d/f.md", "d\n").unwrap();
}

#[test]
fn what_others_did_before_is_recorded_before_anything_else_happens_to_it() {
    type Case = (&'static str, fn(&World), fn(&Store), &'static [&'static str]);
    let cases: &[Case] = &[
        ("edit, edit", |w| w.write("a.md", "theirs\n"), |s| append(s, "a.md", "x").unwrap(), &["write a.md"]),
        (
            "edit, overwrite",
            |w| w.write("a.md", "theirs\n"),
            |s| put(s, "a.md", "x").unwrap(),
            &["write a.md"],
        ),
        ("edit, delete", |w| w.write("a.md", "theirs\n"), |s| remove(s, "a.md").unwrap(), &["write a.md"]),
        ("add, delete", |w| w.write("b.md", "theirs\n"), |s| remove(s, "b.md").unwrap(), &["write b.md"]),
        ("add, edit", |w| w.write("b.md", "theirs\n"), |s| append(s, "b.md", "x").unwrap(), &["write b.md"]),
        (
            "add and edit below, delete the directory",
            |w| {
                w.write("d/f.md", "theirs\n");
                w.write("d/new/g.md", "theirs, too\n");
            },
            |s| remove(s, "d").unwrap(),
            &["write d/f.md", "write d/new/g.md"],
        ),
        (
            "delete below, delete the directory",
            |w| std::fs::remove_file(w.file("d/f.md")).unwrap(),
            |s| remove(s, "d").unwrap(),
            &["delete d/f.md"],
        ),
        (
            "delete, create",
            |w| std::fs::remove_file(w.file("a.md")).unwrap(),
            |s| put(s, "a.md", "x").unwrap(),
            &["delete a.md"],
        ),
        (
            "delete, rename to its place",
            |w| std::fs::remove_file(w.file("a.md")).unwrap(),
            |s| rename(s, "d/f.md", "a.md").unwrap(),
            &["delete a.md"],
        ),
    ];
    for (name, outside, change, recorded) in cases {
        let world = World::new();
        let store = world.open();
        seed(&store);
        outside(&world);
        let theirs = world.tree();
        change(&store);
        assert_eq!(look(&store, |session| session.journal.outside()), *recorded, "{name}");
        drop(store);
        let store = world.check(&[]);
        for node in theirs.values() {
            if let Node::File(_, bytes) = node {
                world.assert_not_lost(&store, bytes);
            }
        }
    }
}

#[test]
fn an_edit_keeps_the_mode_that_somebody_gave_the_file() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    std::fs::set_permissions(world.file("a.md"), std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .unwrap();
    append(&store, "a.md", "more\n").unwrap();
    drop(store);
    world.check(&[]);
    assert_eq!(world.tree()["a.md"], Node::File(0o640, b"a\nmore\n".to_vec()));
}

/// A change, with the place that others meddle with and what was there before.
type Change = (&'static str, &'static str, fn(&Store) -> Result<()>);

const CHANGES: &[Change] = &[
    ("edit", "a.md", |s| append(s, "a.md", "more\n")),
    ("edit below", "d/f.md", |s| append(s, "d/f.md", "more\n")),
    ("create", "new.md", |s| put(s, "new.md", "new\n")),
    ("create below", "x/y/new.md", |s| put(s, "x/y/new.md", "new\n")),
    ("delete", "a.md", |s| remove(s, "a.md")),
    ("delete a directory", "d", |s| remove(s, "d")),
    ("delete a directory, meddled with below", "d/f.md", |s| remove(s, "d")),
    ("rename", "a.md", |s| rename(s, "a.md", "b.md")),
    ("rename, meddled with at the end", "b.md", |s| rename(s, "a.md", "b.md")),
    ("rename a directory", "d", |s| rename(s, "d", "e")),
    ("rename a directory, meddled with below", "d/f.md", |s| rename(s, "d", "e")),
    ("rename below new directories", "x", |s| rename(s, "d", "x/e")),
];

/// What somebody does to a place, and what of theirs must not be lost.
type Meddling = (&'static str, fn(&Path), &'static [&'static [u8]]);

const MEDDLINGS: &[Meddling] = &[
    ("write in place", |at| drop(std::fs::write(at, "theirs\n")), &[b"theirs\n"]),
    ("write as many bytes in place", |at| drop(std::fs::write(at, "t\n")), &[b"t\n"]),
    ("write what is no text", |at| drop(std::fs::write(at, BINARY)), &[BINARY]),
    (
        "replace, as editors do",
        |at| {
            let aside = at.with_extension("swp");
            if std::fs::write(&aside, "theirs\n").is_ok() && std::fs::rename(&aside, at).is_err() {
                std::fs::remove_file(&aside).unwrap();
            }
        },
        &[b"theirs\n"],
    ),
    ("remove", clear, &[]),
    (
        "put a link there",
        |at| {
            clear(at);
            let _ = std::os::unix::fs::symlink("/etc/hostname", at);
        },
        &[],
    ),
    (
        "put a directory there",
        |at| {
            clear(at);
            if std::fs::create_dir(at).is_ok() {
                std::fs::write(at.join("inner.md"), "theirs\n").unwrap();
            }
        },
        &[b"theirs\n"],
    ),
    (
        "put a FIFO there",
        |at| {
            clear(at);
            let _ = Command::new("mkfifo").arg(at).stderr(std::process::Stdio::null()).status();
        },
        &[],
    ),
    (
        "remove all around it",
        |at| {
            let parent = at.parent().unwrap();
            if parent.ends_with("memories") { clear(at) } else { clear(parent) }
        },
        &[],
    ),
];

fn clear(at: &Path) {
    if std::fs::remove_file(at).is_err() {
        let _ = std::fs::remove_dir_all(at);
    }
}

fn has_link_or_special(tree: &Tree) -> bool {
    tree.values().any(|node| matches!(node, Node::Link(_) | Node::Special))
}

/// With `MEMDIR_LONG` at every step, and not at every fourth.
#[test]
fn what_others_do_at_any_moment_of_a_change_is_not_lost() {
    let mut failures = Vec::new();
    for (change_name, place, change) in CHANGES {
        for (i, (meddling_name, meddle, theirs)) in MEDDLINGS.iter().enumerate() {
            let stride = if is_long() { 1 } else { 4 };
            for step in (i % stride..).step_by(stride) {
                let world = World::new();
                let store = world.open();
                seed(&store);
                drop(store);
                let store = world.open();
                let (at, meddle) = (world.file(place), *meddle);
                let happened = std::rc::Rc::new(std::cell::RefCell::new(None));
                let note_it = std::rc::Rc::clone(&happened);
                let root = world.base().join("memories");
                fail::interfere_after(step, move || {
                    let see = || {
                        let mut tree = Tree::new();
                        note(&root, String::new(), &mut tree);
                        tree
                    };
                    let before = see();
                    meddle(&at);
                    *note_it.borrow_mut() = Some((before, see()));
                });
                let result = change(&store);
                if fail::was_left_alone() {
                    assert!(result.is_ok());
                    break;
                }
                let was_unknown = matches!(result, Err(Error::Unknown { .. }));
                drop(store);
                let case = || {
                    let (before, after) = happened.borrow_mut().take().unwrap();
                    let is_done = before != after;
                    let store = world.check(&[
                        "a.md",
                        "b.md",
                        "d/f.md",
                        "e/f.md",
                        "new.md",
                        "x/y/new.md",
                        "x/e/f.md",
                    ]);
                    if is_done {
                        theirs
                            .iter()
                            .filter(|bytes| {
                                after.values().any(|node| matches!(node, Node::File(_, b) if b == *bytes))
                            })
                            .for_each(|bytes| world.assert_not_lost(&store, bytes));
                    }
                    let host = std::fs::read("/etc/hostname").unwrap_or_default();
                    let copied = |node: &Node| matches!(node, Node::File(_, bytes) if *bytes == host && !host.is_empty());
                    assert!(!world.tree().values().any(copied), "a link was followed");
                    // A directory, a link or a FIFO that came in between stays, but where a removal met it before it looked.
                    if is_done && result.is_err() && has_link_or_special(&after) {
                        assert!(has_link_or_special(&world.tree()), "what came in between is gone");
                    }
                    assert!(
                        !was_unknown || !theirs.is_empty() || is_done,
                        "nobody meddled, and the outcome is unknown"
                    );
                    for bytes in [b"a\n", b"d\n"] {
                        world.assert_not_lost(&store, bytes);
                    }
                };
                if catch_unwind(AssertUnwindSafe(case)).is_err() {
                    failures.push(format!("{change_name}; {meddling_name} at step {step}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The decision itself stands for somebody who changes the file after it was read.
#[test]
fn a_file_that_changes_after_it_was_read_gets_the_right_answer() {
    type Case = (&'static str, &'static str, fn(&Path), fn(&Result<()>) -> bool);
    let cases: &[Case] = &[
        ("written", "a.md", |at| std::fs::write(at, "theirs\n").unwrap(), |r| r.is_ok()),
        (
            "replaced",
            "a.md",
            |at| {
                std::fs::write(at.with_extension("swp"), "theirs\n").unwrap();
                std::fs::rename(at.with_extension("swp"), at).unwrap();
            },
            |r| r.is_ok(),
        ),
        ("removed", "a.md", clear, |r| matches!(r, Err(Error::Missing { .. }))),
        (
            "a link",
            "a.md",
            |at| {
                clear(at);
                std::os::unix::fs::symlink("/etc/hostname", at).unwrap();
            },
            |r| matches!(r, Err(Error::Link { .. })),
        ),
        (
            "a directory",
            "a.md",
            |at| {
                clear(at);
                std::fs::create_dir(at).unwrap();
            },
            |r| matches!(r, Err(Error::Exists { .. } | Error::Unsupported { .. })),
        ),
        (
            "a FIFO",
            "a.md",
            |at| {
                clear(at);
                assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
            },
            |r| matches!(r, Err(Error::Unsupported { .. })),
        ),
        (
            "made",
            "new.md",
            |at| std::fs::write(at, "theirs\n").unwrap(),
            |r| matches!(r, Err(Error::Exists { .. })),
        ),
        (
            "a directory made",
            "new.md",
            |at| std::fs::create_dir(at).unwrap(),
            |r| matches!(r, Err(Error::Exists { .. })),
        ),
    ];
    for (name, at, meddle, is_right) in cases {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let (place, file, meddle) = (path(at), world.file(at), *meddle);
        let mut is_first = true;
        let result = store.change(move |snapshot| {
            snapshot.read(&place)?;
            if std::mem::take(&mut is_first) {
                meddle(&file);
            }
            Ok((vec![Edit::Write { path: place.clone(), bytes: b"ours\n"[..].to_vec().into() }], ()))
        });
        assert!(is_right(&result), "{name}: {result:?}");
        drop(store);
        let store = world.check(&["a.md"]);
        world.assert_not_lost(&store, b"a\n");
        if matches!(*name, "written" | "replaced" | "made") {
            world.assert_not_lost(&store, b"theirs\n");
        }
        if result.is_err() && *name == "made" {
            assert_eq!(world.read("new.md").unwrap(), b"theirs\n");
        }
    }
}

#[test]
fn that_all_memories_are_gone_is_recorded_whatever_becomes_of_the_change_that_finds_it() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    std::fs::remove_dir_all(world.base().join("memories")).unwrap();
    let too_large = vec![b'x'; 3 << 20];
    assert!(matches!(put(&store, "big.md", too_large), Err(Error::TooLarge { .. })));
    put(&store, "new.md", "new\n").unwrap();
    assert_eq!(look(&store, |session| session.journal.outside()), ["delete a.md", "delete d/f.md"]);
    drop(store);
    world.check(&[]);
}

#[test]
fn memories_may_go_at_any_moment_of_a_change() {
    let at = ["a.md", "b.md", "d/f.md", "e/f.md", "new.md", "x/y/new.md", "x/e/f.md"];
    for ((.., change), is_gone) in CHANGES.iter().flat_map(|change| [(change, false), (change, true)]) {
        for step in 0.. {
            let world = World::new();
            let store = world.open();
            seed(&store);
            let root = world.base().join("memories");
            if is_gone {
                clear(&root);
            }
            fail::interfere_after(step, move || clear(&root));
            let _ = change(&store);
            if fail::was_left_alone() {
                break;
            }
            drop(store);
            world.check(&at);
        }
    }
}

/// What a change displaced stays in `staging/` when it could not be recorded, until a later recovery looks at it.
#[test]
fn a_displaced_edit_that_could_not_be_recorded_is_found_later() {
    let mut displaced = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        seed(&store);
        drop(store);
        let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON change WHEN NEW.reason IS NOT NULL
            BEGIN SELECT RAISE(ABORT, 'no'); END";
        verify::forge(&world.room("journal.db"), trigger);
        let store = world.open();
        let at = world.file("a.md");
        fail::interfere_after(step, move || std::fs::write(at, "theirs\n").unwrap());
        append(&store, "a.md", "more\n").unwrap();
        if fail::was_left_alone() {
            break;
        }
        displaced += usize::from(store.take_warning().is_some());
        put(&store, "b.md", "b\n").unwrap();
        remove(&store, "d").unwrap();
        drop(store);
        verify::forge(&world.room("journal.db"), "DROP TRIGGER refuse");
        world.reboot();
        let store = world.check(&["a.md"]);
        world.assert_not_lost(&store, b"theirs\n");
    }
    assert!(displaced > 0, "it was always recorded");
}
