//! Undo of one change when others came after it: what it did is taken back, and what they did stays.

use super::super::{Actor, Others, Restoration, Restore, Restored};
use super::restore::{newest, part, state, versions};
use super::*;
use crate::id::ChangeId;
use crate::version::Log;

const LINES: &str = "1\n2\n3\n4\n5\n";

fn undo(store: &Store, change: ChangeId) -> Restoration {
    store.restore(&Restore::Change(change), Others::Keep).unwrap()
}

/// What the last change did, by whatever it is made.
fn last(store: &Store) -> ChangeId {
    newest(store).change_id
}

/// Puts another line in the place of one.
fn replace(store: &Store, at: &str, old: &str, new: &str) {
    let at = path(at);
    let (old, new) = (format!("{old}\n"), format!("{new}\n"));
    let decide = move |snapshot: &mut Snapshot<'_>| {
        let Found::File(bytes) = snapshot.read(&at)? else { return Err(Error::Missing { path: at.clone() }) };
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Ok((vec![Edit::write(&at, text.replacen(&old, &new, 1))], ()))
    };
    store.change(decide).unwrap();
}

/// Edits that one change makes.
fn at_once(store: &Store, edits: Vec<Edit>) {
    let decide = move |snapshot: &mut Snapshot<'_>| {
        for path in edits.iter().flat_map(Edit::paths) {
            snapshot.read(path)?;
        }
        Ok::<_, Error>((edits.clone(), ()))
    };
    store.change(decide).unwrap();
}

/// `from to: kept, undone`, and why nothing was merged.
fn said(memory: &Restored) -> String {
    let at = |path: &Option<MemoryPath>| path.as_ref().map_or("-", MemoryPath::as_str).to_owned();
    let why = memory.unmerged.map(|why| format!(" {why:?}")).unwrap_or_default();
    format!("{} {}: {}, {}{why}", at(&memory.from), at(&memory.to), memory.kept, memory.undone)
}

struct Case {
    name: &'static str,
    /// The change that is undone: the last one that is made.
    change: fn(&Store),
    later: fn(&Store),
    /// The files after that.
    files: &'static [(&'static str, &'static str)],
    /// What the restore says.
    said: &'static [&'static str],
}

/// What stands before each change.
fn begin(store: &Store) {
    put(store, "a.md", LINES).unwrap();
    put(store, "d/f.md", LINES).unwrap();
    put(store, "d/g.md", "g\n").unwrap();
    put(store, "d/sub/f.md", "sub\n").unwrap();
}

const REST: [(&str, &str); 3] = [("d/f.md", LINES), ("d/g.md", "g\n"), ("d/sub/f.md", "sub\n")];
const OTHERS: &[(&str, &str)] = &[("a.md", LINES), REST[1], REST[2]];

