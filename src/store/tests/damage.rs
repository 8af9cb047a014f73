//! A damaged, missing, old or foreign journal; a room or a lock that is gone; clocks and rights that are wrong.

use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use chrono::DateTime;

use super::super::{Others, Restore, Settings};
use super::*;
use crate::error::Trouble;
use crate::version::Log;

fn world() -> World {
    let world = World::new();
    let store = world.open();
    for n in 0..50 {
        put(&store, &format!("{n}.md"), format!("file {n}\n").repeat(100)).unwrap();
    }
    drop(store);
    world
}

fn is_journal(result: &Result<()>) -> bool {
    matches!(result, Err(Error::Write { why: Trouble::Journal, .. }))
}

#[test]
fn a_damaged_journal_is_said_to_be_and_the_files_are_still_there() {
    type Case = (&'static str, fn(&Path));
    let cases: &[Case] = &[
        ("random bytes", |at| std::fs::write(at, vec![0x5a; 50_000]).unwrap()),
        ("half of it", |at| {
            let file = std::fs::OpenOptions::new().write(true).open(at).unwrap();
            file.set_len(file.metadata().unwrap().len() / 8192 * 4096).unwrap();
        }),
        ("only the header", |at| {
            let size = std::fs::metadata(at).unwrap().len();
            let mut file = std::fs::OpenOptions::new().write(true).open(at).unwrap();
            file.seek(std::io::SeekFrom::Start(100)).unwrap();
            file.write_all(&vec![0xa5; usize::try_from(size).unwrap() - 100]).unwrap();
        }),
        ("all but the first page", |at| {
            let size = std::fs::metadata(at).unwrap().len();
            let mut file = std::fs::OpenOptions::new().write(true).open(at).unwrap();
            file.seek(std::io::SeekFrom::Start(4096)).unwrap();
            file.write_all(&vec![0xa5; usize::try_from(size).unwrap() - 4096]).unwrap();
        }),
        ("a table is missing", |at| verify::forge(at, "DROP TABLE memory")),
        ("a column is missing", |at| verify::forge(at, "ALTER TABLE version DROP COLUMN staged")),
        ("the database of another program", |at| {
            std::fs::remove_file(at).unwrap();
            verify::forge(at, "CREATE TABLE songs (title TEXT); PRAGMA user_version = 1");
        }),
    ];
    for (name, damage) in cases {
        let world = world();
        let before = world.tree();
        damage(&world.room("journal.db"));
        let store = world.open();
        let result = put(&store, "7.md", "new\n");
        assert!(is_journal(&result), "{name}: {result:?}");
        let found = store.read(&path("7.md")).unwrap();
        assert_eq!(found, Found::File(b"file 7\n".repeat(100).into()), "{name}");
        assert_eq!(world.tree(), before, "{name}");
        drop(store);
        // A new journal, as the hint says.
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(world.room(&format!("journal.db{end}")));
        }
        let store = world.open();
        put(&store, "7.md", "new\n").unwrap();
        world.assert_not_lost(&store, &b"file 7\n".repeat(100));
        drop(store);
        world.check(&[]);
    }
}

/// Where nothing was to be written, it is not said that something could not be.
#[test]
fn a_journal_that_cannot_be_read_is_said_to_be_by_what_only_reads() {
    let world = world();
    let store = world.open();
    let history = store.history().unwrap();
    let id = history.head(&path("7.md")).unwrap().unwrap().id;
    drop((store, history));
    verify::forge(&world.room("journal.db"), "ALTER TABLE version DROP COLUMN size");
    let store = world.open();
    // It opens: what is missing is missed when it is asked for.
    let history = store.history().unwrap();
    let all = |log: &Log| history.versions(log, &mut |_| Ok(ControlFlow::Continue(())));
    for read in [
        all(&Log::default()),
        history.version(id).map(drop),
        history.head(&path("7.md")).map(drop),
        history.content(id).map(drop),
        history.contents(&Log::default(), |_, _| Ok(ControlFlow::Continue(()))),
        history.stats().map(drop),
    ] {
        let error = read.unwrap_err();
        assert!(matches!(error, Error::Read { why: Trouble::Journal, .. }), "{error:?}");
        assert_eq!(error.to_string(), "the memory directory cannot be read: its journal is damaged");
    }
    drop((store, history));
    std::fs::write(world.room("journal.db"), vec![0x5a; 50_000]).unwrap();
    let error = world.open().history().unwrap_err();
    assert!(matches!(error, Error::Read { why: Trouble::Journal, .. }), "{error:?}");
}

