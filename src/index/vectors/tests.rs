//! Searches against exact ones, and files that are damaged.

use std::fs;

use proptest::prelude::*;
use pulp::WithSimd as _;
use tempfile::TempDir;

use super::super::model::Model;
use super::*;

/// A directory that holds some vectors.
struct Made {
    dir: TempDir,
    dimensions: usize,
    rows: usize,
    seal: Seal,
}

impl Made {
    fn of(vectors: &[Vec<f32>], dimensions: usize) -> Self {
        let dir = TempDir::new().unwrap();
        let seal = write(dir.path(), dimensions, 0, None, vectors);
        Self { dir, dimensions, rows: vectors.len(), seal }
    }

    fn open(&self) -> Result<Vectors, IndexError> {
        Vectors::open(self.dir.path(), self.dimensions, self.rows, &self.seal)
    }
}

fn write(dir: &Path, dimensions: usize, rows: usize, seal: Option<&Seal>, vectors: &[Vec<f32>]) -> Seal {
    let mut writer = VectorWriter::append(dir, dimensions, rows, seal).unwrap();
    for vector in vectors {
        writer.push(vector).unwrap();
    }
    writer.finish().unwrap()
}

/// Sentences of words that are drawn by a fixed rule, as vectors.
fn sentences(count: usize) -> Vec<Vec<f32>> {
    const WORDS: &str = "user prefers dark light editor theme project deadline meeting coffee tea morning review \
        branch release database index query server deploy test bug fix rust python cargo compile memory file folder \
        note travel flight hotel paris tokyo food allergy peanut dog cat child school doctor invoice budget team manager";
    let words: Vec<_> = WORDS.split_whitespace().collect();
    let model = Model::builtin().unwrap();
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..count)
        .map(|_| {
            let text: Vec<_> = (0..4 + next() % 8).map(|_| words[next() % words.len()]).collect();
            model.embed(&text.join(" "))
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

fn exact(vectors: &[Vec<f32>], query: &[f32], k: usize, admitted: Option<&Bitmap>) -> Vec<u32> {
    let mut all: Vec<(u32, f32)> =
        (0..).zip(vectors).map(|(row, vector)| (row, cosine(vector, query))).collect();
    all.retain(|(row, _)| admitted.is_none_or(|rows| rows.has(*row as usize)));
    all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    all.into_iter().take(k).map(|(row, _)| row).collect()
}

#[test]
fn the_best_are_found() {
    let vectors = sentences(6000);
    let made = Made::of(&vectors, 256);
    let open = made.open().unwrap();
    let mut some = Bitmap::none(vectors.len());
    (0..vectors.len()).step_by(3).for_each(|row| some.set(row));
    for admitted in [None, Some(&some)] {
        let mut hits = 0;
        for query in vectors.iter().step_by(120) {
            let found = open.search(query, 10, admitted).unwrap();
            assert!(found.is_sorted_by(|(_, a), (_, b)| a >= b) && found.len() == 10);
            for (row, score) in &found {
                assert!((score - cosine(query, &vectors[*row as usize])).abs() < 0.01, "{row}");
                assert!((open.score(query, *row).unwrap() - score).abs() < f32::EPSILON);
                assert!(admitted.is_none_or(|rows| rows.has(*row as usize)));
            }
            let best = exact(&vectors, query, 10, admitted);
            hits += found.iter().filter(|(row, _)| best.contains(row)).count();
        }
        assert!(hits >= 490, "{hits} of 500");
    }
}

#[test]
fn nothing_to_find() {
    let vectors = sentences(70);
    let made = Made::of(&vectors, 256);
    let open = made.open().unwrap();
    let query = &vectors[3];
    assert_eq!(open.search(query, 10, Some(&Bitmap::none(70))).unwrap(), []);
    assert_eq!(open.search(query, 10, Some(&Bitmap::none(0))).unwrap(), []);
    assert_eq!(open.search(query, 0, None).unwrap(), []);
    assert_eq!(open.search(query, 100, None).unwrap().len(), 70);
    for query in [vec![0.0; 256], vec![f32::NAN; 256], vec![1.0; 255], Vec::new()] {
        assert_eq!(open.search(&query, 10, None).unwrap(), []);
        assert!(open.score(&query, 3).unwrap().abs() < f32::EPSILON);
    }
    assert!(open.score(query, 70).unwrap().abs() < f32::EPSILON);

    let none = Made::of(&[], 256);
    assert_eq!(none.open().unwrap().search(query, 10, None).unwrap(), []);
    let zeros = Made::of(&vec![vec![0.0; 256]; 5], 256);
    assert_eq!(zeros.open().unwrap().search(query, 2, None).unwrap(), [(0, 0.0), (1, 0.0)]);
}

/// Of rows that are alike the first come back, however many there are and wherever the filter begins.
#[test]
fn ties_go_to_the_first() {
    let mut vectors = vec![sentences(1).remove(0); 5000];
    vectors[4000] = vec![1.0; 256];
    let made = Made::of(&vectors, 256);
    let open = made.open().unwrap();
    let rows = |admitted| -> Vec<u32> {
        open.search(&vectors[0], 3, admitted).unwrap().into_iter().map(|(row, _)| row).collect()
    };
    assert_eq!(rows(None), [0, 1, 2]);
    let mut late = Bitmap::none(5000);
    (3999..5000).for_each(|row| late.set(row));
    assert_eq!(rows(Some(&late)), [3999, 4001, 4002]);
}

#[test]
fn rows_are_appended_and_leftovers_cut_off() {
    let vectors = sentences(200);
    let dir = TempDir::new().unwrap();
    let first = write(dir.path(), 256, 0, None, &vectors[..70]);
    let mut open = Vectors::open(dir.path(), 256, 70, &first).unwrap();
    write(dir.path(), 256, 70, Some(&first), &vectors[150..]);
    let all = write(dir.path(), 256, 70, Some(&first), &vectors[70..]);
    assert_eq!(open.search(&vectors[150], 1, None).unwrap().len(), 1);
    assert_ne!(open.search(&vectors[150], 1, None).unwrap()[0].0, 150);
    open.grow(dir.path(), 200, &all).unwrap();
    assert_eq!(open.search(&vectors[150], 1, None).unwrap()[0].0, 150);
    assert!(open.grow(dir.path(), 199, &all).is_err());

    let whole = Made::of(&vectors, 256);
    assert_eq!(whole.seal, all);
    for name in [CODES, VECTORS] {
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), fs::read(whole.dir.path().join(name)).unwrap());
    }
    assert!(VectorWriter::append(dir.path(), 256, 201, Some(&all)).is_err());
    assert!(VectorWriter::append(dir.path(), 256, 200, None).is_err());
    let mut writer = VectorWriter::append(dir.path(), 256, 200, Some(&all)).unwrap();
    assert!(writer.push(&[1.0; 255]).is_err());
    assert!(writer.push(&[f32::NAN; 256]).is_err());
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    let vectors = sentences(3);
    let made = Made::of(&vectors, 256);
    for name in [CODES, VECTORS] {
        let path = made.dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert!(made.open().is_err(), "{name}, {end}");
        }
        fs::remove_file(&path).unwrap();
        assert!(made.open().is_err());
        fs::write(&path, &whole).unwrap();
    }
    made.open().unwrap();
}

