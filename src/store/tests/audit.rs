//! What an audit of the journal finds, and that nothing in a damaged one ends it.

use super::*;
use crate::journal::Verified;
use crate::store::Actor;
use crate::version::Keep;

/// A store with two memories, a redaction, a withdrawal and an anchor.
fn busy(world: &World) {
    let store = world.open();
    for n in 0..14 {
        put(&store, "a.md", "line\n".repeat(50 + n)).unwrap();
    }
    put(&store, "d/b.md", "b").unwrap();
    append(&store, "d/b.md", "b").unwrap();
    rename(&store, "d", "e").unwrap();
    let first = store.history().unwrap().head(&path("e/b.md")).unwrap().unwrap();
    remove(&store, "e").unwrap();
    store.redact(&[first.id]).unwrap();
    store.prune_history(&Keep { versions: Some(12), ..Keep::default() }).unwrap();
}

fn audit(world: &World) -> Verified {
    let store = world.open();
    store.history().unwrap().journal().verify(&mut |_, _| ()).unwrap()
}

#[test]
fn a_sound_journal_has_no_problems_and_a_head() {
    let world = World::new();
    assert_eq!(audit(&world).head, Hash([0; 32]));
    busy(&world);
    let mut last = (0, 0);
    let history = world.open().history().unwrap();
    let mut progress = |done, total| {
        assert!(last.0 <= done && done <= total);
        last = (done, total);
    };
    let sound = history.journal().verify(&mut progress).unwrap();
    assert_eq!(sound.problems, []);
    assert_eq!((sound.versions, sound.wrong), (16, 0));
    assert_eq!(last, (16, 16));
    let head = sound.head;
    drop(history);
    let store = world.open();
    put(&store, "new.md", "1").unwrap();
    drop(store);
    assert_ne!(audit(&world).head, head);
}

#[test]
fn whatever_is_altered_is_found() {
    for (sql, kind, problem) in [
        (
            "UPDATE version SET path = 'x' WHERE n = 5",
            "chain",
            "its path or its hash is not what was recorded",
        ),
        (
            "UPDATE version SET sha256 = zeroblob(32) WHERE n = 5",
            "chain",
            "its path or its hash is not what was recorded",
        ),
        (
            "UPDATE version SET leaf = zeroblob(32) WHERE n = 18",
            "chain",
            "its link to the version before it does not hold",
        ),
        (
            "UPDATE version SET operation = 0 WHERE n = 5",
            "chain",
            "its link to the version before it does not hold",
        ),
        (
            "UPDATE version SET size = 9 WHERE n = 5",
            "chain",
            "its link to the version before it does not hold",
        ),
        (
            "UPDATE change SET at = at + 1 WHERE seq = 5",
            "chain",
            "its link to the version before it does not hold",
        ),
        (
            "UPDATE version SET chain = zeroblob(32) WHERE n = 5",
            "chain",
            "its link to the version before it does not hold",
        ),
        ("DELETE FROM version WHERE n = 5", "chain", "the version before it is missing"),
        ("DELETE FROM anchor", "chain", "the 2 versions before it are missing"),
        (
            "UPDATE anchor SET last = 3",
            "chain",
            "the record of removed versions before it (1 to 3) does not fit",
        ),
        (
            "UPDATE anchor SET chain = zeroblob(32)",
            "chain",
            "its link to the version before it does not hold",
        ),
        (
            "INSERT INTO anchor VALUES (19, 20, zeroblob(32))",
            "chain",
            "there is a record of removed versions (19 to 20) after the newest one",
        ),
        ("DELETE FROM redaction", "chain", "its path is gone, and it was not redacted"),
        (
            "INSERT INTO redaction VALUES (5, 0, 0, NULL)",
            "chain",
            "it was redacted, and still has a path or a hash",
        ),
        ("DELETE FROM memory WHERE n = 1", "chain", "its memory or its change is gone"),
        ("DELETE FROM change WHERE seq = 5", "chain", "its memory or its change is gone"),
        (
            "UPDATE body SET bytes = CAST('x' || substr(bytes, 2) AS BLOB) WHERE n = 5",
            "content",
            "its content is not what its hash says",
        ),
        ("DELETE FROM body WHERE n = 5", "content", "its content cannot be read"),
        ("UPDATE body SET base = 9 WHERE n = 5", "content", "its content cannot be read"),
        (
            "UPDATE memory SET path = 'x' WHERE n = 1",
            "database",
            "it is the newest version of a memory that says something else",
        ),
        (
            "UPDATE version SET prev = 7 WHERE n = 5",
            "database",
            "it is not where its memory's history has it",
        ),
        ("UPDATE version SET prev = NULL WHERE n = 7", "database", "4 versions are in no memory's history"),
        ("UPDATE memory SET live = 1, path = 'a.md', head = 14", "database", "two memories are there"),
        (
            "PRAGMA ignore_check_constraints = 1; PRAGMA writable_schema = 1;
             UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'version';
             PRAGMA writable_schema = RESET; UPDATE version SET size = 'much' WHERE n = 5",
            "database",
            "it cannot be read: Invalid column type Text at index: 5, name: size",
        ),
    ] {
        let world = World::new();
        busy(&world);
        verify::forge(&world.room("journal.db"), sql);
        let found = audit(&world);
        let has = |p: &crate::journal::Problem| p.kind == kind && p.what == problem;
        assert!(found.problems.iter().any(has), "{sql}: {:#?}", found.problems);
        assert!(found.wrong >= 1);
    }
}

#[test]
fn a_damaged_journal_ends_no_audit() {
    let world = World::new();
    busy(&world);
    let journal = world.room("journal.db");
    let sound = std::fs::read(&journal).unwrap();
    let (mut refused, mut found) = (0, 0);
    for at in (100..sound.len()).step_by(if is_long() { 61 } else { 211 }) {
        let mut bytes = sound.clone();
        let end = (at + 8).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        std::fs::write(&journal, bytes).unwrap();
        match crate::journal::Reader::open(&journal) {
            Ok(Some(reader)) => match reader.history().verify(&mut |_, _| ()) {
                Ok(verified) => found += u64::from(verified.wrong > 0),
                Err(_) => refused += 1,
            },
            _ => refused += 1,
        }
    }
    // What is hit lies in no row now and then.
    assert!(found > 20, "{found} found, {refused} refused");
}

#[test]
fn a_hundred_problems_are_enough() {
    let world = World::new();
    let store = world.open();
    for n in 0..120 {
        put(&store, "a.md", format!("{n}")).unwrap();
    }
    drop(store);
    verify::forge(&world.room("journal.db"), "UPDATE version SET path = 'x'; UPDATE memory SET path = 'x'");
    let found = audit(&world);
    assert_eq!((found.problems.len(), found.wrong, found.versions), (100, 120, 120));
}

#[test]
fn figures_are_told() {
    let world = World::new();
    let store = world.open();
    assert_eq!(store.history().unwrap().stats().unwrap().span, None);
    drop(store);
    let world = World::new();
    busy(&world);
    let store = world.open().with_actor(Actor::User("ada".into()));
    put(&store, "c.md", "123").unwrap();
    let stats = store.history().unwrap().stats().unwrap();
    assert_eq!((stats.memories, stats.bytes, stats.deleted), (2, 63 * 5 + 3, 1));
    assert_eq!((stats.versions, stats.redacted, stats.changes), (17, 1, 17));
    assert_eq!(stats.actors, [(Actor::Agent(String::new()), 16), (Actor::User("ada".into()), 1)]);
    let (first, last) = stats.span.unwrap();
    assert!(first < last);
    assert!(stats.journal_bytes > 10_000);
}