#[test]
fn what_a_reader_of_the_history_fails_at_stays_its_own_failure() {
    let world = world();
    let store = world.open();
    let history = store.history().unwrap();
    let full = || Err(Error::Write { why: Trouble::NoSpace, doing: "write an archive".into(), source: None });
    let log = Log::default();
    for read in [history.versions(&log, &mut |_| full()), history.contents(&log, |_, _| full())] {
        assert!(matches!(read, Err(Error::Write { why: Trouble::NoSpace, .. })), "{read:?}");
    }
    let taken = store.snapshot(&mut |_| full().map(|_: ControlFlow<()>| ()));
    assert!(matches!(taken, Err(Error::Write { why: Trouble::NoSpace, .. })), "{taken:?}");
}

/// Whatever way leads into the lock, a sync that fails there closes the handle.
#[test]
fn a_sync_that_fails_on_any_way_into_the_lock_closes_the_handle() {
    type Way = (&'static str, bool, fn(&Store) -> Result<()>);
    let ways: &[Way] = &[
        ("restore", true, |store| {
            let what = Restore::Before { path: MemoryPath::ROOT, time: DateTime::UNIX_EPOCH };
            store.restore(&what, Others::Keep).map(drop)
        }),
        ("history", false, |store| store.history().map(drop)),
        ("change", false, |store| put(store, "a.md", "a\n")),
    ];
    for (name, is_laid_out, way) in ways {
        let world = if *is_laid_out { world() } else { World::new() };
        let store = world.open();
        if *is_laid_out {
            std::fs::remove_dir_all(world.base().join("memories")).unwrap();
        }
        crate::fail::break_next_sync();
        let is_failed =
            |result: Result<()>| matches!(result, Err(Error::Write { why: Trouble::SyncFailed, .. }));
        assert!(is_failed(way(&store)), "{name}");
        assert!(is_failed(put(&store, "b.md", "b\n")), "{name}: the handle is open");
        drop(store);
        put(&world.open(), "b.md", "b\n").unwrap();
    }
}

#[test]
fn a_journal_that_is_gone_or_empty_begins_anew_and_adopts_the_files() {
    type Case = (&'static str, bool, fn(&World));
    let cases: &[Case] = &[
        ("empty", false, |w| std::fs::write(w.room("journal.db"), "").unwrap()),
        ("removed", false, |w| std::fs::remove_file(w.room("journal.db")).unwrap()),
        ("removed while open", true, |w| {
            for end in ["", "-wal", "-shm"] {
                std::fs::remove_file(w.room(&format!("journal.db{end}"))).unwrap();
            }
        }),
        ("the room removed", false, |w| std::fs::remove_dir_all(w.room(".")).unwrap()),
        ("the room removed while open", true, |w| {
            std::fs::remove_dir_all(w.base().join(".memdir")).unwrap();
        }),
        ("replaced by an older copy", false, |w| {
            std::fs::copy(w.base().join("copy"), w.room("journal.db")).map(drop).unwrap();
        }),
    ];
    for (name, is_open, damage) in cases {
        let world = world();
        std::fs::copy(world.room("journal.db"), world.base().join("copy")).unwrap();
        let store = world.open();
        append(&store, "1.md", "more\n").unwrap();
        let store = if *is_open {
            Some(store)
        } else {
            drop(store);
            None
        };
        if *name == "the room removed" {
            std::fs::remove_dir_all(world.base().join(".memdir")).unwrap();
        } else {
            damage(&world);
        }
        let store = store.unwrap_or_else(|| world.open());
        append(&store, "1.md", "and more\n").unwrap();
        append(&store, "2.md", "more\n").unwrap();
        let old = b"file 1\n".repeat(100);
        assert_eq!(world.read("1.md").unwrap(), [&*old, b"more\nand more\n"].concat(), "{name}");
        world.assert_not_lost(&store, &[&*old, b"more\n"].concat());
        drop(store);
        world.check(&[]);
    }
}

#[test]
fn a_step_of_an_unknown_kind_removes_nothing() {
    let world = world();
    let store = world.open();
    put(&store, "d/a.md", "a\n").unwrap();
    remove(&store, "d").unwrap();
    kill(store);
    verify::forge(&world.room("journal.db"), "UPDATE operation SET kind = 7 WHERE kind = 2");
    world.reboot();
    let store = world.open();
    let result = put(&store, "1.md", "new\n");
    assert!(is_journal(&result), "{result:?}");
}

#[test]
fn what_lay_in_staging_outlives_the_journal_that_knew_it() {
    let world = world();
    std::fs::write(world.room("staging/new-7"), "displaced\n").unwrap();
    std::fs::remove_file(world.room("journal.db")).unwrap();
    std::fs::write(world.room("lock"), "").unwrap();
    let store = world.check(&[]);
    world.assert_not_lost(&store, b"displaced\n");
}

#[test]
fn a_journal_of_a_newer_format_is_refused_and_left_alone() {
    let world = world();
    verify::forge(&world.room("journal.db"), "PRAGMA user_version = 999");
    let before = std::fs::read(world.room("journal.db")).unwrap();
    let store = world.open();
    let result = put(&store, "1.md", "new\n");
    assert!(matches!(result, Err(Error::NewerJournal { found: 999, .. })), "{result:?}");
    assert_eq!(store.read(&path("1.md")).unwrap(), Found::File(b"file 1\n".repeat(100).into()));
    drop(store);
    assert_eq!(std::fs::read(world.room("journal.db")).unwrap(), before);
}

#[test]
fn a_database_of_something_else_is_not_written_to() {
    let world = world();
    verify::forge(&world.room("journal.db"), "PRAGMA user_version = 0");
    let before = std::fs::read(world.room("journal.db")).unwrap();
    let store = world.open();
    let result = put(
        &store, "1.md", "new
",
    );
    assert!(matches!(result, Err(Error::Write { why: Trouble::Journal, .. })), "{result:?}");
    drop(store);
    assert_eq!(std::fs::read(world.room("journal.db")).unwrap(), before);
}

#[test]
fn two_handles_survive_the_removal_of_the_lock_file() {
    let world = world();
    let (one, two) = (world.open(), world.open());
    append(&one, "1.md", "one\n").unwrap();
    append(&two, "1.md", "two\n").unwrap();
    std::fs::remove_file(world.room("lock")).unwrap();
    append(&one, "1.md", "three\n").unwrap();
    append(&two, "1.md", "four\n").unwrap();
    append(&one, "1.md", "five\n").unwrap();
    let right = [&*b"file 1\n".repeat(100), b"one\ntwo\nthree\nfour\nfive\n"].concat();
    assert_eq!(world.read("1.md").unwrap(), right);
    drop((one, two));
    world.check(&[]);
}

#[test]
fn a_clock_that_goes_backwards_does_not_go_backwards_here() {
    let world = World::new();
    let clock = AtomicI64::new(1_000_000_000);
    let backwards =
        move || DateTime::from_timestamp_micros(clock.fetch_sub(10_000_000, Ordering::Relaxed)).unwrap();
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = Store::builder(base).clock(backwards).open().unwrap();
    for n in 0..20 {
        put(&store, "a.md", format!("{n}\n")).unwrap();
    }
    look(&store, |session| session.journal.verify());
}

/// A process that keeps the lock until its input ends: started by the test below.
#[test]
fn holder() {
    let Some(base) = std::env::var_os("MEMDIR_TEST_HOLDER") else { return };
    let store = open(Path::new(&base));
    look(&store, |_| {
        std::fs::write(Path::new(&base).join("held"), std::process::id().to_string()).unwrap();
        let _ = std::io::read_to_string(std::io::stdin());
    });
}

#[test]
fn a_lock_that_another_process_keeps_is_waited_for_so_long_and_no_longer() {
    let world = world();
    let before = world.tree();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::damage::holder", "-q"])
        .env("MEMDIR_TEST_HOLDER", world.base())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !world.base().join("held").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let settings = Settings { lock_wait: Duration::from_millis(100), ..Settings::default() };
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = Store::builder(base).settings(settings).open().unwrap();
    let begun = Instant::now();
    let result = put(&store, "1.md", "new\n");
    assert!(matches!(result, Err(Error::Busy { pid: Some(pid) }) if pid == holder.id()), "{result:?}");
    assert!(begun.elapsed() >= Duration::from_millis(100));
    assert!(begun.elapsed() < Duration::from_secs(3));
    // Readers wait for nobody.
    assert_eq!(store.read(&path("1.md")).unwrap(), Found::File(b"file 1\n".repeat(100).into()));
    assert_eq!(world.tree(), before);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    put(&store, "1.md", "new\n").unwrap();
    drop(store);
    world.check(&[]);
}

#[test]
fn who_holds_the_lock_is_not_guessed_from_who_had_it_last() {
    let world = world();
    let turn = std::fs::File::open(world.room("turn")).unwrap();
    turn.lock().unwrap();
    let settings = Settings { lock_wait: Duration::ZERO, ..Settings::default() };
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = Store::builder(base).settings(settings).open().unwrap();
    let result = put(&store, "1.md", "new\n");
    assert!(matches!(result, Err(Error::Busy { pid: None })), "{result:?}");
}

#[test]
fn a_change_may_wait_for_longer_than_the_clock_can_count() {
    let world = world();
    let settings = Settings { lock_wait: Duration::MAX, ..Settings::default() };
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = Store::builder(base).settings(settings).open().unwrap();
    put(&store, "1.md", "new\n").unwrap();
}

#[test]
fn a_reader_does_not_wait_for_a_writer_of_its_own_process() {
    let world = world();
    let store = world.open();
    put(&store, "1.md", "new\n").unwrap();
    let reader = store.clone();
    look(&store, move |_| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let found = reader.read(&path("1.md")).unwrap();
            sender.send(found).unwrap();
        });
        let found = receiver.recv_timeout(Duration::from_secs(2)).expect("it waits");
        assert_eq!(found, Found::File(b"new\n"[..].to_vec().into()));
        thread.join().unwrap();
    });
}

