//! The gate that everything passes before any byte of it is staged: no secret is stored.
//!
//! The whole resulting file is judged, and what the file had before is nobody's fault: a person may have put it there.

use std::collections::HashSet;
use std::sync::Arc;

use super::Store;
use super::batch::Batch;
use crate::error::{Error, Result};
use crate::guard::{Action, Found, Guard, Mode, Warning, warnings, without};
use crate::journal::{Step, Stored};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// What was told with a change that was made: something in it looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warned {
    /// The file, as far as its path is no secret itself.
    pub path: MemoryPath,
    /// What is in it.
    pub warning: Warning,
}

/// What may be stored of a text, and what is told with it.
pub(super) struct Passed {
    pub(super) bytes: Bytes,
    pub(super) warnings: Vec<Warning>,
}

/// Judges what a file is to hold. `before` is what it held; what `is_restored` was stored before, and is only told.
pub(super) fn judge(
    guard: &Guard,
    path: &MemoryPath,
    bytes: Bytes,
    before: Option<&Bytes>,
    is_restored: bool,
) -> Result<Passed> {
    let mut found = guard.scan(&bytes);
    if let (Some(before), false) = (before, found.is_empty()) {
        leave_new(&mut found, &bytes, &guard.scan(before), before);
    }
    if let Some(Found { rule, line, .. }) = found.iter().find(|found| found.action == Action::Block)
        && !is_restored
    {
        return Err(Error::Secret { path: shown(guard, path), line: Some(*line), rule });
    }
    let is_left_out = |found: &&Found| found.action == Action::Redact && !is_restored;
    let warnings = warnings(&found, |found| is_left_out(&found));
    let bytes = if found.iter().any(|found| is_left_out(&found)) {
        Arc::new(without(&bytes, found.iter().filter(is_left_out)))
    } else {
        bytes
    };
    Ok(Passed { bytes, warnings })
}

/// Judges a path at which nothing was; `from` is where it was before, if it moves.
pub(super) fn judge_path(
    guard: &Guard,
    path: &MemoryPath,
    from: Option<&MemoryPath>,
    is_restored: bool,
) -> Result<Vec<Warning>> {
    let mut found = scan_path(guard, path);
    if let (Some(from), false) = (from, found.is_empty()) {
        leave_new(&mut found, path.as_str().as_bytes(), &scan_path(guard, from), from.as_str().as_bytes());
    }
    // A path cannot be half of itself: what would be left out of a text is refused.
    let is_refused = |found: &&Found| found.action >= Action::Redact && !is_restored;
    match found.iter().find(is_refused) {
        Some(Found { rule, .. }) => Err(Error::Secret { path: shown(guard, path), line: None, rule }),
        None => Ok(found
            .iter()
            .map(|found| Warning { line: None, rule: found.rule.to_owned(), is_redacted: false, more: 0 })
            .collect()),
    }
}

/// Leaves of what was found in a text what was no finding in `before`: what was only part of it there may have become a
/// secret by what stands around it now.
pub(super) fn leave_new(found: &mut Vec<Found>, text: &[u8], known: &[Found], before: &[u8]) {
    let known: HashSet<&[u8]> = known.iter().map(|found| &before[found.range.clone()]).collect();
    found.retain(|found| !known.contains(&text[found.range.clone()]));
}

/// A path without what is a secret in it.
pub(super) fn shown(guard: &Guard, path: &MemoryPath) -> MemoryPath {
    MemoryPath::from_normal(shown_names(guard, path.as_str()))
}

/// As [`shown`], of names that need not be a memory's.
pub(super) fn shown_names(guard: &Guard, names: &str) -> String {
    let found = scan_names(guard, names);
    if found.is_empty() {
        return names.to_owned();
    }
    String::from_utf8_lossy(&without(names.as_bytes(), found.iter())).into_owned()
}

/// Finds what is a secret in a path, or in a name of it.
pub(super) fn scan_path(guard: &Guard, path: &MemoryPath) -> Vec<Found> {
    scan_names(guard, path.as_str())
}

/// As [`scan_path`], of names that need not be a memory's.
pub(super) fn scan_names(guard: &Guard, names: &str) -> Vec<Found> {
    let found = guard.scan(names.as_bytes());
    if found.is_empty() { guard.scan(names.replace('/', "\n").as_bytes()) } else { found }
}

/// Adds to what others did what looks like a secret in it: told, never altered.
pub(super) fn note_outside(guard: &Guard, steps: &mut Vec<Step>) {
    if guard.is_off() {
        return;
    }
    let mut notes = Vec::new();
    for step in &*steps {
        let Step::Write { path, content, .. } = step else { continue };
        let Stored::Here { new, .. } = &content.bytes else { continue };
        let warnings = warnings(&guard.scan(new), |_| false).into_iter();
        notes.extend(warnings.map(|warning| Step::Warn { path: path.clone(), warning }));
    }
    // Every path is written once.
    steps.append(&mut notes);
}

/// What is looked for where a person asks for it, whatever is done about writes.
pub(super) fn searching(guard: &Guard) -> Guard {
    let mut guard = guard.clone();
    if guard.mode == Mode::All(Action::Off) {
        guard.mode = Mode::Default;
    }
    guard
}

impl Store {
    /// Refuses a new path that looks like a secret.
    pub(crate) fn refuse_secret_path(&self, path: &MemoryPath) -> Result<()> {
        judge_path(&self.inner.core.settings.guard, path, None, false).map(drop)
    }
}

impl Batch<'_, '_> {
    /// The settings of the gate.
    pub(super) fn guard(&self) -> &Guard {
        &self.session.core.settings.guard
    }
}
