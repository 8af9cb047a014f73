//! Erasing for good: what was deleted from the tables must be in no byte of the database's files.
//!
//! SQLite overwrites deleted rows, but copies of them can be left between the rows of pages that it took apart before. So
//! the whole database is rewritten, and its log cut off.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::{FOREIGN_WAIT, Journal, failure};
use crate::error::Result;
use crate::fail;

/// A larger database is rewritten by way of a temporary file in place of memory.
const LARGE: i64 = 256 << 20;
/// How long those are waited for that just read.
const READERS_WAIT: Duration = Duration::from_millis(200);
/// What is left to be done, in `meta`: everything, or only to cut off the log.
const REWRITE: i64 = 1;
const CUT: i64 = 2;

const SCRUB: &str = "erase";

/// Records, in the transaction that deletes, that its bytes are to be erased.
pub(super) fn demand(db: &Connection) -> Result<()> {
    set(db, REWRITE)
}

fn set(db: &Connection, stage: i64) -> Result<()> {
    db.execute("INSERT OR REPLACE INTO meta VALUES ('scrub', ?1)", params![stage])
        .map(drop)
        .map_err(failure(SCRUB))
}

impl Journal {
    fn stage(&self) -> Result<Option<i64>> {
        let mut query =
            self.db.prepare_cached("SELECT value FROM meta WHERE key = 'scrub'").map_err(failure(SCRUB))?;
        query.query_row([], |row| row.get(0)).optional().map_err(failure(SCRUB))
    }

    /// Erases what was deleted, if something was; `false` when somebody reads, or there is no room: then it is still due.
    ///
    /// `forget` removes what others may have made of it: it runs when nobody reads any more who began before.
    ///
    /// # Errors
    /// What `forget` returns, or what the disk says: then it is still due, too.
    pub(crate) fn scrub(&mut self, forget: impl FnOnce() -> Result<()>) -> Result<bool> {
        let Some(stage) = self.stage()? else { return Ok(true) };
        if stage == REWRITE {
            if !self.rewrite()? {
                return Ok(false);
            }
            set(&self.db, CUT)?;
        }
        if !self.cut()? {
            return Ok(false);
        }
        forget()?;
        fail::step();
        self.db.execute("DELETE FROM meta WHERE key = 'scrub'", []).map_err(failure(SCRUB))?;
        Ok(true)
    }

    fn rewrite(&self) -> Result<bool> {
        let pragma = |sql| self.db.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failure(SCRUB));
        let size = pragma("PRAGMA page_count")?.saturating_mul(pragma("PRAGMA page_size")?);
        let store = if size > LARGE { "FILE" } else { "MEMORY" };
        fail::step();
        // Where the log is in the database already it is written over, and needs no more room.
        let rewrite = format!("PRAGMA wal_checkpoint(PASSIVE); PRAGMA temp_store = {store}; VACUUM");
        let rewritten = self.db.execute_batch(&rewrite);
        self.db.execute_batch("PRAGMA temp_store = MEMORY").map_err(failure(SCRUB))?;
        fail::step();
        match rewritten {
            Ok(()) => Ok(true),
            Err(error) if is_for_later(&error) => Ok(false),
            Err(error) => Err(failure(SCRUB)(error)),
        }
    }

    /// Brings all of the log into the database and cuts it off, so that no byte is left in it.
    fn cut(&self) -> Result<bool> {
        self.db.busy_timeout(READERS_WAIT).map_err(failure(SCRUB))?;
        fail::step();
        let busy = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        self.db.busy_timeout(FOREIGN_WAIT).map_err(failure(SCRUB))?;
        match busy {
            Ok(busy) => Ok(busy == 0),
            Err(error) if is_for_later(&error) => Ok(false),
            Err(error) => Err(failure(SCRUB)(error)),
        }
    }
}

fn is_for_later(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory))
}
