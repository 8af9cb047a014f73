//! From the input of a call to what is to be done: everything that can be judged without the disk.

use std::sync::Arc;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::path::MemoryPath;
use crate::text::Bytes;

use super::fields::{Fields, as_string};
use super::words;

/// What is left to do for a call.
#[derive(Debug, Clone)]
pub(in crate::tool) enum Step {
    /// Nothing but to say why.
    Refused(String),
    /// To look.
    View(View),
    /// To change something.
    Change(Arc<Change>),
}

/// The six commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

/// A path as the call gave it, which the answers show, and what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct Named {
    pub text: String,
    pub path: MemoryPath,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct View {
    pub(super) at: Named,
    pub(super) range: Option<Vec<i64>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::tool) enum Change {
    Create { at: Named, bytes: Bytes },
    StrReplace { at: Named, old: String, new: String },
    Insert { at: Named, after: i64, text: String },
    Delete { at: Named },
    Rename { from: Named, to: Named },
}

impl Change {
    pub(super) fn command(&self) -> Command {
        match self {
            Self::Create { .. } => Command::Create,
            Self::StrReplace { .. } => Command::StrReplace,
            Self::Insert { .. } => Command::Insert,
            Self::Delete { .. } => Command::Delete,
            Self::Rename { .. } => Command::Rename,
        }
    }

    pub(super) fn paths(&self) -> Vec<&Named> {
        match self {
            Self::Create { at, .. }
            | Self::StrReplace { at, .. }
            | Self::Insert { at, .. }
            | Self::Delete { at } => vec![at],
            Self::Rename { from, to } => vec![from, to],
        }
    }
}

/// What a store says to a path that is to be changed.
type Admit<'a> = &'a dyn Fn(&MemoryPath) -> Result<()>;

/// Reads the input of a call; the first fault answers.
pub(in crate::tool) fn prepare(input: &Value, admit: Admit<'_>) -> Step {
    read(input, admit).unwrap_or_else(Step::Refused)
}

fn read(input: &Value, admit: Admit<'_>) -> Result<Step, String> {
    let input = input.as_object().ok_or(words::NOT_AN_OBJECT)?;
    let command = input.get("command").ok_or(words::NO_COMMAND)?;
    let command = as_string("command", command)?;
    let fields = Fields { command, input };
    let change = match command {
        "view" => {
            let (path, range) = (fields.string("path")?, fields.range("view_range")?);
            return Ok(Step::View(View { at: named(path)?, range }));
        }
        "create" => {
            let (path, text) = (fields.string("path")?, fields.string("file_text")?);
            Change::Create { at: changed(path, admit)?, bytes: Arc::new(text.as_bytes().to_vec()) }
        }
        "str_replace" => {
            let (path, old) = (fields.string("path")?, fields.string("old_str")?);
            let new = fields.optional_string("new_str")?.unwrap_or_default();
            Change::StrReplace { at: changed(path, admit)?, old: old.to_owned(), new: new.to_owned() }
        }
        "insert" => {
            let (path, after) = (fields.string("path")?, fields.integer("insert_line")?);
            let text = fields.string("insert_text")?;
            Change::Insert { at: changed(path, admit)?, after, text: text.to_owned() }
        }
        "delete" => Change::Delete { at: changed(fields.string("path")?, admit)? },
        "rename" => {
            let (from, to) = (fields.string("old_path")?, fields.string("new_path")?);
            Change::Rename { from: changed(from, admit)?, to: changed(to, admit)? }
        }
        _ => return Err(words::unknown_command(command)),
    };
    judge(&change, admit)?;
    Ok(Step::Change(Arc::new(change)))
}

fn named(text: &str) -> Result<Named, String> {
    match MemoryPath::parse(text) {
        Ok(path) => Ok(Named { text: text.to_owned(), path }),
        Err(error) => Err(words::bad_path(text, error)),
    }
}

/// A path that is to be changed; that it is read-only comes up only after all of a call's paths have been read.
fn changed(text: &str, admit: Admit<'_>) -> Result<Named, String> {
    let named = named(text)?;
    match admit(&named.path) {
        Err(Error::Hidden { .. }) => Err(words::hidden(text)),
        _ => Ok(named),
    }
}

