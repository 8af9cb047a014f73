//! Vectors: sign codes that are scanned, and int8 rows that rescore the best.
//!
//! `codes` has a bit for each dimension of each row, and is held in memory: 32 MB for a million rows of 256 dimensions. A
//! search counts the bits in which each differs from the query's, weighs the bits of the nearest (16,000 for the best hundred)
//! by the query's numbers, and scores the best of those (two thousand, or one) by their rows in `vectors`. Of many rows two
//! threads scan a half each.
//! No graph is built, so that nothing is approximate but that choice, a row costs nothing to add, and any filter is a set of
//! rows. Both files only grow; how much of them counts, and what the codes' checksum is, says the manifest.

use std::fs::File;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use super::{IndexError, place};
pub(crate) use bitmap::Bitmap;
use codes::Probe;
use rows::{Question, Records};
pub(crate) use write::VectorWriter;

mod bitmap;
mod codes;
mod rows;
mod write;

const CODES: &str = "codes";
const VECTORS: &str = "vectors";

/// So many rows for each that is wanted are looked at again, the nearest by their codes; in all, at least and at most.
const LOOKED_AT: (usize, RangeInclusive<usize>) = (160, 500..=16_000);

/// So many of those are scored, where rows are held, and where each is read from the file.
const SCORED: (usize, RangeInclusive<usize>) = (20, 40..=2000);
const SCORED_IN_FILE: (usize, RangeInclusive<usize>) = (10, 40..=1000);

/// So many bytes of `vectors` are held in memory by who asks again: to read two thousand rows takes longer than all the rest.
const HELD: usize = 64 << 20;

/// So many rows for `k` that are wanted: never fewer than four for each.
fn enough((each, all): (usize, RangeInclusive<usize>), k: usize) -> usize {
    (each.saturating_mul(k)).clamp(*all.start(), *all.end()).max(k.saturating_mul(4))
}

/// What the manifest keeps of the files, beside the number of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The CRC-32 of the codes.
    codes: u32,
}

/// Vectors of a directory, open to be searched.
pub(crate) struct Vectors {
    dimensions: usize,
    codes: Vec<u64>,
    /// The checksum of `codes`.
    crc: Hasher,
    rows: usize,
    bytes: File,
    /// Whether something was searched for before.
    was_asked: AtomicBool,
    /// All of `vectors` that counts, where it is little and asked for often.
    held: OnceLock<Vec<u8>>,
}

impl Vectors {
    /// Reads the codes of `rows` rows, and checks them against their seal and the length of `vectors`. More in the files does
    /// not matter.
    ///
    /// # Errors
    ///
    /// A file that is missing or too short, and codes that are damaged. A damaged row of `vectors` is found when it is read.
    pub(crate) fn open(dir: &Path, dimensions: usize, rows: usize, seal: &Seal) -> Result<Self, IndexError> {
        let vectors = place::read_from(&dir.join(VECTORS), 0)?.into_inner();
        let mut opened = Self {
            dimensions,
            codes: Vec::new(),
            crc: Hasher::new(),
            rows: 0,
            bytes: vectors,
            was_asked: AtomicBool::new(false),
            held: OnceLock::new(),
        };
        opened.grow(dir, rows, seal)?;
        Ok(opened)
    }

    /// Reads what was appended since: `rows` is the number of all. After an error it is not to be used any more.
    pub(crate) fn grow(&mut self, dir: &Path, rows: usize, seal: &Seal) -> Result<(), IndexError> {
        let bytes = 8 * codes::words(self.dimensions);
        let more = rows.checked_sub(self.rows).ok_or_else(|| IndexError::new("it has fewer vectors now"))?;
        if self.bytes.metadata()?.len() < rows as u64 * rows::size(self.dimensions) as u64 {
            return Err(IndexError::new("vectors are missing"));
        }
        self.codes.reserve_exact(more * bytes / 8);
        let file = place::read_from(&dir.join(CODES), (self.rows * bytes) as u64)?.into_inner();
        read(file, more * bytes, &mut self.crc, &mut self.codes)?;
        if self.crc.clone().finalize() != seal.codes {
            return Err(IndexError::new("its codes are damaged"));
        }
        self.rows = rows;
        if let Some(mut held) = self.held.take()
            && self.read_on(&mut held)?
        {
            self.held = OnceLock::from(held);
        }
        Ok(())
    }

