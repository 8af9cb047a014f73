//! The journal: a redo log with history. The only module that names SQLite.
//!
//! One call of [`Journal::commit`] is one transaction, synced: the durable moment of the changes in it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use crate::error::{Error, Result, Trouble};
use crate::fail;
use crate::guard::Warning;
use crate::hash::Hash;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::text::Bytes;
use crate::version::Actor;

mod audit;
mod body;
mod commit;
mod delta;
mod figures;
mod filter;
mod heads;
mod history;
mod passing;
mod past;
mod prune;
mod redact;
mod redo;
mod release;
mod said;
mod schema;
mod scrub;
mod since;
#[cfg(test)]
pub(crate) mod verify;
mod withdraw;

pub(crate) use audit::Problem;
#[cfg(test)]
pub(crate) use audit::Verified;
pub(crate) use commit::Committed;
pub(crate) use history::{History, Reader};
pub(crate) use past::Target;
pub(crate) use prune::Stale;
pub(crate) use redo::{Logged, LoggedStep, Past};
pub(crate) use said::Said;
pub(crate) use since::{Reach, Told};

/// One boot of the machine and one mount of the file system: what was published in another run may be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The kernel's boot id.
    pub(crate) boot: String,
    /// The unique id of the mount.
    pub(crate) mount: u64,
}

/// One change to be committed.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) by: &'a Actor,
    pub(crate) reason: Option<&'a str>,
    /// The change that it is a part of; `None`: one of its own.
    pub(crate) id: Option<ChangeId>,
    pub(crate) steps: &'a [Step],
}

/// Bits of the number of a staged file that are the batch's own. Above them stands the number of the change that was next
/// when the batch began: none before it has the file.
pub(crate) const STAGED_BITS: u32 = 20;

/// One step of a change. Paths are relative to the root, in normal form (or as far as a person's names allow one).
#[derive(Debug)]
pub(crate) enum Step {
    MakeDirectory {
        path: String,
    },
    /// A file or a directory, with all memories at or below it.
    Rename {
        from: String,
        to: String,
        inode: u64,
    },
    /// A memory is at another path from now on. Its file at `from` is taken to `staging/old-{staged}`; without a number it
    /// is gone from there already (a person moved it), or overwritten by a later step.
    Move {
        memory: i64,
        from: String,
        to: String,
        staged: Option<u64>,
    },
    /// A memory that was deleted lives again at `path`, which a later step of the same change writes.
    Revive {
        memory: i64,
        path: String,
    },
    /// If a later step of the same change begins a memory at `path`, it has this id.
    Begin {
        memory: MemoryId,
        path: String,
    },
    /// A directory or anything that is not a regular file, taken to `staging/old-{staged}`. The deletions of the files
    /// below it are steps of their own.
    RemoveTree {
        path: String,
        inode: u64,
        staged: u64,
    },
    /// A file that a crash had taken, or brought back, is again as it should be.
    Recovered {
        path: String,
    },
    /// New content: of a new memory, or of the one that lives at `path`. The file waits in `staging/new-{staged}`,
    /// or is on disk already (an edit from outside).
    Write {
        path: String,
        content: Content,
        mode: u32,
        staged: Option<u64>,
    },
    /// The version of the memory at `path` that was just written holds, or was to hold, what looks like a secret.
    Warn {
        path: String,
        warning: Warning,
    },
    /// The memory at `path` is gone; its file is taken to `staging/old-{staged}`, or is gone already.
    Delete {
        path: String,
        staged: Option<u64>,
    },
}

/// A version's bytes, and how much of them the journal is to hold.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(crate) hash: Hash,
    pub(crate) size: u64,
    pub(crate) bytes: Stored,
}

/// Where a version's bytes are kept.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    /// In the journal. `old` are the bytes of the version before, where they are at hand, to make a small delta.
    Here { new: Bytes, old: Option<Bytes> },
    /// Not in the journal: too large, or not text. They go to `kept/` before anything destroys them.
    Elsewhere,
}

/// The newest version of a memory that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) memory: i64,
    pub(crate) version: i64,
    pub(crate) id: VersionId,
    pub(crate) path: String,
    pub(crate) hash: Hash,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    /// Whether the journal holds the bytes.
    pub(crate) stored: bool,
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    db: Connection,
    run: i64,
    /// The end of the log, as long as nobody else can have written to it.
    tail: Option<Tail>,
}

/// The end of the log, to which the next change is added.
#[derive(Debug, Clone, Copy)]
struct Tail {
    change: i64,
    /// The time of that change.
    at: i64,
    version: i64,
    /// The hash of that version in the chain; zeros before the first.
    chain: [u8; 32],
}

/// How long to wait for a person's `sqlite3` shell: memdir's own processes never meet here, they hold the lock.
const FOREIGN_WAIT: Duration = Duration::from_secs(5);

