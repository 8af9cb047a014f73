//! What became of memories since a mark: told to readers and to decisions, whatever is taken back meanwhile. And what a
//! decision says of the memory that it begins.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use super::*;
use crate::fail;
use crate::id::MemoryId;
use crate::journal::Reach;
use crate::store::since::{Recent, RecentState};
use crate::version::{Keep, Operation};

/// Somebody who keeps what he was told of the memories.
#[derive(Debug, Default, Clone, PartialEq)]
struct Follower {
    mark: i64,
    known: BTreeMap<MemoryId, (MemoryPath, Option<Vec<u8>>)>,
}

impl Follower {
    /// Catches up; how many memories were told.
    fn follow(&mut self, store: &Store) -> usize {
        let history = store.history().unwrap();
        let mark = history.mark().unwrap();
        let (mut told, mut last) = (0, 0);
        let reach = history.heads_since(self.mark, &mut |version, bytes| {
            told += 1;
            assert!(last < version.n, "not the oldest first");
            last = version.n;
            if version.operation == Operation::Deleted {
                assert_eq!(bytes, None);
                assert_ne!(self.mark, 0, "from the beginning only what lives is told");
                self.known.remove(&version.memory_id);
            } else {
                self.known.insert(version.memory_id, (version.path.unwrap(), bytes.map(<[u8]>::to_vec)));
            }
            Ok(ControlFlow::Continue(()))
        });
        if reach.unwrap() == Reach::Gap {
            *self = Self::default();
            return self.follow(store);
        }
        self.mark = mark;
        told
    }

    /// Panics unless it knows what there is.
    fn assert_right(&self, store: &Store) {
        let mut anew = Self::default();
        anew.follow(store);
        assert_eq!(self.known, anew.known);
        let history = store.history().unwrap();
        let mut live = Vec::new();
        history
            .live_below(&MemoryPath::ROOT, &mut |row| {
                live.push(history.of_row(row)?.unwrap().memory_id);
                Ok(())
            })
            .unwrap();
        live.sort();
        assert!(anew.known.keys().eq(&live));
        for (&id, (at, bytes)) in &anew.known {
            let Found::File(read) = store.read(at).unwrap() else { panic!("{at} is not there") };
            assert!(bytes.is_none() || bytes.as_deref() == Some(&read[..]), "{at}");
            assert_eq!(history.memory(id).unwrap().unwrap().path.as_ref(), Some(at));
        }
    }
}

#[test]
fn a_follower_is_told_what_changed_and_no_more() {
    type Step = (&'static str, fn(&World, &Store), usize);
    let world = World::new();
    let store = world.open();
    let mut follower = Follower::default();
    assert_eq!(follower.follow(&store), 0);
    let steps: &[Step] = &[
        ("three files", |_, s| ["a.md", "d/b.md", "d/c.md"].iter().for_each(|at| put(s, at, at).unwrap()), 3),
        ("nothing", |_, _| (), 0),
        (
            "two edits of one",
            |_, s| {
                append(s, "a.md", "1").unwrap();
                append(s, "a.md", "2").unwrap();
            },
            1,
        ),
        ("a directory moves", |_, s| rename(s, "d", "e").unwrap(), 2),
        ("one goes", |_, s| remove(s, "a.md").unwrap(), 1),
        ("another comes there", |_, s| put(s, "a.md", "new").unwrap(), 1),
        (
            "one comes and goes",
            |_, s| {
                put(s, "x.md", "x").unwrap();
                remove(s, "x.md").unwrap();
            },
            1,
        ),
        (
            "somebody else edits",
            |w, s| {
                w.write("e/b.md", "theirs");
                s.absorb(&MemoryPath::ROOT).unwrap();
            },
            1,
        ),
        (
            "what is no text",
            |w, s| {
                w.write("p.png", b"\xff\xfe");
                s.absorb(&MemoryPath::ROOT).unwrap();
            },
            1,
        ),
    ];
    for (name, step, told) in steps {
        step(&world, &store);
        assert_eq!(follower.follow(&store), *told, "{name}");
        follower.assert_right(&store);
    }
    // From another process all looks the same.
    drop(store);
    follower.assert_right(&world.open());
}

/// Whenever a reader looks while a batch is committed, published, and in part taken back: in the end it knows what is true.
#[test]
fn what_is_taken_back_is_told_again() {
    let (mut failed, mut misled) = (0, 0);
    for step in 0.. {
        let mut is_over = false;
        for look in 0.. {
            let world = World::new();
            let store = world.open();
            put(&store, "d/f.md", "f\n").unwrap();
            put(&store, "b.md", "b\n").unwrap();
            let follower = Arc::new(Mutex::new(Follower::default()));
            lock(&follower).follow(&store);
            let (root, base, looking) =
                (world.base().join("memories"), world.base().to_owned(), Arc::clone(&follower));
            fail::interfere_after(step, move || {
                std::fs::remove_dir_all(root.join("d")).unwrap();
                std::fs::create_dir(root.join("d")).unwrap();
                std::fs::write(root.join("d/new.md"), "theirs\n").unwrap();
                fail::interfere_after(look, move || _ = lock(&looking).follow(&open(&base)));
            });
            let begin = |at: &str, bytes: &'static str| {
                let at = path(at);
                Box::new(move |snapshot: &mut Snapshot<'_>| {
                    let old = match snapshot.read(&at)? {
                        Found::File(old) => old.to_vec(),
                        Found::Not(_) => Vec::new(),
                    };
                    Ok((vec![Edit::write(&at, [&old, bytes.as_bytes()].concat())], ()))
                }) as Box<dyn FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, ())> + Send>
            };
            let results =
                store.change_many(vec![begin("b.md", "1"), begin("d/new.md", "1"), begin("d/f.md", "1")]);
            let was_left_alone = fail::was_left_alone();
            failed += results.iter().filter(|result| result.is_err()).count();
            let before = lock(&follower).clone();
            store.absorb(&MemoryPath::ROOT).unwrap();
            // Also without anything new to be told.
            let mut follower = lock(&follower);
            misled += usize::from(before.known.values().any(|(at, bytes)| {
                bytes
                    .as_deref()
                    .is_some_and(|bytes| store.read(at).unwrap() != Found::File(Arc::new(bytes.to_vec())))
            }));
            follower.follow(&store);
            follower.assert_right(&store);
            if was_left_alone {
                is_over = look == 0;
                break;
            }
        }
        if is_over {
            break;
        }
    }
    assert!(failed > 10 && misled > 10, "nothing was taken back: {failed}, {misled}");
}

