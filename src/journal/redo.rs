//! Reading the log again after a crash: what was done since, and what each memory should be now.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params, params_from_iter};

use super::commit::{DELETED, MADE, MOVED, RECOVERED, REMOVED, RENAMED};
use super::{Journal, STAGED_BITS, failure, from_sql, to_sql};
use crate::error::Result;
use crate::hash::Hash;
use crate::id::VersionId;

/// One change of the log.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) seq: u64,
    /// Whether it was published in the run that this journal was opened for.
    pub(crate) this_run: bool,
    pub(crate) steps: Vec<LoggedStep>,
}

/// One step of it: those on directories first, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoggedStep {
    MadeDirectory { path: String },
    Renamed { from: String, to: String, inode: u64 },
    RemovedTree { path: String, inode: u64, staged: u64 },
    Recovered { path: String },
    Moved { memory: i64, from: String, staged: Option<u64> },
    Version { memory: i64, path: String, deleted: bool, staged: Option<u64> },
}

/// One version of a memory's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) version: i64,
    pub(crate) id: VersionId,
    pub(crate) change: u64,
    /// `None`: a deletion.
    pub(crate) hash: Option<Hash>,
    /// Whether the journal holds the bytes.
    pub(crate) stored: bool,
}

impl Journal {
    /// The changes after `seq` that were not withdrawn, in order.
    pub(crate) fn log_after(&self, seq: u64) -> Result<Vec<Logged>> {
        let mut log: BTreeMap<i64, Logged> = BTreeMap::new();
        let doing = "read the log";
        let mut query = self
            .db
            .prepare_cached(
                "SELECT seq, run = ?2, versions FROM change WHERE seq > ?1 AND withdrawn = 0 ORDER BY seq",
            )
            .map_err(failure(doing))?;
        let rows = query
            .query_map(params![to_sql(seq), self.run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(failure(doing))?;
        let mut versions = i64::MAX;
        for row in rows {
            let (seq, this_run, before): (i64, bool, i64) = row.map_err(failure(doing))?;
            versions = versions.min(before);
            log.insert(seq, Logged { seq: from_sql(seq), this_run, steps: Vec::new() });
        }
        if log.is_empty() {
            return Ok(Vec::new());
        }
        self.steps(
            "SELECT change, kind, path, target, inode, staged FROM operation WHERE change > ?1 ORDER BY change, n",
            to_sql(seq),
            &mut log,
            read_operation,
        )?;
        self.steps(
            "SELECT change, memory, path, operation, staged FROM version WHERE n > ?1 ORDER BY n",
            versions,
            &mut log,
            read_version,
        )?;
        Ok(log.into_values().collect())
    }

    fn steps(
        &self,
        sql: &str,
        after: i64,
        log: &mut BTreeMap<i64, Logged>,
        read: fn(&Row<'_>) -> rusqlite::Result<(i64, LoggedStep)>,
    ) -> Result<()> {
        let mut query = self.db.prepare_cached(sql).map_err(failure("read the log"))?;
        for row in query.query_map(params![after], read).map_err(failure("read the log"))? {
            let (change, step) = row.map_err(failure("read the log"))?;
            if let Some(logged) = log.get_mut(&change) {
                logged.steps.push(step);
            }
        }
        Ok(())
    }

    /// The versions of a memory, newest first.
    pub(crate) fn past(&self, memory: i64) -> Result<Vec<Past>> {
        let sql = "WITH RECURSIVE past (n) AS (
                SELECT head FROM memory WHERE n = ?1
                UNION ALL
                SELECT v.prev FROM version v JOIN past ON v.n = past.n WHERE v.prev IS NOT NULL)
            SELECT v.n, v.id, v.change, v.sha256, v.body IS NOT NULL FROM past JOIN version v ON v.n = past.n
            ORDER BY v.n DESC";
        let mut query = self.db.prepare_cached(sql).map_err(failure("read a memory's past"))?;
        let rows = query
            .query_map(params![memory], |row| {
                Ok(Past {
                    version: row.get(0)?,
                    id: VersionId(ulid::Ulid::from_bytes(row.get(1)?)),
                    change: from_sql(row.get(2)?),
                    hash: row.get::<_, Option<[u8; 32]>>(3)?.map(Hash),
                    stored: row.get(4)?,
                })
            })
            .map_err(failure("read a memory's past"))?;
        rows.collect::<Result<_, _>>().map_err(failure("read a memory's past"))
    }

    /// Where the file `staging/{name}` was to go, or came from; `None` when no change that was committed has one of this
    /// name. (`new-` and `old-` stand before the number of a step, `again-` before that of a memory.)
    pub(crate) fn path_of_staged(&self, name: &str) -> Result<Option<String>> {
        // Where files cannot be exchanged, the displaced one is put aside for a moment.
        let name = name.strip_suffix("-aside").unwrap_or(name);
        let Some((kind, number)) = name.rsplit_once('-') else { return Ok(None) };
        let Ok(number) = number.parse::<i64>() else { return Ok(None) };
        let first = number >> STAGED_BITS;
        let (sql, values) = match kind {
            "again" => ("SELECT path FROM memory WHERE n = ?1", vec![number]),
            "new" => (
                "SELECT path FROM version
                 WHERE n > (SELECT versions FROM change WHERE seq >= ?2 ORDER BY seq LIMIT 1)
                    AND staged = ?1 AND operation <> 2 ORDER BY n DESC LIMIT 1",
                vec![number, first],
            ),
            "old" => (
                "SELECT path FROM version
                 WHERE n > (SELECT versions FROM change WHERE seq >= ?2 ORDER BY seq LIMIT 1)
                    AND staged = ?1 AND operation = 2
                 UNION ALL SELECT path FROM operation WHERE change >= ?2 AND staged = ?1 LIMIT 1",
                vec![number, first],
            ),
            _ => return Ok(None),
        };
        let mut query = self.db.prepare_cached(sql).map_err(failure("look up a staged file"))?;
        query
            .query_row(params_from_iter(values), |row| row.get(0))
            .optional()
            .map_err(failure("look up a staged file"))
    }

    /// The memories that are at `path`, or were there when they were deleted.
    pub(crate) fn memories_at(&self, path: &str) -> Result<Vec<i64>> {
        let mut query = self
            .db
            .prepare_cached("SELECT n FROM memory WHERE path = ?1")
            .map_err(failure("look up a path"))?;
        let rows = query.query_map(params![path], |row| row.get(0)).map_err(failure("look up a path"))?;
        rows.collect::<Result<_, _>>().map_err(failure("look up a path"))
    }
}

fn read_operation(row: &Row<'_>) -> rusqlite::Result<(i64, LoggedStep)> {
    let path = row.get(2)?;
    let inode = || row.get(4).map(from_sql);
    let step = match row.get(1)? {
        MADE => LoggedStep::MadeDirectory { path },
        RENAMED => LoggedStep::Renamed { from: path, to: row.get(3)?, inode: inode()? },
        RECOVERED => LoggedStep::Recovered { path },
        MOVED => {
            let staged: Option<i64> = row.get(5)?;
            LoggedStep::Moved { memory: row.get(4)?, from: path, staged: staged.map(from_sql) }
        }
        REMOVED => LoggedStep::RemovedTree { path, inode: inode()?, staged: row.get(5).map(from_sql)? },
        kind => return Err(rusqlite::Error::IntegralValueOutOfRange(1, kind)),
    };
    Ok((row.get(0)?, step))
}

fn read_version(row: &Row<'_>) -> rusqlite::Result<(i64, LoggedStep)> {
    let staged: Option<i64> = row.get(4)?;
    let step = LoggedStep::Version {
        memory: row.get(1)?,
        path: row.get(2)?,
        deleted: row.get::<_, i64>(3)? == DELETED,
        staged: staged.map(from_sql),
    };
    Ok((row.get(0)?, step))
}
