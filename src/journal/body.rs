//! Bytes of versions: whole now and then, small deltas in between.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::delta::Delta;
use super::{Journal, damaged, failure, from_sql, to_sql};
use crate::error::Result;

/// After so many deltas a version is kept whole again, so that reading one stays cheap.
const LONGEST_CHAIN: i64 = 127;
/// What a delta costs beside its bytes, roughly.
const ROW: usize = 32;

impl Journal {
    /// The bytes of a version; `None` when the journal does not hold them.
    pub(crate) fn content(&self, version: i64) -> Result<Option<Vec<u8>>> {
        content(&self.db, version)
    }
}

/// The bytes of a version; `None` when the journal does not hold them.
pub(super) fn content(db: &Connection, version: i64) -> Result<Option<Vec<u8>>> {
    let mut query =
        db.prepare_cached("SELECT body FROM version WHERE n = ?1").map_err(failure("find a version"))?;
    match query.query_row(params![version], |row| row.get(0)).map_err(failure("find a version"))? {
        Some(body) => read(db, body).map(Some),
        None => Ok(None),
    }
}

/// Keeps `new`, as a delta against `base` (a body, with its bytes) where that is smaller and the chain not too long.
pub(super) fn write(db: &Connection, new: &[u8], base: Option<(i64, &[u8])>) -> Result<i64> {
    let sql = "INSERT INTO body (base, depth, weight, size, prefix, suffix, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = db.prepare_cached(sql).map_err(failure("keep the content"))?;
    let Encoded { base, depth, weight, delta } = encode(db, new, base)?;
    let (prefix, suffix, middle) = (size(delta.prefix), size(delta.suffix), &new[delta.middle(new.len())]);
    insert
        .insert(params![base, depth, weight, size(new.len()), prefix, suffix, middle])
        .map_err(failure("keep the content"))
}

/// How content is to be kept: the columns of a body.
struct Encoded {
    base: Option<i64>,
    depth: i64,
    weight: i64,
    delta: Delta,
}

fn encode(db: &Connection, new: &[u8], base: Option<(i64, &[u8])>) -> Result<Encoded> {
    if let Some((base, old)) = base
        && let Some((depth, weight)) = chain(db, base)?
    {
        let delta = Delta::between(old, new);
        let weight = weight + size(delta.middle(new.len()).len() + ROW);
        if depth < LONGEST_CHAIN && weight < size(new.len()) {
            return Ok(Encoded { base: Some(base), depth: depth + 1, weight, delta });
        }
    }
    Ok(Encoded { base: None, depth: 0, weight: 0, delta: Delta { prefix: 0, suffix: 0 } })
}

/// Depth and weight of a body; `None` when there is no such body.
fn chain(db: &Connection, body: i64) -> Result<Option<(i64, i64)>> {
    let mut query =
        db.prepare_cached("SELECT depth, weight FROM body WHERE n = ?1").map_err(failure("find a base"))?;
    query
        .query_row(params![body], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(failure("find a base"))
}

/// Bytes that these bodies take.
pub(super) fn weigh(db: &Connection, bodies: &BTreeSet<i64>) -> Result<u64> {
    let mut query =
        db.prepare_cached("SELECT length(bytes) FROM body WHERE n = ?1").map_err(failure("weigh content"))?;
    let mut sum = 0;
    for body in bodies {
        let length: Option<i64> =
            query.query_row(params![body], |row| row.get(0)).optional().map_err(failure("weigh content"))?;
        sum += length.map_or(0, from_sql);
    }
    Ok(sum)
}

/// Removes the bodies `gone`. Those of `rest` that are built on one of them are built on what is left.
pub(super) fn remove(db: &Connection, gone: &BTreeSet<i64>, rest: &BTreeSet<i64>) -> Result<()> {
    let doing = "remove content";
    if gone.is_empty() {
        return Ok(());
    }
    for &body in rest {
        let Some(mut base) = base_of(db, body)?.filter(|base| gone.contains(base)) else { continue };
        let content = read(db, body)?;
        let left = loop {
            match base_of(db, base)? {
                Some(older) if older >= base => return Err(damaged(doing)),
                Some(older) if gone.contains(&older) => base = older,
                left => break left,
            }
        };
        let old = left.map(|left| read(db, left)).transpose()?;
        let Encoded { base, depth, weight, delta } = encode(db, &content, left.zip(old.as_deref()))?;
        let sql = "UPDATE body SET base = ?2, depth = ?3, weight = ?4, prefix = ?5, suffix = ?6, bytes = ?7 WHERE n = ?1";
        let mut update = db.prepare_cached(sql).map_err(failure(doing))?;
        let (prefix, suffix) = (size(delta.prefix), size(delta.suffix));
        let middle = &content[delta.middle(content.len())];
        update.execute(params![body, base, depth, weight, prefix, suffix, middle]).map_err(failure(doing))?;
    }
    let mut delete = db.prepare_cached("DELETE FROM body WHERE n = ?1").map_err(failure(doing))?;
    for body in gone {
        delete.execute(params![body]).map_err(failure(doing))?;
    }
    Ok(())
}

fn base_of(db: &Connection, body: i64) -> Result<Option<i64>> {
    let mut query =
        db.prepare_cached("SELECT base FROM body WHERE n = ?1").map_err(failure("find a base"))?;
    query.query_row(params![body], |row| row.get(0)).map_err(failure("find a base"))
}

/// A body as it lies in its table.
struct Piece {
    base: Option<i64>,
    delta: Delta,
    whole: usize,
    bytes: Vec<u8>,
}

impl Piece {
    fn of(db: &Connection, body: i64) -> Result<Self> {
        let mut query = db
            .prepare_cached("SELECT base, prefix, suffix, size, bytes FROM body WHERE n = ?1")
            .map_err(failure("read content"))?;
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get::<_, Vec<u8>>(4)?))
        };
        let (base, prefix, suffix, whole, bytes): (Option<i64>, i64, i64, i64, _) =
            query.query_row(params![body], row).map_err(failure("read content"))?;
        // A base is always older than what is built on it: a damaged pointer cannot make anything run in circles.
        if base.is_some_and(|base| base >= body) {
            return Err(damaged("read content"));
        }
        let delta = Delta { prefix: length(prefix)?, suffix: length(suffix)? };
        Ok(Self { base, delta, whole: length(whole)?, bytes })
    }

    /// The content, built on that of the base.
    fn on(self, base: &[u8]) -> Result<Vec<u8>> {
        let content = self.delta.apply(base, &self.bytes).filter(|content| content.len() == self.whole);
        content.ok_or_else(|| damaged("read content"))
    }
}