fn judge(change: &Change, admit: Admit<'_>) -> Result<(), String> {
    for named in change.paths() {
        admit(&named.path).map_err(|error| words::refused(&error, change.command(), &[named]))?;
    }
    match change {
        Change::StrReplace { old, .. } if old.is_empty() => Err(words::EMPTY_OLD_STR.to_owned()),
        Change::Delete { at } if at.path.is_root() => Err(words::DELETE_ROOT.to_owned()),
        Change::Rename { from, .. } if from.path.is_root() => Err(words::RENAME_ROOT.to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As a store that denies hidden names and keeps `/memories/ro` as it is.
    fn admit(path: &MemoryPath) -> Result<()> {
        if path.is_hidden() {
            return Err(Error::Hidden { path: path.clone() });
        }
        if path.segments().next() == Some("ro") {
            return Err(Error::ReadOnly { path: path.clone() });
        }
        Ok(())
    }

    #[test]
    fn the_first_fault_answers() {
        for (input, words) in [
            (json!([]), "Error: The memory tool's input must be a JSON object"),
            (json!({"command": null}), "Error: Invalid `command` parameter: expected a string"),
            (
                json!({"command": "x\ny"}),
                "Error: Unknown command `x\\u{000A}y`. Use view, create, str_replace, insert, delete or rename",
            ),
            (
                json!({"command": "view", "view_range": "x"}),
                "Error: Missing required parameter `path` for `view`",
            ),
            (
                json!({"command": "view", "path": "x", "view_range": "x"}),
                "Error: Invalid `view_range` parameter: expected two integers",
            ),
            (json!({"command": "create", "path": 1}), "Error: Invalid `path` parameter: expected a string"),
            (
                json!({"command": "str_replace", "path": "x", "old_str": "", "new_str": 1}),
                "Error: Invalid `new_str` parameter: expected a string",
            ),
            (
                json!({"command": "str_replace", "path": "x", "old_str": ""}),
                "Error: Path must start with /memories, got: x",
            ),
            (
                json!({"command": "str_replace", "path": "/memories/ro", "old_str": ""}),
                "Error: /memories/ro is read-only",
            ),
            (json!({"command": "str_replace", "path": "/memories/a", "old_str": ""}), EMPTY),
            (
                json!({"command": "insert", "path": "x", "insert_line": 1.5}),
                "Error: Invalid `insert_line` parameter: expected an integer",
            ),
            (
                json!({"command": "rename", "old_path": "x", "new_path": "/memories/.h"}),
                "Error: Path must start with /memories, got: x",
            ),
            (
                json!({"command": "rename", "old_path": "/memories/.h", "new_path": "x"}),
                "Error: Path /memories/.h is not valid: hidden names cannot be changed",
            ),
            (
                json!({"command": "rename", "old_path": "/memories/ro/a", "new_path": "x"}),
                "Error: Path must start with /memories, got: x",
            ),
            (
                json!({"command": "rename", "old_path": "/memories", "new_path": "/memories/./ro/"}),
                "Error: /memories/./ro/ is read-only",
            ),
            (
                json!({"command": "rename", "old_path": "/memories/a/..", "new_path": "/memories"}),
                "Error: Cannot rename the /memories directory itself",
            ),
            (
                json!({"command": "delete", "path": "/memories/"}),
                "Error: Cannot delete the /memories directory itself",
            ),
        ] {
            match prepare(&input, &admit) {
                Step::Refused(said) => assert_eq!(said, words, "{input}"),
                step => panic!("{input}: {step:?}"),
            }
        }
    }

    const EMPTY: &str = "Error: Invalid `old_str` parameter: it must not be empty";

    #[test]
    fn what_is_hidden_or_read_only_can_be_viewed() {
        for path in ["/memories/.h/x", "/memories/ro"] {
            let step = prepare(&json!({"command": "view", "path": path, "view_range": []}), &admit);
            assert!(matches!(step, Step::View(View { range: None, .. })), "{step:?}");
        }
    }
}
