//! Reading the history: versions by what is asked of them, states of the past.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{
    CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction,
    TransactionBehavior, params,
};

use super::filter::{COUNTED, Filter, Range, VERSIONS, condition, micros, read_version};
use super::{FOREIGN_WAIT, Journal, below, body, failure, schema};
use crate::error::{Error, Result};
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::version::{Log, Version};

/// A journal that is open for reading only: beside writers, of this process and of others.
#[derive(Debug)]
pub(crate) struct Reader {
    db: Connection,
}

/// What can be asked of the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub(super) db: &'a Connection,
}

impl Reader {
    /// Opens the journal at `path` for reading; `Ok(None)` when there is none, or one of an older format, which has to be
    /// opened for writing once.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let db = match Self::connect(path, OpenFlags::empty()) {
            // Beside a database that lies still on a disk that cannot be written SQLite can make none of its files.
            Err(error) if is_unopenable(&error) && is_at_rest(path) => {
                let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
                Self::connect(format!("file:{path}?immutable=1").as_ref(), OpenFlags::SQLITE_OPEN_URI)
            }
            connected => connected,
        };
        match db {
            Ok((_, found)) if found > schema::FORMAT => {
                Err(Error::NewerJournal { found, known: schema::FORMAT })
            }
            Ok((db, schema::FORMAT)) => Ok(Some(Self { db })),
            Ok(_) => Ok(None),
            Err(error) if is_unopenable(&error) && !path.exists() => Ok(None),
            Err(error) => Err(failure("open for reading")(error)),
        }
    }

    /// The open database, and the format of it.
    fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<(Connection, i64)> {
        let flags = flags
            | OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(FOREIGN_WAIT)?;
        db.set_prepared_statement_cache_capacity(48);
        schema::plan_once(&db)?;
        let format = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok((db, format))
    }

    pub(crate) fn history(&self) -> History<'_> {
        History { db: &self.db }
    }

    /// From now on all is read as it is at this moment.
    pub(crate) fn freeze(&self) -> Result<()> {
        if self.db.is_autocommit() {
            let begin = || {
                self.db.prepare_cached("BEGIN")?.execute([])?;
                // The snapshot is taken by the first thing that is read.
                self.db.prepare_cached("SELECT EXISTS (SELECT 1 FROM meta)")?.query_row([], |_| Ok(()))
            };
            begin().map_err(failure("freeze the history"))?;
        }
        Ok(())
    }

    /// Ends what [`Reader::freeze`] began: nobody who writes has to do with it any more.
    pub(crate) fn rest(&self) -> Result<()> {
        if self.db.is_autocommit() {
            return Ok(());
        }
        let end = self.db.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
        end.map(drop).map_err(failure("end reading"))
    }

    /// Whether the tables still are those that this program knows: another process may have brought them up to date since.
    pub(crate) fn is_current(&self) -> bool {
        let format = self.db.prepare_cached("PRAGMA user_version");
        format
            .and_then(|mut format| format.query_row([], |row| row.get(0)))
            .is_ok_and(|found: i64| found == schema::FORMAT)
    }
}

fn is_unopenable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Whether the database has no log beside it: nobody writes, and nothing waits to be recovered.
fn is_at_rest(path: &Path) -> bool {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        Path::new(&name).exists()
    };
    path.exists() && !beside("-wal") && !beside("-shm")
}

impl Journal {
    pub(crate) fn history(&self) -> History<'_> {
        History { db: &self.db }
    }
}

/// As many microseconds a clock may have gone back between the beginning of a change and its commit: a day.
const WRONG_CLOCK: i64 = 86_400_000_000;
/// What is wrong when the history cannot be read.
pub(super) const READ: &str = "read the history";

impl<'a> History<'a> {
    /// Calls `each` with the versions that `log` asks for, newest first. Those of withdrawn changes never were.
    pub(crate) fn versions(
        self,
        log: &Log,
        each: &mut dyn FnMut(Version) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let _snapshot = self.snapshot()?;
        let Some(range) = self.range(log)? else { return Ok(()) };
        let path = log.path.as_ref().filter(|path| !path.is_root());
        let is_walk = log.change.is_none() && (path.is_some() || log.memory.is_some());
        let filter = Filter::of(log, is_walk && log.memory.is_none());
        let mut query = filter.prepare(self.db)?;
        let mut of_change = |seq| filter.run(&mut query, range.and(self.versions_of(seq)?), each);
        if let Some(change) = log.change {
            for seq in self.rows_of(change)?.into_iter().rev() {
                if of_change(seq)?.is_break() {
                    break;
                }
            }
        } else if let Some(actor) = log.actor.as_ref().filter(|_| !is_walk) {
            // There may be few changes by them, among many.
            let (condition, value) = condition(actor);
            let sql = format!(
                "SELECT seq FROM change c WHERE {condition} AND withdrawn = 0 AND versions < ? ORDER BY seq DESC"
            );
            let mut changes = self.prepare(&sql)?;
            let mut rows = changes.query(params![value, range.up_to]).map_err(failure(READ))?;
            while let Some(row) = rows.next().map_err(failure(READ))? {
                let seq = row.get(0).map_err(failure(READ))?;
                if self.versions_of(seq)?.up_to <= range.after || of_change(seq)?.is_break() {
                    break;
                }
            }
        } else if is_walk {
            self.walk(self.heads(log)?, range, &mut |n| filter.run(&mut query, Range::one(n), each))?;
        } else {
            let _ = filter.run(&mut query, range, each)?;
        }
        Ok(())
    }

