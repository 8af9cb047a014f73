//! All files at one moment, files that are put in, and edited copies that are put back.

use std::ops::ControlFlow;

use super::*;
use crate::id::ChangeId;
use crate::store::{Edited, Hidden, Original, Others, Put, Restore, Settings, StoredFile, settle};
use crate::version::{Log, Version};

fn all(store: &Store) -> Vec<StoredFile> {
    let mut files = Vec::new();
    let mut each = |file| {
        files.push(file);
        Ok(())
    };
    drop(store.snapshot(&mut each).unwrap());
    files
}

fn versions(store: &Store, log: &Log) -> Vec<Version> {
    let mut versions = Vec::new();
    let mut each = |version| {
        versions.push(version);
        Ok(ControlFlow::Continue(()))
    };
    store.history().unwrap().versions(log, &mut each).unwrap();
    versions.reverse();
    versions
}

fn contents(store: &Store) -> Vec<String> {
    let history = store.history().unwrap();
    let content =
        |version: &Version| history.content(version.id).map_or_else(|e| e.to_string(), |bytes| text(&bytes));
    versions(store, &Log::default()).iter().map(content).collect()
}

fn text(bytes: &crate::text::Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_snapshot_has_what_is_visible_and_the_hidden_files_that_memdir_made() {
    let world = World::new();
    let settings = Settings { hidden: Hidden::Allow, ..Settings::default() };
    let store = Store::builder(world.base()).settings(settings).open().unwrap();
    for path in [".made.md", "a/.b/made.md", "a.md", "a/c.md", "a-b.md", "b/node_modules/made.md"] {
        put(&store, path, path).unwrap();
    }
    for path in [".git/config", ".found.md", "node_modules/x.md", "a/found.md", "é/e\u{301}.md", "a\\b"] {
        world.write(path, path);
    }
    std::os::unix::fs::symlink("a.md", world.file("link.md")).unwrap();
    let files = all(&store);
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        ".made.md",
        "a-b.md",
        "a.md",
        "a/.b/made.md",
        "a/c.md",
        "a/found.md",
        "b/node_modules/made.md",
        "é/é.md",
    ];
    assert_eq!(paths, expected);
    assert_eq!(files[2].bytes.as_slice(), b"a.md");
    assert_eq!(files[2].mode, 0o600);
    let modified = std::fs::metadata(world.file("a.md")).unwrap().modified().unwrap();
    let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(files[2].modified, i64::try_from(modified).unwrap());
}

#[test]
fn the_history_of_a_snapshot_is_that_of_its_moment() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    let history = store.snapshot(&mut |_| Ok(())).unwrap();
    put(&store, "a.md", "2").unwrap();
    let mut count = 0;
    let mut each = |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    };
    history.versions(&Log::default(), &mut each).unwrap();
    assert_eq!(count, 1);
    assert_eq!(versions(&store, &Log::default()).len(), 2);
}

#[test]
fn what_others_did_is_in_the_history_of_a_snapshot() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    world.write("a.md", "2");
    world.write("b.md", "3");
    let history = store.snapshot(&mut |_| Ok(())).unwrap();
    for (path, content) in [("a.md", "2"), ("b.md", "3")] {
        let head = history.head(&super::path(path)).unwrap().unwrap();
        assert_eq!(text(&history.content(head.id).unwrap()), content);
    }
}

#[test]
fn what_stops_a_snapshot_is_what_it_returns_and_the_lock_is_let_go() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1").unwrap();
    let error = store.snapshot(&mut |file| Err(Error::Exists { path: file.path })).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }));
    put(&store, "a.md", "2").unwrap();
    drop(store);
    world.check(&[]);
}

fn bring(store: &Store, files: &[(&str, &str)], others: Others, change: ChangeId) -> Vec<Put> {
    let files = files.iter().map(|(at, text)| (path(at), Arc::new(text.as_bytes().to_vec()))).collect();
    store.put(files, others, change).unwrap()
}

