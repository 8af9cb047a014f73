//! Bytes of versions: whole now and then, small deltas in between.

use rusqlite::{Connection, OptionalExtension, params};

use super::delta::Delta;
use super::{Journal, damaged, failure, from_sql, to_sql};
use crate::error::Result;

/// After so many deltas a version is kept whole again, so that reading one stays cheap.
const LONGEST_CHAIN: i64 = 127;
/// What a delta costs beside its bytes, roughly.
const ROW: usize = 32;

impl Journal {
    /// The bytes of a version; `None` when the journal does not hold them.
    pub(crate) fn content(&self, version: i64) -> Result<Option<Vec<u8>>> {
        content(&self.db, version)
    }
}

/// The bytes of a version; `None` when the journal does not hold them.
pub(super) fn content(db: &Connection, version: i64) -> Result<Option<Vec<u8>>> {
    let mut query =
        db.prepare_cached("SELECT body FROM version WHERE n = ?1").map_err(failure("find a version"))?;
    match query.query_row(params![version], |row| row.get(0)).map_err(failure("find a version"))? {
        Some(body) => read(db, body).map(Some),
        None => Ok(None),
    }
}

/// Keeps `new`, as a delta against `base` (a body, with its bytes) where that is smaller and the chain not too long.
pub(super) fn write(db: &Connection, new: &[u8], base: Option<(i64, &[u8])>) -> Result<i64> {
    if let Some((base, old)) = base
        && let Some((depth, weight)) = chain(db, base)?
    {
        let delta = Delta::between(old, new);
        let middle = &new[delta.middle(new.len())];
        let weight = weight + size(middle.len() + ROW);
        if depth < LONGEST_CHAIN && weight < size(new.len()) {
            return insert(db, Some(base), depth + 1, weight, delta, middle, new.len());
        }
    }
    insert(db, None, 0, 0, Delta { prefix: 0, suffix: 0 }, new, new.len())
}

/// Depth and weight of a body; `None` when there is no such body.
fn chain(db: &Connection, body: i64) -> Result<Option<(i64, i64)>> {
    let mut query =
        db.prepare_cached("SELECT depth, weight FROM body WHERE n = ?1").map_err(failure("find a base"))?;
    query
        .query_row(params![body], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(failure("find a base"))
}

fn insert(
    db: &Connection,
    base: Option<i64>,
    depth: i64,
    weight: i64,
    delta: Delta,
    bytes: &[u8],
    whole: usize,
) -> Result<i64> {
    let sql = "INSERT INTO body (base, depth, weight, size, prefix, suffix, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = db.prepare_cached(sql).map_err(failure("keep the content"))?;
    insert
        .insert(params![base, depth, weight, size(whole), size(delta.prefix), size(delta.suffix), bytes])
        .map_err(failure("keep the content"))
}

fn read(db: &Connection, body: i64) -> Result<Vec<u8>> {
    let mut query = db
        .prepare_cached("SELECT base, prefix, suffix, size, bytes FROM body WHERE n = ?1")
        .map_err(failure("read content"))?;
    let mut deltas = Vec::new();
    let mut next = Some(body);
    let mut content = Vec::new();
    while let Some(body) = next {
        let row = |row: &rusqlite::Row<'_>| {
            let bytes: Vec<u8> = row.get(4)?;
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, bytes))
        };
        let (base, prefix, suffix, whole, bytes): (Option<i64>, i64, i64, i64, _) =
            query.query_row(params![body], row).map_err(failure("read content"))?;
        if base.is_none() {
            content = bytes;
        } else {
            deltas.push((Delta { prefix: length(prefix)?, suffix: length(suffix)? }, bytes, length(whole)?));
        }
        // A base is always older than what is built on it: a damaged pointer cannot make this run in circles.
        next = base;
        if next.is_some_and(|base| base >= body) {
            return Err(damaged("read content"));
        }
    }
    for (delta, middle, whole) in deltas.into_iter().rev() {
        content = delta
            .apply(&content, &middle)
            .filter(|c| c.len() == whole)
            .ok_or_else(|| damaged("read content"))?;
    }
    Ok(content)
}

fn size(n: usize) -> i64 {
    to_sql(n as u64)
}

fn length(n: i64) -> Result<usize> {
    usize::try_from(from_sql(n)).map_err(|_| damaged("read content"))
}
