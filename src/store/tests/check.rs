//! What a check finds, in every corner of a store, what it says to do, and what it mends.

use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use chrono::DateTime;

use super::*;
use crate::store::{Check, Finding, Report, Settings};

const FIX: Check = Check { fix: true, expected_head: None, secrets: false };

fn seed(store: &Store) {
    put(store, "a.md", "a\n").unwrap();
    put(store, "a.md", "a, again\n").unwrap();
    put(store, "d/f.md", "f\n").unwrap();
}

fn check(store: &Store) -> Report {
    store.check(&Check::default(), &mut |_| ()).unwrap()
}

/// The findings, each as `kind place`, with `?` before what is only worth knowing and `+` before what was mended.
fn told(findings: &[Finding]) -> Vec<String> {
    let tell = |finding: &Finding| {
        let Finding { kind, place, problem, remedy, .. } = finding;
        assert!(!problem.is_empty() && !remedy.is_empty());
        assert!(!problem.ends_with('.') && !remedy.ends_with('.'), "{problem} {remedy}");
        let mark = match (finding.is_fixed, finding.is_wrong) {
            (true, _) => "+",
            (false, false) => "?",
            (false, true) => "",
        };
        format!("{mark}{kind} {place}")
    };
    findings.iter().map(tell).collect()
}

fn chmod(at: &Path, mode: u32) {
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn nothing_is_amiss_in_a_store_that_only_memdir_has_written_to() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let report = check(&store);
    assert_eq!(told(&report.findings), [""; 0]);
    assert!(report.is_sound());
    assert_eq!((report.files, report.versions, report.absorbed.versions.len()), (2, 3, 0));
    assert_ne!(report.head, Hash([0; 32]));
    assert!(store.take_warning().is_none());
}

#[test]
fn what_others_did_is_taken_in_and_nothing_amiss() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    let before = check(&store).head;
    world.write("a.md", "theirs\n");
    std::fs::rename(world.file("d"), world.file("e")).unwrap();
    chmod(&world.file("a.md"), 0o600);
    let report = check(&store);
    assert_eq!(told(&report.findings), [""; 0]);
    assert_eq!(report.absorbed.versions.len(), 2);
    assert_ne!(report.head, before);
    assert_eq!(check(&store).head, report.head);
    drop(store);
    world.check(&[]);
}

