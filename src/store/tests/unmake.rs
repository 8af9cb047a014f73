//! What an open made is taken back only as far as nobody has put anything there.

use super::*;

/// What somebody does to a store that another has just made, and what is left when that one takes it back.
type Case = (&'static str, fn(&Path), &'static [&'static str]);

#[test]
fn what_somebody_put_there_meanwhile_stays() {
    let cases: &[Case] = &[
        ("nothing", |_| {}, &[]),
        (
            "a memory, by hand",
            |base| std::fs::write(base.join("memories/a.md"), "x").unwrap(),
            &["deep", "deep/base", "deep/base/memories", "deep/base/memories/a.md"],
        ),
        (
            "settings",
            |base| std::fs::write(base.join("memdir.toml"), "").unwrap(),
            &["deep", "deep/base", "deep/base/memdir.toml"],
        ),
        (
            "something above",
            |base| std::fs::write(base.parent().unwrap().join("x"), "").unwrap(),
            &["deep", "deep/x"],
        ),
        (
            "another directory",
            |base| {
                std::fs::rename(base, base.with_file_name("moved")).unwrap();
                std::fs::create_dir(base).unwrap();
            },
            &["deep", "deep/base", "deep/moved"],
        ),
    ];
    for (name, meddle, left) in cases {
        let world = World::new();
        let base = world.base().join("deep/base");
        let store = Store::open(&base).unwrap();
        meddle(&base);
        assert_eq!(store.unmake(), left.is_empty(), "{name}");
        let entries = walkdir::WalkDir::new(world.base()).min_depth(1).sort_by_file_name();
        let found = entries.into_iter().map(|entry| {
            entry.unwrap().path().strip_prefix(world.base()).unwrap().to_str().unwrap().to_owned()
        });
        assert_eq!(found.collect::<Vec<_>>(), *left, "{name}");
    }
}

#[test]
fn a_store_that_somebody_writes_to_meanwhile_stays_whole() {
    let world = World::new();
    let base = world.base().join("deep/base");
    let made = Store::open(&base).unwrap();
    let other = Store::open(&base).unwrap();
    put(&other, "a.md", "theirs\n").unwrap();
    remove(&other, "a.md").unwrap();
    assert!(!made.unmake());
    assert!(base.join("memories").exists() && base.join(".memdir/journal.db").exists());
    // Who only found it takes nothing back.
    assert!(Store::open(&base).unwrap().unmake());
    assert!(base.join("memories").exists());
    // Another one that had opened it before it was taken back makes it again, as far as it can.
    let base = world.base().join("memories-alone");
    std::fs::create_dir(&base).unwrap();
    let made = Store::open(&base).unwrap();
    let other = Store::open(&base).unwrap();
    assert!(made.unmake() && !base.join("memories").exists());
    put(&other, "a.md", "theirs\n").unwrap();
    assert_eq!(std::fs::read(base.join("memories/a.md")).unwrap(), b"theirs\n");
}