#[test]
fn files_are_put_where_nothing_stands_in_the_way() {
    let world = World::new();
    let store = world.open();
    put(&store, "same.md", "same").unwrap();
    put(&store, "other.md", "theirs").unwrap();
    put(&store, "directory/a.md", "a").unwrap();
    std::os::unix::fs::symlink("same.md", world.file("link.md")).unwrap();
    let files = [
        ("new.md", "new"),
        ("deep/er/new.md", "new"),
        ("same.md", "same"),
        ("other.md", "mine"),
        ("directory", "mine"),
        ("same.md.d", "mine"),
        ("link.md", "mine"),
    ];
    let (before, change) = (versions(&store, &Log::default()).len(), store.new_change());
    let (written, unchanged, conflict) = (Put::Written, Put::Unchanged, Put::Conflict);
    assert_eq!(
        bring(&store, &files, Others::Keep, change),
        [written, written, unchanged, conflict, conflict, written, conflict]
    );
    assert_eq!(bring(&store, &[("other.md/below.md", "mine")], Others::Overwrite, change), [conflict]);
    assert_eq!(world.read("other.md").unwrap(), b"theirs");
    assert_eq!(
        bring(&store, &files, Others::Overwrite, change),
        [unchanged, unchanged, unchanged, written, conflict, unchanged, conflict]
    );
    assert_eq!(world.read("other.md").unwrap(), b"mine");
    // Two changes of the journal, one to whoever undoes it.
    let all = versions(&store, &Log::default());
    assert_eq!(all.len(), before + 4);
    assert!(all[before..].iter().all(|version| version.change_id == change));
    assert_eq!(versions(&store, &Log { change: Some(change), ..Log::default() }).len(), 4);
    drop(store);
    world.check(&[]);
}

/// What was copied of something that the history does not know.
fn unknown(at: &str, text: Option<&str>) -> Original {
    Original { path: path(at), text: text.map(str::to_owned), memory: None }
}

/// What is copied of a memory.
fn original(store: &Store, at: &str) -> Original {
    store.original(&path(at)).unwrap().unwrap()
}

