//! The address of a memory: `memory:///memories/notes/tea.md`.

use std::fmt::Write as _;

use crate::path::{MemoryPath, PathError};

/// How addresses are made, as RFC 6570 has it.
pub(super) const TEMPLATE: &str = "memory:///memories/{+path}";

/// What of ASCII stands for itself in a path (RFC 3986: `pchar`), beside letters and digits.
const PLAIN: &[u8] = b"/-._~!$&'()*+,;=:@";

/// Why a text is no address of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadUri {
    #[error("it must begin with memory:///memories")]
    Scheme,
    #[error("it must name no host: it begins with memory:///memories")]
    Host,
    #[error("`?` and `#` in a name must be percent-encoded, as %3F and %23")]
    Query,
    #[error("`%` must begin an encoded byte: as part of a name it is %25")]
    Escape,
    #[error("what is percent-encoded must be UTF-8")]
    NotText,
    #[error("it must not have `.` or `..` as a segment, nor an encoded slash or NUL")]
    Segment,
    #[error("{0}")]
    Path(#[from] PathError),
}

/// The address of a path.
pub(super) fn of(path: &MemoryPath) -> String {
    let mut uri = "memory://".to_owned();
    for byte in path.to_string().bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}"); // writing to a String cannot fail
        }
    }
    uri
}

/// The path that an address names, of a file or a directory.
pub(super) fn parse(uri: &str) -> Result<MemoryPath, BadUri> {
    let path = uri.strip_prefix("memory:").and_then(|rest| rest.strip_prefix("//")).ok_or(BadUri::Scheme)?;
    if !path.starts_with('/') {
        return Err(BadUri::Host);
    }
    if path.contains(['?', '#']) {
        return Err(BadUri::Query);
    }
    let segments: Vec<String> = path.split('/').map(segment).collect::<Result<_, _>>()?;
    Ok(MemoryPath::parse(&segments.join("/"))?)
}

fn segment(encoded: &str) -> Result<String, BadUri> {
    let bytes = decode(encoded.as_bytes()).ok_or(BadUri::Escape)?;
    let segment = String::from_utf8(bytes).map_err(|_| BadUri::NotText)?;
    // A path would resolve the first two: an address that has them was made by somebody who did not.
    if matches!(&*segment, "." | "..") || segment.contains(['/', '\0']) {
        return Err(BadUri::Segment);
    }
    Ok(segment)
}

fn decode(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        bytes.push(u8::try_from(digit(0)? << 4 | digit(1)?).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_path() {
        for (path, uri) in [
            ("", "memory:///memories"),
            ("a.md", "memory:///memories/a.md"),
            ("notes/a (1), b&c=d.md", "memory:///memories/notes/a%20(1),%20b&c=d.md"),
            ("tä/日本.md", "memory:///memories/t%C3%A4/%E6%97%A5%E6%9C%AC.md"),
            ("a#b?c%d.md", "memory:///memories/a%23b%3Fc%25d.md"),
            ("100%", "memory:///memories/100%25"),
            ("[x]\"<>^`{|}", "memory:///memories/%5Bx%5D%22%3C%3E%5E%60%7B%7C%7D"),
        ] {
            let path = MemoryPath::from_normal(path);
            assert_eq!(of(&path), uri);
            assert_eq!(parse(uri), Ok(path), "{uri}");
        }
    }

    #[test]
    fn other_spellings_name_the_same() {
        for (uri, path) in [
            ("memory:///memories/", ""),
            ("memory:///memories/notes/", "notes"),
            ("memory:///memories//a.md", "a.md"),
            ("memory:///memories/%61.md", "a.md"),
            ("memory:///memories/t\u{e4}.md", "tä.md"),
            ("memory:///memories/t%61%CC%88.md", "tä.md"),
            ("memory:///memories/a b.md", "a b.md"),
            ("memory:///memories/%c3%a4", "ä"),
        ] {
            assert_eq!(parse(uri), Ok(MemoryPath::from_normal(path)), "{uri}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_why() {
        for (uri, why) in [
            ("", BadUri::Scheme),
            ("file:///memories/a.md", BadUri::Scheme),
            ("/memories/a.md", BadUri::Scheme),
            ("memory:/memories/a.md", BadUri::Scheme),
            ("memory://host/memories/a.md", BadUri::Host),
            ("memory://memories/a.md", BadUri::Host),
            ("memory:///memories/a.md?x", BadUri::Query),
            ("memory:///memories/a#b.md", BadUri::Query),
            ("memory:///memories/100%", BadUri::Escape),
            ("memory:///memories/%4", BadUri::Escape),
            ("memory:///memories/%zz", BadUri::Escape),
            ("memory:///memories/%+1", BadUri::Escape),
            ("memory:///memories/%ff", BadUri::NotText),
            ("memory:///memories/../secret", BadUri::Segment),
            ("memory:///memories/a/../b", BadUri::Segment),
            ("memory:///memories/./b", BadUri::Segment),
            ("memory:///memories/%2e%2e/secret", BadUri::Segment),
            ("memory:///memories/.%2E/secret", BadUri::Segment),
            ("memory:///memories/..%2fsecret", BadUri::Segment),
            ("memory:///memories/a%00b", BadUri::Segment),
            ("memory:///etc/passwd", PathError::NotUnderRoot.into()),
            ("memory:///memoriesx", PathError::NotUnderRoot.into()),
            ("memory:///", PathError::NotUnderRoot.into()),
            ("memory:///memories/%252e%252e/x", PathError::Escapes.into()),
            ("memory:///memories/a%5Cb", PathError::Backslash.into()),
            ("memory:///memories/a%0Ab", PathError::Invisible.into()),
        ] {
            assert_eq!(parse(uri), Err(why), "{uri}");
        }
    }
}