    pub(crate) fn version(self, id: VersionId) -> Result<Option<Version>> {
        self.one_counted("v.id = ?1", id.0.to_bytes())
    }

    /// As [`History::version`], also of a change that was taken back.
    pub(crate) fn recorded(self, id: VersionId) -> Result<Option<Version>> {
        self.one_version("v.id = ?1", id.0.to_bytes())
    }

    /// The newest version of the memory that lives at this very path.
    pub(crate) fn head(self, path: &MemoryPath) -> Result<Option<Version>> {
        self.one_counted("v.n = (SELECT head FROM memory WHERE path = ?1 AND live = 1)", path.as_str())
    }

    /// The newest version of a memory, living or not.
    pub(crate) fn newest(self, memory: i64) -> Result<Option<Version>> {
        self.one_counted("v.n = (SELECT head FROM memory WHERE n = ?1)", memory)
    }

    /// As [`History::newest`], by the memory's id.
    pub(crate) fn newest_of(self, memory: MemoryId) -> Result<Option<Version>> {
        self.one_counted("v.n = (SELECT head FROM memory WHERE id = ?1)", memory.0.to_bytes())
    }

    /// The version of this row.
    pub(super) fn row(self, n: i64) -> Result<Option<Version>> {
        self.one_counted("v.n = ?1", n)
    }

    /// The bytes of a version (its row); `None` when the journal does not hold them.
    pub(crate) fn content(self, version: i64) -> Result<Option<Vec<u8>>> {
        body::content(self.db, version)
    }

    /// As [`History::versions`], with the bytes of each; those whose bytes the journal does not hold are passed over.
    pub(crate) fn contents(
        self,
        log: &Log,
        mut each: impl FnMut(Version, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut query = self.prepare("SELECT body FROM version WHERE n = ?1")?;
        let mut contents = body::Descent::default();
        self.versions(log, &mut |version| {
            let body: Option<i64> =
                query.query_row(params![version.n], |row| row.get(0)).map_err(failure(READ))?;
            match body {
                Some(body) => each(version, contents.read(self.db, body)?),
                None => Ok(ControlFlow::Continue(())),
            }
        })
    }

    /// Several questions are answered of one moment.
    pub(super) fn snapshot(self) -> Result<Option<Transaction<'a>>> {
        if !self.db.is_autocommit() {
            return Ok(None);
        }
        Transaction::new_unchecked(self.db, TransactionBehavior::Deferred).map(Some).map_err(failure(READ))
    }

