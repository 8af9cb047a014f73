//! What others did to the files is taken in by a look: edits, additions, deletions, and renames under the memory's id.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use super::crash::{Failures, mend};
use super::*;
use crate::fail;
use crate::store::{Absorbed, Settings};
use crate::version::Log;

const BINARY: &[u8] = b"\xff\xfe\0 not text";

fn seed(store: &Store) {
    put(store, "a.md", "a\n").unwrap();
    put(store, "d/f.md", "f\n").unwrap();
    put(store, "d/sub/g.md", "g\n").unwrap();
    put(store, "empty.md", "").unwrap();
}

fn absorb(store: &Store, at: &str) -> Absorbed {
    store.absorb(&path(at)).unwrap()
}

/// The number of the memory that lives at a path.
fn memory(store: &Store, at: &str) -> Option<i64> {
    look(store, |session| session.journal.head(at).unwrap().map(|head| head.memory))
}

fn last_change(store: &Store) -> u64 {
    look(store, |session| session.journal.last_change().unwrap())
}

fn mv(world: &World, from: &str, to: &str) {
    std::fs::create_dir_all(world.file(to).parent().unwrap()).unwrap();
    std::fs::rename(world.file(from), world.file(to)).unwrap();
}

#[test]
fn what_others_did_is_recorded_by_a_look() {
    type Case = (&'static str, fn(&World), &'static [&'static str]);
    let cases: &[Case] = &[
        ("nothing", |_| (), &[]),
        ("edit", |w| w.write("a.md", "theirs\n"), &["write a.md"]),
        ("edit, as long as it was", |w| w.write("a.md", "b\n"), &["write a.md"]),
        ("add", |w| w.write("x/new.md", "theirs\n"), &["write x/new.md"]),
        ("add what is empty", |w| w.write("void.md", ""), &["write void.md"]),
        ("add what is no text", |w| w.write("p.png", BINARY), &["write p.png"]),
        ("delete", |w| std::fs::remove_file(w.file("a.md")).unwrap(), &["delete a.md"]),
        (
            "delete a directory",
            |w| std::fs::remove_dir_all(w.file("d")).unwrap(),
            &["delete d/f.md", "delete d/sub/g.md"],
        ),
        ("rename", |w| mv(w, "a.md", "x/b.md"), &["write x/b.md"]),
        ("rename a directory", |w| mv(w, "d", "e"), &["write e/f.md", "write e/sub/g.md"]),
        ("rename what is empty", |w| mv(w, "empty.md", "void.md"), &["delete empty.md", "write void.md"]),
        (
            "rename and edit",
            |w| {
                mv(w, "a.md", "b.md");
                w.write("b.md", "theirs\n");
            },
            &["delete a.md", "write b.md"],
        ),
        ("copy", |w| drop(std::fs::copy(w.file("a.md"), w.file("b.md"))), &["write b.md"]),
        (
            "put a link in its place",
            |w| {
                std::fs::remove_file(w.file("a.md")).unwrap();
                std::os::unix::fs::symlink("d/f.md", w.file("a.md")).unwrap();
            },
            &["delete a.md"],
        ),
        (
            "put a link in a directory's place",
            |w| {
                mv(w, "d", "../elsewhere");
                std::os::unix::fs::symlink("../elsewhere", w.file("d")).unwrap();
            },
            &["delete d/f.md", "delete d/sub/g.md"],
        ),
        (
            "put a directory in a file's place",
            |w| {
                std::fs::remove_file(w.file("a.md")).unwrap();
                w.write("a.md/in.md", "theirs\n");
            },
            &["delete a.md", "write a.md/in.md"],
        ),
        (
            "put a file in a directory's place",
            |w| {
                std::fs::remove_dir_all(w.file("d")).unwrap();
                w.write("d", "theirs\n");
            },
            &["delete d/f.md", "delete d/sub/g.md", "write d"],
        ),
        (
            "what no listing shows",
            |w| {
                w.write(".git/config", "theirs\n");
                w.write(".hidden.md", "theirs\n");
                w.write("node_modules/x.md", "theirs\n");
                assert!(Command::new("mkfifo").arg(w.file("fifo")).status().unwrap().success());
                w.write("back\\slash.md", "theirs\n");
                w.write("bell\u{7}.md", "theirs\n");
                std::os::unix::fs::symlink("/etc", w.file("etc")).unwrap();
                std::fs::create_dir(w.file("void")).unwrap();
            },
            &[],
        ),
        (
            "another mode",
            |w| {
                std::fs::set_permissions(w.file("a.md"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
                    .unwrap();
            },
            &[],
        ),
    ];
    for (name, outside, recorded) in cases {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let before = last_change(&store);
        outside(&world);
        let tree = world.tree();
        let absorbed = absorb(&store, "");
        assert_eq!(look(&store, |session| session.journal.outside()), *recorded, "{name}");
        assert_eq!(last_change(&store), before + u64::from(!recorded.is_empty()), "{name}");
        assert_eq!(absorbed.versions.len(), recorded.len(), "{name}");
        let again = absorb(&store, "");
        assert_eq!(again.versions, [], "{name}, again");
        assert_eq!(world.tree(), tree, "{name}: a look changes no file");
        if *name != "another mode" {
            drop(store);
            world.check(&[]);
        }
    }
}

#[test]
fn a_rename_keeps_the_memory() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let before = ["a.md", "d/f.md", "d/sub/g.md"].map(|at| memory(&store, at).unwrap());
    mv(&world, "a.md", "d/a.md");
    mv(&world, "d", "x/y");
    absorb(&store, "");
    let after = ["x/y/a.md", "x/y/f.md", "x/y/sub/g.md"].map(|at| memory(&store, at).unwrap());
    assert_eq!(before, after);
    assert_eq!(memory(&store, "a.md"), None);
    drop(store);
    world.check(&[]);
}

#[test]
fn only_what_lies_below_the_path_is_looked_at() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    world.write("a.md", "theirs\n");
    world.write("d/f.md", "theirs\n");
    world.write("d/sub/g.md", "theirs\n");
    world.write("d/sub.md", "theirs\n");
    for (at, files, recorded) in [
        ("d/sub", 1, &["write d/sub/g.md"][..]),
        ("a.md", 1, &["write a.md"]),
        ("nothing", 0, &[]),
        ("a.md/below", 0, &[]),
        ("d", 3, &["write d/f.md", "write d/sub.md"]),
    ] {
        let before = look(&store, |session| session.journal.outside()).len();
        assert_eq!(absorb(&store, at).files, files, "{at}");
        assert_eq!(look(&store, |session| session.journal.outside())[before..], *recorded, "{at}");
    }
    std::fs::remove_dir_all(world.file("d")).unwrap();
    absorb(&store, "d/sub");
    assert!(memory(&store, "d/f.md").is_some());
    assert!(memory(&store, "d/sub/g.md").is_none());
}

#[test]
fn many_files_are_counted_and_not_read() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    world.write(".hidden.md", "");
    world.write("a.md", "theirs\n");
    assert_eq!(store.absorb_if_few(&MemoryPath::ROOT, 3).unwrap(), None);
    assert_eq!(look(&store, |session| session.journal.outside()), [""; 0]);
    let absorbed = store.absorb_if_few(&MemoryPath::ROOT, 4).unwrap().unwrap();
    assert_eq!((absorbed.files, absorbed.versions.len()), (4, 1));
}

#[test]
fn a_hidden_memory_is_compared_though_scans_pass_hidden_names_over() {
    let world = World::new();
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let settings = Settings { hidden: crate::store::Hidden::Allow, ..Settings::default() };
    let store = Store::builder(base).settings(settings).open().unwrap();
    put(&store, ".notes/a.md", "a\n").unwrap();
    put(&store, ".notes/b.md", "b\n").unwrap();
    world.write(".notes/a.md", "theirs\n");
    world.write(".notes/c.md", "a stranger's\n");
    std::fs::remove_file(world.file(".notes/b.md")).unwrap();
    absorb(&store, "");
    let recorded: BTreeSet<_> = look(&store, |session| session.journal.outside()).into_iter().collect();
    assert_eq!(recorded, BTreeSet::from(["write .notes/a.md".to_owned(), "delete .notes/b.md".to_owned()]));
}

#[test]
fn of_two_spellings_the_one_that_the_path_means_is_compared() {
    let world = World::new();
    let store = world.open();
    put(&store, "caf\u{e9}.md", "composed\n").unwrap();
    world.write("cafe\u{301}.md", "decomposed\n");
    world.write("e\u{301}t\u{e9}.md", "only decomposed\n");
    absorb(&store, "");
    assert_eq!(look(&store, |session| session.journal.outside()), ["write \u{e9}t\u{e9}.md"]);
    assert_eq!(absorb(&store, "").versions, []);
}

#[test]
fn that_all_memories_are_gone_is_left_to_the_next_write() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    std::fs::remove_dir_all(world.base().join("memories")).unwrap();
    assert_eq!(absorb(&store, ""), Absorbed::default());
    assert_eq!(look(&store, |session| session.journal.outside()), [""; 0]);
    assert!(!world.base().join("memories").exists());
}

