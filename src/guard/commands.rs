//! Rules for secrets in the arguments of commands, and in lines of files whose places tell what they are.

use super::chance::is_password;
use super::password::password;
use super::rule::{Rule, judged};
use super::value;

pub(super) static RULES: [Rule; 11] = [
    argument(&[" -p"], concat!(r#"["']?"#, password!()), b"mysql"),
    argument(&[" -p"], concat!(r#"["']?"#, password!()), b"mariadb"),
    argument(&[" -p"], concat!(r#"[ \t]?["']?"#, password!()), b"sshpass"),
    argument(&[" -p"], concat!(r#"[= \t]["']?"#, password!()), b"login"),
    argument(&[" -a"], concat!(r#"[ \t]["']?"#, password!()), b"redis-cli"),
    argument(&["/user:"], concat!(r#"[^\s"']{1,64}[ \t]["']?"#, password!()), b"net use"),
    // SQL: `IDENTIFIED BY 'x'`, `IDENTIFIED WITH sha256_password BY 'x'`
    judged(ID, &["identified "], concat!(r#"[^'"<>\n]{2,40}["']"#, password!()), 2.5, is_password),
    judged(
        ID,
        &["echo "],
        concat!(r#"["']?[\w.-]{1,32}:"#, password!(), r#"["']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd"#),
        2.5,
        is_password,
    ),
    // `.pgpass`: host, port, database, user, password
    judged(ID, &[":5432:"], concat!(r"[\w*.-]{1,64}:[\w*.-]{1,64}:", password!()), 2.5, is_password),
    judged(
        "password-in-url",
        &["jdbc:oracle:"],
        r#"[a-z0-9]{3,5}:[^\s/@"']{1,64}/([^\s@"']{6,128})@"#,
        2.3,
        is_password,
    ),
    judged(
        "session-cookie",
        &["cookie:"],
        r"[ \t]*(?:[^\n;]{0,200};[ \t]{0,3}){0,4}?[\w.-]{0,20}(?:sess|sid|auth|token|jwt)[\w.-]{0,20}=([\w%.~-]{16,500})",
        3.5,
        |_, value| value::is_mixed(value),
    ),
];

const ID: &str = "password-in-command";

/// The value behind an argument, on a line with a command's name.
const fn argument(keywords: &'static [&'static str], after: &'static str, command: &'static [u8]) -> Rule {
    judged(ID, keywords, after, 2.5, is_password).on_line_with(command)
}
