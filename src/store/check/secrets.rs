//! The part of a check that looks for secrets: in what others wrote, and where a person asks for it in all there is.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::{Findings, files};
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::hash::Hash;
use crate::journal::History;
use crate::path::MemoryPath;
use crate::store::scan::Absorbed;
use crate::store::{Found, Store, gate};
use crate::version::{Log, Operation, Version};

/// Tells what looks like a secret in what others wrote.
pub(super) fn tell_absorbed(absorbed: &Absorbed, guard: &Guard, findings: &mut Findings) {
    for version in absorbed.versions.iter().filter(|version| !version.warnings.is_empty()) {
        let Some(path) = &version.path else { continue };
        let what: Vec<_> = version.warnings.iter().map(ToString::to_string).collect();
        let remedy = format!("if it is one: edit the file, then `memdir redact {}`", version.id);
        findings.note("secret", place(guard, path), told(&what), remedy);
    }
}

/// Looks into every file and every version of the history.
pub(super) fn look(store: &Store, history: History<'_>, findings: &mut Findings) -> Result<()> {
    let guard = gate::searching(&store.inner.core.settings.guard);
    let mut searcher = Searcher { store, history, guard, known: HashMap::new() };
    history.versions(&Log::default(), &mut |version| {
        searcher.look(&version, findings)?;
        Ok(ControlFlow::Continue(()))
    })
}

struct Searcher<'a> {
    store: &'a Store,
    history: History<'a>,
    guard: Guard,
    /// What was found in contents that several versions have.
    known: HashMap<Hash, Vec<String>>,
}

impl Searcher<'_> {
    fn look(&mut self, version: &Version, findings: &mut Findings) -> Result<()> {
        let Some(path) = &version.path else { return Ok(()) };
        let newest = self.history.newest(version.memory)?;
        let is_head =
            newest.is_some_and(|newest| newest.id == version.id && newest.operation != Operation::Deleted);
        let in_path = gate::scan_path(&self.guard, path);
        let mut what: Vec<_> =
            in_path.iter().map(|found| format!("the path looks like {}", found.rule)).collect();
        if let Some(hash) = version.content_sha256 {
            if !self.known.contains_key(&hash) {
                let found = self.bytes(version, path, is_head)?.map(|bytes| self.guard.scan(&bytes));
                let found = found.into_iter().flatten();
                let told = found.map(|found| format!("line {} looks like {}", found.line, found.rule));
                self.known.insert(hash, told.collect());
            }
            what.extend(self.known[&hash].iter().cloned());
        }
        if what.is_empty() {
            return Ok(());
        }
        let id = version.id;
        let (problem, remedy) = if is_head {
            let first = if in_path.is_empty() { "edit" } else { "delete or rename" };
            (told(&what), format!("{first} the file, then `memdir redact {id}`"))
        } else {
            (format!("in its version {id}, {}", told(&what)), format!("`memdir redact {id}` erases that"))
        };
        findings.wrong("secret", place(&self.guard, path), problem, remedy);
        Ok(())
    }

    fn bytes(&self, version: &Version, path: &MemoryPath, is_head: bool) -> Result<Option<Vec<u8>>> {
        match self.history.content(version.n)? {
            None if is_head => match self.store.inner.core.base.sandbox.read(path) {
                Ok(Found::File(bytes)) => Ok(Some(bytes.to_vec())),
                Ok(Found::Not(_)) | Err(Error::Read { .. } | Error::TooLargeToRead { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            None => self.store.inner.core.base.kept(&version.id.to_string()),
            found => Ok(found),
        }
    }
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
