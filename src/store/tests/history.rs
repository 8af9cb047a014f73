//! What the history tells, and what stays of it after redactions and retention.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use chrono::{DateTime, TimeDelta, Utc};

use super::*;
use crate::error::NoContent;
use crate::id::VersionId;
use crate::store::{Actor, History};
use crate::version::{ActorFilter, Log, Operation, Version};

/// What a log says, newest first.
pub(super) fn log(history: &History, log: &Log) -> Vec<Version> {
    let mut versions = Vec::new();
    let mut each = |version| {
        versions.push(version);
        Ok(ControlFlow::Continue(()))
    };
    history.versions(log, &mut each).unwrap();
    versions
}

/// Each version in a word or two: `created a.md`.
pub(super) fn words(versions: &[Version]) -> Vec<String> {
    let word = |v: &Version| match &v.path {
        Some(path) => format!("{} {}", v.operation.as_str(), path.as_str()),
        None => format!("{} redacted", v.operation.as_str()),
    };
    versions.iter().map(word).collect()
}

pub(super) fn at(path: &str) -> Log {
    Log { path: Some(super::path(path)), ..Log::default() }
}

#[test]
fn a_memory_is_found_by_every_path_that_it_had() {
    let world = World::new();
    let store = world.open();
    put(&store, "d/a.md", "1").unwrap();
    put(&store, "other.md", "1").unwrap();
    rename(&store, "d", "e").unwrap();
    rename(&store, "e/a.md", "b.md").unwrap();
    append(&store, "b.md", "2").unwrap();
    remove(&store, "b.md").unwrap();
    put(&store, "b.md", "a new one").unwrap();
    let history = store.history().unwrap();
    let all = ["deleted b.md", "modified b.md", "modified b.md", "modified e/a.md", "created d/a.md"];
    for path in ["d/a.md", "e/a.md"] {
        assert_eq!(words(&log(&history, &at(path))), all, "{path}");
    }
    let both: Vec<_> = std::iter::once("created b.md").chain(all).collect();
    assert_eq!(words(&log(&history, &at("b.md"))), both);
    // Of a directory only what was in it, until it went away.
    assert_eq!(words(&log(&history, &at("d"))), ["modified e/a.md", "created d/a.md"]);
    assert_eq!(words(&log(&history, &at("e"))), ["modified b.md", "modified e/a.md"]);
    assert_eq!(log(&history, &at("nowhere")), []);
    assert_eq!(log(&history, &at("")).len(), 7);
    // One id through all of it.
    let ids: BTreeSet<_> = log(&history, &at("d/a.md")).iter().map(|v| v.memory_id).collect();
    assert_eq!(ids.len(), 1);
}

