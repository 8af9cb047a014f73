//! Retention: old versions are removed, and anchors keep the chain whole where they were.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::history::READ;
use super::release::{Row, Split};
use super::{History, Journal, body, failure, from_sql, scrub, since, to_sql};
use crate::error::Result;
use crate::fail;
use crate::id::VersionId;
use crate::version::{Keep, Operation};

/// So many versions of a memory that lives always stay.
const NEWEST: u64 = 10;
/// What a version takes beside its bytes, roughly.
const ROW: u64 = 300;
pub(super) const PRUNE: &str = "prune the history";
/// Whether a row of `change` has no version any more; the newest stays in any case, so that its number does.
const IS_EMPTY: &str = "seq < (SELECT max(seq) FROM change) AND
    (SELECT v.change FROM version v WHERE v.n > change.versions ORDER BY v.n LIMIT 1) IS NOT seq";

/// What retention took, or would take.
#[derive(Debug, Default)]
pub(crate) struct Stale {
    /// Versions, those of changes that were taken back not counted.
    pub(crate) versions: u64,
    /// Memories of which nothing is left.
    pub(crate) memories: u64,
    /// Bytes of content that the journal held for them.
    pub(crate) bytes: u64,
    /// The versions whose bytes may be in `kept/`.
    pub(crate) elsewhere: Vec<VersionId>,
}

/// What stays, in terms of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Older versions than this go.
    pub(super) first: i64,
    /// So many of each memory stay.
    newest: u64,
    /// Newer versions than this stay, whatever else holds: those of unsynced changes, and the end of the chain.
    pub(super) settled: i64,
    /// The newest memory.
    memory: i64,
}

/// A memory of which something goes.
pub(super) struct Loss {
    memory: i64,
    split: Split,
}

impl Journal {
    /// Removes the versions that `keep` does not keep. `now` are microseconds since 1970. All changes must be synced.
    ///
    /// `forget` removes what is elsewhere, before the commit: after a crash the next one finds it again. The other bytes are
    /// gone once [`Journal::scrub`] says so.
    ///
    /// # Errors
    /// Nothing is removed from the journal then.
    pub(crate) fn prune(
        &mut self,
        keep: &Keep,
        now: i64,
        forget: impl FnOnce(&Stale) -> Result<()>,
    ) -> Result<Stale> {
        if keep.is_all() {
            return Ok(Stale::default());
        }
        let synced = self.synced()?;
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failure("begin to prune"))?;
        let history = History { db: &tx };
        let cut = Cut::of(history, keep, now, synced)?;
        let taker = Taker::take_from(&tx, history.memories("", 0)?, cut)?;
        // Those that never had versions of their own, too.
        let sql = format!("DELETE FROM change WHERE seq <= ?1 AND {IS_EMPTY}");
        tx.execute(&sql, params![to_sql(synced)]).map_err(failure(PRUNE))?;
        tx.execute("DELETE FROM operation WHERE change NOT IN (SELECT seq FROM change)", [])
            .map_err(failure(PRUNE))?;
        if !taker.gone.is_empty() {
            scrub::demand(&tx)?;
        }
        let stale = taker.stale;
        forget(&stale)?;
        fail::step();
        tx.commit().map_err(failure(PRUNE))?;
        fail::step();
        Ok(stale)
    }
}

