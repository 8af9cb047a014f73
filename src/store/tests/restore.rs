//! Undo: whatever changes did, a restore puts back, and another one brings again.

use chrono::{DateTime, Utc};

use super::super::{Actor, Others, Restoration, Restore};
use super::*;
use crate::error::NoContent;
use crate::id::{ChangeId, VersionId};
use crate::version::{Log, Version};

/// All versions, oldest first.
pub(super) fn versions(store: &Store, log: &Log) -> Vec<Version> {
    let mut versions = look(store, |session| {
        let mut versions = Vec::new();
        let each = &mut |version| {
            versions.push(version);
            Ok(std::ops::ControlFlow::Continue(()))
        };
        session.journal.history().versions(log, each).unwrap();
        versions
    });
    versions.reverse();
    versions
}

pub(super) fn newest(store: &Store) -> Version {
    versions(store, &Log::default()).pop().unwrap()
}

/// The `n`th version of what is or was at a path.
fn version(store: &Store, at: &str, n: usize) -> VersionId {
    versions(store, &Log { path: Some(path(at)), ..Log::default() })[n].id
}

fn before(time: DateTime<Utc>, at: &str) -> Restore {
    Restore::Before { path: path(at), time }
}

/// The files with their modes, and which memory each is.
pub(super) type State = (BTreeMap<String, (u32, Vec<u8>)>, BTreeMap<String, i64>);

pub(super) fn state(world: &World, store: &Store) -> State {
    let file = |(at, node): (String, Node)| match node {
        Node::File(mode, bytes) => Some((at, (mode, bytes))),
        _ => None,
    };
    let files = world.tree().into_iter().filter_map(file).collect();
    let memories = look(store, |session| {
        let heads = session.journal.heads_below("").unwrap();
        heads.into_iter().map(|head| (head.path, head.memory)).collect()
    });
    (files, memories)
}

/// What of a state is at or below a path.
pub(super) fn part((files, memories): &State, at: &str) -> State {
    let is_part =
        |path: &String| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let (mut files, mut memories) = (files.clone(), memories.clone());
    files.retain(|path, _| is_part(path));
    memories.retain(|path, _| is_part(path));
    (files, memories)
}

/// The directories that hold nothing.
fn empty(tree: &Tree) -> Vec<&String> {
    let is_empty =
        |at: &String| !at.is_empty() && !tree.keys().any(|other| other.starts_with(&format!("{at}/")));
    let dirs = tree.iter().filter(|(_, node)| matches!(node, Node::Directory(_)));
    dirs.map(|(at, _)| at).filter(|at| is_empty(at)).collect()
}

fn restore(store: &Store, what: &Restore) -> Restoration {
    store.restore(what, Others::Keep).unwrap()
}

fn seed(store: &Store) {
    put(store, "a.md", "a\n").unwrap();
    put(store, "b.md", "b\n").unwrap();
    put(store, "d/f.md", "d\n").unwrap();
    put(store, "d/g.md", "g\n").unwrap();
    put(store, "d/sub/f.md", "sub\n").unwrap();
}

/// Several renames, one after the other.
fn renames(store: &Store, renames: &[(&str, &str)]) {
    for (from, to) in renames {
        rename(store, from, to).unwrap();
    }
}

fn several(store: &Store, edits: Vec<Edit>) {
    let decide = move |snapshot: &mut Snapshot<'_>| {
        for path in edits.iter().flat_map(Edit::paths) {
            snapshot.read(path)?;
        }
        Ok::<_, Error>((edits.clone(), ()))
    };
    store.change(decide).unwrap();
}

