//! The reader that is kept between two questions: who asks again has it, and nobody who erases has to do with it.

use super::erase::{all, found};
use super::history::log;
use super::*;
use crate::store::Erasure;
use crate::version::{Keep, Log, Operation};

/// How many descriptors this process has of the store's journal, which may have lost its name.
fn open_journals(world: &World) -> usize {
    let journal = world.room("journal.db");
    let name = journal.to_str().unwrap();
    let links =
        std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    links.filter(|link| link.to_str().is_some_and(|link| link.trim_end_matches(" (deleted)") == name)).count()
}

#[test]
fn who_reads_again_sees_what_came_meanwhile() {
    let world = World::new();
    let (store, other) = (world.open(), world.open());
    for n in 1..4 {
        put(&store, "a.md", n.to_string()).unwrap();
        assert_eq!(all(&store).len(), 2 * n - 1);
        put(&other, "b.md", n.to_string()).unwrap();
        let frozen = store.history().unwrap();
        frozen.freeze().unwrap();
        assert_eq!(all(&store).len(), 2 * n);
    }
    assert!(store.spare().upgrade().is_some_and(|spare| spare.take().is_some()), "one is kept");
}

#[cfg(target_os = "linux")]
#[test]
fn who_only_reads_keeps_nothing_open() {
    let world = World::new();
    put(&world.open(), "a.md", "1").unwrap();
    let store = world.open();
    assert_eq!(all(&store).len(), 1);
    assert_eq!(open_journals(&world), 0);
}

#[test]
fn a_reader_that_is_kept_is_in_the_way_of_no_erasure() {
    let world = World::new();
    let (store, other) = (world.open(), world.open());
    let read = || {
        let history = store.history().unwrap();
        history.freeze().unwrap();
        log(&history, &Log::default())
    };
    for eraser in [&store, &other] {
        put(&store, "a.md", "CANARY").unwrap();
        let id = read()[0].id;
        put(&store, "a.md", "2").unwrap();
        read();
        assert_eq!(eraser.redact(&[id]).unwrap().erasure, Erasure::Done);
        assert_eq!(found(&world, "CANARY"), [""; 0]);
    }
    put(&store, "b.md", "PLENTY").unwrap();
    for n in 0..20 {
        put(&store, "b.md", n.to_string()).unwrap();
    }
    read();
    let keep = Keep { versions: Some(10), ..Keep::default() };
    assert_eq!(other.prune_history(&keep).unwrap().erasure, Erasure::Done);
    assert_eq!(found(&world, "PLENTY"), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_forgotten_is_held_open_by_no_reader() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    all(&store).len();
    let late = store.history().unwrap();
    store.forget().unwrap();
    assert_eq!(late.head(&path("a.md")).unwrap().map(|version| version.operation), Some(Operation::Created));
    drop(late);
    assert_eq!(open_journals(&world), 0);
    put(&store, "b.md", "1").unwrap();
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn a_journal_in_the_place_of_another_is_read_by_another_reader() {
    let world = World::new();
    let (store, other) = (world.open(), world.open());
    put(&store, "a.md", "1").unwrap();
    put(&store, "a.md", "2").unwrap();
    assert_eq!(all(&store).len(), 2);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = std::fs::remove_file(world.room(name));
    }
    put(&other, "b.md", "1").unwrap();
    let paths: Vec<_> = all(&store).into_iter().filter_map(|version| version.path).collect();
    assert_eq!(paths, [path("b.md")]);
}
