//! Tensors out of a safetensors file.
//!
//! The format: the length of the header (u64, little-endian), the header (JSON: for each tensor its type, its shape and
//! where its bytes lie), the bytes. See <https://github.com/huggingface/safetensors#format>.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use super::super::IndexError;
use super::fault;

/// A header is longer only in files that hold more than an embedding.
const LONGEST_HEADER: usize = 1 << 20;

/// A file with its header read.
pub(super) struct Tensors<'a> {
    header: HashMap<String, serde_json::Value>,
    /// What follows the header, and where in the file that begins.
    bytes: &'a [u8],
    begin: usize,
}

/// A tensor whose bytes are as many as its type and shape say.
pub(super) struct Tensor<'a> {
    pub(super) kind: Kind,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: &'a [u8],
    /// Where in the file `bytes` lie.
    pub(super) range: Range<usize>,
}

/// The types that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Kind {
    I8,
    F16,
    F32,
    F64,
    I32,
    I64,
}

#[derive(Deserialize)]
struct Told {
    dtype: Kind,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub(super) fn of(file: &'a [u8]) -> Result<Self, IndexError> {
        let (length, rest) = file.split_first_chunk().ok_or_else(|| fault("no tensors: it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > LONGEST_HEADER {
            return Err(fault("no tensors: the header is too long"));
        }
        let header = rest.get(..length).ok_or_else(|| fault("no tensors: the header is cut off"))?;
        let header = serde_json::from_slice(header).map_err(|why| fault(format!("no tensors: {why}")))?;
        Ok(Self { header, bytes: &rest[length..], begin: file.len() - rest.len() + length })
    }

    /// The tensor of a name, if there is one.
    pub(super) fn get(&self, name: &str) -> Result<Option<Tensor<'a>>, IndexError> {
        let Some(told) = self.header.get(name) else { return Ok(None) };
        let told = Told::deserialize(told).map_err(|why| fault(format!("the tensor `{name}`: {why}")))?;
        let (start, end) = told.data_offsets;
        let size = told.shape.iter().try_fold(told.dtype.size(), |size, side| size.checked_mul(*side));
        let bytes = self.bytes.get(start..end).filter(|bytes| Some(bytes.len()) == size);
        let bytes =
            bytes.ok_or_else(|| fault(format!("the tensor `{name}` does not have the bytes it should")))?;
        let range = self.begin + start..self.begin + end;
        Ok(Some(Tensor { kind: told.dtype, shape: told.shape, bytes, range }))
    }
}

impl Tensor<'_> {
    /// Its numbers, in order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.bytes.chunks_exact(self.kind.size()).map(|bytes| self.kind.number(bytes))
    }
}

impl Kind {
    fn size(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// The number that the first [`Kind::size`] of some bytes are, little-endian. Of an integer beyond 2^53 an
    /// approximation, of too few bytes not a number.
    #[allow(clippy::cast_precision_loss, reason = "no row has such a number")]
    fn number(self, bytes: &[u8]) -> f64 {
        let number = match self {
            Self::I8 => bytes.first().map(|byte| f64::from(byte.cast_signed())),
            Self::F16 => bytes.first_chunk().map(|bytes| half(u16::from_le_bytes(*bytes))),
            Self::F32 => bytes.first_chunk().map(|bytes| f64::from(f32::from_le_bytes(*bytes))),
            Self::F64 => bytes.first_chunk().map(|bytes| f64::from_le_bytes(*bytes)),
            Self::I32 => bytes.first_chunk().map(|bytes| f64::from(i32::from_le_bytes(*bytes))),
            Self::I64 => bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes) as f64),
        };
        number.unwrap_or(f64::NAN)
    }
}

/// A number of half precision (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let size = match exponent {
        0 => fraction * 2_f64.powi(-14),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn half_precision() {
        let cases = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2_f64.powi(-24)),
            (0x03ff, 1023.0 * 2_f64.powi(-24)),
            (0x0400, 2_f64.powi(-14)),
            (0x3555, 0.333_251_953_125),
            (0x8000, -0.0),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for (bits, number) in cases {
            assert_eq!(half(bits).to_bits(), f64::to_bits(number), "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
