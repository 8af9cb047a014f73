//! What a search for secrets asks for beside the versions that count: what was taken back, who made a change and why, and
//! the names in the log of directories.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::failure;
use super::history::{History, READ};
use crate::error::Result;
use crate::id::{ChangeId, VersionId};
use crate::version::Version;

/// What is said of one row of a change.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) id: ChangeId,
    /// Why it was made.
    pub(crate) reason: Option<String>,
    /// Who made it.
    pub(crate) name: Option<String>,
    seq: i64,
}

impl History<'_> {
    /// Calls `each` with the versions of changes that were taken back, as far as they were not erased.
    pub(crate) fn each_withdrawn(self, each: &mut dyn FnMut(Version) -> Result<()>) -> Result<()> {
        for row in self.withdrawn()?.into_values().flatten().filter(|row| row.path.is_some()) {
            self.recorded(row.id)?.map_or(Ok(()), &mut *each)?;
        }
        Ok(())
    }

    /// Calls `each` with what is said of every change, newest first.
    pub(crate) fn each_said(self, each: &mut dyn FnMut(Said) -> Result<()>) -> Result<()> {
        let mut query = self.prepare("SELECT seq, id, reason, name FROM change ORDER BY seq DESC")?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            let read = || {
                let id = ChangeId(ulid::Ulid::from_bytes(row.get(1)?));
                Ok(Said { seq: row.get(0)?, id, reason: row.get(2)?, name: row.get(3)? })
            };
            each(read().map_err(failure(READ))?)?;
        }
        Ok(())
    }

    /// A version of a change, and whether it is what its memory is now: one that is not, where there is one; `None` where
    /// it made no versions.
    pub(crate) fn version_by(self, said: &Said) -> Result<Option<(VersionId, bool)>> {
        let range = self.versions_of(said.seq)?;
        let mut query = self.prepare(
            "SELECT v.id, m.live = 1 AND m.head = v.n FROM version v JOIN memory m ON m.n = v.memory
             WHERE v.n > ?1 AND v.n <= ?2 AND v.change = ?3 ORDER BY 2, v.n DESC LIMIT 1",
        )?;
        query
            .query_row(params![range.after, range.up_to, said.seq], |row| {
                Ok((VersionId(ulid::Ulid::from_bytes(row.get(0)?)), row.get(1)?))
            })
            .optional()
            .map_err(failure(READ))
    }

    /// Calls `each` with every version that was redacted, and the name of who did.
    pub(crate) fn each_redactor(self, each: &mut dyn FnMut(VersionId, &str)) -> Result<()> {
        let mut query = self.prepare(
            "SELECT v.id, r.name FROM redaction r JOIN version v ON v.n = r.version WHERE r.name IS NOT NULL",
        )?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            let read = || Ok((row.get(0)?, row.get::<_, String>(1)?));
            let (id, name) = read().map_err(failure(READ))?;
            each(VersionId(ulid::Ulid::from_bytes(id)), &name);
        }
        Ok(())
    }

    /// Calls `each` with every path in the log of directories that were made, moved and removed.
    pub(crate) fn each_logged_path(self, each: &mut dyn FnMut(&str)) -> Result<()> {
        let mut query = self.prepare(
            "SELECT path FROM operation UNION SELECT target FROM operation WHERE target IS NOT NULL",
        )?;
        let mut rows = query.query([]).map_err(failure(READ))?;
        while let Some(row) = rows.next().map_err(failure(READ))? {
            each(&row.get::<_, String>(0).map_err(failure(READ))?);
        }
        Ok(())
    }
}

/// Takes out of what is said of versions (their rows), and of changes that have none, what `mask` leaves out of it; whether
/// there was anything.
pub(super) fn mask(
    db: &Connection,
    versions: &BTreeSet<i64>,
    mask: &dyn Fn(&str) -> Option<String>,
) -> Result<bool> {
    let mut changes = BTreeSet::new();
    let mut add = |sql: &str, parameters: &[i64]| -> rusqlite::Result<()> {
        let mut query = db.prepare_cached(sql)?;
        for seq in query.query_map(params_from_iter(parameters), |row| row.get::<_, i64>(0))? {
            changes.insert(seq?);
        }
        Ok(())
    };
    add(WITHOUT_VERSIONS, &[]).map_err(failure(READ))?;
    for &n in versions {
        // A very large change has several rows.
        let sql = "SELECT seq FROM change WHERE id = (SELECT c.id FROM version v JOIN change c ON c.seq = v.change WHERE v.n = ?1)";
        add(sql, &[n]).map_err(failure(READ))?;
    }
    let mut is_masked = false;
    for (table, column, key, rows) in [
        ("change", "reason", "seq", &changes),
        ("change", "name", "seq", &changes),
        ("redaction", "name", "version", versions),
    ] {
        let select = format!("SELECT {column} FROM {table} WHERE {key} = ?1 AND {column} IS NOT NULL");
        let update = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
        let mut query = db.prepare_cached(&select).map_err(failure(READ))?;
        for &row in rows {
            let text = query.query_row(params![row], |row| row.get::<_, String>(0)).optional();
            if let Some(masked) = text.map_err(failure(READ))?.and_then(|text| mask(&text)) {
                db.execute(&update, params![row, masked]).map_err(failure("leave out what is said"))?;
                is_masked = true;
            }
        }
    }
    Ok(is_masked)
}

/// Changes that made no versions, or of which none is left.
const WITHOUT_VERSIONS: &str = "SELECT seq FROM change
    WHERE (SELECT v.change FROM version v WHERE v.n > change.versions ORDER BY v.n LIMIT 1) IS NOT seq";
