//! What redaction and retention take from the history, and what they must leave.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::DateTime;
use proptest::prelude::*;

use super::history::{at, log, words};
use super::*;
use crate::error::NoContent;
use crate::id::VersionId;
use crate::store::{Actor, Erasure, History};
use crate::version::{Keep, Log, Version};

/// All versions, oldest first.
pub(super) fn all(store: &Store) -> Vec<Version> {
    let mut versions = log(&store.history().unwrap(), &Log::default());
    versions.reverse();
    versions
}

/// All contents that the history gives, by version.
fn contents(history: &History) -> HashMap<VersionId, Vec<u8>> {
    let content = |v: &Version| history.content(v.id).ok().map(|bytes| (v.id, bytes.to_vec()));
    log(history, &Log::default()).iter().filter_map(content).collect()
}

/// The files below the base directory that have this text in their bytes or their names. Another process looks: a
/// database must not be opened beside SQLite.
pub(super) fn found(world: &World, text: &str) -> Vec<String> {
    let grep =
        std::process::Command::new("grep").args(["-rlaF", text, "."]).current_dir(world.base()).output();
    let output = String::from_utf8(grep.unwrap().stdout).unwrap();
    let mut found: Vec<String> = output.lines().map(str::to_owned).collect();
    let names =
        walkdir::WalkDir::new(world.base()).into_iter().map(|entry| entry.unwrap().file_name().to_owned());
    found.extend(names.filter_map(|name| name.into_string().ok()).filter(|name| name.contains(text)));
    found
}

#[test]
fn what_was_redacted_is_in_no_byte() {
    let world = World::new();
    let store = world.open();
    let filler = "a line of the file\n".repeat(60);
    put(&store, "CANARYdir/CANARYname.md", format!("{filler}CANARYbase\n")).unwrap();
    for n in 0..5 {
        append(&store, "CANARYdir/CANARYname.md", &format!("CANARYline {n}\n")).unwrap();
    }
    rename(&store, "CANARYdir", "open").unwrap();
    rename(&store, "open/CANARYname.md", "open/name.md").unwrap();
    put(&store, "open/name.md", &filler).unwrap();
    append(&store, "open/name.md", "more\n").unwrap();
    put(&store, "CANARYgone.md", "CANARYgone\n").unwrap();
    world.write("CANARYgone.md", b"\xff CANARYkept");
    remove(&store, "CANARYgone.md").unwrap();
    for n in 0..200 {
        put(&store, &format!("other/{n}.md"), format!("{n}\n{filler}")).unwrap();
    }
    assert_eq!(found(&world, "CANARYkept").len(), 1);
    let before = contents(&store.history().unwrap());
    let secret: Vec<VersionId> = all(&store)
        .iter()
        .filter(|v| {
            let content = before.get(&v.id).is_some_and(|c| memchr::memmem::find(c, b"CANARY").is_some());
            content || v.path.as_ref().unwrap().as_str().contains("CANARY")
        })
        .map(|v| v.id)
        .collect();
    assert_eq!(secret.len(), 11);
    let ada = store.with_actor(Actor::User("ada".into()));
    let redaction = ada.redact(&secret).unwrap();
    assert_eq!(redaction.erasure, Erasure::Done);
    for version in &redaction.versions {
        assert_eq!(version.redacted.as_ref().unwrap().by, Actor::User("ada".into()));
        assert_eq!((&version.path, version.content_sha256, version.content_size_bytes), (&None, None, None));
    }
    assert_eq!(found(&world, "CANARY"), [] as [String; 0], "while the store is open");
    let history = store.history().unwrap();
    for (id, bytes) in &before {
        match history.content(*id) {
            Ok(content) => assert_eq!(*content, *bytes),
            Err(Error::NoContent { why: NoContent::Redacted, .. }) => assert!(secret.contains(id)),
            Err(error) => panic!("{error:?}"),
        }
    }
    // They are still there, in the log of what they were.
    assert_eq!(
        words(&log(&history, &at("open/name.md")))[1..3],
        ["modified open/name.md", "modified redacted"]
    );
    assert_eq!(log(&history, &at("open/name.md")).len(), 10);
    assert_eq!(log(&history, &at("CANARYgone.md")), []);
    let again = store.redact(&secret[..1]).unwrap();
    assert_eq!(again.versions, redaction.versions[..1], "it stays as it is");
    drop((history, store, ada));
    assert_eq!(found(&world, "CANARY"), [] as [String; 0]);
    world.check(&[]);
}

