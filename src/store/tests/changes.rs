//! What becomes of the memories is told to whoever waits, once, whoever did it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::store::{Changes, Happened};

/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(60);

/// What is told next.
fn told(changes: &mut Changes, most: Duration) -> Vec<String> {
    let word = |changed: crate::store::Changed| match changed.what {
        Happened::Made => format!("made {}", changed.path.as_str()),
        Happened::Edited => format!("edited {}", changed.path.as_str()),
        Happened::Moved { from } => format!("moved {} {}", from.as_str(), changed.path.as_str()),
        Happened::Removed => format!("removed {}", changed.path.as_str()),
    };
    changes.next(most).unwrap().into_iter().map(word).collect()
}

/// Looks now: nothing is to be told.
fn nothing_is_new(changes: &mut Changes, name: &str) {
    assert_eq!(changes.look().unwrap(), [], "{name}");
}

/// A store with some memories, and who follows what becomes of them.
fn followed(world: &World) -> (Store, Changes) {
    let store = world.open();
    for at in ["a.md", "d/b.md", "d/sub/c.md"] {
        put(&store, at, at).unwrap();
    }
    let changes = store.changes().unwrap();
    (store, changes)
}

#[test]
fn what_anybody_does_is_told_once() {
    type Case = (&'static str, fn(&World, &Store), &'static [&'static str]);
    let cases: &[Case] = &[
        ("this process", |_, store| put(store, "new.md", "x").unwrap(), &["made new.md"]),
        (
            "this process removes",
            |_, store| remove(store, "d").unwrap(),
            &["removed d/b.md", "removed d/sub/c.md"],
        ),
        ("another process", |world, _| append(&world.open(), "a.md", "x").unwrap(), &["edited a.md"]),
        (
            "another process moves",
            |world, _| rename(&world.open(), "a.md", "d/a.md").unwrap(),
            &["moved a.md d/a.md"],
        ),
        ("an editor", |world, _| world.write("a.md", "theirs"), &["edited a.md"]),
        (
            "an editor that renames",
            |world, _| {
                world.write(".a.md.swp", "theirs");
                std::fs::rename(world.file(".a.md.swp"), world.file("a.md")).unwrap();
            },
            &["edited a.md"],
        ),
        ("mkdir -p", |world, _| world.write("x/y/z.md", "theirs"), &["made x/y/z.md"]),
        ("rm", |world, _| std::fs::remove_file(world.file("a.md")).unwrap(), &["removed a.md"]),
        (
            "mv of a directory",
            |world, _| std::fs::rename(world.file("d"), world.file("e")).unwrap(),
            &["moved d/b.md e/b.md", "moved d/sub/c.md e/sub/c.md"],
        ),
    ];
    for &(name, act, right) in cases {
        let world = World::new();
        let (store, mut changes) = followed(&world);
        nothing_is_new(&mut changes, name);
        act(&world, &store);
        assert_eq!(told(&mut changes, LONG), right, "{name}");
        nothing_is_new(&mut changes, name);
    }
}

#[test]
fn it_may_be_waited_for_without_an_end() {
    let world = World::new();
    let (store, mut changes) = followed(&world);
    put(&store, "new.md", "x").unwrap();
    assert_eq!(told(&mut changes, Duration::MAX), ["made new.md"]);
}

#[test]
fn what_another_took_in_is_told_all_the_same() {
    let world = World::new();
    let (store, mut changes) = followed(&world);
    let mut others = store.changes().unwrap();
    world.write("a.md", "theirs");
    store.notice().unwrap();
    assert_eq!(told(&mut changes, LONG), ["edited a.md"]);
    assert_eq!(told(&mut others, LONG), ["edited a.md"]);
}

#[test]
fn where_nothing_is_watched_it_is_looked_for() {
    let world = World::new();
    drop(world.open());
    // Where the watch would make its files there is one.
    std::fs::create_dir_all(world.room("index")).unwrap();
    std::fs::write(world.room("index/cookie"), "").unwrap();
    let (store, mut changes) = followed(&world);
    assert!(!store.is_watched());
    world.write("d/b.md", "theirs");
    assert_eq!(told(&mut changes, LONG), ["edited d/b.md"]);
    // From when it can be watched it is, unless it was found to be too much not long ago.
    std::fs::remove_file(world.room("index/cookie")).unwrap();
    let later = std::time::Instant::now() + LONG;
    lock(&store.inner.noticed).watchable = Some(later);
    store.watch().unwrap();
    assert!(!store.is_watched());
    lock(&store.inner.noticed).watchable = None;
    put(&store, "a.md", "ours").unwrap();
    assert_eq!(told(&mut changes, LONG), ["edited a.md"]);
    assert!(store.is_watched());
}

#[test]
fn what_a_gap_hides_is_told() {
    let world = World::new();
    let (store, mut changes) = followed(&world);
    // Of what was removed nothing is left.
    remove(&store, "a.md").unwrap();
    put(&store, "d/b.md", "new").unwrap();
    put(&store, "new.md", "new").unwrap();
    let keep = crate::version::Keep { age: Some(Duration::ZERO), ..Default::default() };
    store.prune_history(&keep).unwrap();
    assert_eq!(told(&mut changes, LONG), ["removed a.md", "edited d/b.md", "made new.md"]);
    // Another journal.
    drop(store.forget().unwrap());
    let store = world.open();
    put(&store, "other.md", "new").unwrap();
    let mut all = told(&mut changes, LONG);
    if all.len() < 4 {
        all.extend(told(&mut changes, LONG));
    }
    assert_eq!(all, ["removed d/b.md", "removed d/sub/c.md", "removed new.md", "made other.md"]);
}

#[test]
fn the_whole_memory_goes_and_another_comes() {
    let world = World::new();
    let (_store, mut changes) = followed(&world);
    std::fs::remove_dir_all(world.file("")).unwrap();
    world.write("new.md", "theirs");
    let mut all = BTreeSet::new();
    while all.len() < 4 {
        let more = told(&mut changes, LONG);
        assert!(!more.is_empty(), "only {all:?}");
        all.extend(more);
    }
    let right = ["made new.md", "removed a.md", "removed d/b.md", "removed d/sub/c.md"];
    assert_eq!(all, right.map(str::to_owned).into());
}
