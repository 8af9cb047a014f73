//! Whether the journal is what was written: the chain of versions, every content, the database itself.

use std::fmt::Display;

use rusqlite::{Row, params};

use super::body::Sequence;
use super::commit::DELETED;
use super::failure;
use super::history::{History, READ};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::VersionId;

/// What an audit found.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    /// The end of the chain; zeros before the first version.
    pub(crate) head: Hash,
    /// Versions that were looked at.
    pub(crate) versions: u64,
    /// What is wrong: the first hundred.
    pub(crate) problems: Vec<Problem>,
    /// How much is wrong.
    pub(crate) wrong: u64,
}

/// Something that is wrong with the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// `chain`, `content` or `database`.
    pub(crate) kind: &'static str,
    /// A version's id, or the name of the database.
    pub(crate) place: String,
    /// One lower-case clause.
    pub(crate) what: String,
}

/// So many problems are told one by one.
const MOST: usize = 100;
/// So many versions go by between two words on how far it is.
const STRIDE: u64 = 256;

/// What is under way.
struct Audit<'a, 'p> {
    history: History<'a>,
    found: Verified,
    done: u64,
    total: u64,
    progress: &'p mut dyn FnMut(u64, u64),
}

/// A run of versions that retention took.
struct Anchor {
    first: i64,
    last: i64,
    chain: [u8; 32],
}

/// A version as the chain has it.
struct Link {
    n: i64,
    id: [u8; 16],
    operation: i64,
    path: Option<String>,
    sha256: Option<[u8; 32]>,
    size: i64,
    salt: Option<[u8; 16]>,
    leaf: [u8; 32],
    chain: [u8; 32],
    memory: Option<[u8; 16]>,
    at: Option<i64>,
    is_redacted: bool,
}

/// A version with what its content must be.
struct Text {
    id: [u8; 16],
    memory: i64,
    prev: Option<i64>,
    body: Option<i64>,
    sha256: Option<[u8; 32]>,
    size: i64,
    is_withdrawn: bool,
}

const TEXTS: &str = "SELECT v.id, v.memory, v.prev, v.body, v.sha256, v.size, c.withdrawn IS 1
    FROM version v LEFT JOIN change c ON c.seq = v.change";

impl History<'_> {
    /// Reads all of the journal, and says what is wrong with it. `progress` gets how many versions are done, of how many.
    ///
    /// # Errors
    /// Only when nothing could be read at all: what the database says of a part of it is a problem like others.
    pub(crate) fn verify(self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified> {
        let _snapshot = self.snapshot()?;
        let found = Verified { head: Hash([0; 32]), versions: 0, problems: Vec::new(), wrong: 0 };
        let mut audit = Audit { history: self, found, done: 0, total: 0, progress };
        // Each version is looked at twice.
        let total = self.count("SELECT 2 * count(*) FROM version");
        audit.total = audit.or_problem(total).unwrap_or(0);
        for part in [Audit::database, Audit::chain, Audit::contents, Audit::memories] {
            let read = part(&mut audit);
            audit.or_problem(read);
        }
        Ok(audit.found)
    }

    /// The one number that a question has for an answer.
    pub(super) fn count(self, sql: &str) -> Result<u64> {
        self.prepare(sql)?.query_row([], |row| row.get(0)).map(super::from_sql).map_err(failure(READ))
    }
}

impl Audit<'_, '_> {
    fn wrong(&mut self, kind: &'static str, place: &dyn Display, what: impl Into<String>) {
        self.found.wrong += 1;
        if self.found.problems.len() < MOST {
            self.found.problems.push(Problem { kind, place: place.to_string(), what: what.into() });
        }
    }

