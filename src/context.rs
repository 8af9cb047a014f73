//! Conversations with the Messages API that are edited and stay valid: pure, without files, clock or network.
//!
//! A [`Message`] is kept as the JSON that it came as; what is read from it are the few fields by which blocks hang together.
//! Nothing that stays is ever written anew.

mod block;
mod fields;
mod lines;
mod message;
mod profile;
mod repair;
mod request;
mod rules;
#[cfg(test)]
pub(crate) mod tests;

pub use block::{Block, Kind};
pub use lines::{repair_line, validate_line};
pub use message::{Malformed, Message, Role};
pub use profile::{Binding, Profile};
pub use repair::{Deed, Repair, repair, repaired};
pub use request::{Entry, Request};
pub use rules::{ApiError, Rule, Seal, Seals, Violation, compare, validate, violations};
