//! How much the journal holds.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, params};

use super::commit::DELETED;
use super::filter::{read_actor, read_time};
use super::history::{History, READ};
use super::{failure, from_sql};
use crate::error::Result;
use crate::version::Actor;

/// Figures of the journal.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Memories that live.
    pub(crate) memories: u64,
    /// Bytes of their content.
    pub(crate) bytes: u64,
    /// Memories that were deleted.
    pub(crate) deleted: u64,
    pub(crate) versions: u64,
    pub(crate) redacted: u64,
    /// When the oldest and the newest change were made.
    pub(crate) span: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Changes by who made them, most first.
    pub(crate) actors: Vec<(Actor, u64)>,
}

impl History<'_> {
    /// How many changes have a time at or after `time` (microseconds since 1970), and the latest of their times; `None`
    /// where there are none.
    pub(crate) fn since_time(self, time: i64) -> Result<Option<(u64, DateTime<Utc>)>> {
        // A very large change has several rows.
        let sql = "SELECT count(DISTINCT id), max(at) FROM change WHERE at >= ?1 AND withdrawn = 0 HAVING count(*) > 0";
        self.prepare(sql)?
            .query_row(params![time], |row| Ok((from_sql(row.get(0)?), read_time(1, row.get(1)?)?)))
            .optional()
            .map_err(failure(READ))
    }

    /// Figures of all that counts: what was withdrawn never was.
    pub(crate) fn figures(self) -> Result<Figures> {
        let _snapshot = self.snapshot()?;
        let heads = "SELECT count(*) FILTER (WHERE m.live), coalesce(sum(v.size) FILTER (WHERE m.live), 0),
            count(*) FILTER (WHERE v.operation = ?1)
            FROM memory m CROSS JOIN version v ON v.n = m.head CROSS JOIN change c ON c.seq = v.change
            WHERE c.withdrawn = 0";
        let (memories, bytes, deleted) = self
            .prepare(heads)?
            .query_row(params![DELETED], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(failure(READ))?;
        let withdrawn = self.withdrawn()?.values().map(Vec::len).sum::<usize>() as u64;
        let redacted = "SELECT count(*) FROM redaction r JOIN version v ON v.n = r.version
            JOIN change c ON c.seq = v.change WHERE c.withdrawn = 0";
        // A very large change has several rows.
        let mut query = self.prepare(
            "SELECT actor, name, count(DISTINCT id), min(at), max(at) FROM change WHERE withdrawn = 0 GROUP BY actor, name",
        )?;
        let rows = query
            .query_map([], |row| {
                let span = (read_time(3, row.get(3)?)?, read_time(4, row.get(4)?)?);
                Ok((read_actor(row, 0)?, from_sql(row.get(2)?), span))
            })
            .map_err(failure(READ))?;
        let (mut actors, mut span) = (Vec::new(), None);
        for row in rows {
            let (actor, changes, (first, last)) = row.map_err(failure(READ))?;
            actors.push((actor, changes));
            let (oldest, newest) = span.unwrap_or((first, last));
            span = Some((first.min(oldest), last.max(newest)));
        }
        actors.sort_by_key(|&(_, changes)| std::cmp::Reverse(changes));
        Ok(Figures {
            memories: from_sql(memories),
            bytes: from_sql(bytes),
            deleted: from_sql(deleted),
            versions: self.count("SELECT count(*) FROM version")?.saturating_sub(withdrawn),
            redacted: self.count(redacted)?,
            span,
            actors,
        })
    }
}
