//! Taking versions out of a memory's past, without harm to the versions that stay.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::history::{History, READ};
use super::{body, failure};
use crate::error::Result;
use crate::id::VersionId;

/// A version, as far as it matters to what it leaves behind.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) n: i64,
    pub(super) id: VersionId,
    pub(super) change: i64,
    pub(super) path: Option<String>,
    pub(super) body: Option<i64>,
    pub(super) is_withdrawn: bool,
}

/// The versions of one memory: those that stay, and those that go.
#[derive(Debug, Default)]
pub(super) struct Split {
    pub(super) stay: Vec<Row>,
    pub(super) go: Vec<Row>,
}

impl Split {
    /// The bodies that none of those that stay has.
    pub(super) fn bodies(&self) -> BTreeSet<i64> {
        let stay = self.kept_bodies();
        self.go.iter().filter_map(|row| row.body).filter(|body| !stay.contains(body)).collect()
    }

    fn kept_bodies(&self) -> BTreeSet<i64> {
        self.stay.iter().filter_map(|row| row.body).collect()
    }

    /// Removes the content and the paths that only those that go have; the paths.
    pub(super) fn release(&self, db: &Connection, memory: i64) -> Result<BTreeSet<&str>> {
        body::remove(db, &self.bodies(), &self.kept_bodies())?;
        let stay: BTreeSet<&str> = self.stay.iter().filter_map(|row| row.path.as_deref()).collect();
        let gone: BTreeSet<&str> = self
            .go
            .iter()
            .filter_map(|row| row.path.as_deref())
            .filter(|path| !stay.contains(path))
            .collect();
        let mut delete = db
            .prepare_cached("DELETE FROM place WHERE path = ?1 AND memory = ?2")
            .map_err(failure("forget a path"))?;
        for path in &gone {
            delete.execute(params![path, memory]).map_err(failure("forget a path"))?;
        }
        Ok(gone)
    }
}

impl History<'_> {
    /// The versions of a memory, newest first, as far as they are there; those of withdrawn changes are not among them.
    pub(super) fn rows(self, head: i64) -> Result<Vec<Row>> {
        let mut query = self.prepare(&format!("{ROWS} WHERE v.n = ?1"))?;
        let mut rows = Vec::new();
        let mut next = Some(head);
        while let Some(n) = next {
            let found = query
                .query_row(params![n], |row| Ok((read_row(row)?, row.get::<_, Option<i64>>(7)?)))
                .optional();
            let Some((row, prev)) = found.map_err(failure(READ))? else { break };
            rows.extend(Some(row).filter(|row| !row.is_withdrawn));
            next = prev.filter(|&prev| prev < n);
        }
        Ok(rows)
    }

    /// The versions of withdrawn changes, by memory.
    pub(super) fn withdrawn(self) -> Result<BTreeMap<i64, Vec<Row>>> {
        let mut changes = self.prepare("SELECT seq FROM change WHERE withdrawn = 1")?;
        let changes = changes.query_map([], |row| row.get(0)).map_err(failure(READ))?;
        let mut query = self.prepare(&format!("{ROWS} WHERE v.n > ?1 AND v.n <= ?2 AND v.change = ?3"))?;
        let mut memories: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
        for change in changes {
            let change = change.map_err(failure(READ))?;
            let range = self.versions_of(change)?;
            let rows = query
                .query_map(params![range.after, range.up_to, change], |row| Ok((row.get(6)?, read_row(row)?)))
                .map_err(failure(READ))?;
            for row in rows {
                let (memory, row) = row.map_err(failure(READ))?;
                memories.entry(memory).or_default().push(row);
            }
        }
        Ok(memories)
    }
}

/// The columns that [`read_row`] reads, and the memory and the version before.
const ROWS: &str = "SELECT v.n, v.id, v.change, v.path, v.body, c.withdrawn, v.memory, v.prev
    FROM version v CROSS JOIN change c ON c.seq = v.change";

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        n: row.get(0)?,
        id: VersionId(ulid::Ulid::from_bytes(row.get(1)?)),
        change: row.get(2)?,
        path: row.get(3)?,
        body: row.get(4)?,
        is_withdrawn: row.get(5)?,
    })
}
