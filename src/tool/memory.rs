//! `memory_20250818`: six commands over files, answered as the public documentation has it.

use std::sync::Arc;

use crate::store::Store;

use super::wire::Content;

mod call;
mod change;
mod fields;
mod image;
mod listing;
mod view;
pub(super) mod words;

pub(super) use call::{Step, prepare};
pub(super) use view::view;

use call::Change;
use change::decision;

/// What the model gets to see, or why it does not.
pub(super) type Answer = Result<Content, String>;

/// Makes one change.
pub(super) fn change(store: &Store, change: &Arc<Change>) -> Answer {
    answer(change, store.change(decision(Arc::clone(change), store.settings().create)))
}

/// Makes several changes, one after the other.
pub(super) fn change_all<'a>(store: &Store, changes: impl Iterator<Item = &'a Arc<Change>>) -> Vec<Answer> {
    let changes: Vec<_> = changes.collect();
    let decisions =
        changes.iter().map(|&change| decision(Arc::clone(change), store.settings().create)).collect();
    changes.into_iter().zip(store.change_many(decisions)).map(|(change, made)| answer(change, made)).collect()
}

fn answer(change: &Change, made: Result<String, change::Refusal>) -> Answer {
    made.map(Content::Text).map_err(|refusal| match refusal {
        change::Refusal::Words(words) => words,
        change::Refusal::Store(error) => words::refused(&error, change.command(), &change.paths()),
    })
}