#[test]
fn what_retention_took_leaves_a_gap() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "b.md", "b\n").unwrap();
    let mut early = Follower::default();
    early.follow(&store);
    remove(&store, "a.md").unwrap();
    let mut late = Follower::default();
    late.follow(&store);
    let mark = late.mark;
    for _ in 0..3 {
        append(&store, "b.md", "more\n").unwrap();
    }
    late.follow(&store);
    let keep = Keep { age: Some(std::time::Duration::from_nanos(1)), ..Keep::default() };
    let pruned = store.prune_history(&keep).unwrap();
    assert_eq!(pruned.memories, 1);
    let history = store.history().unwrap();
    let since = |mark| history.heads_since(mark, &mut |_, _| Ok(ControlFlow::Continue(()))).unwrap();
    assert_eq!(since(early.mark), Reach::Gap);
    assert_eq!(since(mark), Reach::Whole);
    assert_eq!(since(history.mark().unwrap() + 1), Reach::Gap);
    for mut follower in [early, late] {
        follower.follow(&store);
        follower.assert_right(&store);
    }
}

#[test]
fn the_memory_that_begins_has_the_id_that_was_picked() {
    let world = World::new();
    let store = world.open();
    put(&store, "there.md", "there\n").unwrap();
    let old = store.history().unwrap().head(&path("there.md")).unwrap().unwrap().memory_id;
    let begin = |at: &'static str| {
        move |snapshot: &mut Snapshot<'_>| {
            let at = path(at);
            snapshot.read(&at)?;
            let id = snapshot.new_id(&at);
            assert_eq!(snapshot.new_id(&at), id);
            assert_ne!(snapshot.new_id(&path("another.md")), id);
            snapshot.because(format!("it is {id}"));
            Ok::<_, Error>((vec![Edit::write(&at, format!("id: {id}\n"))], id))
        }
    };
    // One batch, and directories that come with it: those are decided again, alone.
    let ats = ["a.md", "b.md", "there.md", "new/a.md", "new/b.md", "c.md", "other/deep/a.md"];
    let ids = store.change_many(ats.map(begin).into());
    let history = store.history().unwrap();
    for (at, id) in ats.into_iter().zip(ids) {
        let id = id.unwrap();
        let head = history.head(&path(at)).unwrap().unwrap();
        assert_eq!(world.read(at).unwrap(), format!("id: {id}\n").as_bytes());
        assert_eq!(head.reason, Some(format!("it is {id}")));
        assert_eq!(head.memory_id, if at == "there.md" { old } else { id }, "{at}");
        assert_eq!(history.memory(id).unwrap().is_some(), at != "there.md");
    }
    // A person removed the file: its memory ends, another begins.
    std::fs::remove_file(world.file("there.md")).unwrap();
    let id = store.change(begin("there.md")).unwrap();
    assert_eq!(store.history().unwrap().head(&path("there.md")).unwrap().unwrap().memory_id, id);
    drop(store);
    world.check(&[]);
}