const CASES: &[Case] = &[
    Case {
        name: "other lines were edited since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            replace(s, "a.md", "5", "five");
            append(s, "a.md", "6\n").unwrap();
        },
        files: &[("a.md", "1\n2\n3\n4\nfive\n6\n"), REST[0], REST[1], REST[2]],
        said: &["a.md a.md: 2, 1"],
    },
    Case {
        name: "the same lines were edited since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            replace(s, "a.md", "two", "zwei");
            append(s, "a.md", "6\n").unwrap();
        },
        files: &[("a.md", LINES), REST[0], REST[1], REST[2]],
        said: &["a.md a.md: 0, 3 SameLines"],
    },
    Case {
        name: "edited, and moved since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| rename(s, "a.md", "x/b.md").unwrap(),
        files: &[REST[0], REST[1], REST[2], ("x/b.md", LINES)],
        said: &["x/b.md x/b.md: 1, 1"],
    },
    Case {
        name: "edited, and moved and edited since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            rename(s, "a.md", "x/b.md").unwrap();
            append(s, "x/b.md", "6\n").unwrap();
        },
        files: &[REST[0], REST[1], REST[2], ("x/b.md", "1\n2\n3\n4\n5\n6\n")],
        said: &["x/b.md x/b.md: 2, 1"],
    },
    Case {
        name: "moved, and edited since",
        change: |s| rename(s, "a.md", "x/b.md").unwrap(),
        later: |s| append(s, "x/b.md", "6\n").unwrap(),
        files: &[("a.md", "1\n2\n3\n4\n5\n6\n"), REST[0], REST[1], REST[2]],
        said: &["x/b.md a.md: 1, 1"],
    },
    Case {
        name: "moved, and moved again since",
        change: |s| rename(s, "a.md", "b.md").unwrap(),
        later: |s| rename(s, "b.md", "c.md").unwrap(),
        files: &[("c.md", LINES), REST[0], REST[1], REST[2]],
        said: &[],
    },
    Case {
        name: "moved, and deleted since",
        change: |s| rename(s, "a.md", "b.md").unwrap(),
        later: |s| remove(s, "b.md").unwrap(),
        files: &REST,
        said: &[],
    },
    Case {
        name: "moved and edited at once, and edited since",
        change: |s| {
            let before = newest(s).created_at + chrono::TimeDelta::microseconds(1);
            rename(s, "a.md", "x/b.md").unwrap();
            replace(s, "x/b.md", "2", "two");
            s.restore(&Restore::Before { path: MemoryPath::ROOT, time: before }, Others::Keep).unwrap();
        },
        later: |s| append(s, "a.md", "6\n").unwrap(),
        files: &[REST[0], REST[1], REST[2], ("x/b.md", "1\ntwo\n3\n4\n5\n6\n")],
        said: &["a.md x/b.md: 1, 2"],
    },
    Case {
        name: "edited back since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            replace(s, "a.md", "two", "2");
            append(s, "a.md", "6\n").unwrap();
        },
        files: &[("a.md", "1\n2\n3\n4\n5\n6\n"), REST[0], REST[1], REST[2]],
        said: &[],
    },
    Case {
        name: "edited there and back since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            replace(s, "a.md", "two", "zwei");
            replace(s, "a.md", "zwei", "two");
        },
        files: &[("a.md", LINES), REST[0], REST[1], REST[2]],
        said: &["a.md a.md: 2, 1"],
    },
    Case {
        name: "created, and edited and moved since",
        change: |s| put(s, "new.md", "new\n").unwrap(),
        later: |s| {
            append(s, "new.md", "more\n").unwrap();
            rename(s, "new.md", "x/new.md").unwrap();
        },
        files: &[OTHERS[0], REST[0], REST[1], REST[2]],
        said: &["x/new.md -: 0, 3"],
    },
    Case {
        name: "deleted, and put back elsewhere since",
        change: |s| remove(s, "a.md").unwrap(),
        later: |s| {
            let old = versions(s, &Log { path: Some(path("a.md")), ..Log::default() })[0].id;
            s.restore(&Restore::Version { path: path("b.md"), version: old }, Others::Keep).unwrap();
            append(s, "b.md", "6\n").unwrap();
        },
        files: &[OTHERS[0], REST[0], REST[1], REST[2]],
        said: &["b.md a.md: 0, 3"],
    },
    Case {
        name: "edited, and deleted since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| remove(s, "a.md").unwrap(),
        files: &[OTHERS[0], REST[0], REST[1], REST[2]],
        said: &["- a.md: 0, 2"],
    },
    Case {
        name: "edited, and another is in its place since",
        change: |s| replace(s, "a.md", "2", "two"),
        later: |s| {
            rename(s, "a.md", "b.md").unwrap();
            put(s, "a.md", "another\n").unwrap();
        },
        files: &[("a.md", "another\n"), ("b.md", LINES), REST[0], REST[1], REST[2]],
        said: &["b.md b.md: 1, 1"],
    },
    Case {
        name: "a directory moved, and a file in it edited since",
        change: |s| rename(s, "d", "e").unwrap(),
        later: |s| replace(s, "e/f.md", "2", "two"),
        files: &[OTHERS[0], ("d/f.md", "1\ntwo\n3\n4\n5\n"), REST[1], REST[2]],
        said: &["e/f.md d/f.md: 1, 1", "e/g.md d/g.md: 0, 1", "e/sub/f.md d/sub/f.md: 0, 1"],
    },
    Case {
        name: "a directory moved, and much done in it since",
        change: |s| rename(s, "d", "e").unwrap(),
        later: |s| {
            append(s, "e/f.md", "6\n").unwrap();
            put(s, "e/new.md", "new\n").unwrap();
            remove(s, "e/g.md").unwrap();
            rename(s, "e/sub/f.md", "away.md").unwrap();
        },
        files: &[OTHERS[0], ("away.md", "sub\n"), ("d/f.md", "1\n2\n3\n4\n5\n6\n"), ("e/new.md", "new\n")],
        said: &["e/f.md d/f.md: 1, 1"],
    },
    Case {
        name: "a directory moved, and moved again since",
        change: |s| rename(s, "d", "e").unwrap(),
        later: |s| rename(s, "e", "x/e").unwrap(),
        files: &[OTHERS[0], ("x/e/f.md", LINES), ("x/e/g.md", "g\n"), ("x/e/sub/f.md", "sub\n")],
        said: &[],
    },
    Case {
        name: "two changed places at once, and were edited since",
        change: |s| {
            let before = newest(s).created_at + chrono::TimeDelta::microseconds(1);
            for (from, to) in [("a.md", "t"), ("d/g.md", "a.md"), ("t", "d/g.md")] {
                rename(s, from, to).unwrap();
            }
            s.restore(&Restore::Before { path: MemoryPath::ROOT, time: before }, Others::Keep).unwrap();
        },
        later: |s| {
            append(s, "a.md", "6\n").unwrap();
            append(s, "d/g.md", "more\n").unwrap();
        },
        files: &[("a.md", "g\nmore\n"), REST[0], ("d/g.md", "1\n2\n3\n4\n5\n6\n"), REST[2]],
        said: &["d/g.md a.md: 1, 1", "a.md d/g.md: 1, 1"],
    },
    Case {
        name: "a directory moved and files in it edited, in parts, and again since",
        change: |s| {
            let before = newest(s).created_at + chrono::TimeDelta::microseconds(1);
            rename(s, "d", "e").unwrap();
            append(s, "e/f.md", "6\n").unwrap();
            append(s, "e/g.md", "more\n").unwrap();
            remove(s, "e/sub/f.md").unwrap();
            s.restore(&Restore::Before { path: MemoryPath::ROOT, time: before }, Others::Keep).unwrap();
        },
        later: |s| {
            replace(s, "d/f.md", "1", "one");
            append(s, "d/g.md", "other\n").unwrap();
        },
        files: &[OTHERS[0], ("e/f.md", "one\n2\n3\n4\n5\n6\n"), ("e/g.md", "g\nmore\n")],
        said: &["d/sub/f.md -: 0, 1", "d/f.md e/f.md: 1, 2", "d/g.md e/g.md: 0, 3 SameLines"],
    },
    Case {
        name: "much at once, and much since",
        change: |s| {
            at_once(
                s,
                vec![
                    Edit::write(&path("a.md"), "1\ntwo\n3\n4\n5\n"),
                    Edit::write(&path("new.md"), "new\n"),
                    Edit::write(&path("d/f.md"), "1\ntwo\n3\n4\n5\n"),
                    Edit::remove(&path("d/g.md")),
                    Edit::rename(&path("d/sub"), &path("e")),
                ],
            );
        },
        later: |s| {
            append(s, "a.md", "6\n").unwrap();
            replace(s, "d/f.md", "two", "zwei");
            append(s, "e/f.md", "more\n").unwrap();
        },
        files: &[("a.md", "1\n2\n3\n4\n5\n6\n"), REST[0], REST[1], ("d/sub/f.md", "sub\nmore\n")],
        said: &[
            "a.md a.md: 1, 1",
            "d/f.md d/f.md: 0, 2 SameLines",
            "- d/g.md: 0, 1",
            "e/f.md d/sub/f.md: 1, 1",
            "new.md -: 0, 1",
        ],
    },
];

