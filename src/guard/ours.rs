//! The rules of memdir's own: what is a secret in prose, too.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::rule::{Rule, judged, private_key};
use super::value;

/// The name of the rule for payment cards, which is no pattern.
pub(super) const CARD: &str = "card-number";

pub(super) static RULES: [Rule; 6] = [
    private_key("private-key", &["-----begin"]),
    judged(
        "password",
        &[
            "password",
            "passwd",
            "passwort",
            "passphrase",
            "pwd",
            "kennwort",
            "contraseña",
            "mot de passe",
            "senha",
            "wachtwoord",
            "hasło",
            "пароль",
            "密码",
            "パスワード",
        ],
        concat!(
            r"(?:password|passwd|passwort|passphrase|pwd|kennwort|contraseña|mot de passe|senha|wachtwoord|hasło|пароль|密码|パスワード)",
            r"(?:[ _-]?[a-z0-9]{1,12}){0,3}",
            r#"["'\x60*\])]{0,4}[ \t]{0,3}(?::=|=>|==|=|:|：|->|\bis\b|\bist\b|\best\b|\bes\b|は|是)[ \t]{0,3}["'\x60*]{0,4}"#,
            r#"([^\s"'\x60<>]{8,128})"#,
        ),
        2.5,
        is_password,
    ),
    judged(
        "generic-api-key",
        &["access", "api", "auth", "credential", "creds", "key", "secret", "token"],
        concat!(
            r"(?:access|api|auth|credential|creds|key|secret|token)[ \t\w.-]{0,20}",
            r#"[\s'"*\x60]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|\bis\b)[\x60'"\s=*]{0,5}"#,
            r"([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,300}={0,3})(?:[^\w+/=~-]|$)",
        ),
        3.5,
        is_key,
    ),
    judged(
        "password-in-url",
        &[":/"],
        r#":/{1,2}[^\s/:@"'<>]{0,64}:([^\s/@:"'<>]{6,128})@[\w.\[-]"#,
        2.3,
        |_, value| !value.starts_with(b"$") && value::has_letter(value) && !is_plain(value),
    ),
    judged(
        "authorization-header",
        &["authorization"],
        r#"authorization["'\x60]{0,2}[ \t]{0,5}[:=][ \t]{0,5}["'\x60]{0,2}(?:basic|bearer|token)[ \t]{1,5}([\w=~@.+/-]{16,1000})"#,
        3.0,
        |_, value| value::has_digit(value),
    ),
    judged(
        "curl-auth-user",
        &[" -u", "\t-u", "--user"],
        r#"[ \t]?(?:-u|--user)[= \t]{0,5}["']?[^\s"':]{1,64}:([^\s"']{6,128})"#,
        2.3,
        |_, value| !value.starts_with(b"$") && !is_plain(value),
    )
    .on_line_with(b"curl"),
];

/// Words that stand where a password would, and are none.
const PLAIN: &[&str] = &[
    "password", "passwort", "secret", "required", "optional", "string", "null", "none", "hidden", "pass",
    "token",
];

fn is_plain(value: &[u8]) -> bool {
    PLAIN.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// What is said of passwords: how they are stored, and how they must be.
const ABOUT: &[&str] = &[
    "aes",
    "argon",
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

fn is_password(_: &[u8], value: &[u8]) -> bool {
    let end = value.iter().rposition(|byte| !b".,;:)]}".contains(byte)).map_or(0, |last| last + 1);
    let value = &value[..end];
    let lower = value.to_ascii_lowercase();
    let is_sign = |byte: &u8| b"!@#$%^&*+?~".contains(byte);
    let has_sign = value[..value.len().saturating_sub(1)].iter().any(is_sign);
    let is_chance = value::has_digit(value) || has_sign;
    let is_about = ABOUT.iter().any(|word| lower.starts_with(word.as_bytes()))
        || value::contains(&lower, b"char")
        || value::contains(&lower, b"://");
    // A call, an index, a member: the value is somewhere else.
    let is_code = value.contains(&b'(') || value.contains(&b'[') || is_member(value);
    value.len() >= 8 && is_chance && value::has_letter(value) && !is_about && !is_code && !is_dated(value)
}

/// `config.password2`, `args.pw1`: names joined by points.
fn is_member(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'_')
            && part.iter().all(|&byte| value::is_word(byte))
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_name)
}

/// `2024-11-30T10:00`: a moment.
fn is_dated(value: &[u8]) -> bool {
    value.len() >= 10
        && value[..4].iter().all(u8::is_ascii_digit)
        && value[4] == b'-'
        && value[5..7].iter().all(u8::is_ascii_digit)
}

/// Whether a value after a telling word is a key: mixed as no word is, and not called what is no secret.
fn is_key(before: &[u8], value: &[u8]) -> bool {
    if !value::has_digit(value) || !value::has_letter(value) || !value::is_mixed(value) || is_member(value) {
        return false;
    }
    let name = before.to_ascii_lowercase();
    let is_called = |words: &[&str]| words.iter().any(|word| value::contains(&name, word.as_bytes()));
    if value::is_uuid(value) && !is_called(&["secret", "password", "api_key", "apikey", "api-key", "api key"])
    {
        return false;
    }
    let is_telling =
        ["secret", "token", "api", "credential", "creds", "access_key", "access key", "accesskey"];
    if value::is_digest(value) && !is_called(&is_telling) {
        return false;
    }
    !public_name().is_match(before)
}

/// Names of what is no secret, though a word of the rule is in them; from gitleaks' `generic-api-key`.
fn public_name() -> &'static Regex {
    static NAMES: OnceLock<Regex> = OnceLock::new();
    NAMES.get_or_init(|| {
        let names = concat!(
            r"access(?:ibility|or)|access[ _.-]?id|random[_.-]?access|api[ _.-]?(?:id|name|version)|rapid|capital|author|",
            r"X-MS-Exchange-Organization-Auth|Authentication-Results|credentials?[_.-]?id|withCredentials|",
            r"(?:bucket|cache|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence|sort|partition|object|s3)[ _.-]?key|turkey|",
            r"key[ _.-]?(?:alias|board|code|fingerprint|frame|hash|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|",
            r"stone|storetype|word|up|down|left|right)|key[_.-]?vault[_.-]?(?:id|name)|key(?:store|tab)[_.-]?(?:file|path)|",
            r"monkey|keying|secret[_.-]?(?:length|name|size)|csrf[_.-]?token|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|",
            r"public[_.-]?token|(?:key|token)[ _.-]?(?:file|count|id)|tokeniz|digest|checksum|integrity",
        );
        RegexBuilder::new(&format!("(?i)(?:{names})")).unicode(false).build().expect("a test compiles it")
    })
}
