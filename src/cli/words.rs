//! Words that several commands share.

use super::out;
use crate::path::{self, MemoryPath};
use crate::text::counted;
use crate::version::{Actor, Operation, Version};

/// Who made a change: `agent planner`, `user mara`, `outside`.
pub(super) fn who(actor: &Actor) -> String {
    match actor {
        Actor::Agent(name) if name.is_empty() => "agent".to_owned(),
        Actor::Agent(name) => format!("agent {}", path::escape(name)),
        Actor::User(name) => format!("user {}", path::escape(name)),
        Actor::Outside => "outside".to_owned(),
        Actor::Recovery => "recovery".to_owned(),
    }
}

/// What a version did, in one word: a move is one, whatever else it was.
pub(super) fn did(version: &Version) -> &'static str {
    if version.moved_from.is_some() { "moved" } else { version.operation.as_str() }
}

/// How good or bad that looks.
pub(super) fn style(operation: Operation) -> anstyle::Style {
    match operation {
        Operation::Created => out::GOOD,
        Operation::Modified => anstyle::Style::new(),
        Operation::Deleted => out::BAD,
    }
}

/// Where a memory is after a version, and before that where it was, if it moved.
pub(super) fn place(version: &Version, path: &MemoryPath) -> String {
    let shown = |path: &MemoryPath| path::escape(&path.to_string()).into_owned();
    match &version.moved_from {
        Some(before) => format!("{} → {}", shown(before), shown(path)),
        None => shown(path),
    }
}

/// A count with its noun.
pub(super) fn many(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// As [`many`], for a noun whose plural is its own.
pub(super) fn many_of(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
