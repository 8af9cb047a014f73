//! Structured memory from end to end, with files: what a stored entry costs beside a plain `create` of the same text, how
//! soon it is found, what a question costs while more and more is new, and a look at files that nobody changed.
//!
//! `cargo bench --bench recall -- [--rows N] [--rounds N]`; stores are made in `MEMDIR_BENCH_DIR`, else in the target
//! directory, and must lie on a real disk (see `ratios`). Every file is an entry of one sentence of a generated language.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

#[path = "common/corpus.rs"]
mod corpus;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memdir::{Ask, Dispatcher, Edit, Error, MemoryPath, NewEntry, Recall, Store, ToolUse};
use serde_json::json;
use tempfile::TempDir;

use corpus::{CATEGORIES, Language, Random};

/// Files that one change makes.
const TOGETHER: usize = 2000;
/// After so many new memories the index is caught up.
const LONG: usize = 256;
/// Files younger than this are read again by every look at their stamps.
const SETTLED: Duration = Duration::from_secs(3);

fn main() {
    let options = Options::read();
    let language = Language::read();
    println!("{} files, load {}\n", options.rows, load());
    let store = Made::new(&language, options.rows);
    let create = Made::new(&language, options.rows);
    ratio(&language, &store, &create, options.rounds);
    drop(create);
    questions(&language, &store);
    found(&language, &store, options.rounds);
    looks(&store);
    starts(&language, &store);
    println!("\nresident at most {} MB, load {}", peak(), load());
}

struct Options {
    rows: usize,
    rounds: usize,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { rows: 10_000, rounds: 250 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|number| number.parse().ok()).expect("a number");
            match &*word {
                "--rows" => options.rows = number(),
                "--rounds" => options.rounds = number(),
                "--bench" => {} // cargo says so
                _ => panic!("unknown option {word}"),
            }
        }
        options
    }
}

/// A store with files in it.
struct Made {
    dir: TempDir,
    store: Store,
    recall: Recall,
}