#[test]
fn a_store_that_only_people_have_written_to_gets_a_history() {
    let world = World::new();
    world.write("a.md", "theirs\n");
    let store = world.open();
    let absorbed = absorb(&store, "");
    assert_eq!((absorbed.files, absorbed.versions.len()), (1, 1));
    drop(store);
    world.check(&[]);
}

#[test]
fn many_changes_are_one_to_whoever_undoes_them() {
    let world = World::new();
    let store = world.open();
    for n in 0..1200 {
        world.write(&format!("{}/{n}.md", n % 7), format!("file {n}\n"));
    }
    let absorbed = absorb(&store, "");
    assert_eq!((absorbed.files, absorbed.versions.len()), (1200, 1200));
    assert!(absorbed.versions.iter().all(|version| version.change_id == absorbed.versions[0].change_id));
    assert_eq!(last_change(&store), 3);
    drop(store);
    world.check(&[]);
}

#[test]
fn large_files_are_not_all_held_in_memory_and_none_is_left_out() {
    let world = World::new();
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let settings = Settings { file_limit: 8 << 20, ..Settings::default() };
    let store = Store::builder(base).settings(settings).open().unwrap();
    for n in 0..6 {
        world.write(&format!("{n}.md"), format!("{n}").repeat(6 << 20));
    }
    absorb(&store, "");
    assert_eq!(look(&store, |session| session.journal.outside()).len(), 6);
    assert_eq!(last_change(&store), 2);
}

