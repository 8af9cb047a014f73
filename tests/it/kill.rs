//! kill -9 at random moments, over the real command: what was answered is there, and what was not is whole or absent.
//!
//! 50 cycles; `MEMDIR_KILL_CYCLES=10000 cargo test --release --test it kill::` runs 10,000 (some ten minutes).
//! A failure names its seed, and `MEMDIR_KILL_SEED=…` begins with that one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::answers::{Limits, Said, answer};
use crate::model::files::Files;
use crate::model::{look, staging};
use crate::process::{memdir, start};

/// Cycles without `MEMDIR_KILL_CYCLES`.
const CYCLES: u64 = 50;
/// Cycles that one store lives through.
const LIFE: u64 = 10;
/// Calls that a process is given, if it lives so long.
const CALLS: usize = 120;
const LIMITS: Limits = Limits { file: 1 << 20, view: 16_000 };
/// All that memdir may have in `.memdir`.
const ROOM: [&str; 8] =
    [".gitignore", "journal.db", "journal.db-shm", "journal.db-wal", "kept", "lock", "staging", "turn"];

#[test]
fn what_was_answered_survives_a_kill_and_the_rest_is_whole_or_absent() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let cycles = number("MEMDIR_KILL_CYCLES").unwrap_or(CYCLES);
    let first = number("MEMDIR_KILL_SEED").unwrap_or(1);
    for life in 0..cycles.div_ceil(LIFE) {
        let seed = first + life;
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random(seed);
        let mut files = Files { root: false, ..Files::default() };
        for cycle in 0..LIFE {
            files = match cycle_of(dir.path(), &files, &mut random) {
                Ok(files) => files,
                Err(why) => panic!("seed {seed}, cycle {cycle}: {why}"),
            };
        }
    }
}

/// `SplitMix64`: enough chance for a test, and the same for a seed everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.below(4000) as u64)
    }
}

/// One process that is killed, and what is found afterwards.
fn cycle_of(dir: &Path, before: &Files, random: &mut Random) -> Result<Files, String> {
    let base = dir.join("store");
    let mut states = vec![before.clone()];
    let mut right: Vec<Said> = Vec::new();
    let mut input = String::new();
    for n in 0..CALLS {
        let mut files = states.last().unwrap().clone();
        let call = call(random, n);
        // Whoever opens a store makes it.
        files.root = true;
        right.push(answer(&mut files, &call, LIMITS));
        states.push(files);
        input.push_str(&call.to_string());
        input.push('\n');
    }
    let answered = stream_and_kill(dir, &input, random);
    for (n, (said, right)) in answered.iter().zip(&right).enumerate() {
        if said != right {
            return Err(format!("answer {n} is {said:?}, not {right:?}"));
        }
    }
    // Those who come to mend it may be killed, too.
    while random.below(3) == 0 {
        let mut child = start(&mut memdir(dir, ["call", "--dir", "store", VIEW]));
        thread::sleep(random.moment());
        kill(&mut child);
    }
    let done = crate::process::feed(&mut memdir(dir, ["call", "--dir", "store", VIEW]), "");
    if done.code != Some(0) || !done.err.is_empty() {
        return Err(format!("the next open: {done:?}"));
    }
    let found = look(&base.join("memories"));
    let mut possible = states[answered.len()..].iter().cloned();
    if !possible.any(|state| Files { root: true, ..state } == found) {
        let last = &states[answered.len()];
        return Err(format!(
            "after {} answers: {found:?}\nis none of the states from {last:?}",
            answered.len()
        ));
    }
    no_strays(&base)?;
    Ok(found)
}

const VIEW: &str = r#"{"command":"view","path":"/memories"}"#;

fn no_strays(base: &Path) -> Result<(), String> {
    let names = |dir: &Path| -> Vec<String> {
        // A process that lived only for a moment may have made nothing.
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut strays = staging(base);
    strays.extend(names(&base.join(".memdir/kept")));
    strays.extend(names(base).into_iter().filter(|name| name != "memories" && name != ".memdir"));
    strays.extend(names(&base.join(".memdir")).into_iter().filter(|name| !ROOM.contains(&&**name)));
    if strays.is_empty() { Ok(()) } else { Err(format!("left behind: {strays:?}")) }
}

/// Gives the calls to a process, all at once or one by one, and kills it at some moment; what it had answered.
fn stream_and_kill(dir: &Path, input: &str, random: &mut Random) -> Vec<Said> {
    let is_pipelined = random.below(2) == 0;
    let after = random.below(CALLS);
    let moment = random.moment();
    let mut child = start(&mut memdir(dir, ["call", "--dir", "store"]));
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (tell, heard) = mpsc::channel();
    let reader = thread::spawn(move || {
        // Half an answer is none.
        let whole = |line: &String| line.ends_with('\n');
        let mut lines = stdout;
        let next = || {
            let mut line = String::new();
            lines.read_line(&mut line).ok().map(|_| line)
        };
        std::iter::from_fn(next).take_while(whole).for_each(|line| _ = tell.send(said(&line)));
    });
    let mut answers = Vec::new();
    if is_pipelined {
        let input = input.to_owned();
        let writer = thread::spawn(move || _ = stdin.write_all(input.as_bytes()));
        answers.extend(heard.iter().take(after));
        thread::sleep(moment);
        kill(&mut child);
        writer.join().unwrap();
    } else {
        for (n, line) in input.lines().enumerate() {
            writeln!(stdin, "{line}").unwrap();
            if n >= after {
                break;
            }
            answers.push(heard.recv().unwrap());
        }
        thread::sleep(moment);
        kill(&mut child);
    }
    reader.join().unwrap();
    answers.extend(heard.iter());
    answers
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn said(line: &str) -> Said {
    let answer: Value = serde_json::from_str(line).unwrap();
    let text = answer["content"].as_str().unwrap().to_owned();
    if answer["is_error"] == true { Err(text) } else { Ok(text) }
}

/// A call on one of few paths, so that most of them meet.
fn call(random: &mut Random, n: usize) -> Value {
    const FILES: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/a", "e/a", "e/d/a", "f/g/h/a"];
    const DIRS: [&str; 5] = ["d", "d/e", "e", "f", "f/g"];
    let file = |random: &mut Random| format!("/memories/{}", random.pick(&FILES));
    let dir = |random: &mut Random| format!("/memories/{}", random.pick(&DIRS));
    match random.below(16) {
        0..5 => {
            let text = format!("alpha {n}\n").repeat(1 + random.below(4) * random.below(300));
            json!({"command": "create", "path": file(random), "file_text": text})
        }
        5..9 => {
            json!({"command": "insert", "path": file(random), "insert_line": 0, "insert_text": format!("line {n}")})
        }
        9..11 => {
            json!({"command": "str_replace", "path": file(random), "old_str": "line", "new_str": "beta"})
        }
        11 => json!({"command": "delete", "path": file(random)}),
        12 => json!({"command": "delete", "path": dir(random)}),
        13 => json!({"command": "rename", "old_path": file(random), "new_path": file(random)}),
        14 => json!({"command": "rename", "old_path": dir(random), "new_path": dir(random)}),
        _ => json!({"command": "view", "path": dir(random)}),
    }
}
