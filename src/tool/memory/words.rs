//! Every text of the dialect, word for word, and the one place where an [`Error`] gets its words.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::entry::Broken;
use crate::error::{Error, Trouble};
use crate::path::{MemoryPath, PathError};
use crate::store::Look;
use crate::text::{NotReplaced, counted, echo, human_size, quote};
use crate::tool::lines::MessageError;

use super::call::{Command, Named};

/// Values of a faulty range that the answer shows.
const RANGE_SHOWN: usize = 5;

pub(in crate::tool) const NOT_JSON: &str = "Error: The memory tool's input is not valid JSON";
pub(in crate::tool) const NOT_AN_OBJECT: &str = "Error: The memory tool's input must be a JSON object";
pub(super) const NO_COMMAND: &str = "Error: Missing required parameter `command`";
pub(super) const EMPTY_OLD_STR: &str = "Error: Invalid `old_str` parameter: it must not be empty";
pub(super) const DELETE_ROOT: &str = "Error: Cannot delete the /memories directory itself";
pub(super) const RENAME_ROOT: &str = "Error: Cannot rename the /memories directory itself";
/// The snippet follows.
pub(super) const REPLACED: &str =
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n";

pub(in crate::tool) fn unknown_tool(name: &str, known: &str) -> String {
    format!("Error: Unknown tool `{}`. The tools that are answered here: {known}", echo(name))
}

pub(in crate::tool) fn no_message(error: MessageError) -> String {
    format!("Error: The line cannot be answered: {error}")
}

pub(super) fn unknown_command(command: &str) -> String {
    let command = echo(command);
    format!("Error: Unknown command `{command}`. Use view, create, str_replace, insert, delete or rename")
}

pub(super) fn missing_field(name: &str, command: &str) -> String {
    format!("Error: Missing required parameter `{name}` for `{command}`")
}

pub(super) fn wrong_type(name: &str, expected: &str) -> String {
    format!("Error: Invalid `{name}` parameter: expected {expected}")
}

pub(super) fn bad_path(text: &str, error: PathError) -> String {
    let path = echo(text);
    match error {
        PathError::NotUnderRoot => format!("Error: Path must start with /memories, got: {path}"),
        PathError::Escapes => format!("Error: Path {path} would escape /memories directory"),
        rule => format!("Error: Path {path} is not valid: {rule}"),
    }
}

pub(super) fn hidden(text: &str) -> String {
    format!("Error: Path {} is not valid: hidden names cannot be changed", echo(text))
}

pub(super) fn created(path: &str) -> String {
    format!("File created successfully at: {path}")
}

pub(super) fn inserted(path: &str) -> String {
    format!("The file {path} has been edited.")
}

pub(super) fn deleted(path: &str) -> String {
    format!("Successfully deleted {path}")
}

pub(super) fn renamed(from: &str, to: &str) -> String {
    format!("Successfully renamed {from} to {to}")
}

pub(super) fn into_itself(path: &str) -> String {
    format!("Error: Cannot rename {path} into itself")
}

pub(super) fn too_long_below(path: &str) -> String {
    format!("Error: Cannot rename {path}: a path below it would be too long")
}

pub(super) fn not_a_file(path: &str) -> String {
    format!("Error: The path {path} is not a file.")
}

pub(super) fn not_utf8(path: &str) -> String {
    format!("Error: The file {path} is not UTF-8 text")
}

pub(super) fn too_many_lines(path: &str) -> String {
    format!("File {path} exceeds maximum line limit of 999,999 lines.")
}

pub(super) fn large_image(path: &str, bytes: u64) -> String {
    format!("Error: The image {path} is too large to view ({})", human_size(bytes))
}

pub(super) fn bad_insert_line(line: i64, lines: usize) -> String {
    format!(
        "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {lines}]"
    )
}

/// `what` is `file` or `directory`, `unit` what it has: `line` or `item`.
pub(super) fn bad_range(range: &[i64], what: &str, count: usize, unit: &str) -> String {
    let mut shown: Vec<_> = range.iter().take(RANGE_SHOWN).map(i64::to_string).collect();
    if range.len() > RANGE_SHOWN {
        shown.push("…".to_owned());
    }
    format!(
        "Error: Invalid `view_range` parameter: [{}]. The {what} has {}; use [start, end] with 1 <= start <= end, or end = -1",
        shown.join(", "),
        counted(count, unit)
    )
}

