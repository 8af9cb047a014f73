//! How soon history and tree of a large store are seen, what that takes, and how fast all of it is verified.
//!
//! `cargo bench --bench history -- [--files N] [--versions N] [--store DIR]`: the store is made in `MEMDIR_BENCH_DIR`, else
//! in the target directory; with `--store` it is made there once, stays, and is used again.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memdir::{Edit, Error, MemoryPath, Snapshot, Store};

/// Lines that a terminal shows.
const SCREEN: usize = 50;
/// Files of one directory.
const PER_DIRECTORY: usize = 100;
/// Decisions that are handed over together.
const TOGETHER: usize = 4096;

fn main() {
    let options = Options::read();
    let place =
        std::env::var_os("MEMDIR_BENCH_DIR").map_or(env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
    let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(place).expect("a directory");
    let base = options.store.clone().unwrap_or_else(|| scratch.path().join("store"));
    if !base.exists() {
        let start = Instant::now();
        make(&base, options.files, options.versions);
        println!("made in {:.0} s", start.elapsed().as_secs_f64());
    }
    println!(
        "{} files, {} versions, journal {} MB\n",
        options.files,
        options.versions,
        journal_size(&base) >> 20
    );
    println!("| command | first {SCREEN} lines | all | resident at most |\n|---|--:|--:|--:|");
    let (file, dir) = (name(options.files / 2), name(options.files / 2));
    let dir = dir.rsplit_once('/').expect("it is in a directory").0;
    for args in [
        &["log"][..],
        &["log", "--json"],
        &["log", &format!("/memories/{file}")],
        &["log", &format!("/memories/{dir}")],
        &["tree"],
        &["tree", "-L", "1"],
        &["stats"],
    ] {
        println!("{}", row(&base, args));
    }
    check(&base);
}

struct Options {
    files: usize,
    versions: usize,
    store: Option<PathBuf>,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { files: 100_000, versions: 1_000_000, store: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} takes a value"));
            match &*word {
                "--files" => options.files = value().parse().expect("a number of files"),
                "--versions" => options.versions = value().parse().expect("a number of versions"),
                "--store" => options.store = Some(value().into()),
                "--bench" => {} // cargo says so
                _ => panic!("unknown option {word}"),
            }
        }
        options
    }
}

fn name(n: usize) -> String {
    format!("d{:04}/note-{n:06}.md", n / PER_DIRECTORY)
}

/// Makes the files, then edits them by turns.
fn make(base: &Path, files: usize, versions: usize) {
    let store = Store::open(base).expect("a store");
    for first in (0..versions).step_by(TOGETHER) {
        let decisions = (first..versions.min(first + TOGETHER)).map(|n| {
            let path = MemoryPath::parse(&format!("/memories/{}", name(n % files))).expect("a path");
            let text = format!("# Note {}\n\nlikes tea\nedit {}\n", n % files, n / files);
            move |snapshot: &mut Snapshot<'_>| -> Result<_, Error> {
                snapshot.read(&path)?;
                Ok((vec![Edit::write(&path, text.as_bytes())], ()))
            }
        });
        for made in store.change_many(decisions.collect()) {
            made.expect("a change");
        }
    }
}

fn command(base: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
    command.args(args).arg("--dir").arg(base).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn row(base: &Path, args: &[&str]) -> String {
    let first = (0..5).map(|_| first_screen(base, args)).min().expect("some rounds");
    let start = Instant::now();
    let mut child = command(base, args).spawn().expect("the command");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut buffer, mut peak) = (vec![0; 1 << 16], String::new());
    while out.read(&mut buffer).expect("it writes") > 0 {
        peak = resident(child.id()).unwrap_or(peak);
    }
    child.wait().expect("it ends");
    let all = start.elapsed();
    format!(
        "| `{}` | {:.1} ms | {:.2} s | {peak} |",
        args.join(" "),
        first.as_secs_f64() * 1e3,
        all.as_secs_f64()
    )
}

fn first_screen(base: &Path, args: &[&str]) -> Duration {
    let start = Instant::now();
    let mut child = command(base, args).spawn().expect("the command");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let seen = lines.map_while(Result::ok).take(SCREEN).count();
    let time = start.elapsed();
    assert!(seen > 0, "{args:?} prints nothing");
    child.wait().expect("it ends when nobody reads");
    time
}

/// The most that was ever resident, as the kernel has it.
fn resident(id: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().to_owned())
}

/// A check, against reading and hashing the same bytes with `sha256sum`.
fn check(base: &Path) {
    let start = Instant::now();
    let done = command(base, &["check"]).output().expect("the command");
    let ours = start.elapsed();
    print!("\n{}", String::from_utf8_lossy(&done.stdout));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let start = Instant::now();
    let sums = "find memories .memdir/journal.db -type f -print0 | xargs -0 sha256sum > /dev/null";
    assert!(Command::new("sh").args(["-c", sums]).current_dir(base).status().expect("a shell").success());
    let theirs = start.elapsed();
    println!(
        "check: {:.2} s, sha256sum of files and journal: {:.2} s, ratio {:.2}",
        ours.as_secs_f64(),
        theirs.as_secs_f64(),
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
}

fn journal_size(base: &Path) -> u64 {
    fs::metadata(base.join(".memdir/journal.db")).map_or(0, |metadata| metadata.len())
}
