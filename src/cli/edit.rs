//! `memdir edit`: a memory in the person's editor, while agents may write to it.

use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use signal_hook::consts::{SIGINT, SIGQUIT};

use super::fault::{FAILED, Fault};
use super::out::{self, Out};
use super::paths::no_file;
use super::place::{Common, Missing, Opened, quoted};
use super::variable;
use crate::error::Error;
use crate::home::{Draft, Edited, Settled};
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::store::Look;

/// What a shell ends with when there is no such command; above 128 it is the signal that killed it.
const NOT_FOUND: i32 = 127;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The memory; one that is not there yet is made
    path: String,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let mut opened = args.common.open(Missing::Refuse)?;
    if let Some(reason) = &args.reason {
        opened.store = opened.store.with_reason(reason);
    }
    let path = opened.path(&args.path)?;
    opened.store.admit(&path)?;
    if opened.store.look(&path)? == Look::Directory {
        return Err(no_file(&path, Look::Directory));
    }
    let editor = editor()?;
    let draft = Draft::begin(&opened.store, &path)?;
    let ended = {
        let _patience = Patience::begin();
        start(&editor, draft.file())
    };
    let is_missing = ended.as_ref().map_or(true, |status| status.code() == Some(NOT_FOUND));
    let why = match (ended, Left::at(draft.file())) {
        (Err(error), _) => Some(format!("cannot start the editor `{editor}`: {error}")),
        (Ok(status), _) if !status.success() => Some(format!("the editor `{editor}` {}", outcome(status))),
        (Ok(_), Left::Nothing) => Some(format!("the editor `{editor}` left no file")),
        (Ok(_), Left::Other) => Some(format!("the editor `{editor}` left something else than a plain file")),
        (Ok(_), Left::File) => None,
    };
    if let Some(why) = why {
        let mut fault = Fault::failed(format!("{why}; `{path}` stays as it is"));
        if is_missing {
            fault = fault.and(NAMES);
        }
        return Err(match give_up(&opened, draft) {
            Some(hint) => fault.and(hint),
            None => fault,
        });
    }
    let copy = draft.file().to_owned();
    let settled = draft.finish().map_err(|error| refused(error).and(kept(&opened, &copy)))?;
    opened.warn();
    Ok(tell(&opened, &path, &settled, args.common.json, out))
}

/// Why what was written could not be put back.
fn refused(error: Error) -> Fault {
    match error {
        Error::Taken { path } => Fault::failed(format!(
            "`{path}` was deleted meanwhile, and another memory is there now, which stays as it is"
        )),
        error => error.into(),
    }
}

/// Leaves the memory as it is; where the copy was changed all the same, it is kept, and that is said.
fn give_up(opened: &Opened, draft: Draft) -> Option<String> {
    if matches!(draft.is_changed(), Ok(false)) {
        // Nothing is written by that, and the copy goes.
        let _ = draft.finish();
        return None;
    }
    if Left::at(draft.file()) == Left::Nothing {
        draft.discard();
        return None;
    }
    Some(kept(opened, &draft.keep()))
}

/// Where the copy is, as the store is named.
fn kept(opened: &Opened, copy: &Path) -> String {
    let base = camino::absolute_utf8(&opened.base).ok();
    let below = base.as_ref().and_then(|base| copy.strip_prefix(base).ok());
    let copy = below.map_or_else(|| copy.to_owned(), |below| opened.base.as_std_path().join(below));
    format!("what you wrote is in {}", copy.display())
}

/// What an editor left where the copy was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    File,
    Nothing,
    Other,
}

impl Left {
    fn at(file: &Path) -> Self {
        match file.symlink_metadata() {
            Err(_) => Self::Nothing,
            Ok(seen) if seen.is_file() => Self::File,
            Ok(_) => Self::Other,
        }
    }
}

/// Where the editor comes from.
const NAMES: &str = "$VISUAL, else $EDITOR, names the editor";

/// The person's editor, as the environment names it; else, on a terminal, vi.
fn editor() -> Result<String, Fault> {
    let named = |name| variable(name).map(|value| value.filter(|value| !value.trim().is_empty()));
    match named("VISUAL")?.or(named("EDITOR")?) {
        Some(editor) => Ok(editor),
        None if stdin().is_terminal() => Ok("vi".to_owned()),
        None => Err(Fault::usage("no editor is named, and there is no terminal for vi").hint(NAMES)),
    }
}

