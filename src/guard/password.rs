//! Rules for passwords, by the words that announce them in many languages and in the shapes of many formats.
//!
//! A password has no format. Where a name and a sign announce it (`password: x`), a digit or a sign among letters is enough;
//! where prose could stand as well (`the password was changed to x`, a cell of a table), the value must be as mixed as no
//! word is. A passphrase of plain words is out of reach.

use super::chance::{is_password, is_strong};
use super::rule::{Rule, judged};

const ID: &str = "password";

/// What passwords are called. Vietnamese and Spanish are spelled composed, decomposed and without diacritics.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "pwd",
    "kennwort",
    "contraseña",
    "contrasen\u{303}a",
    "contrasena",
    "mot de passe",
    "senha",
    "wachtwoord",
    "hasło",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "mật khẩu",
    "ma\u{323}\u{302}t kha\u{302}\u{309}u",
    "mat khau",
];

/// Those of them behind which no blank need stand.
const UNSPACED: &[&str] = &["密码", "密碼", "口令", "パスワード", "비밀번호"];

/// Names that are other things, too.
const SHORT: &[&str] = &["pass", "pw", "mdp", "clave", "secret"];

/// What keys are called where a key may be one for doors, too.
const KEYS: &[&str] = &["schlüssel", "密钥", "密鑰", "令牌", "khóa", "clé", "ключ", "токен"];

/// A blank, also one that does not break a line.
macro_rules! blank {
    () => {
        r"(?:[ \t]|\xc2\xa0|\xe2\x80\xaf)"
    };
}

/// What stands around names and values: blanks, quotation marks, emphasis, the codes of colours.
macro_rules! around {
    () => {
        r#"(?:["'\x60*\])\\ \t]|\xc2[\xa0\xab]|\xe2\x80[\xaf\x98-\x9e]|\x1b\[[0-9;]{0,8}m){0,8}"#
    };
}

/// The words behind a name: of the server, (production).
macro_rules! words {
    () => {
        r"(?:[ _-]?[a-z0-9\x80-\xff]{1,12}){0,4}(?: ?\([^()\n]{1,24}\))?"
    };
}

/// The sign between name and value.
macro_rules! sign {
    () => {
        r"(?::=|=>|==|=|:|：|->|→|⇒|\b(?:is|ist|lautet|est|es|la|to)\b|là|は|是|为|為)"
    };
}

/// A value; a backslash is a part of it where no quotation mark follows.
macro_rules! password {
    () => {
        r#"((?:[^\x00-\x20"'\x60<>\\\x7f]|\\{1,8}[^\x00-\x20"'\x60<>\\\x7f]){8,128})"#
    };
}

pub(super) use password;

/// A value of ASCII that ends at a bar.
macro_rules! cell {
    () => {
        r#"["'\x60*]{0,3}([!#-&(-;=?-_a-{}~]{8,128})["'\x60*]{0,3}"#
    };
}

/// The end of a table's head, and its line of dashes.
macro_rules! head {
    () => {
        r"[ \t]{0,40}(?:\|[ \t]{0,3})?\r?\n[ \t]{0,8}\|?[ :|-]{3,80}\r?\n[^\n]{0,200}?\|[ \t]{0,40}"
    };
}

/// The end of a table's line.
macro_rules! foot {
    () => {
        r"[ \t]{0,40}(?:\|[ \t]{0,3})?(?:[\r\n]|$)"
    };
}

pub(super) static RULES: [Rule; 15] = [
    // `password: x`
    judged(ID, NAMES, concat!(words!(), around!(), sign!(), around!(), password!()), 2.5, is_password),
    // `Password:` and the value on the next line
    judged(
        ID,
        NAMES,
        concat!(around!(), "[:=]", around!(), r"\r?\n[ \t>*-]{0,8}", around!(), password!()),
        2.5,
        is_strong,
    ),
    // `password x`, `WITH PASSWORD 'x'`
    judged(ID, NAMES, concat!(blank!(), "{1,3}", around!(), password!()), 2.5, is_strong),
    judged(ID, UNSPACED, password!(), 2.5, is_strong),
    // `the root password of the box was changed to x`
    judged(
        ID,
        NAMES,
        concat!(
            r#"(?:[ \t][^\s:=|"'<>\x60]{1,20}){0,6}[ \t](?:is|was|to|ist|lautet|est|es|la|là)"#,
            blank!(),
            "{1,3}",
            around!(),
            password!()
        ),
        2.5,
        is_strong,
    ),
    // `name="password" value="x"`, `("password", "x")`
    judged(
        ID,
        NAMES,
        concat!(r#"\\{0,4}["'](?:[ \t]{1,8}(?:value|content)=|,[ \t]{0,3})\\{0,4}["']"#, password!()),
        2.5,
        is_password,
    ),
    // `<password>x</password>`
    judged(
        ID,
        NAMES,
        concat!(r"(?:[ \t][^<>\n]{0,60})?>\s{0,8}", password!(), r"\s{0,8}</"),
        2.5,
        is_password,
    ),
    // `| password | x |`
    judged(
        ID,
        NAMES,
        concat!(r#"["'\x60*: \t]{0,8}\|[ \t]{0,40}"#, cell!(), r"[ \t]{0,40}(?:\||[\r\n]|$)"),
        2.5,
        is_strong,
    ),
    // A table with a head: the last column, and the one before it.
    judged(ID, NAMES, concat!(head!(), cell!(), foot!()), 2.5, is_strong),
    judged(
        ID,
        NAMES,
        concat!(r"[ \t]{0,40}\|[^|\n]{1,40}", head!(), cell!(), r"[ \t]{0,40}\|[^|\n]{0,80}", foot!()),
        2.5,
        is_strong,
    ),
    // `pw: x`
    judged(ID, SHORT, concat!(around!(), "(?:=|:|：)", around!(), password!()), 2.5, is_strong).plain(),
    // `pw on the build box: x`
    judged(ID, &["pw "], concat!(words!(), around!(), "(?:=|:|：)", around!(), password!()), 2.5, is_strong)
        .plain(),
    // `login: name / x`
    judged(
        ID,
        &["login", "logon", "credentials", "creds", "account"],
        concat!(
            around!(),
            "(?:=|:|：)",
            around!(),
            r"[\w.@+-]{1,64}[ \t]{1,3}/[ \t]{1,3}",
            around!(),
            password!()
        ),
        2.5,
        is_strong,
    ),
    // `-pass x`, of openssl and others
    judged(ID, &["-passin pass:", "-passout pass:"], password!(), 2.5, is_password),
    // `API-Schlüssel: x`
    judged(
        "generic-api-key",
        KEYS,
        concat!(
            around!(),
            "(?: ?api)?",
            around!(),
            r"(?:=|:|：|是|为|為|\blautet\b)",
            around!(),
            password!()
        ),
        3.0,
        is_strong,
    ),
];
