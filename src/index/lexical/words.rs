//! A text as terms: what of it can be found by words.
//!
//! - Lower case, compatibility forms unified (NFKC). A word with diacritics gives its bare form *and* itself, so that
//!   `ca phe` finds `cà phê`, and `cà phê` finds itself first; where vowels are such marks (Hebrew, Arabic, Devanagari) the bare
//!   form alone. Umlauts and ß give the bare form and the one that is typed
//!   where the keyboard lacks them: `Müller` is found as `Muller` and as `Mueller`.
//! - An identifier (`parseHTTPHeader`, `snake_case`, `v2.3.1`, `src/main.rs`) gives its parts and, as one term, itself.
//! - Scripts that are written without spaces give pairs of characters; documents give single ones, too, so that a query of one
//!   character finds what holds it.
//! - Signs that are no punctuation (emoji, currencies, arrows) are terms; a sign before a word makes a second one of it (`#garden`, `.NET`).
//! - English words without content are left out where they are no names, irregular forms become the word itself (`bought`: `buy`),
//!   and endings are taken off (in some other scripts, too), as BM25 over English measurably wants: on ten real chats (REALTALK, 705 questions)
//!   evidence recall@10 is .497 by words without stemming, .535 with it, and .538 with irregular forms; .572 and .577 by words and
//!   meaning.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::fold::{bare, typed, unified, without_prefix};
use super::forms::base;
use super::small::{Names, is_small};
use super::stems::Stems;

/// A longer whole identifier gives its parts alone, in bytes.
const WHOLE: usize = 64;

/// A longer word is cut, in bytes: nobody types it, and it is likely to be encoded data.
const WORD: usize = 128;

/// What a text is analysed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum For {
    Document,
    Query,
}

/// The analyzer of documents or of queries.
pub(in super::super) fn analyzer(what: For) -> TextAnalyzer {
    TextAnalyzer::builder(Words { what, spans: Spans::default(), stems: Stems::default() }).build()
}

/// Whether a term counts in a query only where some text has it: a small word that may be a name (a term with capitals), or a sign.
/// These stand in many questions that are not about them.
pub(in super::super) fn is_weak(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_uppercase() || !(is_word(c) || is_spaceless(c)))
}

#[derive(Clone)]
struct Words {
    what: For,
    spans: Spans,
    stems: Stems,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        self.spans.clear();
        cut(&unified(text), self.what, &mut self.spans);
        Stream { spans: &self.spans, stems: &self.stems, next: 0, token: Token::default() }
    }
}

