//! Sign codes: a bit for each dimension, 1 where a number is positive. The share of bits in which two codes differ is an
//! estimate of the angle between their vectors (random hyperplanes: Charikar 2002), good enough to choose what is scored.

#![allow(
    clippy::inline_always,
    reason = "what a scan calls is compiled with it, for the processor that runs it"
)]

use std::f32::consts::FRAC_1_SQRT_2;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::super::threads;
use super::bitmap::{Bitmap, bits};

/// Rows that are looked at together: those of a word of a bitmap.
const GROUP: usize = 64;

/// Of so many groups one is measured first where there are not few, and at least so many rows of those tell something.
const SAMPLED: usize = 32;
const FEW: usize = if cfg!(test) { 4 } else { 2048 };
const LEAST_SAMPLE: usize = 100;

/// Where no more than one of so many rows is admitted, each is measured by itself, not with its group. (To choose for each group
/// costs more than either: no processor foretells it.)
const LONELY: usize = 24;

/// The weight of a bit of a query has so many bits.
const PLANES: usize = 4;

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

/// What rows are compared with: the code of a query, and what each of its bits weighs.
pub(super) struct Probe {
    code: Vec<u64>,
    /// For each word of the code the lowest bits of its weights, the next ones, and so on.
    planes: Vec<[u64; PLANES]>,
}

impl Probe {
    /// Of a vector that was [`turned`]. A bit weighs what its number is, without its sign, in steps of a fifteenth of the
    /// largest.
    pub(super) fn of(turned: &[f32]) -> Self {
        let mut code = Vec::new();
        encode(turned, &mut code);
        let largest = turned.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
        let steps = f32::from((1_u8 << PLANES) - 1) / largest.max(f32::MIN_POSITIVE);
        let planes = turned.chunks(64).map(|part| {
            let mut planes = [0; PLANES];
            for (number, bit) in part.iter().zip(0..) {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 15")]
                let weight = (number.abs() * steps).round() as u64;
                for (plane, place) in planes.iter_mut().zip(0..) {
                    *plane |= (weight >> place & 1) << bit;
                }
            }
            planes
        });
        Self { planes: planes.collect(), code }
    }

    /// What the bits weigh in which a code differs. The query loses little here, so that this tells more than their number.
    #[inline(always)]
    fn weigh(&self, code: &[u64]) -> u16 {
        let mut sum = 0;
        for ((word, own), planes) in code.iter().zip(&self.code).zip(&self.planes) {
            for (plane, place) in planes.iter().zip(0..) {
                sum += ones((word ^ own) & plane) << place;
            }
        }
        sum
    }
}

/// A row that may be near.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Near {
    /// In so many bits its code differs from that of the query.
    distance: u16,
    /// What those bits weigh.
    weight: u16,
    pub(super) row: u32,
}

/// The `want` of some rows in whose codes the least differs, by weight: in order; of equals the first.
pub(super) fn likeliest(mut found: Vec<Near>, want: usize) -> Vec<u32> {
    if found.len() > want {
        found.select_nth_unstable_by_key(want, |near| (near.weight, near.row));
        found.truncate(want);
    }
    let mut rows: Vec<_> = found.into_iter().map(|near| near.row).collect();
    rows.sort_unstable();
    rows
}

/// The `want` rows of those admitted whose codes differ least from a query's: in order; of equals the first.
///
/// One pass, linear in the rows, of two threads where they are many: a limit sinks as soon as enough rows lie below it. Where it
/// began too low there is another.
pub(super) fn nearest(codes: &[u64], probe: &Probe, admitted: Option<&Bitmap>, want: usize) -> Vec<Near> {
    let rows = codes.len() / probe.code.len().max(1);
    let are_lonely = admitted.is_some_and(|admitted| admitted.count() * LONELY <= rows);
    let scan = Scan { codes, probe, admitted, are_lonely, want };
    if want == 0 {
        return Vec::new();
    }
    let all = u16::try_from(64 * probe.code.len() + 1).unwrap_or(u16::MAX);
    let mut limit = Arch::new().dispatch(Sample(scan)).unwrap_or(all);
    loop {
        let found = scan.below(limit);
        if found.len() >= want || limit == all {
            return found;
        }
        limit = all;
    }
}

/// Codes, and what is looked for among them.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) codes: &'a [u64],
    pub(super) probe: &'a Probe,
    pub(super) admitted: Option<&'a Bitmap>,
    /// Whether few rows are admitted.
    pub(super) are_lonely: bool,
    pub(super) want: usize,
}

impl<'a> Scan<'a> {
    /// The rows that are wanted, of those whose distance is below a limit.
    fn below(self, limit: u16) -> Vec<Near> {
        let groups = self.groups();
        let pass = |groups| Arch::new().dispatch(Pass { scan: self, groups, limit });
        let half = groups / 2;
        let (later, earlier) = threads::both(groups * GROUP, || pass(half..groups), || pass(0..half));
        earlier.with_later(later).rows()
    }

    pub(super) fn groups(self) -> usize {
        self.codes.len().div_ceil(GROUP * self.words())
    }

    #[inline(always)]
    fn words(self) -> usize {
        self.probe.code.len().max(1)
    }

    /// The codes of a group, and the rows of it that are admitted.
    #[inline(always)]
    fn group(self, group: usize) -> (&'a [u64], u64) {
        let size = GROUP * self.words();
        let start = group * size;
        let codes = &self.codes[start..self.codes.len().min(start + size)];
        let all = u64::MAX >> (GROUP - codes.len() / self.words());
        (codes, self.admitted.map_or(all, |rows| rows.words().get(group).copied().unwrap_or_default() & all))
    }
}

