//! Sign codes: a bit for each dimension, 1 where a number is positive. The share of bits in which two codes differ is an
//! estimate of the angle between their vectors (random hyperplanes: Charikar 2002), good enough to choose what is scored.

use super::bitmap::{Bitmap, bits};

/// Rows that are looked at together: those of a word of a bitmap.
const GROUP: usize = 64;

/// The words of 64 bits that a code has.
pub(super) fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Appends the code of a vector.
pub(super) fn encode(vector: &[f32], into: &mut Vec<u64>) {
    into.extend(vector.chunks(64).map(|part| {
        part.iter().zip(0..).fold(0, |word, (number, bit)| word | u64::from(*number > 0.0) << bit)
    }));
}

/// The `want` rows of those admitted whose codes differ least from a query's: in no order; of equals the first.
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
        if word == all {
            let least = distances[..count].iter().fold(u16::MAX, |least, distance| least.min(*distance));
            if least >= best.limit {
                continue;
            }
        }
        for (bit, row) in bits(word).zip(first..).map(|(bit, _)| (bit, first + bit as u32)) {
            best.offer(distances[bit], row);
        }
        best.sink();
    }
    best.rows()
}

/// The distances of some rows, at most a group.
fn measure(codes: &[u64], query: &[u64], distances: &mut [u16; GROUP]) {
    if let Ok(query) = <&[u64; 4]>::try_from(query) {
        // 256 dimensions: a shape that the compiler makes vectors of.
        for (distance, code) in distances.iter_mut().zip(codes.as_chunks::<4>().0) {
            *distance = differing(code, query);
        }
    } else {
        for (distance, code) in distances.iter_mut().zip(codes.chunks_exact(query.len())) {
            *distance = code.iter().zip(query).map(|(a, b)| (a ^ b).count_ones() as u16).sum();
        }
    }
}

#[inline]
fn differing(code: &[u64; 4], query: &[u64; 4]) -> u16 {
    code.iter().zip(query).map(|(a, b)| (a ^ b).count_ones() as u16).sum()
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
