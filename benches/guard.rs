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
    ("1 MiB of digits and blanks", || cut("4111 ", 1 << 20)),
    ("1 MiB of base64", || {
        let mut state = 1_u32;
        (0..1 << 20)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                        [(state >> 26) as usize],
                )
            })
            .collect()
    }),
    ("1 MiB of names", || cut("token: x, key=y; password is z. ", 1 << 20)),
];

const PROSE: &str = "# Notes on the project\n\n- The user prefers short answers, and tests before code.\n\
    - Deploys run on Tuesdays at 14:00 from branch `release/2.4`; ask Ann (ann@example.org) first.\n\
    - The API key lives in the vault, never in files. Tokens expire after 3600 seconds.\n\
    - Commit 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39 broke the build; see https://ci.example.org/builds/123456.\n\
    - La réunion est à 9 h 30; das Passwort steht im Tresor.\n\n";

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
