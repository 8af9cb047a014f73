//! Ids as people give them.

use std::str::FromStr;

use crate::id::{ChangeId, MemoryId, VersionId};

/// What each kind of id begins with, and what it is the id of. Longer beginnings first.
const KINDS: &[(&str, &str)] = &[("memver_", "a version"), ("memchg_", "a change"), ("mem_", "a memory")];

/// Reads the id of a version.
pub(super) fn version(text: &str) -> Result<VersionId, String> {
    read(text, "memver_")
}

/// Reads the id of a change.
pub(super) fn change(text: &str) -> Result<ChangeId, String> {
    read(text, "memchg_")
}

/// Reads the id of a memory.
pub(super) fn memory(text: &str) -> Result<MemoryId, String> {
    read(text, "mem_")
}

fn read<T: FromStr>(text: &str, prefix: &str) -> Result<T, String> {
    text.parse().map_err(|_| match kind(text) {
        Some(("memchg_", what)) if prefix == "memver_" && text.parse::<ChangeId>().is_ok() => {
            format!("that is the id of {what}; `memdir log --change {text}` shows its versions")
        }
        Some((other, what)) if other != prefix => {
            format!("that is the id of {what}; what is asked for begins with `{prefix}`")
        }
        _ => format!("an id is `{prefix}` and 26 letters and digits, as `memdir log` shows it"),
    })
}

fn kind(text: &str) -> Option<(&'static str, &'static str)> {
    KINDS.iter().copied().find(|(prefix, _)| text.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_kind_is_named() {
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert!(version(&format!("memver_{id}")).is_ok());
        assert!(change(&format!("memchg_{id}")).is_ok());
        assert!(memory(&format!("mem_{id}")).is_ok());
        assert_eq!(
            version(&format!("memchg_{id}")).unwrap_err(),
            format!("that is the id of a change; `memdir log --change memchg_{id}` shows its versions")
        );
        assert_eq!(
            memory(&format!("memver_{id}")).unwrap_err(),
            "that is the id of a version; what is asked for begins with `mem_`"
        );
        for text in ["", id, "memver_", "memver_1", "notes.md"] {
            assert!(version(text).unwrap_err().starts_with("an id is `memver_`"), "{text}");
        }
    }
}