#[test]
fn every_question_is_answered_as_by_looking_through_all_of_it() {
    let world = World::new();
    let store = world.open();
    let people = [Actor::Agent("planner".into()), Actor::User("ada".into()), Actor::Agent("ada".into())];
    let names = ["a.md", "b.md", "d/a.md", "d/b.md", "d", "e"];
    let mut dice = 7_u64;
    let mut roll = |n: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(dice >> 33).unwrap() % n
    };
    for n in 0..120 {
        let store = store.with_actor(people[roll(3)].clone());
        let (from, to) = (names[roll(6)], names[roll(6)]);
        let _ = match roll(6) {
            0..3 => put(&store, from, format!("{n}")),
            3 => remove(&store, from),
            4 => rename(&store, from, to),
            _ => std::fs::write(world.file(from), format!("outside {n}")).map_err(|e| Error::read("", e)),
        };
    }
    let history = store.history().unwrap();
    let all = log(&history, &Log::default());
    assert!(all.len() > 60, "{}", all.len());
    assert!(all.is_sorted_by(|a, b| a.n > b.n));
    let middle = all[all.len() / 2].clone();
    let mut questions = vec![
        Log { since: Some(middle.created_at), ..Log::default() },
        Log { before: Some(middle.created_at), ..Log::default() },
        Log { since: Some(middle.created_at + TimeDelta::nanoseconds(1)), ..Log::default() },
        Log { before: Some(middle.created_at + TimeDelta::nanoseconds(1)), ..Log::default() },
        Log { since: Some(DateTime::<Utc>::MAX_UTC), ..Log::default() },
        Log { before: Some(DateTime::<Utc>::MIN_UTC), ..Log::default() },
        Log { after: Some(middle.id), ..Log::default() },
        Log { memory: Some(middle.memory_id), ..Log::default() },
        Log { change: Some(middle.change_id), ..Log::default() },
    ];
    for actor in
        [ActorFilter::Agents, ActorFilter::Users, ActorFilter::Outside, ActorFilter::Named("ada".into())]
    {
        questions.push(Log { actor: Some(actor), ..Log::default() });
    }
    for operation in [Operation::Created, Operation::Modified, Operation::Deleted] {
        questions.push(Log { operation: Some(operation), ..Log::default() });
    }
    let alone = questions.clone();
    for path in names {
        questions.extend(alone.iter().map(|log| Log { path: Some(super::path(path)), ..log.clone() }));
    }
    for question in questions {
        let right: Vec<_> = all.iter().filter(|v| is_asked_for(&question, v, &all)).cloned().collect();
        assert_eq!(log(&history, &question), right, "{question:?}");
    }
}

/// What [`Log`] says, word for word.
fn is_asked_for(log: &Log, version: &Version, all: &[Version]) -> bool {
    let is_at = |path: &MemoryPath| {
        let at = version.path.as_ref().unwrap();
        let from = all.iter().find(|v| Some(v.n) == version.prev).and_then(|v| v.path.as_ref());
        at == path
            || at.is_below(path)
            || from.is_some_and(|from| from.is_below(path))
            || all.iter().any(|v| v.memory == version.memory && v.path.as_ref() == Some(path))
    };
    let is_by = |actor: &ActorFilter| match (actor, &version.created_by) {
        (ActorFilter::Agents, Actor::Agent(_))
        | (ActorFilter::Users, Actor::User(_))
        | (ActorFilter::Outside, Actor::Outside) => true,
        (ActorFilter::Named(name), Actor::Agent(by) | Actor::User(by)) => name == by,
        _ => false,
    };
    log.path.as_ref().is_none_or(is_at)
        && log.memory.is_none_or(|memory| memory == version.memory_id)
        && log.change.is_none_or(|change| change == version.change_id)
        && log.actor.as_ref().is_none_or(is_by)
        && log.operation.is_none_or(|operation| operation == version.operation)
        && log.since.is_none_or(|since| version.created_at >= since)
        && log.before.is_none_or(|before| version.created_at < before)
        && log.after.is_none_or(|after| version.n < all.iter().find(|v| v.id == after).unwrap().n)
}

#[test]
fn a_version_is_read_by_its_id() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "one\n").unwrap();
    append(&store, "a.md", "two\n").unwrap();
    remove(&store, "a.md").unwrap();
    let history = store.history().unwrap();
    let versions = log(&history, &at("a.md"));
    assert_eq!(history.version(versions[1].id).unwrap(), versions[1]);
    assert_eq!(**history.content(versions[1].id).unwrap(), *b"one\ntwo\n");
    assert_eq!(**history.content(versions[2].id).unwrap(), *b"one\n");
    let deletion = history.content(versions[0].id).unwrap_err();
    assert!(matches!(deletion, Error::NoContent { why: NoContent::Deleted, .. }), "{deletion:?}");
    let id = VersionId(crate::id::new_ulid(0));
    assert!(matches!(history.version(id), Err(Error::NoVersion { .. })));
    assert!(matches!(history.content(id), Err(Error::NoVersion { .. })));
    let after = Log { after: Some(id), ..Log::default() };
    assert!(matches!(history.versions(&after, &mut |_| unreachable!()), Err(Error::NoVersion { .. })));
    assert_eq!(history.head(&super::path("a.md")).unwrap(), None);
}