impl History<'_> {
    /// What [`Journal::prune`] would remove.
    pub(crate) fn stale(self, keep: &Keep, now: i64) -> Result<Stale> {
        let mut stale = Stale::default();
        if keep.is_all() {
            return Ok(stale);
        }
        let _snapshot = self.snapshot()?;
        let cut = Cut::of(self, keep, now, u64::MAX)?;
        let mut withdrawn = self.withdrawn()?;
        for (memory, head) in self.memories("", 0)? {
            let loss = self.loss(memory, head, withdrawn.remove(&memory).unwrap_or_default(), cut)?;
            stale.count(&loss, body::weigh(self.db, &loss.split.bodies())?);
        }
        Ok(stale)
    }

    /// Which versions of a memory stay and go.
    pub(super) fn loss(self, memory: i64, head: i64, withdrawn: Vec<Row>, cut: Cut) -> Result<Loss> {
        let mut split = Split::default();
        let lives = self.newest(memory)?.is_some_and(|newest| newest.operation != Operation::Deleted);
        for (age, row) in (0..).zip(self.rows(head)?) {
            let is_kept =
                row.n >= cut.first && age < cut.newest || lives && age < NEWEST || cut.is_unsettled(row.n);
            if is_kept { split.stay.push(row) } else { split.go.push(row) }
        }
        for row in withdrawn {
            if cut.is_unsettled(row.n) { split.stay.push(row) } else { split.go.push(row) }
        }
        // The newest memory never goes entirely, so that its number is never given to another.
        if memory == cut.memory && split.stay.is_empty() {
            split.stay.extend(split.go.extract_if(.., |row| row.n == head));
        }
        Ok(Loss { memory, split })
    }
}

impl Cut {
    pub(super) fn of(history: History<'_>, keep: &Keep, now: i64, synced: u64) -> Result<Self> {
        let number = |sql: &str| history.count(sql).map(to_sql);
        let newest = number("SELECT coalesce(max(n), 0) FROM version")?;
        let memory = number("SELECT coalesce(max(n), 0) FROM memory")?;
        let mut query = history.prepare("SELECT versions FROM change WHERE seq > ?1 ORDER BY seq LIMIT 1")?;
        let unsynced = query
            .query_row(params![i64::try_from(synced).unwrap_or(i64::MAX)], |row| row.get(0))
            .optional()
            .map_err(failure(READ))?;
        let settled = unsynced.unwrap_or(newest).min(newest - 1);
        let mut first = 0;
        if let Some(age) = keep.age {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            // `None`: nothing is as young as that.
            first = history.newest_before(now.saturating_sub(age))?.map_or(i64::MAX, |older| older + 1);
        }
        if let Some(size) = keep.size {
            first = first.max(Self::by_size(history, size)?);
        }
        // Nothing beyond the end: what is to come is not old.
        let first = first.min(newest + 1);
        let newest = keep.versions.map_or(u64::MAX, |newest| newest.max(NEWEST));
        Ok(Self { first, newest, settled, memory })
    }

    /// The oldest version that is kept where the newest ones may take `size` bytes.
    fn by_size(history: History<'_>, size: u64) -> Result<i64> {
        let pages = "SELECT (page_count - freelist_count) * page_size
            FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        if history.count(pages)? <= size {
            return Ok(0);
        }
        let mut query = history.prepare(
            "SELECT v.n, v.body, (SELECT length(b.bytes) FROM body b WHERE b.n = v.body) FROM version v ORDER BY v.n DESC",
        )?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        let (mut taken, mut first) = (0_u64, i64::MAX);
        let mut last_body = None;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            let read = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (n, body, length): (i64, Option<i64>, Option<i64>) = read().map_err(failure(READ))?;
            let bytes = length.filter(|_| body != last_body).map_or(0, from_sql);
            last_body = body;
            taken = taken.saturating_add(bytes).saturating_add(ROW);
            if taken > size {
                break;
            }
            first = n;
        }
        Ok(first)
    }

    fn is_unsettled(self, n: i64) -> bool {
        n > self.settled
    }
}

impl Stale {
    fn count(&mut self, loss: &Loss, bytes: u64) {
        let Split { stay, go } = &loss.split;
        let real = go.iter().filter(|row| !row.is_withdrawn).count() as u64;
        self.versions += real;
        self.memories += u64::from(stay.is_empty() && real > 0);
        self.bytes += bytes;
        self.elsewhere.extend(go.iter().filter(|row| row.body.is_none()).map(|row| row.id));
    }
}

/// Removes what goes.
pub(super) struct Taker<'a> {
    db: &'a Connection,
    pub(super) stale: Stale,
    /// The versions that went.
    gone: BTreeSet<i64>,
    /// The changes that they were of.
    changes: BTreeSet<i64>,
}

