//! Judgements on values that no format describes: whether they are as mixed as secrets are.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::rule::regex;
use super::value;

/// What is said of passwords: how they are stored, and how they must be.
const ABOUT: &[&str] = &[
    "aes",
    "argon",
    "arn:",
    "base64",
    "bcrypt",
    "hmac",
    "ldap",
    "md5",
    "ntlm",
    "oauth",
    "pbkdf",
    "rsa",
    "scrypt",
    "sha1",
    "sha2",
    "sha3",
    "sha5",
    "sha-",
    "sso",
    "totp",
    "utf",
    "2fa",
    "mfa",
    "saml",
    "keepass",
    "1password",
    "lastpass",
];

/// Whether a value behind the name of a password, and a sign, is one: a digit or a sign among letters.
pub(super) fn is_password(before: &[u8], value: &[u8]) -> bool {
    let value = trimmed(value);
    let is_chance = value::has_digit(value) || has_sign(value);
    is_chance && is_possible(value) && !OTHER.is_match(before)
}

/// Whether a value is as mixed as no word, no number and no name is.
pub(super) fn is_strong(before: &[u8], value: &[u8]) -> bool {
    let value = trimmed(value);
    let has = |is: fn(&u8) -> bool| usize::from(value.iter().any(is));
    let has_sign = has_sign(value);
    let classes = has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit);
    let is_mixed =
        has_sign && classes >= 2 || classes == 3 && value::is_mixed(value) && !value.contains(&b'/');
    is_mixed && is_possible(value) && !is_named(value) && !OTHER.is_match(before)
}

/// A value without what ends a sentence.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !b".,;:)]}".contains(byte)).map_or(0, |last| last + 1);
    &value[..end]
}

/// Whether a sign stands in a value that words seldom hold, before its end.
fn has_sign(value: &[u8]) -> bool {
    value[..value.len().saturating_sub(1)].iter().any(|byte| b"!@#$%^&*+?~".contains(byte))
}

fn is_possible(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_about = ABOUT.iter().any(|word| lower.starts_with(word.as_bytes()))
        || value::contains(&lower, b"char")
        || value::contains(&lower, b"://")
        || value::contains(&lower, b"&#");
    // A call, an index, a member, a constant: the value is somewhere else.
    let is_code = value.contains(&b'(') || value.contains(&b'[') || is_member(value) || is_constant(value);
    value.len() >= 8 && value::has_letter(value) && !is_about && !is_code && !is_dated(value)
}

/// `config.password2`, `args.pw1`: names joined by points.
pub(super) fn is_member(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'_')
            && part.iter().all(|&byte| value::is_word(byte))
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name)
}

/// `DOT11_WPS_PASSWORD_ID`, `WIN32_ERROR`: capitals in several parts.
fn is_constant(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    value.contains(&b'_') && value.iter().all(is_part)
}

/// `2024-11-30T10:00`: a moment.
fn is_dated(value: &[u8]) -> bool {
    value.len() >= 10
        && value[..4].iter().all(u8::is_ascii_digit)
        && value[4] == b'-'
        && value[5..7].iter().all(u8::is_ascii_digit)
}

/// Whether it may be a name in a program, `X509RequestInheritOptions`, `win32api.RegOpenKeyEx`, `DOT11_CIPHER_ALGORITHM`:
/// words that can be spoken, and few numbers.
pub(super) fn is_named(value: &[u8]) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^_?(?:[A-Z]|[a-z][0-9]{2,5})?(?:[A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,}|[A-Z]?[0-9]{1,5}|[._:-]){2,}$",
        )
    });
    let numbers = value.split(|byte| !byte.is_ascii_digit()).filter(|part| !part.is_empty()).count();
    let is_spoken = |word: &[u8]| word.len() < 5 || word.iter().any(|byte| b"aeiouyAEIOUY".contains(byte));
    numbers <= 2 && WORDS.is_match(value) && value.split(|byte| !byte.is_ascii_alphabetic()).all(is_spoken)
}

/// Names of what is about a password and is none, as they end before the value: `password_policy: `.
static OTHER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:algorithm|encoder|expir[a-z]{1,7}|field|file|hint|length|manager|path|pattern|polic(?:y|ies)|regex|requirements?|",
        r"rotation|rules?|strength|timeout|ttl|type|ur[il])",
        r#"["'\x60*\])\\\s:=>-]{0,8}$"#
    ))
});

/// Words that stand where a password would, and are none.
const PLAIN: &[&str] = &[
    "password", "passwort", "secret", "required", "optional", "string", "null", "none", "hidden", "pass",
    "token",
];

