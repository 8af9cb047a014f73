//! Two edits of one text, made into one.

use std::iter::Peekable;

use super::diff::{Change, Lines, hunks};

/// The line before what the memory holds where two edits meet.
const THEIRS: &str = "<<<<<<< the memory now";
/// The line between the two.
const BETWEEN: &str = "=======";
/// The line after the person's text.
const MINE: &str = ">>>>>>> your edit";

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both edits, in one text.
    Clean(String),
    /// They meet in the same lines.
    Conflict {
        /// Both edits, with conflict markers where they meet.
        both: String,
        /// Both edits, with what is `mine` where they meet.
        mine: String,
    },
}

/// Merges `theirs` and `mine`, which were both made of `base`, line by line.
///
/// Edits of lines next to one another meet, too, unless they are the same edit. The time that it takes hardly grows with
/// what differs.
#[must_use]
pub fn merge(base: &str, theirs: &str, mine: &str) -> Merged {
    let (mut left, mut right) = (Side::new(base, theirs), Side::new(base, mine));
    let base = Lines::of(base);
    let mut both = Both { text: String::with_capacity(theirs.len().max(mine.len())), mine: None };
    let mut at = 0;
    while let Some(start) = left.next().into_iter().chain(right.next()).min() {
        both.push(base.get(at..start));
        let (left_start, right_start) = (left.line(start), right.line(start));
        let (mut end, mut is_left, mut is_right) = (start, false, false);
        // A change may reach down to one of the other side, and that one further.
        loop {
            match (left.take(&mut end), right.take(&mut end)) {
                (false, false) => break,
                (takes_left, takes_right) => {
                    is_left |= takes_left;
                    is_right |= takes_right;
                }
            }
        }
        let theirs = left.lines.get(left_start..left.line(end));
        let mine = right.lines.get(right_start..right.line(end));
        if !is_right || theirs == mine {
            both.push(theirs);
        } else if !is_left {
            both.push(mine);
        } else {
            both.push_conflict(theirs, mine);
        }
        at = end;
    }
    both.push(base.get(at..base.len()));
    both.end()
}

/// One of the two edits, dealt with from the top down.
struct Side<'a> {
    lines: Lines<'a>,
    changes: Peekable<std::vec::IntoIter<Change>>,
    /// Where the last change that was taken ends, in the base and in this text.
    ends: (usize, usize),
}

impl<'a> Side<'a> {
    fn new(base: &str, text: &'a str) -> Self {
        Self { lines: Lines::of(text), changes: hunks(base, text).into_iter().peekable(), ends: (0, 0) }
    }

    /// The line of the base where the next change begins.
    fn next(&mut self) -> Option<usize> {
        self.changes.peek().map(|change| change.before.start)
    }

    /// The line of this text that a line of the base has become; that one lies below the last change, above the next.
    fn line(&self, base: usize) -> usize {
        let (in_base, here) = self.ends;
        here + (base - in_base)
    }

    /// Takes the next change if it begins at or above the line `end`, which it may move down; whether it did.
    fn take(&mut self, end: &mut usize) -> bool {
        let Some(change) = self.changes.next_if(|change| change.before.start <= *end) else { return false };
        *end = change.before.end.max(*end);
        self.ends = (change.before.end, change.after.end);
        true
    }
}

/// Both edits, as far as they are merged.
struct Both {
    text: String,
    /// The same with what is mine where they meet, once they do.
    mine: Option<String>,
}

