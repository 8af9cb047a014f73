//! Passages: the pieces of a file that are found and shown.

/// The longest passage, in words (of scripts without blanks: so many pairs of characters).
const MOST_WORDS: usize = 200;

/// A piece of a text: whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Where it begins and ends, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its first and last line, from 1.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Cuts the text from byte `from` on (which is the beginning of line `line`) at headings and blank lines into passages of at most
/// [`MOST_WORDS`]; short neighbours under one heading are put together. A line that is too long by itself is a passage.
pub(super) fn split(text: &str, from: usize, line: usize) -> Vec<Span> {
    let mut passages: Vec<Span> = Vec::new();
    let mut open: Option<(Span, usize)> = None;
    let mut at = from;
    let mut close = |open: &mut Option<(Span, usize)>| {
        if let Some((span, _)) = open.take() {
            passages.push(span);
        }
    };
    let mut is_gap = false;
    for (n, content) in text.get(from..).unwrap_or_default().split_inclusive('\n').enumerate() {
        let (start, end, number) = (at, at + content.trim_end_matches(['\n', '\r']).len(), line + n);
        at += content.len();
        let visible = content.trim();
        if visible.is_empty() {
            is_gap = true;
            continue;
        }
        let words = count(visible);
        let is_heading = visible.starts_with('#');
        let is_full = open.as_ref().is_some_and(|(_, so_far)| so_far + words > MOST_WORDS);
        // A paragraph of its own stays one, if it says enough.
        let is_apart = is_gap && open.as_ref().is_some_and(|(_, so_far)| *so_far >= ENOUGH_WORDS);
        if is_heading || is_full || is_apart {
            close(&mut open);
        }
        is_gap = false;
        match &mut open {
            Some((span, so_far)) => {
                span.end = end;
                span.last = number;
                *so_far += words;
            }
            None => open = Some((Span { start, end, first: number, last: number }, words)),
        }
    }
    close(&mut open);
    passages
}

/// A paragraph of fewer words is put together with the next one.
const ENOUGH_WORDS: usize = 25;

/// Words, as far as lengths go: an ideograph counts half.
fn count(line: &str) -> usize {
    let unspaced =
        line.chars().filter(|c| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')).count();
    line.split_whitespace().count() + unspaced / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(&str, usize, usize)> {
        split(text, 0, 1)
            .into_iter()
            .map(|span| (&text[span.start..span.end], span.first, span.last))
            .collect()
    }

    #[test]
    fn headings_and_blank_lines_cut() {
        assert_eq!(texts(""), []);
        assert_eq!(texts("\n \n"), []);
        assert_eq!(texts("one\r\ntwo\r\n"), [("one\r\ntwo", 1, 2)]);
        let text = "# A\n\nshort\n\nalso short\n# B\nlast";
        assert_eq!(texts(text), [("# A\n\nshort\n\nalso short", 1, 5), ("# B\nlast", 6, 7)]);
        let long = "word ".repeat(30);
        let text = format!("{long}\n\n{long}\n");
        assert_eq!(texts(&text).len(), 2, "paragraphs that say enough stay apart");
    }

    #[test]
    fn no_passage_is_longer_than_it_may_be_unless_it_is_one_line() {
        let line = "word ".repeat(50);
        let text = format!("{line}\n").repeat(10);
        let passages = split(&text, 0, 1);
        assert_eq!(passages.len(), 3);
        assert!(passages.iter().all(|span| count(&text[span.start..span.end]) <= MOST_WORDS));
        assert_eq!(split(&"word ".repeat(1000), 0, 1).len(), 1);
    }

    #[test]
    fn a_text_may_begin_later() {
        let text = "---\nid: x\n---\nbody\n";
        assert_eq!(split(text, 14, 4), [Span { start: 14, end: 18, first: 4, last: 4 }]);
        assert_eq!(split(text, 900, 4), []);
    }
}
