//! The machine's room in a check: leftovers, who may look into it, what keeps git out.

use super::Findings;
use super::history::JOURNAL;
use crate::error::Result;
use crate::id::VersionId;
use crate::journal::History;
use crate::store::{Erasure, Store, erase};

/// A log of this size is not being emptied.
const LARGE_LOG: u64 = 64 << 20;

/// Looks at all that lies in `.memdir/` and can be judged without the history.
pub(super) fn look(store: &Store, is_fixing: bool, findings: &mut Findings) -> Result<()> {
    let base = &store.inner.core.base;
    let Some(room) = base.thing(".") else { return Ok(()) };
    if room.mode & 0o077 != 0 {
        let problem = format!("others may look into the history (mode {:04o})", room.mode);
        let remedy = "`memdir check --fix`, or `chmod 700`";
        findings.wrong("mode", ".memdir", problem, remedy).is_fixed = is_fixing && base.narrow_room().is_ok();
    }
    if base.thing(".gitignore").is_none() {
        let problem = "nothing keeps the history out of a git repository that the store lies in";
        let remedy = "`memdir check --fix` writes it again: one line, `*`";
        findings.wrong("gitignore", ".memdir/.gitignore", problem, remedy).is_fixed =
            is_fixing && base.ignore_room().is_ok();
    }
    if let Some(log) = base.thing("journal.db-wal").filter(|log| log.size > LARGE_LOG) {
        let problem = format!("the journal's log has grown to {} MiB", log.size >> 20);
        let remedy = "a process that reads the history for long keeps it from being emptied: end that, and the next change empties it";
        findings.note("database", format!("{JOURNAL}-wal"), problem, remedy);
    }
    for name in leftovers(store)? {
        let problem = "it was left behind by a change that was cut short, and could not be cleared away";
        let remedy = "look into it, then remove it while no memdir uses the store";
        findings.wrong("leftover", format!(".memdir/staging/{name}"), problem, remedy);
    }
    for name in base.things("edits")? {
        let problem = "an unfinished edit was left here";
        let remedy = "take from it what is to be kept, then remove it";
        findings.note("leftover", format!(".memdir/edits/{name}"), problem, remedy);
    }
    Ok(())
}

/// Looks at what the history must be asked about.
pub(super) fn look_with(
    store: &Store,
    history: History<'_>,
    is_fixing: bool,
    findings: &mut Findings,
) -> Result<()> {
    if history.is_erasure_due()? {
        let problem = "what was redacted or removed from the history may still be in the journal's files";
        let remedy =
            "end the processes that read the history, or free some space, then run `memdir check --fix`";
        findings.wrong("erasure", JOURNAL, problem, remedy).is_fixed = is_fixing && is_erased(store);
    }
    for name in store.inner.core.base.things("kept")? {
        // Where two files are one version, a number stands behind its id.
        let id = name.split('-').next().and_then(|id| id.parse::<VersionId>().ok());
        if id.map_or(Ok(None), |id| history.version(id))?.is_none() {
            let problem = "no version has these bytes: a change found them in its way";
            let remedy = "look into it, and remove it if it is of no use";
            findings.note("kept", format!(".memdir/kept/{name}"), problem, remedy);
        }
    }
    Ok(())
}

/// Tries again to erase what is to be erased.
fn is_erased(store: &Store) -> bool {
    let erased = store.locked(|session| erase::finish(session.core, session.room, session.journal));
    matches!(erased, Ok(Erasure::Done))
}

/// What lies in `staging/` while nobody is at work: all that was to be mended is mended by then.
pub(super) fn leftovers(store: &Store) -> Result<Vec<String>> {
    let base = &store.inner.core.base;
    if base.things("staging")?.is_empty() {
        return Ok(Vec::new());
    }
    // Where nothing can be mended the reason is found elsewhere.
    store.locked(|session| session.room.staged()).or_else(|_| base.things("staging"))
}
