//! What others did is noticed without reading all files, and nothing is missed.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use super::*;
use crate::store::{Absorbed, Settings};
use crate::version::{Operation, Version};

/// What was taken in.
fn words(absorbed: &Absorbed) -> BTreeSet<String> {
    let word = |version: &Version| {
        let path = version.path.as_ref().unwrap().as_str();
        match (version.operation, &version.moved_from) {
            (Operation::Deleted, _) => format!("delete {path}"),
            (_, Some(from)) => format!("move {} {path}", from.as_str()),
            _ => format!("write {path}"),
        }
    };
    absorbed.versions.iter().map(word).collect()
}

fn notice(store: &Store) -> BTreeSet<String> {
    words(&store.notice().unwrap())
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Lets all files be as old as need be to be believed.
fn wait_for_the_clock(world: &World) {
    let young = |entry: walkdir::Result<walkdir::DirEntry>| {
        use std::os::unix::fs::MetadataExt as _;
        let stat = entry.ok()?.metadata().ok()?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let tick = if stat.ctime_nsec() % 1_000_000 == 0 { 3_000_000_000 } else { 20_000_000 };
        let at = u128::try_from(stat.ctime() * 1_000_000_000 + stat.ctime_nsec()).unwrap();
        (at + tick >= now).then_some(())
    };
    while walkdir::WalkDir::new(world.base().join("memories")).into_iter().find_map(young).is_some() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_others_do_is_noticed() {
    type Case = (&'static str, fn(&World), &'static [&'static str]);
    let cases: &[Case] = &[
        ("nothing", |_| (), &[]),
        ("edit", |w| w.write("a.md", "theirs\n"), &["write a.md"]),
        ("edit, as long as it was", |w| w.write("a.md", "b\n"), &["write a.md"]),
        (
            "edit, as long and as old as it was",
            |w| {
                let file = w.file("a.md");
                let time = std::fs::metadata(&file).unwrap().modified().unwrap();
                std::fs::write(&file, "b\n").unwrap();
                std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
            },
            &["write a.md"],
        ),
        (
            "another file of the same times",
            |w| {
                let (file, new) = (w.file("a.md"), w.file("new"));
                let time = std::fs::metadata(&file).unwrap().modified().unwrap();
                std::fs::write(&new, "b\n").unwrap();
                std::fs::File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
                std::fs::rename(new, file).unwrap();
            },
            &["write a.md"],
        ),
        ("touch", |w| w.write("a.md", "a\n"), &[]),
        ("add", |w| w.write("x/new.md", "theirs\n"), &["write x/new.md"]),
        ("add what is hidden", |w| w.write(".x/new.md", "theirs\n"), &[]),
        ("delete", |w| std::fs::remove_file(w.file("a.md")).unwrap(), &["delete a.md"]),
        (
            "delete a directory",
            |w| std::fs::remove_dir_all(w.file("d")).unwrap(),
            &["delete d/f.md", "delete d/sub/g.md"],
        ),
        (
            "rename a directory",
            |w| std::fs::rename(w.file("d"), w.file("e")).unwrap(),
            &["move d/f.md e/f.md", "move d/sub/g.md e/sub/g.md"],
        ),
        (
            "swap two files",
            |w| {
                std::fs::rename(w.file("a.md"), w.file("x")).unwrap();
                std::fs::rename(w.file("d/f.md"), w.file("a.md")).unwrap();
                std::fs::rename(w.file("x"), w.file("d/f.md")).unwrap();
            },
            &["write a.md", "write d/f.md"],
        ),
        ("edit what is hidden", |w| w.write(".h/hidden.md", "theirs\n"), &["write .h/hidden.md"]),
        (
            "a link in place of a file",
            |w| {
                std::fs::remove_file(w.file("a.md")).unwrap();
                std::os::unix::fs::symlink("d/f.md", w.file("a.md")).unwrap();
            },
            &["delete a.md"],
        ),
    ];
    for &(name, meddle, right) in cases {
        for is_settled in [false, true] {
            for is_other in [false, true] {
                let world = World::new();
                std::fs::write(world.base().join("memdir.toml"), "hidden = \"allow\"").unwrap();
                let mut store = world.open();
                for (at, text) in
                    [("a.md", "a\n"), ("d/f.md", "f\n"), ("d/sub/g.md", "g\n"), (".h/hidden.md", "h\n")]
                {
                    put(&store, at, text).unwrap();
                }
                // So many that they are kept on disk.
                for n in 0..8 {
                    put(&store, &format!("more/{n}.md"), "more\n").unwrap();
                }
                // Some in the very tick in which they were written.
                assert_eq!(notice(&store), set(&[]), "{name}");
                if is_settled {
                    wait_for_the_clock(&world);
                    assert_eq!(notice(&store), set(&[]), "{name}");
                    assert_eq!(store.notice().unwrap().files, 0, "{name}: something was read again");
                }
                if is_other {
                    drop(store);
                    store = world.open();
                }
                meddle(&world);
                let noticed = store.notice().unwrap();
                assert_eq!(words(&noticed), set(right), "{name}, settled {is_settled}, other {is_other}");
                assert_eq!(notice(&store), set(&[]), "{name}: again");
                let more = store.absorb(&MemoryPath::ROOT).unwrap();
                assert_eq!(words(&more), set(&[]), "{name}: something was missed");
                drop(store);
                world.check(&[]);
            }
        }
    }
}

/// A file system's clock stands still for a while: what is written twice in one tick, as long as it was, is noticed twice.
#[test]
fn edits_within_one_tick_are_noticed() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "0000\n").unwrap();
    for n in 1..500 {
        world.write("a.md", format!("{n:04}\n"));
        assert_eq!(notice(&store), set(&["write a.md"]), "{n}");
    }
}

/// Only what changed is read: by whoever does it, and whatever process looks.
#[test]
fn only_what_changed_is_read() {
    let world = World::new();
    let store = world.open();
    for n in 0..100 {
        world.write(&format!("d{}/{n}.md", n % 7), format!("{n}\n"));
    }
    wait_for_the_clock(&world);
    let read = |store: &Store| store.notice().unwrap().files;
    assert_eq!((read(&store), read(&store), read(&store)), (100, 100, 0));
    let another = world.open();
    assert_eq!(read(&another), 0, "what one process read another one believes");
    // A change of memdir's own costs a look at that file, and a commit to the history one at what it was about.
    append(&store, "d1/1.md", "more\n").unwrap();
    world.write("d2/2.md", "theirs\n");
    wait_for_the_clock(&world);
    assert_eq!((read(&store), read(&store), read(&store)), (2, 1, 0));
    assert_eq!((read(&another), read(&another)), (2, 0));
    remove(&store, "d3/3.md").unwrap();
    std::fs::remove_file(world.file("d4/4.md")).unwrap();
    assert_eq!(notice(&store), set(&["delete d4/4.md"]));
    assert_eq!((read(&store), read(&another), read(&another)), (0, 0, 0));
    drop((store, another));
    world.check(&[]);
}

/// The file of stamps may be gone, torn, old, or that of another journal.
#[test]
fn stamps_that_do_not_fit_are_not_believed() {
    let world = World::new();
    let store = world.open();
    for n in 0..100 {
        put(&store, &format!("{n}.md"), format!("{n}\n")).unwrap();
    }
    wait_for_the_clock(&world);
    store.notice().unwrap();
    let file = world.room("index/stamps");
    let whole = std::fs::read(&file).unwrap();
    let read_anew = || world.open().notice().unwrap().files;
    assert_eq!(read_anew(), 0);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(read_anew(), 100);
    assert_eq!(read_anew(), 0, "they are written again");
    for bytes in [&whole[..whole.len() / 2], b"", b"something else"] {
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(read_anew(), 100);
    }
    // Old ones are good for what did not change since.
    for n in 0..70 {
        append(&store, &format!("{n}.md"), "more\n").unwrap();
    }
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(read_anew(), 70);
    // Of a history that is not this one they say nothing.
    drop(store);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = std::fs::remove_file(world.room(name));
    }
    std::fs::write(&file, &whole).unwrap();
    let store = world.open();
    let noticed = store.notice().unwrap();
    assert_eq!((noticed.versions.len(), noticed.files), (100, 100));
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(read_anew(), 100);
}

/// Whatever is taken back or left undone by a crash, and whatever others do meanwhile: the look after it misses nothing.
#[test]
fn nothing_is_missed_after_a_crash() {
    let mut crashes = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        for n in 0..7 {
            put(&store, &format!("d/{n}.md"), format!("{n}\n")).unwrap();
        }
        wait_for_the_clock(&world);
        store.notice().unwrap();
        drop(store);
        let store = world.open();
        world.write("d/1.md", "x\n");
        crate::fail::crash_after(step);
        let attempt = std::panic::AssertUnwindSafe(|| {
            append(&store, "d/2.md", "more\n").unwrap();
            store.notice().unwrap();
            put(&store, "e/new.md", "new\n").unwrap();
            remove(&store, "d/3.md").unwrap();
            store.notice().unwrap();
        });
        let _ = std::panic::catch_unwind(attempt);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
        if crate::fail::survive() {
            break;
        }
        crashes += 1;
        let store = world.open();
        store.notice().unwrap();
        assert_eq!(words(&store.absorb(&MemoryPath::ROOT).unwrap()), set(&[]), "step {step}");
        drop(store);
        world.check(&[]);
    }
    assert!(crashes > 30, "{crashes}");
}

