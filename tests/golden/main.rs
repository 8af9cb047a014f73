//! The golden cases: what every door must answer, and what must be on disk afterwards.
//!
//! Each case lays out a store, sends its calls, and compares the answers and the whole tree. `GOLDEN_ONLY=view.` runs
//! the cases whose names begin so.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests lay out directories and print"
)]

mod case;
mod doors;
mod layout;
mod messages;
mod tree;

use std::path::Path;
use std::thread;

use case::Case;
use doors::Door;

const FILES: [&str; 3] = ["golden.public.jsonl", "hostile.public.jsonl", "golden.raw.jsonl"];

#[test]
fn the_dispatcher_answers_line_by_line() {
    run_all(&doors::LineByLine);
}

#[test]
fn the_dispatcher_answers_all_lines_at_once() {
    run_all(&doors::AllAtOnce);
}

#[cfg(feature = "cli")]
#[test]
fn the_command_answers() {
    run_all(&doors::Command { program: env!("CARGO_BIN_EXE_memdir") });
}

#[cfg(all(feature = "cli", feature = "mcp"))]
#[test]
fn the_server_answers() {
    run_all(&doors::Server { program: env!("CARGO_BIN_EXE_memdir") });
}

/// Runs all cases through a door, on all cores, and fails with what differs.
fn run_all(door: &(impl Door + Sync)) {
    let cases = &cases();
    assert!(!cases.is_empty(), "no case was chosen");
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failures = thread::scope(|scope| {
        let check_all = move |first| {
            let share = cases.iter().skip(first).step_by(threads);
            share.flat_map(|case| check(case, door)).collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || check_all(first))).collect();
        let failures = workers.into_iter().map(|worker| worker.join().expect("a worker does not panic"));
        failures.collect::<Vec<_>>().concat()
    });
    assert!(
        failures.is_empty(),
        "{} differences in {} cases:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

fn cases() -> Vec<Case> {
    let only = std::env::var("GOLDEN_ONLY").unwrap_or_default();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden");
    FILES
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(dir.join(file)).expect("the fixture can be read");
            let cases: Vec<Case> =
                text.lines().map(|line| serde_json::from_str(line).expect("a line is a case")).collect();
            cases
        })
        .filter(|case| case.name.starts_with(&only))
        .collect()
}

/// What differs in one case.
fn check(case: &Case, door: &impl Door) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let base = dir.path().canonicalize().expect("it is there");
    layout::lay_out(&base, &case.setup).expect("the setup can be laid out");
    let mut differences = match door.answer(&base, case) {
        Ok(lines) => case.compare_answers(&lines),
        Err(problem) => vec![problem],
    };
    differences.extend(tree::compare(&base, case).expect("the tree can be read"));
    differences.into_iter().map(|difference| format!("{}: {difference}", case.name)).collect()
}