#[test]
fn bytes_that_the_journal_does_not_hold_are_read_where_they_were_put() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "text").unwrap();
    world.write("a.md", b"\xff\xfe no text");
    remove(&store, "a.md").unwrap();
    let history = store.history().unwrap();
    let versions = log(&history, &at("a.md"));
    assert_eq!(words(&versions), ["deleted a.md", "modified a.md", "created a.md"]);
    assert_eq!(versions[1].created_by, Actor::Outside);
    assert_eq!(**history.content(versions[1].id).unwrap(), *b"\xff\xfe no text");
    std::fs::remove_dir_all(world.room("kept")).unwrap();
    let gone = history.content(versions[1].id).unwrap_err();
    assert!(matches!(gone, Error::NoContent { why: NoContent::NotKept, .. }), "{gone:?}");
}

#[test]
fn a_history_is_read_beside_changes_and_can_be_frozen() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    let (living, frozen) = (store.history().unwrap(), store.history().unwrap());
    frozen.freeze().unwrap();
    let mut seen = 0;
    let mut each = |_| {
        append(&store, "a.md", "+").unwrap();
        seen += 1;
        Ok(ControlFlow::Continue(()))
    };
    living.versions(&Log::default(), &mut each).unwrap();
    assert_eq!(seen, 1, "what is added meanwhile is not in it");
    assert_eq!(log(&living, &Log::default()).len(), 2);
    assert_eq!(log(&frozen, &Log::default()).len(), 1);
}

/// What makes a journal of format 2 one of format 1.
const TO_FORMAT_1: &str = "DROP INDEX change_withdrawn; DROP TABLE place; DROP TABLE redaction; DROP TABLE anchor; DROP TABLE warning; PRAGMA user_version = 1;";

