//! `memdir call`: calls in, answers out.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;
use std::time::Duration;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::fault::{self, Fault};
use super::lines::{Group, Lines};
use super::pipe::{self, Reader};
use crate::store::{Actor, Store};
use crate::tool::Dispatcher;

/// How long standard input must be silent before what was published is synced, so that the next open has nothing to mend.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes that a line may have, unless the settings allow files so large that their calls may be longer.
const LINE_LIMIT: u64 = 16 << 20;
/// A byte of a file is at most this many bytes of JSON (`\u0001` is 6), and a call is not the text alone.
const JSON_BYTES_PER_BYTE: u64 = 8;
/// Answers are gathered up to this size before they are written.
const ANSWER_BYTES: usize = 1 << 20;

/// Answers the one call `json`, or those on standard input.
///
/// `agent` is whose file the one-file tool has.
pub(super) fn run(
    base: &Utf8Path,
    actor: Option<Actor>,
    agent: Option<&str>,
    json: Option<&str>,
) -> Result<ExitCode, Fault> {
    let mut builder = Store::builder(base);
    if let Some(actor) = actor {
        builder = builder.actor(actor);
    }
    let store = builder.open()?;
    let dispatcher = Dispatcher::new(store.clone());
    #[cfg(feature = "search")]
    let dispatcher = match agent {
        Some(name) => dispatcher.with_agent(name)?,
        None => dispatcher,
    };
    #[cfg(not(feature = "search"))]
    let _ = agent;
    let done = match json {
        Some(json) => one(&dispatcher, &store, json),
        #[cfg(feature = "search")]
        None => stream(&dispatcher.watching(), &store),
        #[cfg(not(feature = "search"))]
        None => stream(&dispatcher, &store),
    };
    // What was answered is safe in the journal already: a sync that fails now costs the next open a recovery, no more.
    settle(&store);
    done
}

fn one(dispatcher: &Dispatcher, store: &Store, json: &str) -> Result<ExitCode, Fault> {
    let answer = dispatcher.run_line(json.as_bytes());
    warn(store, &mut None);
    let code = if is_error(&answer) { fault::FAILED } else { 0 };
    pipe::say(format!("{answer}\n").as_bytes())?;
    Ok(ExitCode::from(code))
}

/// Answers line by line. Lines that have come together are answered together, so that they share a sync.
fn stream(dispatcher: &Dispatcher, store: &Store) -> Result<ExitCode, Fault> {
    if stdin().is_terminal() {
        fault::complain("Reading calls, one JSON per line; Ctrl-D ends.");
    }
    let mut lines = Lines::new(line_limit(store.settings().file_limit));
    let mut can_sync = true;
    let mut told = None;
    loop {
        while let Some(group) = lines.next_group() {
            let answers = match group {
                Group::Lines(group) => dispatcher.run_lines(&group),
                Group::TooLong => vec![too_long(store.settings().file_limit)],
            };
            warn(store, &mut told);
            if say_all(&answers)? == Reader::Gone {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if lines.is_ended() {
            return Ok(ExitCode::SUCCESS);
        }
        if can_sync && store.is_unsynced() && !pipe::is_heard_within(IDLE) {
            can_sync = settle(store);
        }
        if pipe::hear(lines.space())? == 0 {
            lines.end();
        }
    }
}

fn say_all(answers: &[String]) -> Result<Reader, Fault> {
    let mut bytes = Vec::new();
    for (i, answer) in answers.iter().enumerate() {
        bytes.extend_from_slice(answer.as_bytes());
        bytes.push(b'\n');
        if bytes.len() >= ANSWER_BYTES || i + 1 == answers.len() {
            if pipe::say(&bytes)? == Reader::Gone {
                return Ok(Reader::Gone);
            }
            bytes.clear();
        }
    }
    Ok(Reader::Listens)
}

/// Tells the person what went wrong beside the answers, unless that was told last.
fn warn(store: &Store, told: &mut Option<Fault>) {
    let Some(warning) = store.take_warning().map(Fault::from) else { return };
    if told.as_ref() != Some(&warning) {
        warning.warn();
        *told = Some(warning);
    }
}

/// Syncs what was published; false, and a warning, when that fails.
fn settle(store: &Store) -> bool {
    if !store.is_unsynced() {
        return true;
    }
    match store.sync() {
        Ok(()) => true,
        Err(error) => {
            Fault::from(error).warn();
            false
        }
    }
}

/// Bytes that a line may have, so that a call that writes the largest file fits.
pub(super) fn line_limit(file_limit: u64) -> usize {
    let limit = LINE_LIMIT.max(file_limit.saturating_mul(JSON_BYTES_PER_BYTE));
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn too_long(file_limit: u64) -> String {
    let limit = line_limit(file_limit);
    let content = format!("Error: The memory tool's input is longer than {limit} bytes");
    json!({"type": "tool_result", "tool_use_id": "", "content": content, "is_error": true}).to_string()
}

/// Whether an answer, or an answer in a user message, is an error.
fn is_error(answer: &str) -> bool {
    let is_failed = |result: &Value| result["is_error"] == true;
    let Ok(answer) = serde_json::from_str::<Value>(answer) else { return true };
    is_failed(&answer) || answer["content"].as_array().is_some_and(|results| results.iter().any(is_failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_found_in_either_kind_of_answer() {
        let cases = [
            (r#"{"type":"tool_result","tool_use_id":"","content":"is_error"}"#, false),
            (r#"{"type":"tool_result","tool_use_id":"","content":"no","is_error":true}"#, true),
            (r#"{"role":"user","content":[{"type":"tool_result","content":"a"}]}"#, false),
            (r#"{"role":"user","content":[{"content":"a"},{"content":"b","is_error":true}]}"#, true),
            (r#"{"type":"tool_result","content":[{"type":"image"}]}"#, false),
            ("", true),
        ];
        for (answer, failed) in cases {
            assert_eq!(is_error(answer), failed, "{answer}");
        }
    }

    #[test]
    fn every_file_that_may_be_written_fits_into_a_line() {
        assert_eq!(line_limit(1 << 20), 16 << 20);
        assert_eq!(line_limit(1 << 30), 8 << 30);
        assert_eq!(line_limit(u64::MAX), usize::MAX);
    }
}