    pub(super) fn prepare(self, sql: &str) -> Result<CachedStatement<'a>> {
        self.db.prepare_cached(sql).map_err(failure(READ))
    }

    fn one_counted(self, condition: &str, parameter: impl rusqlite::ToSql) -> Result<Option<Version>> {
        self.one_version(&format!("{COUNTED} AND {condition}"), parameter)
    }

    fn one_version(self, condition: &str, parameter: impl rusqlite::ToSql) -> Result<Option<Version>> {
        let mut query = self.prepare(&format!("{VERSIONS} WHERE {condition}"))?;
        query.query_row(params![parameter], read_version).optional().map_err(failure(READ))
    }

    /// The version before one in its memory, by their rows: 0 for a first one, `None` when the row itself is gone.
    pub(super) fn prev(self, n: i64) -> Result<Option<i64>> {
        let mut query = self.prepare("SELECT coalesce(prev, 0) FROM version WHERE n = ?1")?;
        query.query_row(params![n], |row| row.get(0)).optional().map_err(failure(READ))
    }

    /// Calls `each` with the rows of several memories' versions, newest first, beginning with their heads.
    fn walk(
        self,
        mut heads: BinaryHeap<i64>,
        range: Range,
        each: &mut dyn FnMut(i64) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        while let Some(n) = heads.pop().filter(|&n| n > range.after) {
            heads.extend(self.prev(n)?);
            if n <= range.up_to && each(n)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The newest versions of the memories that are asked for by path or id.
    fn heads(self, log: &Log) -> Result<BinaryHeap<i64>> {
        match (log.memory, &log.path) {
            (Some(memory), _) => {
                let mut query = self.prepare("SELECT head FROM memory WHERE id = ?1")?;
                let head = query
                    .query_row(params![memory.0.to_bytes()], |row| row.get(0))
                    .optional()
                    .map_err(failure(READ))?;
                Ok(head.into_iter().collect())
            }
            (None, path) => {
                let path = path.as_ref().map_or("", MemoryPath::as_str);
                Ok(self.memories(path, 0)?.into_iter().map(|(_, head)| head).collect())
            }
        }
    }

    /// The memories that once were at or below `path`, with their heads, where those are newer than the version `after`.
    pub(super) fn memories(self, path: &str, after: i64) -> Result<Vec<(i64, i64)>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        if path.is_empty() {
            let mut query = self.prepare("SELECT n, head FROM memory WHERE head > ?1")?;
            let rows = query.query_map(params![after], read).map_err(failure(READ))?;
            return rows.collect::<Result<_, _>>().map_err(failure(READ));
        }
        let mut query = self.prepare(
            "SELECT m.n, m.head FROM (SELECT memory FROM place WHERE path = ?1
                UNION SELECT memory FROM place WHERE path >= ?2 AND path < ?3) p
             CROSS JOIN memory m ON m.n = p.memory WHERE m.head > ?4",
        )?;
        let (low, high) = below(path);
        let rows = query.query_map(params![path, low, high, after], read).map_err(failure(READ))?;
        rows.collect::<Result<_, _>>().map_err(failure(READ))
    }

    /// Between which rows all lies that `log` asks for; `None`: there is nothing.
    fn range(self, log: &Log) -> Result<Option<Range>> {
        let mut range = Range::ALL;
        if let Some(id) = log.after {
            let mut query = self.prepare("SELECT n FROM version WHERE id = ?1")?;
            let n: Option<i64> = query
                .query_row(params![id.0.to_bytes()], |row| row.get(0))
                .optional()
                .map_err(failure(READ))?;
            range.up_to = n.ok_or(Error::NoVersion { id })? - 1;
        }
        if let Some(before) = log.before
            && let Some(version) = self.newest_before(micros(before))?
        {
            range.up_to = range.up_to.min(version);
        }
        if let Some(since) = log.since {
            match self.newest_before(micros(since))? {
                Some(version) => range.after = version,
                None => return Ok(None),
            }
        }
        Ok(Some(range))
    }

    /// The newest version made before `time` (microseconds since 1970); `None` when nothing was made at `time` or later.
    pub(super) fn newest_before(self, time: i64) -> Result<Option<i64>> {
        Ok(self.first_change(time)?.map(|(_, versions)| versions))
    }

    /// The first change at `time` or later, and the newest version before it.
    fn first_change(self, time: i64) -> Result<Option<(i64, i64)>> {
        // Times strictly increase; some rows may be gone.
        let mut ends = self.prepare(
            "SELECT coalesce((SELECT min(seq) FROM change), 1), coalesce((SELECT max(seq) FROM change), 0)",
        )?;
        let (mut low, mut high): (i64, i64) =
            ends.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failure(READ))?;
        let mut query =
            self.prepare("SELECT at, seq, versions FROM change WHERE seq >= ?1 ORDER BY seq LIMIT 1")?;
        let mut first = None;
        while low <= high {
            let middle = low + (high - low) / 2;
            let (at, found): (i64, _) = query
                .query_row(params![middle], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
                .map_err(failure(READ))?;
            if at >= time {
                first = Some(found);
                high = middle - 1;
            } else {
                low = middle + 1;
            }
        }
        Ok(first)
    }

    /// The rows of a change that were not withdrawn, in order: a very large one has several.
    pub(super) fn rows_of(self, change: ChangeId) -> Result<Vec<i64>> {
        // An id has the time in it at which its change began, as far as the clock was right then.
        let began = i64::try_from(change.0.timestamp_ms()).unwrap_or(0).saturating_mul(1000);
        let first = self.first_change(began.saturating_sub(WRONG_CLOCK))?.map_or(i64::MAX, |(seq, _)| seq);
        let mut query = self
            .prepare("SELECT seq FROM change WHERE seq >= ?1 AND id = ?2 AND withdrawn = 0 ORDER BY seq")?;
        for first in [first, 0] {
            let rows = query
                .query_map(params![first, change.0.to_bytes()], |row| row.get(0))
                .map_err(failure(READ))?;
            let rows: Vec<i64> = rows.collect::<Result<_, _>>().map_err(failure(READ))?;
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// The range of versions in which those of a row of `change` lie.
    pub(super) fn versions_of(self, seq: i64) -> Result<Range> {
        let mut query = self.prepare(
            "SELECT versions, coalesce((SELECT b.versions FROM change b WHERE b.seq > ?1 ORDER BY b.seq LIMIT 1), ?2)
             FROM change WHERE seq = ?1",
        )?;
        query
            .query_row(params![seq, i64::MAX], |row| Ok(Range { after: row.get(0)?, up_to: row.get(1)? }))
            .map_err(failure(READ))
    }
}
