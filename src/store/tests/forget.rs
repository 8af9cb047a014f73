//! Forgetting a store: nothing of it is left, whoever else is at work in it, and whenever it is cut short.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use super::crash::Failures;
use super::*;
use crate::fail;
use crate::store::Receipt;

const BINARY: &[u8] = b"\xff\xfe\0 canary-binary, not text";

/// A store with a canary in every corner: each has `canary` in it.
fn fill(world: &World) -> Store {
    let store = world.open();
    std::fs::write(world.base().join("memdir.toml"), "read_only = [\"/memories/policies\"]\n").unwrap();
    put(&store, "a.md", "canary-old: a version that was overwritten\n").unwrap();
    put(&store, "a.md", "canary-new: a version that is there\n").unwrap();
    put(&store, "d/canary-name.md", "canary-deleted: a file that was deleted\n").unwrap();
    remove(&store, "d/canary-name.md").unwrap();
    world.write("a.png", BINARY);
    put(&store, "a.png", "canary-text: over what is in kept\n").unwrap();
    world.write(".git/config", "canary-git: a person's own repository\n");
    world.write("x/canary-added.md", "canary-added: never seen before\n");
    std::os::unix::fs::symlink("/etc/canary", world.file("link")).unwrap();
    std::fs::create_dir_all(world.room("edits")).unwrap();
    std::fs::write(world.room("edits/a.md"), "canary-edit: an editor's copy\n").unwrap();
    std::fs::create_dir_all(world.room("index/deep/er")).unwrap();
    std::fs::write(world.room("index/deep/er/words"), "canary-index\n").unwrap();
    std::fs::write(world.room("staging/new-7"), "canary-staged: a leftover\n").unwrap();
    store
}

/// Names and contents of all that is left below the base.
fn left(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(world.base()).min_depth(1).sort_by_file_name();
    let read = |entry: walkdir::DirEntry| {
        let bytes =
            if entry.file_type().is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
        (entry.path().strip_prefix(world.base()).unwrap().to_owned(), bytes)
    };
    entries.into_iter().map(|entry| read(entry.unwrap())).collect()
}

fn has(text: &[u8], piece: &[u8]) -> bool {
    memchr::memmem::find(text, piece).is_some()
}

fn assert_nothing_is_left(world: &World) {
    let left = left(world);
    let names: Vec<_> = left.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names, ["memdir.toml"]);
    for (name, bytes) in &left {
        assert!(!has(bytes, b"canary"), "{}", name.display());
    }
}

fn is_traced(receipt: &Receipt, text: &str) -> bool {
    receipt.traces.iter().any(|piece| has(piece, text.as_bytes()))
}

#[test]
fn what_is_forgotten_is_in_no_byte_of_what_is_left() {
    let world = World::new();
    let store = fill(&world);
    std::fs::hard_link(world.file("a.md"), world.base().join("elsewhere")).unwrap();
    let receipt = store.forget().unwrap();
    assert!(!format!("{receipt:?}").contains("canary"), "what went is nothing for a log");
    std::fs::remove_file(world.base().join("elsewhere")).unwrap();
    assert_nothing_is_left(&world);
    assert_eq!(receipt.files, 4);
    let new = b"canary-new: a version that is there\n";
    assert!(receipt.contents.contains(&Hash::of(new)) && receipt.contents.is_sorted_by_key(|hash| hash.0));
    assert_eq!(receipt.contents.len(), 4);
    assert_eq!(receipt.memories, 4);
    assert_eq!(receipt.versions, 7);
    assert_ne!(receipt.head, Hash([0; 32]));
    assert_eq!(receipt.out_of_reach, ["/memories/a.md has 1 other name (hard links)"]);
    for text in
        ["canary-old", "canary-new", "canary-deleted", "canary-name.md", "canary-added", "canary-binary"]
    {
        assert!(is_traced(&receipt, text), "{text}");
    }
    assert!(!is_traced(&receipt, "canary-git"));
    for piece in &receipt.traces {
        assert!(!left(&world).iter().any(|(_, bytes)| has(bytes, piece)));
    }
}

#[test]
fn a_handle_begins_a_new_store_after_it() {
    let world = World::new();
    let store = fill(&world);
    let other = world.open();
    append(&other, "a.md", "more\n").unwrap();
    store.forget().unwrap();
    assert_eq!(store.list(&MemoryPath::ROOT, 1).unwrap().unwrap().entries, []);
    drop(other);
    assert_nothing_is_left(&world);
    let other = world.open();
    put(&other, "new.md", "new\n").unwrap();
    put(&store, "new.md", "newer\n").unwrap();
    look(&store, |session| assert_eq!(session.journal.last_change().unwrap(), 2));
    drop((store, other));
    world.check(&[]);
    assert!(!left(&world).iter().any(|(_, bytes)| has(bytes, b"canary")));
}

#[test]
fn what_is_not_there_is_forgotten_soon() {
    let world = World::new();
    let store = world.open();
    let first = store.forget().unwrap();
    assert_eq!((first.files, first.memories, first.versions, first.traces.len()), (0, 0, 0, 0));
    assert_eq!(store.forget().unwrap().head, first.head);
    assert_eq!(left(&world), []);
}

