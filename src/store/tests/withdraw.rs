//! What could not be published is taken back, and only that.

use super::*;
use crate::fail;

fn seed(store: &Store) {
    for at in ["a.md", "b.md", "c.md", "d/f.md"] {
        put(store, at, format!("{at}\n")).unwrap();
    }
}

/// Appends to `paths`, each for itself in one batch, while somebody does something at the step `step`; `None` when there
/// are not so many steps.
fn batch(world: &World, paths: &[&str], step: usize, meddle: fn(&Path)) -> Option<Vec<Result<()>>> {
    let store = world.open();
    seed(&store);
    drop(store);
    let store = world.open();
    let root = world.base().join("memories");
    fail::interfere_after(step, move || meddle(&root));
    let results = store.change_many(paths.iter().map(|at| appending(at, "more\n")).collect());
    (!fail::was_left_alone()).then_some(results)
}

#[test]
fn of_a_batch_only_what_failed_is_taken_back() {
    let mut failed = 0;
    for step in 0.. {
        let world = World::new();
        let paths = ["a.md", "d/f.md", "b.md", "d/f.md", "c.md"];
        let meddle: fn(&Path) = |root| std::fs::remove_dir_all(root.join("d")).unwrap();
        let Some(results) = batch(&world, &paths, step, meddle) else { break };
        for (i, (at, result)) in paths.iter().zip(&results).enumerate() {
            match (*at, result) {
                ("d/f.md", Ok(())) => {}
                ("d/f.md", Err(Error::Missing { path })) => {
                    assert_eq!(path.as_str(), "d/f.md", "step {step}");
                    failed += 1;
                }
                (_, Ok(())) => {
                    assert_eq!(
                        world.read(at).unwrap(),
                        format!("{at}\nmore\n").as_bytes(),
                        "step {step}, {i}"
                    );
                }
                (at, Err(error)) => panic!("step {step}, {at}: {error:?}"),
            }
        }
        world.check(&["d/f.md"]);
    }
    assert!(failed > 2, "it never failed to be published");
}

/// Two edits that stand or fall together; the second cannot be published, the first cannot be taken back.
fn two_in_one(store: &Store) -> Result<()> {
    store.change(|snapshot| {
        let mut edits = Vec::new();
        for at in ["new/made.md", "d/f.md"] {
            snapshot.read(&path(at))?;
            edits.push(Edit::Write { path: path(at), bytes: b"more\n"[..].to_vec().into() });
        }
        Ok((edits, ()))
    })
}

#[test]
fn a_change_that_is_taken_back_leaves_nothing() {
    let mut failed = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        seed(&store);
        let root = world.base().join("memories");
        fail::interfere_after(step, move || std::fs::remove_dir_all(root.join("d")).unwrap());
        let result = two_in_one(&store);
        if fail::was_left_alone() {
            break;
        }
        drop(store);
        world.check(&["d/f.md"]);
        match result {
            Ok(()) => assert_eq!(world.read("new/made.md").unwrap(), b"more\n", "step {step}"),
            Err(Error::Missing { .. }) => {
                failed += 1;
                assert!(!world.file("new").exists(), "step {step}");
            }
            Err(error) => panic!("step {step}: {error:?}"),
        }
    }
    assert!(failed > 1);
}

#[test]
fn what_can_be_neither_published_nor_taken_back_is_settled_by_the_next_open() {
    let mut unknown = 0;
    for step in 0.. {
        let world = World::new();
        let store = world.open();
        seed(&store);
        put(&store, "e/g.md", "g\n").unwrap();
        let root = world.base().join("memories");
        let change = |store: &Store| {
            store.change(|snapshot| {
                let mut edits = Vec::new();
                for at in ["d/f.md", "e/g.md"] {
                    snapshot.read(&path(at))?;
                    edits.push(Edit::Write { path: path(at), bytes: b"more\n"[..].to_vec().into() });
                }
                Ok::<_, Error>((edits, ()))
            })
        };
        fail::interfere_after(step, move || {
            std::fs::remove_dir_all(root.join("e")).unwrap();
            std::fs::remove_dir_all(root.join("d")).unwrap();
        });
        let result = change(&store);
        if fail::was_left_alone() {
            break;
        }
        if matches!(result, Err(Error::Unknown { .. })) {
            unknown += 1;
            // A poisoned store answers nothing but that.
            assert!(matches!(put(&store, "a.md", "x"), Err(Error::Write { .. })), "step {step}");
            drop(store);
            world.check(&[]);
            assert_eq!(world.read("d/f.md").unwrap(), b"more\n", "step {step}");
            assert_eq!(world.read("e/g.md").unwrap(), b"more\n", "step {step}");
        } else {
            drop(store);
            world.check(&["d/f.md", "e/g.md"]);
        }
    }
    assert!(unknown > 0, "it was always known");
}

/// A withdrawal that a crash cuts short is no answer yet: all of it, or nothing.
#[test]
fn a_withdrawal_may_be_cut_short_at_any_step() {
    let mut withdrawn = 0;
    for (meddle, step) in (4..16).flat_map(|meddle| (0..30).map(move |step| (meddle, step))) {
        let world = World::new();
        let store = world.open();
        seed(&store);
        drop(store);
        let store = world.open();
        let at = world.base().join("memories");
        fail::crash_after(step);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            store.change(move |snapshot| {
                snapshot.read(&path("a.md"))?;
                snapshot.read(&path("d/f.md"))?;
                let at = at.clone();
                fail::interfere_after(meddle, move || drop(std::fs::remove_dir_all(at.join("d"))));
                let write = |at: &str| Edit::Write { path: path(at), bytes: b"more\n"[..].to_vec().into() };
                Ok::<_, Error>((vec![write("a.md"), write("d/f.md")], ()))
            })
        }));
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
        fail::was_left_alone();
        fail::survive();
        world.check(&["d/f.md"]);
        let now = world.read("a.md").unwrap();
        match result {
            Ok(Ok(())) => assert_eq!(now, b"more\n"),
            Ok(Err(_)) => {
                withdrawn += 1;
                assert_eq!(now, b"a.md\n");
            }
            Err(_) => assert!(now == b"more\n" || now == b"a.md\n", "step {step}"),
        }
    }
    assert!(withdrawn > 0);
}
