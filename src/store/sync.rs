//! Making what was published durable in its place, so that the next open has nothing to mend.

use std::collections::BTreeSet;

use super::session::Session;
use crate::disk::sync_at;
use crate::error::Result;
use crate::journal::LoggedStep;
use crate::path::MemoryPath;

/// For more places than this, syncing the whole file system is less work.
const MANY: usize = 64;

/// Syncs all that was published since the watermark, whoever published it, and moves the watermark.
pub(super) fn sync(session: &mut Session<'_>) -> Result<()> {
    let from = session.journal.synced()?;
    let to = session.journal.last_change()?;
    if from >= to {
        session.core.set_synced();
        return Ok(());
    }
    let mut places = BTreeSet::new();
    for change in session.journal.log_after(from)? {
        for step in change.steps {
            match step {
                LoggedStep::Version { path, .. }
                | LoggedStep::MadeDirectory { path }
                | LoggedStep::RemovedTree { path, .. }
                | LoggedStep::Recovered { path } => with_parent(&mut places, path),
                LoggedStep::Renamed { from, to, .. } => {
                    // What was changed below it before is below its new name now.
                    let below = format!("{from}/");
                    let moved: Vec<String> = places
                        .iter()
                        .filter_map(|place| place.strip_prefix(&below))
                        .map(|rest| format!("{to}/{rest}"))
                        .collect();
                    places.extend(moved);
                    with_parent(&mut places, from);
                    with_parent(&mut places, to);
                }
            }
        }
    }
    // Changes that were taken back have no places; that they were must be durable, too.
    if places.len() > MANY || places.is_empty() {
        session.base().sync_all()?;
    } else {
        for path in &places {
            sync_at(session.base(), &MemoryPath::from_normal(path))?;
        }
    }
    session.journal.set_synced(to)?;
    session.core.set_synced();
    Ok(())
}

/// A path, and the directory that has its name in it.
fn with_parent(places: &mut BTreeSet<String>, path: String) {
    places.insert(path.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned()));
    places.insert(path);
}