/// What others made of a memory's text goes with a redaction: also what somebody adds who read it before.
#[test]
fn what_is_derived_is_erased_too() {
    let world = World::new();
    let store = world.open();
    put(&store, "gone.md", "CANARY\n").unwrap();
    let derive = |store: &Store, text: &str| {
        let dir = store.make_index_dir().unwrap();
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::create_dir_all(dir.join("deep/er")).unwrap();
        std::fs::write(dir.join("deep/er/CANARYpostings"), text).unwrap();
        std::fs::write(dir.join("vectors"), text).unwrap();
        dir
    };
    let dir = derive(&store, "of CANARY");
    let open = std::fs::File::open(dir.join("vectors")).unwrap();
    let secret = all(&store)[0].id;
    remove(&store, "gone.md").unwrap();
    put(&store, "other.md", "other\n").unwrap();
    // Another process reads, and writes what it read when all seems done.
    let other = world.open();
    let reading = other.history().unwrap();
    reading.freeze().unwrap();
    let secrets: Vec<_> =
        all(&store).iter().filter(|v| v.path == Some(path("gone.md"))).map(|v| v.id).collect();
    assert_eq!(store.redact(&secrets).unwrap().erasure, Erasure::Pending);
    assert!(!dir.exists());
    assert_eq!(reading.content(secret).unwrap().as_slice(), b"CANARY\n");
    derive(&other, "of CANARY");
    drop(reading);
    store.sync().unwrap();
    assert_eq!(found(&world, "CANARY"), [] as [String; 0]);
    assert!(!dir.exists());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut &open, &mut text).unwrap();
    assert_eq!(text, "of CANARY", "who has it open reads on");

    derive(&store, "of CANARY");
    let keep = Keep { age: Some(Duration::from_nanos(1)), ..Keep::default() };
    assert_eq!(store.prune_history(&keep).unwrap().erasure, Erasure::Done);
    assert!(!dir.exists(), "retention took something");
    derive(&store, "of nothing");
    assert_eq!(store.prune_history(&keep).unwrap().versions, 0);
    assert!(dir.exists(), "retention took nothing");
    store.forget().unwrap();
    assert!(!dir.exists());
    assert!(store.make_index_dir().is_err(), "there is no store to be derived from");
    drop((store, other));
}

/// What was taken back is a memory of its own where its file was new, and in no list that anybody could redact it from.
#[test]
fn what_was_taken_back_is_erased_with_any_redaction() {
    let mut withdrawn = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        put(&store, "d/f.md", "text").unwrap();
        put(&store, "a.md", "1").unwrap();
        let old = all(&store)[1].id;
        put(&store, "a.md", "2").unwrap();
        let root = world.base().join("memories");
        crate::fail::interfere_after(step, move || std::fs::remove_dir_all(root.join("d")).unwrap());
        let result = store.change(|snapshot| {
            let mut edits = Vec::new();
            for at in ["new/CANARYname.md", "d/f.md"] {
                snapshot.read(&path(at))?;
                edits.push(Edit::Write { path: path(at), bytes: b"CANARYtext\n".to_vec().into() });
            }
            Ok::<_, Error>((edits, ()))
        });
        if crate::fail::was_left_alone() {
            break;
        }
        if result.is_ok() {
            continue;
        }
        withdrawn += 1;
        assert_eq!(store.redact(&[old]).unwrap().erasure, Erasure::Done);
        assert_eq!(found(&world, "CANARY"), [] as [String; 0], "step {step}");
        drop(store);
        world.check(&["d/f.md"]);
    }
    assert!(withdrawn > 0);
}

/// The tables and indexes take their pages apart as they grow, and leave copies of rows between others.
#[test]
fn nothing_is_left_between_the_rows_either() {
    let world = World::new();
    let store = world.open();
    for n in 0..300 {
        let name = format!("{:03} {}", n * 7 % 300, if n % 5 == 0 { "CANARY" } else { "something else" });
        put(&store, &name.repeat(3), &name).unwrap();
        if n % 5 == 0 {
            remove(&store, &name.repeat(3)).unwrap();
        }
    }
    let is_secret = |v: &&Version| v.path.as_ref().unwrap().as_str().contains("CANARY");
    let secret: Vec<_> = all(&store).iter().filter(is_secret).map(|v| v.id).collect();
    assert_eq!(secret.len(), 120);
    assert_eq!(store.redact(&secret).unwrap().erasure, Erasure::Done);
    assert_eq!(found(&world, "CANARY"), [] as [String; 0]);
    drop(store);
    world.check(&[]);
}