/// What somebody does, what a check finds then, and what it finds, or mends, when it is to mend.
type Case = (&'static str, fn(&World), &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (
        "names that are no paths",
        |w| {
            std::fs::write(w.file("").join(std::ffi::OsStr::from_bytes(b"bad-\xff.md")), "x").unwrap();
            w.write("back\\slash.md", "x");
            w.write("bell\u{7}.md", "x");
            w.write("%2e%2e/x.md", "x");
            w.write(&"deep/".repeat(21).trim_end_matches('/').replace("/deep", "/d"), "x");
            let mut deep = w.file("deep");
            while deep.is_dir() {
                chmod(&deep, 0o700);
                deep = deep.join("d");
            }
        },
        &[
            "name /memories/%2e%2e",
            "name /memories/back\\slash.md",
            "name /memories/bad-\u{fffd}.md",
            "name /memories/bell\u{7}.md",
            "name /memories/deep/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d",
        ],
        &[],
    ),
    (
        "two spellings",
        |w| {
            w.write("\u{e9}.md", "x");
            w.write("e\u{301}.md", "y");
            w.write("e\u{301}t\u{e9}.md", "alone");
            for name in ["\u{e9}.md", "e\u{301}t\u{e9}.md"] {
                chmod(&w.file(name), 0o600);
            }
        },
        &["name /memories/e\u{301}.md"],
        &[],
    ),
    (
        "hidden names, and git's",
        |w| {
            w.write(".git/config", "x");
            w.write("d/.GIT/config", "x");
            w.write(".gitignore", "x");
            w.write(".hidden/x.md", "x");
            w.write("d/.swp", "x");
            w.write("node_modules/x.md", "x");
        },
        &["?hidden /memories/.hidden", "?hidden /memories/d/.swp", "?hidden /memories/node_modules"],
        &[],
    ),
    (
        "what is no file",
        |w| {
            std::os::unix::fs::symlink("a.md", w.file("link.md")).unwrap();
            std::os::unix::fs::symlink("/etc", w.file("d/etc")).unwrap();
            assert!(Command::new("mkfifo").arg(w.file("fifo")).status().unwrap().success());
        },
        &["link /memories/d/etc", "special /memories/fifo", "link /memories/link.md"],
        &[],
    ),
    (
        "large files",
        |w| {
            for name in ["big.md", "photo.png"] {
                w.write(name, vec![b'x'; 2 << 20]);
                chmod(&w.file(name), 0o600);
            }
            w.write("film.png", vec![b'x'; 6 << 20]);
            chmod(&w.file("film.png"), 0o600);
        },
        &["size /memories/big.md", "size /memories/film.png"],
        &[],
    ),
    (
        "modes",
        |w| {
            chmod(&w.file("a.md"), 0o646);
            chmod(&w.file("d"), 0o777);
        },
        &["mode /memories/a.md", "mode /memories/d"],
        &["+mode /memories/a.md", "+mode /memories/d"],
    ),
    (
        "modes that git gives",
        |w| {
            chmod(&w.file(""), 0o755);
            chmod(&w.file("a.md"), 0o644);
            chmod(&w.file("d/f.md"), 0o755);
        },
        &["?mode /memories"],
        &["+mode /memories"],
    ),
    ("a room that is open", |w| chmod(&w.room(""), 0o750), &["mode .memdir"], &["+mode .memdir"]),
    (
        "a room that git would see",
        |w| std::fs::remove_file(w.room(".gitignore")).unwrap(),
        &["gitignore .memdir/.gitignore"],
        &["+gitignore .memdir/.gitignore"],
    ),
    (
        "leftovers",
        |w| {
            std::fs::create_dir_all(w.room("edits")).unwrap();
            std::fs::write(w.room("edits/a.md"), "mine\n").unwrap();
            std::fs::write(w.room("kept/memver_01JZZZZZZZZZZZZZZZZZZZZZZZ"), "whose\n").unwrap();
            std::fs::write(w.room("kept/what"), "whose\n").unwrap();
        },
        &[
            "?leftover .memdir/edits/a.md",
            "?kept .memdir/kept/memver_01JZZZZZZZZZZZZZZZZZZZZZZZ",
            "?kept .memdir/kept/what",
        ],
        &[
            "?leftover .memdir/edits/a.md",
            "?kept .memdir/kept/memver_01JZZZZZZZZZZZZZZZZZZZZZZZ",
            "?kept .memdir/kept/what",
        ],
    ),
    (
        "all memories gone",
        |w| std::fs::remove_dir_all(w.file("")).unwrap(),
        &["file /memories"],
        &["file /memories"],
    ),
];

#[test]
fn every_corner_is_looked_into() {
    for (name, meddle, found, mended) in CASES {
        let world = World::new();
        let store = world.open();
        seed(&store);
        meddle(&world);
        let report = check(&store);
        assert_eq!(told(&report.findings), *found, "{name}");
        assert_eq!(report.is_sound(), found.iter().all(|found| found.starts_with('?')), "{name}");
        let report = store.check(&FIX, &mut |_| ()).unwrap();
        let mended = if mended.is_empty() { found } else { mended };
        assert_eq!(told(&report.findings), *mended, "{name}");
        let left: Vec<_> = mended.iter().filter(|finding| !finding.starts_with('+')).collect();
        let report = check(&store);
        assert_eq!(told(&report.findings).iter().collect::<Vec<_>>(), left, "{name}");
    }
}

