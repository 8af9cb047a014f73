//! Which rows a filter admits: decided over columns before anything is searched.

use std::collections::HashSet;

use pulp::{Arch, Simd, WithSimd};

use super::lexical::folded_tag;
use super::rows::{self, Row};
use super::vectors::Bitmap;
use super::view::View;
use super::{Facts, Filter, IndexError};

/// A filter in the terms of rows.
struct Test {
    /// By category of a row; empty: any.
    categories: Vec<bool>,
    fold: Option<u32>,
    min_importance: u8,
    entries_only: bool,
    /// Rows that end at this moment or before do not count; 0: no row ends so early.
    now: u32,
    since: u32,
    memories: Option<Bitmap>,
}

impl Test {
    fn new(view: &View, filter: &Filter) -> Self {
        let rows = &view.rows;
        let mut categories = Vec::new();
        if !filter.categories.is_empty() {
            categories.push(false);
            categories.extend(view.manifest.categories.iter().map(|name| filter.categories.contains(name)));
        }
        let now = rows::seconds(filter.now);
        Self {
            categories,
            fold: filter.fold.map(rows::fold),
            min_importance: filter.min_importance,
            entries_only: filter.entries_only,
            now: if rows.soonest == 0 || rows.soonest > now { 0 } else { now },
            since: filter.since.map_or(0, rows::seconds),
            memories: filter.memories.as_ref().map(|memories| set_of(memories)),
        }
    }

    fn admits(&self, row: &Row) -> bool {
        self.admits_category(row.category)
            && self.fold.is_none_or(|fold| row.fold == fold)
            && row.importance() >= self.min_importance
            && (!self.entries_only || row.is_entry())
            && (row.expires == 0 || row.expires > self.now)
            && row.updated >= self.since
            && self.memories.as_ref().is_none_or(|memories| memories.has(row.memory as usize))
    }

    fn admits_category(&self, category: u16) -> bool {
        self.categories.is_empty() || self.categories.get(usize::from(category)).copied().unwrap_or(false)
    }

    /// Takes out of a set what the columns say.
    fn narrow(&self, set: &mut Bitmap, view: &View) {
        let rows = &view.rows;
        if self.entries_only || self.min_importance > 1 {
            let (min, any) = (self.min_importance, !self.entries_only);
            // `&`, `|`: with a branch it takes twenty times as long.
            narrow(set, &rows.flags, |flags| {
                (rows::importance(flags) >= min) & (any | rows::is_entry(flags))
            });
        }
        if !self.categories.is_empty() {
            let mut wanted = self.categories.iter().enumerate().filter(|(_, is_wanted)| **is_wanted);
            let is_any = self.categories[1..].iter().all(|is_wanted| *is_wanted);
            match (wanted.next(), wanted.next()) {
                (None, _) => set.words_mut().fill(0),
                _ if is_any => {
                    // The first of all stands for none.
                    let all = self.categories.len() - 1;
                    narrow(set, &rows.category, |category| usize::from(category.wrapping_sub(1)) < all);
                }
                (Some((one, _)), None) => {
                    narrow(set, &rows.category, |category| usize::from(category) == one);
                }
                _ => narrow(set, &rows.category, |category| self.admits_category(category)),
            }
        }
        if self.now > 0 {
            let now = self.now;
            // 0, which never ends, comes round to the last moment.
            narrow(set, &rows.expires, |expires| expires.wrapping_sub(1) >= now);
        }
        if self.since > 0 {
            let since = self.since;
            narrow(set, &rows.updated, |updated| updated >= since);
        }
        if let Some(memories) = &self.memories {
            narrow(set, &rows.memory, |memory| memories.has(memory as usize));
        }
    }
}

/// Leaves in a set the rows whose value passes.
fn narrow<T: Copy>(set: &mut Bitmap, column: &[T], test: impl Fn(T) -> bool) {
    Arch::new().dispatch(Narrow { set, column, test });
}

/// It is every query's first step over all rows, so it is compiled as the scan of the codes is, and written for the compiler to
/// make vectors of: 64 answers as bytes, and of every eight of them the lowest bits.
struct Narrow<'a, T, F> {
    set: &'a mut Bitmap,
    column: &'a [T],
    test: F,
}