struct Stream<'a> {
    spans: &'a Spans,
    stems: &'a Stems,
    next: usize,
    token: Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        while let Some(&(end, position)) = self.spans.ends.get(self.next) {
            let start = self.next.checked_sub(1).map_or(0, |before| self.spans.ends[before].0);
            let term = self.stems.of(base(&self.spans.text[start..end]));
            let is_first = self.next == 0 || self.token.position != position;
            self.next += 1;
            // Forms of a word that end differently are one.
            if is_first || self.token.text != *term {
                self.token.text.clear();
                self.token.text.push_str(&term);
                self.token.position = position;
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Terms one after the other in one string: where each ends, and the number of the word that it is a form of.
#[derive(Clone, Default)]
struct Spans {
    text: String,
    ends: Vec<(usize, usize)>,
    word: usize,
}

impl Spans {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.word = 0;
    }

    fn form(&mut self, chars: impl Iterator<Item = char>) {
        let start = self.text.len();
        self.text.extend(chars);
        let mut end = self.text.len().min(start + WORD);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.truncate(end);
        if end > start {
            self.ends.push((end, self.word));
        }
    }

    /// A word in all its forms.
    fn word(&mut self, word: &str) {
        if word.is_ascii() {
            self.form(word.chars().map(|c| c.to_ascii_lowercase()));
        } else {
            let itself: String = word.chars().flat_map(char::to_lowercase).nfc().collect();
            let bare = bare(&itself);
            self.form(bare.chars());
            if let Some(rest) = without_prefix(&bare) {
                self.form(rest.chars());
            }
            let is_typed = |c: char| c.is_ascii() || typed(c).is_some();
            let other: String = if itself.chars().all(is_typed) {
                itself
                    .chars()
                    .flat_map(|c| typed(c).map_or([Some(c), None], |two| two.map(Some)))
                    .flatten()
                    .collect()
            } else {
                itself
            };
            if other != bare && !is_vowelled(&bare) {
                self.form(other.chars());
            }
        }
        self.word += 1;
    }

    /// Another form of the word before.
    fn also(&mut self, chars: impl Iterator<Item = char>) {
        self.word = self.word.saturating_sub(1);
        self.form(chars.flat_map(char::to_lowercase));
        self.word += 1;
    }

    /// A small word as a name: with capitals, which no other term has. Who types none may mean either.
    fn name(&mut self, word: &str) {
        let is_typed = !word.starts_with(|c: char| c.is_ascii_uppercase());
        if is_typed || is_loud(word) {
            self.form(word.chars().map(|c| c.to_ascii_uppercase()));
        }
        if is_typed || !is_loud(word) {
            let capital = word.chars().take(1).map(|c| c.to_ascii_uppercase());
            self.form(capital.chain(word.chars().skip(1)));
        }
        self.word += 1;
    }
}

/// Whether a word is of a script that is written with vowels or without, and whose letters have variants: only what is common counts.
fn is_vowelled(word: &str) -> bool {
    word.starts_with(|c| matches!(c, '\u{5d0}'..='\u{6ff}' | '\u{900}'..='\u{97f}'))
}

fn cut(text: &str, what: For, spans: &mut Spans) {
    let mut names = Names::new(text, what);
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        at += if is_spaceless(first) {
            let end = rest.find(|c| !is_spaceless(c)).unwrap_or(rest.len());
            pairs(&rest[..end], what, spans);
            end
        } else if is_word(first) {
            let end = compound(rest);
            let (word, words) = (&rest[..end], spans.word);
            let sharp = sharp(word, &rest[end..]);
            if end == 1 && text[..at].ends_with('°') {
                spans.word(&format!("°{word}"));
            // `C++` is no `C`.
            } else if sharp == 0 || end > 1 {
                whole_and_parts(word, at, &mut names, spans);
            }
            if sharp > 0 {
                let name = word.rsplit(joins).next().unwrap_or(word);
                spans.word(&format!("{name}{}", &rest[end..end + sharp]));
            } else if let Some(sign) = sign_before(&text[..at])
                && word.len() <= WHOLE
            {
                spans.word += usize::from(spans.word == words);
                spans.also(std::iter::once(sign).chain(word.chars()));
            }
            end + sharp
        } else {
            symbol(rest, first, spans)
        };
    }
}

/// The sign before a word that makes a name of it: `#garden`, `@petra`, `$HOME`, `--force`, `.NET`.
fn sign_before(text: &str) -> Option<char> {
    let mut before = text.chars().rev();
    let sign = before.next().filter(|c| matches!(c, '#' | '@' | '$' | '-' | '.'))?;
    let is_free = |c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\'' | '`' | '\u{201c}');
    let before = before.next();
    let before = if sign == '-' && before == Some('-') { text.chars().rev().nth(2) } else { before };
    before.is_none_or(is_free).then_some(sign)
}

/// Takes a sign, as a term if it is one by itself: an emoji, a currency. A flag is two.
fn symbol(rest: &str, first: char, spans: &mut Spans) -> usize {
    let is_flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let length =
        rest.chars().take(if is_flag(first) { 2 } else { 1 }).take_while(|&c| c == first || is_flag(c));
    let length = length.map(char::len_utf8).sum();
    if is_symbol(first) {
        spans.form(rest[..length].chars());
        spans.word += 1;
    }
    length
}

/// Not what tables, boxes and progress are drawn with.
fn is_symbol(c: char) -> bool {
    c >= '\u{20a0}'
        && !matches!(c, '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}')
        && matches!(
            c.general_category(),
            GeneralCategory::OtherSymbol | GeneralCategory::CurrencySymbol | GeneralCategory::MathSymbol
        )
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        (c.is_alphanumeric() || is_mark(c)) && !is_spaceless(c)
    }
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Whether a character is of a script that is written without spaces, or whose words carry their particles (Korean).
fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{3130}'..='\u{318f}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
        && !matches!(c, '\u{30fb}' | '\u{30a0}')
}