fn read(db: &Connection, body: i64) -> Result<Vec<u8>> {
    let mut piece = Piece::of(db, body)?;
    let mut deltas = Vec::new();
    while let Some(base) = piece.base {
        deltas.push(piece);
        piece = Piece::of(db, base)?;
    }
    deltas.into_iter().rev().try_fold(piece.bytes, |content, delta| delta.on(&content))
}

/// Reads bodies one after the other, and remembers the last: where each is built on the one before, every delta is
/// applied once.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    last: Option<(i64, Vec<u8>)>,
}

impl Sequence {
    pub(super) fn read(&mut self, db: &Connection, body: i64) -> Result<&[u8]> {
        let content = match self.last.take() {
            Some((last, content)) if last == body => content,
            last => match (Piece::of(db, body)?, last) {
                (Piece { base: None, bytes, .. }, _) => bytes,
                (piece, Some((last, content))) if piece.base == Some(last) => piece.on(&content)?,
                _ => read(db, body)?,
            },
        };
        Ok(&self.last.insert((body, content)).1)
    }
}

/// Reads bodies from the newest down, and remembers what the ones that it reads are built on: where each is built on the
/// next, every delta is applied about once.
#[derive(Debug, Default)]
pub(super) struct Descent {
    /// Contents that were met on the way to a newer one, by body.
    met: BTreeMap<i64, Vec<u8>>,
    /// How many bytes they have.
    bytes: usize,
    /// The last that was asked for: a memory that only moved has it twice.
    last: Option<(i64, Vec<u8>)>,
}

/// As many bytes of contents are remembered.
const MET: usize = 64 << 20;

impl Descent {
    pub(super) fn read(&mut self, db: &Connection, body: i64) -> Result<&[u8]> {
        let content = match self.last.take() {
            Some((last, content)) if last == body => content,
            _ => match self.met.remove(&body) {
                Some(content) => {
                    self.bytes -= content.len();
                    content
                }
                None => self.build(db, body)?,
            },
        };
        Ok(&self.last.insert((body, content)).1)
    }

    /// The content of a body, from the nearest that is whole or remembered.
    fn build(&mut self, db: &Connection, body: i64) -> Result<Vec<u8>> {
        let mut deltas = Vec::new();
        let (mut at, mut piece) = (body, Piece::of(db, body)?);
        let mut content = loop {
            match piece.base {
                None => break std::mem::take(&mut piece.bytes),
                Some(base) => {
                    deltas.push((at, piece));
                    if let Some(content) = self.met.get(&base) {
                        at = base;
                        break content.clone();
                    }
                    (at, piece) = (base, Piece::of(db, base)?);
                }
            }
        };
        for (next, delta) in deltas.into_iter().rev() {
            let built = delta.on(&content)?;
            self.remember(at, content);
            (at, content) = (next, built);
        }
        Ok(content)
    }

    /// The oldest are the first to be forgotten: they are asked for last.
    fn remember(&mut self, body: i64, content: Vec<u8>) {
        self.bytes += content.len();
        let replaced = self.met.insert(body, content);
        self.bytes -= replaced.map_or(0, |content| content.len());
        while self.bytes > MET
            && let Some((_, content)) = self.met.pop_first()
        {
            self.bytes -= content.len();
        }
    }
}

fn size(n: usize) -> i64 {
    to_sql(n as u64)
}

fn length(n: i64) -> Result<usize> {
    usize::try_from(from_sql(n)).map_err(|_| damaged("read content"))
}
