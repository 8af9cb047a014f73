//! Sign codes: a bit for each dimension, 1 where a number is positive. The share of bits in which two codes differ is an
//! estimate of the angle between their vectors (random hyperplanes: Charikar 2002), good enough to choose what is scored.

use std::f32::consts::FRAC_1_SQRT_2;

use super::bitmap::{Bitmap, bits};

/// Rows that are looked at together: those of a word of a bitmap.
const GROUP: usize = 64;

/// The words of 64 bits that a code has.
pub(super) fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Turns a vector, each the same way, so that no dimension says more than another: models have dimensions of falling weight,
/// but bits count alike.
///
/// Signs are flipped by a fixed rule and a Hadamard transform mixes the first numbers, then the last (as many as a power of
/// two has), twice. That keeps angles and lengths.
pub(super) fn turned(vector: &[f32]) -> Vec<f32> {
    let mut turned = vector.to_vec();
    let part = 1 << turned.len().checked_ilog2().unwrap_or_default();
    let back = turned.len().saturating_sub(part);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2 {
        for number in &mut turned {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 63 == 1 {
                *number = -*number;
            }
        }
        let count = part.min(turned.len());
        hadamard(&mut turned[..count]);
        if back > 0 {
            hadamard(&mut turned[back..]);
        }
    }
    turned
}

/// The orthonormal Walsh–Hadamard transform of a power of two numbers.
fn hadamard(numbers: &mut [f32]) {
    let mut half = 1;
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = ((*a + *b) * FRAC_1_SQRT_2, (*a - *b) * FRAC_1_SQRT_2);
            }
        }
        half *= 2;
    }
}

/// Appends the code of a vector that was [`turned`].
pub(super) fn encode(turned: &[f32], into: &mut Vec<u64>) {
    into.extend(turned.chunks(64).map(|part| {
        part.iter().zip(0..).fold(0, |word, (number, bit)| word | u64::from(*number > 0.0) << bit)
    }));
}

/// The `want` of some rows whose codes, taken as vectors of ±1, have the largest products with a query that was [`turned`]:
/// in order; of equals the first. The query loses nothing here, so that this tells more than [`nearest`].
pub(super) fn likeliest(codes: &[u64], turned: &[f32], mut rows: Vec<u32>, want: usize) -> Vec<u32> {
    if rows.len() > want {
        let sums: Vec<[f32; 256]> = turned.chunks(8).map(sums).collect();
        let words = words(turned.len());
        let product = |row: u32| -> f32 {
            let code = &codes[row as usize * words..][..words];
            let bytes = code.iter().flat_map(|word| word.to_le_bytes());
            sums.iter().zip(bytes).map(|(sums, byte)| sums[usize::from(byte)]).sum()
        };
        let mut scored: Vec<_> = rows.iter().map(|row| (product(*row), *row)).collect();
        scored.select_nth_unstable_by(want, |(a, row), (b, other)| b.total_cmp(a).then(row.cmp(other)));
        rows.clear();
        rows.extend(scored[..want].iter().map(|(_, row)| *row));
        rows.sort_unstable();
    }
    rows
}

/// For each byte of a code the sum of eight numbers, of each its sign as the bit has it: from the byte with one bit less.
fn sums(part: &[f32]) -> [f32; 256] {
    let mut sums = [0.0; 256];
    sums[0] = -part.iter().sum::<f32>();
    for byte in 1..256_usize {
        let number = part.get(byte.trailing_zeros() as usize).copied().unwrap_or_default();
        sums[byte] = sums[byte & (byte - 1)] + 2.0 * number;
    }
    sums
}

