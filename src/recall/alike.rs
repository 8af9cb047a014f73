//! Whether two texts say the same: pure, and on the side of caution. No measure of likeness tells a correction from another
//! fact (the two overlap from .54 to .996 of cosine), so that texts count as one only where nothing that carries a fact
//! differs.

use std::borrow::Cow;

use crate::entry;

mod words;

use words::listed;

/// How much of their words two texts must have in common to be taken for one.
const NEAR: f32 = 0.8;

/// What a text says, prepared for comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Saying {
    folded: String,
    /// Its words in order, without the punctuation of sentences at their ends.
    words: Vec<Word>,
    /// After how many telling words something is quoted, or a comma parts a negation from what follows (`No, tea`).
    marks: Vec<(usize, char)>,
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
        let (words, marks) = read(text);
        Self { folded: entry::folded(text), words, marks }
    }

    /// Whether it is the same text but for case, white space and Unicode form. In flags and variables case tells things apart
    /// (`-v`, `-V`), and where both mix it within a word (`xK9q`, `Xk9q`).
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let cased = |saying: &Self| -> Vec<String> {
            let words = saying.words.iter().map(|word| &word.raw);
            words.filter(|raw| raw.starts_with(['-', '$'])).cloned().collect()
        };
        // Compounds have other parts in capitals: then the words do not stand against each other.
        let are_paired = self.words.len() == other.words.len();
        let is_other = |(a, b): (&Word, &Word)| a.raw != b.raw && is_mixed(&a.raw) && is_mixed(&b.raw);
        self.folded == other.folded
            && cased(self) == cased(other)
            && !(are_paired && self.words.iter().zip(&other.words).any(is_other))
    }

    /// Whether the two differ in nothing but fillers and what a sentence ends with.
    ///
    /// Words in another order, other forms of a word and synonyms are left to the reader: without a dictionary they cannot be
    /// told from opposites and swapped roles.
    pub(super) fn is_near(&self, other: &Self) -> bool {
        self.telling().next().is_some()
            && self.telling().eq(other.telling())
            && self.marks == other.marks
            && self.differs(other).is_empty()
            && self.overlap(other) >= NEAR
    }

    /// The words that say something.
    fn telling(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter(|word| word.kind != Kind::Filler).map(|word| word.folded.as_str())
    }

    /// Jaccard's index of their words (of their pairs of characters, where a script has no blanks between words).
    pub(super) fn overlap(&self, other: &Self) -> f32 {
        let (a, b) = (self.tokens(), other.tokens());
        let both = a.iter().filter(|token| b.binary_search(token).is_ok()).count();
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
        if self.is_same(other) {
            return Vec::new();
        }
        let mut differs = self.differs(other);
        if differs.is_empty() {
            differs.push("text");
        }
        differs
    }

    /// What is counted of it, in order, each once.
    fn tokens(&self) -> Vec<Cow<'_, str>> {
        let is_unspaced = |word: &Word| word.folded.chars().next().is_some_and(is_unspaced);
        let tokens = self.words.iter().enumerate().map(|(at, word)| match self.words.get(at + 1) {
            Some(next) if is_unspaced(word) && is_unspaced(next) => {
                Cow::Owned(format!("{}{}", word.folded, next.folded))
            }
            _ => Cow::Borrowed(word.folded.as_str()),
        });
        let mut tokens: Vec<Cow<'_, str>> = tokens.collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }
}

/// What texts have in common that are the same or near: their letters and digits, folded, short forms in full, without fillers.
/// Others may have it in common, too (`C` and `C++`).
pub(super) fn gist(text: &str) -> String {
    let folded = entry::folded(text);
    let mut gist = String::with_capacity(folded.len());
    let mut add = |word: &str| {
        if !word.is_empty() && listed(word) != Some(Kind::Filler) {
            gist.push_str(word);
            gist.push(' ');
        }
    };
    for chunk in folded.split(' ').flat_map(chunks) {
        let inner = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        let (inner, more) = match inner.strip_suffix("n't").or_else(|| inner.strip_suffix("n’t")) {
            Some("ca") => ("can", "not"),
            Some(verb) => (verb, "not"),
            None if inner == "cannot" => ("can", "not"),
            None => (inner, ""),
        };
        inner.split(|c: char| !c.is_alphanumeric()).for_each(&mut add);
        add(more);
    }
    gist
}

