//! memdir and bare system calls by turns, so that a busy machine is busy for both: a Markdown table of their ratios.
//!
//! `cargo bench --bench ratios -- [--rounds N] [--only PART_OF_A_NAME]`; stores are made in `MEMDIR_BENCH_DIR`, else in
//! the target directory, and must lie on a real disk. ext4 without a journal (`mke2fs -O ^has_journal`, as in some virtual
//! machines) is no good: it looks for a free inode among all that were deleted in the last minutes, which takes longer
//! with every round, for both sides.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

mod common;

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;

use common::{Case, Ground, Pair, Side, call, change, create, run, text, view};

/// What a case may take, once it has made the fewest rounds.
const PATIENCE: Duration = Duration::from_secs(15);
const FEWEST_ROUNDS: usize = 10;
/// What is quicker is done several times for one figure.
const SHORTEST: Duration = Duration::from_micros(200);

const START: &[Case] = &[Case { name: "start to first answer (bare: /bin/true)", per_run: 1, set_up: start }];

fn main() {
    let options = Options::read();
    println!("load {}, medians of {} rounds\n", load(), options.rounds);
    println!(
        "| case | memdir | bare | ratio | ratio of the minima | memdir a second |\n|---|--:|--:|--:|--:|--:|"
    );
    for case in
        [view::CASES, change::CASES, START].into_iter().flatten().filter(|case| options.wants(case.name))
    {
        println!("{}", row(case, options.rounds));
    }
    println!();
    if options.wants("resident") {
        resident();
    }
    if options.wants("journal") {
        journal();
    }
    println!("load {}", load());
}

struct Options {
    rounds: usize,
    only: String,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { rounds: 100, only: String::new() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} takes a value"));
            match &*word {
                "--rounds" => options.rounds = value().parse().expect("a number of rounds"),
                "--only" => options.only = value(),
                "--bench" => {} // cargo says so
                _ => panic!("unknown option {word}"),
            }
        }
        options
    }

    fn wants(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

fn row(case: &Case, rounds: usize) -> String {
    let ground = Ground::new();
    let Pair { mut memdir, mut bare } = (case.set_up)(&ground);
    let (mut warm, mut made) = (Duration::MAX, 0);
    for _ in 0..3 {
        warm = warm.min(timed(&mut memdir, made, 1)).min(timed(&mut bare, made, 1));
        made += 1;
    }
    let times = (SHORTEST.as_nanos() / warm.as_nanos().max(1)).clamp(1, 200) as usize;
    let (mut ours, mut theirs, mut ratios) = (vec![], vec![], vec![]);
    let start = Instant::now();
    while ours.len() < rounds && (ours.len() < FEWEST_ROUNDS || start.elapsed() < PATIENCE) {
        let ask = |side: &mut Side| timed(side, made, times).as_secs_f64() / (times * case.per_run) as f64;
        let (us, them) = if ours.len().is_multiple_of(2) {
            let us = ask(&mut memdir);
            (us, ask(&mut bare))
        } else {
            let them = ask(&mut bare);
            (ask(&mut memdir), them)
        };
        made += times;
        ours.push(us);
        theirs.push(them);
        ratios.push(us / them);
    }
    let minima = minimum(&ours) / minimum(&theirs);
    let (us, them) = (median(ours), median(theirs));
    format!(
        "| {} | {} | {} | {:.2} | {minima:.2} | {:.0} |",
        case.name,
        shown(us),
        shown(them),
        median(ratios),
        1.0 / us
    )
}

fn timed(side: &mut Side, made: usize, times: usize) -> Duration {
    (made..made + times).for_each(&mut side.prepare);
    let start = Instant::now();
    (made..made + times).for_each(&mut side.run);
    start.elapsed()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn minimum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn shown(seconds: f64) -> String {
    let micros = seconds * 1e6;
    match micros {
        ..100.0 => format!("{micros:.1} µs"),
        ..10_000.0 => format!("{micros:.0} µs"),
        _ => format!("{:.1} ms", micros / 1e3),
    }
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The command, answering lines.
struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(base: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
        command.args(["call", "--dir"]).arg(base).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, answers }
    }

    fn ask(&mut self, line: &[u8]) {
        self.child.stdin.as_mut().expect("a pipe").write_all(line).expect("it reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        assert!(answer.ends_with('\n') && !answer.contains("is_error"), "{answer}");
    }

    /// The most that was ever resident, as the kernel has it.
    fn peak(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak.expect("it has one").trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn line(call: &memdir::ToolUse) -> Vec<u8> {
    let mut line = serde_json::to_vec(call).expect("JSON");
    line.push(b'\n');
    line
}

fn look() -> Vec<u8> {
    line(&call(json!({"command": "view", "path": "/memories/note.md"})))
}

fn start(ground: &Ground) -> Pair {
    ground.file("note.md", &text(2048));
    let running = Rc::new(RefCell::new(None));
    let (base, over, view) = (ground.base(), Rc::clone(&running), look());
    Pair {
        memdir: Side::new(move |_| {
            let mut process = Process::start(&base);
            process.ask(&view);
            *running.borrow_mut() = Some(process);
        })
        .prepared(move |_| drop(over.borrow_mut().take())),
        bare: Side::new(|_| assert!(Command::new("/bin/true").status().expect("a command").success())),
    }
}

/// What a process needs for one view, one change, and changes of a long file.
fn resident() {
    let ground = Ground::new();
    ground.file("note.md", &text(2048));
    ground.file("long.md", &text(1_000_000));
    let edit = |n: usize| {
        line(&call(json!({"command": "str_replace", "path": "/memories/long.md",
            "old_str": format!("- {n:07}: prefers"), "new_str": format!("- {n:07}: likes")})))
    };
    let peak = |lines: &[Vec<u8>]| {
        let mut process = Process::start(&ground.base());
        for line in lines {
            process.ask(line);
        }
        process.peak()
    };
    println!("resident at most, after one view of 2 KB: {}", peak(&[look()]));
    println!("resident at most, after one create of 2 KB: {}", peak(&[line(&create("new.md", &text(2048)))]));
    println!("resident at most, after 40 edits of 1 MB: {}", peak(&(0..40).map(edit).collect::<Vec<_>>()));
}

/// What the history of a long file that grows costs.
fn journal() {
    let ground = Ground::new();
    run(&ground.memory, &create("log.md", &text(200_000)));
    let lines = 200_000_usize.div_ceil(64);
    for n in 0..3000 {
        let new = format!("- {n:04}: what happened, in sixty bytes with the newline, ok.\n");
        run(
            &ground.memory,
            &call(
                json!({"command": "insert", "path": "/memories/log.md", "insert_line": lines + n, "insert_text": new}),
            ),
        );
    }
    let room = ground.base().join(".memdir");
    let entries = fs::read_dir(room).expect("it is there").map(|entry| entry.expect("an entry"));
    let journal = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal.db"));
    let bytes: u64 = journal.map(|file| file.metadata().expect("it is there").len()).sum();
    println!("journal after 3,000 appends of 60 bytes to a file of 200 KB: {:.1} MB", bytes as f64 / 1e6);
}