#[test]
fn what_is_kept_for_a_version_is_no_leftover() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    world.write("a.md", b"\xff no text");
    chmod(&world.file("a.md"), 0o600);
    put(&store, "a.md", "text again\n").unwrap();
    assert_eq!(world.kept().len(), 1);
    assert_eq!(told(&check(&store).findings), [""; 0]);
}

#[test]
fn mending_follows_no_link() {
    let (world, other) = (World::new(), World::new());
    other.write("theirs.md", "theirs\n");
    chmod(&other.file("theirs.md"), 0o666);
    let store = world.open();
    seed(&store);
    std::os::unix::fs::symlink(other.file("theirs.md"), world.file("link.md")).unwrap();
    store.check(&FIX, &mut |_| ()).unwrap();
    assert_eq!(other.tree()["theirs.md"], Node::File(0o666, b"theirs\n".to_vec()));
}

#[test]
fn a_journal_that_cannot_be_read_does_not_end_the_check() {
    type Damage = (fn(&World), &'static str);
    let damages: &[Damage] = &[
        (|w| std::fs::write(w.room("journal.db"), b"no database".repeat(1000)).unwrap(), "is damaged"),
        (|w| verify::forge(&w.room("journal.db"), "PRAGMA user_version = 999"), "has format 999"),
        (|w| verify::forge(&w.room("journal.db"), "DROP TABLE version"), "cannot be read"),
    ];
    for (damage, problem) in damages {
        let world = World::new();
        let store = world.open();
        seed(&store);
        drop(store);
        damage(&world);
        std::os::unix::fs::symlink("a.md", world.file("link.md")).unwrap();
        let tree = world.tree();
        let store = world.open();
        for _ in 0..2 {
            let report = check(&store);
            assert_eq!(told(&report.findings), ["database .memdir/journal.db", "link /memories/link.md"]);
            let Finding { problem: told, remedy, .. } = &report.findings[0];
            assert!(told.contains(problem), "{told}");
            assert!(remedy.starts_with("the plain files in `memories` are intact"), "{remedy}");
        }
        assert_eq!(world.tree(), tree);
    }
}

#[test]
fn a_link_in_the_place_of_all_memories_is_a_finding() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    std::fs::rename(world.file(""), world.base().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", world.base().join("memories")).unwrap();
    assert_eq!(told(&check(&store).findings), ["link /memories"]);
}

#[test]
fn the_chain_must_have_had_the_end_that_is_expected() {
    let world = World::new();
    let store = world.open();
    let expect = |head: Hash| {
        let check = Check { fix: false, expected_head: Some(head), secrets: false };
        told(&store.check(&check, &mut |_| ()).unwrap().findings)
    };
    let begin = Hash([0; 32]);
    assert_eq!(expect(begin), [""; 0]);
    assert_eq!(expect(Hash::of(b"x")), ["head .memdir/journal.db"]);
    seed(&store);
    let head = check(&store).head;
    assert_eq!(expect(head), [""; 0]);
    append(&store, "a.md", "more\n").unwrap();
    assert_eq!(expect(head), ["?head .memdir/journal.db"]);
    assert_eq!(expect(begin), ["?head .memdir/journal.db"]);
    assert_eq!(expect(Hash::of(b"x")), ["head .memdir/journal.db"]);
}

#[test]
fn a_directory_that_only_people_have_written_to_becomes_a_store() {
    let world = World::new();
    world.write("a.md", "theirs\n");
    chmod(&world.file(""), 0o700);
    chmod(&world.file("a.md"), 0o600);
    let store = world.open();
    let report = check(&store);
    assert_eq!(told(&report.findings), [""; 0]);
    assert_eq!(report.absorbed.versions.len(), 1);
    assert_ne!(report.head, Hash([0; 32]));
}

#[test]
fn allowed_hidden_names_are_nothing_to_tell() {
    let world = World::new();
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let settings = Settings { hidden: crate::store::Hidden::Allow, ..Settings::default() };
    let store = Store::builder(base).settings(settings).open().unwrap();
    put(&store, ".notes/a.md", "a\n").unwrap();
    assert_eq!(told(&check(&store).findings), [""; 0]);
}

#[test]
fn a_check_beside_writers_finds_nothing_amiss() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    std::thread::scope(|scope| {
        for n in 0..3 {
            let store = world.open();
            scope.spawn(move || {
                for i in 0..40 {
                    put(&store, &format!("w{n}/{}.md", i % 5), format!("{i}\n")).unwrap();
                    if i % 7 == 6 {
                        remove(&store, &format!("w{n}")).unwrap();
                    }
                }
            });
        }
        for _ in 0..10 {
            let report = check(&store);
            assert_eq!(told(&report.findings), [""; 0]);
            assert_eq!(report.absorbed.versions, []);
        }
    });
    drop(store);
    world.check(&[]);
}