/// What stands between blanks, each character of a script without blanks by itself.
fn chunks(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end =
            if is_unspaced(first) { first.len_utf8() } else { rest.find(is_unspaced).unwrap_or(rest.len()) };
        let (chunk, after) = rest.split_at(end);
        rest = after;
        Some(chunk)
    })
}

/// What opens a quotation; a point at a word's beginning belongs to it (`.env`).
fn opens(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '„' | '‘' | '«' | '「' | '《' | '¿' | '¡')
}

/// What ends a clause or a quotation. A question mark says something, and so do brackets (`[0, 1)`).
fn closes(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '"' | '\'' | '”' | '“' | '’' | '»' | '…')
        || matches!(c, '。' | '，' | '；' | '：' | '、' | '」' | '》')
}

/// Scripts that put no blanks between words: each character is taken for one.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fff}' | '\u{3005}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether case tells something within a word: small letters and capitals that are not the first, or beside digits.
fn is_mixed(raw: &str) -> bool {
    let is_beside =
        |raw: &str| raw.chars().any(char::is_numeric) || raw.chars().skip(1).any(char::is_uppercase);
    raw.chars().any(char::is_lowercase) && raw.chars().any(char::is_uppercase) && is_beside(raw)
}

/// The words of a text, and the marks inside of it that change what is said.
fn read(text: &str) -> (Vec<Word>, Vec<(usize, char)>) {
    let (mut words, mut marks) = (Vec::new(), Vec::new());
    let mut telling = 0;
    let mut begins_sentence = true;
    let mut raws = text.split_whitespace().peekable();
    while let Some(raw) = raws.next() {
        let is_last =
            raws.peek().is_none_or(|next| next.trim_start_matches(opens).starts_with(char::is_uppercase));
        let inner = bare(raw, is_last);
        let (before, after) = raw.split_once(inner).unwrap_or_default();
        marks.extend(before.chars().filter(|&c| is_quote(c)).map(|_| (telling, '"')));
        for piece in pieces(inner) {
            let folded = entry::folded(&piece);
            let kind = kind(&piece, &folded, begins_sentence);
            telling += usize::from(kind != Kind::Filler);
            words.push(Word { raw: piece, folded, kind });
            begins_sentence = false;
        }
        marks.extend(after.chars().filter(|&c| is_quote(c)).map(|_| (telling, '"')));
        let is_negated = words.last().is_some_and(|word| word.kind == Kind::Negation);
        if is_negated && after.contains([',', '，']) {
            marks.push((telling, ','));
        }
        begins_sentence |=
            raw.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']']).ends_with(SENTENCE_ENDS);
    }
    (words, marks)
}

/// Not an apostrophe, which names and short forms have.
fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '《' | '》')
}

const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', ':', '。', '！', '？'];

/// A word without the punctuation of sentences around it; what is nothing but punctuation is a word (`use ;`), and so are
/// feet and inches (`5'`). An exclamation mark ends a sentence only where one ends (`n! in all`).
fn bare(raw: &str, is_last: bool) -> &str {
    let mut inner = raw.trim_start_matches(opens);
    while let Some(last) = inner.chars().next_back() {
        let rest = &inner[..inner.len() - last.len_utf8()];
        let is_measure = matches!(last, '"' | '\'' | '”' | '’') && rest.ends_with(|c: char| c.is_numeric());
        let is_mark = closes(last) && !is_measure || is_last && matches!(last, '!' | '！');
        if !is_mark {
            break;
        }
        inner = rest;
    }
    if inner.is_empty() { raw } else { inner }
}

