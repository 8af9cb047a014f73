//! Texts made comparable, and file names made of them.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use crate::path;

/// Bytes of a file name, without its ending.
const MOST: usize = 60;
/// A name this long is not made longer with part of a word.
const ENOUGH: usize = 30;
/// The name of what has no letter and no digit, and what stands before a name that cannot stand alone.
const ELSE: &str = "memory";
/// Names of devices on Windows, with any ending. Source: Microsoft, "Naming Files, Paths, and Namespaces".
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Whether a file's name, or a path, is that of Markdown: what front matter is looked for in.
pub(crate) fn is_markdown(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["md", "markdown"].iter().any(|markdown| ending.eq_ignore_ascii_case(markdown))
}

/// The file name, without its ending, for a content: its first words, lower case, letters and digits of any script joined by
/// `-`, at most 60 bytes, NFC.
pub(crate) fn slug(content: &str) -> String {
    let mut slug = String::new();
    for word in words(content) {
        let gap = usize::from(!slug.is_empty());
        let room = MOST.saturating_sub(slug.len() + gap);
        let fits = word.len() <= room;
        if !fits && slug.len() >= ENOUGH {
            break;
        }
        let end = (0..=room.min(word.len())).rev().find(|&end| word.is_char_boundary(end)).unwrap_or(0);
        if end == 0 {
            break;
        }
        if gap == 1 {
            slug.push('-');
        }
        slug.push_str(&word[..end]);
        if !fits {
            break;
        }
    }
    match slug.as_str() {
        "" => ELSE.to_owned(),
        name if is_reserved(name) => format!("{ELSE}-{name}"),
        _ => slug,
    }
}

/// Runs of letters, marks and digits, lower case; an apostrophe between letters joins them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let mut word = String::new();
        // One byte more than can be used is enough to tell that it does not fit, and leaves what NFC makes shorter.
        while let Some(c) = chars.next() {
            let is_joined = matches!(c, '\'' | '’') && chars.peek().is_some_and(|c| c.is_alphabetic());
            match kind(c) {
                Kind::Word => word.push(c),
                Kind::Mark if !word.is_empty() => word.push(c),
                _ if word.is_empty() || is_joined => {}
                _ => break,
            }
            if word.len() > 16 * MOST {
                break;
            }
        }
        if word.is_empty() { None } else { Some(word.to_lowercase().nfc().collect()) }
    })
}

enum Kind {
    Word,
    Mark,
    Neither,
}

fn kind(c: char) -> Kind {
    let mut bytes = [0; 4];
    if c == '\u{FE0F}' || path::has_invisible(c.encode_utf8(&mut bytes)) {
        return Kind::Neither;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => Kind::Word,
        GeneralCategoryGroup::Mark => Kind::Mark,
        _ => Kind::Neither,
    }
}

fn is_reserved(name: &str) -> bool {
    let port = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    RESERVED.contains(&name)
        || port.is_some_and(|port| {
            matches!(port, "¹" | "²" | "³") || port.len() == 1 && port.as_bytes()[0].is_ascii_digit()
        })
}

/// A text as duplicates are told by: NFC, full-width forms as ASCII, lower case, runs of white space one blank, trimmed.
///
/// Neither NFKC, which makes `10²` the same as `102`, nor full case folding.
pub(crate) fn folded(text: &str) -> String {
    let mut narrow = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !narrow.is_empty() {
            narrow.push(' ');
        }
        if word.is_ascii() {
            narrow.push_str(word);
        } else {
            narrow.extend(word.chars().map(narrowed));
        }
    }
    if narrow.is_ascii() {
        narrow.make_ascii_lowercase();
        return narrow;
    }
    narrow.to_lowercase().nfc().collect()
}

/// Source: Unicode, block Halfwidth and Fullwidth Forms.
fn narrowed(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::MemoryPath;

    #[test]
    fn a_slug_is_the_first_words() {
        let long = "a".repeat(70);
        let e70 = "é".repeat(70);
        let cjk = "喜".repeat(30);
        for (content, is) in [
            ("The user prefers dark mode in every editor.", "the-user-prefers-dark-mode-in-every-editor"),
            ("# Title\n\n- item", "title-item"),
            ("User's dog isn't 'Rex'", "users-dog-isnt-rex"),
            ("  ---  ", "memory"),
            ("", "memory"),
            ("🎉", "memory"),
            ("CON", "memory-con"),
            ("Lpt1.", "memory-lpt1"),
            ("com²", "memory-com²"),
            ("con artist", "con-artist"),
            (".git", "git"),
            ("Ünïcode ΣΑΣ Ж", "ünïcode-σας-ж"),
            ("e\u{301}te\u{301}", "été"),
            ("हिन्दी में", "हिन्दी-में"),
            ("a\u{202E}b\u{3164}c\u{FE0F}d", "a-b-c-d"),
            ("１０ apples", "１０-apples"),
            (&long, &long[..60]),
            (&e70, &e70[..60]),
            (&format!("x {cjk}"), &format!("x-{}", &cjk[..57])),
            (
                "one two three four five six seven eight nine ten eleven twelve thirteen",
                "one-two-three-four-five-six-seven-eight-nine-ten-eleven",
            ),
        ] {
            assert_eq!(slug(content), is, "{content}");
        }
    }

    #[test]
    fn what_is_the_same_when_folded() {
        for (a, b) in [
            ("Dark  Mode", "dark mode"),
            ("\u{A0}dark\u{A0}\u{3000}mode\r\n", "dark mode"),
            ("ＤＡＲＫ　１０！", "dark 10!"),
            ("e\u{301}", "É"),
            ("ΣΑΣ", "σας"),
            ("\u{212B}", "å"),
        ] {
            assert_eq!(folded(a), folded(b), "{a} {b}");
        }
        for (a, b) in
            [("10²", "102"), ("straße", "strasse"), ("ﬁ", "fi"), ("a b", "ab"), ("½", "1/2"), ("no", "not")]
        {
            assert_ne!(folded(a), folded(b), "{a} {b}");
        }
        assert_eq!(folded(" \n"), "");
    }

    #[test]
    fn front_matter_is_looked_for_in_markdown() {
        for name in ["a.md", "a.MD", "x/a.b.markdown", ".md"] {
            assert!(is_markdown(name), "{name}");
        }
        for name in ["a.txt", "md", "a.md.txt", "a.md/b", ""] {
            assert!(!is_markdown(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_slug_is_a_legal_name(content in any::<String>()) {
            let slug = slug(&content);
            prop_assert!(!slug.is_empty() && slug.len() <= MOST + ELSE.len() + 1, "{}", slug);
            let path = format!("/memories/{slug}.md");
            let parsed = MemoryPath::parse(&path).unwrap();
            prop_assert_eq!(parsed.to_string(), path);
            prop_assert!(!parsed.is_hidden());
        }

        #[test]
        fn what_is_folded_stays(text in any::<String>()) {
            let once = folded(&text);
            prop_assert_eq!(folded(&once), once);
        }
    }
}
