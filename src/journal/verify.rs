//! What must be true of a journal at every moment, checked by reading all of it; and what a test must be able to forge.

use std::path::Path;

use rusqlite::{Connection, params};

use super::Journal;
use crate::hash::Hash;

impl Journal {
    /// Checks the chain, every content against its hash and size, and that every memory's head is its own.
    pub(crate) fn verify(&mut self) {
        let sql = "SELECT v.n, v.id, v.memory, v.prev, v.operation, v.path, v.sha256, v.size, v.salt, v.leaf, v.chain, v.body,
                c.at, m.id FROM version v JOIN change c ON c.seq = v.change JOIN memory m ON m.n = v.memory ORDER BY v.n";
        let (synced, last) = (self.synced().unwrap(), self.last_change().unwrap());
        assert!(synced <= last, "the watermark is not ahead");
        let mut query = self.db.prepare(sql).unwrap();
        let mut rows = query.query([]).unwrap();
        let (mut chain, mut count, mut latest) = ([0; 32], 0, i64::MIN);
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            let n: i64 = row.get(0).unwrap();
            let (id, memory): ([u8; 16], [u8; 16]) = (row.get(1).unwrap(), row.get(13).unwrap());
            let (operation, size, at): (i64, i64, i64) =
                (row.get(4).unwrap(), row.get(7).unwrap(), row.get(12).unwrap());
            let path: String = row.get(5).unwrap();
            let (sha256, salt): (Option<[u8; 32]>, [u8; 16]) = (row.get(6).unwrap(), row.get(8).unwrap());
            assert_eq!(n, count, "versions are numbered without a gap");
            assert!(at >= latest, "time does not go backwards");
            latest = at;
            let hash = sha256.as_ref().map_or(&[][..], |hash| hash);
            let leaf = Hash::of_parts(&[&salt, path.as_bytes(), &[0], hash]).0;
            assert_eq!(row.get::<_, [u8; 32]>(9).unwrap(), leaf, "the leaf of version {n}");
            let (operation, size_bytes, at) = (operation.to_be_bytes(), size.to_be_bytes(), at.to_be_bytes());
            chain = Hash::of_parts(&[&chain, &leaf, &id, &memory, &operation, &size_bytes, &at]).0;
            assert_eq!(row.get::<_, [u8; 32]>(10).unwrap(), chain, "the chain at version {n}");
            if let Some(content) = self.content(n).unwrap() {
                assert_eq!(Some(Hash::of(&content).0), sha256, "the content of version {n} of {path}");
                assert_eq!(i64::try_from(content.len()).unwrap(), size);
            }
        }
        let wrong = "SELECT count(*) FROM memory m JOIN version v ON v.n = m.head
            WHERE v.memory <> m.n OR m.live = 1 AND (v.path <> m.path OR v.operation = 2)";
        assert_eq!(self.one(wrong, "count").unwrap(), 0, "every head is its memory's own");
        let twice =
            "SELECT count(*) FROM (SELECT path FROM memory WHERE live = 1 GROUP BY path HAVING count(*) > 1)";
        assert_eq!(self.one(twice, "count").unwrap(), 0, "one memory lives at a path");
        let times = "SELECT count(*) FROM change a JOIN change b ON b.seq = a.seq + 1 WHERE b.at <= a.at";
        assert_eq!(self.one(times, "count").unwrap(), 0, "times strictly increase");
    }

    /// The contents of all versions that the journal holds, with the path and whether an outsider made them.
    pub(crate) fn contents(&self) -> Vec<(String, bool, Vec<u8>)> {
        let sql = "SELECT v.n, v.path, c.actor = 2 FROM version v JOIN change c ON c.seq = v.change
            WHERE v.body IS NOT NULL ORDER BY v.n";
        let mut query = self.db.prepare(sql).unwrap();
        let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap)
            .map(|(n, path, outside)| (path, outside, self.content(n).unwrap().unwrap()))
            .collect()
    }

    /// What outsiders did, as `write PATH` and `delete PATH`, in order.
    pub(crate) fn outside(&self) -> Vec<String> {
        let sql = "SELECT CASE v.operation WHEN 2 THEN 'delete ' ELSE 'write ' END || v.path
            FROM version v JOIN change c ON c.seq = v.change WHERE c.actor = 2 AND c.withdrawn = 0 ORDER BY v.n";
        let mut query = self.db.prepare(sql).unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// Whether a commit is synced before it returns.
    pub(crate) fn is_synchronous(&self) -> bool {
        self.one("PRAGMA synchronous", "ask").unwrap() == 2
    }
}

/// Makes all that was published so far belong to another boot. No store may have the journal open.
pub(crate) fn forge_boot(path: &Path) {
    let db = Connection::open(path).unwrap();
    db.execute("UPDATE run SET boot = 'another-boot'", params![]).unwrap();
}

/// Runs SQL on a journal that no store has open.
pub(crate) fn forge(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}
