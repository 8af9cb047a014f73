//! Rows of int8, in a file: what chosen rows are scored by.
//!
//! A record is the numbers of a vector, brought to ±127 by its largest; the factor that brings them to length 1 (f32); and
//! the CRC-32 of its row number (u32) and all before. All little-endian. Many records are read where they lie, so that a
//! million of them need no memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crc32fast::Hasher;
use pulp::{Arch, Simd, WithSimd};

use super::super::IndexError;

/// The bytes of a record beside its numbers.
const BESIDE: usize = 8;

/// A number of a query is at most this, so that the largest sum of products (4,096 of them) fits an i32.
const LARGEST: f32 = 4095.0;

/// Records so near to each other are read at once, with those between.
const GAP: u32 = 8;

/// So many records are read at once, at most.
const AT_ONCE: usize = 256;

/// The bytes of a record.
pub(super) fn size(dimensions: usize) -> usize {
    dimensions + BESIDE
}

/// Appends the record of a vector.
pub(super) fn encode(vector: &[f32], row: u32, into: &mut Vec<u8>) {
    let start = into.len();
    let largest = vector.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    #[allow(clippy::cast_possible_truncation, reason = "it lies within ±127")]
    into.extend(vector.iter().map(|number| ((number * factor).round() as i8).cast_unsigned()));
    let squares = |byte: &u8| i64::from(byte.cast_signed()).pow(2);
    let length = root(into[start..].iter().map(squares).sum());
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    into.extend_from_slice(&scale.to_le_bytes());
    let crc = checksum(row, &into[start..]);
    into.extend_from_slice(&crc.to_le_bytes());
}

fn checksum(row: u32, bytes: &[u8]) -> u32 {
    let mut state = Hasher::new();
    state.update(&row.to_le_bytes());
    state.update(bytes);
    state.finalize()
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a length need not be exact")]
fn root(squares: i64) -> f32 {
    (squares as f64).sqrt() as f32
}

/// A query, ready to be compared with records. Its numbers are integers, so that a sum does not depend on its order, and the
/// compiler may make vectors of it.
pub(super) struct Question {
    numbers: Vec<i16>,
    scale: f32,
}

impl Question {
    /// None where a query has no direction: it is all zero, or no numbers.
    pub(super) fn of(query: &[f32]) -> Option<Self> {
        let largest = query.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
        if !(largest > 0.0 && query.iter().all(|number| number.is_finite())) {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, reason = "it lies within ±4,095")]
        let numbers: Vec<_> =
            query.iter().map(|number| (number / largest * LARGEST).round() as i16).collect();
        let length = root(numbers.iter().map(|number| i64::from(*number).pow(2)).sum());
        Some(Self { numbers, scale: length.recip() })
    }

    #[allow(clippy::cast_precision_loss, reason = "a cosine need not be exact")]
    fn cosine(&self, arch: Arch, row: &[u8], scale: f32) -> f32 {
        let sum = arch.dispatch(Product { row, numbers: &self.numbers });
        (sum as f32 * scale * self.scale).clamp(-1.0, 1.0)
    }
}

/// The sum of products, compiled as a [`super::codes::Scan`] is.
pub(super) struct Product<'a> {
    pub(super) row: &'a [u8],
    pub(super) numbers: &'a [i16],
}

impl WithSimd for Product<'_> {
    type Output = i32;

    #[allow(clippy::inline_always, reason = "it is compiled for the processor that runs it")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> i32 {
        let products = self.row.iter().zip(self.numbers);
        products.map(|(byte, number)| i32::from(byte.cast_signed()) * i32::from(*number)).sum()
    }
}

/// Where records are.
#[derive(Clone, Copy)]
pub(super) enum Records<'a> {
    In(&'a File),
    /// All of the file, after a [`check`].
    Held(&'a [u8]),
}

/// Calls `each` with the cosine of a query and each of some rows, which are in order and among the records.
pub(super) fn score(
    records: Records<'_>,
    question: &Question,
    rows: &[u32],
    each: &mut impl FnMut(u32, f32),
) -> Result<(), IndexError> {
    let arch = Arch::new();
    let size = size(question.numbers.len());
    let mut buffer = Vec::new();
    for run in runs(rows) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let (start, length) = (*first as usize * size, (last - first + 1) as usize * size);
        let bytes = match records {
            Records::Held(all) => &all[start..start + length],
            Records::In(file) => {
                buffer.resize(length, 0);
                file.read_exact_at(&mut buffer, start as u64)?;
                &buffer
            }
        };
        for row in run {
            let record = &bytes[(row - first) as usize * size..][..size];
            if matches!(records, Records::In(_)) {
                check(record, size, *row)?;
            }
            let (told, _) = record.split_last_chunk::<4>().ok_or_else(damaged)?;
            let (numbers, scale) = told.split_last_chunk().ok_or_else(damaged)?;
            each(*row, question.cosine(arch, numbers, f32::from_le_bytes(*scale)));
        }
    }
    Ok(())
}

/// Checks records of a size, from that of a row on.
pub(super) fn check(records: &[u8], size: usize, first: u32) -> Result<(), IndexError> {
    for (record, row) in records.chunks_exact(size).zip(first..) {
        let (told, crc) = record.split_last_chunk().ok_or_else(damaged)?;
        if checksum(row, told) != u32::from_le_bytes(*crc) {
            return Err(damaged());
        }
    }
    Ok(())
}

fn damaged() -> IndexError {
    IndexError::new("a vector is damaged")
}

/// Cuts ascending rows where too much lies between.
fn runs(rows: &[u32]) -> impl Iterator<Item = &[u32]> {
    rows.chunk_by(|row, next| next - row <= GAP).flat_map(|run| run.chunks(AT_ONCE / GAP as usize))
}
