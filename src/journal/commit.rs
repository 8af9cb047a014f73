//! Committing changes: rows of the log, versions chained to one another, memories moved on.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use ulid::Ulid;

use super::{
    Content, HEADS, Head, Journal, Record, Step, Stored, Tail, below, body, failure, from_sql, read_head,
    to_sql,
};
use crate::error::Result;
use crate::fail;
use crate::guard::Warning;
use crate::hash::Hash;
use crate::id::{ChangeId, MemoryId, VersionId, fill_random, new_ulid};
use crate::version::Actor;

/// What a commit made.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// The number of each change, in the order of the records.
    pub(crate) changes: Vec<u64>,
    /// The versions whose bytes the journal does not hold, by path: their files go to `kept/` under this name.
    pub(crate) elsewhere: Vec<(String, VersionId)>,
}

impl Committed {
    /// The newest of those versions at `path`.
    pub(crate) fn elsewhere_at(&self, path: &str) -> Option<VersionId> {
        self.elsewhere.iter().rev().find(|(at, _)| at == path).map(|(_, id)| *id)
    }
}

/// Operations of a version, as the Memory Stores API names them.
pub(super) const CREATED: i64 = 0;
pub(super) const MODIFIED: i64 = 1;
pub(super) const DELETED: i64 = 2;
/// Operations on directories.
pub(super) const MADE: i64 = 0;
pub(super) const RENAMED: i64 = 1;
pub(super) const REMOVED: i64 = 2;
pub(super) const RECOVERED: i64 = 3;
pub(super) const MOVED: i64 = 4;
/// Actors.
pub(super) const AGENT: i64 = 0;
pub(super) const USER: i64 = 1;
pub(super) const OUTSIDE: i64 = 2;
pub(super) const RECOVERY: i64 = 3;

impl Journal {
    /// Commits `records` as one synced transaction; `now` are microseconds since 1970.
    ///
    /// # Errors
    /// Nothing is committed then, but after [`Trouble::SyncFailed`](crate::Trouble::SyncFailed) it may be.
    pub(crate) fn commit(&mut self, now: i64, records: &[Record<'_>]) -> Result<Committed> {
        let tail = self.tail()?;
        // Until the commit is known to be one, nothing is.
        self.tail = None;
        let run = self.run;
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failure("begin a change"))?;
        let (revived, begun, moved) = (HashMap::new(), HashMap::new(), HashSet::new());
        let mut scribe = Scribe { tx: &tx, tail, done: Committed::default(), revived, begun, moved };
        for record in records {
            scribe.change(record, now, run)?;
        }
        let Scribe { tail, done, .. } = scribe;
        fail::step();
        tx.commit().map_err(failure("commit"))?;
        fail::step();
        self.tail = Some(tail);
        Ok(done)
    }
}

/// Writes the rows of one transaction.
struct Scribe<'t, 'db> {
    tx: &'t Transaction<'db>,
    tail: Tail,
    done: Committed,
    /// Memories that live again in the change that is being written, by path.
    revived: HashMap<String, i64>,
    /// The ids of memories that it may begin, by path.
    begun: HashMap<String, MemoryId>,
    /// Memories that it moves.
    moved: HashSet<i64>,
}

/// A new version, before it has a number.
struct Draft<'a> {
    memory: i64,
    memory_id: MemoryId,
    prev: Option<i64>,
    operation: i64,
    path: &'a str,
    hash: Option<Hash>,
    size: u64,
    mode: Option<u32>,
    body: Option<i64>,
    staged: Option<u64>,
}

