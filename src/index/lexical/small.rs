//! Small words: English words without content are passed over, but where their case says that they are names (`WHO`, `The Who`, the
//! `AND` gate, `Will`).

use super::words::For;

/// Whether a word has no content: articles, pronouns, prepositions, auxiliaries, question words, and what
/// contractions leave.
pub(super) fn is_small(word: &str) -> bool {
    let lower = || word.bytes().map(|byte| byte.to_ascii_lowercase());
    let first = lower().next().unwrap_or_default().wrapping_sub(b'a');
    word.len() <= LONGEST
        && LENGTHS.get(usize::from(first)).is_some_and(|lengths| lengths >> word.len() & 1 == 1)
        && SMALL.binary_search_by(|known| known.bytes().cmp(lower())).is_ok()
}

/// Which lengths small words have that begin with a letter, as bits: most words are told by that.
const LENGTHS: [u16; 26] = {
    let (mut lengths, mut at) = ([0; 26], 0);
    while at < SMALL.len() {
        let word = SMALL[at].as_bytes();
        lengths[(word[0] - b'a') as usize] |= 1 << word.len();
        at += 1;
    }
    lengths
};

const LONGEST: usize = 8;

const SMALL: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "aren", "as", "at", "be", "been", "being", "but", "by", "can",
    "could", "couldn", "did", "didn", "do", "does", "doesn", "doing", "don", "for", "from", "had", "hadn",
    "has", "hasn", "have", "haven", "having", "he", "her", "hers", "him", "his", "how", "i", "if", "in",
    "into", "is", "isn", "it", "its", "just", "ll", "me", "my", "no", "nor", "not", "of", "on", "or", "our",
    "ours", "re", "she", "should", "shouldn", "so", "some", "such", "than", "that", "the", "their", "theirs",
    "them", "then", "there", "these", "they", "this", "those", "to", "too", "ve", "very", "was", "wasn",
    "we", "were", "weren", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "wouldn", "you", "your", "yours",
];

/// Names of people that begin a sentence more often than the small word does, where something is told.
const PEOPLE: &[&str] = &["Don", "Will"];

/// Of a text with fewer words its case says nothing.
const FEW: usize = 3;

/// Where small words of a text are names.
pub(super) struct Names<'t> {
    text: &'t str,
    what: For,
    /// A question that is one small word asks by that.
    is_alone: bool,
    /// The line that was looked at last: where it ends, and what its case says.
    line: Option<(usize, Case)>,
}

/// What the case of a line says.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// All of it is in capitals: these say nothing.
    is_loud: bool,
    /// All words begin with capitals.
    is_title: bool,
}

impl<'t> Names<'t> {
    pub(super) fn new(text: &'t str, what: For) -> Self {
        Self { text, what, is_alone: what == For::Query && is_alone(text), line: None }
    }

    /// Whether a small word that stands at some place is a name.
    pub(super) fn has(&mut self, at: usize, word: &str) -> bool {
        if self.is_alone {
            return !is_article(word);
        }
        let mut letters = word.chars();
        if word.len() < 2 || !letters.next().is_some_and(char::is_uppercase) {
            return false;
        }
        if letters.all(char::is_uppercase) {
            return !self.case(at).is_loud;
        }
        // `the Beatles` and `The Beatles` are the same.
        word != "The"
            && (self.what == For::Document && PEOPLE.contains(&word)
                || !self.begins(at) && !self.case(at).is_title)
    }

    fn case(&mut self, at: usize) -> Case {
        if let Some((end, case)) = self.line
            && at < end
        {
            return case;
        }
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        let line = &self.text[start..end];
        let initials = || line.split_whitespace().filter_map(|word| word.chars().find(|c| c.is_alphabetic()));
        let is_long = initials().nth(FEW - 1).is_some();
        let case = Case {
            is_loud: is_long && !line.chars().any(char::is_lowercase),
            is_title: is_long && !initials().any(char::is_lowercase),
        };
        self.line = Some((end, case));
        case
    }

    /// Whether a sentence begins there.
    fn begins(&self, at: usize) -> bool {
        let before = self.text[..at].chars().rev().find(|&c| is_told(c));
        before.is_none_or(|c| matches!(c, '.' | '?' | '!' | ':' | ';' | '…' | '\n'))
    }
}

/// Whether a character before a word is more than white space, quotation marks, brackets or what lists and emphasis are written with.
fn is_told(c: char) -> bool {
    c == '\n' || c.is_alphanumeric() || matches!(c, '.' | '?' | '!' | ':' | ';' | ',' | '…' | '/' | '&' | '+')
}

/// Whether there is but one word, perhaps behind an article.
fn is_alone(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut told = words.filter(|word| !is_article(word));
    told.next().is_some() && told.next().is_none()
}

fn is_article(word: &str) -> bool {
    ["a", "an", "the"].iter().any(|one| word.eq_ignore_ascii_case(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_words_are_in_order() {
        assert!(SMALL.is_sorted() && SMALL.iter().all(|word| word.len() <= LONGEST));
        assert!(is_small("who") && is_small("a") && is_small("Yours") && !is_small("sugar"));
    }

    #[test]
    fn case_tells_names() {
        // The word in brackets is asked for: in what is told, and in a question.
        for (text, told, asked) in [
            ("sugar, says [WHO] today", true, true),
            ("[WHO] says so", true, true),
            ("[who] says so", false, false),
            ("WHAT IF [WHO] SAYS SO", false, false),
            ("LOUD [WHO]", true, true),
            ("TO BE OR NOT\nthe [IT] people", true, true),
            ("the IT people\nTO BE [OR] NOT", false, false),
            ("saw The [Who] live", true, true),
            ("saw [The] Kinks live", false, false),
            ("What [Is] The Status", false, false),
            ("The [Who]", true, true),
            ("So. [Who] came?", false, false),
            ("Ana: \"[Who] came?\"", false, false),
            ("- [Can] you come?", false, false),
            ("ask [Can] or Ana", true, true),
            ("[Will] fixes it", true, false),
            ("does [Will] fix it", true, true),
            ("on a - [A] plan", false, false),
            ("[Will]?", true, true),
            ("[it]", false, true),
            ("the [who]", false, true),
        ] {
            let at = text.find('[').unwrap();
            let word = &text[at + 1..text.find(']').unwrap()];
            let text = text.replace(['[', ']'], "");
            let has = |what| Names::new(&text, what).has(at, word);
            assert_eq!((has(For::Document), has(For::Query)), (told, asked), "{text}");
        }
    }
}