    /// What came of reading; that it could not be read is a problem.
    fn or_problem<T>(&mut self, read: Result<T>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                self.wrong("database", &DATABASE, cause(&error));
                None
            }
        }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(STRIDE) || self.done == self.total {
            (self.progress)(self.done.div_ceil(2), self.total / 2);
        }
    }

    /// What SQLite says of its own pages and indexes.
    fn database(&mut self) -> Result<()> {
        let mut query = self.history.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            let problem: String = row.get(0).map_err(failure(READ))?;
            if problem != "ok" {
                self.wrong("database", &DATABASE, problem.to_lowercase());
            }
        }
        Ok(())
    }

    /// Every version's place in the chain.
    fn chain(&mut self) -> Result<()> {
        let mut anchors = self.history.prepare("SELECT first, last, chain FROM anchor ORDER BY first")?;
        let mut anchors = anchors
            .query_map([], |row| Ok(Anchor { first: row.get(0)?, last: row.get(1)?, chain: row.get(2)? }))
            .map_err(failure(READ))?
            .peekable();
        let mut query = self.history.prepare(
            "SELECT v.n, v.id, v.operation, v.path, v.sha256, v.size, v.salt, v.leaf, v.chain, m.id, c.at,
                r.version IS NOT NULL
             FROM version v LEFT JOIN change c ON c.seq = v.change LEFT JOIN memory m ON m.n = v.memory
             LEFT JOIN redaction r ON r.version = v.n ORDER BY v.n",
        )?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        let (mut chain, mut next) = ([0; 32], 1);
        while let Some(row) = rows.next().map_err(failure(READ))? {
            self.found.versions += 1;
            self.step();
            let link = read_link(row).map_err(failure(READ))?;
            let id = VersionId(ulid::Ulid::from_bytes(link.id));
            while let Some(anchor) =
                anchors.next_if(|anchor| anchor.as_ref().is_ok_and(|anchor| anchor.first <= link.n))
            {
                let Anchor { first, last, chain: end } = anchor.map_err(failure(READ))?;
                if first == next && first <= last && last < link.n {
                    (chain, next) = (end, last + 1);
                } else {
                    let problem =
                        format!("the record of removed versions before it ({first} to {last}) does not fit");
                    self.wrong("chain", &id, problem);
                }
            }
            if link.n == next {
                self.link(&chain, &link, id);
            } else {
                let missing = link.n - next;
                let problem = match missing {
                    1 => "the version before it is missing".to_owned(),
                    _ => format!("the {missing} versions before it are missing"),
                };
                self.wrong("chain", &id, problem);
            }
            // What comes after a break is held against what stands there.
            (chain, next) = (link.chain, link.n + 1);
        }
        // Retention never takes the newest version.
        for anchor in anchors {
            let Anchor { first, last, .. } = anchor.map_err(failure(READ))?;
            let problem =
                format!("there is a record of removed versions ({first} to {last}) after the newest one");
            self.wrong("chain", &DATABASE, problem);
        }
        self.found.head = Hash(chain);
        Ok(())
    }

    fn link(&mut self, chain: &[u8; 32], link: &Link, id: VersionId) {
        let Link { leaf, sha256, .. } = link;
        match (&link.path, &link.salt, link.is_redacted) {
            (Some(path), Some(salt), false) => {
                let hash = sha256.as_ref().map_or(&[][..], |hash| hash);
                if Hash::of_parts(&[salt, path.as_bytes(), &[0], hash]).0 != *leaf {
                    self.wrong("chain", &id, "its path or its hash is not what was recorded");
                }
            }
            (None, None, true) if sha256.is_none() => {}
            (.., true) => self.wrong("chain", &id, "it was redacted, and still has a path or a hash"),
            (.., false) => self.wrong("chain", &id, "its path is gone, and it was not redacted"),
        }
        let (Some(memory), Some(at)) = (link.memory, link.at) else {
            self.wrong("chain", &id, "its memory or its change is gone");
            return;
        };
        let (operation, size, at) = (link.operation.to_be_bytes(), link.size.to_be_bytes(), at.to_be_bytes());
        if Hash::of_parts(&[chain, leaf, &link.id, &memory, &operation, &size, &at]).0 != link.chain {
            self.wrong("chain", &id, "its link to the version before it does not hold");
        }
    }

    /// Every content, memory by memory, from old to new.
    fn contents(&mut self) -> Result<()> {
        let mut memories = self.history.prepare("SELECT n, head FROM memory ORDER BY n")?;
        let mut memories = memories.query([]).map_err(failure(READ))?;
        let mut query = self.history.prepare(&format!("{TEXTS} WHERE v.n = ?1"))?;
        let mut seen = 0;
        while let Some(row) = memories.next().map_err(failure(READ))? {
            let memory: i64 = row.get(0).map_err(failure(READ))?;
            let mut n: i64 = row.get(1).map_err(failure(READ))?;
            let mut versions = Vec::new();
            while let Some(prev) = self.history.prev(n)? {
                versions.push(n);
                // Else it would run in circles: the text of this one is told to be in the wrong place.
                n = if prev < n { prev } else { 0 };
            }
            let mut sequence = Sequence::default();
            for &n in versions.iter().rev() {
                let text = query.query_row(params![n], read_text).map_err(failure(READ))?;
                if text.memory != memory || text.prev.is_some_and(|prev| prev >= n) {
                    self.wrong("database", &text.version(), "it is not where its memory's history has it");
                }
                if !text.is_withdrawn {
                    seen += 1;
                    self.step();
                    self.text(&mut sequence, &text);
                }
            }
        }
        let mut query = self.history.prepare(&format!("{TEXTS} WHERE c.withdrawn = 1"))?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            self.step();
            self.text(&mut Sequence::default(), &read_text(row).map_err(failure(READ))?);
        }
        let all = "SELECT count(*) FROM version v WHERE NOT EXISTS
            (SELECT 1 FROM change c WHERE c.seq = v.change AND c.withdrawn = 1)";
        let all = self.history.count(all)?;
        if all != seen {
            let problem = format!("{} versions are in no memory's history", all.abs_diff(seen));
            self.wrong("database", &DATABASE, problem);
        }
        Ok(())
    }

    fn text(&mut self, sequence: &mut Sequence, text: &Text) {
        let Some(body) = text.body else { return };
        let problem = match sequence.read(self.history.db, body) {
            Ok(content) if Some(Hash::of(content).0) != text.sha256 => {
                "its content is not what its hash says"
            }
            Ok(content) if content.len() as u64 != super::from_sql(text.size) => {
                "its size is not that of its content"
            }
            Ok(_) => return,
            Err(_) => "its content cannot be read",
        };
        self.wrong("content", &text.version(), problem);
    }

    /// Whether every memory's head is its own, and one memory lives at a path.
    fn memories(&mut self) -> Result<()> {
        let heads = "SELECT v.id FROM memory m JOIN version v ON v.n = m.head
            WHERE v.memory <> m.n OR m.live = 1 AND (v.path IS NOT m.path OR v.operation = ?1)";
        let lost =
            "SELECT m.path FROM memory m WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.n = m.head)";
        let twice = "SELECT path FROM memory WHERE live = 1 GROUP BY path HAVING count(*) > 1";
        let history = self.history;
        let mut query = history.prepare(heads)?;
        let wrong =
            query.query_map(params![DELETED], |row| row.get::<_, [u8; 16]>(0)).map_err(failure(READ))?;
        for id in wrong {
            let id = VersionId(ulid::Ulid::from_bytes(id.map_err(failure(READ))?));
            self.wrong("database", &id, "it is the newest version of a memory that says something else");
        }
        for (sql, problem) in
            [(lost, "the newest version of the memory there is gone"), (twice, "two memories are there")]
        {
            let mut query = history.prepare(sql)?;
            let paths = query.query_map([], |row| row.get::<_, String>(0)).map_err(failure(READ))?;
            for path in paths {
                let path = crate::path::MemoryPath::from_normal(path.map_err(failure(READ))?);
                self.wrong("database", &path, problem);
            }
        }
        Ok(())
    }
}

/// Where a problem is that is nowhere else.
const DATABASE: &str = "journal.db";

/// What the database said.
fn cause(error: &Error) -> String {
    match error {
        Error::Write { source: Some(source), .. } => format!("it cannot be read: {source}"),
        error => format!("it cannot be read: {error}"),
    }
}

fn read_link(row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link {
        n: row.get(0)?,
        id: row.get(1)?,
        operation: row.get(2)?,
        path: row.get(3)?,
        sha256: row.get(4)?,
        size: row.get(5)?,
        salt: row.get(6)?,
        leaf: row.get(7)?,
        chain: row.get(8)?,
        memory: row.get(9)?,
        at: row.get(10)?,
        is_redacted: row.get(11)?,
    })
}

fn read_text(row: &Row<'_>) -> rusqlite::Result<Text> {
    Ok(Text {
        id: row.get(0)?,
        memory: row.get(1)?,
        prev: row.get(2)?,
        body: row.get(3)?,
        sha256: row.get(4)?,
        size: row.get(5)?,
        is_withdrawn: row.get(6)?,
    })
}

impl Text {
    fn version(&self) -> VersionId {
        VersionId(ulid::Ulid::from_bytes(self.id))
    }
}