fn texts(state: &super::restore::State) -> Vec<(&str, &str)> {
    state.0.iter().map(|(at, (_, bytes))| (&**at, std::str::from_utf8(bytes).unwrap())).collect()
}

#[test]
fn one_change_is_undone_and_what_came_after_it_stays() {
    for Case { name, change, later, files, said: right } in CASES {
        let world = World::new();
        let store = world.open();
        begin(&store);
        change(&store);
        let id = last(&store);
        later(&store);
        let old = state(&world, &store);
        let preview = store.preview_restore(&Restore::Change(id), Others::Keep).unwrap();
        assert_eq!(state(&world, &store), old, "{name}: a preview changes nothing");
        let done = undo(&store, id);
        let new = state(&world, &store);
        assert_eq!(texts(&new), *files, "{name}");
        assert_eq!(done.memories.iter().map(said).collect::<Vec<_>>(), *right, "{name}");
        assert_eq!((preview.change_id, &preview.memories), (None, &done.memories), "{name}");
        assert_eq!(done.change_id.is_some(), !right.is_empty(), "{name}");
        // Once more is nothing more, and the undo is undone by the same rule.
        assert_eq!(undo(&store, id).change_id, None, "{name}: again");
        if let Some(id) = done.change_id {
            let again = undo(&store, id);
            assert_eq!(state(&world, &store), old, "{name}: redone");
            assert!(again.memories.iter().all(|memory| memory.undone > 0), "{name}: {again:?}");
            // And that one, after yet another change.
            append(&store, "d/f.md", "later\n").or_else(|_| put(&store, "later.md", "")).unwrap();
            undo(&store, again.change_id.unwrap());
            assert_eq!(part(&state(&world, &store), "a.md"), part(&new, "a.md"), "{name}: undone once more");
        }
        drop(store);
        let store = world.check(&[]);
        assert_eq!(look(&store, |session| session.journal.outside()), [""; 0], "{name}");
    }
}