/// What happened, and in how many changes of the journal it is undone.
type Story = (&'static str, fn(&Store), usize);

const STORIES: &[Story] = &[
    ("create", |s| put(s, "new.md", "new\n").unwrap(), 1),
    ("create in a new directory", |s| put(s, "x/y/new.md", "new\n").unwrap(), 1),
    ("create in an old directory", |s| put(s, "d/new.md", "new\n").unwrap(), 1),
    ("edit", |s| append(s, "a.md", "more\n").unwrap(), 1),
    ("delete", |s| remove(s, "d/f.md").unwrap(), 1),
    ("delete the last of a directory", |s| remove(s, "d/sub/f.md").unwrap(), 1),
    ("delete a directory", |s| remove(s, "d").unwrap(), 1),
    ("rename", |s| rename(s, "a.md", "c.md").unwrap(), 1),
    ("rename into a new directory", |s| rename(s, "a.md", "x/y/a.md").unwrap(), 2),
    ("rename the last of a directory", |s| rename(s, "d/sub/f.md", "f.md").unwrap(), 1),
    ("rename a directory", |s| rename(s, "d", "e").unwrap(), 1),
    ("rename a directory below a new one", |s| rename(s, "d", "x/y/e").unwrap(), 2),
    (
        "several at once",
        |s| {
            several(
                s,
                vec![
                    Edit::write(&path("a.md"), "A\n"),
                    Edit::write(&path("x/new.md"), "new\n"),
                    Edit::remove(&path("d/f.md")),
                    Edit::rename(&path("d/sub"), &path("e")),
                    Edit::rename(&path("b.md"), &path("d/b.md")),
                ],
            );
        },
        1,
    ),
    (
        "rename, and make another",
        |s| {
            rename(s, "a.md", "c.md").unwrap();
            put(s, "a.md", "another\n").unwrap();
        },
        1,
    ),
    (
        "delete, and make another",
        |s| {
            remove(s, "a.md").unwrap();
            put(s, "a.md", "another\n").unwrap();
        },
        1,
    ),
    (
        "delete, and put another in its place",
        |s| {
            remove(s, "a.md").unwrap();
            rename(s, "b.md", "a.md").unwrap();
            append(s, "a.md", "more\n").unwrap();
        },
        1,
    ),
    ("two change places", |s| renames(s, &[("a.md", "t"), ("d/f.md", "a.md"), ("t", "d/f.md")]), 1),
    (
        "three change places",
        |s| {
            renames(s, &[("a.md", "t"), ("b.md", "a.md"), ("d/f.md", "b.md"), ("t", "d/f.md")]);
            append(s, "b.md", "more\n").unwrap();
        },
        1,
    ),
    ("all move up by one", |s| renames(s, &[("a.md", "c.md"), ("b.md", "a.md"), ("d/f.md", "b.md")]), 1),
    (
        "directories change places",
        |s| {
            put(s, "e/f.md", "e\n").unwrap();
            renames(s, &[("d", "t"), ("e", "d"), ("t", "e")]);
        },
        2,
    ),
    (
        "directories that were there change places",
        |s| renames(s, &[("d/sub", "t"), ("d", "u"), ("t", "d")]),
        2,
    ),
    (
        "rename a directory, and edit in it",
        |s| {
            rename(s, "d", "e").unwrap();
            append(s, "e/f.md", "more\n").unwrap();
            remove(s, "e/g.md").unwrap();
            put(s, "e/new/new.md", "new\n").unwrap();
        },
        2,
    ),
    (
        "a file where a directory was",
        |s| {
            remove(s, "d").unwrap();
            put(s, "d", "a file\n").unwrap();
        },
        1,
    ),
    (
        "a file where the directory was that it was in",
        |s| {
            renames(s, &[("d", "t"), ("t/f.md", "d")]);
        },
        2,
    ),
    (
        "a directory where a file was",
        |s| {
            remove(s, "a.md").unwrap();
            put(s, "a.md/x/new.md", "new\n").unwrap();
        },
        1,
    ),
    (
        "a directory where a file was that is in it",
        |s| {
            renames(s, &[("a.md", "t"), ("t", "a.md/x/a.md"), ("b.md", "a.md/b.md")]);
        },
        1,
    ),
    ("file and directory change places", |s| renames(s, &[("a.md", "t"), ("d", "a.md"), ("t", "d")]), 1),
    ("all is deleted", |s| ["a.md", "b.md", "d"].iter().for_each(|at| remove(s, at).unwrap()), 1),
];

#[test]
fn a_restore_puts_back_what_happened_and_another_brings_it_again() {
    for (name, story, parts) in STORIES {
        let world = World::new();
        let store = world.open();
        seed(&store);
        std::fs::set_permissions(world.file("d/f.md"), std::fs::Permissions::from_mode(0o640)).unwrap();
        append(&store, "d/f.md", "of mode 640\n").unwrap();
        let old = state(&world, &store);
        let last = newest(&store);
        story(&store);
        let new = state(&world, &store);
        let first = versions(&store, &Log { since: None, ..Log::default() })
            .into_iter()
            .find(|version| version.created_at > last.created_at)
            .unwrap();
        let what = before(first.created_at, "");
        let preview = store.preview_restore(&what, Others::Keep).unwrap();
        assert_eq!(state(&world, &store), new, "{name}: a preview changes nothing");
        let changes = look(&store, |session| session.journal.last_change().unwrap());
        let done = restore(&store, &what);
        assert_eq!(state(&world, &store), old, "{name}");
        assert_eq!(empty(&world.tree()), Vec::<&String>::new(), "{name}");
        assert_eq!(done.memories, preview.memories, "{name}");
        assert_eq!((preview.change_id, done.memories.is_empty()), (None, false), "{name}");
        let made = look(&store, |session| session.journal.last_change().unwrap()) - changes;
        assert_eq!(made, *parts as u64, "{name}: changes");
        let id = done.change_id.unwrap();
        for version in versions(&store, &Log { change: Some(id), ..Log::default() }) {
            let reason = format!("restore to before {}", crate::version::rfc3339(&first.created_at));
            assert_eq!(version.reason.as_deref(), Some(&*reason), "{name}");
        }
        assert_eq!(restore(&store, &what), Restoration { change_id: None, memories: Vec::new() }, "{name}");
        let again = restore(&store, &Restore::Change(id));
        assert_eq!(state(&world, &store), new, "{name}: redone");
        assert!(again.memories.iter().all(|memory| memory.undone > 0), "{name}: {again:?}");
        drop(store);
        let store = world.check(&[]);
        assert_eq!(look(&store, |session| session.journal.outside()), [""; 0], "{name}");
    }
}

#[test]
fn a_change_is_undone_by_its_id() {
    for (name, story, _) in STORIES {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let old = state(&world, &store);
        let last = newest(&store);
        story(&store);
        let mut ids: Vec<ChangeId> = versions(&store, &Log::default())
            .into_iter()
            .filter(|version| version.created_at > last.created_at)
            .map(|version| version.change_id)
            .collect();
        ids.dedup();
        // Each for itself, the last one first.
        for id in ids.into_iter().rev() {
            restore(&store, &Restore::Change(id));
        }
        assert_eq!(state(&world, &store), old, "{name}");
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn what_a_restore_says() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let last = newest(&store);
    append(&store, "a.md", "1\n").unwrap();
    append(&store, "a.md", "2\n").unwrap();
    rename(&store, "a.md", "c.md").unwrap();
    remove(&store, "b.md").unwrap();
    put(&store, "d/new.md", "new\n").unwrap();
    let what = before(last.created_at + chrono::TimeDelta::microseconds(1), "");
    let preview = store.preview_restore(&what, Others::Keep).unwrap();
    let memories: Vec<_> = preview
        .memories
        .iter()
        .map(|m| {
            let text = |path: &Option<MemoryPath>| path.as_ref().map_or("", MemoryPath::as_str).to_owned();
            (text(&m.from), text(&m.to), m.version, m.undone)
        })
        .collect();
    let text = str::to_owned;
    assert_eq!(
        memories,
        [
            (text("c.md"), text("a.md"), Some(version(&store, "a.md", 0)), 3),
            (text(""), text("b.md"), Some(version(&store, "b.md", 0)), 1),
            (text("d/new.md"), text(""), None, 1),
        ]
    );
}

/// Of one directory, or one file, only what was or is there is put back.
#[test]
fn a_restore_of_a_part_leaves_the_rest() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    append(&store, "a.md", "more\n").unwrap();
    append(&store, "d/f.md", "more\n").unwrap();
    append(&store, "d/g.md", "more\n").unwrap();
    rename(&store, "d/sub/f.md", "moved.md").unwrap();
    rename(&store, "b.md", "d/b.md").unwrap();
    restore(&store, &before(time, "d/f.md"));
    assert_eq!(world.read("d/f.md").unwrap(), b"d\n");
    assert_eq!(world.read("d/g.md").unwrap(), b"g\nmore\n");
    restore(&store, &before(time, "d"));
    assert_eq!(world.read("d/g.md").unwrap(), b"g\n");
    assert_eq!(world.read("d/sub/f.md").unwrap(), b"sub\n");
    assert_eq!(world.read("b.md").unwrap(), b"b\n", "what came from elsewhere goes back there");
    assert!(world.read("d/b.md").is_none() && world.read("moved.md").is_none());
    assert_eq!(world.read("a.md").unwrap(), b"a\nmore\n");
    drop(store);
    world.check(&[]);
}

#[test]
fn a_version_is_put_wherever_it_is_wanted() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    append(&store, "a.md", "more\n").unwrap();
    let (first, second) = (version(&store, "a.md", 0), version(&store, "a.md", 1));
    let to = |at: &str, version| Restore::Version { path: path(at), version };
    let memory = |at: &str| look(&store, |session| session.journal.head(at).unwrap().unwrap().memory);
    let a = memory("a.md");

    // Over its own newer content, which is nothing extraordinary; twice is once.
    let done = restore(&store, &to("a.md", first));
    assert_eq!((world.read("a.md").unwrap(), memory("a.md")), (b"a\n".to_vec(), a));
    assert_eq!(done.memories[0].undone, 1);
    assert_eq!(restore(&store, &to("a.md", first)).change_id, None);

    // To a path where nothing is, while it lives elsewhere: a new memory.
    restore(&store, &to("x/copy.md", second));
    assert_eq!(world.read("x/copy.md").unwrap(), b"a\nmore\n");
    assert!(memory("x/copy.md") != a);

    // To a path where nothing is, when it is dead: it lives again there.
    remove(&store, "a.md").unwrap();
    restore(&store, &to("x/back.md", second));
    assert_eq!((world.read("x/back.md").unwrap(), memory("x/back.md")), (b"a\nmore\n".to_vec(), a));

    // Where another memory is, only when that is asked for; it ends then.
    let b = memory("b.md");
    let taken = store.restore(&to("b.md", first), Others::Keep);
    assert!(matches!(taken, Err(Error::Taken { path }) if path.as_str() == "b.md"));
    store.restore(&to("b.md", first), Others::Overwrite).unwrap();
    assert_eq!(world.read("b.md").unwrap(), b"a\n");
    assert!(![a, b].contains(&memory("b.md")));
    remove(&store, "x/back.md").unwrap();
    store.restore(&to("d/g.md", second), Others::Overwrite).unwrap();
    assert_eq!((world.read("d/g.md").unwrap(), memory("d/g.md")), (b"a\nmore\n".to_vec(), a));

    // A deletion has nothing to give.
    let gone = versions(&store, &Log::default()).into_iter().find(|v| v.content_sha256.is_none()).unwrap();
    let none = store.restore(&to("c.md", gone.id), Others::Keep);
    assert!(matches!(none, Err(Error::NoContent { id, why: NoContent::Deleted }) if id == gone.id));
    drop(store);
    let store = world.check(&[]);
    world.assert_not_lost(&store, b"b\n");
    world.assert_not_lost(&store, b"g\n");
}

