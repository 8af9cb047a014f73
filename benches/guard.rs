//! The write gate on what it meets: `cargo bench --bench guard`.

use divan::Bencher;
use divan::counter::BytesCount;
use memdir::Guard;

fn main() {
    divan::main();
}

/// What a text is, and how it is made.
type Case = (&'static str, fn() -> String);

const CASES: &[Case] = &[
    ("a note of 2 KB", || cut(PROSE, 2 << 10)),
    ("1 MiB of notes", || cut(PROSE, 1 << 20)),
    ("a line of 1 MiB", || cut(&PROSE.replace('\n', " "), 1 << 20)),
    ("1 MiB of one character", || cut("a", 1 << 20)),
    ("1 MiB of one digit", || cut("4", 1 << 20)),
    ("1 MiB of dashes", || cut("-", 1 << 20)),
    ("1 MiB of digits and blanks", || cut("4111 ", 1 << 20)),
    ("1 MiB of numbers as long as a card's", || {
        let numbers: Vec<_> =
            (0..1 << 16).map(|i: u64| format!("{} ", 4_111_111_111_111_111 + 7 * i)).collect();
        cut(&numbers.concat(), 1 << 20)
    }),
    ("1 MiB of base64", || chance(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")),
    ("1 MiB of base32", || chance(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    ("1 MiB of names", || cut("token: x, key=y; password is z. ", 1 << 20)),
    ("1 MiB of passwords", || cut("password=Tr0ub4dor&3\n", 1 << 20)),
    ("1 MiB of cards", || cut("4111 1111 1111 1111\n", 1 << 20)),
    ("1 MiB of keys", || cut(concat!("AKIA", "Z7QXLM4RT2VW5YB3\n"), 1 << 20)),
    ("1 MiB of AKIA", || cut("AKIA", 1 << 20)),
    ("1 MiB of sk-ant-", || cut("sk-ant-", 1 << 20)),
    ("1 MiB of sk-ant-api03-", || cut("sk-ant-api03-", 1 << 20)),
    ("1 MiB of ghp_", || cut("ghp_", 1 << 20)),
    ("1 MiB of password", || cut("password", 1 << 20)),
    ("1 MiB of -----BEGIN", || cut("-----BEGIN", 1 << 20)),
    ("1 MiB of headers of keys", || cut("-----BEGIN PRIVATE KEY-----(", 1 << 20)),
    ("1 MiB of curl", || cut("curl -u x1234567 ", 1 << 20)),
    ("1 MiB of Chinese", || {
        cut("用户喜欢简短的回答，会议不要在十点之前。密码保存在密码管理器里。\n", 1 << 20)
    }),
    ("1 MiB of Vietnamese", || cut("Họp lúc 10 giờ sáng thứ Hai; mật khẩu được lưu ở nơi khác.\n", 1 << 20)),
    ("1 MiB of tables", || cut("| host | password |\n|---|---|\n| nas | in the vault |\n", 1 << 20)),
    ("1 MiB of password is", || cut("the password of it is to be a1b2c3d4 ", 1 << 20)),
    ("1 MiB of -p", || cut("mysql -p aaaaa1 ", 1 << 20)),
    ("1 MiB of LS0t", || cut(concat!("LS0tLS1CRUdJTiBQUklW", "QVRFIEtFWAAAAA"), 1 << 20)),
    ("1 MiB of SSH2", || cut("---- BEGIN SSH2 PRIVATE KEY ----a", 1 << 20)),
    ("1 MiB of kinds", || cut("kind: secret\ndata:\n", 1 << 20)),
];

const PROSE: &str = "# Notes on the project\n\n- The user prefers short answers, and tests before code.\n\
    - Deploys run on Tuesdays at 14:00 from branch `release/2.4`; ask Ann (ann@example.org) first.\n\
    - The API key lives in the vault, never in files. Tokens expire after 3600 seconds.\n\
    - Commit 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39 broke the build; see https://ci.example.org/builds/123456.\n\
    - La réunion est à 9 h 30; das Passwort steht im Tresor.\n\n";

/// 1 MiB of letters by chance.
fn chance(letters: &[u8]) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(letters[(state >> 16) as usize % letters.len()])
    };
    (0..1 << 20).map(|_| letter()).collect()
}

fn cut(text: &str, length: usize) -> String {
    let mut end = length;
    let long = text.repeat(length / text.len() + 1);
    while !long.is_char_boundary(end) {
        end -= 1;
    }
    long[..end].to_owned()
}

#[divan::bench(args = CASES.iter().map(|case| case.0), max_time = 2)]
fn scan(bencher: Bencher, name: &str) {
    let text = CASES.iter().find(|case| case.0 == name).expect("names are taken from the cases").1();
    let guard = Guard::default();
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| guard.scan(divan::black_box(text.as_bytes())).len());
}
