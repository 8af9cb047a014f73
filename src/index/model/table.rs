//! The rows of an embedding, and their mean.

use std::borrow::Cow;

use super::super::IndexError;
use super::fault;
use super::tensors::{Kind, Tensors};

/// Models have fewer dimensions.
const MOST_DIMENSIONS: usize = 4096;

/// A row of int8 for each token, or for each group of them.
pub(super) struct Table {
    dimensions: usize,
    /// `dimensions` int8 a row.
    rows: Cow<'static, [u8]>,
    /// For each token its row, and what that is to be multiplied by. Empty: a token has the row of its number, as it is.
    tokens: Vec<(u32, f32)>,
}

impl Table {
    /// Reads the tensors of a model2vec file: `embeddings` (rows × dimensions; I8, F16, F32 or F64), and of its later
    /// versions `weights` (a factor for each token) and `mapping` (a row for each token).
    ///
    /// What is not int8 is brought to int8 with a scale for each row, which costs less than a thousandth of a cosine.
    #[allow(clippy::needless_pass_by_value, reason = "the table goes with it")]
    pub(super) fn read(file: Cow<'static, [u8]>) -> Result<Self, IndexError> {
        let tensors = Tensors::of(&file)?;
        let embeddings =
            tensors.get("embeddings")?.ok_or_else(|| fault("there is no tensor `embeddings`"))?;
        let [count, dimensions] = embeddings.shape[..] else {
            return Err(fault("`embeddings` is no matrix"));
        };
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) || count == 0 || u32::try_from(count).is_err() {
            return Err(fault("`embeddings` has the shape of no model"));
        }

        let numbers = |name| -> Result<Option<Vec<f64>>, IndexError> {
            let Some(tensor) = tensors.get(name)? else { return Ok(None) };
            let numbers: Vec<f64> = tensor.numbers().collect();
            Some(numbers)
                .filter(|all| all.iter().all(|number| number.is_finite()))
                .map(Some)
                .ok_or_else(|| fault(format!("the tensor `{name}` holds what is no number")))
        };
        let (mapping, weights) = (numbers("mapping")?, numbers("weights")?);
        let tokens = mapping.as_ref().map_or(count, Vec::len);
        if weights.as_ref().is_some_and(|weights| weights.len() != tokens) {
            return Err(fault("there are not as many `weights` as tokens"));
        }

        let (rows, scales) = if embeddings.kind == Kind::I8 {
            let rows = match &file {
                Cow::Borrowed(file) => Cow::Borrowed(&file[embeddings.range.clone()]),
                Cow::Owned(_) => Cow::Owned(embeddings.bytes.to_vec()),
            };
            (rows, None)
        } else {
            let (rows, scales) = quantize(embeddings.numbers(), dimensions)
                .ok_or_else(|| fault("the tensor `embeddings` holds what is no number"))?;
            (Cow::Owned(rows), Some(scales))
        };
        if mapping.is_none() && weights.is_none() && scales.is_none() {
            return Ok(Self { dimensions, rows, tokens: Vec::new() });
        }
        let token = |token: usize| {
            let row = mapping.as_ref().map_or(Some(token), |mapping| whole(mapping[token]));
            let row = row.filter(|row| *row < count).ok_or_else(|| fault("`mapping` leads nowhere"))?;
            let scale = scales.as_ref().map_or(1.0, |scales| scales[row]);
            let factor = scale * weights.as_ref().map_or(1.0, |weights| single(weights[token]));
            Ok((u32::try_from(row).map_err(|_| fault("`mapping` leads nowhere"))?, factor))
        };
        let tokens = (0..tokens).map(token).collect::<Result<_, IndexError>>()?;
        Ok(Self { dimensions, rows, tokens })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The mean of the rows of some tokens, brought to length 1; all zero where nothing is left.
    pub(super) fn mean(&self, tokens: &[u32]) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        for token in tokens {
            let (row, factor) = match self.tokens.get(*token as usize) {
                Some(found) => *found,
                None if self.tokens.is_empty() => (*token, 1.0),
                None => continue,
            };
            let start = row as usize * self.dimensions;
            let Some(row) = self.rows.get(start..start + self.dimensions) else { continue };
            for (sum, byte) in sum.iter_mut().zip(row) {
                *sum += f32::from(byte.cast_signed()) * factor;
            }
        }
        let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
        if !(length.is_finite() && length > 0.0) {
            return vec![0.0; self.dimensions];
        }
        for part in &mut sum {
            *part /= length;
        }
        sum
    }
}

/// Rows of int8 with a scale each, such that the largest number of a row becomes ±127; none if one is not finite.
fn quantize(mut numbers: impl Iterator<Item = f64>, dimensions: usize) -> Option<(Vec<u8>, Vec<f32>)> {
    let (mut rows, mut scales) = (Vec::new(), Vec::new());
    loop {
        let row: Vec<f64> = numbers.by_ref().take(dimensions).collect();
        if row.is_empty() {
            return Some((rows, scales));
        }
        let largest = row.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
        if !row.iter().all(|number| number.is_finite()) {
            return None;
        }
        let scale = if largest == 0.0 { 1.0 } else { largest / 127.0 };
        #[allow(clippy::cast_possible_truncation, reason = "it lies within ±127")]
        rows.extend(row.iter().map(|number| ((number / scale).round() as i8).cast_unsigned()));
        scales.push(single(scale));
    }
}

/// A number as an index, if it is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and not negative")]
fn whole(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0).then_some(number as usize)
}

#[allow(clippy::cast_possible_truncation, reason = "a factor need not be more exact; too large is infinite")]
fn single(number: f64) -> f32 {
    number as f32
}
