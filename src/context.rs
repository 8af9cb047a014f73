//! Conversations with the Messages API that are edited and stay valid: pure, without files, clock or network.
//!
//! A [`Message`] is kept as the JSON that it came as; what is read from it are the few fields by which blocks hang together.
//! Nothing that stays is ever written anew.

mod block;
mod message;
mod profile;

pub use block::{Block, Kind};
pub use message::{Malformed, Message, Role};
pub use profile::{Binding, Profile};
