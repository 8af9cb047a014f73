//! The memories as resources: `memory:///memories/…`.

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, ResourceTemplate};

use crate::store::Store;

/// A page of all memories, after `cursor`.
pub(super) fn list(_store: &Store, _cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    Ok(ListResourcesResult::with_all_items(Vec::new()))
}

/// How the address of a memory is made.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    Vec::new()
}

/// The contents of one memory.
pub(super) fn read(_store: &Store, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    Err(ErrorData::resource_not_found(format!("No memory at {uri}"), None))
}
