//! The ways into memdir that the cases are sent through.

use std::fs;
use std::path::Path;

use camino::Utf8Path;
use memdir::{Dispatcher, Store};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::case::Case;

/// Something that takes the lines of a case and gives a line for each.
pub trait Door {
    fn answer(&self, base: &Path, case: &Case) -> Result<Vec<String>, String>;
}

/// The library, a call at a time.
pub struct LineByLine;

/// The library, all calls of a case in one go.
pub struct AllAtOnce;

impl Door for LineByLine {
    fn answer(&self, base: &Path, case: &Case) -> Result<Vec<String>, String> {
        with_dispatcher(base, case, |dispatcher| {
            let mut answers = Vec::new();
            for (n, line) in case.lines().iter().enumerate() {
                answers.push(dispatcher.run_line(line));
                if n == 0 && case.setup.remove_root.is_some() {
                    fs::remove_dir_all(base.join("memories")).expect("the root is there");
                }
            }
            answers
        })
    }
}

impl Door for AllAtOnce {
    fn answer(&self, base: &Path, case: &Case) -> Result<Vec<String>, String> {
        if case.is_interactive() {
            return LineByLine.answer(base, case);
        }
        with_dispatcher(base, case, |dispatcher| {
            let lines = case.lines();
            dispatcher.run_lines(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>())
        })
    }
}

fn with_dispatcher(
    base: &Path,
    case: &Case,
    run: impl FnOnce(&Dispatcher) -> Vec<String>,
) -> Result<Vec<String>, String> {
    let base = Utf8Path::from_path(base).expect("a temporary directory has a plain name");
    let dispatcher = Dispatcher::new(Store::open(base).map_err(|error| error.to_string())?);
    // The mask is the process's: cases that run beside this one must not mind, and none compares a mode that hangs on it.
    let before = case.setup.umask.as_deref().map(|mask| umask(mode(mask)));
    let answers = run(&dispatcher);
    before.map(umask);
    Ok(answers)
}

fn mode(octal: &str) -> Mode {
    Mode::from_raw_mode(u32::from_str_radix(octal, 8).expect("a mode is octal"))
}

#[cfg(feature = "cli")]
pub use command::Command;

#[cfg(feature = "cli")]
mod command {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{self, Stdio};
    use std::thread;

    use super::{Case, Door, Path, fs};

    /// `memdir call --dir BASE`, which reads lines and writes lines.
    pub struct Command {
        pub program: &'static str,
    }

    impl Door for Command {
        fn answer(&self, base: &Path, case: &Case) -> Result<Vec<String>, String> {
            let mut child = process::Command::new("sh")
                .args(["-c", r#"umask "$1"; exec "$2" call --dir "$3""#, "sh"])
                .args([case.setup.umask.as_deref().unwrap_or("0022"), self.program])
                .arg(base)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| error.to_string())?;
            let mut input = child.stdin.take().expect("it is piped");
            let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
            let lines = case.lines();
            let mut answers = Vec::new();
            let mut remaining = &lines[..];
            if case.is_interactive() {
                // A program that is gone shows in the number of answers.
                let _ = input.write_all(&[&lines[0][..], b"\n"].concat());
                answers.extend(output.next().and_then(Result::ok));
                fs::remove_dir_all(base.join("memories")).map_err(|error| error.to_string())?;
                remaining = &lines[1..];
            }
            thread::scope(|scope| {
                scope.spawn(move || {
                    let _ = input.write_all(&[&remaining.join(&b'\n')[..], b"\n"].concat());
                });
                answers.extend(output.map_while(Result::ok));
            });
            let status = child.wait().map_err(|error| error.to_string())?;
            if status.success() { Ok(answers) } else { Err(format!("{status}")) }
        }
    }
}
