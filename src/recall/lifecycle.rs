//! How memories end: expiry, capacity, disuse.

use std::collections::HashMap;

use super::record::{Record, Times};
use super::retrieve::all_entries;
use super::{MemoryId, MemoryPath, Recall, Result, lock, rank};
use crate::index::{Filter, Seen};
use crate::store::{Edit, Found, History};
use crate::version::Operation;

/// An entry that is, or would be, pruned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Doomed {
    /// The entry.
    pub id: MemoryId,
    /// Its file.
    pub path: MemoryPath,
    /// Why.
    pub why: Why,
}

/// Why an entry is pruned.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It has expired.
    Expired,
    /// There are more entries than the settings allow, and this one has the lowest effective importance.
    Capacity {
        /// Its importance, decayed by age.
        effective: f32,
    },
    /// Nothing has changed or asked for it in a long time.
    Unused,
}

/// An entry that is to go, and what it was when that was decided.
#[derive(Debug, Clone)]
struct Judged {
    doomed: Doomed,
    importance: u8,
}

/// So many are removed in one change.
const AT_ONCE: usize = 256;

impl Recall {
    /// Removes entries that have expired, that are too many, or that are unused where the settings say so; with `dry_run` it
    /// only says which. Each can be restored until retention takes its versions.
    ///
    /// # Errors
    /// As [`Store::change`](crate::Store::change).
    pub fn prune(&self, dry_run: bool) -> Result<Vec<Doomed>> {
        self.look_around(true)?;
        let doomed = self.doomed(None)?;
        if dry_run {
            return Ok(doomed.into_iter().map(|one| one.doomed).collect());
        }
        self.end_all(&doomed)
    }

    fn end_all(&self, doomed: &[Judged]) -> Result<Vec<Doomed>> {
        let mut gone = Vec::new();
        for part in doomed.chunks(AT_ONCE) {
            gone.extend(self.end(part.to_vec())?);
        }
        Ok(gone)
    }

    /// Which entries are to go, in the order of their reasons; `spared` is not one too many.
    fn doomed(&self, spared: Option<MemoryId>) -> Result<Vec<Judged>> {
        let now = self.store.now();
        let entries = &self.store.settings().entries;
        let half_life = self.half_life_days();
        let mut catalog = lock(&self.catalog);
        let history = catalog.catch_up(&self.store)?;
        let everything = Filter { now: i64::MIN, ..all_entries(now) };
        let all = catalog.all(&self.store, &history, &everything)?;
        let at = now.timestamp();
        let spared = spared.map(|id| history.memory(id)).transpose()?.flatten().map(|version| version.memory);
        let (expired, mut left): (Vec<Seen>, Vec<Seen>) =
            all.into_iter().partition(|seen| seen.expires.is_some_and(|end| end <= at));
        let mut rows: Vec<(i64, u8, Why)> =
            expired.into_iter().map(|seen| (seen.memory, seen.importance, Why::Expired)).collect();
        if let Some(unused) = entries.unused {
            let before = at.saturating_sub(i64::try_from(unused.as_secs()).unwrap_or(i64::MAX));
            let accessed = self.accessed().times();
            let is_unused = |seen: &Seen| {
                let used = accessed.last.get(&seen.memory).copied().unwrap_or(seen.updated).max(seen.updated);
                // What was not yet written down then may have been used.
                !seen.pinned && used < before && accessed.since.is_some_and(|since| since < before)
            };
            let (unused, used) = left.into_iter().partition(is_unused);
            left = used;
            let unused: Vec<Seen> = unused;
            rows.extend(unused.into_iter().map(|seen| (seen.memory, seen.importance, Why::Unused)));
        }
        let mut one_too_many = Vec::new();
        let excess = left.len().saturating_sub(usize::try_from(entries.max).unwrap_or(usize::MAX));
        if excess > 0 {
            let mut weights: Vec<(f32, i64, i64, u8)> = left
                .iter()
                .filter(|seen| !seen.pinned && Some(seen.memory) != spared)
                .map(|seen| {
                    let weight = rank::effective(seen.importance, false, seen.updated, at, half_life);
                    (weight, seen.updated, seen.memory, seen.importance)
                })
                .collect();
            weights.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            one_too_many.extend(weights);
        }
        let mut doomed = Vec::with_capacity(rows.len());
        for (row, importance, why) in rows {
            doomed.extend(self.judged(&history, row, importance, why)?);
        }
        let mut left_to_go = excess;
        for (effective, _, row, importance) in one_too_many {
            if left_to_go == 0 {
                break;
            }
            if let Some(judged) = self.judged(&history, row, importance, Why::Capacity { effective })? {
                doomed.push(judged);
                left_to_go -= 1;
            }
        }
        Ok(doomed)
    }

