//! The memories that live, for whoever compares them with the disk.

use rusqlite::{OptionalExtension as _, params};

use super::commit::read_tail;
use super::{HEADS, Head, History, below, failure, from_sql, read_head, to_sql};
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

    /// The memories that live and have this content.
    pub(crate) fn live_with(self, hash: Hash, size: u64) -> Result<Vec<Head>> {
        let doing = "look up a content";
        let sql = format!("{HEADS} WHERE m.live = 1 AND v.sha256 = ?1 AND v.size = ?2 ORDER BY m.path");
        let mut query = self.db.prepare_cached(&sql).map_err(failure(doing))?;
        let rows = query.query_map(params![hash.0, to_sql(size)], read_head).map_err(failure(doing))?;
        rows.collect::<Result<_, _>>().map_err(failure(doing))
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

    /// Whether a memory lives below a directory.
    #[cfg(feature = "search")]
    pub(crate) fn has_live_below(self, directory: &str) -> Result<bool> {
        let doing = "look up a directory";
        let (low, high) = below(directory);
        let sql =
            "SELECT EXISTS (SELECT 1 FROM memory WHERE path >= ?1 AND path < ?2 AND live = 1 AND head > 0)";
        let mut query = self.db.prepare_cached(sql).map_err(failure(doing))?;
        query.query_row(params![low, high], |row| row.get(0)).map_err(failure(doing))
    }

    /// How many memories and versions there are, and the end of the chain.
    pub(crate) fn size(self) -> Result<(u64, u64, Hash)> {
        let count =
            |sql| self.db.query_row(sql, [], |row| row.get(0)).map(from_sql).map_err(failure("count"));
        let memories = count("SELECT count(*) FROM memory WHERE head > 0")?;
        let versions = count("SELECT count(*) FROM version")?;
        Ok((memories, versions, Hash(read_tail(self.db)?.chain)))
    }

    /// How many versions came after the moment at which `end` was the end of the chain; `None` when it never was.
    pub(crate) fn since(self, end: Hash) -> Result<Option<u64>> {
        let doing = "look for the end of the chain";
        if end == Hash([0; 32]) {
            return self.size().map(|(_, versions, _)| Some(versions));
        }
        let sql = "SELECT (SELECT count(*) FROM version WHERE n > at.n) FROM (
                SELECT n FROM version WHERE chain = ?1 UNION ALL SELECT last FROM anchor WHERE chain = ?1) at LIMIT 1";
        let since = self.db.query_row(sql, params![end.0], |row| row.get(0)).optional();
        Ok(since.map_err(failure(doing))?.map(from_sql))
    }

    /// Whether bytes of something that was erased may still be in the journal's files.
    pub(crate) fn is_erasure_due(self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'scrub')";
        self.db.query_row(sql, [], |row| row.get(0)).map_err(failure("look for what is to be erased"))
    }
}