pub(super) fn is_plain(value: &[u8]) -> bool {
    PLAIN.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether what stands between `user:` and `@` is a password, and not the user's name again.
pub(super) fn is_password_in_url(before: &[u8], value: &[u8]) -> bool {
    let user = before.strip_suffix(b":").and_then(|before| before.rsplit(|byte| *byte == b'/').next());
    let is_named = user.is_some_and(|user| user.eq_ignore_ascii_case(value));
    !value.starts_with(b"$")
        && value::has_letter(value)
        && !is_plain(value)
        && !is_named
        && unescaped_length(value) >= SHORTEST
}

/// Bytes of a password at least.
const SHORTEST: usize = 6;

/// How many bytes a text of an address stands for: `%2F` is one.
fn unescaped_length(text: &[u8]) -> usize {
    let is_escape =
        |part: &&[u8]| part[0] == b'%' && part[1].is_ascii_hexdigit() && part[2].is_ascii_hexdigit();
    text.len() - 2 * text.windows(3).filter(is_escape).count()
}

/// Whether a value after a telling word is a key: mixed as no word is, and not called what is no secret.
pub(super) fn is_key(before: &[u8], value: &[u8]) -> bool {
    let is_chance = value::has_digit(value) && value::has_letter(value) && value::is_mixed(value);
    if !is_chance || is_member(value) || is_named(value) {
        return false;
    }
    let name = before.to_ascii_lowercase();
    let is_called = |words: &[&str]| words.iter().any(|word| value::contains(&name, word.as_bytes()));
    // A UUID is a name of something, but where a variable says otherwise: `RAILWAY_TOKEN=`.
    let sign = before.iter().rposition(|byte| !b"=\"' ".contains(byte)).map_or(0, |last| last + 1);
    let is_variable = before[..sign].ends_with(b"_TOKEN") && before[sign..].contains(&b'=');
    if value::is_uuid(value)
        && !is_variable
        && !is_called(&["secret", "password", "api_key", "apikey", "api-key", "api key"])
    {
        return false;
    }
    let is_telling =
        ["secret", "token", "api", "credential", "creds", "access_key", "access key", "accesskey"];
    if value::is_digest(value) && !is_called(&is_telling) {
        return false;
    }
    !PUBLIC.is_match(before)
}

/// Names of what is no secret, though a word of the rule is in them; from gitleaks' `generic-api-key`.
static PUBLIC: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        "(?i)(?:",
        r"access(?:ibility|or)|access[ _.-]?id|random[_.-]?access|api[ _.-]?(?:id|name|version)|rapid|capital|author|",
        r"X-MS-Exchange-Organization-Auth|Authentication-Results|credentials?[_.-]?id|withCredentials|",
        r"(?:bucket|cache|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence|sort|partition|object|s3)[ _.-]?key|turkey|",
        r"key[ _.-]?(?:alias|board|code|fingerprint|frame|hash|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|",
        r"stone|storetype|word|up|down|left|right)|key[_.-]?vault[_.-]?(?:id|name)|key(?:store|tab)[_.-]?(?:file|path)|",
        r"monkey|keying|secret[_.-]?(?:length|name|size)|csrf[_.-]?token|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|",
        r"public[_.-]?token|did:key|(?:key|token)[ _.-]?(?:file|count|id)|tokeniz|digest|checksum|integrity",
        ")",
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_programs_are_told_from_chance() {
        for name in [
            "X509RequestInheritOptions",
            "win32api.RegOpenKeyEx",
            "DOT11_CIPHER_ALGORITHM",
            "X25519PublicKey",
            "AES256KeyWrapProvider",
            "x25519.X25519PrivateKey",
            "_X25519PublicKey",
            "ec.SECP256R1",
            "minimum_length_12_with_symbols",
        ] {
            assert!(is_named(name.as_bytes()), "{name}");
        }
        for chance in [
            "wJalrXUtnFEMIK7MDENGbPxRfiCY",
            "DXOmR5Ty0UhVBJCKTmPy2veaEwU3PUiObFHQcn25",
            "sU-F07THka",
            "a8f5f167f44f4964e6c998dee827110c",
            "U8R0uBzA_5tM8y",
        ] {
            assert!(!is_named(chance.as_bytes()), "{chance}");
        }
    }

    #[test]
    fn a_password_needs_less_where_it_is_announced() {
        for (value, is_one, is_mixed) in [
            ("Tr0ub4dor&3", true, true),
            ("K-g7yZWwRBTiqU", true, true),
            ("sU-F07THka", true, true),
            ("Tiger4301!", true, false),
            ("PostgreSQL14", true, false),
            ("AUTH-4417", true, false),
            ("case-sensitive", false, false),
            ("arn:aws:secretsmanager:eu-west-1", false, false),
            ("2026-11-30T10:00", false, false),
            ("config.password2", false, false),
            ("getSecret(db1)", false, false),
            ("DOT11_WPS_PASSWORD_ID", false, false),
            ("WIN32_ERROR", false, false),
            ("&#x3C;string", false, false),
            ("short7!", false, false),
        ] {
            assert_eq!(is_password(b": ", value.as_bytes()), is_one, "{value}");
            assert_eq!(is_strong(b": ", value.as_bytes()), is_mixed, "{value}");
        }
        assert!(!is_password(b"password_policy: ", b"length12withsigns"));
        assert!(!is_strong(b"password hint = \"", b"Tr0ub4dor&3"));
    }
}
