//! The memory as it was: an index in memory, of one moment.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::error::Result;
use crate::recall::catalog::Catalog;
use crate::recall::record;
use crate::store::{History, Store};
use crate::text::Bytes;
use crate::version::{Log, Operation, Version};

/// Versions and their contents, by the rows of their memories.
pub(super) type Contents = HashMap<i64, (Version, Bytes)>;

/// What the memories were at a moment: a catalog of them, and their versions and contents.
///
/// Every version made since then and before is passed; what was redacted or went with retention is not found.
pub(super) fn catalog(store: &Store, moment: DateTime<Utc>) -> Result<(Catalog, History, Contents)> {
    let history = store.history()?;
    let log = Log { before: Some(moment), ..Log::default() };
    let mut seen = HashSet::new();
    let mut heads = Vec::new();
    history.versions(&log, &mut |version| {
        if seen.insert(version.memory) && version.operation != Operation::Deleted {
            heads.push(version);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let categories = &store.settings().entries.categories;
    let mut contents = HashMap::new();
    let mut docs = Vec::new();
    for version in heads {
        let Ok(bytes) = history.content(version.id) else { continue };
        docs.push(record::doc(&version, Some(&bytes), categories));
        contents.insert(version.memory, (version, Arc::clone(&bytes)));
    }
    Ok((Catalog::of(store, docs)?, history, contents))
}