#[test]
fn a_journal_of_format_1_is_brought_up_to_date() {
    for reads_first in [true, false] {
        let world = World::new();
        let store = world.open();
        put(&store, "a.md", "1").unwrap();
        rename(&store, "a.md", "b.md").unwrap();
        let right = log(&store.history().unwrap(), &at("a.md"));
        drop(store);
        verify::forge(&world.room("journal.db"), TO_FORMAT_1);
        let store = world.open();
        if !reads_first {
            put(&store, "c.md", "3").unwrap();
        }
        assert_eq!(log(&store.history().unwrap(), &at("a.md")), right);
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn a_store_without_a_journal_has_an_empty_history() {
    let world = World::new();
    let store = world.open();
    world.write("a.md", "by hand");
    assert_eq!(log(&store.history().unwrap(), &Log::default()), []);
    world.check(&[]);
}

#[test]
fn a_newer_journal_is_not_read() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    drop(store);
    verify::forge(&world.room("journal.db"), "PRAGMA user_version = 999");
    let error = world.open().history().unwrap_err();
    assert!(matches!(error, Error::NewerJournal { found: 999, known: 2 }), "{error:?}");
}

/// The targets of a restore: `path now < path then`, with the number of versions since.
fn targets(found: &[crate::journal::Target]) -> Vec<(Option<String>, Option<String>, u64)> {
    let path = |v: &Version| v.path.as_ref().map(|path| path.as_str().to_owned());
    let now = |v: &Version| path(v).filter(|_| v.operation != Operation::Deleted);
    let mut targets: Vec<_> =
        found.iter().map(|t| (now(&t.now), t.then.as_ref().and_then(path), t.since)).collect();
    targets.sort();
    targets
}

fn target(now: Option<&str>, then: Option<&str>, since: u64) -> (Option<String>, Option<String>, u64) {
    (now.map(str::to_owned), then.map(str::to_owned), since)
}

#[test]
fn what_differs_from_then_is_known() {
    let world = World::new();
    let store = world.open();
    for path in ["same.md", "edited.md", "d/moved.md", "d/removed.md", "d/back.md"] {
        put(&store, path, "then").unwrap();
    }
    remove(&store, "d/back.md").unwrap();
    let before = log(&store.history().unwrap(), &Log::default())[0].created_at;
    let time = before.timestamp_micros() + 1;
    put(&store, "edited.md", "now").unwrap();
    append(&store, "edited.md", "!").unwrap();
    append(&store, "same.md", "!").unwrap();
    put(&store, "same.md", "then").unwrap();
    rename(&store, "d/moved.md", "moved.md").unwrap();
    remove(&store, "d/removed.md").unwrap();
    put(&store, "d/new.md", "now").unwrap();
    put(&store, "d/brief.md", "now").unwrap();
    remove(&store, "d/brief.md").unwrap();
    let history = store.history().unwrap();
    let since =
        |path: &str, time: i64| targets(&history.journal().changed_since(&super::path(path), time).unwrap());
    let moved = target(Some("moved.md"), Some("d/moved.md"), 1);
    let removed = target(None, Some("d/removed.md"), 1);
    let new = target(Some("d/new.md"), None, 1);
    let edited = target(Some("edited.md"), Some("edited.md"), 2);
    let all = [removed.clone(), new.clone(), edited.clone(), moved.clone()];
    assert_eq!(since("", time), all);
    assert_eq!(since("d", time), [removed, new.clone(), moved.clone()]);
    assert_eq!(since("moved.md", time), std::slice::from_ref(&moved));
    assert_eq!(since("d/moved.md", time), [moved]);
    assert_eq!(since("d/new.md", time), [new]);
    assert_eq!(since("same.md", time), []);
    assert_eq!(since("d", i64::MAX), []);
    let everything = since("", 0);
    assert!(everything.iter().all(|(_, then, _)| then.is_none()), "{everything:?}");
    assert_eq!(everything.len(), 4);
}

#[test]
fn what_a_change_did_is_known() {
    let world = World::new();
    let store = world.open();
    put(&store, "d/a.md", "a").unwrap();
    put(&store, "d/b.md", "b").unwrap();
    rename(&store, "d", "e").unwrap();
    append(&store, "e/a.md", "later").unwrap();
    remove(&store, "e").unwrap();
    let history = store.history().unwrap();
    let versions = log(&history, &Log::default());
    let by = |n: usize| targets(&history.journal().changed_by(versions[n].change_id).unwrap().unwrap());
    let (a, b) = (target(None, Some("e/a.md"), 1), target(None, Some("e/b.md"), 1));
    assert_eq!(by(0), [a, b], "the removal");
    assert_eq!(by(2), [target(None, Some("e/a.md"), 2)], "the edit");
    assert_eq!(by(3), [target(None, Some("d/a.md"), 3), target(None, Some("d/b.md"), 2)], "the renaming");
    assert_eq!(by(5), [], "one that made what is gone");
    let unknown = crate::id::ChangeId(crate::id::new_ulid(0));
    assert_eq!(history.journal().changed_by(unknown).unwrap(), None);
}

#[test]
fn a_change_in_parts_is_one_whatever_the_clock_said_when_it_began() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "before").unwrap();
    let days = |n: i64| Utc::now().timestamp_micros() + n * 86_400_000_000;
    for began in [days(-30), days(0), days(30)] {
        let id = crate::id::ChangeId(crate::id::new_ulid(began));
        look(&store, |session| {
            let steps = [written("a.md", "1"), written("b.md", "2"), written("a.md", "3")];
            for steps in steps.chunks(1) {
                let record =
                    crate::journal::Record { by: &Actor::Outside, reason: None, id: Some(id), steps };
                session.journal.commit(session.core.now(), &[record]).unwrap();
            }
        });
        let history = store.history().unwrap();
        let own = log(&history, &Log { change: Some(id), ..Log::default() });
        assert_eq!(own.iter().map(|v| v.change_id).collect::<Vec<_>>(), [id, id, id]);
        let targets = history.journal().changed_by(id).unwrap().unwrap();
        let since: Vec<_> = targets.iter().map(|t| (t.now.path.clone().unwrap(), t.since)).collect();
        assert!(since.contains(&(super::path("a.md"), 2)), "{since:?}");
        look(&store, |session| {
            let steps = [written("a.md", "before"), written("b.md", &began.to_string())];
            let record =
                crate::journal::Record { by: &Actor::Outside, reason: None, id: None, steps: &steps };
            session.journal.commit(session.core.now(), &[record]).unwrap();
        });
    }
    assert_eq!(store.history().unwrap().stats().unwrap().changes, 7);
}

