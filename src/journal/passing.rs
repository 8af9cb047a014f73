//! Retention in passing: a little now and then, so that nobody waits for it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::prune::{Cut, PRUNE, Stale, Taker};
use super::{History, Journal, failure, from_sql, to_sql};
use crate::error::Result;
use crate::fail;
use crate::hash::Hash;
use crate::version::Keep;

/// So many versions are looked at in one passing.
const PASSING: i64 = if cfg!(test) { 16 } else { 20_000 };
/// So many changes, or so long a time in microseconds, lie between two passings.
const CHANGES: u64 = 1_000;
const PAUSE: i64 = 3_600_000_000;

impl Journal {
    /// Removes a part of what [`Journal::prune`] would, so little that nobody waits for long, and only now and then; the
    /// bytes are not erased.
    ///
    /// # Errors
    /// Nothing is removed from the journal then.
    pub(crate) fn prune_in_passing(
        &mut self,
        keep: &Keep,
        now: i64,
        forget: impl FnOnce(&Stale) -> Result<()>,
    ) -> Result<()> {
        let (synced, last) = (self.synced()?, self.last_change()?);
        let mut pass = Pass::read(&self.db)?;
        if !pass.is_due(keep, last, now) {
            return Ok(());
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failure("begin to prune"))?;
        let history = History { db: &tx };
        let cut = Cut::of(history, keep, now, synced)?;
        // Memories that changed since, and those whose versions have come of age since.
        let changed = (pass.version, cut.settled.min(pass.version.saturating_add(PASSING)));
        let aged = (pass.first, (cut.first - 1).min(pass.first.saturating_add(PASSING)).max(pass.first));
        let mut memories = BTreeMap::new();
        for (after, up_to) in [changed, aged] {
            let sql = "SELECT DISTINCT m.n, m.head FROM version v JOIN memory m ON m.n = v.memory WHERE v.n > ?1 AND v.n <= ?2";
            let mut query = tx.prepare_cached(sql).map_err(failure(PRUNE))?;
            let rows = query
                .query_map(params![after, up_to], |row| Ok((row.get(0)?, row.get(1)?)))
                .map_err(failure(PRUNE))?;
            for row in rows {
                let (memory, head): (i64, i64) = row.map_err(failure(PRUNE))?;
                memories.insert(memory, head);
            }
        }
        let taker = Taker::take_from(&tx, memories, cut)?;
        pass.version = changed.1.max(pass.version);
        pass.first = aged.1;
        pass.is_unfinished = pass.version < cut.settled || pass.first < cut.first - 1;
        if !pass.is_unfinished {
            (pass.at, pass.change) = (now, to_sql(last));
        }
        pass.write(&tx)?;
        forget(&taker.stale)?;
        fail::step();
        tx.commit().map_err(failure(PRUNE))?;
        fail::step();
        Ok(())
    }
}

/// How far pruning in passing has come, in `meta`.
#[derive(Debug, Default)]
struct Pass {
    /// When it was last done with all of it, and the newest change then.
    at: i64,
    change: i64,
    /// The newest version that was looked at because its memory had changed.
    version: i64,
    /// The newest version that was looked at because it had come of age.
    first: i64,
    is_unfinished: bool,
    /// What was to be kept then.
    keep: i64,
}

impl Pass {
    /// Whether it is time to go on, or to begin anew.
    fn is_due(&mut self, keep: &Keep, last: u64, now: i64) -> bool {
        let Hash([a, b, c, d, ..]) = Hash::of(format!("{keep:?}").as_bytes());
        let keep = i64::from(u32::from_be_bytes([a, b, c, d]));
        if self.keep != keep {
            *self = Self { keep, is_unfinished: true, ..Self::default() };
        }
        let changes = last.saturating_sub(from_sql(self.change));
        self.is_unfinished || changes >= CHANGES || changes > 0 && now.saturating_sub(self.at) >= PAUSE
    }

    fn read(db: &Connection) -> Result<Self> {
        let mut query = db
            .prepare_cached("SELECT value FROM meta WHERE key = 'pruned ' || ?1")
            .map_err(failure(PRUNE))?;
        let mut read = |key: &str| {
            query
                .query_row(params![key], |row| row.get(0))
                .optional()
                .map(Option::unwrap_or_default)
                .map_err(failure(PRUNE))
        };
        Ok(Self {
            at: read("at")?,
            change: read("change")?,
            version: read("version")?,
            first: read("first")?,
            is_unfinished: read("unfinished")? != 0,
            keep: read("keep")?,
        })
    }

    fn write(&self, db: &Connection) -> Result<()> {
        let values = [
            ("at", self.at),
            ("change", self.change),
            ("version", self.version),
            ("first", self.first),
            ("unfinished", i64::from(self.is_unfinished)),
            ("keep", self.keep),
        ];
        let mut set = db
            .prepare_cached("INSERT OR REPLACE INTO meta VALUES ('pruned ' || ?1, ?2)")
            .map_err(failure(PRUNE))?;
        values
            .iter()
            .try_for_each(|(key, value)| set.execute(params![key, value]).map(drop))
            .map_err(failure(PRUNE))
    }
}