/// Who waits for a lock must not go on with one that has no name any more: it would exclude nobody.
#[test]
fn a_room_that_goes_while_its_lock_is_waited_for_is_made_again() {
    let world = world();
    let (one, two) = (world.open(), world.open());
    put(&two, "1.md", "one\n").unwrap();
    let thread = look(&one, |_| {
        let thread = std::thread::spawn(move || put(&two, "1.md", "two\n").map(|()| two));
        // It has the turn once it waits for the lock.
        let turn = std::fs::File::open(world.room("turn")).unwrap();
        while turn.try_lock().is_ok() {
            turn.unlock().unwrap();
            std::thread::yield_now();
        }
        std::fs::remove_dir_all(world.base().join(".memdir")).unwrap();
        thread
    });
    let two = thread.join().unwrap().unwrap();
    append(&one, "1.md", "three\n").unwrap();
    drop((one, two));
    world.check(&[]);
    assert_eq!(world.read("1.md").unwrap(), b"two\nthree\n");
}

#[test]
fn a_watermark_that_cannot_be_moved_ends_nothing() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    drop(store);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no'); END";
    verify::forge(&world.room("journal.db"), trigger);
    let store = world.open();
    for n in 0..520 {
        put(&store, "a.md", format!("{n}\n")).unwrap();
    }
    assert!(store.take_warning().is_some());
}