impl<T: Copy, F: Fn(T) -> bool> WithSimd for Narrow<'_, T, F> {
    type Output = ();

    #[allow(clippy::inline_always, reason = "it is compiled for the processor that runs it")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (word, values) in self.set.words_mut().iter_mut().zip(self.column.chunks(64)) {
            if *word != 0 {
                let mut answers = [0_u8; 64];
                for (answer, &value) in answers.iter_mut().zip(values) {
                    *answer = u8::from((self.test)(value));
                }
                // The product brings bit 0 of byte n to bit 56 + n.
                let bits = answers.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| {
                    bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
                });
                *word &= bits;
            }
        }
    }
}

fn set_of(memories: &HashSet<i64>) -> Bitmap {
    let ids = || memories.iter().filter_map(|&id| u32::try_from(id).ok());
    let mut set = Bitmap::none(ids().max().map_or(0, |max| max as usize + 1));
    ids().for_each(|id| set.set(id as usize));
    set
}

/// The rows that a filter admits and that are not hidden; `None`: all.
pub(super) fn admitted(view: &View, filter: &Filter, hidden: &[u32]) -> Result<Option<Bitmap>, IndexError> {
    let test = Test::new(view, filter);
    let mut seeds: Option<Vec<u32>> = None;
    if let Some(key) = &filter.key {
        seeds = Some(view.lexical.rows_with(view.lexical.fields.key, key)?);
    }
    for tag in &filter.tags {
        let found = view.lexical.rows_with(view.lexical.fields.tag, &folded_tag(tag))?;
        seeds = Some(match seeds {
            None => found,
            Some(seeds) => seeds.into_iter().filter(|row| found.binary_search(row).is_ok()).collect(),
        });
    }
    if let (None, Some(fold)) = (&seeds, test.fold) {
        seeds = Some(rows::equal(&view.rows.fold, fold).collect());
    }
    let mut set;
    if let Some(seeds) = seeds {
        set = Bitmap::none(view.rows.len());
        for row in seeds.into_iter().map(|row| row as usize) {
            if !view.dead.has(row) && test.admits(&view.rows.get(row)) {
                set.set(row);
            }
        }
    } else {
        let is_open = test.categories.is_empty()
            && test.min_importance <= 1
            && !test.entries_only
            && test.now == 0
            && test.since == 0
            && test.memories.is_none();
        if is_open && hidden.is_empty() && view.manifest.dead == 0 {
            return Ok(None);
        }
        set = view.living();
        test.narrow(&mut set, view);
    }
    for &row in hidden {
        set.clear(row as usize);
    }
    Ok(Some(set))
}

/// Whether a filter admits a memory that is not in the index.
pub(super) fn admits(filter: &Filter, memory: i64, facts: &Facts) -> bool {
    let is_category = |name: &String| filter.categories.contains(name);
    let has_tag = |tag: &String| facts.tags.iter().any(|found| folded_tag(found) == folded_tag(tag));
    filter.fold.is_none_or(|fold| facts.fold == fold)
        && (filter.categories.is_empty() || facts.category.as_ref().is_some_and(is_category))
        && filter.tags.iter().all(has_tag)
        && filter.key.as_ref().is_none_or(|key| facts.key.as_ref() == Some(key))
        && facts.importance >= filter.min_importance
        && facts.expires.is_none_or(|expires| expires > filter.now)
        && filter.since.is_none_or(|since| facts.updated >= since)
        && (!filter.entries_only || facts.is_entry)
        && filter.memories.as_ref().is_none_or(|memories| memories.contains(&memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_narrowed_bit_by_bit() {
        for length in [0, 1, 63, 64, 65, 200] {
            let column: Vec<u32> = (0..length).map(|row: u32| row.wrapping_mul(2_654_435_761) >> 7).collect();
            let mut set = Bitmap::none(column.len());
            (0..column.len()).filter(|row| row % 5 != 0).for_each(|row| set.set(row));
            narrow(&mut set, &column, |value| value.is_multiple_of(3));
            let expected = (0..column.len()).filter(|&row| row % 5 != 0 && column[row].is_multiple_of(3));
            assert_eq!(set.rows().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
