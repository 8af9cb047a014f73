//! The part of a check that reads front matter: what retrieval cannot read, and what it reads otherwise than it seems.

use std::collections::HashMap;

use super::Findings;
use crate::disk::Found;
use crate::entry::{self, Fields, Front};
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::journal::History;
use crate::path::MemoryPath;
use crate::store::Store;

/// Reads the front matter of every Markdown file that the history knows.
pub(super) fn look(store: &Store, history: History<'_>, findings: &mut Findings) -> Result<()> {
    let mut paths = Vec::new();
    history.each_live("", &mut |head| {
        let path = MemoryPath::from_normal(head.path);
        if !path.is_passed_over() && path.split_last().is_some_and(|(_, name)| entry::is_markdown(name)) {
            paths.push((head.memory, path));
        }
        Ok(())
    })?;
    let mut keys: HashMap<(String, String), MemoryPath> = HashMap::new();
    for (memory, path) in paths {
        let bytes = match store.inner.core.base.sandbox.read(&path) {
            Ok(Found::File(bytes)) => bytes,
            // What cannot be read is told elsewhere.
            Ok(Found::Not(_)) | Err(Error::Read { .. } | Error::TooLargeToRead { .. }) => continue,
            Err(error) => return Err(error),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        match entry::read(text) {
            Front::None => {}
            Front::Broken(broken) => {
                let problem = format!(
                    "its front matter does not parse (line {}: {}); it is a plain note",
                    broken.line, broken.why
                );
                findings.note("entry", path.to_string(), problem, "mend that line");
            }
            Front::Fields(fields) => {
                for fault in &fields.faults {
                    let problem = format!("line {}: {}; it counts as absent", fault.line, fault.why);
                    findings.note("entry", path.to_string(), problem, "mend that line");
                }
                if let Some(id) = &fields.id {
                    tell_alias(history, memory, &path, id, findings)?;
                }
                tell_key(&path, &fields, &mut keys, findings);
            }
        }
    }
    Ok(())
}

/// The identity of a memory is the journal's; an id in a file that was copied, or written by hand, is nobody's.
fn tell_alias(
    history: History<'_>,
    memory: i64,
    path: &MemoryPath,
    alias: &str,
    findings: &mut Findings,
) -> Result<()> {
    let Some(version) = history.newest(memory)? else { return Ok(()) };
    let id = version.memory_id;
    if alias == id.to_string() {
        return Ok(());
    }
    let other = alias.parse::<MemoryId>().ok().map(|alias| history.newest_of(alias)).transpose()?.flatten();
    let whose = match other.and_then(|other| other.path) {
        Some(other) if other != *path => format!("that of {other}"),
        _ => "no memory's".to_owned(),
    };
    let problem = format!("the `id` in its front matter is {whose}; the memory is {id}");
    findings.note("entry", path.to_string(), problem, "write the right id there, or take the line out");
    Ok(())
}

/// At most one live entry of a category has a key: what `memory_store` sees to, a hand-made file need not.
fn tell_key(
    path: &MemoryPath,
    fields: &Fields,
    keys: &mut HashMap<(String, String), MemoryPath>,
    findings: &mut Findings,
) {
    let Some(key) = &fields.key else { return };
    let folder = || path.segments().next().filter(|_| path.depth() > 1).map(str::to_owned);
    let Some(category) = fields.category.clone().or_else(folder) else { return };
    if let Some(first) = keys.get(&(category.clone(), key.clone())) {
        let problem = format!("its `key` is that of {first}, too");
        findings.note("entry", path.to_string(), problem, "give one of them another key, or delete it");
    } else {
        keys.insert((category, key.clone()), path.clone());
    }
}
