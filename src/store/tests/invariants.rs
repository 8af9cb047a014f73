//! What is true of the journal after any history.

use super::*;

/// A small generator, the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// With `MEMDIR_LONG` forty times as many histories.
#[test]
fn any_history_leaves_a_sound_journal() {
    for seed in 1..if is_long() { 401 } else { 11 } {
        let world = World::new();
        let mut store = world.open();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 32);
        for n in 0..60 {
            let names = ["a", "b", "d/a", "d/b", "d/e/a", "d", "e", "d/e"];
            let mut name = || names[usize::try_from(dice.below(8)).unwrap()];
            let (at, to) = (name(), name());
            let text = format!("{n} {at}\n").repeat(usize::try_from(dice.below(40)).unwrap());
            // Many of these are refused; what counts is what is left.
            let _ = match dice.below(10) {
                0..4 => put(&store, at, &text),
                4..6 => append(&store, at, &text),
                6 => remove(&store, at),
                7..9 => rename(&store, at, to),
                _ => store.sync(),
            };
            if dice.below(12) == 0 {
                kill(store);
                store = world.open();
            }
        }
        let tree = world.tree();
        kill(store);
        world.reboot();
        drop(world.check(&[]));
        assert_eq!(world.tree(), tree, "seed {seed}");
        let store = world.check(&[]);
        look(&store, |session| {
            let synced = session.journal.synced().unwrap();
            assert_eq!(synced, session.journal.last_change().unwrap());
            assert!(session.journal.log_after(synced).unwrap().is_empty());
        });
    }
}

#[test]
fn the_redo_log_is_empty_after_a_sync() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    put(&store, "d/b.md", "b\n").unwrap();
    assert!(store.is_unsynced());
    look(&store, |session| assert_eq!(session.journal.log_after(0).unwrap().len(), 2));
    store.sync().unwrap();
    assert!(!store.is_unsynced());
    look(&store, |session| {
        let synced = session.journal.synced().unwrap();
        assert_eq!(synced, 2);
        assert!(session.journal.log_after(synced).unwrap().is_empty());
    });
}

#[test]
fn a_watermark_that_cannot_be_moved_costs_no_commit_its_sync() {
    let world = World::new();
    let store = world.open();
    put(&store, "a.md", "a\n").unwrap();
    kill(store);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no'); END";
    verify::forge(&world.room("journal.db"), trigger);
    let store = world.open();
    store.sync().unwrap_err();
    look(&store, |session| assert!(session.journal.is_synchronous()));
    verify::forge(&world.room("journal.db"), "DROP TRIGGER refuse");
}

/// 3,000 with `MEMDIR_LONG`, else 300 with a tenth of the limit.
#[test]
fn appending_to_a_large_file_keeps_the_journal_small() {
    let (count, limit) = if is_long() { (3000, 20 << 20) } else { (300, 2 << 20) };
    let world = World::new();
    let store = world.open();
    put(&store, "log.md", "0123456789abcde\n".repeat(12_500)).unwrap();
    for n in 0..count {
        append(&store, "log.md", &format!("line {n}\n")).unwrap();
    }
    drop(store);
    let size = std::fs::metadata(world.room("journal.db")).unwrap().len();
    assert!(size < limit, "{size} bytes");
    world.check(&[]);
}