impl<'a> Taker<'a> {
    /// Takes from memories, each with its newest version, what does not stay.
    pub(super) fn take_from(
        db: &'a Connection,
        memories: impl IntoIterator<Item = (i64, i64)>,
        cut: Cut,
    ) -> Result<Self> {
        let history = History { db };
        let mut taker = Self { db, stale: Stale::default(), gone: BTreeSet::new(), changes: BTreeSet::new() };
        let mut withdrawn = history.withdrawn()?;
        for (memory, head) in memories {
            let withdrawn = withdrawn.remove(&memory).unwrap_or_default();
            taker.take(history.loss(memory, head, withdrawn, cut)?)?;
        }
        taker.finish()?;
        Ok(taker)
    }

    fn take(&mut self, loss: Loss) -> Result<()> {
        if loss.split.go.is_empty() {
            return Ok(());
        }
        self.stale.count(&loss, body::weigh(self.db, &loss.split.bodies())?);
        loss.split.release(self.db, loss.memory)?;
        if loss.split.stay.is_empty() {
            self.execute("DELETE FROM memory WHERE n = ?1 AND live = 0", loss.memory)?;
            let newest = loss.split.go.iter().map(|row| row.n).max();
            newest.map_or(Ok(()), |newest| since::forget(self.db, newest))?;
        }
        for row in loss.split.go {
            self.gone.insert(row.n);
            self.changes.insert(row.change);
        }
        Ok(())
    }

    /// Removes the rows of what was taken, and leaves anchors.
    fn finish(&self) -> Result<()> {
        let mut run: Option<(i64, i64)> = None;
        for &n in &self.gone {
            match &mut run {
                Some((_, last)) if *last + 1 == n => *last = n,
                run => {
                    if let Some(run) = run.replace((n, n)) {
                        self.anchor(run)?;
                    }
                }
            }
        }
        if let Some(run) = run {
            self.anchor(run)?;
        }
        let sql = format!("DELETE FROM change WHERE seq = ?1 AND {IS_EMPTY}");
        for &change in &self.changes {
            self.execute(&sql, change)?;
            self.execute(
                "DELETE FROM operation WHERE change = ?1 AND NOT EXISTS (SELECT 1 FROM change WHERE seq = ?1)",
                change,
            )?;
        }
        Ok(())
    }

    /// Removes a run of versions; its anchor grows together with those beside it.
    fn anchor(&self, (first, last): (i64, i64)) -> Result<()> {
        let sql = "SELECT chain FROM version WHERE n = ?1";
        let chain: [u8; 32] =
            self.db.query_row(sql, params![last], |row| row.get(0)).map_err(failure(PRUNE))?;
        let before =
            "SELECT first FROM anchor WHERE first < ?1 AND last = ?1 - 1 ORDER BY first DESC LIMIT 1";
        let before = self.db.query_row(before, params![first], |row| row.get(0)).optional();
        let after = "SELECT last, chain FROM anchor WHERE first = ?1 + 1";
        let after = self.db.query_row(after, params![last], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let from = before.map_err(failure(PRUNE))?.unwrap_or(first);
        let (to, chain): (i64, [u8; 32]) = after.map_err(failure(PRUNE))?.unwrap_or((last, chain));
        self.db
            .execute("DELETE FROM anchor WHERE first IN (?1, ?2 + 1)", params![from, last])
            .and_then(|_| self.db.execute("INSERT INTO anchor VALUES (?1, ?2, ?3)", params![from, to, chain]))
            .map_err(failure(PRUNE))?;
        for table in [
            "DELETE FROM redaction WHERE version",
            "DELETE FROM warning WHERE version",
            "DELETE FROM version WHERE n",
        ] {
            let sql = format!("{table} BETWEEN ?1 AND ?2");
            self.db.execute(&sql, params![first, last]).map_err(failure(PRUNE))?;
        }
        Ok(())
    }

    fn execute(&self, sql: &str, parameter: i64) -> Result<()> {
        let mut statement = self.db.prepare_cached(sql).map_err(failure(PRUNE))?;
        statement.execute(params![parameter]).map(drop).map_err(failure(PRUNE))
    }
}
