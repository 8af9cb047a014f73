//! The piece of a text that shows best why it answers a question.

use std::ops::Range;

use crate::entry::folded;

/// Characters of a snippet, about.
const LENGTH: usize = 120;
/// A word from which others may be derived has at least so many characters.
const STEM: usize = 4;

/// A piece of one line.
#[derive(Debug, PartialEq)]
pub(super) struct Snippet<'t> {
    /// How many lines are before it.
    pub(super) line: usize,
    text: &'t str,
    is_cut: (bool, bool),
    /// Where words of the question are in it, in order.
    matches: Vec<Range<usize>>,
}

impl Snippet<'_> {
    /// The text in pieces, each with whether it is a word of the question.
    pub(super) fn parts(&self) -> Vec<(&str, bool)> {
        let mut parts = Vec::new();
        let mut push = |text, is_match| {
            if !str::is_empty(text) {
                parts.push((text, is_match));
            }
        };
        push(if self.is_cut.0 { "…" } else { "" }, false);
        let mut from = 0;
        for found in &self.matches {
            push(&self.text[from..found.start], false);
            push(&self.text[found.clone()], true);
            from = found.end;
        }
        push(&self.text[from..], false);
        push(if self.is_cut.1 { "…" } else { "" }, false);
        parts
    }
}

/// The line with the most words of the question, around the first of them.
pub(super) fn of<'t>(text: &'t str, query: &str) -> Snippet<'t> {
    let wanted: Vec<String> = words(query).map(|word| folded(&query[word])).collect();
    let found = |line: &str| -> Vec<Range<usize>> {
        words(line)
            .filter(|word| wanted.iter().any(|one| is_alike(one, &folded(&line[word.clone()]))))
            .collect()
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let lines = lines.map(|(number, line)| (number, line, found(line)));
    let best = lines.reduce(|best, next| if next.2.len() > best.2.len() { next } else { best });
    let (line, text, matches) = best.unwrap_or((0, "", Vec::new()));
    around(line, text, matches)
}

fn around(line: usize, text: &str, matches: Vec<Range<usize>>) -> Snippet<'_> {
    let first = matches.first().map_or(0, |found| found.start);
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = starts.partition_point(|&start| start < first);
    // A third of it before the first match, unless the line is over before.
    let from =
        if starts.len() <= LENGTH { 0 } else { at.saturating_sub(LENGTH / 3).min(starts.len() - LENGTH) };
    let start = starts.get(from).copied().unwrap_or(0);
    let end = starts.get(from + LENGTH).copied().unwrap_or(text.len());
    let is_cut = (start > 0, end < text.len());
    let within = |found: Range<usize>| {
        (found.start >= start && found.end <= end).then(|| found.start - start..found.end - start)
    };
    Snippet {
        line,
        text: &text[start..end],
        is_cut,
        matches: matches.into_iter().filter_map(within).collect(),
    }
}

/// The places of words: letters and digits.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(char::is_alphanumeric)?;
        let length = text[start..].find(|c: char| !c.is_alphanumeric() && !is_mark(c));
        from = length.map_or(text.len(), |length| start + length);
        Some(start..from)
    })
}

/// Accents that stand behind their letter.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Whether one of two folded words is the other, or seems to be derived from it.
fn is_alike(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    a == b || short.chars().count() >= STEM && long.starts_with(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The snippet with `[…]` around what matches.
    fn shown(text: &str, query: &str) -> String {
        let snippet = of(text, query);
        let parts = snippet.parts();
        parts
            .iter()
            .map(|(part, is_match)| if *is_match { format!("[{part}]") } else { (*part).to_owned() })
            .collect()
    }

    #[test]
    fn the_line_with_most_words_is_shown() {
        for (text, query, line, snippet) in [
            ("", "x", 0, ""),
            ("one\ntwo", "", 0, "one"),
            ("\n\none", "nothing", 2, "one"),
            ("The user prefers dark mode.", "dark mode", 0, "The user prefers [dark] [mode]."),
            ("dark\nuser preferences: Dark mode", "prefer dark", 1, "user [preferences]: [Dark] mode"),
            ("no cat in category", "cat", 0, "no [cat] in category"),
            ("id user_id, e.g. x", "user_id", 0, "[id] [user]_[id], e.g. x"),
        ] {
            assert_eq!((of(text, query).line, shown(text, query).as_str()), (line, snippet), "{text}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_first_word() {
        let text = format!("{}needle {}", "hay ".repeat(100), "straw ".repeat(100));
        let snippet = shown(&text, "needle");
        assert!(
            snippet.starts_with('…') && snippet.ends_with('…') && snippet.contains(" [needle] "),
            "{snippet}"
        );
        assert_eq!(snippet.chars().count(), LENGTH + 4);
        let end = format!("{}needle", "é ".repeat(100));
        assert!(shown(&end, "needle").ends_with("[needle]"));
        let long = format!("{} x", "needle".repeat(100));
        assert_eq!(shown(&long, &"needle".repeat(100)).chars().count(), LENGTH + 1);
    }
}