#[test]
fn what_is_not_known_is_said() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let time = newest(&store).created_at;
    let restore = |what: &Restore| store.restore(what, Others::Keep);
    let (version, change) = (VersionId(crate::id::new_ulid(1)), ChangeId(crate::id::new_ulid(1)));
    let to = Restore::Version { path: path("a.md"), version };
    assert!(matches!(restore(&to), Err(Error::NoVersion { id }) if id == version));
    assert!(matches!(restore(&Restore::Change(change)), Err(Error::NoChange { id }) if id == change));
    assert!(
        matches!(restore(&before(time, "no.md")), Err(Error::Missing { path }) if path.as_str() == "no.md")
    );
    // Here something was, and it is what it was.
    assert_eq!(restore(&before(time, "a.md")).unwrap().change_id, None);
    remove(&store, "a.md").unwrap();
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    assert_eq!(restore(&before(time, "a.md")).unwrap().change_id, None);
}

/// What others hold is not replaced unless that is asked for, and then it is in the history.
#[test]
fn what_is_in_the_way_stays_unless_it_may_be_replaced() {
    type Case = (&'static str, fn(&Store), fn(&World), &'static str, &'static [&'static [u8]]);
    const THEIRS: &[&[u8]] = &[b"theirs\n"];
    let cases: &[Case] = &[
        (
            "a memory",
            |s| remove(s, "a.md").unwrap(),
            |w| drop(put(&w.open(), "a.md", "theirs\n")),
            "a.md",
            THEIRS,
        ),
        ("a file", |s| remove(s, "a.md").unwrap(), |w| w.write("a.md", "theirs\n"), "a.md", THEIRS),
        (
            "a binary file",
            |s| remove(s, "a.md").unwrap(),
            |w| w.write("a.md", b"\xff\0"),
            "a.md",
            &[b"\xff\0"],
        ),
        ("a directory", |s| remove(s, "a.md").unwrap(), |w| w.write("a.md/x/y", "theirs\n"), "a.md", THEIRS),
        (
            "hidden below a directory",
            |s| remove(s, "a.md").unwrap(),
            |w| w.write("a.md/.x", "theirs\n"),
            "a.md",
            THEIRS,
        ),
        ("a file above", |s| remove(s, "d").unwrap(), |w| w.write("d", "theirs\n"), "d", THEIRS),
        (
            "a link",
            |s| remove(s, "a.md").unwrap(),
            |w| std::os::unix::fs::symlink("b.md", w.file("a.md")).unwrap(),
            "a.md",
            &[],
        ),
    ];
    for (name, change, others, at, precious) in cases {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let old = state(&world, &store);
        change(&store);
        let id = newest(&store).change_id;
        others(&world);
        let tree = world.tree();
        for result in [
            store.restore(&Restore::Change(id), Others::Keep),
            store.preview_restore(&Restore::Change(id), Others::Keep),
        ] {
            let is_taken = matches!(&result, Err(Error::Taken { path }) if path.as_str() == *at);
            assert!(is_taken, "{name}: {result:?}");
        }
        assert_eq!(world.tree(), tree, "{name}");
        store.restore(&Restore::Change(id), Others::Overwrite).unwrap();
        assert_eq!(state(&world, &store), old, "{name}");
        drop(store);
        let store = world.check(&[]);
        precious.iter().for_each(|bytes| world.assert_not_lost(&store, bytes));
    }
}

