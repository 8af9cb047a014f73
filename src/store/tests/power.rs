//! What a power cut leaves of changes that were published and not yet synced, built by hand: all of it is mended, and told
//! apart from what a person did.

use std::os::unix::fs::MetadataExt as _;

use super::super::plan::Plan;
use super::crash::{Failures, carry_out, mend, moved, write};
use super::*;
use crate::fail;

/// One power cut.
struct Cut {
    name: &'static str,
    /// Changes that were synced.
    synced: fn(&Store),
    /// Changes that were answered, and not synced.
    published: fn(&Store),
    /// What the next process finds: what the power cut, or a person after it, made of the disk.
    finds: fn(&World),
    /// Where the disk ends up elsewhere than where it was before the cut: `None` for nothing there.
    differs: &'static [(&'static str, Option<&'static [u8]>)],
    /// What is in the history as somebody else's.
    outside: &'static [&'static str],
}

const MENDED: Cut = Cut {
    name: "",
    synced: |s| put(s, "a.md", "a\n").unwrap(),
    published: |_| (),
    finds: |_| (),
    differs: &[],
    outside: &[],
};

const BLOCK: usize = 4096;

fn long(letter: char) -> Vec<u8> {
    (0..1000).flat_map(|n| format!("{letter} line {n}\n").into_bytes()).collect()
}

fn unlink(world: &World, at: &str) {
    std::fs::remove_file(world.file(at)).unwrap();
}

fn tree_of_three(s: &Store) {
    put(s, "d/one.md", "one\n").unwrap();
    put(s, "d/sub/two.md", "two\n").unwrap();
    put(s, "d/sub/deep/three.md", "three\n").unwrap();
}

fn two(s: &Store) {
    put(s, "a.md", "a\n").unwrap();
    put(s, "b.md", "b\n").unwrap();
}

/// Two memories change places.
fn swap(s: &Store) {
    carry_out(s, |snapshot| Plan {
        edits: vec![write(snapshot, "a.md", "b\n"), write(snapshot, "b.md", "a\n")],
        moves: vec![moved(snapshot, "a.md", "b.md"), moved(snapshot, "b.md", "a.md")],
        ..Plan::default()
    });
}

/// A memory goes elsewhere, and gets other content with it.
fn move_on(s: &Store) {
    carry_out(s, |snapshot| Plan {
        edits: vec![Edit::remove(&path("a.md")), write(snapshot, "x/c.md", "c\n")],
        moves: vec![moved(snapshot, "a.md", "x/c.md")],
        ..Plan::default()
    });
}

/// A file takes the place of the directory that it was in.
fn replace_tree(s: &Store) {
    carry_out(s, |snapshot| Plan {
        edits: vec![Edit::remove(&path("d")), Edit::write(&path("d"), "one\n")],
        moves: vec![moved(snapshot, "d/one.md", "d")],
        in_order: true,
        ..Plan::default()
    });
}

/// The files of [`tree_of_three`], on the disk.
fn write_tree(world: &World) {
    world.write("d/one.md", "one\n");
    world.write("d/sub/two.md", "two\n");
    world.write("d/sub/deep/three.md", "three\n");
}

/// Brings back a removed directory, as itself.
fn bring_back_tree(world: &World) {
    write_tree(world);
    std::fs::create_dir_all(world.file("d/sub/empty")).unwrap();
    is_the_removed_one(world, "d");
}

/// Lets the journal know the directory at `at` as the one that was removed there.
fn is_the_removed_one(world: &World, at: &str) {
    let inode = std::fs::metadata(world.file(at)).unwrap().ino();
    let sql = format!("UPDATE operation SET inode = {inode} WHERE kind = 2 AND path = '{at}'");
    verify::forge(&world.room("journal.db"), &sql);
}

/// Lets the journal know what is at `at` as what was moved to `to`.
fn moved_from(world: &World, at: &str, to: &str) {
    let inode = std::fs::metadata(world.file(at)).unwrap().ino();
    let sql = format!("UPDATE operation SET inode = {inode} WHERE target = '{to}'");
    verify::forge(&world.room("journal.db"), &sql);
}