#[test]
fn what_cannot_be_recorded_is_told() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    drop(store);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON change BEGIN SELECT RAISE(ABORT, 'no'); END";
    verify::forge(&world.room("journal.db"), trigger);
    world.write("a.md", "theirs\n");
    std::fs::remove_file(world.file("d/f.md")).unwrap();
    let store = world.open();
    let report = check(&store);
    assert_eq!(told(&report.findings), ["?file /memories/a.md"]);
    let problem = &report.findings[0].problem;
    assert_eq!(
        problem,
        "it differs from its last version, as does 1 other, which could not be recorded: input/output error"
    );
}

/// Nothing is closed to the superuser: then there is nothing to see.
#[test]
fn what_cannot_be_read_is_told_and_not_taken_for_deleted() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    world.write("theirs.md", "theirs\n");
    put(&store, "e/g.md", "g\n").unwrap();
    for (at, mode) in [("a.md", 0), ("theirs.md", 0), ("d", 0)] {
        chmod(&world.file(at), mode);
    }
    if std::fs::read(world.file("a.md")).is_ok() {
        chmod(&world.file("d"), 0o700);
        return;
    }
    let report = check(&store);
    let right =
        ["file /memories/a.md", "denied /memories/d", "file /memories/d/f.md", "denied /memories/theirs.md"];
    assert_eq!(told(&report.findings), right);
    assert_eq!(report.absorbed.versions, []);
    assert_eq!(store.absorb(&MemoryPath::ROOT).unwrap().versions, []);
    assert!(matches!(store.take_warning(), Some(Error::Read { .. })));
    assert_eq!(store.absorb(&path("d")).unwrap().versions, []);
    chmod(&world.file("d"), 0o700);
    store.absorb(&path("d")).unwrap();
    look(&store, |session| assert_eq!(session.journal.outside(), [""; 0]));
}

/// Nothing is closed to the superuser: then there is nothing to see.
#[test]
fn a_store_that_cannot_be_written_is_checked_all_the_same() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    drop(store);
    world.write("a.md", "theirs\n");
    let closed = [world.base().to_owned(), world.room(""), world.room("staging"), world.file("")];
    for at in &closed {
        chmod(at, 0o500);
    }
    for name in ["journal.db", "lock", "turn"] {
        chmod(&world.room(name), 0o400);
    }
    let can_write = std::fs::write(world.base().join("x"), "").is_ok();
    let report = world.open().check(&Check::default(), &mut |_| ());
    for at in &closed {
        chmod(at, 0o700);
    }
    if !can_write {
        let report = report.unwrap();
        assert_eq!(told(&report.findings), ["?file /memories/a.md"]);
        assert_eq!((report.files, report.versions), (2, 3));
    }
}

