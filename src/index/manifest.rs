//! What a commit of the index holds: the payload of tantivy's commit, so that documents and all other files count from the
//! same moment.

use serde::{Deserialize, Serialize};

/// Another format is not read: the index is made anew.
pub(super) const FORMAT: u32 = 6;

/// How far an index goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The newest version of the journal that is in it.
    pub(crate) version: i64,
    /// A part of the journal's chain there, by which it is told from another journal.
    pub(crate) chain: u64,
}

impl From<i64> for Mark {
    fn from(version: i64) -> Self {
        Self { version, chain: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The model that made the vectors.
    pub(super) model: String,
    /// How many commits there were before.
    pub(super) serial: u64,
    /// How far it goes.
    pub(super) mark: Mark,
    /// So many rows count, living or not.
    pub(super) rows: usize,
    /// CRC-32 of their records.
    pub(super) rows_crc: u32,
    /// How many of them do not count any more; `dead.SERIAL` says which, where there are any.
    pub(super) dead: usize,
    /// CRC-32 of that file.
    pub(super) dead_crc: u32,
    /// The names that rows point at.
    pub(super) categories: Vec<String>,
    /// What the vectors say of their files.
    pub(super) vectors: Option<super::vectors::Seal>,
}

impl Manifest {
    pub(super) fn empty(model: &str) -> Self {
        Self {
            format: FORMAT,
            model: model.to_owned(),
            serial: 0,
            mark: Mark::default(),
            rows: 0,
            rows_crc: 0,
            dead: 0,
            dead_crc: 0,
            categories: Vec::new(),
            vectors: None,
        }
    }

    pub(super) fn dead_name(&self) -> String {
        format!("dead.{}", self.serial)
    }
}