/// What a change that is taken back leaves is what was there before.
#[test]
fn what_is_taken_back_is_no_edit() {
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        for n in 0..7 {
            put(&store, &format!("d/{n}.md"), format!("{n}\n")).unwrap();
        }
        wait_for_the_clock(&world);
        store.notice().unwrap();
        let (root, base) = (world.base().join("memories"), world.base().to_owned());
        crate::fail::interfere_after(step, move || {
            std::fs::rename(root.join("d/5.md"), root.join("d/x.md")).unwrap();
            crate::fail::interfere_after(1, move || {
                let settings = Settings { lock_wait: Duration::ZERO, ..Settings::default() };
                let another = Store::builder(&base).settings(settings).open().unwrap();
                let _ = another.notice();
            });
        });
        let two = |snapshot: &mut Snapshot<'_>| {
            for at in ["d/4.md", "d/5.md"] {
                snapshot.read(&path(at))?;
            }
            Ok::<_, Error>((["d/4.md", "d/5.md"].map(|at| Edit::write(&path(at), "ours\n")).into(), ()))
        };
        let _ = store.change(two);
        if crate::fail::was_left_alone() {
            break;
        }
        for store in [world.open(), store] {
            store.notice().unwrap();
            assert_eq!(words(&store.absorb(&MemoryPath::ROOT).unwrap()), set(&[]), "step {step}");
        }
    }
}

