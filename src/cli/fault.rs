//! What a person is told when something goes wrong: the error, and a hint at what to do.

use std::error::Error as _;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::error::{Error, NoContent, Trouble};
use crate::guard::Guard;
use crate::path;

/// The exit code when a call or a check failed.
pub(super) const FAILED: u8 = 1;
/// The exit code when the command was used wrongly.
pub(super) const USAGE: u8 = 2;

/// Why a command ends without having done its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    what: String,
    hints: Vec<String>,
    code: u8,
    is_no_store: bool,
}

impl Fault {
    /// The work failed.
    pub(super) fn failed(what: impl Into<String>) -> Self {
        Self { what: what.into(), hints: Vec::new(), code: FAILED, is_no_store: false }
    }

    /// The command was used wrongly.
    pub(super) fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), hints: Vec::new(), code: USAGE, is_no_store: false }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hints: vec![hint.into()], ..self }
    }

    /// Says one more thing to the person, after the hints that there are already.
    pub(super) fn and(mut self, more: impl std::fmt::Display) -> Self {
        self.hints.push(more.to_string());
        self
    }

    /// Whether there is no store where one was to be read.
    pub(super) fn is_no_store(&self) -> bool {
        self.is_no_store
    }

    /// Tells the person on standard error; the exit code to end with.
    pub(super) fn report(self) -> ExitCode {
        complain(&format!("error: {}", self.text()));
        ExitCode::from(self.code)
    }

    /// Tells the person that something is amiss, though the work goes on.
    pub(super) fn warn(&self) {
        complain(&format!("warning: {}", self.text()));
    }

    /// The error and each hint on a line of its own: names of files and entries may hold anything, but no secret is said.
    fn text(&self) -> String {
        let mut text = path::escape(&self.what).into_owned();
        for hint in &self.hints {
            text = format!("{text}\nhint: {}", path::escape(hint));
        }
        Guard::default().mask(&text).into_owned()
    }
}

/// Writes to standard error; that nobody can read it there is no reason to fail.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        if let Error::Partly { change, source } = error {
            let fault = Self::from(*source);
            let what = format!("only a part of it is done, as the change {change}; then: {}", fault.what);
            let undo = format_args!("to undo that part: memdir restore --change {change}");
            return Self { what, ..fault }.and(undo);
        }
        let mut what = error.to_string();
        if let Error::Write { doing, .. } | Error::Read { doing, .. } = &error {
            let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            what = format!("{what} ({doing}{source})");
        }
        let is_no_store = matches!(error, Error::NoStore { .. });
        Self { what, hints: hint(&error).into_iter().collect(), code: FAILED, is_no_store }
    }
}

/// What the person can do about it.
fn hint(error: &Error) -> Option<String> {
    let text = match error {
        Error::Settings { .. } => {
            "`memdir.toml` lies in the store beside `memories`; all its keys are optional"
        }
        Error::NoStore { .. } => {
            "name one with --dir or $MEMDIR_DIR, or make one with `memdir init`; that of `memdir mcp` without options is \
             ~/.local/share/memdir"
        }
        Error::Index { .. } => {
            "answers are right without it, and take longer: see to the owner and the mode of `.memdir/index` and to the room on the \
             disk, or remove it, which loses nothing"
        }
        Error::NewerJournal { .. } => "use the memdir that wrote this store, or a newer one",
        Error::Busy { .. } => "wait until that process is done, or set a longer `lock_wait` in `memdir.toml`",
        Error::Unknown { .. } => "run the command again: opening the store settles it",
        Error::Hidden { path } if path.names_git() => "`.git` is never changed, whatever the settings say",
        Error::Hidden { .. } => "set `hidden = \"allow\"` in `memdir.toml` to change hidden names",
        Error::ReadOnly { .. } => "it is in `read_only` of `memdir.toml`; an editor can change it",
        Error::Secret { .. } => "`[guard]` in `memdir.toml` says what is done about secrets, by rule",
        Error::TooLarge { .. } => "`file_limit` in `memdir.toml` sets the limit",
        Error::Missing { .. } => {
            "`memdir log` with that path tells whether it was there, and what became of it"
        }
        Error::NotText { .. } => "`memdir cat` gives its bytes, and any program may change the file itself",
        Error::NoMemory { .. } => {
            "`memdir list` shows the memories, each with its id; `memdir log --memory ID` tells what became of one"
        }
        Error::PlainFile { path } => {
            return Some(format!(
                "`memdir edit {path}` takes out what is outdated; or remove the file itself"
            ));
        }
        Error::NoVersion { .. } => {
            "`memdir log` lists the versions, each with its id; retention may have taken this one"
        }
        Error::NoChange { .. } => {
            "`memdir log` lists the changes, each with its id; retention may have taken this one"
        }
        Error::NoContent { why: NoContent::NotKept, .. } => {
            "what could be kept of such files is in `.memdir/kept`"
        }
        Error::NoContent { .. } => "`memdir log PATH` lists the versions; take the one before",
        Error::IsHead { path, .. } => {
            return Some(format!("edit or delete {path} first; then this version can be redacted"));
        }
        Error::Taken { .. } => "with --overwrite that memory is replaced; it stays in the history",
        Error::TooEarly { .. } => "take a later time; `memdir log PATH` shows how far back the history goes",
        Error::Write { why, .. } | Error::Read { why, .. } => return remedy(*why).map(str::to_owned),
        _ => return None,
    };
    Some(text.to_owned())
}

