//! First screens of the log of a store with 100,000 files and 1,000,000 versions. `cargo bench --bench log`; stores are
//! made in `MEMDIR_BENCH_DIR`, else in the target directory.

#![allow(clippy::disallowed_methods, reason = "benches are told where to lay out stores")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

use divan::Bencher;
use memdir::{ActorFilter, Edit, Log, MemoryPath, Operation, Store};
use rusqlite::Connection;
use tempfile::TempDir;

const FILES: u64 = 100_000;
const VERSIONS: u64 = 1_000_000;
/// Lines on a first screen.
const SCREEN: usize = 50;

/// The rows that so many edits leave, in the order of the files; 100 files in each of 1,000 directories.
const ROWS: &str = "
CREATE TEMP TABLE number AS WITH RECURSIVE n (k) AS (VALUES (1) UNION ALL SELECT k + 1 FROM n WHERE k < $VERSIONS) SELECT k FROM n;
DELETE FROM change; DELETE FROM version; DELETE FROM memory; DELETE FROM place; DELETE FROM operation;
INSERT INTO change (seq, id, at, actor, name, run, versions)
    SELECT k, CAST(printf('%016d', k) AS BLOB), 1700000000000000 + k * 1000000, k % 3, 'planner ' || (k % 7), 1, k - 1 FROM number;
INSERT INTO memory SELECT k, CAST(printf('%016d', k) AS BLOB), 'directory-' || (k % 1000) || '/file-' || k || '.md',
    k + $VERSIONS - $FILES, 1 FROM number WHERE k <= $FILES;
INSERT INTO place SELECT path, n FROM memory ORDER BY path;
INSERT INTO version
    SELECT k, CAST(printf('%016d', k) AS BLOB), m.n, CASE WHEN k > $FILES THEN k - $FILES END, k, k > $FILES, m.path,
        randomblob(32), 2048, 384, NULL, NULL, randomblob(16), randomblob(32), randomblob(32)
    FROM number JOIN memory m ON m.n = (k - 1) % $FILES + 1;
UPDATE meta SET value = $VERSIONS WHERE key = 'synced';
DROP TABLE number;
";

struct Ground {
    _dir: TempDir,
    store: Store,
}

fn main() {
    divan::main();
}

fn ground() -> &'static Ground {
    static GROUND: OnceLock<Ground> = OnceLock::new();
    GROUND.get_or_init(|| {
        let place =
            std::env::var_os("MEMDIR_BENCH_DIR").map_or(env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(place).expect("a directory");
        let store = Store::open(dir.path()).expect("a store");
        let at = path("first.md");
        store
            .change(move |_| Ok::<_, memdir::Error>((vec![Edit::write(&at, "first")], ())))
            .expect("a change");
        drop(store);
        let db = Connection::open(dir.path().join(".memdir/journal.db")).expect("the journal");
        let rows = ROWS.replace("$FILES", &FILES.to_string()).replace("$VERSIONS", &VERSIONS.to_string());
        db.execute_batch(&rows).expect("rows");
        drop(db);
        let store = Store::open(dir.path()).expect("a store");
        Ground { _dir: dir, store }
    })
}

fn path(text: &str) -> MemoryPath {
    MemoryPath::parse(&format!("/memories/{text}")).expect("a path")
}

/// Opens the history, and reads a screen of it.
fn screen(log: &Log) -> usize {
    let history = ground().store.history().expect("a history");
    let mut seen = 0;
    let mut each = |_| {
        seen += 1;
        Ok(if seen < SCREEN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    history.versions(log, &mut each).expect("versions");
    seen
}

fn measure(bencher: Bencher, log: &Log, right: usize) {
    assert_eq!(screen(log), right);
    bencher.bench_local(|| screen(log));
}

#[divan::bench]
fn store(bencher: Bencher) {
    measure(bencher, &Log::default(), SCREEN);
}

#[divan::bench]
fn file(bencher: Bencher) {
    measure(bencher, &at("directory-7/file-50007.md"), 10);
}

#[divan::bench]
fn directory(bencher: Bencher) {
    measure(bencher, &at("directory-7"), SCREEN);
}

#[divan::bench]
fn actor(bencher: Bencher) {
    let mut log = Log::default();
    log.actor = Some(ActorFilter::Named("planner 3".to_owned()));
    measure(bencher, &log, SCREEN);
}

#[divan::bench]
fn actor_who_did_nothing(bencher: Bencher) {
    let mut log = Log::default();
    log.actor = Some(ActorFilter::Named("nobody".to_owned()));
    measure(bencher, &log, 0);
}

#[divan::bench]
fn created_long_ago(bencher: Bencher) {
    let mut log = Log::default();
    log.before = chrono::DateTime::from_timestamp(1_700_000_000 + 90_000, 0);
    log.operation = Some(Operation::Created);
    measure(bencher, &log, SCREEN);
}

#[divan::bench]
fn created_in_a_directory(bencher: Bencher) {
    let mut log = at("directory-7");
    log.operation = Some(Operation::Created);
    measure(bencher, &log, SCREEN);
}

#[divan::bench]
fn figures(bencher: Bencher) {
    bencher.bench_local(|| ground().store.history().expect("a history").stats().expect("figures"));
}

fn at(text: &str) -> Log {
    let mut log = Log::default();
    log.path = Some(path(text));
    log
}
