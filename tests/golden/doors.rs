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
#[cfg(all(feature = "cli", feature = "mcp"))]
pub use server::Server;

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
            converse(self.program, "call", base, case, &case.lines())
        }
    }

    /// Sends lines to a command that answers lines, and gives those.
    pub fn converse(
        program: &str,
        command: &str,
        base: &Path,
        case: &Case,
        lines: &[Vec<u8>],
    ) -> Result<Vec<String>, String> {
        let mut child = process::Command::new("sh")
            .args(["-c", r#"umask "$1"; exec "$2" "$3" --dir "$4""#, "sh"])
            .args([case.setup.umask.as_deref().unwrap_or("0022"), program, command])
            .arg(base)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut input = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut answers = Vec::new();
        let mut remaining = lines;
        if case.is_interactive() {
            // Up to the answer of the first call. A program that is gone shows in the number of answers.
            let (first, rest) = lines.split_at(lines.len() + 1 - case.calls.len());
            let _ = input.write_all(&[&first.join(&b'\n')[..], b"\n"].concat());
            answers.extend(output.by_ref().take(first.len()).map_while(Result::ok));
            fs::remove_dir_all(base.join("memories")).map_err(|error| error.to_string())?;
            remaining = rest;
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

#[cfg(all(feature = "cli", feature = "mcp"))]
mod server {
    use serde_json::{Value, json};

    use super::command::converse;
    use super::{Case, Door, Path};
    use crate::case::result;

    /// `memdir mcp --dir BASE`.
    pub struct Server {
        pub program: &'static str,
    }

    impl Door for Server {
        fn answer(&self, base: &Path, case: &Case) -> Result<Vec<String>, String> {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "golden", "version": "1"},
            });
            let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
            let mut lines = vec![hello.to_string().into_bytes()];
            lines.extend(case.requests());
            let answers = converse(self.program, "mcp", base, case, &lines)?;
            let answers: Vec<Value> = answers
                .iter()
                .map(|answer| serde_json::from_str(answer).expect("an answer is JSON"))
                .collect();
            let calls = case.calls.iter().enumerate();
            calls
                .map(|(n, call)| {
                    let answer = answers.iter().find(|answer| answer["id"] == n);
                    if call.is_object() {
                        translate(n, answer.ok_or_else(|| format!("call {n} has no answer"))?)
                    } else if answer
                        .is_none_or(|told| told["error"].is_object() || told["result"]["isError"] == true)
                    {
                        // The protocol knows no such call; one without arguments fails for what is missing in them.
                        Ok(call.wanted(n))
                    } else {
                        Err(format!("call {n} is no request and has a result"))
                    }
                })
                .collect()
        }
    }

    /// An answer in the words of the Messages API.
    fn translate(n: usize, answer: &Value) -> Result<String, String> {
        let Value::Object(told) = &answer["result"] else { return Err(format!("call {n}: {answer}")) };
        let blocks = told["content"].as_array().expect("content is a list");
        let is_error = told["isError"] == true;
        let text = &blocks[0]["text"];
        let structured = (!is_error).then(|| json!({"result": text}));
        if told.get("structuredContent") != structured.as_ref() {
            return Err(format!("call {n}: structured otherwise than the text: {answer}"));
        }
        let content = match &blocks[..] {
            [_] => text.clone(),
            blocks => blocks.iter().map(block).collect(),
        };
        Ok(result(n, &content, is_error))
    }

    fn block(block: &Value) -> Value {
        if block["type"] == "text" {
            return block.clone();
        }
        let source = json!({"type": "base64", "media_type": block["mimeType"], "data": block["data"]});
        json!({"type": "image", "source": source})
    }
}
