//! The words of every error, for a model that is to do better next time.

use crate::error::Error;
use crate::tool::memory;
use crate::tool::owned::Tool;

pub(super) fn not_an_object(tool: Tool) -> String {
    format!("the input of {} must be a JSON object", tool.name())
}

/// The words for what a store, or `recall`, says.
pub(crate) fn of(error: &Error) -> String {
    match error {
        Error::Field { .. } => error.to_string(),
        // Of a store that is open that is only a model that cannot be used; the name that they have for it may be a place of
        // the host.
        Error::Settings { .. } => {
            "the search model that memdir.toml names cannot be used; whoever keeps the memory must mend that"
                .to_owned()
        }
        Error::NoMemory { id } => {
            format!(
                "there is no entry with the id {id} (any more); memory_retrieve gives the ids of those that are there"
            )
        }
        Error::PlainFile { path } => format!(
            "{path} is a plain file, and memory_delete deletes only entries; take what is outdated out of it with the memory \
             tool's `str_replace`"
        ),
        Error::Secret { rule, .. } => secret(rule, "what was to be stored"),
        other => store_says(other),
    }
}

/// The words for a secret, and the place in the call that has it.
pub(super) fn secret(rule: &str, place: &str) -> String {
    format!("not stored: {place} looks like {rule}. Remove the secret and try again")
}

/// What a store says to any change, in the words of the memory tool without their `Error: `.
pub(in crate::tool) fn store_says(error: &Error) -> String {
    let words = memory::words::of_any_change(error);
    words.strip_prefix("Error: ").map_or(words.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Trouble;
    use crate::path::MemoryPath;

    #[test]
    fn every_error_says_what_to_do() {
        let path = MemoryPath::parse("/memories/notes.md").unwrap();
        let id = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        for (error, words) in [
            (
                Error::Field { field: "key", value: "\"\"".to_owned(), rule: "must not be empty".to_owned() },
                "key: must not be empty; it is \"\"",
            ),
            (
                Error::NoMemory { id },
                "there is no entry with the id mem_01ARZ3NDEKTSV4RRFFQ69G5FAV (any more); memory_retrieve gives the ids of \
                 those that are there",
            ),
            (
                Error::PlainFile { path: path.clone() },
                "/memories/notes.md is a plain file, and memory_delete deletes only entries; take what is outdated out of it \
                 with the memory tool's `str_replace`",
            ),
            // The line would be one of the file, which the model has not seen.
            (
                Error::Secret { path: path.clone(), line: Some(7), rule: "a private key" },
                "not stored: what was to be stored looks like a private key. Remove the secret and try again",
            ),
            (
                Error::Settings {
                    problem: "`[search] model = \"/srv/secret\"` cannot be used: gone".to_owned(),
                },
                "the search model that memdir.toml names cannot be used; whoever keeps the memory must mend that",
            ),
            (Error::Busy { pid: Some(7) }, "The memory directory is busy, try again"),
            (
                Error::Write { why: Trouble::NoSpace, doing: "secret".to_owned(), source: None },
                "The memory directory cannot be written: no space left",
            ),
            (Error::ReadOnly { path }, "/memories/notes.md is read-only"),
        ] {
            assert_eq!(of(&error), words);
        }
    }
}
