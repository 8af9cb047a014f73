//! What was committed last, opened.

use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use super::lexical::Lexical;
use super::manifest::Manifest;
use super::rows::{self, RECORD, Rows};
use super::vectors::{Bitmap, Vectors};
use super::{IndexError, Model, place};

/// One commit, with all of its files.
pub(super) struct View {
    /// The name of its generation.
    pub(super) generation: String,
    /// The directory of its generation.
    pub(super) dir: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) lexical: Lexical,
    pub(super) rows: Rows,
    /// The checksum of the records so far.
    pub(super) rows_crc: Hasher,
    /// Rows that do not count any more.
    pub(super) dead: Bitmap,
    /// None of another model: only words are found.
    pub(super) vectors: Option<Vectors>,
}

/// Whose vectors an index may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vectored {
    ByModel,
    ByAny,
}

impl View {
    /// Opens the generation that counts, as it was committed last.
    pub(super) fn open(dir: &Path, model: &Model, vectored: Vectored) -> Result<Self, IndexError> {
        let generation = place::current(dir).ok_or_else(|| IndexError::new("there is none"))?;
        let dir = dir.join(&generation);
        let (lexical, manifest) = Lexical::open(&place::texts(&dir)?)?;
        let is_by_model = manifest.model == model.id();
        if !is_by_model && vectored == Vectored::ByModel {
            return Err(IndexError::new("its vectors are of another model"));
        }
        let mut rows = Rows::default();
        let mut rows_crc = Hasher::new();
        let dead = read_rows(&dir, &manifest, &mut rows, &mut rows_crc)?;
        let seal = manifest.vectors.as_ref().ok_or_else(|| IndexError::new("it has no vectors"))?;
        let open = || Vectors::open(&dir, model.dimensions(), manifest.rows, seal);
        let vectors = is_by_model.then(open).transpose()?;
        Ok(Self { generation, dir, manifest, lexical, rows, rows_crc, dead, vectors })
    }

    /// Opens what was committed to the same generation since. After an error it is not to be used any more.
    pub(super) fn refresh(&mut self) -> Result<(), IndexError> {
        if self.lexical.manifest()? == self.manifest {
            return Ok(());
        }
        let manifest = self.lexical.reload()?;
        if manifest.model != self.manifest.model || manifest.rows < self.rows.len() {
            return Err(IndexError::new("it is another one now"));
        }
        self.dead = read_rows(&self.dir, &manifest, &mut self.rows, &mut self.rows_crc)?;
        let seal = manifest.vectors.as_ref().ok_or_else(|| IndexError::new("it has no vectors"))?;
        if let Some(vectors) = &mut self.vectors {
            vectors.grow(&self.dir, manifest.rows, seal)?;
        }
        self.manifest = manifest;
        Ok(())
    }

    /// The rows that count.
    pub(super) fn living(&self) -> Bitmap {
        let mut living = self.dead.clone();
        let mut left = self.rows.len();
        for word in living.words_mut() {
            *word = !*word;
            if left < 64 {
                *word &= (1 << left) - 1;
            }
            left = left.saturating_sub(64);
        }
        living
    }

    /// The rows of a memory, those that do not count any more left out.
    pub(super) fn rows_of(&self, memory: i64) -> Vec<u32> {
        let Ok(memory) = u32::try_from(memory) else { return Vec::new() };
        rows::equal(&self.rows.memory, memory).filter(|&row| !self.dead.has(row as usize)).collect()
    }
}

/// Reads the records that a manifest counts and that are not known yet; returns which of all are dead.
fn read_rows(
    dir: &Path,
    manifest: &Manifest,
    rows: &mut Rows,
    crc: &mut Hasher,
) -> Result<Bitmap, IndexError> {
    let known = rows.len();
    let mut file = place::read_from(&dir.join(ROWS), (known * RECORD) as u64)?;
    rows.read(&mut file, manifest.rows - known, crc)?;
    if crc.clone().finalize() != manifest.rows_crc {
        return Err(IndexError::new("its rows are damaged"));
    }
    let mut dead = Bitmap::none(manifest.rows);
    if manifest.dead > 0 {
        place::read_whole(&dir.join(manifest.dead_name()), dead.words_mut(), manifest.dead_crc)?;
    }
    if dead.count() != manifest.dead {
        return Err(IndexError::new("its dead rows are miscounted"));
    }
    Ok(dead)
}

/// The file of records, in a generation.
pub(super) const ROWS: &str = "rows";
