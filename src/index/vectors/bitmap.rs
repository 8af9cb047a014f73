//! Sets of rows.

/// A set of the rows 0 to `len`, a bit each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// The empty set, for rows below `len`.
    pub(crate) fn none(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// 64 rows a word, the lowest row in the lowest bit. Bits beyond the last row are 0.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// As [`Bitmap::words`]: bits beyond the last row must stay 0.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Adds a row, which must be below the length.
    pub(crate) fn set(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Removes a row, which must be below the length.
    pub(crate) fn clear(&mut self, row: usize) {
        self.words[row / 64] &= !(1 << (row % 64));
    }

    /// Whether a row is in it; one beyond its length is not.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Its rows, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(place, &word)| bits(word).map(move |bit| place * 64 + bit))
    }

    /// The number of its rows.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// The numbers of the bits of a word that are 1, in order.
pub(super) fn bits(word: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
        .take_while(|word| *word != 0)
        .map(|word| word.trailing_zeros() as usize)
}
