//! The tools as an agent loop speaks them: calls in, results out, in exact words.
//!
//! They are the memory tool, whose answers are text, and, with the feature `search`, `memory_store`, `memory_retrieve`,
//! `memory_delete` and the one-file tool, whose answers are JSON in that text.

#[cfg(feature = "search")]
use crate::recall::Recall;
use crate::store::{Actor, Store};

mod definitions;
#[cfg(feature = "search")]
mod entries;
mod lines;
mod memory;
#[cfg(feature = "search")]
mod one_file;
mod owned;
mod wire;

pub use definitions::{Definitions, Dialect, definitions, system_paragraph};
#[cfg(feature = "mcp")]
pub(crate) use entries::refusal;
#[cfg(feature = "search")]
pub(crate) use entries::{MemoryShown, StoredShown};
pub use lines::{Answered, MessageError, UserMessage};
#[cfg(all(feature = "search", feature = "cli"))]
pub(crate) use one_file::agent_name;
#[cfg(feature = "search")]
pub use one_file::one_file_text;
pub use wire::{Block, Content, ImageSource, ToolResult, ToolUse};

use owned::Tool;

/// Answers the tool calls of a model from one store. Cheap to clone; clones share the store, and what is known of it.
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
    #[cfg(feature = "search")]
    recall: Recall,
    #[cfg(feature = "search")]
    agent: one_file::Agent,
}

/// What is left to do for a call.
#[derive(Debug, Clone)]
enum Step {
    /// A call of the memory tool; or a refusal, of any tool.
    File(memory::Step),
    /// A call about entries.
    #[cfg(feature = "search")]
    Entry(entries::Request),
    /// A call of the one-file tool.
    #[cfg(feature = "search")]
    OneFile(one_file::Action),
}

impl Step {
    fn refused(words: String) -> Self {
        Self::File(memory::Step::Refused(words))
    }

    /// Whether it can be answered together with the steps beside it.
    fn is_grouped(&self) -> bool {
        matches!(self, Self::File(memory::Step::Change(_) | memory::Step::Refused(_)))
    }
}

impl Dispatcher {
    /// Makes a dispatcher over a store. The index for retrieval is opened, or made, by the first call that asks for it.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            #[cfg(feature = "search")]
            recall: Recall::new(store.clone()),
            #[cfg(feature = "search")]
            agent: one_file::Agent::default(),
            store,
        }
    }

    /// The same for a process that lives long: it watches the files (see [`Recall::watching`]).
    #[cfg(feature = "search")]
    #[must_use]
    pub fn watching(self) -> Self {
        Self { recall: self.recall.watching(), ..self }
    }

    /// What answers the calls about entries.
    #[cfg(feature = "search")]
    pub(crate) fn recall(&self) -> &Recall {
        &self.recall
    }

    /// The same for somebody else's calls: what they change is theirs in the history.
    #[must_use]
    pub fn with_actor(&self, actor: Actor) -> Self {
        let store = self.store.with_actor(actor);
        Self {
            #[cfg(feature = "search")]
            recall: self.recall.with_store(store.clone()),
            #[cfg(feature = "search")]
            agent: self.agent.clone(),
            store,
        }
    }

    /// The same, with the one-file tool's file at `/memories/{name}.txt`; without this it is `agent.txt`.
    ///
    /// # Errors
    /// [`Error::Field`](crate::Error::Field) for a name that cannot be a file's.
    #[cfg(feature = "search")]
    pub fn with_agent(self, name: &str) -> crate::error::Result<Self> {
        Ok(Self { agent: one_file::Agent::named(name)?, ..self })
    }

    /// Whether a tool of this name is answered here.
    #[must_use]
    pub fn owns(&self, name: &str) -> bool {
        Tool::named(name).is_some()
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
        let groups = steps.chunk_by(|a, b| a.is_grouped() && b.is_grouped());
        let answers = groups.flat_map(|group| self.perform_group(group));
        calls.zip(answers).map(|(call, answer)| self.result(call, answer)).collect()
    }

    /// What is sent back: an error quotes no secret.
    fn result(&self, call: &ToolUse, answer: memory::Answer) -> ToolResult {
        let is_error = answer.is_err();
        let content = answer.unwrap_or_else(|words| {
            let words = self.masked(&words, call);
            let is_json = Tool::named(&call.name).is_some_and(Tool::speaks_json);
            Content::Text(if is_json { serde_json::json!({"error": words}).to_string() } else { words })
        });
        ToolResult { tool_use_id: call.id.clone(), content, is_error }
    }

    /// The words of an error without secrets, whole or cut off, that they quote from the call.
    fn masked(&self, words: &str, call: &ToolUse) -> String {
        let guard = &self.store.settings().guard;
        let mut words = guard.mask(words).into_owned();
        each_text(&call.input, &mut |text| {
            for found in guard.scan(text.as_bytes()) {
                let Some(value) = text.get(found.range.clone()) else { continue };
                let note = format!("[redacted: {}]", found.rule);
                // A value may be quoted as it is, or with its line ends escaped.
                let escaped = value.escape_debug().to_string();
                let forms = [value, escaped.as_str()];
                for value in &forms[..if escaped == value { 1 } else { 2 }] {
                    words = words.replace(value, &note);
                    // What is quoted is cut off after so many characters.
                    if let Some(cut) = words.find('…') {
                        let ends = |&end: &usize| {
                            value.is_char_boundary(end) && words[..cut].ends_with(&value[..end])
                        };
                        if let Some(end) = (4..value.len()).rev().find(ends) {
                            words.replace_range(cut - end..cut, &note);
                        }
                    }
                }
            }
        });
        words
    }

    /// Reads a call as far as that goes without the disk.
    fn prepare(&self, call: &ToolUse) -> Step {
        match Tool::named(&call.name) {
            None => Step::refused(memory::words::unknown_tool(&call.name, &Tool::all_names())),
            Some(Tool::Memory) => Step::File(memory::prepare(&call.input, &|path| self.store.admit(path))),
            #[cfg(feature = "search")]
            Some(Tool::OneFile) => one_file::prepare(&call.input).map_or_else(Step::refused, Step::OneFile),
            #[cfg(feature = "search")]
            Some(tool) => {
                let read = entries::prepare(tool, &call.input, self.store.settings());
                read.map_or_else(Step::refused, Step::Entry)
            }
        }
    }

    fn perform(&self, step: &Step) -> memory::Answer {
        match step {
            Step::File(memory::Step::Refused(words)) => Err(words.clone()),
            Step::File(memory::Step::View(view)) => memory::view(&self.store, view),
            Step::File(memory::Step::Change(change)) => memory::change(&self.store, change),
            #[cfg(feature = "search")]
            Step::Entry(request) => entries::perform(&self.recall, request).map(Content::Text),
            #[cfg(feature = "search")]
            Step::OneFile(action) => one_file::perform(&self.store, &self.agent, action).map(Content::Text),
        }
    }

    fn perform_group(&self, group: &[Step]) -> Vec<memory::Answer> {
        if let [step] = group {
            return vec![self.perform(step)];
        }
        let changes = group.iter().filter_map(|step| match step {
            Step::File(memory::Step::Change(change)) => Some(change),
            Step::File(_) => None,
            #[cfg(feature = "search")]
            Step::Entry(_) | Step::OneFile(_) => None,
        });
        let mut made = memory::change_all(&self.store, changes).into_iter();
        let answer = |step: &Step| {
            if matches!(step, Step::File(memory::Step::Change(_))) {
                made.next().expect("the store answers every change")
            } else {
                self.perform(step)
            }
        };
        group.iter().map(answer).collect()
    }
}

