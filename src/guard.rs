//! What a write may hold: not too much, and no secrets.
//!
//! Secrets are found by rules that are data: what a key of a provider looks like, what stands after a telling name. A
//! rule is tried only where one of its keywords stands, and looks at a bounded piece of text from there, so that time grows
//! with the text and no faster. Formats are ASCII: one that is spelled in look-alikes of other alphabets is no key that
//! works, and is not found.

mod around;
mod card;
mod chance;
mod commands;
mod gitleaks;
mod keyblock;
mod ours;
mod password;
mod policy;
mod providers;
mod rule;
mod scan;
#[cfg(test)]
mod second;
mod shape;
mod size;
#[cfg(test)]
mod tests;
mod value;

#[cfg(feature = "cli")]
pub use policy::Sureness;
pub use policy::{Action, Found, Guard, MOST_WARNINGS, Mode, Warning, rule_names};
pub(crate) use policy::{warnings, without, words};
pub use size::fits;
