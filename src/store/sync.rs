//! Making what was published durable in its place, so that the next open has nothing to mend.

use std::collections::BTreeSet;

use super::erase;
use super::session::Session;
use crate::disk::{Base, sync_at};
use crate::error::{Error, Result, Trouble};
use crate::journal::{Logged, LoggedStep};
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
    let log = session.journal.log_after(from)?;
    let is_synced = match places(log, to - from) {
        Some(places) => sync_places(session.base(), &places)?,
        None => false,
    };
    if !is_synced {
        session.base().sync_all()?;
    }
    session.journal.set_synced(to)?;
    session.core.set_synced();
    Ok(())
}

/// Sees to what can wait until somebody has time: bytes that are still to be erased, history that is not to be kept.
pub(super) fn tidy(session: &mut Session<'_>) -> Result<()> {
    erase::finish(session.core, session.room, session.journal)?;
    erase::prune_in_passing(session)
}

/// Syncs place by place; false when one of them may not be opened for that.
fn sync_places(base: &Base, places: &BTreeSet<String>) -> Result<bool> {
    for path in places {
        match sync_at(base, &MemoryPath::from_normal(path)) {
            Err(Error::Read { why: Trouble::Denied, .. }) => return Ok(false),
            synced => synced?,
        }
    }
    Ok(true)
}

/// The files and directories that `changes` changes touched, of which `log` tells; `None` where they are many, or not
/// all known: the log is silent on changes that were taken back, and that they were must be durable, too.
fn places(log: Vec<Logged>, changes: u64) -> Option<BTreeSet<String>> {
    if log.len() as u64 != changes {
        return None;
    }
    let mut places = BTreeSet::new();
    for change in log {
        for step in change.steps {
            match step {
                LoggedStep::Version { path, .. }
                | LoggedStep::MadeDirectory { path }
                | LoggedStep::RemovedTree { path, .. }
                | LoggedStep::Recovered { path }
                | LoggedStep::Moved { from: path, .. } => with_parent(&mut places, path),
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
    Some(places).filter(|places| places.len() <= MANY)
}

/// A path, and the directory that has its name in it.
fn with_parent(places: &mut BTreeSet<String>, path: String) {
    places.insert(path.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned()));
    places.insert(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(steps: &[LoggedStep]) -> Vec<Logged> {
        steps.iter().map(|step| Logged { seq: 0, this_run: true, steps: vec![step.clone()] }).collect()
    }

    fn made(path: &str) -> LoggedStep {
        LoggedStep::MadeDirectory { path: path.to_owned() }
    }

    #[test]
    fn what_is_to_be_synced() {
        let renamed = LoggedStep::Renamed { from: "a".to_owned(), to: "c".to_owned(), inode: 1 };
        let many: Vec<_> = (0..MANY).map(|n| made(&n.to_string())).collect();
        for (steps, changes, right) in [
            (&[made("a/b")][..], 1, Some(&["a", "a/b"][..])),
            (&[made("a/b"), renamed], 2, Some(&["", "a", "a/b", "c", "c/b"])),
            (&[made("a/b")], 2, None), // one was taken back
            (&[], 1, None),
            (&many, MANY as u64, None),
        ] {
            let right = right.map(|places| places.iter().map(|&place| place.to_owned()).collect());
            assert_eq!(places(log(steps), changes), right, "{steps:?}");
        }
    }
}