#[test]
fn what_a_memory_is_now_cannot_be_redacted() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    put(&store, "a.md", "2").unwrap();
    put(&store, "b.md", "1").unwrap();
    remove(&store, "b.md").unwrap();
    let ids: Vec<_> = all(&store).iter().map(|v| v.id).collect();
    let refused = store.redact(&[ids[0], ids[1]]).unwrap_err();
    assert!(
        matches!(&refused, Error::IsHead { id, path: at } if *id == ids[1] && *at == path("a.md")),
        "{refused:?}"
    );
    let unknown = VersionId(crate::id::new_ulid(0));
    assert!(matches!(store.redact(&[ids[0], unknown]), Err(Error::NoVersion { id }) if id == unknown));
    assert!(all(&store).iter().all(|v| v.redacted.is_none()), "all or none");
    // The end of what is gone can be.
    store.redact(&[ids[2], ids[3]]).unwrap();
    assert_eq!(store.redact(&[]).unwrap().versions, []);
    put(&store, "b.md", "3").unwrap();
    drop(store);
    world.check(&[]);
}

#[test]
fn what_somebody_reads_is_erased_when_they_are_done() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "CANARY").unwrap();
    put(&store, "a.md", "2").unwrap();
    let reader = store.history().unwrap();
    reader.freeze().unwrap();
    let id = all(&store)[0].id;
    assert_eq!(store.redact(&[id]).unwrap().erasure, Erasure::Pending);
    assert!(matches!(store.history().unwrap().content(id), Err(Error::NoContent { .. })));
    assert_eq!(**reader.content(id).unwrap(), *b"CANARY", "it was there at that moment");
    store.sync().unwrap();
    assert_ne!(found(&world, "CANARY"), [] as [String; 0]);
    drop(reader);
    store.sync().unwrap();
    assert_eq!(found(&world, "CANARY"), [] as [String; 0]);
    drop(store);
    world.check(&[]);
}

#[test]
fn on_a_full_disk_bytes_are_erased_once_there_is_room() {
    let Some(small) = damage::Small::mount() else { return };
    let world = &small.0;
    let store = world.open();
    put(&store, "a.md", "CANARY").unwrap();
    put(&store, "a.md", "2".repeat(2_000)).unwrap();
    put(&store, "b.md", "0123456789".repeat(4_000)).unwrap();
    store.sync().unwrap();
    // Room for the few pages of the transaction, and not for all of them.
    small.fill();
    small.make_room(80_000);
    let id = all(&store)[0].id;
    assert_eq!(store.redact(&[id]).unwrap().erasure, Erasure::Pending);
    assert!(matches!(store.history().unwrap().content(id), Err(Error::NoContent { .. })));
    small.empty();
    put(&store, "c.md", "3").unwrap();
    store.sync().unwrap();
    assert_eq!(found(world, "CANARY"), [] as [String; 0]);
    drop(store);
    world.check(&[]);
}

#[test]
fn a_redaction_that_was_cut_short_is_finished_by_the_next_process() {
    let mut steps = 0;
    loop {
        let world = World::new();
        let store = world.open();
        put(&store, "a.md", "CANARY").unwrap();
        world.write("a.md", b"\xff CANARY");
        put(&store, "b.md", "2").unwrap();
        remove(&store, "a.md").unwrap();
        let ids: Vec<_> = log(&store.history().unwrap(), &at("a.md")).iter().map(|v| v.id).collect();
        assert_eq!(ids.len(), 3);
        crate::fail::crash_after(steps);
        let redacted =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| store.redact(&ids).map(drop)));
        drop(store);
        let survived = crate::fail::survive();
        assert!(survived == redacted.is_ok());
        let store = world.open();
        put(&store, "c.md", "3").unwrap();
        let is_redacted = all(&store)[0].redacted.is_some();
        drop(store);
        assert_eq!(found(&world, "CANARY").is_empty(), is_redacted, "crash after {steps} steps");
        world.check(&[]);
        if survived {
            break;
        }
        steps += 1;
    }
    assert!(steps > 5, "{steps}");
}

