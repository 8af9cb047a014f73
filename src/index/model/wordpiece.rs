//! A text as word pieces, the way of BERT (uncased): `BertNormalizer`, `BertPreTokenizer` and `WordPiece` of the crate
//! `tokenizers` in one pass, for the vocabulary that is in the program.
//!
//! Reading `tokenizer.json` takes that crate tens of milliseconds, and `memdir retrieve` is one process for each query.
//! A test compares the two. One difference is meant: a text that says `[MASK]` is text, not a special token.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::vocabulary::{Place, Vocabulary};

/// A word of more characters than this is unknown.
const LONGEST_WORD: usize = 100;

/// Appends the numbers of the pieces of `text`, at most `limit`. A word that is not made of known pieces has none; returns how
/// many of those were met.
pub(super) fn pieces(vocabulary: &Vocabulary, text: &str, limit: usize, into: &mut Vec<u32>) -> usize {
    let mut words = Words { vocabulary, word: String::new(), pieces: into, unknown: 0 };
    for c in text.chars() {
        if words.pieces.len() >= limit {
            break;
        }
        words.take(c);
    }
    words.end();
    let unknown = words.unknown;
    into.truncate(limit);
    unknown
}

/// The word that is being read, and the pieces of those before.
struct Words<'a> {
    vocabulary: &'a Vocabulary,
    word: String,
    pieces: &'a mut Vec<u32>,
    unknown: usize,
}

impl Words<'_> {
    fn take(&mut self, c: char) {
        match c {
            'a'..='z' | '0'..='9' => self.word.push(c),
            'A'..='Z' => self.word.push(c.to_ascii_lowercase()),
            ' ' | '\t' | '\n' | '\r' => self.end(),
            _ if c.is_ascii_control() => {}
            _ if c.is_ascii() => self.alone(c),
            _ => self.take_other(c),
        }
    }

    fn take_other(&mut self, c: char) {
        use GeneralCategory::{Control, Format, PrivateUse};
        if c == char::REPLACEMENT_CHARACTER || matches!(c.general_category(), Control | Format | PrivateUse) {
            return;
        }
        if c.is_whitespace() {
            return self.end();
        }
        let by_itself = is_ideograph(c);
        if by_itself {
            self.end();
        }
        decompose_canonical(c, |part| {
            if part.general_category() == GeneralCategory::NonspacingMark {
            } else if is_punctuation(part) {
                self.alone(part);
            } else {
                self.word.extend(part.to_lowercase());
            }
        });
        if by_itself {
            self.end();
        }
    }

    /// Takes a character that is a word.
    fn alone(&mut self, c: char) {
        self.end();
        self.word.push(c);
        self.end();
    }

    /// Cuts the word into pieces, each time the longest that is known.
    fn end(&mut self) {
        let (word, before) = (self.word.as_str(), self.pieces.len());
        let is_long = word.chars().nth(LONGEST_WORD).is_some();
        let mut start = if is_long { word.len() } else { 0 };
        self.unknown += usize::from(is_long);
        while start < word.len() {
            let place = if start == 0 { Place::Begins } else { Place::Continues };
            let longest = word.len().min(start + self.vocabulary.longest());
            let mut ends = (start + 1..=longest).rev().filter(|end| word.is_char_boundary(*end));
            let found = ends.find_map(|end| Some((self.vocabulary.number(&word[start..end], place)?, end)));
            let Some((number, end)) = found else {
                self.pieces.truncate(before);
                self.unknown += 1;
                break;
            };
            self.pieces.push(number);
            start = end;
        }
        self.word.clear();
    }
}

/// What stands by itself in Chinese: the blocks that the normalizer names.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4e00..=0x9fff
            | 0x3400..=0x4dbf
            | 0x20000..=0x2a6df
            | 0x2a700..=0x2b73f
            | 0x2b740..=0x2b81f
            | 0x2b920..=0x2ceaf
            | 0xf900..=0xfaff
            | 0x2f800..=0x2fa1f
    )
}

fn is_punctuation(c: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation,
        OpenPunctuation, OtherPunctuation,
    };
    c.is_ascii_punctuation()
        || matches!(
            c.general_category(),
            ClosePunctuation
                | ConnectorPunctuation
                | DashPunctuation
                | FinalPunctuation
                | InitialPunctuation
                | OpenPunctuation
                | OtherPunctuation
        )
}
