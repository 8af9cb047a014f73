//! Words without their endings (Snowball, but for Arabic). The script says which language it is: Latin letters count as English,
//! Cyrillic ones as Russian, Devanagari as Hindi. Other minor versions of the stemmers may have other stems: then the format of the
//! index is another one, too.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

#[derive(Clone)]
pub(super) struct Stems {
    english: Stemmer,
    russian: Stemmer,
    greek: Stemmer,
    hindi: Stemmer,
}

impl Default for Stems {
    fn default() -> Self {
        Self {
            english: Stemmer::new(Algorithm::English),
            russian: Stemmer::new(Algorithm::Russian),
            greek: Stemmer::new(Algorithm::Greek),
            hindi: Stemmer::new(Algorithm::Hindi),
        }
    }
}

impl Stems {
    /// A word in lower case without its ending.
    pub(super) fn of<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match word.chars().next() {
            Some('\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}') => self.greek.stem(word),
            Some('\u{400}'..='\u{52f}') => self.russian.stem(word),
            Some('\u{600}'..='\u{6ff}') => Cow::Borrowed(arabic(word)),
            Some('\u{900}'..='\u{97f}') => self.hindi.stem(word),
            Some('\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') => self.english.stem(word),
            _ => Cow::Borrowed(word),
        }
    }
}

/// An Arabic word without article, prefixes and the commonest endings (Larkey et al., "light10"): those of Snowball are taken from
/// some forms of a word and not from others.
fn arabic(word: &str) -> &str {
    let is_long = |word: &str, part: &str, least: usize| word.chars().count() >= part.chars().count() + least;
    let prefix = ["ال", "وال", "بال", "كال", "فال", "لل"]
        .into_iter()
        .find(|prefix| word.starts_with(prefix) && is_long(word, prefix, 2));
    let prefix = prefix.or((word.starts_with('و') && is_long(word, "و", 3)).then_some("و"));
    let mut word = &word[prefix.map_or(0, str::len)..];
    for ending in ["ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"] {
        if let Some(rest) = word.strip_suffix(ending)
            && is_long(word, ending, 2)
        {
            word = rest;
        }
    }
    word
}