/// Characters that hold an identifier together.
fn joins(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '#' | '+' | '&' | '\\' | '=' | '\'' | '\u{2019}')
}

/// The length of the word or identifier that a text begins with.
fn compound(text: &str) -> usize {
    let mut end = 0;
    loop {
        end += text[end..].find(|c| !is_word(c)).unwrap_or(text.len() - end);
        let after = &text[end..];
        let joint = after.find(|c| !joins(c)).unwrap_or(after.len());
        let is_short =
            after[..joint].chars().count() <= 3 && after[..joint] != *".." && after[..joint] != *"...";
        if joint == 0 || !is_short || !after[joint..].starts_with(is_word) {
            return end;
        }
        end += joint;
    }
}

/// `C++` and `C#`: how much of what follows a name belongs to it.
fn sharp(name: &str, after: &str) -> usize {
    let length =
        if after.starts_with("++") { 2 } else { usize::from(after.starts_with('#') && name.len() <= 2) };
    if name.len() > WHOLE || after[length..].starts_with(is_word) { 0 } else { length }
}

fn whole_and_parts(text: &str, at: usize, names: &mut Names<'_>, spans: &mut Spans) {
    let mut parts = Vec::new();
    let mut is_name = false;
    for piece in text.split(joins).filter(|piece| !piece.is_empty()) {
        let before = parts.len();
        humps(piece, &mut parts);
        if parts.len() > before + 1 && piece.len() < text.len() && piece.len() <= WHOLE {
            spans.word(piece);
        }
    }
    if let [only] = parts[..] {
        return if !is_small(only) {
            spans.word(only);
        } else if names.has(at, only) {
            spans.name(only);
        };
    }
    // A contraction or a possessive is no name.
    let is_one = !text.contains(['\'', '\u{2019}']);
    for part in &parts {
        is_name |= part.len() > 1;
        if part.chars().nth(1).is_none() {
            continue;
        }
        if is_small(part) {
            // `Will's` and `IT-department`, but not `DO_NOT_TRACK`.
            // A longer one is no name of a person or a department.
            if text.len() <= WHOLE
                && (if is_one { is_loud(part) && !is_loud(text) } else { text.ends_with('s') })
                && names.has(at, part)
            {
                spans.name(part);
            }
        } else if is_one || !is_negation(text, part) {
            spans.word(part);
        }
    }
    if text.len() <= WHOLE && is_one && (is_name || parts.len() > 1) {
        spans.word(text);
        if let Some(number) = text.strip_prefix(['v', 'V'])
            && number.starts_with(|c: char| c.is_ascii_digit())
        {
            spans.also(number.chars());
        }
    }
}

fn is_loud(text: &str) -> bool {
    !text.contains(char::is_lowercase)
}

/// Whether a part of a contraction is what `not` was left out of: `won't` is not about who won.
fn is_negation(text: &str, part: &str) -> bool {
    part.ends_with(['n', 'N'])
        && matches!(text.strip_prefix(part), Some("'t" | "'T" | "\u{2019}t" | "\u{2019}T"))
}

/// Cuts a name where its case says so: `parseHTTPHeader` is `parse`, `HTTP`, `Header`.
fn humps<'a>(piece: &'a str, parts: &mut Vec<&'a str>) {
    let mut start = 0;
    let mut chars = piece.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        let rises = before.is_some_and(char::is_lowercase) && c.is_uppercase();
        let ends_capitals = before.is_some_and(char::is_uppercase)
            && c.is_uppercase()
            && next.is_some_and(char::is_lowercase)
            // `IDs`, `URLs`: a plural of capitals.
            && !piece[at + c.len_utf8()..].eq("s");
        if rises || ends_capitals {
            parts.push(&piece[start..at]);
            start = at;
        }
        before = Some(c);
    }
    parts.push(&piece[start..]);
}

