//! What memories were at another moment: the targets of a restore.

use std::collections::BTreeMap;

use rusqlite::params;

use super::history::{History, READ};
use super::{below, failure};
use crate::error::{Error, Result};
use crate::id::{ChangeId, MemoryId};
use crate::path::MemoryPath;
use crate::version::{Operation, Version};

/// A memory that differs between now and then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) memory: i64,
    pub(crate) memory_id: MemoryId,
    /// Its newest version; of a memory that is gone its deletion.
    pub(crate) now: Version,
    /// What it was then; `None`: it was nowhere.
    pub(crate) then: Option<Version>,
    /// Versions of it since then.
    pub(crate) since: u64,
    /// What the change left of it; `None` where a moment is asked about, and no change.
    pub(crate) after: Option<Version>,
    /// Versions of it since that.
    pub(crate) later: u64,
}

impl History<'_> {
    /// The memories at or below `path` (now, or just before `time`, in microseconds since 1970) that are not what they
    /// were then. A version that was redacted counts as what was then.
    ///
    /// # Errors
    /// [`Error::TooEarly`] when retention took what one was then.
    pub(crate) fn changed_since(self, path: &MemoryPath, time: i64) -> Result<Vec<Target>> {
        let _snapshot = self.snapshot()?;
        let Some(after) = self.newest_before(time)? else { return Ok(Vec::new()) };
        let mut targets = Vec::new();
        for (memory, head) in self.memories(path.as_str(), after)? {
            let Some(now) = self.row(head)? else { continue };
            let is_here = is_alive(&now) && is_at_or_below(&now, path);
            let target = self.target(now, after, None)?;
            let was_here = match &target.then {
                Some(Version { path: None, .. }) => self.was_at_or_below(memory, path)?,
                Some(then) => is_at_or_below(then, path),
                None => false,
            };
            if (is_here || was_here) && target.differs() {
                targets.push(target);
            }
        }
        Ok(targets)
    }

    /// The memories that a change touched and that are not what they were before it; `None` when there is no such change.
    ///
    /// # Errors
    /// [`Error::TooEarly`] when retention took what one was before.
    pub(crate) fn changed_by(self, change: ChangeId) -> Result<Option<Vec<Target>>> {
        let _snapshot = self.snapshot()?;
        let rows = self.rows_of(change)?;
        if rows.is_empty() {
            return Ok(None);
        }
        // The first version of each memory in the change, and its last, by memory.
        let mut ends = BTreeMap::new();
        let mut query = self
            .prepare("SELECT memory, n FROM version WHERE n > ?1 AND n <= ?2 AND change = ?3 ORDER BY n")?;
        for row in rows {
            let range = self.versions_of(row)?;
            let versions = query
                .query_map(params![range.after, range.up_to, row], |row| Ok((row.get(0)?, row.get(1)?)))
                .map_err(failure(READ))?;
            for version in versions {
                let (memory, n): (i64, i64) = version.map_err(failure(READ))?;
                ends.entry(memory).or_insert((n, n)).1 = n;
            }
        }
        let mut targets = Vec::new();
        for (memory, (first, last)) in ends {
            let Some(now) = self.newest(memory)? else { continue };
            let target = self.target(now, first - 1, Some(last))?;
            if target.differs() {
                targets.push(target);
            }
        }
        Ok(Some(targets))
    }

    /// A memory now, as its newest version up to `after` was, and as the version `last` left it.
    fn target(self, now: Version, after: i64, last: Option<i64>) -> Result<Target> {
        let (mut since, mut later) = (0, 0);
        let mut n = now.n;
        while n > after
            && let Some(prev) = self.prev(n)?
        {
            since += 1;
            later += u64::from(last.is_some_and(|last| n > last));
            n = prev;
        }
        let then = match self.row(n)? {
            Some(then) => Some(then).filter(is_alive),
            None if n == 0 => None,
            None => return Err(Error::TooEarly { path: now.path.unwrap_or(MemoryPath::ROOT) }),
        };
        let after = last.map(|last| self.row(last)).transpose()?.flatten();
        Ok(Target { memory: now.memory, memory_id: now.memory_id, now, then, since, after, later })
    }

    /// Whether a memory has a path at or below `path`, at any time.
    fn was_at_or_below(self, memory: i64, path: &MemoryPath) -> Result<bool> {
        if path.is_root() {
            return Ok(true);
        }
        let (low, high) = below(path.as_str());
        let mut query = self.prepare(
            "SELECT EXISTS (SELECT 1 FROM place WHERE path = ?1 AND memory = ?4)
                OR EXISTS (SELECT 1 FROM place WHERE path >= ?2 AND path < ?3 AND memory = ?4)",
        )?;
        query.query_row(params![path.as_str(), low, high, memory], |row| row.get(0)).map_err(failure(READ))
    }
}

impl Target {
    /// Whether the memory is not what it was: in another place, with other content, gone or back.
    fn differs(&self) -> bool {
        let what =
            |version: &Version| (version.path.clone(), version.content_sha256, version.content_size_bytes);
        Some(&self.now).filter(|now| is_alive(now)).map(what) != self.then.as_ref().map(what)
    }
}

fn is_alive(version: &Version) -> bool {
    version.operation != Operation::Deleted
}

fn is_at_or_below(version: &Version, path: &MemoryPath) -> bool {
    version.path.as_ref().is_some_and(|at| at == path || at.is_below(path))
}