/// Finds what the distances of all that is wanted are likely to be below, by some of the groups: without it the first rows would all
/// be taken, and most of what is taken dropped again. `None` where there are few groups.
///
/// As a [`Pass`] it is compiled for several kinds of processors, of which the running one chooses: what it calls is to be
/// inlined, or it would be compiled for the oldest.
struct Sample<'a>(Scan<'a>);

impl WithSimd for Sample<'_> {
    type Output = Option<u16>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<u16> {
        let (scan, groups) = (self.0, self.0.groups());
        if groups < FEW {
            return None;
        }
        let mut counts = vec![0; 64 * scan.words() + 1];
        let mut distances = [0; GROUP];
        for group in (0..groups).step_by(SAMPLED) {
            let (codes, admitted) = scan.group(group);
            measure(codes, &scan.probe.code, &mut distances);
            bits(admitted).for_each(|bit| counts[usize::from(distances[bit])] += 1);
        }
        let enough = (scan.want + scan.want / 2).div_ceil(SAMPLED).max(LEAST_SAMPLE);
        let mut within = 0;
        let last = counts.iter().position(|count| {
            within += count;
            within >= enough
        });
        u16::try_from(last? + 1).ok()
    }
}

/// Looks at some groups for rows whose distance is below a limit.
pub(super) struct Pass<'a> {
    pub(super) scan: Scan<'a>,
    pub(super) groups: Range<usize>,
    pub(super) limit: u16,
}

impl WithSimd for Pass<'_> {
    type Output = Nearest;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Nearest {
        let Self { scan, groups, limit } = self;
        let (probe, words) = (scan.probe, scan.words());
        let mut best = Nearest::new(limit, scan.want);
        let mut distances = [0; GROUP];
        for group in groups {
            let (codes, admitted) = scan.group(group);
            if admitted == 0 {
                continue;
            }
            let below = if scan.are_lonely {
                for bit in bits(admitted) {
                    distances[bit] = difference(&codes[bit * words..][..words], &probe.code);
                }
                admitted
            } else {
                measure(codes, &probe.code, &mut distances);
                let (measured, limit) = (&distances[..codes.len() / words], best.limit);
                if measured.iter().fold(u16::MAX, |least, distance| least.min(*distance)) >= limit {
                    continue;
                }
                let bit = |(distance, bit): (&u16, u32)| u64::from(*distance < limit) << bit;
                admitted & distances.iter().zip(0..).map(bit).fold(0, |below, bit| below | bit)
            };
            let first = u32::try_from(group * GROUP).unwrap_or(u32::MAX);
            for bit in bits(below) {
                let distance = distances[bit];
                if distance < best.limit {
                    let weight = probe.weigh(&codes[bit * words..][..words]);
                    let row = first.saturating_add(u32::try_from(bit).unwrap_or_default());
                    best.offer(Near { distance, weight, row });
                }
            }
            best.sink();
        }
        best
    }
}

/// The distances of some rows, at most a group.
#[inline(always)]
fn measure(codes: &[u64], query: &[u64], distances: &mut [u16; GROUP]) {
    if let Ok(query) = <&[u64; 4]>::try_from(query) {
        // 256 dimensions: of a known length it takes half the time.
        for (distance, code) in distances.iter_mut().zip(codes.as_chunks::<4>().0) {
            *distance = difference(code, query);
        }
    } else {
        for (distance, code) in distances.iter_mut().zip(codes.chunks_exact(query.len())) {
            *distance = difference(code, query);
        }
    }
}

#[inline(always)]
fn difference(code: &[u64], query: &[u64]) -> u16 {
    code.iter().zip(query).map(|(a, b)| ones(a ^ b)).sum()
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "a word has 64 bits")]
fn ones(word: u64) -> u16 {
    word.count_ones() as u16
}

/// Rows with small distances.
pub(super) struct Nearest {
    want: usize,
    /// What is not below it is not wanted.
    limit: u16,
    /// How many rows were taken at each distance, and how many up to the limit.
    counts: Vec<usize>,
    within: usize,
    found: Vec<Near>,
}

impl Nearest {
    fn new(limit: u16, want: usize) -> Self {
        Self { want, limit, counts: vec![0; usize::from(limit) + 1], within: 0, found: Vec::new() }
    }

    /// Takes a row whose distance is below the limit.
    #[inline(always)]
    fn offer(&mut self, near: Near) {
        self.counts[usize::from(near.distance)] += 1;
        self.within += 1;
        self.found.push(near);
    }

    /// Lowers the limit to the distance of the last row that is wanted: of later rows those at that distance are not.
    #[inline(always)]
    fn sink(&mut self) {
        while self.limit > 0 && self.within - self.counts[usize::from(self.limit)] >= self.want {
            self.within -= self.counts[usize::from(self.limit)];
            self.limit -= 1;
        }
        if self.found.len() > 4 * self.want.max(1024) && self.found.len() > 2 * self.within {
            self.found.retain(|near| near.distance <= self.limit);
        }
    }

    /// With the nearest of rows that come later, for whom the limit was the same at first.
    fn with_later(mut self, later: Self) -> Self {
        self.limit = self.limit.min(later.limit);
        self.counts.iter_mut().zip(later.counts).for_each(|(count, more)| *count += more);
        self.within = self.counts[..=usize::from(self.limit)].iter().sum();
        self.found.extend(later.found);
        self.sink();
        self
    }

    /// Those that are wanted, in order.
    pub(super) fn rows(mut self) -> Vec<Near> {
        let at_limit = self.counts[usize::from(self.limit)];
        let mut left = self.want.saturating_sub(self.within - at_limit);
        self.found.retain(|near| {
            let is_last = near.distance == self.limit;
            let is_wanted = near.distance < self.limit || is_last && left > 0;
            left -= usize::from(is_last && is_wanted);
            is_wanted
        });
        self.found
    }
}
