//! The part of a check that looks for secrets: in what others wrote, and where a person asks for it in all there is.

use std::collections::HashMap;
use std::fmt;

use super::{Findings, files};
use crate::error::{Error, Result, Trouble};
use crate::guard::{Found, Guard, Warning};
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
        let in_path = rules(&in_path, "the path");
        let mut what = in_path.clone();
        for warning in &version.warnings {
            what.add(|| Warning { more: 0, ..warning.clone() }.to_string());
            what.more(warning.more);
        }
        if !what.is_empty() {
            let first = first_step(&in_path);
            let remedy = format!("if it is one: {first}, then `memdir redact {}`", version.id);
            findings.note("secret", place(guard, path), what.to_string(), remedy);
        }
    }
}

/// What is done about a file before its newest version can be redacted.
fn first_step(in_path: &Told) -> &'static str {
    if in_path.is_empty() {
        "edit the file"
    } else {
        "delete or rename the file, whose path `memdir log` shows"
    }
}

/// Takes what is a secret out of the places of findings, and out of the paths of what was taken in.
pub(super) fn leave_out(guard: &Guard, absorbed: &mut Absorbed, findings: &mut Findings) {
    for finding in &mut findings.0 {
        finding.place = gate::shown_names(guard, &finding.place);
    }
    tell_once(findings);
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

/// Takes out what only tells that something lies in the machine's room, where what is in it is told as a secret.
fn tell_once(findings: &mut Findings) {
    let secrets: Vec<_> =
        findings.0.iter().filter(|found| found.kind == "secret").map(|found| found.place.clone()).collect();
    findings.0.retain(|found| {
        let is_it = |place: &String| {
            place.strip_prefix(&found.place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !(matches!(found.kind, "leftover" | "kept") && secrets.iter().any(is_it))
    });
}

struct Search<'a> {
    store: &'a Store,
    history: Option<History<'a>>,
    guard: Guard,
    /// Told was found in contents that stand in several places.
    known: HashMap<Hash, Told>,
}

impl Search<'_> {
    /// Told looks like a secret in a content, in words, by lines.
    fn lines(&mut self, hash: Hash, bytes: &[u8]) -> Told {
        let scan = || {
            let mut what = Told::default();
            for Found { line, rule, .. } in self.guard.scan(bytes) {
                what.add(|| format!("line {line} looks like {rule}"));
            }
            what
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

/// Told looks like a secret in a text of one line.
fn rules(found: &[Found], name: &str) -> Told {
    let mut what = Told::default();
    for Found { rule, .. } in found {
        what.add(|| format!("{name} looks like {rule}"));
    }
    what
}

/// A path as a place in a finding, without what is a secret in it.
fn place(guard: &Guard, path: &MemoryPath) -> String {
    files::place(gate::shown(guard, path).as_str())
}

/// Told was found, in words: the first few, and how many more there are.
#[derive(Debug, Clone, Default)]
struct Told {
    first: Vec<String>,
    more: usize,
}

impl Told {
    fn add(&mut self, words: impl FnOnce() -> String) {
        const SHOWN: usize = 3;
        if self.first.len() < SHOWN {
            self.first.push(words());
        } else {
            self.more += 1;
        }
    }

    /// Counts what there are no words for.
    fn more(&mut self, more: usize) {
        self.more += more;
    }

    fn extend(&mut self, other: &Self) {
        for words in &other.first {
            self.add(|| words.clone());
        }
        self.more(other.more);
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.join(", "))?;
        if self.more > 0 {
            write!(f, ", and {} more", self.more)?;
        }
        Ok(())
    }
}