/// What somebody does between the look and the lock is seen under the lock.
#[test]
fn what_changes_meanwhile_is_seen_under_the_lock() {
    let meddlings: &[fn(&World)] = &[
        |w| w.write("b.md", "theirs, later\n"),
        |w| mv(w, "b.md", "a.md"),
        |w| mv(w, "b.md", "c.md"),
        |w| std::fs::remove_file(w.file("b.md")).unwrap(),
        |w| w.write("a.md", "another\n"),
        |w| std::fs::remove_dir_all(w.base().join("memories")).unwrap(),
    ];
    for (n, meddle) in meddlings.iter().enumerate() {
        let world = World::new();
        let store = world.open();
        seed(&store);
        mv(&world, "a.md", "b.md");
        let found = store.survey(&MemoryPath::ROOT, &mut |_| ()).unwrap();
        meddle(&world);
        store.take_in(found).unwrap();
        absorb(&store, "");
        for bytes in [&b"a\n"[..], b"f\n", b"g\n"] {
            world.assert_not_lost(&store, bytes);
        }
        if n + 1 < meddlings.len() {
            drop(store);
            world.check(&[]);
        }
    }
}

#[test]
fn a_crash_while_a_rename_is_taken_in_loses_nothing() {
    let mut failures = Failures::default();
    for is_another_boot in [false, true] {
        for step in 0.. {
            let world = World::new();
            let store = world.open();
            seed(&store);
            store.sync().unwrap();
            let before = memory(&store, "d/sub/g.md");
            drop(store);
            mv(&world, "a.md", "b.md");
            mv(&world, "d", "e");
            world.write("e/f.md", "theirs\n");
            let tree = world.tree();
            fail::crash_after(step);
            let mut store = None;
            let _ = catch_unwind(AssertUnwindSafe(|| {
                store.insert(world.open()).absorb(&MemoryPath::ROOT).unwrap();
            }));
            let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
            let is_over = fail::survive();
            if is_another_boot && world.room("lock").exists() {
                world.reboot();
            }
            mend(&world);
            failures.note("taken in", &(step, is_another_boot), || {
                let store = world.open();
                absorb(&store, "");
                assert_eq!(memory(&store, "e/sub/g.md"), before);
                assert_eq!(world.tree(), tree);
                drop(store);
                let store = world.check(&[]);
                for bytes in [&b"a\n"[..], b"f\n", b"g\n", b"theirs\n"] {
                    world.assert_not_lost(&store, bytes);
                }
            });
            if is_over {
                break;
            }
        }
    }
    failures.assert_none();
}