#[test]
fn a_reason_of_a_decision_stands_before_that_of_the_handle() {
    let world = World::new();
    let store = world.open().with_reason("the handle's");
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let write = |at: &'static str, reason: Option<String>| {
        move |snapshot: &mut Snapshot<'_>| {
            if let Some(reason) = &reason {
                snapshot.because(reason.clone());
            }
            Ok::<_, Error>((vec![Edit::write(&path(at), "x\n")], ()))
        }
    };
    let decisions = vec![
        write("a.md", None),
        write("b.md", Some("its own".into())),
        write("c.md", Some(format!("for {secret}"))),
    ];
    store.change_many(decisions).into_iter().for_each(Result::unwrap);
    let history = store.history().unwrap();
    let reason = |at| history.head(&path(at)).unwrap().unwrap().reason.unwrap();
    assert_eq!(reason("a.md"), "the handle's");
    assert_eq!(reason("b.md"), "its own");
    assert!(reason("c.md").starts_with("for ") && !reason("c.md").contains(&secret), "{}", reason("c.md"));
    assert!(!journal_holds(&world, secret.as_bytes()));
}

fn journal_holds(world: &World, canary: &[u8]) -> bool {
    let names = ["journal.db", "journal.db-wal"];
    names
        .iter()
        .filter_map(|name| std::fs::read(world.room(name)).ok())
        .any(|bytes| memchr::memmem::find(&bytes, canary).is_some())
}

/// What a decision is told of the memories that changed.
fn recent(snapshot: &mut Snapshot<'_>, mark: i64) -> BTreeMap<MemoryId, (String, Option<String>)> {
    let mut seen = BTreeMap::new();
    let reach = snapshot.heads_since(mark, &mut |Recent { memory, path, state }| {
        let text = match state {
            RecentState::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            RecentState::Other => Some("other".to_owned()),
            RecentState::Gone => None,
        };
        seen.insert(memory, (path.as_str().to_owned(), text));
        Ok(())
    });
    assert_eq!(reach.unwrap(), Reach::Whole);
    seen
}

/// Decisions that look at what is new see what those before them in the batch did, and yet share its commit.
#[test]
fn decisions_of_one_batch_see_one_another() {
    let world = World::new();
    let store = world.open();
    put(&store, "old.md", "old\n").unwrap();
    put(&store, "goes.md", "goes\n").unwrap();
    let goes = store.history().unwrap().head(&path("goes.md")).unwrap().unwrap().memory_id;
    let old = store.history().unwrap().head(&path("old.md")).unwrap().unwrap().memory_id;
    let mark = store.history().unwrap().mark().unwrap();
    let made = Arc::new(Mutex::new(0));
    let decide = |at: &'static str, text: &'static str, removes: bool| {
        let made = Arc::clone(&made);
        move |snapshot: &mut Snapshot<'_>| {
            *lock(&made) += 1;
            let seen = recent(snapshot, mark);
            let at = path(at);
            snapshot.read(&at)?;
            let id = snapshot.new_id(&at);
            let edit = if removes { Edit::remove(&at) } else { Edit::write(&at, text) };
            Ok::<_, Error>((vec![edit], (id, seen)))
        }
    };
    let results = store.change_many(vec![
        decide("a.md", "a\n", false),
        decide("old.md", "edited\n", false),
        decide("goes.md", "", true),
        decide("goes.md", "again\n", false),
        decide("a.md", "a, edited\n", false),
        decide("a.md", "", true),
        decide("b.md", "b\n", false),
    ]);
    let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let expected: Vec<(MemoryId, &str, Option<&str>)> = vec![
        (results[0].0, "a.md", None),
        (old, "old.md", Some("edited\n")),
        (goes, "goes.md", None),
        (results[3].0, "goes.md", Some("again\n")),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(id, at, text)| (id, (at.to_owned(), text.map(str::to_owned)))).collect();
    assert!(results[0].1.is_empty());
    assert_eq!(results[1].1, BTreeMap::from([(results[0].0, ("a.md".into(), Some("a\n".into())))]));
    assert_eq!(results[6].1, expected);
    assert_eq!(*lock(&made), 7, "one was decided again");
    // The same once it is committed.
    let after = store.change(move |snapshot| Ok::<_, Error>((Vec::new(), recent(snapshot, mark)))).unwrap();
    let b = (results[6].0, ("b.md".to_owned(), Some("b\n".to_owned())));
    assert_eq!(after, expected.into_iter().chain([b]).collect());
}

/// Where a pending file is a person's, its memory is not known until the commit: who asks is decided again.
#[test]
fn a_decision_waits_for_what_is_not_known_yet() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    world.write("theirs.md", "theirs\n");
    let look = |at: Option<&'static str>| {
        move |snapshot: &mut Snapshot<'_>| {
            let Some(at) = at else { return Ok((Vec::new(), recent(snapshot, 1))) };
            snapshot.read(&path(at))?;
            Ok::<_, Error>((vec![Edit::write(&path(at), "ours\n")], BTreeMap::new()))
        }
    };
    let seen = store.change_many(vec![look(Some("theirs.md")), look(None)]).pop().unwrap().unwrap();
    let id = store.history().unwrap().head(&path("theirs.md")).unwrap().unwrap().memory_id;
    assert_eq!(seen, BTreeMap::from([(id, ("theirs.md".to_owned(), Some("ours\n".to_owned())))]));
}