#[cfg(feature = "search")]
mod watched {
    use super::*;

    /// A store that watches its files, and knows them.
    fn watched(world: &World) -> Store {
        let store = world.open();
        for at in ["a.md", "d/b.md", "d/sub/c.md"] {
            put(&store, at, at).unwrap();
        }
        store.watch().unwrap();
        assert!(lock(&store.inner.noticed).has_watch(), "this system has no watches left");
        while looks(&store) {}
        store
    }

    /// Whether a call looks at the files.
    fn looks(store: &Store) -> bool {
        lock(&store.inner.noticed).forget();
        store.notice().unwrap().files > 0
    }

    #[test]
    fn while_nothing_happens_nobody_looks() {
        let world = World::new();
        let store = watched(&world);
        for _ in 0..3 {
            store.read(&path("a.md")).unwrap();
            store.list(&MemoryPath::ROOT, 9).unwrap().unwrap();
            world.read("d/b.md").unwrap();
            assert!(!looks(&store));
        }
        world.write("a.md", "theirs");
        assert_eq!(notice(&store), set(&["write a.md"]));
        append(&store, "d/b.md", "ours").unwrap();
        assert!(looks(&store), "its own changes are news, too");
        assert!(!looks(&store));
        // Another process looks for itself, and is heard by nobody.
        let another = world.open();
        another.watch().unwrap();
        assert!(looks(&another));
        assert!(!looks(&store) && !looks(&another));
        put(&another, "new.md", "theirs").unwrap();
        assert!(looks(&store) && looks(&another));
    }