/// The person's rename had not reached the disk when the power went, and the journal had it already.
#[test]
fn a_rename_that_the_power_took_back_is_made_again() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    store.sync().unwrap();
    let before = memory(&store, "a.md");
    mv(&world, "a.md", "b.md");
    absorb(&store, "");
    kill(store);
    mv(&world, "b.md", "a.md");
    world.reboot();
    let store = world.check(&[]);
    assert_eq!(memory(&store, "b.md"), before);
    assert_eq!(world.read("b.md").unwrap(), b"a\n");
    assert_eq!(world.read("a.md"), None);
}

/// A file that a person moved is the same memory to whoever comes to it first.
#[test]
fn a_rename_is_told_at_the_next_access_of_the_file() {
    type Case = (&'static str, fn(&Store), &'static str);
    let cases: &[Case] = &[
        ("a look", |s| drop(absorb(s, "x/b.md")), "write x/b.md"),
        ("a look at the directory", |s| drop(absorb(s, "x")), "write x/b.md"),
        ("an edit", |s| append(s, "x/b.md", "more\n").unwrap(), "write x/b.md"),
        ("an overwriting", |s| put(s, "x/b.md", "new\n").unwrap(), "write x/b.md"),
        (
            "two edits at once",
            |s| {
                for result in s.change_many(vec![appending("x/b.md", "1\n"), appending("x/b.md", "2\n")]) {
                    result.unwrap();
                }
            },
            "write x/b.md",
        ),
    ];
    for (name, access, recorded) in cases {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let before = memory(&store, "a.md");
        mv(&world, "a.md", "x/b.md");
        access(&store);
        assert_eq!(memory(&store, "x/b.md"), before, "{name}");
        assert_eq!(look(&store, |session| session.journal.outside()), [*recorded], "{name}");
        kill(store);
        world.reboot();
        let store = world.check(&[]);
        assert_eq!(memory(&store, "x/b.md"), before, "{name}");
        assert_eq!(absorb(&store, "").versions, [], "{name}");
    }
}

#[test]
fn a_deletion_of_a_file_that_was_moved_is_one_of_its_memory() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let before = store.history().unwrap().head(&path("a.md")).unwrap().unwrap().memory_id;
    mv(&world, "a.md", "b.md");
    remove(&store, "b.md").unwrap();
    let mut versions = Vec::new();
    let of_it = Log { memory: Some(before), ..Log::default() };
    let mut note = |version: crate::version::Version| {
        versions.push(format!("{} {}", version.operation.as_str(), version.path.unwrap().as_str()));
        Ok(std::ops::ControlFlow::Continue(()))
    };
    store.history().unwrap().versions(&of_it, &mut note).unwrap();
    assert_eq!(versions, ["deleted b.md", "modified b.md", "created a.md"]);
    assert_eq!(absorb(&store, "").versions, []);
    drop(store);
    world.check(&[]);
}

/// One memory can be at one path only, however many files look like it.
#[test]
fn of_many_files_that_look_like_a_lost_one_only_the_first_is_it() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let before = memory(&store, "a.md");
    mv(&world, "a.md", "b.md");
    std::fs::copy(world.file("b.md"), world.file("c.md")).unwrap();
    let results = store.change_many(vec![appending("b.md", "b\n"), appending("c.md", "c\n")]);
    assert!(results.into_iter().all(|result| result.is_ok()));
    assert_eq!(memory(&store, "b.md"), before);
    assert!(memory(&store, "c.md").is_some_and(|memory| Some(memory) != before));
    kill(store);
    world.reboot();
    drop(world.check(&[]));
    assert_eq!(world.read("b.md").unwrap(), b"a\nb\n");
    assert_eq!(world.read("c.md").unwrap(), b"a\nc\n");
}

/// What was moved and what is made anew in its place are two memories, whatever comes first.
#[test]
fn a_file_made_anew_where_one_was_moved_away_is_another_memory() {
    for is_new_first in [false, true] {
        let world = World::new();
        let store = world.open();
        seed(&store);
        mv(&world, "a.md", "b.md");
        let change = move |snapshot: &mut Snapshot<'_>| {
            snapshot.read(&path("a.md"))?;
            snapshot.read(&path("b.md"))?;
            let mut edits = vec![Edit::write(&path("b.md"), "edited\n"), Edit::write(&path("a.md"), "new\n")];
            if is_new_first {
                edits.reverse();
            }
            Ok::<_, Error>((edits, ()))
        };
        store.change(change).unwrap();
        assert_ne!(memory(&store, "a.md").unwrap(), memory(&store, "b.md").unwrap());
        kill(store);
        world.reboot();
        let store = world.check(&[]);
        assert_eq!(world.read("a.md").unwrap(), b"new\n");
        assert_eq!(world.read("b.md").unwrap(), b"edited\n");
        world.assert_not_lost(&store, b"a\n");
    }
}