/// A file that somebody closed to this user cannot be opened to be synced, which keeps nobody from writing others.
#[test]
fn a_file_that_may_not_be_opened_ends_no_recovery() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    kill(store);
    std::fs::set_permissions(world.file("a.md"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(world.file("a.md")).is_ok() {
        return; // a user to whom nothing is closed
    }
    std::fs::write(world.room("lock"), "").unwrap();
    let store = world.open();
    put(&store, "b.md", "b\n").unwrap();
    store.sync().unwrap();
    assert!(!store.is_unsynced());
}

/// A small file system of its own, where this user may mount one.
pub(super) struct Small(pub(super) World);

impl Small {
    pub(super) fn mount() -> Option<Self> {
        let world = World::new();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"])
            .arg(world.base())
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(world))
    }

    fn remount(&self, how: &str) {
        let status = Command::new("mount").args(["-o", how]).arg(self.0.base()).status().unwrap();
        assert!(status.success());
    }

    /// Leaves no byte free.
    pub(super) fn fill(&self) {
        let mut filler = std::fs::File::create(self.0.base().join("filler")).unwrap();
        for size in [4096, 1] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
    }

    /// Frees some of what [`Small::fill`] took.
    pub(super) fn make_room(&self, bytes: u64) {
        let filler = std::fs::OpenOptions::new().write(true).open(self.0.base().join("filler")).unwrap();
        filler.set_len(filler.metadata().unwrap().len() - bytes).unwrap();
    }

    pub(super) fn empty(&self) {
        std::fs::remove_file(self.0.base().join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.base()).status();
    }
}

