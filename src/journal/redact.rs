//! Redaction: the content and the path of a version are erased, its place in the chain stays.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::commit::actor_columns;
use super::history::READ;
use super::release::Split;
use super::{History, Journal, failure, said, scrub, to_sql};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Hash;
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::version::{Actor, Version};

const REDACT: &str = "redact";

impl Journal {
    /// Erases versions, all of them or none: path, hash, content. What was redacted before is left as it is. `now` are
    /// microseconds since 1970. All changes must be synced: what recovery would need of them is erased, too.
    ///
    /// What `mask` leaves out of the reasons of their changes, and of the names of who made and who redacted them, goes as
    /// well, and of changes that have no versions. A version of a change that was taken back may be named, too.
    ///
    /// The bytes are gone once [`Journal::scrub`] says so.
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::IsHead`], or what the database says.
    pub(crate) fn redact(
        &mut self,
        now: i64,
        by: &Actor,
        ids: &[VersionId],
        mask: &dyn Fn(&str) -> Option<String>,
    ) -> Result<()> {
        let synced = to_sql(self.synced()?);
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failure("begin to redact"))?;
        let Chosen { mut memories, all, is_withdrawn } = chosen(&tx, ids)?;
        let is_masked = said::mask(&tx, &all, mask)?;
        if memories.is_empty() && !is_withdrawn && !is_masked {
            return Ok(());
        }
        let history = History { db: &tx };
        // What was taken back was never there: nobody could name it to have it erased. It goes whosesoever it is, since the
        // same text was often written again, as another memory.
        let mut withdrawn = history.withdrawn()?;
        for rows in withdrawn.values_mut() {
            rows.retain(|row| row.path.is_some());
        }
        for (&memory, rows) in &withdrawn {
            if !rows.is_empty() {
                memories.entry(memory).or_default();
            }
        }
        for (memory, erased) in memories {
            let mut split = Split::default();
            split.go.extend(withdrawn.remove(&memory).unwrap_or_default());
            for row in history.rows(head(&tx, memory)?)? {
                if erased.contains(&row.n) { split.go.push(row) } else { split.stay.push(row) }
            }
            let paths = split.release(&tx, memory)?;
            for row in &split.go {
                erase(&tx, row.n, now, by)?;
            }
            for path in paths {
                let sql = "UPDATE memory SET path = '' WHERE n = ?1 AND path = ?2 AND live = 0";
                tx.execute(sql, params![memory, path]).map_err(failure(REDACT))?;
            }
        }
        // They have paths, and nobody needs them any more.
        tx.execute("DELETE FROM operation WHERE change <= ?1", params![synced]).map_err(failure(REDACT))?;
        scrub::demand(&tx)?;
        fail::step();
        tx.commit().map_err(failure(REDACT))?;
        fail::step();
        Ok(())
    }

    /// Whether this is a version that was redacted.
    pub(crate) fn is_redacted(&self, id: VersionId) -> Result<bool> {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM version v JOIN redaction r ON r.version = v.n WHERE v.id = ?1)";
        let mut query = self.db.prepare_cached(sql).map_err(failure(REDACT))?;
        query.query_row(params![id.0.to_bytes()], |row| row.get(0)).map_err(failure(REDACT))
    }
}

impl History<'_> {
    /// The versions that have one of these contents, newest first.
    pub(crate) fn holding(self, contents: &HashSet<Hash>) -> Result<Vec<Version>> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let mut query =
            self.prepare("SELECT n, sha256 FROM version WHERE sha256 IS NOT NULL ORDER BY n DESC")?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failure(READ))? {
            let (n, sha256) = (row.get(0).map_err(failure(READ))?, row.get(1).map_err(failure(READ))?);
            if contents.contains(&Hash(sha256)) {
                found.extend(self.row(n)?);
            }
        }
        Ok(found)
    }
}

/// What is asked for.
#[derive(Default)]
struct Chosen {
    /// The rows of versions that are to be erased, by memory.
    memories: BTreeMap<i64, BTreeSet<i64>>,
    /// The rows of all that were named, those among them that were redacted before.
    all: BTreeSet<i64>,
    /// Whether one of them is of a change that was taken back: all of those go in any case.
    is_withdrawn: bool,
}

fn chosen(db: &Connection, ids: &[VersionId]) -> Result<Chosen> {
    let sql = "SELECT v.n, v.memory, m.live = 1 AND m.head = v.n, m.path, r.version IS NOT NULL, c.withdrawn
        FROM version v JOIN change c ON c.seq = v.change JOIN memory m ON m.n = v.memory
        LEFT JOIN redaction r ON r.version = v.n WHERE v.id = ?1";
    let mut query = db.prepare_cached(sql).map_err(failure(REDACT))?;
    let mut chosen = Chosen::default();
    for &id in ids {
        let found = query
            .query_row(params![id.0.to_bytes()], |row| {
                let (n, memory, is_head, is_redacted) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(4)?);
                Ok((n, memory, is_head, row.get::<_, String>(3)?, is_redacted, row.get(5)?))
            })
            .optional()
            .map_err(failure(REDACT))?;
        let (n, memory, is_head, path, is_redacted, is_withdrawn) = found.ok_or(Error::NoVersion { id })?;
        chosen.all.insert(n);
        match (is_withdrawn, is_head, is_redacted) {
            (true, ..) => chosen.is_withdrawn |= !is_redacted,
            (_, true, _) => return Err(Error::IsHead { id, path: MemoryPath::from_normal(path) }),
            (_, _, false) => drop(chosen.memories.entry(memory).or_default().insert(n)),
            (_, _, true) => {}
        }
    }
    Ok(chosen)
}

fn head(db: &Connection, memory: i64) -> Result<i64> {
    db.query_row("SELECT head FROM memory WHERE n = ?1", params![memory], |row| row.get(0))
        .map_err(failure(REDACT))
}

fn erase(db: &Connection, n: i64, now: i64, by: &Actor) -> Result<()> {
    let (actor, name) = actor_columns(by);
    let sql =
        "UPDATE version SET path = NULL, sha256 = NULL, salt = NULL, body = NULL, staged = NULL WHERE n = ?1";
    db.execute(sql, params![n]).map_err(failure(REDACT))?;
    db.execute("DELETE FROM warning WHERE version = ?1", params![n]).map_err(failure(REDACT))?;
    db.execute("INSERT OR IGNORE INTO redaction VALUES (?1, ?2, ?3, ?4)", params![n, now, actor, name])
        .map_err(failure(REDACT))?;
    Ok(())
}