impl Journal {
    /// Opens the journal at `path`, making it when it is missing. The caller holds the store's lock.
    ///
    /// # Errors
    /// [`Error::Write`] with [`Trouble::Journal`] when it is damaged, [`Error::NewerJournal`], or what the disk says.
    pub(crate) fn open(path: &Path, run: &Run) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut db = Connection::open_with_flags(path, flags).map_err(failure("open"))?;
        db.busy_timeout(FOREIGN_WAIT).map_err(failure("set up"))?;
        db.set_prepared_statement_cache_capacity(48);
        schema::prepare(&mut db)?;
        let run = run_id(&db, run)?;
        Ok(Self { db, run, tail: None })
    }

    /// The number of the newest change; 0 when there is none.
    pub(crate) fn last_change(&mut self) -> Result<u64> {
        Ok(from_sql(self.tail()?.change))
    }

    /// Forgets what was known of the end of the log, since another process may have written to it, unless this is still
    /// its newest change.
    pub(crate) fn trust(&mut self, newest: Option<u64>) {
        self.tail = self.tail.filter(|tail| newest == Some(from_sql(tail.change)));
    }

    fn tail(&mut self) -> Result<Tail> {
        if let Some(tail) = self.tail {
            return Ok(tail);
        }
        let tail = commit::read_tail(&self.db)?;
        self.tail = Some(tail);
        Ok(tail)
    }

    /// The watermark: all changes up to this one are on disk in their places, too.
    pub(crate) fn synced(&self) -> Result<u64> {
        self.one("SELECT coalesce((SELECT value FROM meta WHERE key = 'synced'), 0)", "read the watermark")
    }

    /// Moves the watermark. Not synced itself: a watermark that is too low costs only time.
    pub(crate) fn set_synced(&mut self, change: u64) -> Result<()> {
        fail::step();
        let doing = "move the watermark";
        self.db.execute_batch("PRAGMA synchronous = NORMAL").map_err(failure(doing))?;
        let set =
            self.db.execute("INSERT OR REPLACE INTO meta VALUES ('synced', ?1)", params![to_sql(change)]);
        // Whatever came of it: the next commit must be durable.
        self.db.execute_batch("PRAGMA synchronous = FULL").map_err(failure(doing))?;
        set.map(drop).map_err(failure(doing))
    }

    /// The memory that lives at exactly this path.
    pub(crate) fn head(&self, path: &str) -> Result<Option<Head>> {
        self.history().live(path)
    }

    /// The memories that live below this directory (`""`: all of them), by path.
    pub(crate) fn heads_below(&self, directory: &str) -> Result<Vec<Head>> {
        let mut heads = Vec::new();
        self.history().each_live(directory, &mut |head| {
            heads.push(head);
            Ok(())
        })?;
        Ok(heads)
    }

    fn one(&self, sql: &str, doing: &'static str) -> Result<u64> {
        let mut query = self.db.prepare_cached(sql).map_err(failure(doing))?;
        query.query_row([], |row| row.get::<_, i64>(0)).map(from_sql).map_err(failure(doing))
    }
}

/// The columns that [`read_head`] reads, and the memory's id.
const HEADS: &str = "SELECT m.n, v.n, v.id, m.path, v.sha256, v.size, v.mode, v.body IS NOT NULL, m.id
    FROM memory m JOIN version v ON v.n = m.head";

fn read_head(row: &rusqlite::Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        memory: row.get(0)?,
        version: row.get(1)?,
        id: VersionId(ulid::Ulid::from_bytes(row.get(2)?)),
        path: row.get(3)?,
        hash: Hash(row.get(4)?),
        size: from_sql(row.get(5)?),
        mode: row.get(6)?,
        stored: row.get(7)?,
    })
}

/// The half-open range of paths below a directory: `/` is followed by `0`.
fn below(directory: &str) -> (String, String) {
    if directory.is_empty() {
        return (String::new(), "\u{10ffff}".repeat(2));
    }
    (format!("{directory}/"), format!("{directory}0"))
}

fn run_id(db: &Connection, run: &Run) -> Result<i64> {
    let mount = to_sql(run.mount);
    let find = "SELECT id FROM run WHERE boot = ?1 AND mount = ?2 ORDER BY id DESC LIMIT 1";
    let found = db.query_row(find, params![run.boot, mount], |row| row.get(0)).optional();
    if let Some(id) = found.map_err(failure("read the runs"))? {
        return Ok(id);
    }
    db.execute("INSERT INTO run (boot, mount) VALUES (?1, ?2)", params![run.boot, mount])
        .map_err(failure("record the run"))?;
    Ok(db.last_insert_rowid())
}

/// SQLite's integers are signed; sizes, inodes and mount ids go through it bit by bit.
fn to_sql(n: u64) -> i64 {
    n.cast_signed()
}

fn from_sql(n: i64) -> u64 {
    n.cast_unsigned()
}

/// What an error of SQLite means for a memory.
fn failure(doing: &'static str) -> impl Fn(rusqlite::Error) -> Error {
    move |error| {
        let why = match &error {
            rusqlite::Error::SqliteFailure(e, _) => match (e.code, e.extended_code) {
                (_, rusqlite::ffi::SQLITE_IOERR_FSYNC | rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC) => {
                    Trouble::SyncFailed
                }
                (ErrorCode::DiskFull, _) => Trouble::NoSpace,
                // `Unknown` is SQLite's word for a statement that does not fit the tables.
                (ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown, _) => {
                    Trouble::Journal
                }
                (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => return Error::Busy { pid: None },
                _ => Trouble::Io,
            },
            // A value of the wrong type, a missing row or table, where this module always makes one.
            rusqlite::Error::SqlInputError { .. }
            | rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Trouble::Journal,
            _ => Trouble::Io,
        };
        Error::Write { why, doing: format!("journal: {doing}"), source: Some(Box::new(error)) }
    }
}

/// The journal contradicts itself.
fn damaged(doing: &'static str) -> Error {
    Error::Write { why: Trouble::Journal, doing: format!("journal: {doing}"), source: None }
}