#[test]
fn a_byte_that_changed_is_an_error() {
    let vectors = sentences(3);
    let made = Made::of(&vectors, 256);
    let search = || made.open()?.search(&vectors[0], 10, None);
    for name in [CODES, VECTORS] {
        let path = made.dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            assert!(search().is_err(), "{name}, {at}");
        }
        fs::write(&path, &whole).unwrap();
    }
    let path = made.dir.path().join(VECTORS);
    let mut swapped = fs::read(&path).unwrap();
    swapped.rotate_left(rows::size(256));
    fs::write(&path, swapped).unwrap();
    assert!(search().is_err());
}

impl Vectors {
    fn search(
        &self,
        query: &[f32],
        k: usize,
        admitted: Option<&Bitmap>,
    ) -> Result<Vec<(u32, f32)>, IndexError> {
        self.nearest(query, k, &self.likely(query, k, admitted))
    }
}

/// The choice by codes, done plainly.
fn plainly(codes: &[u64], query: &[u64], admitted: Option<&Bitmap>, want: usize) -> Vec<u32> {
    let distance = |code: &[u64]| -> u32 { code.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum() };
    let rows = codes.chunks(query.len()).zip(0_u32..);
    let mut all: Vec<_> = rows.map(|(code, row)| (distance(code), row)).collect();
    all.retain(|(_, row)| admitted.is_none_or(|rows| rows.has(*row as usize)));
    all.sort_unstable();
    all.truncate(want);
    let mut rows: Vec<_> = all.into_iter().map(|(_, row)| row).collect();
    rows.sort_unstable();
    rows
}

