//! Words that several commands share.

use crate::path;
use crate::text::counted;
use crate::version::Actor;

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

/// A count with its noun.
pub(super) fn many(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// As [`many`], for a noun whose plural is its own.
pub(super) fn many_of(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
