//! Which versions are asked for, in the words of the database.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, Row, params_from_iter};
use ulid::Ulid;

use super::commit::{AGENT, CREATED, DELETED, MODIFIED, OUTSIDE, RECOVERY, USER};
use super::history::READ;
use super::{below, failure, from_sql};
use crate::error::Result;
use crate::guard::Warning;
use crate::hash::Hash;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::version::{Actor, ActorFilter, Log, Operation, Redacted, Version};

/// The columns that [`read_version`] reads, of all versions there ever were.
pub(super) const VERSIONS: &str =
    "SELECT v.n, v.id, v.memory, m.id, c.id, v.operation, v.path, v.sha256, v.size, v.mode,
    c.at, c.actor, c.name, c.reason, r.at, r.actor, r.name, v.prev, v.body IS NOT NULL,
    (SELECT p.path FROM version p WHERE v.operation = 1 AND p.n = v.prev AND p.path <> v.path),
    (SELECT group_concat(w.line || ' ' || w.redacted || ' ' || w.rule, ',') FROM warning w WHERE w.version = v.n)
    FROM version v CROSS JOIN change c ON c.seq = v.change CROSS JOIN memory m ON m.n = v.memory
    LEFT JOIN redaction r ON r.version = v.n";

/// Of those, the ones that count.
pub(super) const COUNTED: &str = "c.withdrawn = 0";

/// A run of rows of versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) after: i64,
    pub(super) up_to: i64,
}

impl Range {
    pub(super) const ALL: Self = Self { after: 0, up_to: i64::MAX };

    pub(super) fn one(n: i64) -> Self {
        Self { after: n - 1, up_to: n }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { after: self.after.max(other.after), up_to: self.up_to.min(other.up_to) }
    }
}