/// The words of what stands between blanks: a short form in full, compounds with a hyphen in their parts, each character of a
/// script without blanks by itself.
fn pieces(inner: &str) -> Vec<String> {
    if inner.is_empty() {
        return Vec::new();
    }
    if inner.chars().any(is_unspaced) {
        let mut pieces: Vec<String> = Vec::new();
        let mut run = String::new();
        for c in inner.chars() {
            if is_unspaced(c) || closes(c) && !c.is_ascii() || opens(c) && !c.is_ascii() {
                pieces.extend((!run.is_empty()).then(|| std::mem::take(&mut run)));
                pieces.extend(is_unspaced(c).then(|| c.to_string()));
            } else {
                run.push(c);
            }
        }
        pieces.extend((!run.is_empty()).then_some(run));
        return pieces;
    }
    for apostrophe in ["n't", "n’t"] {
        if let Some(verb) = inner.strip_suffix(apostrophe).filter(|verb| !verb.is_empty()) {
            let verb = if verb == "ca" { "can" } else { verb };
            return vec![verb.to_owned(), "not".to_owned()];
        }
    }
    if inner == "cannot" {
        return vec!["can".to_owned(), "not".to_owned()];
    }
    let is_compound = inner.split('-').all(|part| !part.is_empty() && part.chars().all(char::is_lowercase));
    if is_compound {
        return inner.split('-').map(str::to_owned).collect();
    }
    vec![inner.to_owned()]
}