pub(super) fn not_replaced(error: &NotReplaced, old: &str, path: &str) -> String {
    let old = quote(old);
    match error {
        NotReplaced::Nowhere => {
            format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        }
        NotReplaced::Several { lines, more } => {
            let mut named = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            if *more > 0 {
                let _ = write!(named, " and {more} more"); // writing to a String cannot fail
            }
            format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {named}. Please ensure it is unique"
            )
        }
    }
}

/// What a command says of something that does not exist.
pub(super) fn missing(command: Command, path: &str) -> String {
    match command {
        Command::View => format!("The path {path} does not exist. Please provide a valid path."),
        Command::StrReplace | Command::Insert => {
            format!("Error: The path {path} does not exist. Please provide a valid path.")
        }
        Command::Create | Command::Delete | Command::Rename => {
            format!("Error: The path {path} does not exist")
        }
    }
}

/// What a command says of a place that is taken.
pub(super) fn exists(command: Command, path: &str) -> String {
    match command {
        Command::Rename => format!("Error: The destination {path} already exists"),
        _ => format!("Error: File {path} already exists"),
    }
}

/// What a command says that looked for something to work on.
pub(super) fn no_file(command: Command, look: &Look, path: &str) -> String {
    match look {
        Look::Missing | Look::BelowFile(_) => missing(command, path),
        Look::Link | Look::BelowLink => link(path),
        Look::Special => unsupported(path),
        Look::Directory | Look::File { .. } => not_a_file(path),
    }
}

/// What a command says that looked for a place to put something.
pub(super) fn no_place(command: Command, look: &Look, path: &str) -> String {
    match look {
        Look::BelowFile(file) => below_file(path, file),
        Look::Link | Look::BelowLink => link(path),
        _ => exists(command, path),
    }
}

fn link(path: &str) -> String {
    format!("Error: The path {} is a symbolic link, which the memory directory does not follow", echo(path))
}

fn below_file(path: &str, file: &MemoryPath) -> String {
    format!("Error: The path {} is not valid: {} is a file", echo(path), echo(&file.to_string()))
}

fn unsupported(path: &str) -> String {
    format!("Error: Unsupported file type for {}", echo(path))
}

fn secret(line: Option<usize>, rule: &str) -> String {
    let what = line.map_or_else(|| "the path".to_owned(), |line| format!("line {line}"));
    format!("Error: Not stored: {what} looks like {rule}. Remove the secret and try again")
}

/// The last line of the answer to a change in which something looks like a secret.
pub(super) fn warning(warning: &str) -> String {
    format!("\nWarning: {warning}")
}

/// The last line of the answer to a change that makes a plain note of an entry.
pub(super) fn broken_front_matter(path: &str, broken: &Broken) -> String {
    let Broken { line, why } = broken;
    format!(
        "\nWarning: the front matter of {path} no longer parses (line {line}: {why}); it is a plain note now"
    )
}

/// The words for what a store says to a command; `paths` are the call's, which are shown as it gave them.
pub(super) fn refused(error: &Error, command: Command, paths: &[&Named]) -> String {
    let shown = |path: &MemoryPath| match paths.iter().find(|named| named.path == *path) {
        Some(named) => Cow::Borrowed(named.text.as_str()),
        None => Cow::Owned(path.to_string()),
    };
    match error {
        Error::Path { path, source } => bad_path(path, *source),
        Error::Hidden { path } => hidden(&shown(path)),
        Error::ReadOnly { path } => format!("Error: {} is read-only", shown(path)),
        Error::TooLarge { path, size, limit } => {
            format!("Error: File {} would be {size} bytes, over the limit of {limit} bytes", shown(path))
        }
        Error::Secret { line, rule, .. } => secret(*line, rule),
        Error::Exists { path } => exists(command, &shown(path)),
        Error::Missing { path } => missing(command, &shown(path)),
        Error::Link { path } => link(&shown(path)),
        Error::BelowFile { path, file } => below_file(&shown(path), file),
        Error::Unsupported { path } => unsupported(&shown(path)),
        Error::NotText { path } => not_utf8(&shown(path)),
        Error::TooLargeToRead { path, size } => {
            format!("Error: The file {} is too large to read ({})", shown(path), human_size(*size))
        }
        Error::Write { why, .. } => format!("Error: The memory directory cannot be written: {why}"),
        Error::Read { why, .. } => {
            format!("Error: The memory directory cannot be read: {}", read_trouble(*why))
        }
        Error::Busy { .. } => "Error: The memory directory is busy, try again".to_owned(),
        Error::Unknown { path } => {
            let path = shown(path);
            format!("Error: It is not known whether the change was saved. View {path} before trying again")
        }
        Error::NewerJournal { .. } => {
            "Error: The memory directory cannot be written: its journal is of a newer memdir".to_owned()
        }
        // No command makes overlapping edits, or asks for the history or the index; a store that is open has neither of the others; and their `Display` may name the host's directories.
        Error::Overlap { .. }
        | Error::NoStore { .. }
        | Error::Index { .. }
        | Error::Settings { .. }
        | Error::Field { .. }
        | Error::NoMemory { .. }
        | Error::PlainFile { .. }
        | Error::NoVersion { .. }
        | Error::NoChange { .. }
        | Error::NoContent { .. }
        | Error::IsHead { .. }
        | Error::Taken { .. }
        | Error::Partly { .. }
        | Error::TooEarly { .. } => {
            format!("Error: The memory directory cannot be read: {}", Trouble::Io)
        }
    }
}

