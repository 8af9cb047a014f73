//! What must be true of a journal at every moment, checked by reading all of it; and what a test must be able to forge.

use std::path::Path;

use rusqlite::{Connection, params};

use super::Journal;

impl Journal {
    /// Panics unless the audit finds nothing, times increase, and nothing is kept that no version needs.
    pub(crate) fn verify(&mut self) {
        let verified = self.history().verify(&mut |_, _| ()).unwrap();
        assert_eq!(verified.problems, []);
        assert_eq!(verified.versions, self.one("SELECT count(*) FROM version", "count").unwrap());
        let (synced, last) = (self.synced().unwrap(), self.last_change().unwrap());
        assert!(synced <= last, "the watermark is not ahead");
        for (what, wrong) in [
            (
                "times strictly increase",
                "change a JOIN change b ON b.seq = (SELECT min(seq) FROM change c WHERE c.seq > a.seq) WHERE b.at <= a.at",
            ),
            (
                "every content is a version's",
                "body WHERE n NOT IN (SELECT body FROM version WHERE body IS NOT NULL)",
            ),
            (
                "a memory is found by its paths",
                "(SELECT path, memory FROM version WHERE path IS NOT NULL EXCEPT SELECT path, memory FROM place)",
            ),
            (
                "a memory is found by no other path",
                "(SELECT path, memory FROM place EXCEPT SELECT path, memory FROM version WHERE path IS NOT NULL)",
            ),
            ("what was warned of is a version", "warning WHERE version NOT IN (SELECT n FROM version)"),
            ("what was redacted is a version", "redaction WHERE version NOT IN (SELECT n FROM version)"),
        ] {
            assert_eq!(self.one(&format!("SELECT count(*) FROM {wrong}"), "count").unwrap(), 0, "{what}");
        }
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
