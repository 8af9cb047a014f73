//! Conversations with the Messages API that are edited and stay valid: pure, without files, clock or network.
//!
//! A [`Message`] is kept as the JSON that it came as; what is read from it are the few fields by which blocks hang together.
//! Nothing that stays is ever written anew.

mod atom;
mod block;
mod fold;
mod live;
mod message;
mod plan;
mod policy;
mod profile;
mod render;
mod speech;
mod strategy;
#[cfg(test)]
mod tests;
mod tokens;
mod transcript;

pub use atom::{Atom, atoms};
pub use block::{Block, Kind};
pub use message::{Malformed, Message, Role};
pub use plan::{
    By, CannotFit, Change, Edit, Fate, Insert, Needs, Plan, Spill, To, Verdict, Wanted, Warning, plan,
    plan_with, spilled,
};
pub use policy::{BadBudget, Budget, Flush, Pin, Policy, Strategy, Unit};
pub use profile::{Binding, Profile};
pub use render::{render, splice};
pub use strategy::{Amount, ClearInputs, ClearToolUses, Delegate, Guarded, Oversize, Retention, Summary};
pub use tokens::{ByClass, FourCharacters, Mix, TokenCounter};
pub use transcript::{BadLine, Note, Transcript, Usage};
