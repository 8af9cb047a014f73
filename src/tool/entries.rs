//! `memory_store`, `memory_retrieve`, `memory_delete`: entries, as JSON in the text of a result.
//!
//! What has the wrong JSON type is refused here; what a field may say is `recall`'s to judge.

use serde_json::Value;

use super::owned::Tool;
use crate::error::Error;
use crate::id::MemoryId;
use crate::recall::{Ask, NewEntry, Recall};
use crate::store::Settings;

mod answer;
mod fields;
mod read;
mod words;

pub(crate) use answer::{MemoryShown, StoredShown};
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
            recall.store((**new).clone()).map(|stored| answer::text(&StoredShown::new(&stored)))
        }
        Request::Retrieve(ask) => recall.retrieve(ask).map(|found| answer::retrieved(&found.memories)),
        Request::Delete { id, reason } => recall.delete(*id, reason).map(|_| answer::DELETED.to_owned()),
    };
    done.map_err(|error| words::of(&error))
}
