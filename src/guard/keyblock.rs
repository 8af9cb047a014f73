//! Rules for private keys that are no PEM block of their own: other tools' blocks, and PEM in another coding.

use super::rule::{Rule, token};

/// All of one name: to a person each is a private key.
const ID: &str = "private-key";

pub(super) static RULES: [Rule; 7] = [
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
];
