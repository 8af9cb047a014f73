//! Passages: the pieces of a file that are found and shown.

/// The longest passage, in words (of scripts without blanks: so many pairs of characters).
const MOST_WORDS: usize = 200;

/// And in bytes: what has no blanks is long, too.
const MOST_BYTES: usize = 4000;

/// A piece of a text: whole lines, unless one is very long.
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
/// [`MOST_WORDS`] and [`MOST_BYTES`]; short neighbours under one heading are put together. A line that is too long by itself is
/// cut between words, or where it must be.
pub(super) fn split(text: &str, from: usize, line: usize) -> Vec<Span> {
    let mut cutter = Cutter::default();
    let mut at = from;
    for (n, content) in text.get(from..).unwrap_or_default().split_inclusive('\n').enumerate() {
        let (start, number) = (at, line + n);
        at += content.len();
        let visible = content.trim_end_matches(['\n', '\r']);
        if visible.trim().is_empty() {
            cutter.is_after_gap = true;
            continue;
        }
        let mut begin = start;
        for piece in pieces(visible) {
            cutter.take(Span { start: begin, end: begin + piece.len(), first: number, last: number }, piece);
            begin += piece.len();
        }
    }
    cutter.close();
    cutter.passages
}

/// Passages as they grow.
#[derive(Default)]
struct Cutter {
    passages: Vec<Span>,
    open: Option<(Span, usize)>,
    is_after_gap: bool,
}

impl Cutter {
    fn take(&mut self, piece: Span, text: &str) {
        let words = count(text);
        let ends = self.open.is_some_and(|(span, so_far)| {
            let is_full = so_far + words > MOST_WORDS || piece.end - span.start > MOST_BYTES;
            // A paragraph of its own stays one, if it says enough.
            is_full || text.trim_start().starts_with('#') || self.is_after_gap && so_far >= ENOUGH_WORDS
        });
        if ends {
            self.close();
        }
        self.is_after_gap = false;
        match &mut self.open {
            Some((span, so_far)) => {
                (span.end, span.last) = (piece.end, piece.last);
                *so_far += words;
            }
            None => self.open = Some((piece, words)),
        }
    }

    fn close(&mut self) {
        self.passages.extend(self.open.take().map(|(span, _)| span));
    }
}

/// A line in pieces that a passage can hold: all of it, but for very long ones.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while rest.len() > MOST_BYTES || count(rest) > MOST_WORDS {
        let mut limit = MOST_BYTES.min(rest.len());
        while count(&rest[..floor(rest, limit)]) > MOST_WORDS {
            limit /= 2;
        }
        let limit = floor(rest, limit);
        // Between words, else after a mark, else anywhere.
        let place = |test: fn(char) -> bool| rest[..limit].rfind(test).filter(|&at| at > limit / 2);
        let end = place(char::is_whitespace)
            .or_else(|| place(|c| c.is_ascii_punctuation()))
            .map_or(limit, |at| at + 1);
        let (piece, left) = rest.split_at(floor(rest, end).max(1));
        pieces.push(piece);
        rest = left;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// The last boundary of a character at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
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
    fn no_passage_is_longer_than_it_may_be() {
        let line = "word ".repeat(50);
        let text = format!("{line}\n").repeat(10);
        let passages = split(&text, 0, 1);
        assert_eq!(passages.len(), 3);
        assert!(passages.iter().all(|span| count(&text[span.start..span.end]) <= MOST_WORDS));
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_words() {
        for line in
            ["word ".repeat(1000), "{\"key\":\"value\"},".repeat(1000), "漢".repeat(5000), "é".repeat(9000)]
        {
            let passages = split(&line, 0, 1);
            assert!(passages.len() > 2);
            let whole: String = passages.iter().map(|span| &line[span.start..span.end]).collect();
            assert_eq!(whole, line, "nothing is lost between them");
            assert!(passages.iter().all(|span| (span.first, span.last) == (1, 1)));
            assert!(passages.iter().all(|span| span.end - span.start <= MOST_BYTES));
        }
    }

    #[test]
    fn a_text_may_begin_later() {
        let text = "---\nid: x\n---\nbody\n";
        assert_eq!(split(text, 14, 4), [Span { start: 14, end: 18, first: 4, last: 4 }]);
        assert_eq!(split(text, 900, 4), []);
    }
}
