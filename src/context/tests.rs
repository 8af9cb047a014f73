//! Whole conversations: what the API would refuse, and what is made of them.

pub(crate) mod grammar;
mod validity;