#[test]
fn whose_content_it_has_is_said() {
    let world = World::new();
    let store = world.open();
    begin(&store);
    let log = Log { path: Some(path("a.md")), ..Log::default() };
    let version = |n: usize| Some(versions(&store, &log)[n].id);
    let done = |change| undo(&store, change).memories[0].version;
    // What it has now.
    rename(&store, "a.md", "b.md").unwrap();
    let id = last(&store);
    append(&store, "b.md", "6\n").unwrap();
    assert_eq!(done(id), version(2));
    // What it had before.
    replace(&store, "a.md", "2", "two");
    let id = last(&store);
    rename(&store, "a.md", "b.md").unwrap();
    assert_eq!(done(id), version(3));
    // A merge is nobody's.
    replace(&store, "b.md", "2", "two");
    let id = last(&store);
    append(&store, "b.md", "7\n").unwrap();
    assert_eq!(done(id), None);
}

/// What is no text goes back as a whole, if it goes back at all.
#[test]
fn what_is_no_text_is_not_merged() {
    type Row = (&'static [&'static [u8]], &'static [u8], &'static str);
    const ONE: &[u8] = b"\xff\0 one";
    const OTHER: &[u8] = b"\xff\0 other";
    let made = |store: &Store, bytes: &[u8]| {
        put(store, "p.png", bytes).unwrap();
        last(store)
    };
    let rows: &[Row] = &[
        (&[b"text\n", ONE, b"more\n"], b"text\n", "p.png p.png: 0, 2 NotText"),
        (&[ONE, b"text\n", b"text\nmore\n"], ONE, "p.png p.png: 0, 2 NotText"),
        (&[b"text\n", b"text\n1\n", ONE], b"text\n", "p.png p.png: 0, 2 NotText"),
        // There and back again.
        (&[ONE, OTHER, b"text\n", OTHER], ONE, "p.png p.png: 2, 1"),
    ];
    for (contents, right, words) in rows {
        let world = World::new();
        let store = world.open();
        begin(&store);
        let ids: Vec<_> = contents.iter().map(|bytes| made(&store, bytes)).collect();
        let done = undo(&store, ids[1]);
        assert_eq!(done.memories.iter().map(said).collect::<Vec<_>>(), [*words]);
        assert_eq!(world.read("p.png").unwrap(), *right, "{words}");
        drop(store);
        world.check(&[]);
    }
}

/// Nothing is known of a content that was redacted: it cannot be the ground of a merge.
#[test]
fn a_redacted_change_is_undone_as_a_whole() {
    let world = World::new();
    let store = world.open();
    begin(&store);
    replace(&store, "a.md", "2", "a secret");
    let secret = newest(&store);
    append(&store, "a.md", "6\n").unwrap();
    store.redact(&[secret.id]).unwrap();
    let done = undo(&store, secret.change_id);
    assert_eq!(done.memories.iter().map(said).collect::<Vec<_>>(), ["a.md a.md: 0, 2"]);
    assert_eq!(world.read("a.md").unwrap(), LINES.as_bytes());
}