    /// Whether the rows are few enough to be held, from the second question on.
    fn is_held(&self) -> bool {
        self.rows * rows::size(self.dimensions) <= HELD
    }

    /// Reads rows of the file on to the last, where they are to be held; false where not.
    fn read_on(&self, held: &mut Vec<u8>) -> Result<bool, IndexError> {
        let size = rows::size(self.dimensions);
        let (start, end) = (held.len(), self.rows * size);
        if !self.is_held() {
            return Ok(false);
        }
        held.resize(end, 0);
        self.bytes.read_exact_at(&mut held[start..], start as u64)?;
        let first = u32::try_from(start / size).map_err(|_| IndexError::new("it is too large"))?;
        rows::check(&held[start..], size, first)?;
        Ok(true)
    }

    fn records(&self) -> Records<'_> {
        self.held.get().map_or(Records::In(&self.bytes), |held| Records::Held(held))
    }

    /// The rows of those admitted that may be the `k` nearest to a query, in order. None for a query of all zeros or of other
    /// dimensions.
    pub(crate) fn likely(&self, query: &[f32], k: usize, admitted: Option<&Bitmap>) -> Vec<u32> {
        if self.question(query).is_none() {
            return Vec::new();
        }
        let probe = Probe::of(&codes::turned(query));
        let found = codes::nearest(&self.codes, &probe, admitted, enough(LOOKED_AT, k));
        let scored = if self.is_held() { SCORED } else { SCORED_IN_FILE };
        codes::likeliest(found, enough(scored, k))
    }

    /// The `k` of some rows that are nearest to a query, with their cosines, best first; of equals the first row comes first.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        k: usize,
        rows: &[u32],
    ) -> Result<Vec<(u32, f32)>, IndexError> {
        let Some(question) = self.question(query) else { return Ok(Vec::new()) };
        if self.was_asked.swap(true, Ordering::Relaxed) && self.held.get().is_none() {
            let mut held = Vec::new();
            if self.read_on(&mut held)? {
                let _ = self.held.set(held);
            }
        }
        let mut scored = Vec::with_capacity(rows.len());
        rows::score(self.records(), &question, rows, &mut |row, cosine| scored.push((row, cosine)))?;
        scored.sort_unstable_by(|(row, cosine), (other, than)| than.total_cmp(cosine).then(row.cmp(other)));
        scored.truncate(k);
        Ok(scored)
    }

    /// The cosine of a query and a row; 0 where there is no such row, or the query has no direction.
    pub(crate) fn score(&self, query: &[f32], row: u32) -> Result<f32, IndexError> {
        let Some(question) = self.question(query).filter(|_| (row as usize) < self.rows) else {
            return Ok(0.0);
        };
        let mut found = 0.0;
        rows::score(self.records(), &question, &[row], &mut |_, cosine| found = cosine)?;
        Ok(found)
    }

    fn question(&self, query: &[f32]) -> Option<Question> {
        Question::of(query).filter(|_| query.len() == self.dimensions)
    }
}

/// Reads so many bytes as words, and continues their checksum.
fn read(mut file: impl Read, mut bytes: usize, crc: &mut Hasher, into: &mut Vec<u64>) -> io::Result<()> {
    let mut buffer = vec![0; bytes.min(1 << 16)];
    while bytes > 0 {
        let part = &mut buffer[..bytes.min(1 << 16)];
        file.read_exact(part)?;
        crc.update(part);
        into.extend(part.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
        bytes -= part.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
