//! What the benches share: a case is one thing done by memdir and by bare system calls, on files of the same kind.

#![allow(dead_code, reason = "no bench uses all of it")]
#![allow(clippy::disallowed_methods, reason = "benches lay out directories, and are told where")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memdir::{Content, Dispatcher, Store, ToolUse};
use serde_json::{Value, json};
use tempfile::TempDir;

pub mod change;
pub mod recipe;
pub mod view;

/// One thing to be measured.
pub struct Case {
    pub name: &'static str,
    /// Changes, or views, that one run makes.
    pub per_run: usize,
    pub set_up: fn(&Ground) -> Pair,
}

/// Finds a case by its name, which is how divan hands it on.
pub fn case(cases: &'static [Case], name: &str) -> &'static Case {
    cases.iter().find(|case| case.name == name).expect("names are taken from the cases")
}

/// Lets divan time one side of a case.
pub fn measure(bencher: divan::Bencher, case: &Case, side: impl Fn(Pair) -> Side) {
    let ground = Ground::new();
    let Side { mut prepare, run } = side((case.set_up)(&ground));
    let mut made = 0;
    bencher
        .counter(divan::counter::ItemsCount::new(case.per_run))
        .with_inputs(|| {
            prepare(made);
            made += 1;
            made - 1
        })
        .bench_local_values(run);
}

/// Two ways to do the same.
pub struct Pair {
    pub memdir: Side,
    pub bare: Side,
}

/// One way to do a thing again and again; both parts are told how often it was done before.
pub struct Side {
    /// Makes ready what `run` needs; not measured.
    pub prepare: Box<dyn FnMut(usize)>,
    pub run: Box<dyn FnMut(usize)>,
}

impl Side {
    pub fn new(run: impl FnMut(usize) + 'static) -> Self {
        Self { prepare: Box::new(|_| ()), run: Box::new(run) }
    }

    pub fn prepared(self, prepare: impl FnMut(usize) + 'static) -> Self {
        Self { prepare: Box::new(prepare), ..self }
    }
}

/// A directory on a real disk, with a memory and, beside it, a directory for the bare way; removed in the end.
pub struct Ground {
    dir: TempDir,
    pub memory: Dispatcher,
}

impl Ground {
    pub fn new() -> Self {
        let place =
            std::env::var_os("MEMDIR_BENCH_DIR").map_or(env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let dir = tempfile::Builder::new().prefix("bench-").tempdir_in(place).expect("a directory");
        std::fs::create_dir(dir.path().join("bare")).expect("a directory");
        let base = dir.path().join("store");
        let memory = Dispatcher::new(Store::open(base.to_str().expect("UTF-8")).expect("a store"));
        Self { dir, memory }
    }

    pub fn base(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// A file, or the whole, of the memory as the disk has it.
    pub fn stored(&self, name: &str) -> PathBuf {
        self.base().join("memories").join(name)
    }

    /// A file of the directory that memdir knows nothing of.
    pub fn bare(&self, name: &str) -> PathBuf {
        self.dir.path().join("bare").join(name)
    }

    /// Makes a file on both sides.
    pub fn file(&self, name: &str, text: &str) {
        run(&self.memory, &create(name, text));
        std::fs::write(self.bare(name), text).expect("a file");
    }
}

/// Makes small files without memdir, as an editor would.
pub fn fill(dir: &Path, count: usize) {
    for n in 0..count {
        std::fs::write(dir.join(format!("note-{n:06}.md")), "likes tea\n").expect("a file");
    }
}

/// Lines of 64 bytes, all different, `bytes` in all.
pub fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    for n in 0..bytes.div_ceil(64) {
        let _ = writeln!(text, "- {n:07}: prefers short answers, in British English, with reas");
    }
    text.truncate(bytes);
    text
}

pub fn call(input: Value) -> ToolUse {
    ToolUse { id: "toolu_01".to_owned(), name: "memory".to_owned(), input }
}

pub fn create(name: &str, text: &str) -> ToolUse {
    call(json!({"command": "create", "path": format!("/memories/{name}"), "file_text": text}))
}

/// Makes a call, which must succeed.
pub fn run(memory: &Dispatcher, call: &ToolUse) -> String {
    let result = memory.run(call);
    let Content::Text(text) = result.content else { panic!("an image") };
    assert!(!result.is_error, "{text}");
    text
}