#[test]
fn a_link_above_is_never_followed() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    remove(&store, "d").unwrap();
    let id = newest(&store).change_id;
    std::fs::create_dir(world.base().join("outside")).unwrap();
    std::os::unix::fs::symlink(world.base().join("outside"), world.file("d")).unwrap();
    for others in [Others::Keep, Others::Overwrite] {
        assert!(store.restore(&Restore::Change(id), others).is_err());
    }
    assert_eq!(std::fs::read_dir(world.base().join("outside")).unwrap().count(), 0);
}

#[test]
fn where_a_content_is_gone_nothing_is_changed() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    append(&store, "a.md", "more\n").unwrap();
    append(&store, "b.md", "more\n").unwrap();
    let gone = version(&store, "b.md", 0);
    drop(store);
    let forge = "UPDATE version SET body = NULL WHERE path = 'b.md' AND operation = 0";
    verify::forge(&world.room("journal.db"), forge);
    let store = world.open();
    let old = state(&world, &store);
    let result = store.restore(&before(time, ""), Others::Keep);
    assert!(
        matches!(result, Err(Error::NoContent { id, why: NoContent::NotKept }) if id == gone),
        "{result:?}"
    );
    assert_eq!(state(&world, &store), old);
}

/// The bytes of a picture are not in the journal: they come out of `kept/`, or off the disk.
#[test]
fn what_is_no_text_comes_back_too() {
    const BINARY: &[u8] = b"\xff\xfe\0 not text";
    for change in [
        |s: &Store| remove(s, "d").unwrap(),
        |s: &Store| remove(s, "d/picture.png").unwrap(),
        |s: &Store| put(s, "d/picture.png", "text\n").unwrap(),
        |s: &Store| renames(s, &[("d/picture.png", "t"), ("a.md", "d/picture.png"), ("t", "a.md")]),
    ] {
        let world = World::new();
        let store = world.open();
        seed(&store);
        world.write("d/picture.png", BINARY);
        put(&store, "d/picture.png", "text\n").unwrap();
        restore(&store, &Restore::Change(newest(&store).change_id));
        let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
        let old = state(&world, &store);
        change(&store);
        restore(&store, &before(time, ""));
        assert_eq!(state(&world, &store), old);
        assert_eq!(world.read("d/picture.png").unwrap(), BINARY);
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn hidden_files_go_with_their_directory() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    world.write("d/.notes", "a person's\n");
    world.write("d/.deep/x", "a person's, too\n");
    let old = world.tree();
    remove(&store, "d").unwrap();
    restore(&store, &Restore::Change(newest(&store).change_id));
    assert_eq!(files(&world.tree()), files(&old));
    // A directory with something hidden in it is not empty.
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    put(&store, "e/new.md", "new\n").unwrap();
    world.write("e/.notes", "a person's\n");
    rename(&store, "d", "e/d").unwrap();
    restore(&store, &before(time, ""));
    assert_eq!(world.read("e/.notes").unwrap(), b"a person's\n");
    assert!(!world.file("e/new.md").exists() && !world.file("e/d").exists());
    assert_eq!(world.read("d/.notes").unwrap(), b"a person's\n");
}

fn files(tree: &Tree) -> Vec<(&String, &Node)> {
    tree.iter().filter(|(_, node)| matches!(node, Node::File(..))).collect()
}

#[test]
fn a_restore_bows_to_read_only_paths() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    append(&store, "a.md", "more\n").unwrap();
    let id = newest(&store).change_id;
    drop(store);
    std::fs::write(world.base().join("memdir.toml"), "read_only = [\"/memories/a.md\"]\n").unwrap();
    let store = world.open();
    assert!(matches!(store.restore(&Restore::Change(id), Others::Keep), Err(Error::ReadOnly { .. })));
}