#[test]
fn an_edited_text_is_put_back_whatever_became_of_the_memory() {
    let base = "1\n2\n3\n";
    for (base, now, mine, edited, after) in [
        (Some(base), Some(base), "1\n2\n3\n4\n", Edited::Written, Some("1\n2\n3\n4\n")),
        (Some(base), Some("0\n1\n2\n3\n"), "1\n2\n3\n4\n", Edited::Merged, Some("0\n1\n2\n3\n4\n")),
        (Some(base), Some("1\nx\n3\n"), base, Edited::Unchanged, Some("1\nx\n3\n")),
        (Some(base), Some("1\nx\n3\n"), "1\nx\n3\n", Edited::Merged, Some("1\nx\n3\n")),
        (Some(base), Some("1\nx\n3\n4\n"), "1\nx\n3\n", Edited::Merged, Some("1\nx\n3\n4\n")),
        (Some(base), None, "1\n", Edited::Revived, Some("1\n")),
        (Some(base), None, base, Edited::Unchanged, None),
        (None, None, "new\n", Edited::Written, Some("new\n")),
        (None, None, "", Edited::Unchanged, None),
        (None, Some("new\n"), "new\n", Edited::Merged, Some("new\n")),
    ] {
        let world = World::new();
        let store = world.open();
        if let Some(now) = now {
            put(&store, "d/a.md", now).unwrap();
        }
        let settled = store.settle(&unknown("d/a.md", base), mine).unwrap();
        assert_eq!((settled.path, settled.edited), (path("d/a.md"), edited), "{base:?} {now:?} {mine:?}");
        assert_eq!(world.read("d/a.md").as_deref(), after.map(str::as_bytes), "{base:?} {now:?} {mine:?}");
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn where_edits_meet_the_memory_stays_and_the_edited_text_is_a_version() {
    for (base, now) in [(Some("1\n"), "theirs\n"), (None, "theirs\n"), (Some("1\n"), "\u{fffd}")] {
        let world = World::new();
        let store = world.open();
        let now = if now == "\u{fffd}" { b"\xff".as_slice() } else { now.as_bytes() };
        put(&store, "a.md", now).unwrap();
        let edited = store.settle(&unknown("a.md", base), "mine\n").unwrap().edited;
        let Edited::Conflict { mine, both } = edited else { panic!("{edited:?}") };
        let theirs = String::from_utf8_lossy(now);
        let theirs = theirs.trim_end();
        assert_eq!(both, format!("<<<<<<< the memory now\n{theirs}\n=======\nmine\n>>>>>>> your edit\n"));
        assert_eq!(world.read("a.md").unwrap(), now);
        let history = store.history().unwrap();
        assert_eq!(text(&history.content(mine).unwrap()), "mine\n");
        let all = versions(&store, &Log::default());
        assert_eq!(all.iter().position(|version| version.id == mine), Some(1));
        assert_eq!(all.len(), 3);
        assert_eq!(all[1].change_id, all[2].change_id);
        assert_eq!(history.content(all[2].id).unwrap().as_slice(), now);
        // There is nothing to undo, and the edited text can be had.
        let change = Restore::Change(all[1].change_id);
        assert_eq!(store.restore(&change, Others::Keep).unwrap().change_id, None);
        let wanted = Restore::Version { path: path("a.md"), version: mine };
        store.restore(&wanted, Others::Keep).unwrap();
        assert_eq!(world.read("a.md").unwrap(), b"mine\n");
        drop((store, history));
        world.check(&[]);
    }
}

#[test]
fn a_memory_that_somebody_let_grow_past_the_limit_stays_where_edits_meet() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1\n").unwrap();
    let large = "x".repeat((1 << 20) + 1);
    world.write("a.md", &large);
    let edited = store.settle(&unknown("a.md", Some("1\n")), "mine\n").unwrap().edited;
    assert!(matches!(edited, Edited::Conflict { .. }));
    assert_eq!(world.read("a.md").unwrap(), large.as_bytes());
    drop(store);
    world.check(&[]);
}

/// A batch takes 64 changes. What was committed together has one time, but for the microseconds that tell changes apart.
#[test]
fn both_versions_of_a_conflict_are_committed_together_however_many_wait() {
    for waiting in [0, 1, 62, 63, 64, 127] {
        let world = World::new();
        let hours = std::sync::atomic::AtomicI64::new(0);
        let clock = move || {
            let hour = hours.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            chrono::DateTime::from_timestamp(hour * 3600, 0).unwrap()
        };
        let store = Store::builder(world.base()).clock(clock).open().unwrap();
        put(&store, "a.md", "theirs\n").unwrap();
        let others = (0..waiting).map(|n| {
            let edit = Edit::write(&path(&format!("{n}.md")), "other");
            let decide = move |_: &mut Snapshot<'_>| Ok((vec![edit.clone()].into(), ()));
            Box::new(decide) as settle::Decision
        });
        let change = store.new_change();
        let (pair, _) = settle::decisions(&unknown("a.md", Some("1\n")), "mine\n", change);
        let results = store.carry_out(others.chain(pair).collect());
        assert!(results.iter().all(Result::is_ok));
        let pair = versions(&store, &Log { change: Some(change), ..Log::default() });
        assert_eq!(pair.len(), 2);
        let apart = pair[1].created_at - pair[0].created_at;
        assert!(apart < chrono::TimeDelta::minutes(1), "{waiting} waited, {apart} apart");
        assert_eq!(world.read("a.md").unwrap(), b"theirs\n");
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn an_edit_from_outside_meets_an_edited_text_as_any_other() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1\n2\n3\n").unwrap();
    let one = original(&store, "a.md");
    world.write("a.md", "0\n1\n2\n3\n");
    assert_eq!(store.settle(&one, "1\n2\n3\n4\n").unwrap().edited, Edited::Merged);
    assert_eq!(contents(&store), ["1\n2\n3\n", "0\n1\n2\n3\n", "0\n1\n2\n3\n4\n"]);
    let two = original(&store, "a.md");
    world.write("a.md", "outside\n");
    let edited = store.settle(&two, "mine\n").unwrap().edited;
    assert!(matches!(edited, Edited::Conflict { .. }));
    assert_eq!(contents(&store)[3..], ["outside\n", "mine\n", "outside\n"]);
    drop(store);
    world.check(&[]);
}

#[test]
fn what_cannot_be_written_is_an_error_and_changes_nothing() {
    let world = World::new();
    let store = world.open();
    put(&store, "d/a.md", "1").unwrap();
    put(&store, "f", "1").unwrap();
    let tree = world.tree();
    let settle = |at| store.settle(&unknown(at, Some("1")), "2").unwrap_err();
    assert!(matches!(settle("d"), Error::Exists { .. }));
    assert!(matches!(settle("f/a.md"), Error::BelowFile { .. }));
    assert!(matches!(settle(".a.md"), Error::Hidden { .. }));
    let large = "x".repeat((1 << 20) + 1);
    assert!(matches!(store.settle(&original(&store, "f"), &large), Err(Error::TooLarge { .. })));
    assert_eq!(world.tree(), tree);
    drop(store);
    world.check(&[]);
}

/// The memory that is at a path now.
fn memory_at(store: &Store, at: &str) -> crate::id::MemoryId {
    store.history().unwrap().head(&path(at)).unwrap().unwrap().memory_id
}

#[test]
fn an_edited_text_goes_where_the_memory_went() {
    type Move = fn(&World, &Store);
    let moves: [(Move, &str); 3] = [
        (|_, store| rename(store, "d/a.md", "b.md").unwrap(), "b.md"),
        (|_, store| rename(store, "d", "e/f").unwrap(), "e/f/a.md"),
        (|world, _| std::fs::rename(world.file("d/a.md"), world.file("b.md")).unwrap(), "b.md"),
    ];
    for (go, to) in moves {
        for is_taken in [false, true] {
            for (theirs, mine, after, edited) in [
                (None, "1\n2\n3\n4\n", "1\n2\n3\n4\n", Some(Edited::Written)),
                (Some("0\n1\n2\n3\n"), "1\n2\n3\n4\n", "0\n1\n2\n3\n4\n", Some(Edited::Merged)),
                (Some("1\nx\n3\n"), "1\ny\n3\n", "1\nx\n3\n", None),
            ] {
                let world = World::new();
                let store = world.open();
                put(&store, "d/a.md", "1\n2\n3\n").unwrap();
                let (draft, memory) = (original(&store, "d/a.md"), memory_at(&store, "d/a.md"));
                go(&world, &store);
                if is_taken {
                    store.absorb(&MemoryPath::ROOT).unwrap();
                    put(&store, "d/a.md", "another\n").unwrap();
                }
                if let Some(theirs) = theirs {
                    store.absorb(&MemoryPath::ROOT).unwrap();
                    put(&store, to, theirs).unwrap();
                }
                let settled = store.settle(&draft, mine).unwrap();
                assert_eq!(settled.path, path(to));
                match edited {
                    Some(edited) => assert_eq!(settled.edited, edited),
                    None => assert!(matches!(settled.edited, Edited::Conflict { .. })),
                }
                assert_eq!(world.read(to).unwrap(), after.as_bytes());
                assert_eq!(world.read("d/a.md").as_deref(), is_taken.then_some(&b"another\n"[..]));
                assert_eq!(memory_at(&store, to), memory);
                drop(store);
                world.check(&[]);
            }
        }
    }
}

#[test]
fn an_edited_memory_that_was_deleted_lives_again() {
    type Delete = fn(&World, &Store);
    let deletions: [(Delete, &str); 4] = [
        (|_, store| remove(store, "d/a.md").unwrap(), "d/a.md"),
        (|_, store| remove(store, "d").unwrap(), "d/a.md"),
        (|world, _| std::fs::remove_dir_all(world.file("d")).unwrap(), "d/a.md"),
        (
            |_, store| {
                rename(store, "d/a.md", "b.md").unwrap();
                remove(store, "b.md").unwrap();
            },
            "b.md",
        ),
    ];
    for (delete, to) in deletions {
        let world = World::new();
        let store = world.open();
        put(&store, "d/a.md", "1\n").unwrap();
        let (draft, memory) = (original(&store, "d/a.md"), memory_at(&store, "d/a.md"));
        delete(&world, &store);
        assert_eq!(store.settle(&draft, "1\n").unwrap().edited, Edited::Unchanged);
        assert_eq!(world.read(to), None);
        let settled = store.settle(&draft, "2\n").unwrap();
        assert_eq!((settled.path, settled.edited), (path(to), Edited::Revived));
        assert_eq!(world.read(to).unwrap(), b"2\n");
        assert_eq!(memory_at(&store, to), memory);
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn an_edited_text_takes_nobodys_place() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1\n").unwrap();
    let draft = original(&store, "a.md");
    remove(&store, "a.md").unwrap();
    put(&store, "a.md", "1\n").unwrap();
    let another = memory_at(&store, "a.md");
    assert!(matches!(store.settle(&draft, "2\n"), Err(Error::Taken { path: at }) if at == path("a.md")));
    assert_eq!(world.read("a.md").unwrap(), b"1\n");
    assert_eq!(memory_at(&store, "a.md"), another);
    drop(store);
    world.check(&[]);
}

#[test]
fn what_is_kept_of_a_conflict_has_the_edits_of_others_elsewhere() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "1\n2\n3\n4\n5\n").unwrap();
    let draft = original(&store, "a.md");
    put(&store, "a.md", "1\ntheirs\n3\n4\nfive\n").unwrap();
    let Edited::Conflict { mine, .. } = store.settle(&draft, "1\nmine\n3\n4\n5\n").unwrap().edited else {
        panic!("both changed the second line")
    };
    assert_eq!(text(&store.history().unwrap().content(mine).unwrap()), "1\nmine\n3\n4\nfive\n");
    drop(store);
    world.check(&[]);
}