    #[test]
    fn what_was_just_done_is_noticed() {
        let world = World::new();
        let store = watched(&world);
        for n in 0..200 {
            let at = ["a.md", "d/b.md", "d/sub/c.md"][n % 3];
            world.write(at, format!("{n:03}"));
            assert_eq!(notice(&store), set(&[&format!("write {at}")]));
        }
        // Directories that were made just now are watched, too.
        for n in 0..50 {
            let (at, again) = (format!("new{n}/x/y/a.md"), format!("new{n}/x/b.md"));
            world.write(&at, "new");
            assert_eq!(notice(&store), set(&[&format!("write {at}")]));
            world.write(&again, "new");
            assert_eq!(notice(&store), set(&[&format!("write {again}")]));
            world.write(&at, "again");
            assert_eq!(notice(&store), set(&[&format!("write {at}")]));
            std::fs::rename(world.file(&format!("new{n}")), world.file(&format!("moved{n}"))).unwrap();
            assert_eq!(notice(&store).len(), 2);
            world.write(&format!("moved{n}/x/y/a.md"), "more");
            assert_eq!(notice(&store), set(&[&format!("write moved{n}/x/y/a.md")]));
        }
        drop(store);
        world.check(&[]);
    }

    #[test]
    fn only_what_is_told_is_looked_at() {
        let world = World::new();
        let store = watched(&world);
        world.write("a.md", "theirs");
        world.write(".hidden", "theirs");
        let noticed = store.notice().unwrap();
        assert_eq!((noticed.files, words(&noticed)), (1, set(&["write a.md"])));
        // Of a directory that went the files are known.
        std::fs::rename(world.file("d/sub"), world.base().join("elsewhere")).unwrap();
        assert_eq!(notice(&store), set(&["delete d/sub/c.md"]));
        std::fs::rename(world.file("d"), world.base().join("elsewhere/d")).unwrap();
        world.write("d", "a file where a directory was");
        assert_eq!(notice(&store), set(&["delete d/b.md", "write d"]));
        std::fs::remove_file(world.file("d")).unwrap();
        std::fs::rename(world.base().join("elsewhere"), world.file("back")).unwrap();
        assert_eq!(notice(&store).len(), 3);
    }

    /// What a watch cannot tell is looked for.
    #[test]
    fn a_watch_that_is_lost_is_set_up_again() {
        let world = World::new();
        let store = watched(&world);
        // Its cookies are gone, as after a redaction.
        std::fs::remove_dir_all(world.room("index")).unwrap();
        world.write("a.md", "theirs");
        assert_eq!(notice(&store), set(&["write a.md"]));
        while looks(&store) {}
        // Another directory of the same name.
        let root = world.base().join("memories");
        std::fs::rename(&root, world.base().join("old")).unwrap();
        std::fs::create_dir(&root).unwrap();
        world.write("a.md", "another");
        assert_eq!(notice(&store), set(&["write a.md", "delete d/b.md", "delete d/sub/c.md"]));
        world.write("a.md", "more");
        assert_eq!(notice(&store), set(&["write a.md"]));
        while looks(&store) {}
        // A file that others reach by another name, once that is seen.
        std::fs::hard_link(world.file("a.md"), world.base().join("link")).unwrap();
        world.write("new.md", "new");
        assert!(looks(&store) && looks(&store));
        std::fs::write(world.base().join("link"), "by another name").unwrap();
        assert_eq!(notice(&store), set(&["write a.md"]));
    }
}