#[test]
fn what_was_restored_is_the_reason_in_the_history() {
    let world = World::new();
    let store = world.open().with_actor(Actor::User("me".into()));
    seed(&store);
    let version = version(&store, "a.md", 0);
    append(&store, "a.md", "more\n").unwrap();
    restore(&store, &Restore::Version { path: path("a.md"), version });
    let newest = newest(&store);
    let words = format!("restore to {version}");
    assert_eq!((newest.reason, newest.created_by), (Some(words), Actor::User("me".into())));
}

/// Far more than one change may hold, and more files than descriptors.
#[test]
fn a_large_restore_is_made_in_parts_and_undone_as_one() {
    const FILES: usize = 5000;
    let world = World::new();
    let store = world.open();
    put(&store, "keep.md", "keep\n").unwrap();
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    let at = |n: usize| format!("all/{}/{n}.md", n % 40);
    let write = |n: usize| {
        let at = path(&at(n));
        move |_: &mut Snapshot<'_>| Ok::<_, Error>((vec![Edit::write(&at, format!("{n}\n"))], ()))
    };
    store.change_many((0..FILES).map(write).collect()).into_iter().for_each(|made| made.unwrap());
    let full = state(&world, &store);
    assert_eq!(full.0.len(), FILES + 1);

    let gone = restore(&store, &before(time, ""));
    assert_eq!(gone.memories.len(), FILES);
    assert_eq!(world.tree().len(), 2, "the root, and what was there before");
    let changes = |id: ChangeId| {
        let mut times: Vec<_> = versions(&store, &Log { change: Some(id), ..Log::default() })
            .iter()
            .map(|version| version.created_at)
            .collect();
        times.dedup();
        times.len()
    };
    assert_eq!(changes(gone.change_id.unwrap()), 1, "a directory goes as one");

    let back = restore(&store, &Restore::Change(gone.change_id.unwrap()));
    assert_eq!(state(&world, &store), full);
    assert_eq!(changes(back.change_id.unwrap()), FILES.div_ceil(512));

    restore(&store, &Restore::Change(back.change_id.unwrap()));
    assert_eq!(world.tree().len(), 2);
    drop(store);
    world.check(&[]);
}