/// Random edits of lines, each line the only one of its kind. With `MEMDIR_LONG` forty times as many histories.
#[test]
fn the_lines_of_one_change_go_and_come_and_no_others() {
    use std::collections::BTreeSet;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let mut made = [0; 2];
    for seed in 1..if is_long() { 801 } else { 21 } {
        let world = World::new();
        let store = world.open();
        let mut dice = super::invariants::Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 32);
        let mut texts = vec!["0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n".to_owned()];
        put(&store, "a.md", &texts[0]).unwrap();
        let mut ids = Vec::new();
        for n in 0..10 {
            let mut text: Vec<String> = texts[n].lines().map(|line| format!("{line}\n")).collect();
            let at = usize::try_from(dice.below(text.len() as u64)).unwrap();
            match dice.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, format!("added {n}\n")),
                _ => text[at] = format!("another {n}\n"),
            }
            texts.push(text.concat());
            put(&store, "a.md", texts.last().unwrap()).unwrap();
            ids.push(last(&store));
        }
        let n = usize::try_from(dice.below(9)).unwrap();
        let (before, after, now) = (lines(&texts[n]), lines(&texts[n + 1]), lines(&texts[10]));
        let done = undo(&store, ids[n]);
        let text = String::from_utf8(world.read("a.md").unwrap()).unwrap();
        if done.memories.iter().all(|memory| memory.unmerged.is_none()) {
            let kept = now.difference(&(&after - &before)).cloned().collect::<BTreeSet<_>>();
            assert_eq!(lines(&text), &kept | &(&before - &after), "seed {seed}, {n}");
            made[0] += 1;
        } else {
            assert_eq!(text, texts[n], "seed {seed}, {n}");
            made[1] += 1;
        }
    }
    assert!(made.iter().all(|&made| made > 2), "{made:?}");
}

/// The merge is made with what is there inside the lock.
#[test]
fn no_line_that_is_written_meanwhile_is_undone_with_a_change() {
    let world = World::new();
    let store = world.open();
    begin(&store);
    for round in 0..20 {
        replace(&store, "a.md", "2", "two");
        let id = last(&store);
        std::thread::scope(|threads| {
            let writer = threads
                .spawn(|| (0..20).for_each(|n| append(&store, "a.md", &format!("{round} {n}\n")).unwrap()));
            let done = undo(&store, id);
            assert_eq!(done.memories[0].unmerged, None);
            writer.join().unwrap();
        });
    }
    let lines = (0..20).flat_map(|round| (0..20).map(move |n| format!("{round} {n}\n")));
    let right: String = std::iter::once(LINES.to_owned()).chain(lines).collect();
    assert_eq!(String::from_utf8(world.read("a.md").unwrap()).unwrap(), right);
    drop(store);
    world.check(&[]);
}

/// Somebody saves the file at any moment of an undo: their text is in the file, or in the history.
#[test]
fn what_others_write_at_any_moment_of_an_undo_is_not_lost() {
    const THEIRS: &str = "1\ntwo\n3\n4\n5\n6\ntheirs\n";
    let mut merged = 0;
    for is_moved in [false, true] {
        for step in 0.. {
            let world = World::new();
            let store = world.open();
            begin(&store);
            replace(&store, "a.md", "2", "two");
            let id = last(&store);
            append(&store, "a.md", "6\n").unwrap();
            if is_moved {
                rename(&store, "a.md", "x/a.md").unwrap();
            }
            let at = world.file(if is_moved { "x/a.md" } else { "a.md" });
            crate::fail::interfere_after(step, {
                let at = at.clone();
                move || std::fs::write(at, THEIRS).unwrap()
            });
            let result = store.restore(&Restore::Change(id), Others::Keep);
            if crate::fail::was_left_alone() {
                break;
            }
            let text = std::fs::read_to_string(&at).unwrap();
            merged += usize::from(text == "1\n2\n3\n4\n5\n6\ntheirs\n");
            drop(store);
            let store = world.check(&["a.md", "x/a.md"]);
            let _ = put(&store, "touch.md", "");
            let row = format!("{is_moved}, {step}: {result:?}, {text}");
            let is_there = std::panic::AssertUnwindSafe(|| world.assert_not_lost(&store, THEIRS.as_bytes()));
            std::panic::catch_unwind(is_there).unwrap_or_else(|_| panic!("{row}"));
        }
    }
    assert!(merged > 0);
}

