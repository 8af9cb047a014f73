//! Told the journal holds: versions, also of changes that were taken back, reasons, names, and the log of directories.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::super::Findings;
use super::super::history::JOURNAL;
use super::{Search, Told, first_step, place, rules, tell_unsearched, why_unsearched};
use crate::error::Result;
use crate::guard::Found;
use crate::journal::{History, Said};
use crate::path::MemoryPath;
use crate::store::{self, gate};
use crate::version::{Log, Operation, Version};

impl Search<'_> {
    pub(super) fn look_at_history(&mut self, history: History<'_>, findings: &mut Findings) -> Result<()> {
        history.versions(&Log::default(), &mut |version| {
            let newest = history.newest(version.memory)?;
            let is_head = newest
                .is_some_and(|newest| newest.id == version.id && newest.operation != Operation::Deleted);
            let of = if is_head { Of::Head } else { Of::Past };
            self.version(history, &version, of, findings)?;
            Ok(ControlFlow::Continue(()))
        })?;
        history.each_withdrawn(&mut |version| self.version(history, &version, Of::Withdrawn, findings))?;
        self.said(history, findings)?;
        self.logged(history, findings)
    }

    fn version(
        &mut self,
        history: History<'_>,
        version: &Version,
        of: Of,
        findings: &mut Findings,
    ) -> Result<()> {
        let Some(path) = &version.path else { return Ok(()) };
        let in_path = rules(&gate::scan_path(&self.guard, path), "the path");
        let mut what = in_path.clone();
        if let Some(hash) = version.content_sha256 {
            if !self.known.contains_key(&hash) {
                match self.bytes(history, version, path, of) {
                    Ok(bytes) => drop(self.lines(hash, &bytes.unwrap_or_default())),
                    Err(error) => {
                        let why = format!("{}, of its version {}", why_unsearched(error)?, version.id);
                        tell_unsearched(place(&self.guard, path), &why, findings);
                    }
                }
            }
            if let Some(known) = self.known.get(&hash) {
                what.extend(known);
            }
        }
        if what.is_empty() {
            return Ok(());
        }
        let (id, what) = (version.id, what.to_string());
        let (problem, remedy) = match of {
            Of::Head => (what, format!("{}, then `memdir redact {id}`", first_step(&in_path))),
            Of::Past => (format!("in its version {id}, {what}"), format!("`memdir redact {id}` erases that")),
            Of::Withdrawn => (
                format!("in {id}, of a change that failed and was taken back, {what}"),
                format!("`memdir redact {id}` erases that, though the version is not in the log"),
            ),
        };
        findings.wrong("secret", place(&self.guard, path), problem, remedy);
        Ok(())
    }

    fn bytes(
        &self,
        history: History<'_>,
        version: &Version,
        path: &MemoryPath,
        of: Of,
    ) -> Result<Option<Vec<u8>>> {
        let base = &self.store.inner.core.base;
        match history.content(version.n)? {
            None if of == Of::Head => match base.sandbox.read(path)? {
                store::Found::File(bytes) => Ok(Some(bytes.to_vec())),
                store::Found::Not(_) => Ok(None),
            },
            None => base.kept(&version.id.to_string()),
            found => Ok(found),
        }
    }

    /// Looks at who made changes and redacted versions, and why.
    fn said(&self, history: History<'_>, findings: &mut Findings) -> Result<()> {
        // Most changes are made by the same few, for the same reasons.
        let mut known: HashMap<String, Vec<Found>> = HashMap::new();
        let mut scan = |text: &str, what: &str| {
            if !known.contains_key(text) {
                known.insert(text.to_owned(), self.guard.scan(text.as_bytes()));
            }
            rules(&known[text], what)
        };
        // A very large change has several rows.
        let mut seen = HashSet::new();
        history.each_said(&mut |said| {
            let mut what = scan(said.reason.as_deref().unwrap_or_default(), "the reason");
            what.extend(&scan(said.name.as_deref().unwrap_or_default(), "the name of who made it"));
            if !what.is_empty() && seen.insert(said.id) {
                let remedy = remedy(history, &said)?;
                findings.wrong("secret", JOURNAL, format!("of the change {}, {what}", said.id), remedy);
            }
            Ok(())
        })?;
        history.each_redactor(&mut |id, name| {
            let what = scan(name, "the name of who redacted it");
            if !what.is_empty() {
                let remedy = format!("`memdir redact {id}` once more leaves that out");
                findings.wrong("secret", JOURNAL, format!("of the version {id}, {what}"), remedy);
            }
        })
    }

    /// Looks at the names in the log of directories, which has no versions.
    fn logged(&self, history: History<'_>, findings: &mut Findings) -> Result<()> {
        let mut rules = Vec::new();
        history.each_logged_path(&mut |path| {
            let found = gate::scan_names(&self.guard, path);
            rules.extend(found.iter().map(|found| found.rule));
        })?;
        if !rules.is_empty() {
            rules.sort_unstable();
            rules.dedup();
            let mut what = Told::default();
            for rule in rules {
                what.add(|| format!("a name looks like {rule}"));
            }
            let problem = format!("in the log of directories that were made, moved and removed, {what}");
            let remedy = "`memdir redact` of any version erases that log, too";
            findings.wrong("secret", JOURNAL, problem, remedy);
        }
        Ok(())
    }
}

/// Told a version is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Head,
    Past,
    /// Of a change that was taken back.
    Withdrawn,
}

/// Told takes a reason, or a name, out of the history.
fn remedy(history: History<'_>, said: &Said) -> Result<String> {
    Ok(match history.version_by(said)? {
        Some((id, false)) => format!("`memdir redact {id}` leaves that out, too"),
        Some((id, true)) => {
            format!("edit or delete the file of {id}, then `memdir redact {id}` leaves that out, too")
        }
        None => "it made no version: `memdir redact` of any one leaves that out, too".to_owned(),
    })
}