proptest! {
    #[test]
    fn the_choice_is_that_of_a_sort(
        words in 1_usize..=5,
        seeds in prop::collection::vec(0_u64..12, 0..400),
        query in 0_u64..12,
        want in 0_usize..80,
        admitted in prop::option::of(prop::collection::vec(any::<bool>(), 400)),
        are_lonely: bool,
    ) {
        // Few different codes, so that there are ties.
        let code = |seed: u64| (0..words as u64).map(move |word| (seed + word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let codes: Vec<u64> = seeds.iter().flat_map(|seed| code(*seed)).collect();
        let query: Vec<u64> = code(query).collect();
        let number = |bit: usize| if query[bit / 64] >> (bit % 64) & 1 == 1 { 1.0 } else { -1.0 };
        let probe = Probe::of(&(0..64 * words).map(number).collect::<Vec<_>>());
        let admitted = admitted.map(|bits| {
            let mut rows = Bitmap::none(seeds.len());
            (0..seeds.len()).filter(|row| bits[*row]).for_each(|row| rows.set(row));
            rows
        });
        let found = codes::nearest(&codes, &probe, admitted.as_ref(), want);
        let scan = codes::Scan { codes: &codes, probe: &probe, admitted: admitted.as_ref(), are_lonely, want };
        let limit = u16::try_from(64 * words + 1).unwrap();
        let pass = codes::Pass { scan, groups: 0..scan.groups(), limit };
        prop_assert_eq!(&found, &pass.with_simd(pulp::Scalar::new()).rows(), "on any processor the same");
        let rows: Vec<u32> = found.iter().map(|near| near.row).collect();
        prop_assert_eq!(rows, plainly(&codes, &query, admitted.as_ref(), want));
    }

    #[test]
    fn turning_keeps_cosines(pair in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..300)) {
        let (a, b): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
        let turned = cosine(&codes::turned(&a), &codes::turned(&b));
        prop_assert!((turned - cosine(&a, &b)).abs() < 1e-3, "{} {}", turned, cosine(&a, &b));
    }

    #[test]
    fn the_likeliest_are_those_of_a_sort(rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 70), 1..60), want in 1_usize..60) {
        let mut all = Vec::new();
        for row in &rows {
            codes::encode(row, &mut all);
        }
        let sign = |number: &f32| if *number > 0.0 { 1.0 } else { -1.0 };
        let product = |row: &Vec<f32>| -> f32 { row.iter().zip(&rows[0]).map(|(a, b)| sign(a) * b).sum() };
        let found = codes::nearest(&all, &Probe::of(&rows[0]), None, rows.len());
        let found = codes::likeliest(found, want);
        let mut best: Vec<_> = rows.iter().map(product).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let least = best[want.min(rows.len()) - 1];
        prop_assert_eq!(found.len(), want.min(rows.len()));
        prop_assert!(found.is_sorted());
        // Of each of 70 numbers at most half a fifteenth is lost, twice where signs differ.
        prop_assert!(found.iter().all(|row| product(&rows[*row as usize]) >= least - 2.0 * 70.0 / 15.0));
    }

    #[test]
    fn a_product_is_the_same_on_any_processor(pair in prop::collection::vec((any::<u8>(), -4095_i16..=4095), 0..300)) {
        let (row, numbers): (Vec<u8>, Vec<i16>) = pair.into_iter().unzip();
        let product = || rows::Product { row: &row, numbers: &numbers };
        prop_assert_eq!(pulp::Arch::new().dispatch(product()), product().with_simd(pulp::Scalar::new()));
    }

    #[test]
    fn scores_are_cosines(pair in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..300)) {
        let (row, query): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
        let made = Made::of(std::slice::from_ref(&row), row.len());
        let found = made.open().unwrap().score(&query, 0).unwrap();
        prop_assert!((found - cosine(&row, &query)).abs() < 0.01, "{} {}", found, cosine(&row, &query));
    }
}

#[test]
fn a_set_of_rows() {
    let mut set = Bitmap::none(130);
    for row in [0, 63, 64, 129] {
        set.set(row);
    }
    assert_eq!(set.rows().collect::<Vec<_>>(), [0, 63, 64, 129]);
    set.clear(64);
    assert_eq!((set.count(), set.words().len()), (3, 3));
    assert!(set.has(63) && !set.has(64) && !set.has(1000));
}

/// Where the groups that are measured first are nearer than all others, the limit begins too low.
#[test]
fn what_the_sample_misses_is_found() {
    let probe = codes::Probe::of(&[1.0; 64]);
    let codes: Vec<u64> = (0..64 * 40)
        .map(|row| if row / 64 % 32 == 0 { u64::MAX } else { u64::MAX << (row % 50 + 1) })
        .collect();
    for want in [1, 100, 128, 129, 300, 2000, 3000] {
        let mut nearest: Vec<_> =
            codes.iter().zip(0_u32..).map(|(code, row)| (code.count_zeros(), row)).collect();
        nearest.sort_unstable();
        let mut expected: Vec<_> = nearest.into_iter().take(want).map(|(_, row)| row).collect();
        expected.sort_unstable();
        let found = codes::nearest(&codes, &probe, None, want);
        assert_eq!(found.iter().map(|near| near.row).collect::<Vec<_>>(), expected, "{want}");
    }
}
