//! `memory_store`, `memory_retrieve`, `memory_delete`: entries, as JSON in the text of a result.
//!
//! What has the wrong JSON type is refused here; what a field may say is `recall`'s to judge.

use serde_json::Value;

use super::owned::Tool;
use crate::error::Error;
use crate::guard::{Action, Guard};
use crate::id::MemoryId;
use crate::recall::{Ask, NewEntry, Recall};
use crate::store::Settings;

mod answer;
mod fields;
mod read;
mod words;

pub(crate) use answer::{MemoryShown, StoredShown};
#[cfg(feature = "mcp")]
pub(crate) use words::of as refusal;
pub(super) use words::store_says;

use fields::Fields;

/// What is to be done, read from the input of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Store(Box<NewEntry>),
    Retrieve(Box<Ask>),
    Delete { id: MemoryId, reason: String },
}

/// Reads the input of a call; the first fault answers.
pub(super) fn prepare(tool: Tool, input: &Value, settings: &Settings) -> Result<Request, String> {
    let input = input.as_object().ok_or_else(|| words::not_an_object(tool))?;
    let fields = Fields(input);
    let read = match tool {
        Tool::Store => read::store(fields).map(|new| Request::Store(Box::new(new))),
        Tool::Retrieve => read::retrieve(fields, settings).map(|ask| Request::Retrieve(Box::new(ask))),
        _ => read::delete(fields).map(|(id, reason)| Request::Delete { id, reason }),
    };
    read.map_err(|error: Error| words::of(&error))
}

/// Does it; the answer is the text of the result.
pub(super) fn perform(recall: &Recall, request: &Request) -> Result<String, String> {
    let done = match request {
        Request::Store(new) => {
            let stored = recall.store((**new).clone());
            if let Err(Error::Secret { rule, .. }) = stored {
                return Err(words::secret(rule, &refused_in(new, &recall.store_handle().settings().guard)));
            }
            stored.map(|stored| answer::text(&StoredShown::new(&stored)))
        }
        Request::Retrieve(ask) => recall.retrieve(ask).map(|found| answer::retrieved(&found)),
        Request::Delete { id, reason } => recall.delete(*id, reason).map(|_| answer::DELETED.to_owned()),
    };
    done.map_err(|error| words::of(&error))
}

/// Where in a call the secret is that a file made of it was refused for: the line of the refusal is one of that file.
fn refused_in(new: &NewEntry, guard: &Guard) -> String {
    let refused =
        |text: &str| guard.scan(text.as_bytes()).into_iter().find(|found| found.action == Action::Block);
    if let Some(found) = refused(&new.content) {
        return format!("line {} of `content`", found.line);
    }
    if let Some(n) = new.tags.iter().position(|tag| refused(tag).is_some()) {
        return format!("number {} of `tags`", n + 1);
    }
    match &new.key {
        Some(key) if refused(&format!("key: {key}")).is_some() => "`key`".to_owned(),
        _ => "what was to be stored".to_owned(),
    }
}