fn remedy(trouble: Trouble) -> Option<&'static str> {
    Some(match trouble {
        Trouble::NoSpace => "free some space or inodes on the disk that holds the store, or raise the quota",
        Trouble::ReadOnly => "mount the file system of the store so that it can be written",
        Trouble::Denied => "check the owner and the mode of the store's directories",
        Trouble::TooManyFiles => "raise the limit of open files (`ulimit -n`)",
        Trouble::Journal => {
            "the plain files in `memories` are intact; to start a new journal, stop every memdir that uses the store \
             and move its `.memdir/journal.db*` away (the history so far goes with them)"
        }
        Trouble::SyncFailed => "check the disk, then start memdir again",
        Trouble::Network => "keep the store on a local disk; for FUSE there is `allow_fuse` in `memdir.toml`",
        Trouble::Split => "let `memories` and `.memdir` be directories of one file system",
        Trouble::Io => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_journal_says_that_the_files_are_intact() {
        let error = Error::Write {
            why: Trouble::Journal,
            doing: "open journal.db".to_owned(),
            source: Some("file is not a database".into()),
        };
        let fault = Fault::from(error);
        assert_eq!(
            fault.what,
            "the memory directory cannot be written: its journal is damaged (open journal.db: file is not a database)"
        );
        let hint = &fault.hints[0];
        assert!(hint.starts_with("the plain files in `memories` are intact"), "{hint}");
        assert!(hint.contains("move its `.memdir/journal.db*` away"), "{hint}");
    }

    #[test]
    fn a_hint_is_its_own_line() {
        let fault = Fault::usage("no").hint("yes");
        assert_eq!(fault.text(), "no\nhint: yes");
        assert_eq!(Fault::failed("no").text(), "no");
        assert_eq!(Fault::failed("no").and("one").and("two").text(), "no\nhint: one\nhint: two");
    }

    #[test]
    fn what_stands_of_a_restore_is_said_before_what_failed() {
        let change = crate::id::ChangeId(crate::id::new_ulid(0));
        let source = Box::new(Error::Taken { path: crate::path::MemoryPath::from_normal("a.md") });
        assert_eq!(
            Fault::from(Error::Partly { change, source }).text(),
            format!(
                "only a part of it is done, as the change {change}; then: another memory is at `/memories/a.md` now\n\
                 hint: with --overwrite that memory is replaced; it stays in the history\n\
                 hint: to undo that part: memdir restore --change {change}"
            )
        );
    }

    #[test]
    fn what_is_said_is_nothing_that_a_terminal_obeys() {
        let fault =
            Fault::failed("the entry `\u{1b}[2J\nerror: x`").hint("it is in \u{202e}`\u{9b}a`\nhint: y");
        assert_eq!(
            fault.text(),
            "the entry `\\u{001B}[2J\\u{000A}error: x`\nhint: it is in \\u{202E}`\\u{009B}a`\\u{000A}hint: y"
        );
    }
}
