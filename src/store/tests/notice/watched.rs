//! Where a watch tells what happened, nobody looks elsewhere, and still nothing is missed.

use super::*;

/// A store that watches its files, and knows them.
fn watched(world: &World) -> Store {
    let store = world.open();
    for at in ["a.md", "d/b.md", "d/sub/c.md"] {
        put(&store, at, at).unwrap();
    }
    store.watch().unwrap();
    assert!(lock(&store.inner.noticed).watch().is_some(), "this system has no watches left");
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
    // One that has the inode of the one before, where the file system uses inodes again.
    let inode = || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&root).unwrap());
    for _ in 0..100 {
        let before = inode();
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::create_dir(&root).unwrap();
        if inode() == before {
            break;
        }
    }
    while looks(&store) {}
    world.write("a.md", "yet another");
    assert_eq!(notice(&store), set(&["write a.md"]));
    while looks(&store) {}
    // A file that others reach by another name, once that is seen.
    std::fs::hard_link(world.file("a.md"), world.base().join("link")).unwrap();
    assert!(!looks(&store), "nobody has told");
    lock(&store.inner.noticed).watch().unwrap().distrust();
    assert!(looks(&store) && looks(&store));
    std::fs::write(world.base().join("link"), "by another name").unwrap();
    assert_eq!(notice(&store), set(&["write a.md"]));
}

/// A store that watches so many files, all known.
fn many(world: &World) -> Store {
    let store = world.open();
    for n in 1..MANY {
        world.write(&format!("d{}/{n}.md", n % 7), format!("{n}\n"));
    }
    world.write("s/x.md", "x\n");
    // Of what was taken in one look more is due.
    notice(&store);
    notice(&store);
    store.watch().unwrap();
    while looks(&store) {}
    store
}

const MANY: u64 = 100;

/// What is taken in, and how many files are read for it, when all of them are doubted.
fn read(store: &Store) -> (BTreeSet<String>, u64) {
    lock(&store.inner.noticed).forget();
    let noticed = store.notice().unwrap();
    (words(&noticed), noticed.files)
}