fn pairs(run: &str, what: For, spans: &mut Spans) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let is_one = starts.len() == 2;
    if is_one || what == For::Document {
        for single in starts.windows(2) {
            spans.form(run[single[0]..single[1]].chars());
            spans.word += 1;
        }
    }
    for pair in starts.windows(3) {
        spans.form(run[pair[0]..pair[2]].chars());
        spans.word += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, what: For) -> String {
        let mut analyzer = analyzer(what);
        let mut stream = analyzer.token_stream(text);
        let mut terms = Vec::new();
        while stream.advance() {
            terms.push(stream.token().text.clone());
        }
        terms.join(" ")
    }

    #[test]
    fn texts_become_terms() {
        let cases = [
            ("The user prefers dark editors.", "user prefer dark editor"),
            ("Ann's-cat won't", "ann cat"),
            ("cà phê sữa đá", "ca cà phe phê sua sữa da đá"),
            ("ca phe", "ca phe"),
            ("Müller Straße", "muller mueller strass"),
            ("Mueller strasse", "mueller strass"),
            ("parseHTTPHeader", "pars http header parsehttphead"),
            ("snake_case", "snake case snake_cas"),
            ("E0499", "e0499"),
            ("v2.3.1", "v2 v2.3.1 2.3.1"),
            ("src/main.rs", "src main rs src/main.r"),
            ("std::fs::File", "std fs file std::fs::file"),
            ("the user's plan, don't", "user plan"),
            ("She Bought and has written", "buy write"),
            ("leave leaves leaving left", "leav leav leav leav"),
            ("bit bits led LEDs shot shots thought", "bit bit led led shot shot think"),
            ("e.g. this... and so on", "e.g"),
            ("C++ and C# or c", "c++ c# c"),
            ("URLs of iPhone", "url phone iphon"),
            ("Ｆｕｌｌ ① \u{fb01}ne", "full 1 fine"),
            ("2026-11-30 10:30", "2026 11 30 2026-11-30 10 30 10:30"),
            ("C/C++, notepad++", "c/c c++ notepad notepad++"),
            ("5 °C, \u{2103}", "5 °c °c"),
            ("\u{2014} \u{1f600} ! \u{2502} $ \u{20bf}", "\u{1f600} \u{20bf}"),
            ("\u{1f1eb}\u{1f1f7}\u{1f1e9}\u{1f1ea}", "\u{1f1eb}\u{1f1f7} \u{1f1e9}\u{1f1ea}"),
            ("\u{1f44d}\u{1f3fd} \u{2764}\u{fe0f} 1\u{fe0f}\u{20e3}", "\u{1f44d} \u{2764} 1"),
            ("#garden, \"@petra\" at $HOME", "garden #garden petra @petra home $home"),
            ("git --force .NET a.b", "git forc -forc net .net a.b"),
            ("well - so... end-to-end", "well end end end-to-end"),
            ("WHO and The Who, the AND gate", "WHO Who AND gate"),
            ("WHO-guided, WHO's, DO_NOT_TRACK", "WHO guid who-guid WHO track do_not_track"),
            ("Will won't; I don't", "Will"),
            ("soft\u{ad}ly", "soft"),
            ("п'ять, п\u{2019}ять צה\"ל", "пят пят צהל"),
            ("הבית", "הבית בית"),
            ("القهوة وقهوة", "قهو قهو"),
            ("книга книгу чай", "книг книг ча"),
            ("Århus", "arhus aarhus"),
            ("a@b.example", "exampl a@b.exampl"),
            ("Ёлка", "елк"),
        ];
        for (text, expected) in cases {
            assert_eq!(terms(text, For::Document), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(terms("東京都", For::Query), "東京 京都");
        assert_eq!(terms("東京", For::Document), "東 京 東京");
        assert_eq!(terms("茶", For::Query), "茶");
        assert_eq!(terms("Rustで書く", For::Query), "rust で書 書く");
        assert_eq!(terms("한국어 물", For::Query), "한국 국어 물");
        assert_eq!(terms("ﾃｽﾄ", For::Query), "テス スト");
    }

    #[test]
    fn a_word_without_end_is_cut() {
        let long = "é".repeat(100_000);
        assert!(terms(&long, For::Document).split(' ').all(|term| term.len() <= WORD));
        assert!(terms(&"x_".repeat(50_000), For::Document).len() < 200_000);
        // Nothing is looked at again for each part.
        for part in ["IT-", "Who'", "Ann\u{2019}"] {
            let long = format!("{}x", part.repeat(300_000));
            assert!(terms(&long, For::Document).len() <= long.len(), "{part}");
        }
    }
}
