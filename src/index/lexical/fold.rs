//! Characters that are written in several ways, or not at all.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// A text with compatibility forms unified (NFKC), without what nobody types: characters that only say how others are shown, and
/// marks between the letters of one word (`п'ять`, `צה"ל`).
pub(super) fn unified(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut unified = String::with_capacity(text.len());
    let mut chars = text.nfkc().filter(|&c| !is_unseen(c)).peekable();
    while let Some(c) = chars.next() {
        let is_inside = is_inner_mark(c)
            && unified.chars().next_back().is_some_and(has_inner_marks)
            && chars.peek().copied().is_some_and(has_inner_marks);
        if !is_inside {
            unified.push(c);
        }
    }
    Cow::Owned(unified)
}

/// Soft hyphens, joiners and marks of direction, variants of signs, and the line that lengthens Arabic words. The sign that parts
/// a word in Persian is none of them.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{640}' | '\u{20e3}' | '\u{feff}' | '\u{200b}' | '\u{200d}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_inner_mark(c: char) -> bool {
    matches!(c, '\'' | '"' | '\u{2019}' | '\u{201d}' | '\u{2bc}' | '\u{5f3}' | '\u{5f4}')
}

/// Cyrillic and Hebrew.
fn has_inner_marks(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}' | '\u{5d0}'..='\u{5ea}')
}

/// How a letter is typed where the keyboard lacks it.
pub(super) fn typed(c: char) -> Option<[char; 2]> {
    Some(match c {
        'ä' => ['a', 'e'],
        'ö' | 'ø' => ['o', 'e'],
        'ü' => ['u', 'e'],
        'ß' => ['s', 's'],
        'å' => ['a', 'a'],
        _ => return None,
    })
}

/// A text in lower case without diacritics. Marks that are letters of their own (of Indic scripts, kana), or make one that is no
/// variant of another (`й`), stay.
pub(super) fn bare(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    for c in text.nfd() {
        match c {
            '\u{306}' if bare.ends_with('и') => bare.push(c),
            '\u{300}'..='\u{36f}'
            | '\u{591}'..='\u{5bd}'
            | '\u{5bf}'..='\u{5c7}'
            | '\u{64b}'..='\u{65f}'
            | '\u{670}'
            | '\u{93c}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}' => {}
            'đ' | 'ð' => bare.push('d'),
            'ł' => bare.push('l'),
            'ø' => bare.push('o'),
            'ħ' => bare.push('h'),
            'ı' => bare.push('i'),
            'æ' => bare.push_str("ae"),
            'œ' => bare.push_str("oe"),
            'ß' => bare.push_str("ss"),
            'þ' => bare.push_str("th"),
            'ς' => bare.push('σ'),
            // Ukrainian endings as in Russian.
            'і' => bare.push('и'),
            'є' => bare.push('е'),
            'ґ' => bare.push('г'),
            // Nasal vowels of Hindi are written either way, and so are these letters in Arabic and Persian.
            '\u{901}' => bare.push('\u{902}'),
            'ة' => bare.push('ه'),
            'ى' | 'ی' => bare.push('ي'),
            'ک' => bare.push('ك'),
            c => bare.push(c),
        }
    }
    if bare.is_ascii() { bare } else { bare.nfc().collect() }
}

/// What is left of a Hebrew word without the small word that is written before it as one letter (`the`, `and`, `in`, `to` …), if
/// it may have one.
pub(super) fn without_prefix(word: &str) -> Option<&str> {
    let rest = word.strip_prefix(['ה', 'ו', 'ב', 'ל', 'מ', 'ש', 'כ'])?;
    rest.chars().nth(1).map(|_| rest)
}
