//! What became of the memories since somebody last looked: for whoever keeps something that is derived from them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::commit::read_tail;
use super::filter::{VERSIONS, read_version};
use super::history::READ;
use super::{History, below, failure};
use crate::error::Result;
use crate::hash::Hash;
use crate::id::MemoryId;
use crate::path::MemoryPath;
use crate::version::{Operation, Version};

/// Whether what is known from a mark on can be brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what has a gap must be built anew"]
pub(crate) enum Reach {
    /// All that changed was told.
    Whole,
    /// Memories ended since the mark and retention took all that was left of them, or the mark is none of this journal:
    /// nothing was told.
    Gap,
}

/// Who is told of memories, each by its newest version with its bytes, until it breaks off.
pub(crate) type Told<'a> = dyn FnMut(Version, Option<&[u8]>) -> Result<ControlFlow<()>> + 'a;

/// As many changes are committed at once at most: those of a batch, each with what others did before it.
const BATCH: i64 = 2 * 64;

/// In `meta`: the newest version of the memories of which nothing is left.
const FORGOTTEN: &str = "forgotten";

impl History<'_> {
    /// The newest version's row; 0 where there is none. Whoever asks for this first, and then for [`History::heads_since`]
    /// the mark before, misses nothing.
    pub(crate) fn mark(self) -> Result<i64> {
        self.number("SELECT coalesce((SELECT n FROM version ORDER BY n DESC LIMIT 1), 0)", [])
    }

    /// As [`History::mark`], with the chain's hash there.
    pub(crate) fn end(self) -> Result<(i64, Hash)> {
        let tail = read_tail(self.db)?;
        Ok((tail.version, Hash(tail.chain)))
    }

    /// The chain's hash at a version's row, by which a mark is told from one of another journal; `None` where that row is
    /// gone. At 0 it is zeros.
    pub(crate) fn chain_at(self, mark: i64) -> Result<Option<Hash>> {
        if mark == 0 {
            return Ok(Some(Hash([0; 32])));
        }
        let mut query = self.prepare("SELECT chain FROM version WHERE n = ?1")?;
        query.query_row(params![mark], |row| row.get(0).map(Hash)).optional().map_err(failure(READ))
    }

    /// Calls `each` with the newest version of every memory that has one after the row `mark`, oldest first, with its bytes
    /// where the journal holds them, until it breaks off. All is as it was at one moment; it costs what has changed.
    ///
    /// A deletion comes as the version that it is. Since a reader sees versions before they are published, and some are
    /// taken back then, the memories of what was taken back come again: with the version that counts, or, where the memory
    /// never was, as a deletion. From 0 on there is nothing to forget: only memories that live are told.
    pub(crate) fn heads_since(self, mark: i64, each: &mut Told<'_>) -> Result<Reach> {
        self.newest_since(mark, &mut |version| {
            let bytes = if version.operation == Operation::Deleted { None } else { self.content(version.n)? };
            each(version, bytes.as_deref())
        })
    }

    /// As [`History::heads_since`], without the bytes.
    pub(crate) fn newest_since(
        self,
        mark: i64,
        each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<Reach> {
        let _snapshot = self.snapshot()?;
        if !self.reaches(mark)? {
            return Ok(Reach::Gap);
        }
        for n in self.changed_heads(mark)? {
            let Some(version) = self.standing(n)? else { continue };
            if each(version)?.is_break() {
                break;
            }
        }
        Ok(Reach::Whole)
    }

    /// Where the memories are, or were when they ended, that changed after a mark: those of [`History::heads_since`];
    /// `None` for a gap.
    pub(crate) fn paths_since(self, mark: i64) -> Result<Option<Vec<String>>> {
        let _snapshot = self.snapshot()?;
        if !self.reaches(mark)? {
            return Ok(None);
        }
        let mut query =
            self.prepare("SELECT m.path FROM version v JOIN memory m ON m.n = v.memory WHERE v.n = ?1")?;
        let path = |n| query.query_row(params![n], |row| row.get(0)).optional();
        let heads = self.changed_heads(mark)?.into_iter();
        let paths = heads.map(path).collect::<Result<Vec<_>, _>>().map_err(failure(READ))?;
        Ok(Some(paths.into_iter().flatten().collect()))
    }

    /// The newest version of a memory (its row), a deletion too.
    pub(crate) fn of_row(self, memory: i64) -> Result<Option<Version>> {
        self.newest(memory)
    }

    /// Which memory a row is of, and where it lives; `None` where it does not.
    pub(crate) fn place_of(self, memory: i64) -> Result<Option<(MemoryId, MemoryPath)>> {
        let mut query = self.prepare("SELECT id, path FROM memory WHERE n = ?1 AND live = 1 AND head > 0")?;
        let read = |row: &rusqlite::Row<'_>| {
            let path = MemoryPath::from_normal(row.get::<_, String>(1)?);
            Ok((MemoryId(ulid::Ulid::from_bytes(row.get(0)?)), path))
        };
        query.query_row(params![memory], read).optional().map_err(failure(READ))
    }

    /// Calls `each` with the rows of the memories that live at or below a path (`""`: of all).
    pub(crate) fn live_below(self, path: &str, each: &mut dyn FnMut(i64) -> Result<()>) -> Result<()> {
        let (low, high) = below(path);
        let sql =
            "SELECT n FROM memory WHERE (path >= ?1 AND path < ?2 OR path = ?3) AND live = 1 AND head > 0";
        let mut query = self.prepare(sql)?;
        let mut rows = query.query(params![low, high, path]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            each(row.get(0).map_err(failure(READ))?)?;
        }
        Ok(())
    }

    /// Whether all that ended after a mark can still be told.
    pub(super) fn reaches(self, mark: i64) -> Result<bool> {
        if mark == 0 {
            return Ok(true);
        }
        let forgotten =
            self.number("SELECT coalesce((SELECT value FROM meta WHERE key = ?1), 0)", [FORGOTTEN])?;
        Ok((forgotten..=self.mark()?).contains(&mark))
    }

    /// The newest versions of the memories that changed after a mark, and of those of which something was taken back that
    /// may have been seen by then; in order.
    fn changed_heads(self, mark: i64) -> Result<BTreeSet<i64>> {
        if mark == 0 {
            return self.rows_into("SELECT head FROM memory WHERE live = 1", [], BTreeSet::new());
        }
        let memories =
            self.rows_into("SELECT DISTINCT memory FROM version WHERE n > ?1", [mark], BTreeSet::new())?;
        let memories = self.withdrawn_about(mark, memories)?;
        let mut query = self.prepare("SELECT head FROM memory WHERE n = ?1")?;
        let head = |memory| query.query_row(params![memory], |row| row.get(0)).optional();
        let heads = memories.into_iter().map(head).collect::<Result<Vec<_>, _>>().map_err(failure(READ))?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// Adds the memories of changes that were taken back after who set the mark may have seen them. Nothing is committed
    /// between a batch and the withdrawal of changes in it, so a mark beyond the batch was set afterwards.
    fn withdrawn_about(self, mark: i64, mut memories: BTreeSet<i64>) -> Result<BTreeSet<i64>> {
        let sql = "SELECT coalesce((SELECT change FROM version WHERE n <= ?1 ORDER BY n DESC LIMIT 1), 0)";
        let change = self.number(sql, [mark])?;
        let sql = "SELECT seq FROM change WHERE withdrawn = 1 AND seq > ?1";
        for seq in self.rows_into(sql, [change - BATCH], BTreeSet::new())? {
            let range = self.versions_of(seq)?;
            let sql = "SELECT memory FROM version WHERE n > ?1 AND n <= ?2 AND change = ?3";
            memories = self.rows_into(sql, [range.after, range.up_to, seq], memories)?;
        }
        Ok(memories)
    }

    /// The version of this row, a memory's head. One that was taken back is a memory's first: that never was.
    fn standing(self, n: i64) -> Result<Option<Version>> {
        if let Some(version) = self.row(n)? {
            return Ok(Some(version));
        }
        let mut query = self.prepare(&format!("{VERSIONS} WHERE v.n = ?1"))?;
        let version = query.query_row(params![n], read_version).optional().map_err(failure(READ))?;
        Ok(version.map(|version| Version {
            operation: Operation::Deleted,
            content_sha256: None,
            content_size_bytes: None,
            mode: None,
            is_stored: false,
            ..version
        }))
    }

    fn number(self, sql: &str, parameters: impl rusqlite::Params) -> Result<i64> {
        self.prepare(sql)?.query_row(parameters, |row| row.get(0)).map_err(failure(READ))
    }

    fn rows_into(
        self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut found: BTreeSet<i64>,
    ) -> Result<BTreeSet<i64>> {
        let mut query = self.prepare(sql)?;
        let rows = query.query_map(parameters, |row| row.get(0)).map_err(failure(READ))?;
        for row in rows {
            found.insert(row.map_err(failure(READ))?);
        }
        Ok(found)
    }
}

/// Takes note, in the transaction that removes all of a memory, of how far its versions went.
pub(super) fn forget(db: &Connection, newest: i64) -> Result<()> {
    let sql = "INSERT INTO meta VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)";
    let mut note = db.prepare_cached(sql).map_err(failure("note what is forgotten"))?;
    note.execute(params![FORGOTTEN, newest]).map(drop).map_err(failure("note what is forgotten"))
}