/// Far more than one change may hold: each part is merged when its turn comes.
#[test]
fn a_large_change_is_undone_under_later_edits() {
    const FILES: usize = 1300;
    let world = World::new();
    let store = world.open();
    let at = |n: usize| format!("d/{}/{n}.md", n % 20);
    let edit = |to: &'static str| {
        let edit = |n: usize| {
            let at = path(&at(n));
            move |snapshot: &mut Snapshot<'_>| {
                snapshot.read(&at)?;
                Ok::<_, Error>((vec![Edit::write(&at, to)], ()))
            }
        };
        store.change_many((0..FILES).map(edit).collect()).into_iter().for_each(|made| made.unwrap());
    };
    edit(LINES);
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    edit("1\ntwo\n3\n4\n5\n");
    let change = store
        .restore(&Restore::Before { path: MemoryPath::ROOT, time }, Others::Keep)
        .unwrap()
        .change_id
        .unwrap();
    rename(&store, "d", "e").unwrap();
    for n in [0, 700, 1299] {
        append(&store, &format!("e/{}/{n}.md", n % 20), "6\n").unwrap();
    }
    let old = state(&world, &store);
    let done = undo(&store, change);
    assert_eq!(done.memories.iter().filter(|memory| memory.kept == 2).count(), 3);
    for n in 0..FILES {
        let more = if [0, 700, 1299].contains(&n) { "6\n" } else { "" };
        let text = world.read(&format!("e/{}/{n}.md", n % 20)).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), format!("1\ntwo\n3\n4\n5\n{more}"), "{n}");
    }
    undo(&store, done.change_id.unwrap());
    assert_eq!(state(&world, &store), old);
    drop(store);
    world.check(&[]);
}

#[test]
fn what_stands_of_a_restore_that_fails_later_is_said() {
    let mut failed = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        begin(&store);
        let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
        rename(&store, "d", "e").unwrap();
        append(&store, "e/f.md", "6\n").unwrap();
        remove(&store, "e/g.md").unwrap();
        let old = state(&world, &store);
        let at = world.file("d/g.md");
        crate::fail::interfere_after(step, move || {
            let _ = std::fs::create_dir(&at);
            let _ = std::fs::write(at.join("in.md"), "theirs\n");
        });
        let result = store.restore(&Restore::Before { path: MemoryPath::ROOT, time }, Others::Keep);
        if crate::fail::was_left_alone() {
            break;
        }
        if let Err(Error::Partly { change, source }) = result {
            assert!(matches!(*source, Error::Taken { .. } | Error::Exists { .. }), "{source:?}");
            std::fs::remove_dir_all(world.file("d/g.md")).unwrap();
            undo(&store, change);
            assert_eq!(state(&world, &store), old);
            failed += 1;
        }
    }
    assert!(failed > 0);
}

#[test]
fn a_reason_that_is_given_stands_before_what_was_restored() {
    let world = World::new();
    let store = world.open().with_actor(Actor::User("me".into())).with_reason("Friday was right");
    begin(&store);
    let first = versions(&store, &Log { path: Some(path("a.md")), ..Log::default() })[0].clone();
    append(&store, "a.md", "6\n").unwrap();
    let id = last(&store);
    undo(&store, id);
    assert_eq!(newest(&store).reason.unwrap(), format!("Friday was right (restore of {id})"));
    append(&store, "a.md", "6\n").unwrap();
    store.restore(&Restore::Version { path: path("a.md"), version: first.id }, Others::Keep).unwrap();
    assert_eq!(newest(&store).reason.unwrap(), format!("Friday was right (restore to {})", first.id));
    let time = newest(&store).created_at;
    store.restore(&Restore::Before { path: path("a.md"), time }, Others::Keep).unwrap();
    let words = format!("Friday was right (restore to before {})", crate::version::rfc3339(&time));
    assert_eq!(newest(&store).reason.unwrap(), words);
}