/// The `want` rows of those admitted whose codes differ least from a query's: in order; of equals the first.
///
/// One pass, linear in the rows: a limit sinks as soon as enough rows lie below it.
pub(super) fn nearest(codes: &[u64], query: &[u64], admitted: Option<&Bitmap>, want: usize) -> Vec<u32> {
    let mut best = Nearest::new(64 * query.len(), want);
    let mut distances = [0; GROUP];
    if want == 0 {
        return Vec::new();
    }
    for (group, codes) in codes.chunks(GROUP * query.len()).enumerate() {
        let count = codes.len() / query.len();
        let all = u64::MAX >> (GROUP - count);
        let word = admitted.map_or(all, |rows| rows.words().get(group).copied().unwrap_or_default() & all);
        if word == 0 {
            continue;
        }
        measure(codes, query, &mut distances);
        let first = u32::try_from(group * GROUP).unwrap_or(u32::MAX);
        let limit = best.limit;
        if distances[..count].iter().fold(u16::MAX, |least, distance| least.min(*distance)) >= limit {
            continue;
        }
        let bit = |(distance, bit): (&u16, u32)| u64::from(*distance < limit) << bit;
        let below = distances.iter().zip(0..).map(bit).fold(0, |below, bit| below | bit);
        for bit in bits(word & below) {
            best.offer(distances[bit], first.saturating_add(u32::try_from(bit).unwrap_or_default()));
        }
        best.sink();
    }
    best.rows()
}

/// The distances of some rows, at most a group.
fn measure(codes: &[u64], query: &[u64], distances: &mut [u16; GROUP]) {
    if let Ok(query) = <&[u64; 4]>::try_from(query) {
        // 256 dimensions: written out, it takes half the time of a loop over the words.
        for (distance, code) in distances.iter_mut().zip(codes.as_chunks::<4>().0) {
            let parts = [code[0] ^ query[0], code[1] ^ query[1], code[2] ^ query[2], code[3] ^ query[3]];
            *distance = ones(parts[0]) + ones(parts[1]) + ones(parts[2]) + ones(parts[3]);
        }
    } else {
        for (distance, code) in distances.iter_mut().zip(codes.chunks_exact(query.len())) {
            *distance = code.iter().zip(query).map(|(a, b)| ones(a ^ b)).sum();
        }
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "a word has 64 bits")]
fn ones(word: u64) -> u16 {
    word.count_ones() as u16
}

/// Rows with small distances.
struct Nearest {
    want: usize,
    /// What is not below it is not wanted.
    limit: u16,
    /// How many rows were taken at each distance, and how many up to the limit.
    counts: Vec<usize>,
    within: usize,
    found: Vec<(u16, u32)>,
}

impl Nearest {
    fn new(largest: usize, want: usize) -> Self {
        let limit = u16::try_from(largest + 1).unwrap_or(u16::MAX);
        Self { want, limit, counts: vec![0; usize::from(limit) + 1], within: 0, found: Vec::new() }
    }

    fn offer(&mut self, distance: u16, row: u32) {
        if distance < self.limit {
            self.counts[usize::from(distance)] += 1;
            self.within += 1;
            self.found.push((distance, row));
        }
    }

    /// Lowers the limit to the distance of the last row that is wanted: of later rows those at that distance are not.
    fn sink(&mut self) {
        while self.limit > 0 && self.within - self.counts[usize::from(self.limit)] >= self.want {
            self.within -= self.counts[usize::from(self.limit)];
            self.limit -= 1;
        }
        if self.found.len() > 4 * self.want.max(1024) && self.found.len() > 2 * self.within {
            self.found.retain(|(distance, _)| *distance <= self.limit);
        }
    }

    fn rows(mut self) -> Vec<u32> {
        let at_limit = self.counts[usize::from(self.limit)];
        let mut left = self.want.saturating_sub(self.within - at_limit);
        self.found.retain(|(distance, _)| {
            let is_last = *distance == self.limit;
            let is_wanted = *distance < self.limit || is_last && left > 0;
            left -= usize::from(is_last && is_wanted);
            is_wanted
        });
        self.found.into_iter().map(|(_, row)| row).collect()
    }
}
