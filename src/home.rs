//! What stands beside a store's memories: archives of them, and copies for an editor.

mod archive;
mod edit;
mod import;

#[cfg(feature = "mcp")]
pub(crate) use crate::disk::open_outside;
pub use archive::{ExportError, export};
pub use edit::{Draft, Edited, Settled};
pub use import::{ImportError, Imported, Limits, import_archive, import_directory};
