//! Texts as YAML: as they are where every reader takes them for themselves, else in double quotes.

use std::fmt::Write as _;

use super::yaml::is_allowed;

/// What readers of YAML 1.1 or 1.2 take for something other than a text.
///
/// Source: YAML 1.1, `null`, `bool`; YAML 1.2, core schema.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Writes a text so that it reads as itself, within a list in brackets too.
pub(super) fn push(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        push_quoted(out, text);
    }
}

/// Whether a text needs no quotes: it begins like a word, ends like one, and holds nothing that has a meaning in YAML.
fn is_plain(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | ' ' | ':');
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '+'))
        && text.chars().all(is_inner)
        && !text.contains(": ")
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        && !is_number_like(text)
}

/// Numbers in every base and form, `1:30`, dates and times.
fn is_number_like(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_hexdigit() || b"xXoObB+-.:_tTzZ ".contains(&b);
    text.as_bytes()[0].is_ascii_digit() && text.bytes().all(is_part)
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            _ if !is_literal(c) && u32::from(c) <= 0xFF => write!(out, "\\x{:02X}", u32::from(c)),
            _ if !is_literal(c) => write!(out, "\\u{:04X}", u32::from(c)),
            _ => write!(out, "{c}"),
        };
    }
    out.push('"');
}

/// Whether a character may stand in quotes; what ends a line there, or marks an order of bytes, may not.
fn is_literal(c: char) -> bool {
    is_allowed(c) && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = String::new();
        push(&mut out, text);
        out
    }

    #[test]
    fn quotes_stand_where_they_are_needed() {
        for plain in [
            "editor",
            "editor.theme",
            "dark mode",
            "mem_01JDZ",
            "a/b",
            "C++",
            "v1.0",
            "2nd",
            "naïve",
            "記憶",
            "x:y",
            "_x",
            "nullable",
            "don",
            "İ",
        ] {
            assert_eq!(written(plain), plain);
        }
        for (text, quoted) in [
            ("", r#""""#),
            (" a", r#"" a""#),
            ("a ", r#""a ""#),
            ("a, b", r#""a, b""#),
            ("#x", r##""#x""##),
            ("a: b", r#""a: b""#),
            ("a:", r#""a:""#),
            ("Yes", r#""Yes""#),
            ("null", r#""null""#),
            ("~", r#""~""#),
            ("1.0", r#""1.0""#),
            ("0x1F", r#""0x1F""#),
            ("1:30", r#""1:30""#),
            ("2026-11-30", r#""2026-11-30""#),
            ("2026-11-30T09:12:44Z", r#""2026-11-30T09:12:44Z""#),
            (".inf", r#"".inf""#),
            ("-", r#""-""#),
            ("---", r#""---""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("a\nb\r\tc", r#""a\nb\r\tc""#),
            ("\0\u{7F}\u{85}", r#""\x00\x7F\x85""#),
            ("\u{2028}\u{FEFF}\u{FFFE}", r#""\u2028\uFEFF\uFFFE""#),
            ("it's", r#""it's""#),
        ] {
            assert_eq!(written(text), quoted);
        }
    }

    proptest! {
        #[test]
        fn every_text_reads_as_itself(text in any::<String>()) {
            let written = written(&text);
            prop_assert!(!written.contains('\n'));
            let list: Vec<serde_norway::Value> = serde_norway::from_str(&format!("[{written}, x]")).unwrap();
            prop_assert_eq!(list[0].as_str(), Some(text.as_str()));
            let map: serde_norway::Value = serde_norway::from_str(&format!("k: {written} # c\n")).unwrap();
            prop_assert_eq!(map["k"].as_str(), Some(text.as_str()));
        }
    }
}
