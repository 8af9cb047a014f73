//! The words of every error, for a model that is to do better next time.

use crate::error::Error;
use crate::tool::memory;
use crate::tool::owned::Tool;

pub(super) fn not_an_object(tool: Tool) -> String {
    format!("the input of {} must be a JSON object", tool.name())
}

/// The words for what a store, or `recall`, says.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::Field { .. } => error.to_string(),
        Error::NoMemory { id } => {
            format!(
                "there is no entry with the id {id} (any more); memory_retrieve gives the ids of those that are there"
            )
        }
        Error::PlainFile { path } => format!(
            "{path} is a plain file, and memory_delete deletes only entries; take what is outdated out of it with the memory \
             tool's `str_replace`"
        ),
        Error::Secret { rule, .. } => {
            format!("not stored: what was to be stored looks like {rule}. Remove the secret and try again")
        }
        other => store_says(other),
    }
}

/// What a store says to any change, in the words of the memory tool without their `Error: `.
pub(in crate::tool) fn store_says(error: &Error) -> String {
    let words = memory::words::of_any_change(error);
    words.strip_prefix("Error: ").map_or(words.clone(), str::to_owned)
}
