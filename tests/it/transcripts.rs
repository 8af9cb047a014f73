//! What the commands say, as data: `tests/transcripts`. `TRYCMD=overwrite cargo test transcripts` writes what they say now.

use std::env;
use std::path::Path;

#[test]
fn commands_say_what_the_transcripts_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let memdir = Path::new(env!("CARGO_BIN_EXE_memdir"));
    let beside = memdir.parent().expect("a file has a directory");
    let path = format!("{}:{}", beside.display(), env::var("PATH").unwrap_or_default());
    let fixtures = root.join("fixtures/people");
    trycmd::TestCases::new()
        .register_bin("memdir", memdir)
        .register_bin("sh", Path::new("/bin/sh"))
        .env("PATH", path)
        .env("FIXTURES", fixtures.display().to_string())
        .env("TZ", "UTC")
        .env("USER", "mara")
        // Empty ones count as missing.
        .env("MEMDIR_DIR", "")
        .env("MEMDIR_ACTOR", "")
        .env("VISUAL", "")
        .env("EDITOR", "")
        .case("tests/transcripts/*.trycmd")
        .run();
}
