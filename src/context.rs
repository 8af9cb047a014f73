//! Conversations with the Messages API that are edited and stay valid: pure, without files, clock or network.
//!
//! A [`Message`] is kept as the JSON that it came as; what is read from it are the few fields by which blocks hang together.
//! Nothing that stays is ever written anew.
//!
//! A [`Transcript`] is the log of a conversation. What goes to the API is computed from it: [`plan()`] says what stays and
//! why, [`render()`] makes the `messages` of it.
//!
//! ```
//! use memdir::context::{Message, Note, Policy, Transcript, Usage, plan, render, splice};
//!
//! let policy = Policy::compact_with_summary(15_000).for_model("claude-opus-4-5");
//! let mut log = Transcript::default();
//! log.push(Message::from_json(r#"{"role":"user","content":"Review this change."}"#)?);
//!
//! let mut planned = plan(&log, &policy)?;
//! if let Some(wanted) = &planned.wanted {
//!     // Send `wanted.messages` to a small model; here is what it says.
//!     log.note(wanted.answered("The user wants a review."));
//!     planned = plan(&log, &policy)?;
//! }
//! let request = r#"{"model":"claude-opus-4-5","max_tokens":1024,"messages":[]}"#;
//! let request = splice(request, &render(&log, &planned), &planned.needs)?;
//! assert!(request.contains(r#"[{"role":"user","content":"Review this change."}]"#));
//!
//! // Send it, and log the answer and what it cost.
//! log.push(Message::from_json(r#"{"role":"assistant","content":[{"type":"text","text":"It is fine."}]}"#)?);
//! let usage = serde_json::json!({"input_tokens": 12, "output_tokens": 5});
//! log.note(Note::Usage(Usage::of(&usage, planned.edits.len())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atom;
mod block;
mod fields;
mod fold;
mod lines;
mod message;
mod plan;
mod policy;
mod profile;
mod render;
mod repair;
mod request;
mod rules;
mod speech;
mod strategy;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
mod transcript;

pub use atom::{Atom, atoms};
pub use block::{Block, Kind};
pub use lines::{repair_line, validate_line};
pub use message::{Malformed, Message, Role};
pub use plan::{
    By, CannotFit, Change, Edit, Fate, Insert, Needs, Plan, Spill, To, Verdict, Wanted, Warning, plan,
    plan_with, spilled,
};
pub use policy::{BadBudget, Budget, Flush, Pin, Policy, Strategy, Unit};
pub use profile::{Binding, Profile};
pub(crate) use profile::{best_row, own_name};
pub use render::{render, splice};
pub use repair::{Deed, Repair, repair, repaired};
pub use request::{Entry, Request};
pub use rules::{ApiError, Rule, Seal, Seals, Violation, compare, validate, violations};
pub use strategy::{
    Amount, ClearInputs, ClearToolUses, Delegate, Guarded, Oversize, Retention, Summariser, Summary,
};
pub(crate) use table::Table;
pub use tokens::{ByClass, FourCharacters, Mix, TokenCounter};
pub use transcript::{BadLine, Note, Transcript, Usage};
