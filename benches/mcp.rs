//! Round trips over standard input and output, by turns: the bare pipe (`cat`), `memdir call`, `memdir mcp` over pipes
//! and over sockets (as hosts that run in Node start it); and starts, to the answer of `initialize`.
//!
//! `cargo bench --bench mcp -- [--rounds N]`; the store is made in `MEMDIR_BENCH_DIR`, else in the target directory, and
//! must lie on a real disk (see `ratios`).

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use common::{Ground, create, run, text};

fn main() {
    let rounds = rounds();
    println!("load {}, medians of {rounds} rounds\n", load());
    round_trips(rounds);
    println!();
    starts(rounds / 20);
    println!("\nload {}", load());
}

fn rounds() -> usize {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    match (words.next().as_deref(), words.next()) {
        (None, _) => 2000,
        (Some("--rounds"), Some(rounds)) => rounds.parse().expect("a number of rounds"),
        (Some(word), _) => panic!("unknown option {word}"),
    }
}

fn round_trips(rounds: usize) {
    let ground = Ground::new();
    ground.file("note.md", &text(2048));
    for n in 0..100 {
        run(
            &ground.memory,
            &create(&format!("fact-{n}.md"), &format!("Fact {n}: staging listens on port {n}.\n")),
        );
    }
    let view = json!({"command": "view", "path": "/memories/note.md"});
    let tool = |name: &str, input: &Value| request("tools/call", &json!({"name": name, "arguments": input}));
    let (look, ping) = (tool("memory", &view), request("ping", &json!({})));
    let ask = tool("memory_retrieve", &json!({"query": "which port does staging listen on?", "limit": 3}));

    let mut cat = Talk::piped(&mut Command::new("cat"));
    let mut call = Talk::piped(memdir(&ground.base()).arg("call"));
    let mut pipes = Talk::piped(memdir(&ground.base()).arg("mcp"));
    let mut sockets = Talk::over_sockets(memdir(&ground.base()).arg("mcp"));
    for talk in [&mut pipes, &mut sockets] {
        talk.ask(&initialize());
    }
    let mut made = 0;
    let mut new = |wrap: &dyn Fn(&Value) -> Vec<u8>| {
        made += 1;
        wrap(
            &json!({"command": "create", "path": format!("/memories/made/{made}.md"), "file_text": "likes tea\n"}),
        )
    };
    let mut cases = [
        ("the pipe: cat", vec![]),
        ("call: view", vec![]),
        ("mcp: ping", vec![]),
        ("mcp: view", vec![]),
        ("mcp over sockets: ping", vec![]),
        ("mcp over sockets: view", vec![]),
        ("mcp: memory_retrieve", vec![]),
        ("call: create", vec![]),
        ("mcp: create", vec![]),
    ];
    let bare = line(&view);
    for _ in 0..rounds {
        let times = [
            cat.ask(&look),
            call.ask(&bare),
            pipes.ask(&ping),
            pipes.ask(&look),
            sockets.ask(&ping),
            sockets.ask(&look),
            pipes.ask(&ask),
            call.ask(&new(&line)),
            pipes.ask(&new(&|input| tool("memory", input))),
        ];
        for ((_, all), time) in cases.iter_mut().zip(times) {
            all.push(time);
        }
    }
    let medians = cases.map(|(name, times)| (name, median(times)));
    let [pipe, call] = [0, 1].map(|at| medians[at].1);
    println!("| round trip | median | beyond the pipe | by `call: view` |\n|---|--:|--:|--:|");
    for (name, time) in medians {
        let (beyond, ratio) = (time.saturating_sub(pipe), time.as_secs_f64() / call.as_secs_f64());
        println!("| {name} | {} | {} | {ratio:.2} |", shown(time), shown(beyond));
    }
}

fn starts(rounds: usize) {
    let ground = Ground::new();
    ground.file("note.md", &text(2048));
    let empty = tempfile::tempdir_in(ground.base()).expect("a directory");
    let view = line(&json!({"command": "view", "path": "/memories/note.md"}));
    let mut cases = [
        ("cat", vec![]),
        ("call: view", vec![]),
        ("mcp: initialize", vec![]),
        ("mcp: initialize, in a new store", vec![]),
    ];
    let first = |command: &mut Command, line: &[u8]| {
        let start = Instant::now();
        let mut talk = Talk::piped(command);
        talk.ask(line);
        start.elapsed()
    };
    for round in 0..rounds {
        let new = empty.path().join(round.to_string());
        let times = [
            first(&mut Command::new("cat"), &initialize()),
            first(memdir(&ground.base()).arg("call"), &view),
            first(memdir(&ground.base()).arg("mcp"), &initialize()),
            first(memdir(&new).arg("mcp"), &initialize()),
        ];
        for ((_, all), time) in cases.iter_mut().zip(times) {
            all.push(time);
        }
    }
    println!("| start to the first answer | median |\n|---|--:|");
    for (name, times) in cases {
        println!("| {name} | {} |", shown(median(times)));
    }
}

/// A process that answers lines.
struct Talk {
    child: Child,
    input: Option<Box<dyn Write>>,
    output: BufReader<Box<dyn Read>>,
    line: Vec<u8>,
}

impl Talk {
    fn piped(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a command");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        Self::of(child, Box::new(input), Box::new(output))
    }

    fn over_sockets(command: &mut Command) -> Self {
        let pair = || UnixStream::pair().expect("sockets");
        let ((ours, its), (our, her)) = (pair(), pair());
        let child = command.stdin(OwnedFd::from(its)).stdout(OwnedFd::from(her)).spawn().expect("a command");
        // What the command was given is closed with it.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self::of(child, Box::new(ours), Box::new(our))
    }

    fn of(child: Child, input: Box<dyn Write>, output: Box<dyn Read>) -> Self {
        Self { child, input: Some(input), output: BufReader::new(output), line: Vec::new() }
    }

    fn ask(&mut self, line: &[u8]) -> Duration {
        self.line.clear();
        let start = Instant::now();
        self.input.as_mut().expect("it is open").write_all(line).expect("it reads");
        self.output.read_until(b'\n', &mut self.line).expect("it answers");
        let time = start.elapsed();
        let answer = String::from_utf8_lossy(&self.line);
        let failed =
            ["\"error\":", "\"isError\":true", "\"is_error\":true"].iter().any(|sign| answer.contains(sign));
        assert!(answer.ends_with('\n') && !failed, "{answer}");
        time
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn memdir(base: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
    command.env("MEMDIR_DIR", base).env_remove("MEMDIR_LOG");
    command
}

fn request(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

fn initialize() -> Vec<u8> {
    request(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}),
    )
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 10_000.0 { format!("{micros:.1} µs") } else { format!("{:.1} ms", micros / 1e3) }
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
