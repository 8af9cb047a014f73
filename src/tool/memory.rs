//! `memory_20250818`: six commands over files, answered as the public documentation has it.

use std::sync::Arc;

use crate::guard;
use crate::store::{Store, Warned};

use super::wire::Content;

mod call;
mod change;
mod fields;
mod image;
mod listing;
mod view;
pub(super) mod words;

pub(super) use call::{Step, prepare};
#[cfg(feature = "search")]
pub(super) use fields::as_integer;
pub(super) use view::view;

use call::Change;
use change::{Told, decision};

/// What the model gets to see, or why it does not.
pub(super) type Answer = Result<Content, String>;

/// Makes one change.
pub(super) fn change(store: &Store, change: &Arc<Change>) -> Answer {
    answer(store, change, store.change_warned(decision(Arc::clone(change), store.settings())))
}

/// Makes several changes, one after the other.
pub(super) fn change_all<'a>(store: &Store, changes: impl Iterator<Item = &'a Arc<Change>>) -> Vec<Answer> {
    let changes: Vec<_> = changes.collect();
    let decisions = changes.iter().map(|&change| decision(Arc::clone(change), store.settings())).collect();
    let made = store.change_many_warned(decisions);
    changes.into_iter().zip(made).map(|(change, made)| answer(store, change, made)).collect()
}

fn answer(store: &Store, change: &Change, made: Result<(Told, Vec<Warned>), change::Refusal>) -> Answer {
    let told = |(told, warned): (Told, Vec<Warned>)| {
        let Told { answer: mut text, mut broke } = told;
        if warned.iter().any(|warned| warned.warning.is_redacted) {
            let guard = &store.settings().guard;
            text = guard.mask(&text).into_owned();
            broke = broke.map(|broke| guard.mask(&broke).into_owned());
        }
        let warnings = guard::words(warned.iter().map(|warned| &warned.warning));
        text.extend(warnings.iter().map(|warning| words::warning(warning)));
        text.extend(broke);
        Content::Text(text)
    };
    made.map(told).map_err(|refusal| match refusal {
        change::Refusal::Words(words) => words,
        change::Refusal::Store(error) => words::refused(&error, change.command(), &change.paths()),
    })
}
