//! What a plan may hold, and how much.

use std::process::Command;

use super::super::plan::Plan;
use super::crash::{carry_out, moved, write};
use super::*;

fn try_plan(store: &Store, plan: impl FnMut(&mut Snapshot<'_>) -> Plan + Send + 'static) -> Result<()> {
    let mut plan = plan;
    let decide = move |snapshot: &mut Snapshot<'_>| Ok::<_, Error>((plan(snapshot), ()));
    store.carry_out(vec![decide]).pop().unwrap()
}

#[test]
fn edits_may_overlap_only_where_one_makes_way_for_another() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "d/f.md", "d\n").unwrap();
    let remove = |at: &str| Edit::remove(&path(at));
    let write = |at: &str| Edit::write(&path(at), "new\n");
    let rename = |from: &str, to: &str| Edit::rename(&path(from), &path(to));
    for edits in [
        vec![write("d"), remove("d")],
        vec![write("a.md/x"), remove("a.md")],
        vec![remove("d"), remove("d/f.md")],
        vec![remove("d"), write("d"), write("d/x")],
        vec![remove("d"), write("d"), write("d")],
        vec![rename("d", "e"), write("d")],
        vec![rename("d", "e"), write("e/x")],
        vec![remove("d"), rename("a.md", "d/x")],
    ] {
        let plan = edits.clone();
        let result =
            try_plan(&store, move |_| Plan { edits: plan.clone(), in_order: true, ..Plan::default() });
        assert!(matches!(result, Err(Error::Overlap { .. })), "{edits:?}: {result:?}");
    }
    for edits in [vec![remove("d"), write("d")], vec![remove("a.md"), write("a.md/x")]] {
        let plan = edits.clone();
        let result = store.change(move |_| Ok::<_, Error>((plan.clone(), ())));
        assert!(matches!(result, Err(Error::Overlap { .. })), "{edits:?}: {result:?}");
        try_plan(&store, move |_| Plan { edits: edits.clone(), in_order: true, ..Plan::default() }).unwrap();
    }
    assert_eq!(world.read("d").unwrap(), b"new\n");
    assert_eq!(world.read("a.md/x").unwrap(), b"new\n");
    drop(store);
    world.check(&[]);
}

#[test]
fn hidden_names_and_modes_are_the_plans() {
    let world = World::new();
    let store = world.open();
    let plan = |at: &str| {
        let at = path(at);
        move |_: &mut Snapshot<'_>| Plan {
            edits: vec![Edit::write(&at, "x\n")],
            modes: [(at.clone(), 0o640)].into(),
            may_be_hidden: true,
            ..Plan::default()
        }
    };
    try_plan(&store, plan(".hidden/x")).unwrap();
    assert_eq!(world.tree()[".hidden/x"], Node::File(0o640, b"x\n".to_vec()));
    assert!(matches!(try_plan(&store, plan(".git/config")), Err(Error::Hidden { .. })));
    drop(store);
    world.check(&[]);
}

/// A memory that goes elsewhere keeps its id, its mode, and has one version more: of a move alone, that.
#[test]
fn a_move_is_one_version() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "b.md", "b\n").unwrap();
    carry_out(&store, |snapshot| Plan {
        edits: vec![write(snapshot, "a.md", "b\n"), write(snapshot, "b.md", "a\n")],
        moves: vec![moved(snapshot, "a.md", "b.md"), moved(snapshot, "b.md", "a.md")],
        ..Plan::default()
    });
    let count = look(&store, |session| {
        session.journal.verify();
        ["a.md", "b.md"].map(|at| session.journal.past(session.journal.head(at).unwrap().unwrap().memory))
    });
    assert!(count.into_iter().all(|past| past.unwrap().len() == 2));
    drop(store);
    world.check(&[]);
}

const CHILD: &str = "MEMDIR_TEST_CHILD";

/// The process of the test below, which may have few files open.
#[test]
fn large_plan() {
    let Some(base) = std::env::var_os(CHILD) else { return };
    let store = open(Path::new(&base));
    // Each in a directory of its own, written, edited, and removed.
    for round in 0..3 {
        let plan = move |snapshot: &mut Snapshot<'_>| {
            let mut plan = Plan { in_order: true, ..Plan::default() };
            for n in 0..512 {
                let at = path(&format!("{n}/f.md"));
                snapshot.read(&at).unwrap();
                let write = Edit::write(&at, format!("{round}\n"));
                plan.edits.push(if round == 2 { Edit::remove(&at) } else { write });
            }
            plan
        };
        try_plan(&store, plan).unwrap();
    }
}

#[test]
fn a_plan_of_512_edits_needs_no_more_than_1024_descriptors() {
    let world = World::new();
    let exe = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 1024 && exec \"$0\" --exact store::tests::plan::large_plan -q"])
        .arg(exe)
        .env(CHILD, world.base())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    drop(world.check(&[]));
    assert!(world.file("511").exists() && !world.file("511/f.md").exists());
}

/// Large contents are kept as deltas: of what the memory held before, not of what its file displaces.
#[test]
fn the_content_of_a_memory_that_moves_is_told_from_its_own() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a line of a\n".repeat(1000)).unwrap();
    put(&store, "b.md", "a line of b\n".repeat(1000)).unwrap();
    carry_out(&store, |snapshot| {
        let (a, b) = ("a line of a\n".repeat(1000), "a line of b\n".repeat(1000));
        Plan {
            edits: vec![
                write(snapshot, "a.md", &format!("{a}more\n")),
                write(snapshot, "b.md", &format!("{b}more\n")),
            ],
            moves: vec![moved(snapshot, "a.md", "b.md"), moved(snapshot, "b.md", "a.md")],
            ..Plan::default()
        }
    });
    put(&store, "a.md", "a line of a\n".repeat(1001)).unwrap();
    drop(store);
    world.check(&[]);
}

/// A person's edit of a file that is taken away, at any moment, and a crash at any moment after it.
#[test]
fn an_edit_of_what_moves_away_outlives_a_crash() {
    let mut count = 0;
    for meddle in 0..40 {
        for step in (meddle..60).step_by(if is_long() { 1 } else { 3 }) {
            let world = World::new();
            let store = world.open();
            put(&store, "a.md", "a\n").unwrap();
            put(&store, "d/b.md", "b\n").unwrap();
            drop(store);
            let store = world.open();
            let (at, is_written) = (world.file("a.md"), std::rc::Rc::new(std::cell::Cell::new(false)));
            let written = std::rc::Rc::clone(&is_written);
            crate::fail::interfere_after(meddle, move || {
                if at.exists() {
                    std::fs::write(at, "theirs\n").unwrap();
                    written.set(true);
                }
            });
            crate::fail::crash_after(step);
            let change = std::panic::AssertUnwindSafe(|| {
                carry_out(&store, |snapshot| Plan {
                    edits: vec![Edit::remove(&path("a.md")), write(snapshot, "d/b.md", "a\n")],
                    moves: vec![moved(snapshot, "a.md", "d/b.md")],
                    replaced: [path("d/b.md")].into(),
                    ..Plan::default()
                });
            });
            let _ = std::panic::catch_unwind(change);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(store)));
            crate::fail::was_left_alone();
            crate::fail::survive();
            let store = world.check(&["a.md"]);
            if is_written.get() {
                world.assert_not_lost(&store, b"theirs\n");
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count}");
}