#[test]
fn a_pruning_that_was_cut_short_is_finished_by_the_next() {
    let keep = Keep { size: Some(1), ..Keep::default() };
    let mut steps = 0;
    loop {
        let world = World::new();
        let store = world.open();
        put(&store, "a.md", "CANARY").unwrap();
        world.write("a.md", b"\xff CANARY");
        remove(&store, "a.md").unwrap();
        put(&store, "b.md", "2").unwrap();
        assert_eq!(found(&world, "CANARY").len(), 2, "in the journal and in `kept`");
        crate::fail::crash_after(steps);
        let pruned =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| store.prune_history(&keep).map(drop)));
        drop(store);
        let survived = crate::fail::survive();
        assert!(survived == pruned.is_ok());
        let store = world.open();
        assert_eq!(store.prune_history(&keep).unwrap().erasure, Erasure::Done);
        drop(store);
        assert_eq!(found(&world, "CANARY"), [] as [String; 0], "crash after {steps} steps");
        world.check(&[]);
        if survived {
            break;
        }
        steps += 1;
    }
    assert!(steps > 5, "{steps}");
}

#[test]
fn a_withdrawn_version_is_erased_with_the_others() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    look(&store, |session| {
        let bytes = b"CANARY".to_vec();
        let stored = crate::journal::Stored::Here { new: bytes.clone().into(), old: None };
        let content = crate::journal::Content { hash: Hash::of(&bytes), size: 6, bytes: stored };
        let step = crate::journal::Step::Write { path: "a.md".into(), content, mode: 0o600, staged: None };
        let record = crate::journal::Record { by: &Actor::Outside, reason: None, id: None, steps: &[step] };
        let changes = session.journal.commit(session.core.now(), &[record]).unwrap().changes;
        session.journal.withdraw(&changes).unwrap();
    });
    put(&store, "a.md", "2").unwrap();
    let id = all(&store)[0].id;
    store.redact(&[id]).unwrap();
    assert_eq!(found(&world, "CANARY"), [] as [String; 0]);
    drop(store);
    world.check(&[]);
}

/// A store whose clock a test moves.
fn timed(world: &World) -> (Store, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000_000));
    let time = Arc::clone(&clock);
    let now = move || DateTime::from_timestamp_micros(time.fetch_add(1, Ordering::Relaxed)).unwrap();
    (Store::builder(world.base()).clock(now).open().unwrap(), clock)
}

const DAY: i64 = 86_400_000_000;

#[test]
fn old_versions_go_and_the_newest_ten_of_what_lives_stay() {
    let days = |n: u64| Some(Duration::from_secs(n * 86_400 + 3_600));
    for (keep, live, dead) in [
        (Keep { age: days(5), ..Keep::default() }, 10, 0),
        (Keep { age: days(15), ..Keep::default() }, 15, 1),
        (Keep { age: days(100), ..Keep::default() }, 30, 13),
        (Keep { versions: Some(12), ..Keep::default() }, 12, 12),
        (Keep { versions: Some(3), ..Keep::default() }, 10, 10),
        (Keep { size: Some(1), ..Keep::default() }, 10, 0),
        (Keep { size: Some(u64::MAX), ..Keep::default() }, 30, 13),
        (Keep { versions: Some(20), age: days(15), ..Keep::default() }, 15, 1),
        (Keep::default(), 30, 13),
    ] {
        let world = World::new();
        let (store, clock) = timed(&world);
        for n in 0..12 {
            put(&store, "dead.md", format!("dead {n}\n")).unwrap();
        }
        for n in 0..30 {
            if n == 16 {
                remove(&store, "dead.md").unwrap();
            }
            put(&store, "live.md", format!("live {n}\n").repeat(20)).unwrap();
            clock.fetch_add(DAY, Ordering::Relaxed);
        }
        let (before, count) = (contents(&store.history().unwrap()), all(&store).len() as u64);
        let preview = store.preview_prune_history(&keep).unwrap();
        assert_eq!(all(&store).len() as u64, count, "a preview changes nothing");
        let pruned = store.prune_history(&keep).unwrap();
        assert_eq!(preview, pruned);
        assert_eq!(pruned.erasure, Erasure::Done);
        let history = store.history().unwrap();
        let left = |path: &str| log(&history, &at(path)).len();
        assert_eq!((left("live.md"), left("dead.md")), (live, dead), "{keep:?}");
        assert_eq!(pruned.versions, count - live as u64 - dead as u64);
        assert_eq!(pruned.memories, u64::from(dead == 0));
        assert_eq!(pruned.bytes > 0, pruned.versions > 0);
        let after = contents(&history);
        assert!(after.iter().all(|(id, bytes)| before[id] == *bytes));
        // Once more, and after more changes: anchors grow together.
        assert_eq!(store.prune_history(&keep).unwrap().versions, 0);
        for n in 0..12 {
            put(&store, "live.md", format!("more {n}\n")).unwrap();
        }
        store.prune_history(&keep).unwrap();
        put(&store, "new.md", "new").unwrap();
        drop((history, store));
        let store = world.check(&[]);
        assert_eq!(log(&store.history().unwrap(), &at("new.md")).len(), 1);
    }
}