/// With `MEMDIR_LONG` forty times as many histories.
#[test]
fn after_any_edits_from_inside_and_outside_files_and_history_agree() {
    let names = ["a.md", "b.md", "d/a.md", "d/b.md", "d/e/a.md", "f/a.md", "d", "d/e", "f", "g"];
    for seed in 1..if is_long() { 801 } else { 21 } {
        let world = World::new();
        let mut store = world.open();
        let mut dice = super::invariants::Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 32);
        let mut written = BTreeSet::new();
        for n in 0..50 {
            let mut any = |count: usize| usize::try_from(dice.below(count as u64)).unwrap();
            let (at, to) = (names[any(names.len())], names[any(names.len())]);
            // Few contents, so that one is often in several places.
            let text = if any(3) == 0 { format!("{n}\n") } else { format!("text {}\n", any(3)) };
            // Many of these are refused; what counts is what is left.
            match any(13) {
                0 | 1 => drop(put(&store, at, &text)),
                2 => drop(append(&store, at, &text)),
                3 => drop(remove(&store, at)),
                4 => drop(rename(&store, at, to)),
                5 | 6 => {
                    let _ = std::fs::create_dir_all(world.file(at).parent().unwrap());
                    let _ = std::fs::write(world.file(at), &text);
                    let mode = if world.file(at).is_dir() { 0o700 } else { 0o600 };
                    let _ = std::fs::set_permissions(
                        world.file(at),
                        std::os::unix::fs::PermissionsExt::from_mode(mode),
                    );
                }
                7 | 8 => {
                    let _ = std::fs::create_dir_all(world.file(to).parent().unwrap());
                    let _ = std::fs::rename(world.file(at), world.file(to));
                }
                9 => drop(
                    std::fs::remove_file(world.file(at)).or_else(|_| std::fs::remove_dir_all(world.file(at))),
                ),
                10 => drop(std::fs::copy(world.file(at), world.file(to))),
                11 => drop(store.absorb(&path(at)).unwrap()),
                _ => {
                    if any(3) == 0 && world.room("lock").exists() {
                        kill(store);
                        world.reboot();
                        store = world.open();
                    }
                    agree(&world, &store, &mut written, &(seed, n));
                }
            }
        }
        agree(&world, &store, &mut written, &seed);
        drop(store);
        let store = world.check(&[]);
        for content in &written {
            world.assert_not_lost(&store, content);
        }
    }
}

/// Looks at everything, and panics unless files and history agree after it.
fn agree(world: &World, store: &Store, written: &mut BTreeSet<Vec<u8>>, case: &dyn std::fmt::Debug) {
    absorb(store, "");
    assert_eq!(absorb(store, "").versions, [], "{case:?}");
    let mut files: Vec<_> = world
        .tree()
        .into_iter()
        .filter_map(|(at, node)| match node {
            Node::File(_, bytes) => Some((at, Hash::of(&bytes), bytes)),
            _ => None,
        })
        .collect();
    let heads = look(store, |session| session.journal.heads_below("").unwrap());
    let heads: Vec<_> = heads.into_iter().map(|head| (head.path, head.hash)).collect();
    assert_eq!(files.iter().map(|(at, hash, _)| (at.clone(), *hash)).collect::<Vec<_>>(), heads, "{case:?}");
    written.extend(files.drain(..).map(|(.., bytes)| bytes));
    look(store, |session| session.journal.verify());
}

#[test]
fn what_is_gone_elsewhere_is_left_alone_by_a_look_at_one_place() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    put(&store, "twin.md", "a\n").unwrap();
    mv(&world, "a.md", "x/b.md");
    std::fs::remove_file(world.file("twin.md")).unwrap();
    absorb(&store, "x");
    assert_eq!(look(&store, |session| session.journal.outside()), ["write x/b.md"]);
    assert!(memory(&store, "a.md").is_some() && memory(&store, "twin.md").is_some());
    absorb(&store, "");
    assert_eq!(memory(&store, "a.md").or(memory(&store, "twin.md")), None);
    drop(store);
    world.check(&[]);
}
