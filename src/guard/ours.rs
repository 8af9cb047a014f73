//! The rules of memdir's own: what is a secret in prose, too.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::chance::{is_member, is_named};
use super::rule::{Rule, judged, private_key};
use super::value;

/// The name of the rule for payment cards, which is no pattern.
pub(super) const CARD: &str = "card-number";

pub(super) static RULES: [Rule; 5] = [
    private_key("private-key", &["-----begin"]),
    judged(
        "generic-api-key",
        &["access", "api", "auth", "credential", "creds", "key", "secret", "token"],
        concat!(
            r"[ \t\w.-]{0,20}",
            r#"[\s'"*\x60]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|\bis\b)[\x60'"\s=*]{0,5}"#,
            r"([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,300}={0,3})(?:[^\w+/=~-]|$)",
        ),
        3.5,
        is_key,
    ),
    judged(
        "password-in-url",
        &[":/"],
        r#"/?[^\s/:@"'<>]{0,64}:([^\s/@:"'<>]{6,128})@[\w.\[-]"#,
        2.3,
        is_password_in_url,
    ),
    judged(
        "authorization-header",
        &["authorization"],
        r#"["'\x60]{0,2}[ \t]{0,5}[:=][ \t]{0,5}["'\x60]{0,2}(?:basic|bearer|token)[ \t]{1,5}([\w=~@.+/-]{16,1000})"#,
        3.0,
        |_, value| value::has_digit(value),
    ),
    judged(
        "curl-auth-user",
        &[" -u", "\t-u", "--user"],
        r#"[= \t]{0,5}["']?[^\s"':]{1,64}:([^\s"']{6,128})"#,
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

/// Whether what stands between `user:` and `@` is a password, and not the user's name again.
fn is_password_in_url(before: &[u8], value: &[u8]) -> bool {
    let user = before.strip_suffix(b":").and_then(|before| before.rsplit(|byte| *byte == b'/').next());
    let is_named = user.is_some_and(|user| user.eq_ignore_ascii_case(value));
    !value.starts_with(b"$") && value::has_letter(value) && !is_plain(value) && !is_named
}

/// Whether a value after a telling word is a key: mixed as no word is, and not called what is no secret.
fn is_key(before: &[u8], value: &[u8]) -> bool {
    let is_chance = value::has_digit(value) && value::has_letter(value) && value::is_mixed(value);
    if !is_chance || is_member(value) || is_named(value) {
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
            r"public[_.-]?token|did:key|(?:key|token)[ _.-]?(?:file|count|id)|tokeniz|digest|checksum|integrity",
        );
        RegexBuilder::new(&format!("(?i)(?:{names})")).unicode(false).build().expect("a test compiles it")
    })
}