impl Both {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if let Some(own) = &mut self.mine {
            own.push_str(text);
        }
    }

    fn push_conflict(&mut self, theirs: &str, mine: &str) {
        self.mine.get_or_insert_with(|| self.text.clone()).push_str(mine);
        for (marker, text) in [(THEIRS, theirs), (BETWEEN, mine), (MINE, "")] {
            self.text.push_str(marker);
            self.text.push('\n');
            self.text.push_str(text);
            if !text.is_empty() && !text.ends_with('\n') {
                self.text.push('\n');
            }
        }
    }

    fn end(self) -> Merged {
        match self.mine {
            Some(mine) => Merged::Conflict { both: self.text, mine },
            None => Merged::Clean(self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::diff::{repeat, texts};
    use proptest::prelude::*;

    fn clean(text: impl Into<String>) -> Merged {
        Merged::Clean(text.into())
    }

    fn conflict(above: &str, theirs: &str, mine: &str, below: &str) -> Merged {
        let end = if mine.is_empty() || mine.ends_with('\n') { "" } else { "\n" };
        Merged::Conflict {
            both: format!("{above}{THEIRS}\n{theirs}{BETWEEN}\n{mine}{end}{MINE}\n{below}"),
            mine: format!("{above}{mine}{below}"),
        }
    }

    #[test]
    fn two_edits_become_one() {
        let base = "1\n2\n3\n4\n5\n";
        for (theirs, mine, merged) in [
            ("1\ntwo\n3\n4\n5\n", "1\n2\n3\nfour\n5\n", clean("1\ntwo\n3\nfour\n5\n")),
            ("0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", clean("0\n1\n2\n3\n4\n5\n6\n")),
            ("1\n3\n4\n5\n", "1\n2\n3\n4\n", clean("1\n3\n4\n")),
            ("1\nx\n3\n4\n5\n", "1\nx\n3\n4\n5\n6\n", clean("1\nx\n3\n4\n5\n6\n")),
            ("1\nx\n3\n4\n5\n", "1\ny\n3\n4\n5\n", conflict("1\n", "x\n", "y\n", "3\n4\n5\n")),
            // What theirs has elsewhere is kept.
            ("0\nx\n3\n4\n6\n", "1\ny\n3\n4\n5\n", conflict("", "0\nx\n", "1\ny\n", "3\n4\n6\n")),
            ("1\nx\n3\n4\n6\n", "1\ny\n3\n4\n5\n", conflict("1\n", "x\n", "y\n", "3\n4\n6\n")),
            // Next to one another.
            ("1\nx\n3\n4\n5\n", "1\n2\ny\n4\n5\n", conflict("1\n", "x\n3\n", "2\ny\n", "4\n5\n")),
            // One edit that reaches over two of the other side.
            ("1\nx\n3\ny\n5\n", "1\nz\n5\n", conflict("1\n", "x\n3\ny\n", "z\n", "5\n")),
            ("", "1\n2\nx\n4\n5\n", conflict("", "", "1\n2\nx\n4\n5\n", "")),
            // Both add at the end, one without a newline.
            ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n7", conflict(base, "6\n", "7", "")),
        ] {
            assert_eq!(merge(base, theirs, mine), merged, "{theirs:?} and {mine:?}");
        }
    }

    #[test]
    fn texts_that_share_nothing_meet_as_a_whole_and_in_time() {
        let [base, theirs, mine] =
            ["base", "theirs", "mine"].map(|name| repeat(80_000, |n| format!("{name} {n}\n")));
        assert_eq!(merge(&base, &theirs, &mine), conflict("", &theirs, &mine, ""));
    }

    proptest! {
        #[test]
        fn an_edit_of_one_side_is_kept(base in texts(), edited in texts()) {
            prop_assert_eq!(merge(&base, &base, &edited), clean(edited.as_str()));
            prop_assert_eq!(merge(&base, &edited, &base), clean(edited.as_str()));
            prop_assert_eq!(merge(&base, &edited, &edited), clean(edited.as_str()));
        }

        #[test]
        fn no_added_line_is_lost(base in texts(), theirs in texts(), mine in texts()) {
            let (both, own) = match merge(&base, &theirs, &mine) {
                Merged::Clean(text) => (text.clone(), text),
                Merged::Conflict { both, mine } => (both, mine),
            };
            for (text, merged) in [(&theirs, &both), (&mine, &both), (&mine, &own)] {
                let lines = Lines::of(text);
                for added in hunks(&base, text).into_iter().flat_map(|change| change.after) {
                    let line = lines.get(added..added + 1).trim_end_matches('\n');
                    prop_assert!(merged.split('\n').any(|kept| kept == line), "{line:?} is not in {merged:?}");
                }
            }
        }

        #[test]
        fn the_sides_are_equal_before_the_merge(base in texts(), theirs in texts(), mine in texts()) {
            match (merge(&base, &theirs, &mine), merge(&base, &mine, &theirs)) {
                (Merged::Clean(one), Merged::Clean(other)) => prop_assert_eq!(one, other),
                (Merged::Conflict { .. }, Merged::Conflict { .. }) => {}
                (one, other) => prop_assert!(false, "{one:?} but {other:?}"),
            }
        }
    }
}
