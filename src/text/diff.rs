//! What differs between two texts, in the unified format.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};
use memchr::memchr_iter;

/// The unified diff of two texts with `context` lines around each change, without the two lines of file names; empty when
/// they are equal.
///
/// A line ending is a part of its line and stays as it is. The time that it takes hardly grows with what differs.
#[must_use]
pub fn unified(old: &str, new: &str, context: usize) -> String {
    let hunks = hunks(old, new);
    let (old, new) = (Lines::of(old), Lines::of(new));
    let mut out = String::new();
    for group in hunks.chunk_by(|a, b| b.before.start - a.before.end <= context.saturating_mul(2)) {
        push_group(&mut out, &old, &new, group, context);
    }
    out
}

/// Lines of a text that others take the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// The lines that go, counted from 0.
    pub(super) before: Range<usize>,
    /// The lines that come, in the new text.
    pub(super) after: Range<usize>,
}

/// So many lines are compared as well as can be; the time for that may grow with their square.
const EXACT: usize = 10_000;
/// How often stretches of more lines are divided at lines that each text has once; what is left is one change.
const DIVISIONS: usize = 8;

/// What makes `new` of `old`, from the top down; between two changes is at least one line that stays.
pub(super) fn hunks(old: &str, new: &str) -> Vec<Change> {
    let InternedInput { before, after, .. } = InternedInput::new(old, new);
    let (old, new) = (Lines::of(old), Lines::of(new));
    let (all_old, all_new) = (0..before.len(), 0..after.len());
    let mut comparison = Comparison { old, new, before, after, changes: Vec::new() };
    comparison.compare(all_old, all_new, DIVISIONS);
    comparison.changes
}

/// Two texts, and what is known to differ in them.
struct Comparison<'a> {
    old: Lines<'a>,
    new: Lines<'a>,
    before: Vec<Token>,
    after: Vec<Token>,
    changes: Vec<Change>,
}

impl Comparison<'_> {
    /// Compares a stretch of lines with another.
    fn compare(&mut self, mut old: Range<usize>, mut new: Range<usize>, divisions: usize) {
        let pairs = self.before[old.clone()].iter().zip(&self.after[new.clone()]);
        let above = pairs.take_while(|(a, b)| a == b).count();
        (old.start, new.start) = (old.start + above, new.start + above);
        let pairs = self.before[old.clone()].iter().rev().zip(self.after[new.clone()].iter().rev());
        let below = pairs.take_while(|(a, b)| a == b).count();
        (old.end, new.end) = (old.end - below, new.end - below);
        if old.is_empty() && new.is_empty() {
            return;
        }
        if old.is_empty() || new.is_empty() {
            return self.changes.push(Change { before: old, after: new });
        }
        if old.len() + new.len() <= EXACT {
            return self.compare_exactly(&old, &new);
        }
        let anchors = if divisions == 0 { Vec::new() } else { self.anchors(&old, &new) };
        if anchors.is_empty() {
            return self.changes.push(Change { before: old, after: new });
        }
        let (mut old_at, mut new_at) = (old.start, new.start);
        for (old_line, new_line) in anchors.into_iter().chain([(old.end, new.end)]) {
            self.compare(old_at..old_line, new_at..new_line, divisions - 1);
            (old_at, new_at) = (old_line + 1, new_line + 1);
        }
    }

    fn compare_exactly(&mut self, old: &Range<usize>, new: &Range<usize>) {
        let input = InternedInput::new(self.old.get(old.clone()), self.new.get(new.clone()));
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let moved = |range: Range<u32>, by: usize| range.start as usize + by..range.end as usize + by;
        self.changes.extend(diff.hunks().map(|Hunk { before, after }| Change {
            before: moved(before, old.start),
            after: moved(after, new.start),
        }));
    }

    /// Lines that either stretch has once: as many as stand in both in the same order.
    fn anchors(&self, old: &Range<usize>, new: &Range<usize>) -> Vec<(usize, usize)> {
        let mut places: HashMap<Token, (Place, Place)> = HashMap::new();
        for line in old.clone() {
            places.entry(self.before[line]).or_default().0.add(line);
        }
        for line in new.clone() {
            places.entry(self.after[line]).or_default().1.add(line);
        }
        let mut pairs: Vec<_> = places
            .into_values()
            .filter_map(|pair| match pair {
                (Place::Once(old), Place::Once(new)) => Some((old, new)),
                _ => None,
            })
            .collect();
        pairs.sort_unstable();
        longest_rise(&pairs)
    }
}

