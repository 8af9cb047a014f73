//! The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests lay out directories"))]

#[cfg(not(unix))]
compile_error!(
    "memdir runs on Linux, and builds on other Unix systems: it needs handles of directories and atomic renames"
);

#[cfg(feature = "cli")]
pub mod cli;
mod disk;
mod error;
mod fail;
mod guard;
mod hash;
mod id;
mod journal;
mod path;
mod store;
mod text;
mod tool;

pub use error::{Cause, Error, Result, Trouble};
pub use path::{MemoryPath, PathError};
pub use store::{
    Actor, Builder, Create, Edit, Entry, Extent, Found, Hidden, Listing, Look, Settings, Snapshot, Store,
};
pub use text::Bytes;
pub use tool::{
    Answered, Block, Content, Dialect, Dispatcher, ImageSource, MessageError, ToolResult, ToolUse,
    UserMessage, definitions, system_paragraph,
};