fn is_no_space(result: &Result<()>) -> bool {
    matches!(result, Err(Error::Write { why: Trouble::NoSpace, .. }))
}

#[test]
fn a_full_disk_refuses_changes_and_forgets_none() {
    let Some(small) = Small::mount() else { return };
    let world = &small.0;
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "d/b.md", "b\n").unwrap();
    small.fill();
    let before = world.tree();
    for _ in 0..3 {
        let result = put(&store, "a.md", "x\n".repeat(20_000));
        assert!(is_no_space(&result), "{result:?}");
        let result = put(&store, "x/new.md", "x\n".repeat(20_000));
        assert!(is_no_space(&result), "{result:?}");
        assert_eq!(world.tree(), before);
    }
    small.empty();
    append(&store, "a.md", "more\n").unwrap();
    drop(store);
    world.check(&[]);
}

#[test]
fn recovery_on_a_full_disk_waits_until_there_is_space() {
    let Some(small) = Small::mount() else { return };
    let world = &small.0;
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    drop(store);
    let store = world.open();
    put(&store, "a.md", "b\n".repeat(5000)).unwrap();
    put(&store, "x/new.md", "new\n".repeat(5000)).unwrap();
    let right = world.tree();
    kill(store);
    std::fs::write(world.file("a.md"), "a\n").unwrap();
    std::fs::remove_dir_all(world.file("x")).unwrap();
    world.reboot();
    small.fill();
    let store = world.open();
    assert_eq!(store.read(&path("a.md")).unwrap(), Found::File(b"a\n"[..].to_vec().into()));
    assert!(store.take_warning().is_some());
    assert!(put(&store, "other.md", "x\n").is_err());
    drop(store);
    small.empty();
    world.check(&[]);
    assert_eq!(world.tree(), right);
}

#[test]
fn a_read_only_disk_is_read_and_a_change_says_why_not() {
    let Some(small) = Small::mount() else { return };
    let world = &small.0;
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    drop(store);
    small.remount("remount,ro");
    let store = world.open();
    assert_eq!(store.read(&path("a.md")).unwrap(), Found::File(b"a\n"[..].to_vec().into()));
    assert_eq!(history::words(&history::log(&store.history().unwrap(), &history::at(""))), ["created a.md"]);
    let result = put(&store, "a.md", "x\n");
    assert!(matches!(result, Err(Error::Write { why: Trouble::ReadOnly, .. })), "{result:?}");
    small.remount("remount,rw");
    append(&store, "a.md", "more\n").unwrap();
    drop(store);
    world.check(&[]);
}