#[test]
fn what_retention_took_is_not_restored_by_guess() {
    let world = World::new();
    let (store, clock) = timed(&world);
    let start = clock.load(Ordering::Relaxed);
    put(&store, "a.md", "first").unwrap();
    put(&store, "b.md", "first").unwrap();
    let change = all(&store)[0].change_id;
    for n in 0..12 {
        clock.fetch_add(DAY, Ordering::Relaxed);
        put(&store, "a.md", format!("{n}")).unwrap();
    }
    let keep = Keep { versions: Some(10), ..Keep::default() };
    assert_eq!(store.prune_history(&keep).unwrap().versions, 3);
    let history = store.history().unwrap();
    let early = history.journal().changed_since(&MemoryPath::ROOT, start + DAY / 2).unwrap_err();
    assert!(matches!(&early, Error::TooEarly { path: at } if *at == path("a.md")), "{early:?}");
    assert_eq!(history.journal().changed_since(&path("b.md"), start + DAY / 2).unwrap(), []);
    let oldest = log(&history, &at("a.md")).last().unwrap().change_id;
    assert!(matches!(history.journal().changed_by(oldest), Err(Error::TooEarly { .. })));
    assert_eq!(history.journal().changed_by(change).unwrap(), None);
}

#[test]
fn the_settings_say_what_is_pruned_in_passing() {
    let world = World::new();
    std::fs::write(world.base().join("memdir.toml"), "[history]\nkeep = { versions = 10 }").unwrap();
    let (store, clock) = timed(&world);
    let count = |path: &str| log(&store.history().unwrap(), &at(path)).len();
    for n in 0..30 {
        put(&store, "a.md", format!("{n}\n")).unwrap();
    }
    // A little each time.
    let sync = || (0..9).for_each(|_| store.sync().unwrap());
    sync();
    assert_eq!(count("a.md"), 10);
    for n in 0..30 {
        put(&store, "b.md", format!("{n}\n")).unwrap();
    }
    sync();
    assert_eq!(count("b.md"), 30, "not again so soon");
    clock.fetch_add(DAY, Ordering::Relaxed);
    sync();
    assert_eq!((count("a.md"), count("b.md")), (10, 10));
    remove(&store, "b.md").unwrap();
    drop(store);
    // Other settings are for what was before, too.
    std::fs::write(world.base().join("memdir.toml"), "[history.keep]\nage = \"1h\"").unwrap();
    let store = Store::builder(world.base())
        .clock(move || DateTime::from_timestamp_micros(clock.load(Ordering::Relaxed) + DAY).unwrap())
        .open()
        .unwrap();
    put(&store, "c.md", "new").unwrap();
    (0..9).for_each(|_| store.sync().unwrap());
    assert_eq!(words(&log(&store.history().unwrap(), &at("b.md"))), [] as [String; 0]);
    assert_eq!(log(&store.history().unwrap(), &Log::default()).len(), 11);
    drop(store);
    world.check(&[]);
}

/// An edit, by memdir or by somebody else.
#[derive(Debug, Clone)]
enum Step {
    Put(usize, String),
    Append(usize, String),
    Remove(usize),
    Rename(usize, usize),
    WriteOutside(usize, String),
    RemoveOutside(usize),
}

const NAMES: [&str; 6] = ["a.md", "b.md", "d/a.md", "d/b.md", "d", "e"];

fn any_step() -> impl Strategy<Value = Step> {
    let text = "[xy]{0,3}\n{0,2}[a-c\n]{0,40}";
    prop_oneof![
        3 => (0..4_usize, text).prop_map(|(at, text)| Step::Put(at, text)),
        5 => (0..4_usize, text).prop_map(|(at, text)| Step::Append(at, text)),
        1 => (0..6_usize).prop_map(Step::Remove),
        2 => (0..6_usize, 0..6_usize).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (0..4_usize, text).prop_map(|(at, text)| Step::WriteOutside(at, text)),
        1 => (0..4_usize).prop_map(Step::RemoveOutside),
    ]
}