impl Scribe<'_, '_> {
    fn change(&mut self, record: &Record<'_>, now: i64, run: i64) -> Result<()> {
        self.tail.change += 1;
        // A clock that goes backwards does not: times strictly increase within a store.
        self.tail.at = now.max(self.tail.at + 1);
        let (actor, name) = actor_columns(record.by);
        let id = record.id.unwrap_or_else(|| ChangeId(new_ulid(self.tail.at)));
        let sql = "INSERT INTO change (seq, id, at, actor, name, reason, run, versions)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        self.execute(
            sql,
            params![
                self.tail.change,
                id.0.to_bytes(),
                self.tail.at,
                actor,
                name,
                record.reason,
                run,
                self.tail.version
            ],
        )?;
        self.revived.clear();
        self.begun.clear();
        self.moved.clear();
        self.done.changes.push(from_sql(self.tail.change));
        record.steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::MakeDirectory { path } => self.operation(MADE, path, None, None, None),
            Step::Rename { from, to, inode } => {
                self.operation(RENAMED, from, Some(to), Some(*inode), None)?;
                self.rename(from, to)
            }
            Step::Move { memory, from, to, staged } => {
                self.operation(MOVED, from, Some(to), Some(memory.cast_unsigned()), *staged)?;
                self.moved.insert(*memory);
                self.move_memory(*memory, to)
            }
            Step::Revive { memory, path } => {
                self.revived.insert(path.clone(), *memory);
                Ok(())
            }
            Step::Begin { memory, path } => {
                self.begun.insert(path.clone(), *memory);
                Ok(())
            }
            Step::RemoveTree { path, inode, staged } => {
                self.operation(REMOVED, path, None, Some(*inode), Some(*staged))
            }
            Step::Recovered { path } => self.operation(RECOVERED, path, None, None, None),
            Step::Write { path, content, mode, staged } => self.write(path, content, *mode, *staged),
            Step::Delete { path, staged } => self.delete(path, *staged),
            Step::Warn { path, warning: Warning { line, rule, is_redacted, more } } => {
                let Some(Live { head, .. }) = self.live(path)? else { return Ok(()) };
                let line = line.map_or(0, |line| i64::try_from(line).unwrap_or(i64::MAX));
                let redacted = i64::try_from(*more).unwrap_or(0) << 1 | i64::from(*is_redacted);
                let sql = "INSERT INTO warning VALUES (?1, ?2, ?3, ?4)
                    ON CONFLICT DO UPDATE SET redacted = max(redacted, excluded.redacted)";
                self.execute(sql, params![head.version, line, rule, redacted])
            }
        }
    }

    fn operation(
        &self,
        kind: i64,
        path: &str,
        target: Option<&str>,
        inode: Option<u64>,
        staged: Option<u64>,
    ) -> Result<()> {
        let sql = "INSERT INTO operation (change, kind, path, target, inode, staged) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.execute(
            sql,
            params![self.tail.change, kind, path, target, inode.map(to_sql), staged.map(to_sql)],
        )
    }

    fn write(&mut self, path: &str, content: &Content, mode: u32, staged: Option<u64>) -> Result<()> {
        let before = self.live(path)?;
        if let Some(Live { head, .. }) = &before
            && head.stored
            && (head.hash, head.size) == (content.hash, content.size)
            && self.moved.contains(&head.memory)
        {
            // The move is all that happens to it: the version of that only learns which file it is.
            let sql = "UPDATE version SET staged = ?1, mode = ?2 WHERE n = ?3";
            return self.execute(sql, params![staged.map(to_sql), mode, head.version]);
        }
        let body = match &content.bytes {
            Stored::Here { new, old } => {
                let base = match (&before, old) {
                    (Some(before), Some(old)) => {
                        self.body_of(before.head.version)?.map(|body| (body, old.as_slice()))
                    }
                    _ => None,
                };
                Some(body::write(self.tx, new, base)?)
            }
            Stored::Elsewhere => None,
        };
        let (memory, memory_id, prev) = match (&before, self.revived.remove(path)) {
            (Some(before), _) => (before.head.memory, before.id, Some(before.head.version)),
            (None, Some(memory)) => self.revive(memory, path)?,
            (None, None) => self.new_memory(path).map(|(memory, id)| (memory, id, None))?,
        };
        let id = self.version(&Draft {
            memory,
            memory_id,
            prev,
            operation: if before.is_some() { MODIFIED } else { CREATED },
            path,
            hash: Some(content.hash),
            size: content.size,
            mode: Some(mode),
            body,
            staged,
        })?;
        if body.is_none() {
            self.done.elsewhere.push((path.to_owned(), id));
        }
        Ok(())
    }

    fn delete(&mut self, path: &str, staged: Option<u64>) -> Result<()> {
        let Some(before) = self.live(path)? else { return Ok(()) };
        self.version(&Draft {
            memory: before.head.memory,
            memory_id: before.id,
            prev: Some(before.head.version),
            operation: DELETED,
            path,
            hash: None,
            size: 0,
            mode: None,
            body: None,
            staged,
        })?;
        self.execute("UPDATE memory SET live = 0 WHERE n = ?1", params![before.head.memory])
    }

    /// Moves every memory at or below `from`: a version each, with the same bytes.
    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (low, high) = below(from);
        let sql = format!("{HEADS} WHERE m.live = 1 AND (m.path = ?1 OR m.path >= ?2 AND m.path < ?3)");
        let moved: Vec<Live> = {
            let mut query = self.tx.prepare_cached(&sql).map_err(failure("find what is renamed"))?;
            let rows = query
                .query_map(params![from, low, high], read_live)
                .map_err(failure("find what is renamed"))?;
            rows.collect::<Result<_, _>>().map_err(failure("find what is renamed"))?
        };
        moved.iter().try_for_each(|live| self.carry(live, &format!("{to}{}", &live.head.path[from.len()..])))
    }

    /// Moves one memory, wherever it is. (Two may be at one path until the change is complete.)
    fn move_memory(&mut self, memory: i64, to: &str) -> Result<()> {
        let sql = format!("{HEADS} WHERE m.n = ?1 AND m.live = 1");
        let found = {
            let mut query = self.tx.prepare_cached(&sql).map_err(failure("find what is moved"))?;
            query.query_row(params![memory], read_live).optional().map_err(failure("find what is moved"))?
        };
        found.map_or(Ok(()), |live| self.carry(&live, to))
    }

    /// Gives a live memory another path: a version with the same bytes.
    fn carry(&mut self, Live { head, id }: &Live, to: &str) -> Result<()> {
        let body = self.body_of(head.version)?;
        self.version(&Draft {
            memory: head.memory,
            memory_id: *id,
            prev: Some(head.version),
            operation: MODIFIED,
            path: to,
            hash: Some(head.hash),
            size: head.size,
            mode: Some(head.mode),
            body,
            staged: None,
        })?;
        self.execute("UPDATE memory SET path = ?1 WHERE n = ?2", params![to, head.memory])?;
        self.place(to, head.memory)
    }

    /// Lets a memory that was deleted live again, at this path; its id and its last version.
    fn revive(&self, memory: i64, path: &str) -> Result<(i64, MemoryId, Option<i64>)> {
        self.execute("UPDATE memory SET path = ?1, live = 1 WHERE n = ?2", params![path, memory])?;
        self.place(path, memory)?;
        let mut query = self
            .tx
            .prepare_cached("SELECT id, head FROM memory WHERE n = ?1")
            .map_err(failure("find a memory"))?;
        query
            .query_row(params![memory], |row| {
                Ok((memory, MemoryId(Ulid::from_bytes(row.get(0)?)), Some(row.get(1)?)))
            })
            .map_err(failure("find a memory"))
    }

    fn new_memory(&mut self, path: &str) -> Result<(i64, MemoryId)> {
        let id = self.begun.remove(path).unwrap_or_else(|| MemoryId(new_ulid(self.tail.at)));
        let sql = "INSERT INTO memory (id, path, head, live) VALUES (?1, ?2, 0, 1)";
        self.execute(sql, params![id.0.to_bytes(), path])?;
        let memory = self.tx.last_insert_rowid();
        self.place(path, memory)?;
        Ok((memory, id))
    }

    /// Takes note that a memory has a path from now on, so that it is found by it for ever.
    fn place(&self, path: &str, memory: i64) -> Result<()> {
        self.execute("INSERT OR IGNORE INTO place VALUES (?1, ?2)", params![path, memory])
    }

    /// Adds a version, links it into the chain, and makes it its memory's head.
    fn version(&mut self, draft: &Draft<'_>) -> Result<VersionId> {
        let id = VersionId(new_ulid(self.tail.at));
        let mut salt = [0; 16];
        fill_random(&mut salt);
        let hash = draft.hash.map(|hash| hash.0);
        let leaf =
            Hash::of_parts(&[&salt, draft.path.as_bytes(), &[0], hash.as_ref().map_or(&[][..], |h| h)]).0;
        self.tail.chain = Hash::of_parts(&[
            &self.tail.chain,
            &leaf,
            &id.0.to_bytes(),
            &draft.memory_id.0.to_bytes(),
            &draft.operation.to_be_bytes(),
            &draft.size.to_be_bytes(),
            &self.tail.at.to_be_bytes(),
        ])
        .0;
        self.tail.version += 1;
        let sql = "INSERT INTO version (n, id, memory, prev, change, operation, path, sha256, size, mode, body, staged, salt, leaf, chain)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        self.execute(
            sql,
            params![
                self.tail.version,
                id.0.to_bytes(),
                draft.memory,
                draft.prev,
                self.tail.change,
                draft.operation,
                draft.path,
                hash,
                to_sql(draft.size),
                draft.mode,
                draft.body,
                draft.staged.map(to_sql),
                salt,
                leaf,
                self.tail.chain
            ],
        )?;
        self.execute("UPDATE memory SET head = ?1 WHERE n = ?2", params![self.tail.version, draft.memory])?;
        Ok(id)
    }

    fn live(&self, path: &str) -> Result<Option<Live>> {
        let sql = format!("{HEADS} WHERE m.path = ?1 AND m.live = 1");
        let mut query = self.tx.prepare_cached(&sql).map_err(failure("look up"))?;
        query.query_row(params![path], read_live).optional().map_err(failure("look up"))
    }

    fn body_of(&self, version: i64) -> Result<Option<i64>> {
        let mut query = self
            .tx
            .prepare_cached("SELECT body FROM version WHERE n = ?1")
            .map_err(failure("find a body"))?;
        query.query_row(params![version], |row| row.get(0)).map_err(failure("find a body"))
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<()> {
        let mut statement = self.tx.prepare_cached(sql).map_err(failure("write a change"))?;
        statement.execute(params).map_err(failure("write a change"))?;
        Ok(())
    }
}