/// New content, as a step of a change.
fn written(at: &str, text: &str) -> crate::journal::Step {
    let stored = crate::journal::Stored::Here { new: text.as_bytes().to_vec().into(), old: None };
    let content =
        crate::journal::Content { hash: Hash::of(text.as_bytes()), size: text.len() as u64, bytes: stored };
    crate::journal::Step::Write { path: at.into(), content, mode: 0o600, staged: None }
}

#[test]
fn a_withdrawn_change_never_was() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    look(&store, |session| {
        let steps = [written("a.md", "never"), written("new.md", "never")];
        let record = crate::journal::Record { by: &Actor::Outside, reason: None, id: None, steps: &steps };
        let changes = session.journal.commit(session.core.now(), &[record]).unwrap().changes;
        session.journal.withdraw(&changes).unwrap();
    });
    append(&store, "a.md", "2").unwrap();
    let history = store.history().unwrap();
    assert_eq!(words(&log(&history, &Log::default())), ["modified a.md", "created a.md"]);
    assert_eq!(words(&log(&history, &at("a.md"))), ["modified a.md", "created a.md"]);
    assert_eq!(log(&history, &at("new.md")), []);
    assert_eq!(
        targets(&history.journal().changed_since(&MemoryPath::ROOT, 0).unwrap()),
        [target(Some("a.md"), None, 2)]
    );
}

#[test]
fn all_contents_are_read_as_one_by_one() {
    let world = World::new();
    let store = world.open();
    let text = "a line that is kept\n".repeat(400);
    put(&store, "d/a.md", format!("a\n{text}")).unwrap();
    put(&store, "b.md", format!("b\n{text}")).unwrap();
    for n in 0..150 {
        append(&store, "d/a.md", &format!("{n}\n")).unwrap();
        put(&store, "b.md", format!("b {n}\n{text}")).unwrap();
        if n == 40 {
            put(&store, "d/a.md", "").unwrap();
            rename(&store, "b.md", "d/b.md").unwrap();
            put(&store, "b.md", "another\n").unwrap();
        }
    }
    world.write("d/binary", [255]);
    remove(&store, "d/b.md").unwrap();
    rename(&store, "d", "e").unwrap();
    store.absorb(&MemoryPath::ROOT).unwrap();
    let history = store.history().unwrap();
    let middle: Vec<_> =
        log(&history, &Log::default()).iter().skip(60).step_by(7).take(9).map(|v| v.id).collect();
    store.redact(&middle).unwrap();
    for at in ["", "d", "d/b.md", "b.md", "e", "nowhere"] {
        let asked = Log { path: Some(path(at)), ..Log::default() };
        let mut all = Vec::new();
        history
            .contents(&asked, |version, bytes| {
                all.push((version.id, bytes.to_vec()));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        let of = |v: &Version| Some((v.id, history.content(v.id).ok()?.to_vec()));
        let one_by_one: Vec<_> =
            log(&history, &asked).iter().filter(|v| v.is_stored).filter_map(of).collect();
        assert_eq!(all.is_empty(), at == "nowhere");
        assert!(all == one_by_one, "{at:?}");
    }
    drop((store, history));
    world.check(&[]);
}