/// SQLite removes the log of a database that it closes: not of the one that took its place.
#[test]
fn who_closes_a_journal_that_was_replaced_leaves_the_new_one_alone() {
    let world = world();
    let (old, new) = (world.open(), world.open());
    append(&old, "1.md", "old\n").unwrap();
    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(world.room(&format!("journal.db{end}"))).unwrap();
    }
    append(&new, "1.md", "new\n").unwrap();
    kill(old);
    let log = std::fs::metadata(world.room("journal.db-wal")).unwrap();
    assert!(log.len() > 0);
    let store = world.open();
    assert_eq!(look(&store, |session| session.journal.heads_below("").unwrap().len()), 1);
    drop((new, store));
    world.check(&[]);
}

/// Where files cannot be exchanged the displaced one has a name of its own for a moment.
#[test]
fn a_file_put_aside_for_want_of_an_exchange_is_looked_at_too() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    std::fs::write(world.file("a.md"), b"\xff binary").unwrap();
    put(&store, "a.md", "text\n").unwrap();
    drop(store);
    std::fs::remove_dir_all(world.room("kept")).unwrap();
    // The number of the edit's batch: its first change recorded what was there before.
    let staged = (look(&world.open(), |session| session.journal.last_change().unwrap()) - 1) << 20;
    std::fs::write(world.room(&format!("staging/new-{staged}-aside")), b"\xff binary").unwrap();
    world.reboot();
    let store = world.check(&[]);
    world.assert_not_lost(&store, b"\xff binary");
}

/// What could not be cleared away, for want of descriptors, say, still has the number of a change that was not made.
#[test]
fn a_leftover_in_staging_is_in_the_way_of_no_change() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "d/f.md", "d\n").unwrap();
    for number in 1..20 {
        std::fs::create_dir_all(world.room(&format!("staging/new-{number}/below"))).unwrap();
        std::fs::create_dir(world.room(&format!("staging/old-{number}"))).unwrap();
    }
    put(&store, "b.md", "b\n").unwrap();
    append(&store, "a.md", "more\n").unwrap();
    put(&store, "e/g.md", "e\n").unwrap();
    remove(&store, "d").unwrap();
    remove(&store, "b.md").unwrap();
    drop(store);
    world.check(&[]);
}

/// The clock is the caller's, and may panic within a commit: of those that were in it, only the leader hears of that.
#[test]
fn a_leader_that_panics_leaves_nobody_waiting() {
    let world = World::new();
    let is_broken = Arc::new(AtomicBool::new(false));
    let clock = {
        let is_broken = Arc::clone(&is_broken);
        move || {
            assert!(!is_broken.swap(false, Ordering::SeqCst), "the clock is broken");
            chrono::Utc::now()
        }
    };
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = &Store::builder(base).clock(clock).open().unwrap();
    put(store, "a.md", "a\n").unwrap();
    let joined = std::thread::scope(|threads| {
        let (tell, begun) = mpsc::channel();
        let (go_on, wait) = mpsc::channel();
        let wait = std::sync::Mutex::new(wait);
        let first = threads.spawn(move || {
            store.change::<(), Error, _>(move |_| {
                tell.send(()).unwrap();
                lock(&wait).recv().unwrap();
                Ok((Vec::new(), ()))
            })
        });
        begun.recv().unwrap();
        // Who comes while it decides is served with all the others in one batch.
        let others: Vec<_> = (0..4)
            .map(|n| {
                let is_broken = Arc::clone(&is_broken);
                let mut decide = appending("a.md", &format!("{n}\n"));
                threads.spawn(move || {
                    store.change(move |snapshot| {
                        is_broken.store(true, Ordering::SeqCst);
                        decide(snapshot)
                    })
                })
            })
            .collect();
        while store.inner.queue.waiting() < others.len() {
            std::thread::yield_now();
        }
        go_on.send(()).unwrap();
        first.join().unwrap().unwrap();
        others.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    assert_eq!(joined.iter().filter(|joined| joined.is_err()).count(), 1);
    for result in joined.into_iter().flatten() {
        assert!(matches!(result, Err(Error::Unknown { .. })), "{result:?}");
    }
    append(store, "a.md", "again\n").unwrap();
    assert_eq!(world.read("a.md").unwrap(), b"a\nagain\n");
    world.check(&[]);
}
