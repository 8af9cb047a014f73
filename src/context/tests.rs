//! Whole conversations: what the API would refuse, and what is made of them.

pub(in crate::context) mod grammar;
mod validity;
