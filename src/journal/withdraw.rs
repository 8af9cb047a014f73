//! Taking a committed change back that could not be published.

use rusqlite::{Connection, TransactionBehavior, params};

use super::commit::DELETED;
use super::{Journal, failure, to_sql};
use crate::error::Result;
use crate::fail;

impl Journal {
    /// Marks `changes` (oldest first) as withdrawn and gives every memory the head that it had before them.
    /// The versions stay in the log.
    ///
    /// # Errors
    /// Nothing is withdrawn then.
    pub(crate) fn withdraw(&mut self, changes: &[u64]) -> Result<()> {
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failure("begin to withdraw"))?;
        changes
            .iter()
            .rev()
            .try_for_each(|&change| undo(&tx, to_sql(change)))
            .map_err(failure("withdraw"))?;
        fail::step();
        tx.commit().map_err(failure("withdraw"))?;
        fail::step();
        Ok(())
    }
}

fn undo(db: &Connection, change: i64) -> rusqlite::Result<()> {
    let versions = {
        let mut query = db.prepare_cached(
            "SELECT memory, prev FROM version WHERE n > (SELECT versions FROM change WHERE seq = ?1) AND change = ?1
             ORDER BY n DESC",
        )?;
        let rows = query.query_map(params![change], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<Vec<(i64, Option<i64>)>, _>>()?
    };
    for (memory, prev) in versions {
        match prev {
            // The memory itself stays, dead, so that its number is never given to another.
            None => db.execute("UPDATE memory SET live = 0 WHERE n = ?1", params![memory])?,
            Some(prev) => db.execute(
                "UPDATE memory SET head = v.n, path = coalesce(v.path, ''), live = v.operation <> ?3
                 FROM version v WHERE v.n = ?2 AND memory.n = ?1",
                params![memory, prev, DELETED],
            )?,
        };
    }
    db.execute("UPDATE change SET withdrawn = 1 WHERE seq = ?1", params![change])?;
    Ok(())
}
