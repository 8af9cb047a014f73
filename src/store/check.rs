//! Whether files and history agree, and what else is amiss in a store.

use super::Store;
use super::scan::Absorbed;
use crate::error::Result;
use crate::hash::Hash;

/// What a check is to do beside looking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Check {
    /// Mend what is safe to mend.
    pub fix: bool,
    /// The end that the chain of versions must have.
    pub expected_head: Option<Hash>,
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Things looked at so far.
    pub done: u64,
    /// Of so many, where that is known.
    pub total: Option<u64>,
    /// What they are, in the plural: `files`, `versions`.
    pub what: &'static str,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What sort of thing, a stable name for programs: `chain`, `content`, `database`, `file`, `link`, `mode`, `name`, `size`, `leftover`, …
    pub kind: &'static str,
    /// Whether it is wrong, or only worth knowing.
    pub is_wrong: bool,
    /// Where: a path below `/memories`, a name in `.memdir/`, a version's id.
    pub place: String,
    /// What is amiss, one lower-case clause.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether it was mended.
    pub is_fixed: bool,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is amiss, in the order of the places.
    pub findings: Vec<Finding>,
    /// What others did to the files since memdir last looked; it is in the history now, and nothing amiss.
    pub absorbed: Absorbed,
    /// Files that were compared with their last version.
    pub files: u64,
    /// Versions whose place in the chain, and whose content, were verified.
    pub versions: u64,
    /// The end of the chain: to keep elsewhere and compare.
    pub head: Hash,
}

impl Report {
    /// Whether nothing is wrong (any more).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| !finding.is_wrong || finding.is_fixed)
    }
}

impl Store {
    /// Takes in what others did (see [`Store::absorb`]), then compares every file with its last version and verifies the
    /// chain, every content and the database.
    ///
    /// # Errors
    /// Only when it could not look: what is wrong with the store is in the report.
    pub fn check(&self, _check: &Check, _progress: &mut dyn FnMut(Progress)) -> Result<Report> {
        todo!()
    }
}
