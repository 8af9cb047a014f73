//! Characters that can hide text or fake lines, which no path may hold and no echo shows raw.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';
/// Asks for the coloured form of the emoji before it; the one variation selector that is allowed.
pub(super) const EMOJI_PRESENTATION: char = '\u{FE0F}';

/// `Default_Ignorable_Code_Point` without general category Cf, which is refused as a whole.
///
/// Source: Unicode Character Database, `DerivedCoreProperties.txt` (16.0.0; the property is the same in 17.0.0).
const IGNORABLE: [(char, char); 11] = [
    ('\u{034F}', '\u{034F}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180D}'),
    ('\u{180F}', '\u{180F}'),
    ('\u{2065}', '\u{2065}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', EMOJI_PRESENTATION),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFF8}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// Whether a character is refused where it stands: a control, format or otherwise invisible one.
///
/// Neighbours decide for U+200C and U+200D alone, which Persian, Hindi and emoji families need.
fn is_invisible(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' => true,
        _ if c.is_ascii() => false,
        EMOJI_PRESENTATION => false,
        ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER => !before.zip(after).is_some_and(|(b, a)| may_join(b, a)),
        _ => c.general_category() == GeneralCategory::Format || is_ignorable(c),
    }
}

/// Whether a text holds a character that is refused where it stands.
#[must_use]
pub fn has_invisible(text: &str) -> bool {
    !is_plain(text) && with_neighbours(text).any(|(before, c, after)| is_invisible(before, c, after))
}

/// The text without what [`has_invisible`] finds.
#[cfg(feature = "search")]
#[must_use]
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    if !has_invisible(text) {
        return Cow::Borrowed(text);
    }
    let seen = with_neighbours(text).filter(|&(before, c, after)| !is_invisible(before, c, after));
    Cow::Owned(seen.map(|(_, c, _)| c).collect())
}

/// Shows what [`has_invisible`] finds as `\u{XXXX}`, with at least four upper-case hex digits.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(escape_with(text, |_| None)) }
}

/// As [`escape`] for a name in a listing, where in addition `\n`, `\t` and `\\` stand for themselves.
#[must_use]
pub fn escape_name(name: &str) -> Cow<'_, str> {
    if is_plain(name) && !name.contains('\\') {
        return Cow::Borrowed(name);
    }
    Cow::Owned(escape_with(name, |c| match c {
        '\n' => Some("\\n"),
        '\t' => Some("\\t"),
        '\\' => Some("\\\\"),
        _ => None,
    }))
}

fn escape_with(text: &str, own: impl Fn(char) -> Option<&'static str>) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for (before, c, after) in with_neighbours(text) {
        if let Some(escape) = own(c) {
            shown.push_str(escape);
        } else if is_invisible(before, c, after) {
            let _ = write!(shown, "\\u{{{:04X}}}", u32::from(c)); // writing to a String cannot fail
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The common case: nothing to look up in a table.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

fn with_neighbours(text: &str) -> impl Iterator<Item = (Option<char>, char, Option<char>)> {
    let mut rest = text.chars().peekable();
    let mut before = None;
    std::iter::from_fn(move || {
        let c = rest.next()?;
        Some((before.replace(c), c, rest.peek().copied()))
    })
}

fn may_join(before: char, after: char) -> bool {
    !(before.is_ascii() && after.is_ascii()) && [before, after].into_iter().all(is_joinable)
}

fn is_joinable(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
        || matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
        || c.general_category() == GeneralCategory::OtherSymbol
}

fn is_ignorable(c: char) -> bool {
    IGNORABLE.iter().any(|&(first, last)| (first..=last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_invisible_characters() {
        for (text, shown) in [
            ("plain ASCII ~", "plain ASCII ~"),
            ("a\tb\n", "a\\u{0009}b\\u{000A}"),
            ("\u{7F}\u{85}\u{9F}", "\\u{007F}\\u{0085}\\u{009F}"),
            ("caf\u{E9} \u{A0}", "caf\u{E9} \u{A0}"),
            ("soft\u{AD}hyphen", "soft\\u{00AD}hyphen"),
            ("\u{202E}gpj.exe", "\\u{202E}gpj.exe"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
            ("\u{3164}\u{115F}\u{17B4}\u{FFA0}", "\\u{3164}\\u{115F}\\u{17B4}\\u{FFA0}"),
            ("\u{FE00}\u{FE0E}\u{E0101}", "\\u{FE00}\\u{FE0E}\\u{E0101}"),
            ("\u{2764}\u{FE0F}", "\u{2764}\u{FE0F}"),
            ("\u{E0041}\u{E0FFF}", "\\u{E0041}\\u{E0FFF}"),
            ("no\u{200C}tes", "no\\u{200C}tes"),
            ("a\u{200D}\u{E9}", "a\u{200D}\u{E9}"),
            ("\u{6CC}\u{200C}\u{62E}", "\u{6CC}\u{200C}\u{62E}"),
            ("\u{6CC}\u{200C}/", "\u{6CC}\\u{200C}/"),
            ("\u{200D}\u{6CC}", "\\u{200D}\u{6CC}"),
            ("\u{6CC}\u{200D}", "\u{6CC}\\u{200D}"),
            ("\u{1F469}\u{1F3FD}\u{200D}\u{1F4BB}", "\u{1F469}\u{1F3FD}\u{200D}\u{1F4BB}"),
            ("\u{2764}\u{FE0F}\u{200D}\u{1F525}", "\u{2764}\u{FE0F}\u{200D}\u{1F525}"),
            ("\u{6CC}\u{200D}\u{200D}\u{6CC}", "\u{6CC}\\u{200D}\\u{200D}\u{6CC}"),
        ] {
            assert_eq!(escape(text), shown);
            assert_eq!(has_invisible(text), text != shown, "{shown}");
        }
    }

    #[test]
    fn a_name_in_a_listing_cannot_fake_a_line() {
        for (name, shown) in [
            ("a.md", "a.md"),
            ("x\n4K\tfake", "x\\n4K\\tfake"),
            ("a\\b", "a\\\\b"),
            ("\u{1b}[2J", "\\u{001B}[2J"),
        ] {
            assert_eq!(escape_name(name), shown);
        }
    }
}
