//! The rules of memdir's own: what is a secret in prose, too.

use super::chance::{is_key, is_password_in_url, is_plain};
use super::rule::{Rule, judged};
use super::value;

/// The name of the rule for payment cards, which is no pattern.
pub(super) const CARD: &str = "card-number";

pub(super) static RULES: [Rule; 5] = [
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
    // Django's: signs of any kind, in quotation marks.
    judged(
        "generic-api-key",
        &["secret_key"],
        r#"["']?[ \t]{0,3}[=:][ \t]{0,3}["']([^\s"'\x60]{30,100})["']"#,
        4.0,
        |_, value| value::has_digit(value) && value::has_letter(value),
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