/// Where a line stands in a stretch.
#[derive(Debug, Clone, Copy, Default)]
enum Place {
    #[default]
    Nowhere,
    Once(usize),
    Often,
}

impl Place {
    fn add(&mut self, line: usize) {
        *self = if let Self::Nowhere = self { Self::Once(line) } else { Self::Often };
    }
}

/// The most pairs, of those sorted by the first number, whose second numbers rise, too.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best rise of each length, and for every pair the one before it.
    let mut lasts: Vec<usize> = Vec::new();
    let mut previous = vec![None; pairs.len()];
    for (i, pair) in pairs.iter().enumerate() {
        let length = lasts.partition_point(|&last| pairs[last].1 < pair.1);
        previous[i] = length.checked_sub(1).map(|shorter| lasts[shorter]);
        match lasts.get_mut(length) {
            Some(last) => *last = i,
            None => lasts.push(i),
        }
    }
    let mut rise: Vec<_> =
        std::iter::successors(lasts.last().copied(), |&i| previous[i]).map(|i| pairs[i]).collect();
    rise.reverse();
    rise
}

/// A text with the places where its lines begin.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut starts: Vec<usize> = std::iter::once(0)
            .chain(memchr_iter(b'\n', text.as_bytes()).map(|newline| newline + 1))
            .collect();
        if starts.last().is_some_and(|&start| start < text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    /// How many lines there are; a last one may lack its newline.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Some lines in a row, with their line endings.
    pub(super) fn get(&self, lines: Range<usize>) -> &'a str {
        &self.text[self.starts[lines.start]..self.starts[lines.end]]
    }
}

/// Writes changes that are near one another, with the lines between and around them.
fn push_group(out: &mut String, old: &Lines<'_>, new: &Lines<'_>, group: &[Change], context: usize) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let above = first.before.start.min(context);
    let below = (old.len() - last.before.end).min(context);
    let before = first.before.start - above..last.before.end + below;
    let after = first.after.start - above..last.after.end + below;
    let _ = writeln!(out, "@@ -{} +{} @@", extent(&before), extent(&after));
    let mut at = before.start;
    for change in group {
        push_lines(out, ' ', old.get(at..change.before.start));
        push_lines(out, '-', old.get(change.before.clone()));
        push_lines(out, '+', new.get(change.after.clone()));
        at = change.before.end;
    }
    push_lines(out, ' ', old.get(at..before.end));
}