#[test]
fn only_what_is_told_of_is_read() {
    type Case = (&'static str, fn(&World, &Store), &'static [&'static str], u64);
    let cases: &[Case] = &[
        ("change", |_, s| append(s, "d1/1.md", "more\n").unwrap(), &[], 1),
        ("add", |_, s| put(s, "d1/new.md", "new\n").unwrap(), &[], 1),
        ("remove", |_, s| remove(s, "d1/1.md").unwrap(), &[], 0),
        ("rename", |_, s| rename(s, "d1/1.md", "d2/new.md").unwrap(), &[], 1),
        ("edit by hand", |w, _| w.write("d1/1.md", "theirs\n"), &["write d1/1.md"], 1),
        ("add by hand", |w, _| w.write("d1/new.md", "theirs\n"), &["write d1/new.md"], 1),
        (
            "both",
            |w, s| {
                append(s, "d1/1.md", "more\n").unwrap();
                w.write("d2/2.md", "theirs\n");
                append(s, "d3/3.md", "more\n").unwrap();
                w.write("d3/3.md", "theirs\n");
            },
            &["write d2/2.md", "write d3/3.md"],
            3,
        ),
        ("remove by hand", |w, _| std::fs::remove_file(w.file("d1/1.md")).unwrap(), &["delete d1/1.md"], 0),
        (
            "rename by hand",
            |w, s| {
                append(s, "d3/3.md", "more\n").unwrap();
                std::fs::rename(w.file("d1/1.md"), w.file("d2/moved.md")).unwrap();
            },
            &["move d1/1.md d2/moved.md"],
            2,
        ),
        (
            "swap by hand",
            |w, _| {
                std::fs::rename(w.file("d1/1.md"), w.file("x")).unwrap();
                std::fs::rename(w.file("d2/2.md"), w.file("d1/1.md")).unwrap();
                std::fs::rename(w.file("x"), w.file("d2/2.md")).unwrap();
            },
            &["write d1/1.md", "write d2/2.md"],
            2,
        ),
        (
            "save as editors do",
            |w, _| {
                for (new, old) in [("d1/.1.md.swp", "d1/1.md"), ("d2/2.md~", "d2/2.md"), ("4913", "d3/3.md")]
                {
                    let mode = std::fs::Permissions::from_mode(0o600);
                    w.write(new, "theirs\n");
                    std::fs::set_permissions(w.file(new), mode).unwrap();
                    std::fs::rename(w.file(new), w.file(old)).unwrap();
                }
                w.write("d4/.4.md.swp", "swap");
            },
            &["write d1/1.md", "write d2/2.md", "write d3/3.md"],
            3,
        ),
        (
            "keep what was, as editors do",
            |w, _| {
                std::fs::rename(w.file("d1/1.md"), w.file("d1/1.md~")).unwrap();
                w.write("d1/1.md", "theirs\n");
            },
            &["write d1/1.md", "write d1/1.md~"],
            2,
        ),
        (
            "a link in place of a file",
            |w, _| {
                std::fs::remove_file(w.file("d1/1.md")).unwrap();
                std::os::unix::fs::symlink("../d2/2.md", w.file("d1/1.md")).unwrap();
            },
            &["delete d1/1.md"],
            0,
        ),
        (
            "as many as may be",
            |w, _| (1..65).for_each(|n| w.write(&format!("d{}/{n}.md", n % 7), format!("{n}\n"))),
            &[],
            64,
        ),
    ];
    for &(name, act, right, files) in cases {
        let world = World::new();
        let store = many(&world);
        act(&world, &store);
        assert_eq!(read(&store), (set(right), files), "{name}");
        assert_eq!(read(&store), (set(&[]), 0), "{name}: again");
        assert_eq!(
            words(&store.absorb(&MemoryPath::ROOT).unwrap()),
            set(&[]),
            "{name}: something was missed"
        );
        let another = world.open();
        assert_eq!(notice(&another), set(&[]), "{name}: by another");
        drop((store, another));
        world.check(&[]);
    }
}

/// Where directories may have changed, or nobody knows which files have, all are looked at.
#[test]
fn what_paths_do_not_tell_is_looked_for() {
    type Case = (&'static str, fn(&World), &'static [&'static str], u64);
    let cases: &[Case] = &[
        (
            "one more than is kept",
            |w| (1..66).for_each(|n| w.write(&format!("d{}/{n}.md", n % 7), format!("{n}\n"))),
            &[],
            MANY,
        ),
        ("make a directory", |w| w.write("e/new.md", "theirs\n"), &["write e/new.md"], MANY + 1),
        ("make an empty one", |w| std::fs::create_dir(w.file("e")).unwrap(), &[], MANY),
        (
            "bring one from elsewhere",
            |w| {
                std::fs::create_dir(w.base().join("e")).unwrap();
                std::fs::write(w.base().join("e/new.md"), "theirs\n").unwrap();
                std::fs::rename(w.base().join("e"), w.file("d1/e")).unwrap();
            },
            &["write d1/e/new.md"],
            MANY + 1,
        ),
        (
            "make one readable",
            |w| std::fs::set_permissions(w.file("d1"), std::fs::Permissions::from_mode(0o755)).unwrap(),
            &[],
            MANY,
        ),
        (
            "a file in place of one",
            |w| {
                std::fs::rename(w.file("s"), w.base().join("s")).unwrap();
                std::fs::write(w.file("s"), "theirs\n").unwrap();
            },
            &["write s", "delete s/x.md"],
            MANY,
        ),
        (
            "a link in place of one",
            |w| {
                std::fs::rename(w.file("s"), w.base().join("s")).unwrap();
                std::os::unix::fs::symlink(w.base().join("s"), w.file("s")).unwrap();
                std::fs::write(w.file("s/x.md"), "theirs\n").unwrap();
            },
            &["delete s/x.md"],
            MANY - 1,
        ),
        (
            "one in place of a file",
            |w| {
                std::fs::create_dir(w.base().join("e")).unwrap();
                std::fs::write(w.base().join("e/new.md"), "theirs\n").unwrap();
                std::fs::remove_file(w.file("d1/1.md")).unwrap();
                std::fs::rename(w.base().join("e"), w.file("d1/1.md")).unwrap();
            },
            &["delete d1/1.md", "write d1/1.md/new.md"],
            MANY,
        ),
        (
            "a name that is not in normal form",
            |w| std::fs::write(w.file("d1/e\u{301}.md"), "theirs\n").unwrap(),
            &["write d1/\u{e9}.md"],
            MANY + 1,
        ),
        ("a name that is none", |w| w.write("d1/a\\b.md", "theirs\n"), &[], MANY),
        (
            "another name of a file",
            |w| {
                std::fs::hard_link(w.file("d1/1.md"), w.base().join("link")).unwrap();
                // It is seen where something happens to the file, and from then on looked for.
                w.write("d1/1.md", "theirs\n");
            },
            &["write d1/1.md"],
            1,
        ),
    ];
    for &(name, act, right, files) in cases {
        let world = World::new();
        let store = many(&world);
        act(&world);
        assert_eq!(read(&store), (set(right), files), "{name}");
        if name == "another name of a file" {
            std::fs::write(world.base().join("link"), "by that\n").unwrap();
            assert_eq!(notice(&store), set(right), "{name}");
        } else {
            assert_eq!(read(&store), (set(&[]), 0), "{name}: again");
        }
        assert_eq!(
            words(&store.absorb(&MemoryPath::ROOT).unwrap()),
            set(&[]),
            "{name}: something was missed"
        );
        drop(store);
        world.check(&["d1/\u{e9}.md"]);
    }
}

#[test]
fn all_is_looked_at_now_and_then() {
    let world = World::new();
    let store = many(&world);
    append(&store, "d1/1.md", "more\n").unwrap();
    lock(&store.inner.noticed).watch().unwrap().distrust();
    assert_eq!(read(&store), (set(&[]), MANY));
    append(&store, "d1/1.md", "more\n").unwrap();
    assert_eq!(read(&store), (set(&[]), 1));
}

/// Where names that differ in case are the same, a path that no memory has may be the wrong one.
#[test]
fn what_may_have_another_name_is_looked_for() {
    let world = World::new();
    let store = many(&world);
    world.write("d1/new.md", "theirs\n");
    assert_eq!(read(&store), (set(&["write d1/new.md"]), 1));
    lock(&store.inner.noticed).watch().unwrap().fold();
    append(&store, "d1/1.md", "more\n").unwrap();
    assert_eq!(read(&store).1, 2, "and the new one, which is in the history now");
    world.write("d2/new.md", "theirs\n");
    assert_eq!(read(&store), (set(&["write d2/new.md"]), MANY + 2));
    std::fs::remove_file(world.file("d2/new.md")).unwrap();
    world.write("gone.md", "");
    std::fs::remove_file(world.file("gone.md")).unwrap();
    assert_eq!(read(&store), (set(&["delete d2/new.md"]), MANY + 1));
}

/// What could not be taken in is looked for again.
#[test]
fn what_failed_comes_again() {
    let world = World::new();
    drop(many(&world));
    let settings = Settings { lock_wait: Duration::ZERO, ..Settings::default() };
    let base = camino::Utf8Path::from_path(world.base()).unwrap();
    let store = Store::builder(base).settings(settings).open().unwrap();
    store.watch().unwrap();
    while looks(&store) {}
    world.write("d1/1.md", "theirs\n");
    look(&world.open(), |_| assert!(matches!(store.notice(), Err(Error::Busy { .. }))));
    world.write("d2/2.md", "theirs\n");
    assert_eq!(read(&store), (set(&["write d1/1.md", "write d2/2.md"]), MANY));
}

/// Whatever two people and memdir do in turn, and however much of it before a look: nothing is missed.
#[test]
fn nothing_is_missed() {
    let rounds = if is_long() { 40 } else { 4 };
    for seed in 0..rounds {
        let world = World::new();
        let store = watched(&world);
        let mut random = seed + 1_u64;
        let mut pick = |n: usize| {
            // Knuth's MMIX generator; its high bits are good.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % n
        };
        let names = ["a.md", "d", "d/b.md", "d/sub", "d/sub/c.md", "e", "e/a.md", "e/.h", ".h/x.md", "f.md"];
        for step in 0..300 {
            for _ in 0..=pick(3) {
                let (at, to) = (names[pick(10)], names[pick(10)]);
                let (file, text) = (world.file(at), format!("{}\n", pick(4)));
                // Many of these cannot be done, which is fine.
                let _ = match pick(12) {
                    0 | 1 => put(&store, at, text).is_ok(),
                    2 => remove(&store, at).is_ok(),
                    3 => rename(&store, at, to).is_ok(),
                    4 | 5 => std::fs::write(file, text).is_ok(),
                    6 => {
                        std::fs::write(world.file("new~"), text).is_ok()
                            && std::fs::rename(world.file("new~"), file).is_ok()
                    }
                    7 => std::fs::remove_file(file).is_ok(),
                    8 => std::fs::rename(file, world.file(to)).is_ok(),
                    9 => std::fs::create_dir(file).is_ok(),
                    10 => std::fs::remove_dir_all(file).is_ok(),
                    _ => std::os::unix::fs::symlink(world.file(to), file).is_ok(),
                };
            }
            store.notice().unwrap();
            let missed = words(&store.absorb(&MemoryPath::ROOT).unwrap());
            assert_eq!(missed, set(&[]), "seed {seed}, step {step}");
        }
    }
}
