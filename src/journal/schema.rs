//! The tables of the journal, and what is checked when one is opened.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::{damaged, failure};
use crate::error::{Error, Result};
use crate::fail;

/// Format of the tables below, kept in SQLite's `user_version`.
pub(super) const FORMAT: i64 = 2;
/// Marks the file as memdir's, in SQLite's `application_id`: "memd".
const APPLICATION: i64 = 0x6d65_6d64;

/// - `run`: one boot and mount of the disk. What was published in another run may not have reached the disk.
/// - `change`: what one call did, in order. `at`: microseconds since 1970, strictly increasing. `versions`: the newest version
///   before it, so that its own are those up to the next change's.
/// - `operation`: what a change did to directories: 0 made, 1 renamed (`target`), 2 removed, 3 a file recovered, 4 a memory
///   moved (`target`). `inode` tells the directory from a later one of the same name; of a move it is the memory.
/// - `memory`: a file through all its versions; `path` is where it is, or where it last was.
/// - `version`: 0 created, 1 modified, 2 deleted. `prev` is the version before; `body` has the bytes, or nothing where they are in
///   `kept/` or were never read. `salt`, `path` and `sha256` make `leaf`; `chain` runs over all leaves.
/// - `place`: every path that a version of a memory has, unless it was redacted.
/// - `redaction`: versions whose content and path were erased, when and by whom.
/// - `warning`: what looks like a secret in a version, by line (0: its path), or was left out of it. `redacted`: 1 where it
///   was left out, plus 2 for each more behind it that has no row.
/// - `anchor`: runs of versions that retention took, with the chain's hash at the last of them.
/// - `body`: whole bytes, or the middle of a delta against `base`. `depth` and `weight`: deltas and their bytes since a whole one.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE run (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, mount INTEGER NOT NULL) STRICT;
CREATE TABLE change (seq INTEGER PRIMARY KEY, id BLOB NOT NULL, at INTEGER NOT NULL, actor INTEGER NOT NULL, name TEXT,
    reason TEXT, run INTEGER NOT NULL, versions INTEGER NOT NULL, withdrawn INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE operation (n INTEGER PRIMARY KEY, change INTEGER NOT NULL, kind INTEGER NOT NULL, path TEXT NOT NULL, target TEXT,
    inode INTEGER, staged INTEGER) STRICT;
CREATE INDEX operation_change ON operation (change);
CREATE TABLE memory (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, path TEXT NOT NULL, head INTEGER NOT NULL,
    live INTEGER NOT NULL) STRICT;
CREATE INDEX memory_path ON memory (path, live);
CREATE TABLE version (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, memory INTEGER NOT NULL, prev INTEGER, change INTEGER NOT NULL,
    operation INTEGER NOT NULL, path TEXT, sha256 BLOB, size INTEGER NOT NULL, mode INTEGER, body INTEGER, staged INTEGER,
    salt BLOB, leaf BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE body (n INTEGER PRIMARY KEY, base INTEGER, depth INTEGER NOT NULL, weight INTEGER NOT NULL, size INTEGER NOT NULL,
    prefix INTEGER NOT NULL, suffix INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
";

/// The tables that format 2 added.
const TABLES_2: &str = "
CREATE TABLE place (path TEXT NOT NULL, memory INTEGER NOT NULL, PRIMARY KEY (path, memory)) STRICT, WITHOUT ROWID;
CREATE TABLE redaction (version INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor INTEGER NOT NULL, name TEXT) STRICT;
CREATE TABLE anchor (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE warning (version INTEGER NOT NULL, line INTEGER NOT NULL, rule TEXT NOT NULL, redacted INTEGER NOT NULL,
    PRIMARY KEY (version, line, rule)) STRICT, WITHOUT ROWID;
CREATE INDEX change_withdrawn ON change (seq) WHERE withdrawn = 1;
";

/// What format 2 has beside its tables, of what was written in format 1.
const FROM_1: &str = "INSERT OR IGNORE INTO place SELECT path, memory FROM version WHERE path IS NOT NULL;";

/// Brings an opened database to where the journal can use it: pragmas, tables, format.
pub(super) fn prepare(db: &mut Connection) -> Result<()> {
    let format = |db: &Connection| db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    let found = format(db).map_err(failure("read the format"))?;
    if found > FORMAT {
        return Err(Error::NewerJournal { found, known: FORMAT });
    }
    plan_once(db).map_err(failure("set up the database"))?;
    // A log that is short is soon written over, and a commit that does not lengthen a file syncs faster.
    // A commit is durable when it returns (on macOS, where only `fullfsync` reaches the disk, too); deleted bytes are
    // overwritten.
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON;
         PRAGMA cache_size = -512; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 256;",
    )
    .map_err(failure("set up the database"))?;
    if found < FORMAT {
        let tx = db
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(failure("begin to make the tables"))?;
        let marks = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};");
        match format(&tx).map_err(failure("read the format"))? {
            0 => {
                // A database of something else, under this name: not to be written to.
                let tables = "SELECT count(*) FROM sqlite_master";
                if tx.query_row(tables, [], |row| row.get::<_, i64>(0)).map_err(failure("read the tables"))?
                    > 0
                {
                    return Err(damaged("recognise the database"));
                }
                tx.execute_batch(&format!("{TABLES}{TABLES_2}{marks}"))
                    .map_err(failure("make the tables"))?;
            }
            1 => tx
                .execute_batch(&format!("{TABLES_2}{FROM_1}{marks}"))
                .map_err(failure("bring the tables up to date"))?,
            _ => {}
        }
        fail::step();
        tx.commit().map_err(failure("make the tables"))?;
        fail::step();
    }
    Ok(())
}

/// Without this SQLite plans a statement anew for every value that is bound to it.
pub(super) fn plan_once(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}