/// Where a hunk begins, from 1, and how many lines it has unless that is one; of none it is the line before.
fn extent(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn push_lines(out: &mut String, sign: char, lines: &str) {
    for line in lines.split_inclusive('\n') {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Texts of few different lines, with all line endings, so that there is much to confuse.
#[cfg(test)]
pub(super) fn texts() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let line = prop::sample::select(vec!["a", "b", "", "é", "-", "+x", "\\ No", "@@ -1 +1 @@"]);
    let ending = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    (prop::collection::vec((line, ending), 0..24), prop::sample::select(vec!["", "", "end"]))
        .prop_map(|(lines, last)| lines.iter().flat_map(|(a, b)| [*a, *b]).chain([last]).collect::<String>())
}

/// The lines that `line` makes of the numbers below `count`.
#[cfg(test)]
pub(super) fn repeat(count: usize, line: impl FnMut(usize) -> String) -> String {
    (0..count).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hunks_are_written_as_every_diff_does() {
        let ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        for (old, new, context, shown) in [
            ("", "", 3, ""),
            ("a\nb", "a\nb", 3, ""),
            ("", "a\n", 3, "@@ -0,0 +1 @@\n+a\n"),
            ("a\nb\n", "", 3, "@@ -1,2 +0,0 @@\n-a\n-b\n"),
            ("a\n", "a\nb\n", 0, "@@ -1,0 +2 @@\n+b\n"),
            (ten, &ten.replace("5\n", "five\n"), 1, "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n"),
            (
                ten,
                &ten.replace("2\n", "").replace("5\n", "five\n"),
                1,
                "@@ -1,6 +1,5 @@\n 1\n-2\n 3\n 4\n-5\n+five\n 6\n",
            ),
            (
                ten,
                &ten.replace("2\n", "").replace("6\n", "six\n"),
                1,
                "@@ -1,3 +1,2 @@\n 1\n-2\n 3\n@@ -5,3 +4,3 @@\n 5\n-6\n+six\n 7\n",
            ),
            ("a\nb", "a\nb\n", 3, "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"),
            ("a\nb\n", "a\nb", 3, "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"),
            ("a\nb", "c\nb", 3, "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"),
            ("a\r\nb\r\n", "a\nb\r\n", 3, "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"),
            ("a\u{2028}b\rc\n", "d\n", usize::MAX, "@@ -1 +1 @@\n-a\u{2028}b\rc\n+d\n"),
        ] {
            assert_eq!(unified(old, new, context), shown, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn two_megabytes_that_share_nothing_are_one_hunk() {
        let old = repeat(150_000, |n| format!("old {n}\n"));
        let new = repeat(150_000, |n| format!("new {n}\n"));
        let diff = unified(&old, &new, 3);
        assert!(diff.starts_with("@@ -1,150000 +1,150000 @@\n-old 0\n"));
        assert_eq!(diff.lines().count(), 300_001);
    }

    /// Few lines that come often: what diffs of quadratic time cannot do.
    #[test]
    fn two_megabytes_of_the_same_few_lines_are_compared_in_time() {
        let text = |mut state: u64| {
            let mut line = move || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ["\n", "a\n", "b\n"][(state >> 33) as usize % 3]
            };
            (0..500_000).map(|_| line()).collect::<String>()
        };
        let (old, new) = (text(1), text(2));
        assert_eq!(apply(&old, &unified(&old, &new, 3)), new);
    }

    #[test]
    fn what_differs_in_a_large_text_is_told_line_by_line() {
        let old = repeat(50_000, |n| format!("{n}\n\n"));
        let new = old.replace("\n300\n", "\nx\n").replace("\n40000\n", "\n");
        let diff = "@@ -601 +601 @@\n-300\n+x\n@@ -80001 +80000,0 @@\n-40000\n";
        assert_eq!(unified(&old, &new, 0), diff);
        // Half of the lines, and what moved.
        let old = repeat(50_000, |n| format!("old {n}\n{}\n", n % 49_000));
        let new = repeat(50_000, |n| format!("new {n}\n{}\n", (n + 20_000) % 50_000));
        let diff = unified(&old, &new, 0);
        assert_eq!(diff.lines().filter(|line| line.starts_with("+new")).count(), 50_000);
        assert!(diff.lines().count() < 4 * 75_000);
        assert_eq!(apply(&old, &diff), new);
    }

    #[test]
    fn the_longest_rise_is_found() {
        for (numbers, rise) in [
            (&[][..], &[][..]),
            (&[3, 1, 2], &[1, 2]),
            (&[9, 8, 7], &[7]),
            (&[2, 8, 9, 3, 4, 5, 1], &[2, 3, 4, 5]),
        ] {
            let pairs: Vec<_> = numbers.iter().copied().enumerate().collect();
            let found: Vec<_> = longest_rise(&pairs).into_iter().map(|(_, number)| number).collect();
            assert_eq!(found, rise, "{numbers:?}");
        }
    }

    /// A diff of large texts is made of diffs of small ones; `EXACT` being what it is, no random text would show it.
    #[test]
    fn a_divided_comparison_is_one() {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let old: Vec<String> = (0..30_000).map(|_| format!("{}\n", random(20_000))).collect();
        let mut new = old.clone();
        for _ in 0..3_000 {
            let at = usize::try_from(random(29_000)).unwrap();
            match random(3) {
                0 => drop(new.remove(at % new.len())),
                1 => new.insert(at % new.len(), format!("{}\n", random(20_000))),
                _ => new.swap(at % 27_000, (at + 7) % 27_000),
            }
        }
        let (old, new) = (old.concat(), new.concat());
        let diff = unified(&old, &new, 0);
        assert!(diff.lines().count() < 20_000);
        assert_eq!(apply(&old, &diff), new);
        let changes = hunks(&old, &new);
        assert!(changes.windows(2).all(|two| two[0].before.end < two[1].before.start));
        assert!(changes.windows(2).all(|two| two[0].after.end < two[1].after.start));
    }

    /// Applies a diff, believing nothing of it.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        let mut lines = diff.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(head) = line.strip_prefix("@@ -") {
                let range = head.split(' ').next().unwrap();
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
                let start = if count == 0 { start } else { start - 1 };
                out.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let (sign, mut text) = line.split_at(1);
            if lines.next_if(|next| next.starts_with("\\ No newline")).is_some() {
                text = text.strip_suffix('\n').unwrap();
            }
            if sign != "+" {
                assert_eq!(old[at], text);
                at += 1;
            }
            if sign != "-" {
                out.push_str(text);
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn a_diff_makes_the_new_text_of_the_old(old in texts(), new in texts(), context in 0_usize..4) {
            prop_assert_eq!(apply(&old, &unified(&old, &new, context)), new);
        }
    }
}