/// Runs the editor as a shell understands it, so that it may have options, and waits until it ends. The shell waits on
/// after a Ctrl-C, too: that is for the editor.
fn start(editor: &str, file: &Path) -> std::io::Result<ExitStatus> {
    let script = format!("trap : INT QUIT; {editor} \"$@\"");
    Command::new("sh").arg("-c").arg(script).arg("sh").arg(file).status()
}

/// While it lives, a Ctrl-C is left to the editor.
struct Patience(Arc<AtomicBool>);

impl Patience {
    fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGQUIT] {
            // Where that fails, a Ctrl-C ends the command as any other; the copy stays.
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&is_over));
        }
        Self(is_over)
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn outcome(status: ExitStatus) -> String {
    match status.code() {
        Some(NOT_FOUND) => "was not found".to_owned(),
        Some(code @ 129..=192) => format!("was killed by signal {}", code - 128),
        Some(code) => format!("ended with exit code {code}"),
        None => "was killed".to_owned(),
    }
}

fn tell(opened: &Opened, before: &MemoryPath, settled: &Settled, json: bool, out: &mut Out) -> u8 {
    let Settled { path, edited, .. } = settled;
    let moved_from = Some(before).filter(|&before| before != path);
    let renamed = moved_from.map(|before| format!("renamed from {before}"));
    let (result, words) = match edited {
        Edited::Unchanged => ("unchanged", format!("Nothing was edited in {path}.")),
        Edited::Written => (
            "written",
            match renamed {
                Some(renamed) => format!("{path} is written; it was {renamed} meanwhile."),
                None => format!("{path} is written."),
            },
        ),
        Edited::Merged => {
            let also = renamed.map(|renamed| format!("been {renamed} and ")).unwrap_or_default();
            let words = format!(
                "{path} is written; it had {also}changed meanwhile, in other places, and both are in it now."
            );
            ("merged", words)
        }
        Edited::Revived => {
            let also = renamed.map(|renamed| format!("{renamed} and ")).unwrap_or_default();
            (
                "revived",
                format!("{path} is written; it had been {also}deleted meanwhile, and is there again."),
            )
        }
        Edited::Conflict { mine, both } => {
            return conflict(opened, settled, moved_from, (*mine, both), json, out);
        }
    };
    if json {
        let moved_from = moved_from.map(ToString::to_string);
        _ = out.json(&json!({"path": path.to_string(), "moved_from": moved_from, "result": result}));
    } else {
        _ = out.line(words);
    }
    0
}

/// Shows both texts, and how to put the person's in place.
fn conflict(
    opened: &Opened,
    Settled { path, .. }: &Settled,
    moved_from: Option<&MemoryPath>,
    (mine, both): (VersionId, &str),
    json: bool,
    out: &mut Out,
) -> u8 {
    let command = |name: &str, more: &str| {
        format!("memdir {name}{} {}{more}", opened.options, quoted(&path.to_string()))
    };
    let restore = command("restore", &format!(" --to {mine}"));
    if json {
        let said = json!({
            "path": path.to_string(), "moved_from": moved_from.map(ToString::to_string), "result": "conflict",
            "version_id": mine.to_string(), "both": both, "restore": restore,
        });
        _ = out.json(&said);
        return FAILED;
    }
    for line in both.lines() {
        let shown = out.shown(line);
        let style = if is_marker(line) { out::ODD } else { anstyle::Style::new() };
        _ = out.line(out.paint(style, shown));
    }
    out.flush();
    let renamed = moved_from.map(|before| format!("was renamed from `{before}` and ")).unwrap_or_default();
    Fault::failed(format!(
        "`{path}` {renamed}changed meanwhile, in the same places; it stays as it is, and what you wrote is kept"
    ))
    .hint(format!("to put yours in these places: {restore}"))
    .and(format!("to choose line by line: {}, with the texts above in view", command("edit", "")))
    .report();
    FAILED
}

fn is_marker(line: &str) -> bool {
    ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].iter().any(|marker| line.starts_with(marker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_may_have_options_and_a_path_with_spaces() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a copy.md");
        let done = start("printf '%s|' --wait >> \"$1\"; : ", &file).unwrap();
        assert!(done.success());
        #[allow(clippy::disallowed_methods, reason = "a test looks at what was written")]
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "--wait|");
        assert_eq!(outcome(start("exit 3; :", &file).unwrap()), "ended with exit code 3");
        assert_eq!(outcome(start("kill -9 $$; :", &file).unwrap()), "was killed");
        assert_eq!(outcome(start("sh -c 'kill -9 $$'", &file).unwrap()), "was killed by signal 9");
    }
}