fn make(world: &World, store: &Store, step: &Step) {
    // Many of these are refused; what counts is what the history says of the others.
    match step {
        Step::Put(at, text) => drop(put(store, NAMES[*at], text.repeat(9))),
        Step::Append(at, text) => drop(append(store, NAMES[*at], text)),
        Step::Remove(at) => drop(remove(store, NAMES[*at])),
        Step::Rename(from, to) => drop(rename(store, NAMES[*from], NAMES[*to])),
        Step::WriteOutside(at, text) => drop(std::fs::write(world.file(NAMES[*at]), text)),
        Step::RemoveOutside(at) => drop(std::fs::remove_file(world.file(NAMES[*at]))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if is_long() { 400 } else { 24 }, ..ProptestConfig::default() })]

    /// With `MEMDIR_LONG` many more.
    #[test]
    fn every_version_gives_its_bytes_for_ever(
        steps in prop::collection::vec(any_step(), 1..60),
        chosen in prop::collection::vec(0.0..1.0, 0..6),
        versions in 1..20_u64,
    ) {
        let world = World::new();
        let store = world.open();
        let mut known: HashMap<VersionId, Option<Vec<u8>>> = HashMap::new();
        for step in &steps {
            make(&world, &store, step);
            let history = store.history().unwrap();
            for version in log(&history, &Log::default()) {
                let bytes = history.content(version.id).ok().map(|bytes| bytes.to_vec());
                if known.contains_key(&version.id) {
                    break;
                }
                prop_assert_eq!(bytes.as_ref().map(|bytes| Hash::of(bytes)), version.content_sha256);
                known.insert(version.id, bytes);
            }
            // What memdir wrote is what the history has.
            if let Step::Put(at, _) | Step::Append(at, _) = step
                && let Some(head) = history.head(&path(NAMES[*at])).unwrap()
                && let Some(seen) = world.read(NAMES[*at])
                && head.created_by != Actor::Outside
                && known[&head.id].as_ref().is_some_and(|bytes| bytes.len() == seen.len())
            {
                prop_assert_eq!(known[&head.id].as_ref(), Some(&seen));
            }
        }
        let mut redacted = BTreeSet::new();
        let all: Vec<_> = log(&store.history().unwrap(), &Log::default()).iter().map(|v| v.id).collect();
        for place in chosen {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let Some(&id) = all.get((place * all.len() as f64) as usize) else { continue };
            match store.redact(&[id]) {
                Ok(redaction) => {
                    prop_assert_eq!(redaction.erasure, Erasure::Done);
                    redacted.insert(id);
                }
                Err(Error::IsHead { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        for _ in 0..2 {
            let history = store.history().unwrap();
            let mut each = |version: Version| {
                match history.content(version.id) {
                    Ok(bytes) => assert_eq!(Some(&*bytes), known[&version.id].as_ref()),
                    Err(_) => assert!(redacted.contains(&version.id) || known[&version.id].is_none()),
                }
                Ok(ControlFlow::Continue(()))
            };
            history.versions(&Log::default(), &mut each).unwrap();
            look(&store, |session| session.journal.verify());
            let keep = Keep { versions: Some(versions), ..Keep::default() };
            store.prune_history(&keep).unwrap();
        }
        drop(store);
        let mut store = world.open();
        look(&store, |session| session.journal.verify());
        // It goes on from there.
        put(&store, "z.md", "the end").unwrap();
        store = { drop(store); world.open() };
        look(&store, |session| session.journal.verify());
    }
}

#[test]
fn who_still_holds_what_was_redacted_is_named() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "secret\n").unwrap();
    put(&store, "a.md", "").unwrap();
    put(&store, "a.md", "secret\n").unwrap();
    put(&store, "a.md", "fine\n").unwrap();
    put(&store, "b.md", "secret\n").unwrap();
    put(&store, "c.md", "").unwrap();
    rename(&store, "b.md", "d.md").unwrap();
    let ids: Vec<_> = all(&store).iter().map(|version| version.id).collect();
    let held = |redacted: &[VersionId]| {
        let held = store.redact(redacted).unwrap().still_held;
        held.iter().map(|version| version.id).collect::<Vec<_>>()
    };
    assert_eq!(held(&[ids[1]]), [], "of nothing there is no need to warn");
    assert_eq!(held(&[ids[0]]), [ids[6], ids[4], ids[2]]);
    assert_eq!(held(&[ids[0]]), [], "it is not known any more what it was");
    assert_eq!(held(&[ids[2], ids[4]]), [ids[6]]);
    drop(store);
    world.check(&[]);
}
