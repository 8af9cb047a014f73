//! Adding vectors to the files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crc32fast::Hasher;

use super::super::{IndexError, place};
use super::{CODES, Seal, VECTORS, codes, rows};

/// Appends vectors to the files of a directory; they count once a manifest holds the [`Seal`].
pub(crate) struct VectorWriter {
    dimensions: usize,
    next: u32,
    crc: Hasher,
    codes: BufWriter<File>,
    vectors: BufWriter<File>,
    code: Vec<u64>,
    record: Vec<u8>,
}

impl VectorWriter {
    /// Goes on after `rows` rows, whose seal is this (none: there are no rows). What lies after them is cut off.
    pub(crate) fn append(
        dir: &Path,
        dimensions: usize,
        rows: usize,
        seal: Option<&Seal>,
    ) -> Result<Self, IndexError> {
        let next = u32::try_from(rows).map_err(|_| IndexError::new("it is full"))?;
        let code_bytes = rows as u64 * 8 * codes::words(dimensions) as u64;
        let crc = match seal {
            Some(seal) => Hasher::new_with_initial_len(seal.codes, code_bytes),
            None if rows == 0 => Hasher::new(),
            None => return Err(IndexError::new("it has no vectors")),
        };
        let codes = place::append_at(&dir.join(CODES), code_bytes)?;
        let vectors = place::append_at(&dir.join(VECTORS), rows as u64 * rows::size(dimensions) as u64)?;
        Ok(Self { dimensions, next, crc, codes, vectors, code: Vec::new(), record: Vec::new() })
    }

    /// Appends a vector as the next row. Its length does not matter; all zero stands for no direction.
    pub(crate) fn push(&mut self, vector: &[f32]) -> Result<(), IndexError> {
        if vector.len() != self.dimensions || !vector.iter().all(|number| number.is_finite()) {
            return Err(IndexError::new("a vector has other dimensions, or is no vector"));
        }
        self.code.clear();
        codes::encode(&codes::turned(vector), &mut self.code);
        for word in &self.code {
            let bytes = word.to_le_bytes();
            self.crc.update(&bytes);
            self.codes.write_all(&bytes)?;
        }
        self.record.clear();
        rows::encode(vector, self.next, &mut self.record);
        self.vectors.write_all(&self.record)?;
        self.next = self.next.checked_add(1).ok_or_else(|| IndexError::new("it is full"))?;
        Ok(())
    }

    /// Ends the writing: the seal of all rows.
    pub(crate) fn finish(mut self) -> Result<Seal, IndexError> {
        self.codes.flush()?;
        self.vectors.flush()?;
        Ok(Seal { codes: self.crc.finalize() })
    }
}
