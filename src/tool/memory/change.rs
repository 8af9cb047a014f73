//! The five commands that change something, decided on what a snapshot shows.

use std::sync::Arc;

use crate::entry;
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::store::{Create, Edit, Found, Look, Settings, Snapshot};
use crate::text;
use crate::text::Bytes;

use super::call::{Change, Command, Named};
use super::words;

/// Why a change is not made.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The command cannot be done, in its own words.
    Words(String),
    /// The store says no.
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<String> for Refusal {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

/// What the model is told once a change is made.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) answer: String,
    /// That the change broke the front matter of a file: the last line of the answer.
    pub(super) broke: Option<String>,
}

impl From<String> for Told {
    fn from(answer: String) -> Self {
        Self { answer, broke: None }
    }
}

/// The edits of a change, and what the model is told once they are made.
type Decided = Result<(Vec<Edit>, Told), Refusal>;

/// What the store is to run inside the lock.
pub(super) fn decision(
    change: Arc<Change>,
    settings: &Settings,
) -> impl FnMut(&mut Snapshot<'_>) -> Decided + Send + 'static {
    let (create, guard) = (settings.create, settings.guard.clone());
    move |snapshot| match &*change {
        Change::Create { at, bytes } => create_file(snapshot, at, bytes, create),
        Change::StrReplace { at, old, new } => str_replace(snapshot, at, old, new, &guard),
        Change::Insert { at, after, text } => insert(snapshot, at, *after, text),
        Change::Delete { at } => delete(snapshot, at),
        Change::Rename { from, to } => rename(snapshot, from, to),
    }
}

fn create_file(snapshot: &mut Snapshot<'_>, at: &Named, bytes: &Bytes, create: Create) -> Decided {
    let mut broke = None;
    match snapshot.look(&at.path)? {
        Look::Missing if !at.path.is_root() => {}
        Look::File { .. } if create == Create::Overwrite => {
            // What is replaced must be known.
            if let Found::File(before) = snapshot.read(&at.path)? {
                let texts = str::from_utf8(&before).ok().zip(str::from_utf8(bytes).ok());
                broke = texts.and_then(|(before, after)| broken(at, before, after));
            }
        }
        look @ (Look::Link | Look::BelowLink | Look::BelowFile(_)) => {
            return Err(words::no_place(Command::Create, &look, &at.text).into());
        }
        _ => return Err(words::exists(Command::Create, &at.text).into()),
    }
    let edit = Edit::Write { path: at.path.clone(), bytes: Arc::clone(bytes) };
    Ok((vec![edit], Told { answer: words::created(&at.text), broke }))
}

fn str_replace(snapshot: &mut Snapshot<'_>, at: &Named, old: &str, new: &str, guard: &Guard) -> Decided {
    edit(snapshot, at, Command::StrReplace, |content| {
        let replaced = text::replace(content, old, new);
        let replaced = replaced.map_err(|error| words::not_replaced(&error, &guard.mask(old), &at.text))?;
        let mut answer = words::REPLACED.to_owned();
        text::push_snippet(&mut answer, &replaced.text, replaced.at, replaced.line);
        Ok((replaced.text, answer))
    })
}

fn insert(snapshot: &mut Snapshot<'_>, at: &Named, after: i64, lines: &str) -> Decided {
    edit(snapshot, at, Command::Insert, |content| {
        let edited =
            text::insert(content, after, lines).map_err(|count| words::bad_insert_line(after, count))?;
        Ok((edited, words::inserted(&at.text)))
    })
}

/// Edits the text of a file; `work` gives the new text and the answer.
fn edit(
    snapshot: &mut Snapshot<'_>,
    at: &Named,
    command: Command,
    work: impl FnOnce(&str) -> Result<(String, String), String>,
) -> Decided {
    let bytes = match snapshot.read(&at.path)? {
        Found::File(bytes) => bytes,
        Found::Not(Look::Missing) if at.path.is_root() => return Err(words::not_a_file(&at.text).into()),
        Found::Not(look) => return Err(words::no_file(command, &look, &at.text).into()),
    };
    let content = str::from_utf8(&bytes).map_err(|_| words::not_utf8(&at.text))?;
    let (edited, answer) = work(content)?;
    let broke = broken(at, content, &edited);
    Ok((
        vec![Edit::Write { path: at.path.clone(), bytes: Arc::new(edited.into_bytes()) }],
        Told { answer, broke },
    ))
}

/// What is said where a change makes a plain note of an entry.
fn broken(at: &Named, before: &str, after: &str) -> Option<String> {
    if !entry::is_markdown(at.path.as_str()) {
        return None;
    }
    entry::broke(before, after).map(|broken| words::broken_front_matter(&at.text, &broken))
}

fn delete(snapshot: &mut Snapshot<'_>, at: &Named) -> Decided {
    match snapshot.look(&at.path)? {
        look @ (Look::Missing | Look::BelowFile(_) | Look::BelowLink) => {
            Err(words::no_file(Command::Delete, &look, &at.text).into())
        }
        Look::Link | Look::Special | Look::Directory | Look::File { .. } => {
            Ok((vec![Edit::Remove { path: at.path.clone() }], words::deleted(&at.text).into()))
        }
    }
}

fn rename(snapshot: &mut Snapshot<'_>, from: &Named, to: &Named) -> Decided {
    match snapshot.look(&to.path)? {
        Look::Missing if !to.path.is_root() => {}
        look @ (Look::Link | Look::BelowLink | Look::BelowFile(_)) => {
            return Err(words::no_place(Command::Rename, &look, &to.text).into());
        }
        _ => return Err(words::exists(Command::Rename, &to.text).into()),
    }
    match snapshot.look(&from.path)? {
        Look::File { .. } => {}
        Look::Directory if to.path.is_below(&from.path) => return Err(words::into_itself(&from.text).into()),
        Look::Directory => {
            let below = snapshot.extent(&from.path)?;
            if to.path.is_too_long_with(below.bytes, below.segments) {
                return Err(words::too_long_below(&from.text).into());
            }
        }
        look => return Err(words::no_file(Command::Rename, &look, &from.text).into()),
    }
    let edit = Edit::Rename { from: from.path.clone(), to: to.path.clone() };
    Ok((vec![edit], words::renamed(&from.text, &to.text).into()))
}
