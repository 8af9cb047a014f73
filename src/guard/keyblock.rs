//! Rules for private keys: PEM blocks, other tools' blocks, and PEM in another coding.

use std::sync::LazyLock;

use super::rule::{Rule, block, token};
use super::value::entropy;

/// All of one name: to a person each is a private key.
const ID: &str = "private-key";

pub(super) static RULES: [Rule; 9] = [
    block(ID, &["-----begin"], private_key),
    // PuTTY's `.ppk`: the private half is base64 between two names.
    token(
        ID,
        &["private-lines:"],
        r"(?i)private-lines:[ \t]{0,3}\d{1,3}((?:(?:\s|\\[rn])+[a-z0-9+/=]{20,80})+)",
        0,
        3.0,
    ),
    // RFC 4716 with ssh.com's label for private keys: four dashes.
    token(
        ID,
        &["---- begin ssh2 "],
        r"(?i)---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----((?:[^-]|-[^-]){40,})",
        0,
        3.0,
    ),
    // OpenVPN: static keys, tls-auth, tls-crypt.
    token(
        ID,
        &["-----begin openvpn "],
        r"(?i)-----BEGIN OpenVPN [a-z0-9 -]{0,30}key(?: V\d)?-----([^-]{40,})",
        0,
        3.0,
    ),
    // A PEM block in a form or an address, where blanks are `%20` or `+`.
    token(
        ID,
        &["-----begin%20", "-----begin+"],
        r"(?i)-----BEGIN(?:%20|\+)(?:[a-z0-9]{1,10}(?:%20|\+)){0,2}PRIVATE(?:%20|\+)KEY(?:(?:%20|\+)BLOCK)?-----([^-\s]{40,})",
        60,
        3.0,
    ),
    // What it takes is never refused afterwards, so that many headers in one text are no more work than one.
    // Base64 of `-----BEGIN `, the label, and ` KEY`.
    token(
        ID,
        &["ls0tls1crudjti"],
        r"(LS0tLS1CRUdJTiB(?:QUklWQVRFIEtFW|SU0EgUFJJVkFURSBLRV|FQyBQUklWQVRFIEtFW|PUEVOU1NIIFBSSVZBVEUgS0VZ|FTkNSWVBURUQgUFJJVkFURSBLRV|EU0EgUFJJVkFURSBLRV|QR1AgUFJJVkFURSBLRV)(?:[A-Za-z0-9+/_-]|\s{1,12}[A-Za-z0-9+/_-]{4}){40,}={0,2})",
        30,
        0.0,
    ),
    // The body of an OpenSSH key, `openssh-key-v1` in base64, without its header.
    token(
        ID,
        &["b3blbnnzac1rzxktdjea"],
        r"(b3BlbnNzaC1rZXktdjEA(?:[A-Za-z0-9+/]|(?:\s|\\[rn]){1,12}[A-Za-z0-9+/]{4}){40,}={0,2})",
        20,
        0.0,
    ),
    // The private part of a JSON web key, of which the public one is `x` or `n`.
    token("jwk", &["\"d\""], r#""d"\s{0,3}:\s{0,3}"([A-Za-z0-9_-]{43,700})""#, 0, 4.0).unsure(),
    // WireGuard: 32 bytes. Its public keys have names of their own.
    token(
        ID,
        &["privatekey", "presharedkey"],
        r#"(?i)(?:private|preshared)key[ \t]{0,3}[=:][ \t]{0,3}["']?([a-z0-9+/]{43}=)(?:[^a-z0-9+/=]|$)"#,
        0,
        4.0,
    ),
];

/// As much of a file is searched for the end of a private key.
const KEY: usize = 32 << 10;
/// What begins and ends the lines around a key.
const DASHES: &[u8] = b"-----";
/// As many letters of a key follow its header at least.
const BODY: usize = 40;

/// Where the private key ends that begins with `text`, if it is one: at its footer, else where its letters end.
///
/// Nothing is looked at beyond the next row of dashes, so that many headers are no more work than one.
fn private_key(text: &[u8]) -> Option<usize> {
    static FINDER: LazyLock<memchr::memmem::Finder<'_>> =
        LazyLock::new(|| memchr::memmem::Finder::new(DASHES));
    let begin = b"-----BEGIN".len();
    let header = text.get(begin..text.len().min(140))?;
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_');
    let label = &header[..header.iter().position(|byte| !is_label(byte))?];
    let is_private = label.windows(11).any(|part| part.eq_ignore_ascii_case(b"PRIVATE KEY"));
    if !is_private || !header[label.len()..].starts_with(DASHES) {
        return None;
    }
    let body = begin + label.len() + DASHES.len();
    let piece = &text[body..text.len().min(body + KEY)];
    let dashes = FINDER.find(piece);
    let inside = &piece[..dashes.unwrap_or(piece.len())];
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let head = &inside[..inside.len().min(600)];
    if inside.iter().filter(|byte| is_letter(byte)).count() < BODY || entropy(head) < 3.0 {
        return None;
    }
    let Some(end) = dashes.filter(|&end| piece[end..].starts_with(b"-----END")) else {
        let is_key = |byte: &u8| is_letter(byte) || b"\n\r\t\\ :-,>#*|".contains(byte);
        let length = inside.iter().position(|byte| !is_key(byte)).unwrap_or(inside.len());
        return (length >= BODY).then_some(body + length);
    };
    let footer = &piece[end + 8..piece.len().min(end + 140)];
    let close = memchr::memmem::find(footer, DASHES).map_or(0, |close| close + 5);
    Some(body + end + 8 + close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_ends_at_its_footer() {
        let body = "MIIEpAIBAAKCAQEA7Xq9LmPz0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789+/ab";
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----");
        assert_eq!(private_key(format!("{key}\nmore").as_bytes()), Some(key.len()));
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{body}\n");
        assert_eq!(private_key(format!("{cut}(the rest is lost)").as_bytes()), Some(cut.len()));
        for none in [
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----".to_owned(),
            format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"),
            format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----"),
            "-----BEGIN".to_owned(),
        ] {
            assert_eq!(private_key(none.as_bytes()), None, "{none}");
        }
    }
}