/// An actor as two columns: what it is, and its name.
pub(super) fn actor_columns(actor: &Actor) -> (i64, Option<&str>) {
    match actor {
        Actor::Agent(name) => (AGENT, Some(name)),
        Actor::User(name) => (USER, Some(name)),
        Actor::Outside => (OUTSIDE, None),
        Actor::Recovery => (RECOVERY, None),
    }
}

/// A live memory with its id.
struct Live {
    head: Head,
    id: MemoryId,
}

/// Reads a row of [`HEADS`].
fn read_live(row: &rusqlite::Row<'_>) -> rusqlite::Result<Live> {
    Ok(Live { head: read_head(row)?, id: MemoryId(Ulid::from_bytes(row.get(8)?)) })
}

/// Reads the end of the log.
pub(super) fn read_tail(db: &Connection) -> Result<Tail> {
    let sql = "SELECT
        coalesce((SELECT seq FROM change ORDER BY seq DESC LIMIT 1), 0),
        coalesce((SELECT at FROM change ORDER BY seq DESC LIMIT 1), 0),
        coalesce((SELECT n FROM version ORDER BY n DESC LIMIT 1), 0),
        coalesce((SELECT chain FROM version ORDER BY n DESC LIMIT 1), zeroblob(32))";
    let mut query = db.prepare_cached(sql).map_err(failure("read the end of the log"))?;
    query
        .query_row([], |row| {
            Ok(Tail { change: row.get(0)?, at: row.get(1)?, version: row.get(2)?, chain: row.get(3)? })
        })
        .map_err(failure("read the end of the log"))
}