#[allow(clippy::too_many_lines, reason = "it is a table")]
fn cuts() -> Vec<Cut> {
    let make: fn(&Store) = |s| put(s, "new.md", "new\n").unwrap();
    let edit: fn(&Store) = |s| append(s, "a.md", "more\n").unwrap();
    let edit_long: fn(&Store) = |s| put(s, "a.md", long('b')).unwrap();
    let long_one: fn(&Store) = |s| put(s, "a.md", long('a')).unwrap();
    let delete: fn(&Store) = |s| remove(s, "a.md").unwrap();
    let move_file: fn(&Store) = |s| rename(s, "a.md", "b.md").unwrap();
    let move_tree: fn(&Store) = |s| rename(s, "d", "e").unwrap();
    let delete_tree: fn(&Store) = |s| remove(s, "d").unwrap();
    let make_below: fn(&Store) = |s| put(s, "x/y/new.md", "new\n").unwrap();
    vec![
        Cut { name: "nothing happened", published: edit, ..MENDED },
        Cut { name: "made: missing", published: make, finds: |w| unlink(w, "new.md"), ..MENDED },
        Cut { name: "made: empty", published: make, finds: |w| w.write("new.md", ""), ..MENDED },
        Cut { name: "made: zeros", published: make, finds: |w| w.write("new.md", [0; 4]), ..MENDED },
        Cut { name: "made: truncated", published: make, finds: |w| w.write("new.md", "ne"), ..MENDED },
        Cut { name: "edited: missing", published: edit, finds: |w| unlink(w, "a.md"), ..MENDED },
        Cut { name: "edited: empty", published: edit, finds: |w| w.write("a.md", ""), ..MENDED },
        Cut { name: "edited: zeros", published: edit, finds: |w| w.write("a.md", [0; 7]), ..MENDED },
        Cut { name: "edited: old", published: edit, finds: |w| w.write("a.md", "a\n"), ..MENDED },
        Cut {
            name: "edited: as long as before, zeros",
            published: edit,
            finds: |w| w.write("a.md", [0; 2]),
            ..MENDED
        },
        Cut {
            name: "edited: the second block zeros",
            synced: long_one,
            published: edit_long,
            finds: |w| {
                let mut torn = long('b');
                torn[BLOCK..2 * BLOCK].fill(0);
                w.write("a.md", torn);
            },
            ..MENDED
        },
        Cut {
            name: "edited: all but the last block zeros",
            synced: long_one,
            published: edit_long,
            finds: |w| {
                let mut torn = long('b');
                torn[..2 * BLOCK].fill(0);
                w.write("a.md", torn);
            },
            ..MENDED
        },
        Cut {
            name: "edited: the first block only",
            synced: long_one,
            published: edit_long,
            finds: |w| w.write("a.md", &long('b')[..BLOCK]),
            ..MENDED
        },
        Cut {
            name: "edited twice: the version between, torn",
            synced: long_one,
            published: |s| {
                put(s, "a.md", long('b')).unwrap();
                put(s, "a.md", long('c')).unwrap();
            },
            finds: |w| {
                let mut torn = long('b');
                torn[BLOCK..2 * BLOCK].fill(0);
                w.write("a.md", torn);
            },
            ..MENDED
        },
        Cut { name: "deleted: back", published: delete, finds: |w| w.write("a.md", "a\n"), ..MENDED },
        Cut {
            name: "deleted: back as zeros",
            published: delete,
            finds: |w| w.write("a.md", [0; 2]),
            ..MENDED
        },
        Cut { name: "deleted: back, empty", published: delete, finds: |w| w.write("a.md", ""), ..MENDED },
        Cut {
            name: "renamed: at its old place",
            published: move_file,
            finds: |w| std::fs::rename(w.file("b.md"), w.file("a.md")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "renamed: at both places",
            published: move_file,
            finds: |w| w.write("a.md", "a\n"),
            ..MENDED
        },
        Cut { name: "renamed: at none", published: move_file, finds: |w| unlink(w, "b.md"), ..MENDED },
        Cut {
            name: "edited and renamed: the old content at the old place",
            published: |s| {
                append(s, "a.md", "more\n").unwrap();
                rename(s, "a.md", "b.md").unwrap();
            },
            finds: |w| {
                unlink(w, "b.md");
                w.write("a.md", "a\n");
            },
            ..MENDED
        },
        Cut {
            name: "changed places: the old content at one, nothing at the other",
            synced: two,
            published: swap,
            finds: |w| {
                w.write("a.md", "a\n");
                unlink(w, "b.md");
            },
            ..MENDED
        },
        Cut {
            name: "changed places: not done",
            synced: two,
            published: swap,
            finds: |w| {
                w.write("a.md", "a\n");
                w.write("b.md", "b\n");
            },
            ..MENDED
        },
        Cut {
            name: "changed places twice: done once",
            synced: two,
            published: |s| {
                swap(s);
                append(s, "a.md", "more\n").unwrap();
                carry_out(s, |snapshot| Plan {
                    edits: vec![write(snapshot, "a.md", "a\n"), write(snapshot, "b.md", "b\n")],
                    moves: vec![moved(snapshot, "a.md", "b.md"), moved(snapshot, "b.md", "a.md")],
                    ..Plan::default()
                });
            },
            finds: |w| {
                w.write("a.md", "b\nmore\n");
                w.write("b.md", [0; 2]);
            },
            ..MENDED
        },
        Cut {
            name: "moved on: not done",
            synced: two,
            published: move_on,
            finds: |w| {
                w.write("a.md", "a\n");
                std::fs::remove_dir_all(w.file("x")).unwrap();
            },
            ..MENDED
        },
        Cut {
            name: "moved on: at both places, edited by a person at the old one",
            synced: two,
            published: move_on,
            finds: |w| w.write("a.md", "a person's\n"),
            differs: &[("a.md", Some(b"a person's\n"))],
            outside: &["write a.md"],
        },
        Cut {
            name: "a file for a directory: not done",
            synced: tree_of_three,
            published: replace_tree,
            finds: |w| {
                unlink(w, "d");
                bring_back_tree(w);
            },
            ..MENDED
        },
        Cut {
            name: "a file for a directory: half done",
            synced: tree_of_three,
            published: replace_tree,
            finds: |w| unlink(w, "d"),
            ..MENDED
        },
        Cut {
            name: "a directory for a file: not done",
            synced: two,
            published: |s| {
                carry_out(s, |snapshot| Plan {
                    edits: vec![Edit::remove(&path("a.md")), Edit::write(&path("a.md/x/a.md"), "a\n")],
                    moves: vec![moved(snapshot, "a.md", "a.md/x/a.md")],
                    in_order: true,
                    ..Plan::default()
                });
            },
            finds: |w| {
                std::fs::remove_dir_all(w.file("a.md")).unwrap();
                w.write("a.md", "a\n");
            },
            ..MENDED
        },
        Cut {
            name: "directory renamed: not done",
            synced: tree_of_three,
            published: move_tree,
            finds: |w| std::fs::rename(w.file("e"), w.file("d")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "directory renamed, then edited in: rename not done",
            synced: tree_of_three,
            published: |s| {
                rename(s, "d", "e").unwrap();
                append(s, "e/one.md", "more\n").unwrap();
                put(s, "e/new.md", "new\n").unwrap();
            },
            finds: |w| {
                unlink(w, "e/new.md");
                w.write("e/one.md", "one\n");
                std::fs::rename(w.file("e"), w.file("d")).unwrap();
            },
            ..MENDED
        },
        Cut {
            name: "directory renamed below new ones: not done, and those missing",
            synced: tree_of_three,
            published: |s| rename(s, "d", "x/y/e").unwrap(),
            finds: |w| {
                std::fs::rename(w.file("x/y/e"), w.file("d")).unwrap();
                std::fs::remove_dir_all(w.file("x")).unwrap();
            },
            ..MENDED
        },
        Cut {
            name: "directory renamed twice: not done once",
            synced: tree_of_three,
            published: |s| {
                rename(s, "d", "e").unwrap();
                rename(s, "e", "f").unwrap();
            },
            finds: |w| std::fs::rename(w.file("f"), w.file("d")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "directories made: missing",
            published: make_below,
            finds: |w| std::fs::remove_dir_all(w.file("x")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "directories made: the lower one missing",
            published: make_below,
            finds: |w| std::fs::remove_dir_all(w.file("x/y")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "directories made and emptied: missing",
            published: |s| {
                put(s, "x/y/new.md", "new\n").unwrap();
                remove(s, "x/y/new.md").unwrap();
            },
            finds: |w| std::fs::remove_dir_all(w.file("x")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "directory removed: back",
            synced: tree_of_three,
            published: delete_tree,
            finds: bring_back_tree,
            ..MENDED
        },
        Cut {
            name: "directory removed: back, with other inodes",
            synced: tree_of_three,
            published: delete_tree,
            finds: |w| {
                w.write("d/one.md", "one\n");
                is_the_removed_one(w, "d");
            },
            ..MENDED
        },
        Cut {
            name: "directory removed and made again: the old one is back",
            synced: tree_of_three,
            published: |s| {
                remove(s, "d").unwrap();
                put(s, "d/four.md", "four\n").unwrap();
            },
            finds: |w| {
                std::fs::remove_dir_all(w.file("d")).unwrap();
                bring_back_tree(w);
            },
            ..MENDED
        },
        Cut {
            name: "directory removed and made again: the new one has the number of the old one",
            synced: tree_of_three,
            published: |s| {
                remove(s, "d").unwrap();
                put(s, "d/four.md", "four\n").unwrap();
            },
            finds: |w| {
                w.write("d/theirs.md", "a person's\n");
                is_the_removed_one(w, "d");
            },
            differs: &[("d/theirs.md", Some(b"a person's\n"))],
            ..MENDED
        },
        Cut {
            name: "made, renamed, made again, removed: nothing of it done",
            synced: |s| put(s, "a.md", "a\n").unwrap(),
            published: |s| {
                put(s, "d/one.md", "one\n").unwrap();
                rename(s, "d", "e").unwrap();
                put(s, "d/two.md", "two\n").unwrap();
                remove(s, "e").unwrap();
            },
            finds: |w| std::fs::remove_dir_all(w.file("d")).unwrap(),
            ..MENDED
        },
        Cut {
            name: "made, renamed, removed, made again: the new one has the number of the old one",
            synced: |s| put(s, "a.md", "a\n").unwrap(),
            published: |s| {
                put(s, "d/one.md", "one\n").unwrap();
                rename(s, "d", "e").unwrap();
                remove(s, "e").unwrap();
                put(s, "d/two.md", "two\n").unwrap();
            },
            finds: |w| {
                w.write("d/theirs.md", "a person's\n");
                let inode = std::fs::metadata(w.file("d")).unwrap().ino();
                let sql = format!("UPDATE operation SET inode = {inode} WHERE kind <> 0");
                verify::forge(&w.room("journal.db"), &sql);
            },
            differs: &[("d/theirs.md", Some(b"a person's\n"))],
            ..MENDED
        },
        Cut {
            name: "renamed, deleted, made again: the new file has the number of the old one",
            published: |s| {
                rename(s, "a.md", "b.md").unwrap();
                remove(s, "b.md").unwrap();
                put(s, "a.md", "another\n").unwrap();
            },
            finds: |w| {
                let inode = std::fs::metadata(w.file("a.md")).unwrap().ino();
                verify::forge(
                    &w.room("journal.db"),
                    &format!("UPDATE operation SET inode = {inode} WHERE kind = 1"),
                );
            },
            ..MENDED
        },
        Cut {
            name: "a file made a directory: the file is back",
            published: |s| {
                remove(s, "a.md").unwrap();
                put(s, "a.md/in.md", "in\n").unwrap();
            },
            finds: |w| {
                std::fs::remove_dir_all(w.file("a.md")).unwrap();
                w.write("a.md", "a\n");
            },
            ..MENDED
        },
        Cut {
            name: "a person edits what was synced",
            published: make,
            finds: |w| w.write("a.md", "a person's\n"),
            differs: &[("a.md", Some(b"a person's\n"))],
            ..MENDED
        },
        Cut {
            name: "a person edits what was not synced",
            published: edit,
            finds: |w| w.write("a.md", "a person's\n"),
            differs: &[("a.md", Some(b"a person's\n"))],
            outside: &["write a.md"],
            ..MENDED
        },
        Cut {
            name: "a person adds to what was not synced",
            published: edit,
            finds: |w| w.write("a.md", "a\nmore\nand mine\n"),
            differs: &[("a.md", Some(b"a\nmore\nand mine\n"))],
            outside: &["write a.md"],
            ..MENDED
        },
        Cut {
            name: "a person writes where a file was deleted",
            published: delete,
            finds: |w| w.write("a.md", "a person's\n"),
            differs: &[("a.md", Some(b"a person's\n"))],
            outside: &["write a.md"],
            ..MENDED
        },
        Cut {
            name: "a person deletes what was synced",
            published: make,
            finds: |w| unlink(w, "a.md"),
            differs: &[("a.md", None)],
            ..MENDED
        },
        Cut {
            name: "a person's new file",
            published: make,
            finds: |w| w.write("theirs.md", "a person's\n"),
            differs: &[("theirs.md", Some(b"a person's\n"))],
            ..MENDED
        },
        Cut {
            name: "a person's directory in the place of a file, with a memory below",
            published: |s| {
                put(s, "b.md", "b\n").unwrap();
                put(s, "c/in.md", "in\n").unwrap();
            },
            finds: |w| {
                unlink(w, "b.md");
                w.write("b.md/theirs.md", "a person's\n");
            },
            differs: &[("b.md/theirs.md", Some(b"a person's\n"))],
            outside: &["delete b.md"],
            ..MENDED
        },
        Cut {
            name: "moved into directories that were removed",
            published: |s| {
                rename(s, "a.md", "empty/s/x.md").unwrap();
                remove(s, "empty").unwrap();
            },
            finds: |w| {
                w.write("a.md", "a\n");
                moved_from(w, "a.md", "empty/s/x.md");
            },
            ..MENDED
        },
        Cut {
            name: "a directory: moved into directories that were moved, and removed",
            synced: tree_of_three,
            published: |s| {
                rename(s, "d", "empty/s/x").unwrap();
                rename(s, "empty", "void/empty").unwrap();
                remove(s, "void").unwrap();
            },
            finds: |w| {
                write_tree(w);
                std::fs::create_dir_all(w.file("d/empty")).unwrap();
                moved_from(w, "d", "empty/s/x");
            },
            ..MENDED
        },
        Cut {
            name: "moved out of a directory that was moved, and removed",
            synced: tree_of_three,
            published: |s| {
                rename(s, "d", "x/s/e").unwrap();
                rename(s, "x/s/e/one.md", "one.md").unwrap();
                remove(s, "x").unwrap();
            },
            finds: |w| {
                unlink(w, "one.md");
                write_tree(w);
                moved_from(w, "d", "x/s/e");
            },
            ..MENDED
        },
        Cut {
            name: "a person's file in a directory that came back",
            synced: tree_of_three,
            published: delete_tree,
            finds: |w| {
                bring_back_tree(w);
                w.write("d/sub/theirs.md", "a person's\n");
            },
            differs: &[("d/sub/theirs.md", Some(b"a person's\n"))],
            ..MENDED
        },
    ]
}

impl Cut {
    /// A world after the power cut, and the files that are to be in it.
    fn world(&self) -> (World, BTreeMap<String, Vec<u8>>) {
        let world = World::new();
        let store = world.open();
        (self.synced)(&store);
        drop(store);
        let store = world.open();
        (self.published)(&store);
        let mut right = files(&world.tree());
        kill(store);
        (self.finds)(&world);
        for (at, bytes) in self.differs {
            match bytes {
                Some(bytes) => drop(right.insert((*at).to_owned(), bytes.to_vec())),
                None => drop(right.remove(*at)),
            }
            right.retain(|file, _| file == at || !at.starts_with(&format!("{file}/")));
        }
        world.reboot();
        (world, right)
    }

    fn check(&self, world: &World, right: &BTreeMap<String, Vec<u8>>) {
        let lagging: &[&str] = if self.outside.is_empty() { &["a.md"] } else { &[] };
        let store = world.check(lagging);
        let tree = world.tree();
        assert_eq!(files(&tree), *right, "{}", self.name);
        assert_eq!(look(&store, |session| session.journal.outside()), self.outside, "{}", self.name);
        let is_stray = |at: &String| at.contains("empty");
        assert!(self.name.contains("person") || !tree.keys().any(is_stray), "an empty directory stays");
        drop(store);
        drop(world.check(lagging));
        assert_eq!(world.tree(), tree, "{}: not at rest", self.name);
    }
}

#[test]
fn what_a_power_cut_takes_is_put_back_and_what_a_person_did_stays() {
    let mut failures = Failures::default();
    for case in cuts() {
        let (world, right) = case.world();
        failures.note(case.name, &"", || case.check(&world, &right));
    }
    failures.assert_none();
}

/// With `MEMDIR_LONG` at every step, and not at every fifth.
#[test]
fn recovery_from_a_power_cut_may_be_cut_short_itself() {
    let mut failures = Failures::default();
    let stride = if is_long() { 1 } else { 5 };
    for (i, case) in cuts().iter().enumerate() {
        for step in (i % stride..).step_by(stride) {
            let (world, right) = case.world();
            fail::crash_after(step);
            mend(&world);
            let is_over = fail::survive();
            failures.note(case.name, &step, || case.check(&world, &right));
            if is_over {
                break;
            }
        }
    }
    failures.assert_none();
}

fn files(tree: &Tree) -> BTreeMap<String, Vec<u8>> {
    let file = |(at, node): (&String, &Node)| match node {
        Node::File(_, bytes) => Some((at.clone(), bytes.clone())),
        _ => None,
    };
    tree.iter().filter_map(file).collect()
}

#[test]
fn directories_come_back_too() {
    let world = World::new();
    let store = world.open();
    put(&store, "x/y/z/new.md", "new\n").unwrap();
    remove(&store, "x/y/z/new.md").unwrap();
    rename(&store, "x/y", "x/w").unwrap();
    let before = world.tree();
    kill(store);
    std::fs::remove_dir_all(world.file("x")).unwrap();
    world.reboot();
    world.check(&[]);
    assert_eq!(world.tree(), before);
}

/// Nothing of a move into new directories, and of their removal, was on the disk: what was moved is where it was.
#[test]
fn directories_that_were_made_for_a_move_go_with_what_removed_them() {
    for (from, file, removed) in [("a.md", "a.md", "r"), ("d", "d/one.md", "r"), ("d", "d/one.md", "r/s")] {
        let world = World::new();
        let store = world.open();
        put(&store, file, "one\n").unwrap();
        put(&store, "other.md", "other\n").unwrap();
        drop(store);
        let store = world.open();
        rename(&store, from, "r/s/x").unwrap();
        remove(&store, removed).unwrap();
        let before = world.tree();
        kill(store);
        world.write(file, "one\n");
        let _ = std::fs::remove_dir_all(world.file("r"));
        moved_from(&world, from, "r/s/x");
        world.reboot();
        drop(world.check(&[]));
        assert_eq!(world.tree(), before, "{from} {removed}");
    }
}

#[test]
fn on_the_same_boot_a_deletion_is_a_persons() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "b.md", "b\n").unwrap();
    kill(store);
    unlink(&world, "a.md");
    let store = world.check(&["a.md"]);
    assert_eq!(world.read("a.md"), None);
    put(&store, "a.md", "again\n").unwrap();
    assert_eq!(look(&store, |session| session.journal.outside()), ["delete a.md"]);
}

#[test]
fn memories_that_are_gone_are_not_brought_back() {
    for reboots in [false, true] {
        let world = World::new();
        let store = world.open();
        put(&store, "a.md", "a\n").unwrap();
        put(&store, "d/b.md", "b\n").unwrap();
        kill(store);
        std::fs::remove_dir_all(world.base().join("memories")).unwrap();
        if reboots {
            world.reboot();
        }
        let store = world.check(&["a.md", "d/b.md"]);
        assert_eq!(world.tree(), Tree::new(), "reboots: {reboots}");
        assert!(look(&store, |session| session.journal.outside()).is_empty());
        put(&store, "c.md", "c\n").unwrap();
        assert_eq!(look(&store, |session| session.journal.outside()), ["delete a.md", "delete d/b.md"]);
        drop(store);
        world.check(&[]);
    }
}

/// Files that live through a real disk's habit to use inodes again.
#[test]
fn inodes_that_are_used_again_lead_nobody_astray() {
    let world = World::on_disk();
    let store = world.open();
    for _ in 0..5 {
        put(&store, "d/one.md", "one\n").unwrap();
        rename(&store, "d", "e").unwrap();
        remove(&store, "e").unwrap();
        put(&store, "f.md", "f\n").unwrap();
        rename(&store, "f.md", "g.md").unwrap();
        remove(&store, "g.md").unwrap();
    }
    put(&store, "d/two.md", "two\n").unwrap();
    put(&store, "f.md", "other\n").unwrap();
    world.write("d/theirs.md", "a person's\n");
    let before = world.tree();
    kill(store);
    world.reboot();
    let store = world.check(&[]);
    assert_eq!(world.tree(), before);
    assert!(look(&store, |session| session.journal.outside()).is_empty());
}

#[test]
fn a_file_that_a_person_made_a_directory_takes_nothing_below_with_it() {
    let world = World::new();
    let store = world.open();
    put(&store, "x", "x\n").unwrap();
    unlink(&world, "x");
    std::fs::create_dir(world.file("x")).unwrap();
    put(&store, "x/y.md", "y\n").unwrap();
    kill(store);
    world.reboot();
    let store = world.check(&[]);
    assert_eq!(world.read("x/y.md").unwrap(), b"y\n");
    assert_eq!(look(&store, |session| session.journal.outside()), ["delete x"]);
    assert!(look(&store, |session| session.journal.head("x/y.md").unwrap()).is_some());
}