/// Somebody writes all the time while a restore is made: what was acknowledged is in the history, whoever came first.
#[test]
fn nothing_that_others_write_meanwhile_is_lost() {
    let world = World::new();
    let store = world.open();
    for n in 0..1200 {
        put(&store, &format!("d/{n}.md"), format!("{n}\n")).unwrap();
        if n == 599 {
            store.sync().unwrap();
        }
    }
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    for n in 0..1200 {
        append(&store, &format!("d/{n}.md"), "more\n").unwrap();
    }
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let acknowledged = std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let mut acknowledged = Vec::new();
            for n in 0.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let line = format!("line {n}\n");
                append(&store, &format!("d/{}.md", 1199 - n % 1200), &line).unwrap();
                acknowledged.push((1199 - n % 1200, line));
            }
            acknowledged
        });
        restore(&store, &before(time, ""));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().unwrap()
    });
    let contents = look(&store, |session| session.journal.contents());
    let ends: std::collections::HashSet<(String, String)> = contents
        .into_iter()
        .map(|(path, _, bytes)| {
            let text = String::from_utf8(bytes).unwrap();
            (path, text.lines().last().map_or(String::new(), |line| format!("{line}\n")))
        })
        .collect();
    for (n, line) in acknowledged {
        assert!(ends.contains(&(format!("d/{n}.md"), line.clone())), "lost: {line}");
    }
    drop(store);
    world.check(&[]);
}

/// Random changes, and between them restores to random moments. With `MEMDIR_LONG` forty times as many histories.
#[test]
fn any_earlier_state_comes_back() {
    let mut made = [0; 3];
    for seed in 1..if is_long() { 801 } else { 21 } {
        let world = World::new();
        let store = world.open();
        let mut dice = super::invariants::Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 32);
        put(&store, "z.md", "z\n").unwrap();
        // Each state, and the version after which it was.
        let mut states = vec![(newest(&store).created_at, state(&world, &store))];
        for n in 0..60 {
            let names = ["a", "b", "d/a", "d/b", "d/e/a", "d", "e", "d/e", "f/a"];
            let mut name = || names[usize::try_from(dice.below(9)).unwrap()];
            let (at, to) = (name(), name());
            let text = format!("{} {at}\n", n % 3);
            // Many of these are refused; what counts is what is left.
            let others = if dice.below(2) == 0 { Others::Keep } else { Others::Overwrite };
            let _ = match dice.below(14) {
                0..4 => put(&store, at, &text),
                4 => append(&store, at, &text),
                5..7 => remove(&store, at),
                7..11 => rename(&store, at, to),
                11 => {
                    let (time, old) = &states[usize::try_from(dice.below(states.len() as u64)).unwrap()];
                    let after = *time + chrono::TimeDelta::microseconds(1);
                    let now = state(&world, &store);
                    let done = restore(&store, &before(after, ""));
                    assert_eq!(state(&world, &store), *old, "seed {seed}, {n}");
                    assert_eq!(done.memories.is_empty(), done.change_id.is_none(), "seed {seed}, {n}");
                    made[0] += 1;
                    if let Some(id) = done.change_id.filter(|_| dice.below(2) == 0) {
                        restore(&store, &Restore::Change(id));
                        assert_eq!(state(&world, &store), now, "seed {seed}, {n}: redone");
                    }
                    Ok(())
                }
                12 => {
                    let (time, old) = &states[usize::try_from(dice.below(states.len() as u64)).unwrap()];
                    let after = *time + chrono::TimeDelta::microseconds(1);
                    match store.restore(&before(after, at), others) {
                        Ok(_) => {
                            made[1] += 1;
                            let now = state(&world, &store);
                            assert_eq!(part(&now, at), part(old, at), "seed {seed}, {n}: {at}");
                        }
                        Err(Error::Taken { .. } | Error::Missing { .. }) => {}
                        Err(error) => panic!("seed {seed}, {n}: {at}: {error:?}"),
                    }
                    Ok(())
                }
                _ => {
                    let versions = versions(&store, &Log::default());
                    let id = versions[usize::try_from(dice.below(versions.len() as u64)).unwrap()].change_id;
                    match store.restore(&Restore::Change(id), others) {
                        Ok(_) => made[2] += 1,
                        Err(Error::Taken { .. }) => {}
                        Err(error) => panic!("seed {seed}, {n}: {id}: {error:?}"),
                    }
                    Ok(())
                }
            };
            states.push((newest(&store).created_at, state(&world, &store)));
        }
        drop(store);
        let store = world.check(&[]);
        assert_eq!(look(&store, |session| session.journal.outside()), [""; 0], "seed {seed}");
    }
    assert!(made.iter().all(|&made| made > 20), "{made:?}");
}

