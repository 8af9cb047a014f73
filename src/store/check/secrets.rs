//! The part of a check that looks for secrets: in what others wrote, and where a person asks for it in all there is.

use std::collections::HashMap;

use super::{Findings, files};
use crate::error::{Error, Result, Trouble};
use crate::guard::{Found, Guard};
use crate::hash::Hash;
use crate::journal::History;
use crate::path::MemoryPath;
use crate::store::scan::Absorbed;
use crate::store::session::MOST_READ;
use crate::store::{Store, gate};
use crate::version::Operation;

mod disk;
mod history;

/// Tells what looks like a secret in what others wrote.
pub(super) fn tell_absorbed(absorbed: &Absorbed, guard: &Guard, findings: &mut Findings) {
    for version in &absorbed.versions {
        let Some(path) = &version.path else { continue };
        let is_new_there = version.operation == Operation::Created || version.moved_from.is_some();
        let in_path = if is_new_there { gate::scan_path(guard, path) } else { Vec::new() };
        let mut what = rules(&in_path, "the path");
        what.extend(version.warnings.iter().map(ToString::to_string));
        if !what.is_empty() {
            let first = if in_path.is_empty() { "edit" } else { "delete or rename" };
            let remedy = format!("if it is one: {first} the file, then `memdir redact {}`", version.id);
            findings.note("secret", place(guard, path), told(&what), remedy);
        }
    }
}

/// Takes what is a secret out of the places of findings, and out of the paths of what was taken in.
pub(super) fn leave_out(guard: &Guard, absorbed: &mut Absorbed, findings: &mut Findings) {
    for finding in &mut findings.0 {
        finding.place = gate::shown_names(guard, &finding.place);
    }
    for version in &mut absorbed.versions {
        for path in [&mut version.path, &mut version.moved_from].into_iter().flatten() {
            *path = gate::shown(guard, path);
        }
    }
}

/// Looks into every file, every version of the history (where that can be read), and what else the store keeps.
pub(super) fn look(store: &Store, history: Option<History<'_>>, findings: &mut Findings) -> Result<()> {
    let guard = gate::searching(&store.inner.core.settings.guard);
    let mut search = Search { store, history, guard, known: HashMap::new() };
    if let Some(history) = history {
        search.look_at_history(history, findings)?;
    }
    search.look_at_disk(findings)
}

struct Search<'a> {
    store: &'a Store,
    history: Option<History<'a>>,
    guard: Guard,
    /// What was found in contents that stand in several places.
    known: HashMap<Hash, Vec<String>>,
}

impl Search<'_> {
    /// What looks like a secret in a content, in words, by lines.
    fn lines(&mut self, hash: Hash, bytes: &[u8]) -> Vec<String> {
        let scan = || {
            let found = self.guard.scan(bytes);
            found.iter().map(|found| format!("line {} looks like {}", found.line, found.rule)).collect()
        };
        self.known.entry(hash).or_insert_with(scan).clone()
    }

    /// So many bytes are read of one file.
    fn most(&self) -> u64 {
        MOST_READ.max(self.store.inner.core.settings.file_limit)
    }
}

/// Tells that something could not be searched.
fn tell_unsearched(place: String, why: &str, findings: &mut Findings) {
    let remedy = "look into it yourself";
    findings.note("unsearched", place, format!("it was not searched for secrets: {why}"), remedy);
}

/// Why a file could not be searched, where that is no reason to search nothing else.
fn why_unsearched(error: Error) -> Result<String> {
    match error {
        Error::Read { why, .. } if why != Trouble::TooManyFiles => Ok(format!("it cannot be read ({why})")),
        Error::TooLargeToRead { size, .. } => Ok(too_large(size)),
        error => Err(error),
    }
}

fn too_large(size: u64) -> String {
    format!("it is too large ({size} bytes)")
}

/// What looks like a secret in a text of one line.
fn rules(found: &[Found], what: &str) -> Vec<String> {
    found.iter().map(|found| format!("{what} looks like {}", found.rule)).collect()
}

/// A path as a place in a finding, without what is a secret in it.
fn place(guard: &Guard, path: &MemoryPath) -> String {
    files::place(gate::shown(guard, path).as_str())
}

/// The first few of what was found.
fn told(what: &[String]) -> String {
    const SHOWN: usize = 3;
    let first = what.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match what.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first}, and {more} more"),
    }
}
