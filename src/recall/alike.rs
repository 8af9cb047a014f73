//! Whether two texts say the same: pure, and on the side of caution. No measure of likeness tells a correction from another
//! fact (the two overlap from .54 to .996 of cosine), so that texts count as one only where nothing that carries a fact
//! differs.

use std::collections::BTreeSet;

use crate::entry;

mod words;

use words::{FILLERS, NEGATIONS, NUMBERS};

/// How much of their words two texts must have in common to be taken for one.
const NEAR: f32 = 0.8;

/// What a text says, prepared for comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Saying {
    folded: String,
    /// Its words in order, without the punctuation of sentences at their ends.
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq)]
struct Word {
    /// As it stands there.
    raw: String,
    /// Folded.
    folded: String,
    kind: Kind,
}

/// What a word may tell that must not be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Number,
    Identifier,
    Name,
    Negation,
    /// Says nothing by itself: articles, politeness, intensifiers.
    Filler,
    Plain,
}

impl Saying {
    pub(super) fn of(text: &str) -> Self {
        Self { folded: entry::folded(text), words: read(text) }
    }

    /// Whether it is the same text but for case, white space and Unicode form.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.folded == other.folded
    }

    /// Whether the two differ in nothing but fillers and the punctuation of sentences.
    ///
    /// Words in another order, other forms of a word and synonyms are left to the reader: without a dictionary they cannot be
    /// told from opposites and swapped roles.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        let telling = |saying: &Self| -> Vec<String> {
            let words = saying.words.iter().filter(|word| word.kind != Kind::Filler);
            words.map(|word| word.folded.clone()).collect()
        };
        let mine = telling(self);
        !mine.is_empty()
            && mine == telling(other)
            && self.differs(other).is_empty()
            && self.overlap(other) >= NEAR
    }

    /// Jaccard's index of their words (of their pairs of characters, where a script has no blanks between words).
    pub(super) fn overlap(&self, other: &Self) -> f32 {
        let (a, b) = (self.tokens(), other.tokens());
        let both = a.intersection(&b).count();
        let either = a.len() + b.len() - both;
        #[allow(clippy::cast_precision_loss, reason = "texts have few words")]
        if either == 0 { 0.0 } else { both as f32 / either as f32 }
    }

    /// What differs that carries facts: `number`, `name`, `negation`, `identifier`.
    fn differs(&self, other: &Self) -> Vec<&'static str> {
        let kinds = [
            (Kind::Number, "number"),
            (Kind::Name, "name"),
            (Kind::Negation, "negation"),
            (Kind::Identifier, "identifier"),
        ];
        let of = |saying: &Self, kind: Kind| -> Vec<String> {
            let words = saying.words.iter().filter(|word| word.kind == kind);
            let mut words: Vec<_> = words
                .map(|word| if kind == Kind::Identifier { word.raw.clone() } else { word.folded.clone() })
                .collect();
            words.sort_unstable();
            words
        };
        kinds.iter().filter(|(kind, _)| of(self, *kind) != of(other, *kind)).map(|(_, name)| *name).collect()
    }

    /// What differs, in words for a model; `text` where it is none of what carries facts by its form.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut differs = self.differs(other);
        if differs.is_empty() && !self.is_same(other) {
            differs.push("text");
        }
        differs
    }

    fn tokens(&self) -> BTreeSet<String> {
        let mut tokens = BTreeSet::new();
        for word in &self.words {
            let characters: Vec<char> = word.folded.chars().collect();
            if characters.len() > 1 && characters.iter().copied().any(is_unspaced) {
                tokens.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
            } else {
                tokens.insert(word.folded.clone());
            }
        }
        tokens
    }
}

/// Punctuation that ends or opens a sentence, a clause or a quotation, and carries nothing by itself at a word's end.
fn is_sentence_mark(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '“'
            | '”'
            | '„'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '…'
            | '('
            | ')'
            | '。'
            | '，'
            | '；'
            | '：'
            | '！'
            | '？'
            | '、'
            | '「'
            | '」'
            | '《'
            | '》'
            | '（'
            | '）'
    )
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{ac00}'..='\u{d7af}')
}

fn read(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begins_sentence = true;
    for raw in text.split_whitespace() {
        let inner = raw.trim_matches(is_sentence_mark);
        let ends_sentence = raw
            .trim_end_matches(['"', '\'', '”', ')', '»'])
            .ends_with(['.', '!', '?', '。', '！', '？', ':']);
        if inner.is_empty() {
            begins_sentence |= ends_sentence;
            continue;
        }
        let folded = entry::folded(inner);
        let kind = kind(inner, &folded, begins_sentence);
        words.push(Word { raw: inner.to_owned(), folded, kind });
        begins_sentence = ends_sentence;
    }
    words
}

fn kind(raw: &str, folded: &str, begins_sentence: bool) -> Kind {
    let has = |test: fn(char) -> bool| raw.chars().any(test);
    let digits = has(|c| c.is_numeric());
    let letters = has(char::is_alphabetic);
    if NEGATIONS.contains(&folded) || folded.ends_with("n't") || folded.ends_with("n’t") {
        return Kind::Negation;
    }
    if NUMBERS.contains(&folded) || digits && !letters {
        return Kind::Number;
    }
    let inner_mark = raw.chars().any(|c| {
        matches!(
            c,
            '_' | '/' | '\\' | '@' | '#' | '.' | '=' | '<' | '>' | '+' | '*' | '~' | '$' | '%' | '&' | '|'
        )
    });
    let mut characters = raw.chars();
    let first_upper = characters.next().is_some_and(char::is_uppercase);
    let later_upper = characters.any(char::is_uppercase);
    if digits || inner_mark || later_upper {
        return Kind::Identifier;
    }
    if first_upper && !begins_sentence {
        return Kind::Name;
    }
    if FILLERS.contains(&folded) {
        return Kind::Filler;
    }
    Kind::Plain
}