/// Whatever a directory holds, that it was renamed is undone by one rename.
#[test]
fn a_directory_of_many_files_goes_back_as_one() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let store = world.open();
    let write = |n: usize| {
        let at = path(&format!("d/{n}.md"));
        move |_: &mut Snapshot<'_>| Ok::<_, Error>((vec![Edit::write(&at, format!("{n}\n"))], ()))
    };
    store.change_many((0..2000).map(write).collect()).into_iter().for_each(|made| made.unwrap());
    world.write("d/.hidden", "a person's\n");
    let inode = std::fs::metadata(world.file("d")).unwrap().ino();
    rename(&store, "d", "e").unwrap();
    restore(&store, &Restore::Change(newest(&store).change_id));
    assert_eq!(std::fs::metadata(world.file("d")).unwrap().ino(), inode);
    assert_eq!(world.read("d/.hidden").unwrap(), b"a person's\n");
    assert!(!world.file("e").exists());
    // With a file that was edited since it is two changes, and still the same directory.
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    rename(&store, "d", "e").unwrap();
    append(&store, "e/7.md", "more\n").unwrap();
    remove(&store, "e/8.md").unwrap();
    restore(&store, &before(time, ""));
    assert_eq!(std::fs::metadata(world.file("d")).unwrap().ino(), inode);
    assert_eq!(
        (world.read("d/7.md").unwrap(), world.read("d/8.md").unwrap()),
        (b"7\n".to_vec(), b"8\n".to_vec())
    );
    drop(store);
    world.check(&[]);
}

fn story(name: &str) -> fn(&Store) {
    STORIES.iter().find(|story| story.0 == name).unwrap().1
}

/// A world with a past, and the moment to go back to.
fn with_story(past: fn(&Store)) -> (World, DateTime<Utc>, State) {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    let old = state(&world, &store);
    past(&store);
    drop(store);
    (world, time, old)
}

#[test]
fn a_restore_in_parts_that_a_crash_cuts_short_is_made_again() {
    for name in
        ["rename a directory, and edit in it", "directories change places", "rename into a new directory"]
    {
        for step in 0.. {
            let (world, time, old) = with_story(story(name));
            let store = world.open();
            crate::fail::crash_after(step);
            let crash = std::panic::AssertUnwindSafe(|| drop(restore(&store, &before(time, ""))));
            let _ = std::panic::catch_unwind(crash);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
            let is_over = crate::fail::survive();
            let store = world.check(&[]);
            restore(&store, &before(time, ""));
            assert_eq!(state(&world, &store), old, "{name}: {step}");
            drop(store);
            world.check(&[]);
            if is_over {
                break;
            }
        }
    }
}