impl Made {
    fn new(language: &Language, rows: usize) -> Self {
        let place =
            std::env::var_os("MEMDIR_BENCH_DIR").map_or(env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(place).expect("a directory");
        // No entry is to be one too many.
        fs::write(dir.path().join("memdir.toml"), "[entries]\nmax = 10000000\n").expect("settings");
        let store = Store::open(dir.path()).expect("a store");
        let made = Self { recall: Recall::new(store.clone()), store, dir };
        let begin = Instant::now();
        made.add(language, 0, rows);
        let stored = begin.elapsed();
        let begin = Instant::now();
        made.ask("anything", false);
        println!(
            "| make {rows} files, index them | {:.2} s | {:.2} s |",
            stored.as_secs_f64(),
            begin.elapsed().as_secs_f64()
        );
        made
    }

    fn base(&self) -> &Path {
        self.dir.path()
    }

    /// Makes files in few changes.
    fn add(&self, language: &Language, first: usize, count: usize) {
        for start in (first..first + count).step_by(TOGETHER) {
            let edits = (start..(start + TOGETHER).min(first + count)).map(|n| {
                let path = format!("/memories/{}/note-{n:07}.md", CATEGORIES[n % 6]);
                let path = MemoryPath::parse(&path).expect("a path");
                Edit::write(&path, file(&sentence(language, n)))
            });
            let edits: Vec<_> = edits.collect();
            self.store.change(move |_| Ok::<_, Error>((edits.clone(), ()))).expect("a change");
        }
    }

    fn ask(&self, query: &str, scan: bool) -> usize {
        let ask = Ask { query: query.to_owned(), scan, ..Ask::default() };
        self.recall.retrieve(&ask).expect("an answer").memories.len()
    }
}

/// An entry as a file.
fn file(sentence: &str) -> String {
    format!("---\nimportance: 3\ncreated_at: 2026-01-01T00:00:00Z\n---\n{sentence}\n")
}

fn sentence(language: &Language, n: usize) -> String {
    language.sentence(&mut Random(n as u64 * 7919 + 1))
}

fn question(language: &Language, n: usize) -> String {
    let mut random = Random(n as u64 + 42);
    Language::question(&sentence(language, random.below(1000)), &mut random)
}

/// `memory_store` and a plain `create` of the same text, by turns, in two stores that are alike.
fn ratio(language: &Language, store: &Made, create: &Made, rounds: usize) {
    let memory = Dispatcher::new(create.store.clone());
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds + 5 {
        let n = 10_000_000 + round;
        let content = sentence(language, n);
        let path = format!("/memories/{}/plain-{n}.md", CATEGORIES[n % 6]);
        let input = json!({"command": "create", "path": path, "file_text": file(&content)});
        let call = ToolUse { id: "toolu_01".to_owned(), name: "memory".to_owned(), input };
        let new = NewEntry {
            content,
            category: CATEGORIES[n % 6].to_owned(),
            importance: 3,
            ..NewEntry::default()
        };
        let us = || timed(|| drop(store.recall.store(new).expect("it is stored")));
        let them = || timed(|| assert!(!memory.run(&call).is_error));
        let (us, them) = if round % 2 == 0 {
            let us = us();
            (us, them())
        } else {
            let them = them();
            (us(), them)
        };
        if round >= 5 {
            ours.push(us);
            theirs.push(them);
            ratios.push(us.as_secs_f64() / them.as_secs_f64());
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!("\n| case | p50 | p99 | max |\n|---|--:|--:|--:|");
    row("memory_store", ours.clone());
    row("create of the same text", theirs.clone());
    let mean = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64() / times.len() as f64;
    println!(
        "ratio: median {:.2}, of the means {:.2}\n",
        ratios[ratios.len() / 2],
        mean(&ours) / mean(&theirs)
    );
}

/// Questions, while so much is new.
fn questions(language: &Language, made: &Made) {
    println!("| a question, with so many memories in no index yet | p50 | p99 | max |\n|---|--:|--:|--:|");
    // Caught up, whatever was stored before.
    made.add(language, 20_000_000, LONG + 1);
    made.ask("anything", false);
    let mut next = 30_000_000;
    let mut new = 0;
    for tail in [0, 100, LONG - 1] {
        made.add(language, next, tail - new);
        next += tail - new;
        new = tail;
        made.ask("anything", false);
        let times = (0..500).map(|n| {
            let query = question(language, n);
            timed(|| assert!(made.ask(&query, false) > 0))
        });
        row(&tail.to_string(), times.collect());
    }
    made.add(language, next, LONG + 1 - new);
    row("catching up", vec![timed(|| assert!(made.ask(&question(language, 1), false) > 0))]);
    let times = (0..500).map(|n| {
        let query = question(language, n);
        timed(|| assert!(made.ask(&query, false) > 0))
    });
    row("caught up", times.collect());
}

/// From the call that stores to the answer that has it.
fn found(language: &Language, made: &Made, rounds: usize) {
    made.store.watch().expect("a watch");
    made.ask("anything", true);
    let (mut whole, mut after) = (Vec::new(), Vec::new());
    for round in 0..rounds.min(LONG - 1) {
        let content = sentence(language, 40_000_000 + round);
        let new = NewEntry {
            content: content.clone(),
            category: CATEGORIES[round % 6].to_owned(),
            importance: 3,
            ..NewEntry::default()
        };
        let begin = Instant::now();
        let stored = made.recall.store(new).expect("it is stored");
        let answered = Instant::now();
        let ask = Ask { query: content, ..Ask::default() };
        let found = made.recall.retrieve(&ask).expect("an answer");
        whole.push(begin.elapsed());
        after.push(answered.elapsed());
        assert!(found.memories.iter().any(|memory| memory.id == stored.memory_id), "it is found");
    }
    row("stored, to found (watched)", after);
    row("store and find", whole);
}

/// A look at files that nobody changed, as a process makes it that has just begun.
fn looks(made: &Made) {
    std::thread::sleep(SETTLED);
    made.store.notice().expect("a look");
    // So much is not yet written down.
    Store::open(made.base()).expect("a store").notice().expect("a look");
    let times = (0..30).map(|_| {
        let store = Store::open(made.base()).expect("a store");
        timed(|| assert_eq!(store.notice().expect("a look").versions.len(), 0))
    });
    row("first look of a process at unchanged files", times.collect());
    let store = Store::open(made.base()).expect("a store");
    store.notice().expect("a look");
    row("the next one", (0..30).map(|_| timed(|| drop(store.notice().expect("a look")))).collect());
}

/// `memdir retrieve`, the whole process.
fn starts(language: &Language, made: &Made) {
    for (name, more) in [("memdir retrieve", &[][..]), ("memdir retrieve --no-scan", &["--no-scan"])] {
        let times = (0..50).map(|n| {
            let query = question(language, n);
            let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
            command.args(["retrieve", &query, "--dir"]).arg(made.base()).args(more);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            timed(|| assert!(command.status().expect("the command").success()))
        });
        row(name, times.collect());
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!("| {name} | {:.2} ms | {:.2} ms | {:.2} ms |", at(50), at(99), at(100));
}

fn load() -> String {
    fs::read_to_string("/proc/loadavg").map_or_else(|_| "?".to_owned(), |text| text[..4].to_owned())
}

fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / 1000
}