/// What a version must be, beside being in a range.
#[derive(Debug)]
pub(super) struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    /// What `log` asks for. `is_path_known`: its path is that of no other memories than are looked at.
    pub(super) fn of(log: &Log, is_path_known: bool) -> Self {
        let mut filter = Self { sql: format!("{VERSIONS} WHERE {COUNTED}"), values: Vec::new() };
        if let Some(path) = log.path.as_ref().filter(|path| !path.is_root()) {
            filter.path(path, is_path_known);
        }
        if let Some(memory) = log.memory {
            filter.and("m.id = ?", [Value::Blob(memory.0.to_bytes().to_vec())]);
        }
        if let Some(change) = log.change {
            filter.and("c.id = ?", [Value::Blob(change.0.to_bytes().to_vec())]);
        }
        if let Some(actor) = &log.actor {
            let (condition, value) = condition(actor);
            filter.and(condition, [value]);
        }
        if let Some(operation) = log.operation {
            let code = match operation {
                Operation::Created => CREATED,
                Operation::Modified => MODIFIED,
                Operation::Deleted => DELETED,
            };
            filter.and("v.operation = ?", [code.into()]);
        }
        filter.sql.push_str(" AND v.n > ? AND v.n <= ? ORDER BY v.n DESC");
        filter
    }

    fn path(&mut self, path: &MemoryPath, is_known: bool) {
        let (low, high) = below(path.as_str());
        let at: Value = path.as_str().to_owned().into();
        let [low, high]: [Value; 2] = [low.into(), high.into()];
        let mut sql = "(v.path = ? OR v.path >= ? AND v.path < ?
            OR EXISTS (SELECT 1 FROM place WHERE path = ? AND memory = v.memory)
            OR EXISTS (SELECT 1 FROM version p WHERE p.n = v.prev AND p.path >= ? AND p.path < ?)"
            .to_owned();
        let mut values = vec![at.clone(), low.clone(), high.clone(), at, low.clone(), high.clone()];
        // Where a redacted version was, nobody knows: its memory was here.
        if is_known {
            sql.push_str(" OR v.path IS NULL)");
        } else {
            sql.push_str(
                " OR v.path IS NULL
                AND EXISTS (SELECT 1 FROM place WHERE path >= ? AND path < ? AND memory = v.memory))",
            );
            values.extend([low, high]);
        }
        self.and(&sql, values);
    }

    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    pub(super) fn prepare<'a>(&self, db: &'a Connection) -> Result<CachedStatement<'a>> {
        db.prepare_cached(&self.sql).map_err(failure(READ))
    }

    /// Calls `each` with what is in `range`, newest first. `query` is what [`Filter::prepare`] made.
    pub(super) fn run(
        &self,
        query: &mut CachedStatement<'_>,
        range: Range,
        each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let range = [range.after.into(), range.up_to.into()];
        let values = params_from_iter(self.values.iter().chain(&range));
        let mut rows = query.query(values).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            if each(read_version(row).map_err(failure(READ))?)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// What the row `c` of a change by them is.
pub(super) fn condition(actor: &ActorFilter) -> (&'static str, Value) {
    match actor {
        ActorFilter::Agents => ("c.actor = ?", AGENT.into()),
        ActorFilter::Users => ("c.actor = ?", USER.into()),
        ActorFilter::Outside => ("c.actor = ?", OUTSIDE.into()),
        ActorFilter::Named(name) => ("c.name = ?", name.clone().into()),
    }
}

/// The first microsecond since 1970 that is not before `time`.
pub(super) fn micros(time: DateTime<Utc>) -> i64 {
    let micros = time.timestamp_micros();
    micros.saturating_add(i64::from(!time.timestamp_subsec_nanos().is_multiple_of(1000)))
}

/// Reads a row of [`VERSIONS`].
pub(super) fn read_version(row: &Row<'_>) -> rusqlite::Result<Version> {
    let redacted: Option<i64> = row.get(14)?;
    let redacted = match redacted {
        Some(at) => Some(Redacted { at: read_time(14, at)?, by: read_actor(row, 15)? }),
        None => None,
    };
    let operation = match row.get(5)? {
        CREATED => Operation::Created,
        MODIFIED => Operation::Modified,
        DELETED => Operation::Deleted,
        other => return Err(rusqlite::Error::IntegralValueOutOfRange(5, other)),
    };
    let sha256: Option<[u8; 32]> = row.get(7)?;
    let path: Option<String> = row.get(6)?;
    Ok(Version {
        id: VersionId(Ulid::from_bytes(row.get(1)?)),
        memory_id: MemoryId(Ulid::from_bytes(row.get(3)?)),
        change_id: ChangeId(Ulid::from_bytes(row.get(4)?)),
        operation,
        path: path.map(MemoryPath::from_normal),
        moved_from: row.get::<_, Option<String>>(19)?.map(MemoryPath::from_normal),
        content_size_bytes: sha256.map(|_| row.get(8).map(from_sql)).transpose()?,
        content_sha256: sha256.map(Hash),
        mode: row.get(9)?,
        created_at: read_time(10, row.get(10)?)?,
        created_by: read_actor(row, 11)?,
        reason: row.get(13)?,
        redacted,
        n: row.get(0)?,
        memory: row.get(2)?,
        prev: row.get(17)?,
        is_stored: row.get(18)?,
        warnings: row.get::<_, Option<String>>(20)?.map_or_else(Vec::new, |text| read_warnings(&text)),
    })
}

/// Reads what was warned of, `LINE REDACTED RULE`, joined by commas.
fn read_warnings(text: &str) -> Vec<Warning> {
    let read = |one: &str| {
        let (line, rest) = one.split_once(' ')?;
        let (redacted, rule) = rest.split_once(' ')?;
        let line = Some(line.parse().ok()?).filter(|&line| line > 0);
        let redacted: usize = redacted.parse().ok()?;
        Some(Warning { line, rule: rule.to_owned(), is_redacted: redacted & 1 == 1, more: redacted >> 1 })
    };
    let mut warnings: Vec<Warning> = text.split(',').filter_map(read).collect();
    warnings.sort();
    warnings
}

/// Reads a time.
pub(super) fn read_time(column: usize, micros: i64) -> rusqlite::Result<DateTime<Utc>> {
    DateTime::from_timestamp_micros(micros).ok_or(rusqlite::Error::IntegralValueOutOfRange(column, micros))
}

/// Reads an actor: what it is, and its name in the next column.
pub(super) fn read_actor(row: &Row<'_>, column: usize) -> rusqlite::Result<Actor> {
    let name = || row.get::<_, Option<String>>(column + 1).map(Option::unwrap_or_default);
    match row.get(column)? {
        AGENT => Ok(Actor::Agent(name()?)),
        USER => Ok(Actor::User(name()?)),
        OUTSIDE => Ok(Actor::Outside),
        RECOVERY => Ok(Actor::Recovery),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}
