//! The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.
//!
//! A [`Store`] is a directory: `memories/` holds the files, `.memdir/` what makes them safe. A [`Dispatcher`] answers the
//! calls that a model makes of Anthropic's memory tool, `memory_20250818`:
//!
//! ```
//! use memdir::{Dispatcher, Store};
//! use serde_json::json;
//!
//! # let dir = tempfile::tempdir()?;
//! # let base = dir.path().join("memory");
//! let memory = Dispatcher::new(Store::open(&base)?);
//! let assistant_message = json!({"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "toolu_1", "name": "memory",
//!      "input": {"command": "create", "path": "/memories/tea.md", "file_text": "Green, no sugar.\n"}},
//! ]});
//! let answered = memory.run_message(&assistant_message)?;
//! // The message to send back, once the results of other tools (`answered.left_alone`) are added to its content.
//! assert_eq!(
//!     serde_json::to_value(&answered.message)?["content"][0]["content"],
//!     "File created successfully at: /memories/tea.md",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the tool cannot say, [`Store::change`] can: a decision that reads files and returns edits, made as one step.
//!
//! ```
//! use memdir::{Edit, Error, Found, MemoryPath, Store};
//!
//! # let dir = tempfile::tempdir()?;
//! # let store = Store::open(dir.path())?;
//! let (from, to) = (MemoryPath::parse("/memories/todo.md")?, MemoryPath::parse("/memories/done.md")?);
//! let moved = store.change(move |files| -> Result<_, Error> {
//!     let text = |found: Found| match found {
//!         Found::File(bytes) => bytes.to_vec(),
//!         Found::Not(_) => Vec::new(),
//!     };
//!     let (todo, done) = (text(files.read(&from)?), text(files.read(&to)?));
//!     let edits = vec![Edit::write(&to, [done, todo.clone()].concat()), Edit::write(&from, "")];
//!     Ok((edits, todo.len()))
//! })?;
//! assert_eq!(moved, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything is synchronous; a store and a dispatcher may be shared between threads, and a directory between processes.
//! With `default-features = false` this is the library alone, without the command.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests lay out directories"))]

#[cfg(not(unix))]
compile_error!(
    "memdir runs on Linux, and builds on other Unix systems: it needs handles of directories and atomic renames"
);

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod context;
mod disk;
pub mod double;
#[cfg_attr(
    not(feature = "search"),
    allow(dead_code, unused_imports, reason = "the rest of it is for what makes and retrieves entries")
)]
mod entry;
mod error;
mod fail;
mod guard;
mod hash;
mod home;
#[cfg(feature = "http")]
pub mod http;
mod id;
#[cfg(feature = "search")]
mod index;
mod journal;
#[cfg(feature = "mcp")]
mod mcp;
mod path;
#[cfg(feature = "search")]
mod recall;
mod store;
mod text;
mod tool;
mod version;

pub use error::{Cause, Error, NoContent, Result, Trouble};
pub use guard::{Action, Guard, MOST_WARNINGS, Mode, Warning};
pub use hash::Hash;
pub use home::{
    Draft, Edited, ExportError, ImportError, Imported, Limits, Settled, export, import_archive,
    import_directory,
};
pub use id::{ChangeId, IdError, MemoryId, VersionId};
pub use path::{MemoryPath, PathError};
#[cfg(feature = "search")]
pub use recall::{
    Ask, Doomed, IndexFault, IndexState, Memory, NewEntry, Prefetch, Recall, Retrieved, Similar, Stored,
    Terms, Why,
};
pub use store::{
    Absorbed, Actor, Builder, Check, Create, Edit, Entries, Entry, Erasure, Extent, Finding, Found, Hidden,
    History, Listing, Look, OnSimilar, Others, Progress, Pruned, Receipt, Redaction, Report, Restoration,
    Restore, Restored, Search, Settings, Snapshot, Stats, Store, StoredFile, Unmerged, Warned,
};
#[cfg(feature = "search")]
pub use store::{Changed, Changes, Happened};
pub use text::{Bytes, How, Line, Merged, Pattern, PatternError, merge, unified};
#[cfg(feature = "search")]
pub use tool::one_file_text;
pub use tool::{
    Answered, Block, Content, Definitions, Dialect, Dispatcher, ImageSource, MessageError, ToolResult,
    ToolUse, UserMessage, definitions, system_paragraph,
};
pub use version::{ActorFilter, Keep, Log, Operation, Redacted, Version};