/// How a call takes its time, for whoever answers several.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It looks at files, which takes no lock and no sync.
    View,
    /// It changes files, and shares a sync with changes beside it.
    Change,
    /// It is alone: about entries, which may have to wait for the index.
    Alone,
}

#[cfg(feature = "mcp")]
impl Pace {
    pub(crate) fn of(call: &ToolUse) -> Self {
        match Tool::named(&call.name) {
            Some(Tool::Memory) if call.input["command"] == "view" => Self::View,
            Some(Tool::Memory) => Self::Change,
            _ => Self::Alone,
        }
    }
}

/// Calls `each` with every text in a value.
fn each_text(value: &serde_json::Value, each: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => each(text),
        serde_json::Value::Array(values) => values.iter().for_each(|value| each_text(value, each)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| each_text(value, each)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatcher_can_be_shared_by_threads() {
        fn assert_shared<T: Clone + Send + Sync + 'static>() {}
        assert_shared::<Dispatcher>();
    }

    #[cfg(feature = "search")]
    #[test]
    fn an_error_in_json_quotes_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let dispatcher = Dispatcher::new(Store::open(dir.path()).unwrap());
        let key = format!("{}{}", "AKIA", "Z7VR4QLMN2PXWB5D");
        let long = format!("{}{key}", "x ".repeat(45));
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(4);
        let pem = format!("-----BEGIN {0}-----\n{body}-----END {0}-----", "PRIVATE KEY");
        for input in [
            serde_json::json!({"query": "x", "categories": [key]}),
            serde_json::json!({"query": "x", "categories": [long]}),
            serde_json::json!({"query": "x", "limit": key}),
            serde_json::json!({"query": "x", "categories": [pem]}),
        ] {
            let call = ToolUse { id: String::new(), name: "memory_retrieve".to_owned(), input };
            let result = dispatcher.run(&call);
            let Content::Text(text) = result.content else { panic!("it is text") };
            assert!(text.contains("[redacted: "), "{text}");
            assert!(!text.contains("AKIAZ7") && !text.contains("MIIE"), "{text}");
        }
    }
}