#[test]
fn a_history_that_was_altered_is_told_with_the_version() {
    let damages = [
        ("chain", "UPDATE version SET leaf = zeroblob(32) WHERE n = 2"),
        ("chain", "UPDATE version SET path = 'b.md' WHERE n = 2"),
        ("chain", "UPDATE change SET at = at + 1 WHERE seq = 2"),
        ("content", "UPDATE body SET bytes = zeroblob(2), base = NULL WHERE n = 1"),
    ];
    for (kind, sql) in damages {
        let world = World::new();
        let store = world.open();
        seed(&store);
        drop(store);
        verify::forge(&world.room("journal.db"), sql);
        let report = check(&world.open());
        let found = report.findings.iter().find(|finding| finding.kind == kind).expect(sql);
        assert!(found.is_wrong && found.place.starts_with("memver_"), "{found:?}");
        assert_eq!((report.files, report.absorbed.versions.len()), (2, 0));
    }
}

/// Who reads the history as it was at one moment keeps the log from being cut off.
#[test]
fn what_is_still_to_be_erased_is_told_and_erased() {
    let world = World::new();
    let store = world.open();
    seed(&store);
    check(&store);
    let reader = store.history().unwrap();
    reader.freeze().unwrap();
    let old = store.history().unwrap().head(&path("a.md")).unwrap().unwrap();
    append(&store, "a.md", "more\n").unwrap();
    assert_eq!(store.redact(&[old.id]).unwrap().erasure, crate::store::Erasure::Pending);
    let pending = ["erasure .memdir/journal.db"];
    assert_eq!(told(&check(&store).findings), pending);
    assert_eq!(told(&store.check(&FIX, &mut |_| ()).unwrap().findings), pending);
    drop(reader);
    let mended = store.check(&FIX, &mut |_| ()).unwrap();
    assert_eq!(told(&mended.findings), ["+erasure .memdir/journal.db"]);
    assert_eq!(told(&check(&store).findings), [""; 0]);
}

#[test]
fn whatever_page_of_the_journal_is_damaged_the_check_comes_to_its_end() {
    let world = World::new();
    let store = world.open();
    for n in 0..20 {
        put(&store, &format!("{n}.md"), format!("file {n}\n").repeat(300)).unwrap();
    }
    drop(store);
    let whole = std::fs::read(world.room("journal.db")).unwrap();
    let tree = world.tree();
    for at in (0..whole.len()).step_by(1024) {
        let mut bytes = whole.clone();
        bytes[at..at + 512].fill(0xa5);
        std::fs::write(world.room("journal.db"), bytes).unwrap();
        let report = check(&world.open());
        assert!(!report.is_sound() || report.versions == 20, "{at}");
        assert_eq!(world.tree(), tree);
        for name in ["journal.db-wal", "journal.db-shm"] {
            let _ = std::fs::remove_file(world.room(name));
        }
    }
}

#[test]
fn times_that_the_clock_has_not_come_to_are_told() {
    const HOUR: i64 = 3_600_000_000;
    let world = World::new();
    let at = |micros| {
        let now = move || DateTime::from_timestamp_micros(micros).unwrap();
        Store::builder(world.base()).clock(now).open().unwrap()
    };
    let now = 1_800_000_000_000_000;
    put(&at(now), "a.md", "a\n").unwrap();
    // Clocks differ a little.
    put(&at(now + HOUR / 100), "b.md", "b\n").unwrap();
    assert_eq!(told(&check(&at(now)).findings), [""; 0]);
    put(&at(now + HOUR), "a.md", "an hour too late\n").unwrap();
    put(&at(now), "b.md", "after that\n").unwrap();
    let report = check(&at(now));
    assert_eq!(told(&report.findings), ["?clock .memdir/journal.db"]);
    assert!(report.is_sound());
    let Finding { problem, remedy, .. } = &report.findings[0];
    let late = "2027-01-15T09:00:00.000001Z";
    assert!(
        problem.contains(&format!("(2, up to {late}; now it is 2027-01-15T08:00:00.000000Z)")),
        "{problem}"
    );
    assert!(remedy.contains(&format!("what is written until {late}")), "{remedy}");
    assert_eq!(told(&check(&at(now + HOUR)).findings), [""; 0]);
}
