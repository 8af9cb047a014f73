//! What values look like: how much chance is in them, and what is a placeholder.

use std::sync::LazyLock;

/// Shannon's entropy, in bits per byte: `log2 n - (sum of c * log2 c) / n`, for `n` bytes of which each kind is there `c`
/// times.
#[allow(clippy::cast_precision_loss, reason = "values are short")]
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    /// Of `c * log2 c`, how much more it is for one more, up to the length of most secrets.
    static STEPS: LazyLock<[f64; 128]> = LazyLock::new(|| std::array::from_fn(step));
    fn step(c: usize) -> f64 {
        let weight = |c: usize| if c == 0 { 0.0 } else { c as f64 * (c as f64).log2() };
        weight(c + 1) - weight(c)
    }
    if bytes.is_empty() {
        return 0.0;
    }
    let steps = &*STEPS;
    let mut counts = [0_u32; 256];
    let mut sum = 0.0;
    for &byte in bytes {
        let count = &mut counts[usize::from(byte)];
        sum += steps.get(*count as usize).copied().unwrap_or_else(|| step(*count as usize));
        *count += 1;
    }
    let all = bytes.len() as f64;
    all.log2() - sum / all
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What values are made of: everything but blanks, quotes and brackets.
pub(super) fn is_value(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>')
}

/// A value without the commas and brackets at its end that close a list around it, as in `[pw: x, y]`. A bracket that it
/// opens itself is its own.
pub(super) fn without_closing(bytes: &[u8]) -> &[u8] {
    let is_closing = |last: u8, rest: &[u8]| match last {
        b',' => true,
        b']' => !rest.contains(&b'['),
        b'}' => !rest.contains(&b'{'),
        _ => false,
    };
    let mut bytes = bytes;
    while let Some((_, rest)) = bytes.split_last().filter(|&(&last, rest)| is_closing(last, rest)) {
        bytes = rest;
    }
    bytes
}

pub(super) fn has_digit(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit)
}

pub(super) fn has_letter(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Whether `bytes` hold `part`.
pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

/// What stands in values that people put where a secret belongs.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "placeholder",
    "redacted",
    "your-",
    "your_",
    "yourpass",
    "my-secret",
    "my_secret",
    "dummy",
    "xxxx",
    "****",
    "....",
    "----",
    "____",
    "0000000",
    "insert",
    "replace",
    "abcdefghijklmnopqrstuvwxyz",
];

/// Whether a value stands for one: a variable, a template, a path, an address, a row of the same letter.
pub(super) fn is_placeholder(bytes: &[u8]) -> bool {
    let trimmed: &[u8] = bytes.trim_ascii();
    let lower = trimmed.to_ascii_lowercase();
    let starts = |begin: &str| lower.starts_with(begin.as_bytes());
    lower.iter().all(|byte| *byte == lower[0])
        || PLACEHOLDERS.iter().any(|part| contains(&lower, part.as_bytes()))
        || [
            "${", "$(", "{{", "{%", "%(", "<", "[", "{", "./", "../", "~/", "http:", "https:", "file:",
            "env.",
        ]
        .iter()
        .any(|&begin| starts(begin))
        || is_variable(trimmed)
        || is_path(trimmed)
        || is_address(trimmed)
}

/// `$NAME`, `%NAME%`, `@NAME@`.
fn is_variable(bytes: &[u8]) -> bool {
    let is_name = |bytes: &[u8]| {
        bytes.iter().all(|&byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
            || bytes.iter().all(|&byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    match bytes {
        [b'$', name @ ..] | [b'%', name @ .., b'%'] | [b'@', name @ .., b'@'] => is_name(name),
        _ => false,
    }
}

fn is_path(bytes: &[u8]) -> bool {
    bytes.starts_with(b"/") && bytes[1..].contains(&b'/')
}

/// Whether it is somebody's e-mail address.
fn is_address(bytes: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b'@', bytes) else { return false };
    let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    at > 0 && bytes[at + 1..].iter().all(is_host) && bytes[at + 1..].contains(&b'.')
}

/// Whether it is a UUID.
pub(super) fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether it may be a digest: nothing but hexadecimal digits, of a digest's length.
pub(super) fn is_digest(bytes: &[u8]) -> bool {
    matches!(bytes.len(), 32 | 40 | 56 | 64 | 96 | 128) && bytes.iter().all(u8::is_ascii_hexdigit)
}

/// Whether a part of it is as mixed as words and numbers never are: letters and digits, more than once in turn.
pub(super) fn is_mixed(bytes: &[u8]) -> bool {
    bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| {
        let turns =
            part.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
        part.len() >= 6 && turns >= 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_measured_in_bits() {
        assert!(entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_stands_for_a_secret_is_none() {
        for text in [
            "${DB_PASSWORD}",
            "$TOKEN",
            "%SECRET%",
            "{{ vault.key }}",
            "your-api-key-123",
            "aaaaaaaaaaaa",
            "/run/secrets/db1",
            "ann@example.org",
            "https://x.y/1",
        ] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["$ecret7Pass", "Tr0ub4dor&3", "a8f5f167f44f", "p/4kD9+xQ2"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_closes_a_list_is_no_part_of_a_value() {
        for (text, value) in [
            ("x7Fq2LmP,", "x7Fq2LmP"),
            ("x7Fq2LmP]},", "x7Fq2LmP"),
            ("x7[q2LmP]", "x7[q2LmP]"),
            ("x7,q2LmP", "x7,q2LmP"),
            (",", ""),
        ] {
            assert_eq!(without_closing(text.as_bytes()), value.as_bytes(), "{text}");
        }
    }

    #[test]
    fn words_and_numbers_are_not_mixed() {
        for text in ["user_123456_profile", "release2024", "sha256-digest", "correct-horse-42"] {
            assert!(!is_mixed(text.as_bytes()), "{text}");
        }
        assert!(is_mixed(b"x7Fq2LmPz9"));
    }
}