/// As [`refused`], for a change that no command of this tool makes.
#[cfg(feature = "search")]
pub(in crate::tool) fn of_any_change(error: &Error) -> String {
    refused(error, Command::Create, &[])
}

/// A read knows three reasons.
fn read_trouble(why: Trouble) -> Trouble {
    match why {
        Trouble::Denied | Trouble::TooManyFiles => why,
        _ => Trouble::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_in_the_words_of_the_dialect() {
        let path = MemoryPath::parse("/memories/a").unwrap();
        let other = MemoryPath::parse("/memories/b").unwrap();
        let named = Named { text: "/memories/./a".to_owned(), path: path.clone() };
        let write = |why| Error::Write { why, doing: "secret".to_owned(), source: None };
        let read = |why| Error::Read { why, doing: "secret".to_owned(), source: None };
        for (error, command, words) in [
            (
                Error::Exists { path: path.clone() },
                Command::Create,
                "Error: File /memories/./a already exists",
            ),
            (
                Error::Exists { path: other.clone() },
                Command::Rename,
                "Error: The destination /memories/b already exists",
            ),
            (
                Error::Missing { path: path.clone() },
                Command::Insert,
                "Error: The path /memories/./a does not exist. Please provide a valid path.",
            ),
            (
                Error::Missing { path: path.clone() },
                Command::View,
                "The path /memories/./a does not exist. Please provide a valid path.",
            ),
            (
                Error::Missing { path: path.clone() },
                Command::Delete,
                "Error: The path /memories/./a does not exist",
            ),
            (
                Error::TooLarge { path: path.clone(), size: 11, limit: 10 },
                Command::Create,
                "Error: File /memories/./a would be 11 bytes, over the limit of 10 bytes",
            ),
            (Error::ReadOnly { path: other.clone() }, Command::Delete, "Error: /memories/b is read-only"),
            (
                Error::BelowFile { path: path.clone(), file: other },
                Command::Create,
                "Error: The path /memories/./a is not valid: /memories/b is a file",
            ),
            (
                Error::Unknown { path },
                Command::Create,
                "Error: It is not known whether the change was saved. View /memories/./a before trying again",
            ),
            (Error::Busy { pid: Some(7) }, Command::Create, "Error: The memory directory is busy, try again"),
            (
                write(Trouble::NoSpace),
                Command::Create,
                "Error: The memory directory cannot be written: no space left",
            ),
            (
                write(Trouble::SyncFailed),
                Command::Create,
                "Error: The memory directory cannot be written: a sync failed, restart to go on",
            ),
            (
                read(Trouble::Denied),
                Command::View,
                "Error: The memory directory cannot be read: permission denied",
            ),
            (
                read(Trouble::NoSpace),
                Command::View,
                "Error: The memory directory cannot be read: input/output error",
            ),
            (
                Error::NoStore { base: "/home/secret".into() },
                Command::View,
                "Error: The memory directory cannot be read: input/output error",
            ),
        ] {
            assert_eq!(refused(&error, command, &[&named]), words);
        }
    }

    #[test]
    fn only_the_texts_about_paths_and_parameters_cut_what_they_echo() {
        let long = format!("/memories/{}", "x".repeat(240));
        let cut = format!("/memories/{}…", "x".repeat(190));
        assert!(bad_path(&long, PathError::Escapes).contains(&cut));
        assert!(no_file(Command::View, &Look::Link, &long).contains(&cut));
        assert!(created(&long).ends_with(&long));
        assert!(missing(Command::View, &long).contains(&long));
    }
}