#[test]
fn links_are_removed_and_not_followed() {
    let (world, other) = (World::new(), World::new());
    other.write("precious.md", "another's\n");
    let store = fill(&world);
    std::os::unix::fs::symlink(other.base(), world.file("elsewhere")).unwrap();
    std::os::unix::fs::symlink(other.file("precious.md"), world.file("precious.md")).unwrap();
    std::fs::remove_dir_all(world.room("index")).unwrap();
    std::os::unix::fs::symlink(other.base(), world.room("index")).unwrap();
    store.forget().unwrap();
    assert_nothing_is_left(&world);
    assert_eq!(other.read("precious.md").unwrap(), b"another's\n");
}

#[test]
fn a_damaged_or_newer_journal_keeps_nobody_from_forgetting() {
    let damages: &[fn(&World)] = &[
        |w| std::fs::write(w.room("journal.db"), b"canary, and no database".repeat(1000)).unwrap(),
        |w| verify::forge(&w.room("journal.db"), "PRAGMA user_version = 999"),
        |w| verify::forge(&w.room("journal.db"), "DROP TABLE version"),
    ];
    for (n, damage) in damages.iter().enumerate() {
        let world = World::new();
        drop(fill(&world));
        damage(&world);
        let receipt = world.open().forget().unwrap();
        assert_eq!((receipt.files, receipt.versions), (4, 0), "{n}");
        assert_nothing_is_left(&world);
    }
}

#[test]
fn a_forgetting_that_is_cut_short_is_finished_by_the_next() {
    let mut failures = Failures::default();
    for step in 0.. {
        let world = World::new();
        let store = fill(&world);
        fail::crash_after(step);
        let _ = catch_unwind(AssertUnwindSafe(|| store.forget().unwrap()));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
        let is_over = fail::survive();
        failures.note("forget", &step, || {
            world.open().forget().unwrap();
            assert_nothing_is_left(&world);
        });
        if is_over {
            assert!(step > 10);
            break;
        }
    }
    failures.assert_none();
}

/// A process that works on, whatever becomes of the store: started by the test below.
#[test]
fn worker() {
    let Some(task) = std::env::var_os("MEMDIR_TEST_FORGET") else { return };
    let task = task.into_string().unwrap();
    let (name, base) = task.split_once(' ').unwrap();
    let store = open(Path::new(base));
    if name == "mounted" {
        let refused = store.forget();
        assert!(
            matches!(&refused, Err(Error::Unsupported { path: at }) if *at == path("d/mount")),
            "{refused:?}"
        );
        let report = store.check(&crate::store::Check::default(), &mut |_| ()).unwrap();
        assert!(report.findings.iter().any(|finding| finding.kind == "mount"));
        return;
    }
    for n in 0..30 {
        match name {
            "forget" => drop(store.forget().unwrap()),
            _ => put(&store, &format!("{name}/{}.md", n % 3), format!("canary {n}\n")).unwrap(),
        }
    }
}

#[test]
fn who_waits_for_a_store_that_is_forgotten_works_on_in_a_new_one() {
    let world = World::new();
    drop(fill(&world));
    let spawn = |name: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::forget::worker", "-q"])
            .env("MEMDIR_TEST_FORGET", format!("{name} {}", world.base().display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let workers = ["one", "two", "forget", "three", "forget"].map(spawn);
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = world.check(&[]);
    put(&store, "last.md", "canary\n").unwrap();
    drop(store);
    world.open().forget().unwrap();
    assert_nothing_is_left(&world);
}

#[test]
fn threads_that_write_and_forget_at_once_all_get_their_answers() {
    let world = World::new();
    let store = fill(&world);
    std::thread::scope(|scope| {
        for n in 0..3 {
            let store = store.clone();
            scope.spawn(move || {
                (0..20).for_each(|i| put(&store, &format!("{n}/{i}.md"), "canary\n").unwrap());
            });
        }
        for _ in 0..2 {
            let store = world.open();
            scope.spawn(move || (0..10).for_each(|_| drop(store.forget().unwrap())));
        }
    });
    drop(store);
    world.check(&[]);
    world.open().forget().unwrap();
    assert_nothing_is_left(&world);
}

/// The mark in the lock file is what a reader goes by; that of a store that was forgotten says nothing any more.
#[test]
fn a_reader_sees_a_crash_in_the_store_that_came_after_the_forgotten_one() {
    let world = World::new();
    let reader = fill(&world);
    assert!(matches!(reader.read(&path("a.md")).unwrap(), Found::File(_)));
    world.open().forget().unwrap();
    let store = world.open();
    put(&store, "a.md", "new\n").unwrap();
    kill(store);
    world.reboot();
    std::fs::write(world.file("a.md"), "").unwrap();
    assert_eq!(reader.read(&path("a.md")).unwrap(), Found::File(b"new\n".to_vec().into()));
}

/// Where this user may not mount there is nothing to see.
#[test]
fn what_is_mounted_below_the_memories_is_refused_before_anything_is_touched() {
    let world = World::new();
    drop(fill(&world));
    std::fs::create_dir(world.file("d/mount")).unwrap();
    let tree = world.tree();
    let script = "unshare -m true && exec unshare -m sh -ec 'mount -t tmpfs none \"$1\"; exec \"$2\" --exact store::tests::forget::worker -q' . \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(world.file("d/mount"))
        .arg(std::env::current_exe().unwrap())
        .env("MEMDIR_TEST_FORGET", format!("mounted {}", world.base().display()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !errors.contains("not permitted") && !errors.contains("denied") {
        assert!(output.status.success(), "{}{errors}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(world.tree(), tree);
    drop(world.open());
    world.check(&["a.png"]);
}
