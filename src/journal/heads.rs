//! The memories that live, for whoever compares them with the disk.

use rusqlite::{OptionalExtension as _, params};

use super::commit::read_tail;
use super::{HEADS, Head, History, below, failure, from_sql, read_head};
use crate::error::Result;
use crate::hash::Hash;

impl History<'_> {
    /// The memory that lives at exactly this path.
    pub(crate) fn live(self, path: &str) -> Result<Option<Head>> {
        let doing = "look up";
        let sql = format!("{HEADS} WHERE m.path = ?1 AND m.live = 1");
        let mut query = self.db.prepare_cached(&sql).map_err(failure(doing))?;
        query.query_row(params![path], read_head).optional().map_err(failure(doing))
    }

    /// Calls `each` with the memories that live below a directory (`""`: all of them), by path.
    pub(crate) fn each_live(self, directory: &str, each: &mut dyn FnMut(Head) -> Result<()>) -> Result<()> {
        let doing = "look up a directory";
        let (low, high) = below(directory);
        let sql = format!("{HEADS} WHERE m.path >= ?1 AND m.path < ?2 AND m.live = 1 ORDER BY m.path");
        let mut query = self.db.prepare_cached(&sql).map_err(failure(doing))?;
        let mut rows = query.query(params![low, high]).map_err(failure(doing))?;
        while let Some(row) = rows.next().map_err(failure(doing))? {
            each(read_head(row).map_err(failure(doing))?)?;
        }
        Ok(())
    }

    /// How many memories and versions there are, and the end of the chain.
    pub(crate) fn size(self) -> Result<(u64, u64, Hash)> {
        let count =
            |sql| self.db.query_row(sql, [], |row| row.get(0)).map(from_sql).map_err(failure("count"));
        let memories = count("SELECT count(*) FROM memory WHERE head > 0")?;
        let versions = count("SELECT count(*) FROM version")?;
        Ok((memories, versions, Hash(read_tail(self.db)?.chain)))
    }
}