fn kind(raw: &str, folded: &str, begins_sentence: bool) -> Kind {
    let has = |test: fn(char) -> bool| raw.chars().any(test);
    let digits = has(char::is_numeric);
    let letters = has(char::is_alphabetic);
    let listed = listed(folded);
    if listed == Some(Kind::Negation) {
        return Kind::Negation;
    }
    if listed == Some(Kind::Number) || digits && !letters {
        return Kind::Number;
    }
    let inner_mark = raw.chars().all(|c| c.is_ascii_punctuation())
        || raw.chars().any(|c| {
            matches!(
                c,
                '_' | '/'
                    | '\\'
                    | '@'
                    | '#'
                    | '.'
                    | '='
                    | '<'
                    | '>'
                    | '+'
                    | '*'
                    | '~'
                    | '$'
                    | '%'
                    | '&'
                    | '|'
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
    listed.unwrap_or(Kind::Plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_near(a: &str, b: &str) -> bool {
        let (a, b) = (Saying::of(a), Saying::of(b));
        assert_eq!(a.is_near(&b), b.is_near(&a));
        a.is_near(&b)
    }

    #[test]
    fn fillers_and_the_marks_of_sentences_carry_nothing() {
        let text = "The user prefers short, direct reviews in every project.";
        assert!(is_near(text, "The user really prefers short, direct reviews in every project!"));
        assert!(is_near(text, "the user prefers short, direct, reviews in every project"));
        assert!(is_near(
            "The user doesn't want emojis in any commit message.",
            "The user does not want emojis in any commit message"
        ));
        assert!(is_near("用户希望每个较长的回答末尾都有总结。", "用户希望每个较长的回答末尾都有总结哦"));
    }

    #[test]
    fn what_stands_inside_keeps_texts_apart() {
        for (a, b) in [
            ("No tea after lunch for the user.", "No, tea after lunch for the user."),
            ("The argument is \"a b\" on each and every day", "The argument is a b on each and every day"),
            ("The user has read all 3 of the books.", "The user has read all but 3 of the books."),
            (
                "Der Benutzer will mit seiner Frau ein Kind.",
                "Der Benutzer will mit seiner Frau noch ein Kind.",
            ),
            ("The code of the door is xK9q.", "The code of the door is Xk9q."),
        ] {
            assert!(!is_near(a, b), "{a} {b}");
            assert!(!Saying::of(a).is_same(&Saying::of(b)), "{a} {b}");
        }
        assert!(Saying::of("The GitHub token").is_same(&Saying::of("THE GITHUB TOKEN")));
        assert!(Saying::of("Prod-A is run with -v").is_same(&Saying::of("prod-a is run with -v")));
        assert!(is_near("Er sagt „ja“ zu allem, was kommt.", "Er sagt \"ja\" zu wirklich allem, was kommt!"));
    }

    #[test]
    fn what_carries_a_fact_keeps_texts_apart() {
        let text = "The deploy of Larkspur waits for 3 reviews and never runs on fridays at noon.";
        for (old, new) in [
            ("3", "4"),
            ("Larkspur", "Quillstone"),
            ("never", "always"),
            ("never ", ""),
            ("waits for", "waits not for"),
            ("noon", "night"),
            ("3 reviews", "reviews 3"),
        ] {
            assert!(!is_near(text, &text.replace(old, new)), "{old} and {new}");
        }
        assert!(!is_near(
            "The file .env is read by the local runner.",
            "The file env is read by the local runner."
        ));
        assert!(!is_near("Use C for the driver of the new pump.", "Use C++ for the driver of the new pump."));
        assert!(!is_near("用户喜欢在提交信息里看到表情符号", "用户不喜欢在提交信息里看到表情符号"));
        assert!(!is_near("", ""));
        for (a, b) in [
            ("The separator of the export file is ;", "The separator of the export file is ,"),
            ("The board of the shelf is exactly 5' long", "The board of the shelf is exactly 5\" long"),
            ("The range of the dial is [0, 1] by default", "The range of the dial is (0, 1) by default"),
            ("In this shell we use ! before the name", "In this shell we use ? before the name"),
            ("There are n! orders in total for the batch", "There are n orders in total for the batch"),
            ("The user likes tea in the morning ?", "The user likes tea in the morning ."),
            ("Let hanging test workers die after every run", "Let hanging test workers after every run"),
            ("They play golf on the golf course every week", "They play golf on the golf every week"),
        ] {
            assert!(!is_near(a, b), "{a} | {b}");
        }
        assert!(!Saying::of("grep with -V here").is_same(&Saying::of("grep with -v here")));
    }

    /// What carries facts, and what does not, in many forms.
    const PIECES: &[&str] = &[
        "The",
        "the",
        "user",
        "User",
        "doesn't",
        "DOESN'T",
        "does",
        "not",
        "can't",
        "cannot",
        "Cannot",
        "can",
        "really",
        "have",
        "haven't",
        "now",
        "now.",
        "stop!",
        "stop",
        "Stop,",
        "sub-way",
        "Sub-way",
        "sub",
        "way",
        "(sub)",
        "C++",
        "C#",
        "\"tea\"",
        "tea",
        "5'",
        "5",
        "用户",
        "用户了",
        "用",
        "户",
        "了",
        "中can't",
        "中",
        "CAN'T",
        "...",
        "…",
        ";",
        "ｔｅａ",
    ];

    /// Texts made of the same few words, so that many of them are the same or near.
    fn any_text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(PIECES), 0..6).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn what_is_the_same_or_near_has_one_gist(text in any_text(), filler in 0..4_usize, at in 0..6_usize, other in any_text()) {
            let mut words: Vec<&str> = text.split(' ').collect();
            words.insert(at.min(words.len()), ["really", "the", "NOW", "了"][filler]);
            for other in [words.join(" "), text.to_uppercase(), text.replace(['.', ','], ""), other] {
                let (one, two) = (Saying::of(&text), Saying::of(&other));
                if one.is_same(&two) || one.is_near(&two) {
                    prop_assert_eq!(gist(&text), gist(&other), "{} | {}", text, other);
                }
            }
        }
    }

    #[test]
    fn a_gist_is_what_carries_a_fact() {
        assert_eq!(gist("The User really doesn't like sub-ways!"), "user does not like sub ways ");
        assert_eq!(gist("用户了 can't"), "用 户 can not ");
        assert_ne!(gist("It takes 3 days."), gist("It takes 4 days."));
    }

    #[test]
    fn what_differs_is_named() {
        let differ = |a: &str, b: &str| Saying::of(a).differences(&Saying::of(b));
        assert_eq!(differ("It takes 3 days.", "It takes 4 days."), ["number"]);
        assert_eq!(differ("We met Ada there.", "We met Bea there."), ["name"]);
        assert_eq!(differ("It is safe.", "It is not safe."), ["negation"]);
        assert_eq!(differ("See src/a.rs there.", "See src/b.rs there."), ["identifier"]);
        assert_eq!(differ("It is hot.", "It is cold."), ["text"]);
        assert_eq!(differ("It is hot.", "it  is HOT."), [""; 0]);
    }
}