/// With `MEMDIR_LONG` at every step, and not at every fifth.
#[test]
fn what_others_do_at_any_moment_of_a_restore_is_not_lost() {
    type Meddling = (&'static str, fn(&Path));
    let meddlings: &[Meddling] = &[
        ("write", |at| {
            let _ = std::fs::create_dir_all(at.parent().unwrap());
            let _ = std::fs::write(at, "theirs\n");
        }),
        ("replace", |at| {
            let aside = at.with_extension("swp");
            if std::fs::write(&aside, "theirs\n").is_ok() && std::fs::rename(&aside, at).is_err() {
                std::fs::remove_file(&aside).unwrap();
            }
        }),
        ("put a directory there", |at| {
            let _ = std::fs::remove_file(at).or_else(|_| std::fs::remove_dir_all(at));
            let _ = std::fs::create_dir_all(at);
            let _ = std::fs::write(at.join("in.md"), "theirs\n");
        }),
        ("remove", |at| drop(std::fs::remove_file(at).or_else(|_| std::fs::remove_dir_all(at)))),
    ];
    let stories = [
        ("two change places", ["a.md", "d/f.md"]),
        ("all move up by one", ["a.md", "c.md"]),
        ("a file where the directory was that it was in", ["d", "t/g.md"]),
        ("a directory where a file was that is in it", ["a.md", "a.md/x/a.md"]),
        ("several at once", ["a.md", "d/f.md"]),
        ("delete, and put another in its place", ["a.md", "b.md"]),
    ];
    let (mut made, mut refused) = (0, 0);
    for (name, places) in stories {
        for (i, (meddling, meddle)) in meddlings.iter().enumerate() {
            for place in places {
                let stride = if is_long() { 1 } else { 5 };
                for step in (i % stride..).step_by(stride) {
                    let (world, time, old) = with_story(story(name));
                    let store = world.open();
                    let new = state(&world, &store);
                    let (at, meddle) = (world.file(place), *meddle);
                    let (is_written, note_it) = (std::rc::Rc::default(), std::rc::Rc::clone);
                    let written: std::rc::Rc<std::cell::Cell<bool>> = note_it(&is_written);
                    crate::fail::interfere_after(step, move || {
                        meddle(&at);
                        let is_theirs = |at: &Path| std::fs::read(at).is_ok_and(|bytes| bytes == b"theirs\n");
                        written.set(is_theirs(&at) || is_theirs(&at.join("in.md")));
                    });
                    let result = store.restore(&before(time, ""), Others::Keep);
                    if crate::fail::was_left_alone() {
                        break;
                    }
                    let row = format!("{name}, {meddling} {place} at {step}: {result:?}");
                    drop(store);
                    let touched: Vec<String> =
                        new.1.keys().chain(old.1.keys()).filter(|at| is_near(at, place)).cloned().collect();
                    let lagging: Vec<&str> = touched.iter().map(String::as_str).collect();
                    let checked = std::panic::AssertUnwindSafe(|| world.check(&lagging));
                    let store = std::panic::catch_unwind(checked).unwrap_or_else(|_| panic!("{row}"));
                    if is_written.get() {
                        let kept =
                            std::panic::AssertUnwindSafe(|| world.assert_not_lost(&store, b"theirs\n"));
                        std::panic::catch_unwind(kept).unwrap_or_else(|_| panic!("{row}"));
                    }
                    if matches!(result, Err(Error::Unknown { .. })) {
                        continue;
                    }
                    let now = state(&world, &store);
                    let right = if result.is_ok() { &old } else { &new };
                    let far = |state: &State| {
                        let mut files = state.0.clone();
                        files.retain(|at, _| !is_near(at, place));
                        files
                    };
                    assert_eq!(far(&now), far(right), "{row}");
                    *(if result.is_ok() { &mut made } else { &mut refused }) += 1;
                }
            }
        }
    }
    assert!(made > 20 && refused > 20, "{made} made, {refused} refused");
}

/// Whether what happens at one path may be seen at the other.
fn is_near(a: &str, b: &str) -> bool {
    let (a, b) = (path(a), path(b));
    a == b || a.is_below(&b) || b.is_below(&a)
}

#[test]
fn memories_that_are_all_gone_come_back() {
    for is_change in [false, true] {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
        append(&store, "a.md", "more\n").unwrap();
        let id = newest(&store).change_id;
        let old = state(&world, &store);
        std::fs::remove_dir_all(world.base().join("memories")).unwrap();
        if is_change {
            // Of one file alone that is brought back what is asked for.
            restore(&store, &Restore::Change(id));
            assert_eq!(world.tree().keys().collect::<Vec<_>>(), ["", "a.md"]);
            restore(&store, &Restore::Change(newest(&store).change_id));
            let gone = versions(&store, &Log::default()).into_iter().find(|v| v.created_by == Actor::Outside);
            restore(&store, &Restore::Change(gone.unwrap().change_id));
            assert_eq!(state(&world, &store), old);
        } else {
            restore(&store, &before(time, ""));
            assert_eq!(world.read("a.md").unwrap(), b"a\n");
            assert_eq!(state(&world, &store).1, old.1);
        }
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn what_others_did_is_taken_in_first_and_undone_with_the_rest() {
    for at in ["", "b.md", "d"] {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
        let old = state(&world, &store);
        world.write("a.md", "a person's\n");
        world.write("d/new.md", "a person's, too\n");
        std::fs::rename(world.file("b.md"), world.file("d/c.md")).unwrap();
        std::fs::remove_file(world.file("d/f.md")).unwrap();
        restore(&store, &before(time, at));
        let now = state(&world, &store);
        match at {
            "" => assert_eq!(now, old),
            "b.md" => assert_eq!((&now.0["b.md"], now.1["b.md"]), (&old.0["b.md"], old.1["b.md"])),
            _ => assert_eq!(part(&now, "d"), part(&old, "d")),
        }
        drop(store);
        let lagging: &[&str] = if at.is_empty() { &[] } else { &["a.md", "d/f.md"] };
        let store = if at == "b.md" { world.open() } else { world.check(lagging) };
        world.assert_not_lost(&store, b"a person's\n");
        world.assert_not_lost(&store, b"a person's, too\n");
    }
}

#[test]
fn what_was_redacted_or_pruned_does_not_come_back_and_nothing_else_with_it() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let time = newest(&store).created_at + chrono::TimeDelta::microseconds(1);
    append(&store, "a.md", "more\n").unwrap();
    append(&store, "b.md", "more\n").unwrap();
    remove(&store, "d/f.md").unwrap();
    let (first, deletion) = (version(&store, "a.md", 0), newest(&store).id);
    store.redact(&[first, deletion]).unwrap();
    let now = state(&world, &store);
    for what in [before(time, ""), Restore::Version { path: path("a.md"), version: first }] {
        let result = store.restore(&what, Others::Keep);
        let is_right =
            matches!(result, Err(Error::NoContent { id, why: NoContent::Redacted }) if id == first);
        assert!(is_right, "{result:?}");
        assert_eq!(state(&world, &store), now);
    }
    // That its deletion is redacted keeps no memory from coming back.
    restore(&store, &before(time, "d"));
    assert_eq!(world.read("d/f.md").unwrap(), b"d\n");
    for n in 0..15 {
        append(&store, "b.md", &format!("{n}\n")).unwrap();
    }
    store.prune_history(&crate::version::Keep { versions: Some(10), ..Default::default() }).unwrap();
    let result = store.restore(&before(time, "b.md"), Others::Keep);
    assert!(matches!(&result, Err(Error::TooEarly { path }) if path.as_str() == "b.md"), "{result:?}");
    drop(store);
    world.check(&[]);
}
