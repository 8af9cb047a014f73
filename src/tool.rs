//! The memory tool as an agent loop speaks it: calls in, results out, in exact words.

use crate::store::Store;

mod definitions;
mod lines;
mod memory;
mod wire;

pub use definitions::{Dialect, definitions, system_paragraph};
pub use lines::{Answered, MessageError, UserMessage};
pub use wire::{Block, Content, ImageSource, ToolResult, ToolUse};

use memory::Step;

/// The name of the memory tool in a request.
const MEMORY: &str = "memory";

/// Answers the tool calls of a model from one store. Cheap to clone; clones share the store.
///
/// A call that fails is a result with `is_error`, never a panic and never an `Err`.
///
/// ```no_run
/// use memdir::{Dispatcher, Store, ToolUse};
/// use serde_json::json;
///
/// let dispatcher = Dispatcher::new(Store::open("./memory")?);
/// let result = dispatcher.run(&ToolUse {
///     id: "toolu_01".to_owned(),
///     name: "memory".to_owned(),
///     input: json!({"command": "create", "path": "/memories/a.md", "file_text": "likes tea\n"}),
/// });
/// assert!(!result.is_error);
/// # Ok::<(), memdir::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dispatcher {
    store: Store,
}

impl Dispatcher {
    /// Makes a dispatcher over a store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Whether a tool of this name is answered here.
    #[must_use]
    pub fn owns(&self, name: &str) -> bool {
        is_owned(name)
    }

    /// Answers one call.
    #[must_use]
    pub fn run(&self, call: &ToolUse) -> ToolResult {
        self.result(call, self.perform(&self.prepare(call)))
    }

    /// Answers several calls as [`Dispatcher::run`] would one after the other, in fewer syncs: the changes between
    /// two views are handed to the store together.
    #[must_use]
    pub fn run_all(&self, calls: &[ToolUse]) -> Vec<ToolResult> {
        self.run_each(calls.iter())
    }

    fn run_each<'a>(&self, calls: impl Iterator<Item = &'a ToolUse> + Clone) -> Vec<ToolResult> {
        let steps: Vec<_> = calls.clone().map(|call| self.prepare(call)).collect();
        let groups = steps.chunk_by(|a, b| !matches!(a, Step::View(_)) && !matches!(b, Step::View(_)));
        let answers = groups.flat_map(|group| self.perform_group(group));
        calls.zip(answers).map(|(call, answer)| self.result(call, answer)).collect()
    }

    /// What is sent back: an error quotes no secret.
    fn result(&self, call: &ToolUse, answer: memory::Answer) -> ToolResult {
        let is_error = answer.is_err();
        let content = answer.unwrap_or_else(|words| Content::Text(self.masked(&words, call)));
        ToolResult { tool_use_id: call.id.clone(), content, is_error }
    }

    /// The words of an error without secrets, whole or cut off, that they quote from the call.
    fn masked(&self, words: &str, call: &ToolUse) -> String {
        let guard = &self.store.settings().guard;
        let mut words = guard.mask(words).into_owned();
        let texts = call.input.as_object().into_iter().flat_map(|input| input.values());
        for text in texts.filter_map(serde_json::Value::as_str) {
            for found in guard.scan(text.as_bytes()) {
                let Some(value) = text.get(found.range.clone()) else { continue };
                let note = format!("[redacted: {}]", found.rule);
                words = words.replace(value, &note);
                // What is quoted is cut off after so many characters.
                if let Some(cut) = words.find('…') {
                    let ends =
                        |&end: &usize| value.is_char_boundary(end) && words[..cut].ends_with(&value[..end]);
                    if let Some(end) = (4..value.len()).rev().find(ends) {
                        words.replace_range(cut - end..cut, &note);
                    }
                }
            }
        }
        words
    }

    /// Reads a call as far as that goes without the disk.
    fn prepare(&self, call: &ToolUse) -> Step {
        if !self.owns(&call.name) {
            return Step::Refused(memory::words::unknown_tool(&call.name, MEMORY));
        }
        memory::prepare(&call.input, &|path| self.store.admit(path))
    }

    fn perform(&self, step: &Step) -> memory::Answer {
        match step {
            Step::Refused(words) => Err(words.clone()),
            Step::View(view) => memory::view(&self.store, view),
            Step::Change(change) => memory::change(&self.store, change),
        }
    }

    fn perform_group(&self, group: &[Step]) -> Vec<memory::Answer> {
        if let [step] = group {
            return vec![self.perform(step)];
        }
        let changes = group.iter().filter_map(|step| match step {
            Step::Change(change) => Some(change),
            _ => None,
        });
        let mut made = memory::change_all(&self.store, changes).into_iter();
        let answer = |step: &Step| match step {
            Step::Change(_) => made.next().expect("the store answers every change"),
            other => self.perform(other),
        };
        group.iter().map(answer).collect()
    }
}

fn is_owned(name: &str) -> bool {
    name == MEMORY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatcher_can_be_shared_by_threads() {
        fn assert_shared<T: Clone + Send + Sync + 'static>() {}
        assert_shared::<Dispatcher>();
    }
}