    /// An entry that is to go; `None` where it is gone, or cannot be changed.
    fn judged(&self, history: &History, row: i64, importance: u8, why: Why) -> Result<Option<Judged>> {
        let version = history.of_row(row)?.filter(|version| version.operation != Operation::Deleted);
        let Some(version) = version else { return Ok(None) };
        let path = version.path.filter(|path| self.store.admit(path).is_ok());
        Ok(path.map(|path| Judged { doomed: Doomed { id: version.memory_id, path, why }, importance }))
    }

    /// Removes entries, as one change: those that are still what they were judged by.
    fn end(&self, doomed: Vec<Judged>) -> Result<Vec<Doomed>> {
        let categories = self.store.settings().entries.categories.clone();
        let now = self.store.now();
        self.store.change(move |snapshot| {
            let (mut edits, mut gone) = (Vec::new(), Vec::new());
            let mut reasons: HashMap<&str, usize> = HashMap::new();
            for Judged { doomed: one, importance } in &doomed {
                let Found::File(bytes) = snapshot.read(&one.path)? else { continue };
                let Ok(text) = std::str::from_utf8(&bytes) else { continue };
                let record = Record::read(text, &one.path, Times::unknown(), &categories);
                let is_so = record.is_entry
                    && !(record.pinned && one.why != Why::Expired)
                    && (one.why != Why::Expired || record.is_expired(now))
                    // Somebody thinks otherwise of it since.
                    && (one.why == Why::Expired || record.importance == Some(*importance))
                    && snapshot.memory_at(&one.path)? == Some(one.id);
                if is_so {
                    *reasons.entry(one.why.as_str()).or_default() += 1;
                    edits.push(Edit::remove(&one.path));
                    gone.push(one.clone());
                }
            }
            let mut reasons: Vec<_> = reasons.into_keys().collect();
            reasons.sort_unstable();
            if !reasons.is_empty() {
                snapshot.because(format!("pruned: {}", reasons.join(", ")));
            }
            Ok((edits, gone))
        })
    }

    /// Takes note of what was retrieved, where disuse is a reason to prune.
    pub(super) fn note_accessed(&self, rows: &[i64], now: i64) {
        if self.store.settings().entries.unused.is_some() && !rows.is_empty() {
            // Where there is no place for it, nothing counts as unused.
            let _ = self.store.make_index_dir();
            self.accessed().note(rows, now);
        }
    }

    /// Prunes at once where there are too many entries; what was stored a moment ago is not what goes.
    pub(super) fn prune_excess(&self, stored: MemoryId) -> Result<()> {
        let entries = {
            let mut catalog = lock(&self.catalog);
            let history = catalog.catch_up(&self.store)?;
            catalog.all(&self.store, &history, &all_entries(self.store.now()))?.len() as u64
        };
        if entries <= self.store.settings().entries.max {
            return Ok(());
        }
        self.end_all(&self.doomed(Some(stored))?).map(drop)
    }
}

impl Why {
    /// In one word: `expired`, `capacity`, `unused`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Capacity { .. } => "capacity",
            Self::Unused => "unused",
        }
    }
}
