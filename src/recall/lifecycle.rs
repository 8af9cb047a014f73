//! How memories end: expiry, capacity, disuse.

use std::collections::BTreeSet;

use super::record::{Record, Times};
use super::{MemoryId, MemoryPath, Recall, Result, rank};
use crate::index::{Filter, Seen};
use crate::store::{Edit, Found, History};

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
    /// Removes entries that have expired, that are too many, or that are unused where the settings say so. Each can be restored
    /// until retention takes its versions.
    ///
    /// # Errors
    /// As [`Store::change`](crate::Store::change).
    pub fn prune(&self) -> Result<Vec<Doomed>> {
        self.look_around()?;
        self.end_all(&self.doomed(None)?)
    }

    /// What [`Recall::prune`] would remove.
    ///
    /// # Errors
    /// As [`Recall::retrieve`].
    pub fn preview_prune(&self) -> Result<Vec<Doomed>> {
        self.look_around()?;
        Ok(self.doomed(None)?.into_iter().map(|one| one.doomed).collect())
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
        let entries = &self.store.settings().entries;
        let half_life = self.half_life_days();
        let (mut catalog, history) = self.known()?;
        let all = catalog.all(&self.store, &history, &Filter::entries(i64::MIN))?;
        let at = self.store.now().timestamp();
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
        let excess = left.len().saturating_sub(usize::try_from(entries.max).unwrap_or(usize::MAX));
        let mut least: Vec<(f32, Seen)> = Vec::new();
        if excess > 0 {
            left.retain(|seen| !seen.pinned && Some(seen.memory) != spared);
            let weight = |seen: &Seen| rank::effective(seen.importance, false, seen.updated, at, half_life);
            least.extend(left.into_iter().map(|seen| (weight(&seen), seen)));
            least.sort_by(|(a, one), (b, other)| {
                a.total_cmp(b).then((one.updated, one.memory).cmp(&(other.updated, other.memory)))
            });
        }
        let mut doomed = Vec::with_capacity(rows.len());
        for (row, importance, why) in rows {
            doomed.extend(self.judged(&history, row, importance, why)?);
        }
        let mut left_to_go = excess;
        for (effective, seen) in least {
            if left_to_go == 0 {
                break;
            }
            let why = Why::Capacity { effective };
            if let Some(judged) = self.judged(&history, seen.memory, seen.importance, why)? {
                doomed.push(judged);
                left_to_go -= 1;
            }
        }
        Ok(doomed)
    }

    /// An entry that is to go; `None` where it is gone, or cannot be changed.
    fn judged(&self, history: &History, row: i64, importance: u8, why: Why) -> Result<Option<Judged>> {
        let Some(version) = history.of_row(row)? else { return Ok(None) };
        let path = version.place().filter(|path| self.store.admit(path).is_ok());
        let doomed = path.map(|path| Doomed { id: version.memory_id, path: path.clone(), why });
        Ok(doomed.map(|doomed| Judged { doomed, importance }))
    }

    /// Removes entries, as one change: those that are still what they were judged by.
    fn end(&self, doomed: Vec<Judged>) -> Result<Vec<Doomed>> {
        let categories = self.store.settings().entries.categories.clone();
        let now = self.store.now();
        self.store.change(move |snapshot| {
            let (mut edits, mut gone) = (Vec::new(), Vec::new());
            let mut reasons = BTreeSet::new();
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
                    reasons.insert(one.why.as_str());
                    edits.push(Edit::remove(&one.path));
                    gone.push(one.clone());
                }
            }
            if !reasons.is_empty() {
                let reasons: Vec<_> = reasons.into_iter().collect();
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
            let (mut catalog, history) = self.known()?;
            catalog.all(&self.store, &history, &Filter::entries(self.store.now().timestamp()))?.len() as u64
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
