//! The index over a generated corpus: how long it takes to build, what it weighs, how fast it answers.
//!
//! `cargo bench --bench index -- [--rows N] [--queries N]`; it is made in `MEMDIR_BENCH_DIR`, else in the target directory.
//! Sentences have 5 to 40 words of a generated language. Building and asking are processes of their own, so that each has its own peak of memory.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench is a program of its own")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

#[allow(dead_code, unused_imports, reason = "a part of the library that is not public, without its tests")]
#[path = "../src"]
mod library {
    pub(crate) mod index;
}
#[path = "common/corpus.rs"]
mod corpus;

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use corpus::{CATEGORIES, Language, Random};
use library::index::{Doc, Facts, Filter, Index, Model, Query, Tail, Written};

/// As `retrieve` asks.
const CANDIDATES: usize = 100;
const NOW: i64 = 1_790_000_000;
const YEAR: i64 = 365 * 86_400;

fn main() {
    let options = Options::read();
    if options.build {
        return build(&options);
    }
    if let Some(dir) = &options.export {
        return export(&options, dir);
    }
    let _ = fs::remove_dir_all(&options.dir);
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--build", "--rows", &options.rows.to_string()])
        .env("MEMDIR_BENCH_DIR", options.dir.parent().unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    ask(&options);
    fs::remove_dir_all(&options.dir).unwrap();
}

struct Options {
    rows: usize,
    queries: usize,
    build: bool,
    /// Where everything is written for `compare.py`.
    export: Option<PathBuf>,
    dir: PathBuf,
}

impl Options {
    fn read() -> Self {
        let target = || PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let dir = std::env::var_os("MEMDIR_BENCH_DIR").map_or_else(target, PathBuf::from).join("index-bench");
        let mut options = Self { rows: 100_000, queries: 1_000, build: false, export: None, dir };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if argument == "--export" {
                options.export = Some(arguments.next().expect("a directory").into());
                continue;
            }
            let mut number = || arguments.next().and_then(|number| number.parse().ok()).expect("a number");
            match argument.as_str() {
                "--rows" => options.rows = number(),
                "--queries" => options.queries = number(),
                "--build" => options.build = true,
                // What cargo passes to every bench.
                "--bench" => {}
                other => panic!("unknown argument: {other}"),
            }
        }
        options
    }
}

fn doc(language: &Language, memory: usize) -> Doc {
    let mut random = Random(memory as u64 * 7919);
    let facts = Facts {
        is_entry: true,
        category: Some(CATEGORIES[random.below(6)].to_owned()),
        importance: 1 + random.below(5) as u8,
        tags: if random.below(3) == 0 { vec![format!("tag{}", random.below(50))] } else { Vec::new() },
        fold: random.next(),
        updated: NOW - (random.fraction() * 2.0 * YEAR as f64) as i64,
        expires: (random.below(20) == 0).then_some(NOW + (random.fraction() - 0.2) as i64 * YEAR),
        ..Facts::default()
    };
    Doc { memory: memory as i64, facts, passages: vec![language.sentence(&mut random)] }
}

fn build(options: &Options) {
    let language = Language::read();
    let model = Arc::new(Model::builtin().unwrap());
    let mut index = Index::open(&options.dir, model).unwrap();
    let begin = Instant::now();
    let mut docs = (0..options.rows).map(|memory| doc(&language, memory));
    assert_eq!(index.update(0, options.rows as i64, &mut docs).unwrap(), Written::Done);
    let took = begin.elapsed();
    println!("| build | {:.1} s |", took.as_secs_f64());
    println!("| peak of memory while building | {} MB |", memory("VmHWM"));

    let mut times = Vec::new();
    for step in 1..=30 {
        let mut docs = (0..4).map(|memory| doc(&language, memory * 1000 + step));
        let begin = Instant::now();
        let base = index.mark();
        assert_eq!(index.update(base, (options.rows + step) as i64, &mut docs).unwrap(), Written::Done);
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    println!("| update of 4 memories, p50, max | {} |", milliseconds(&[times[15], times[29]]));
}

fn ask(options: &Options) {
    let language = Language::read();
    let begin = Instant::now();
    let model = Arc::new(Model::builtin().unwrap());
    println!("| load the model | {:.1} ms |", begin.elapsed().as_secs_f64() * 1e3);
    let begin = Instant::now();
    let index = Index::open(&options.dir, Arc::clone(&model)).unwrap();
    println!("| open | {:.1} ms |", begin.elapsed().as_secs_f64() * 1e3);
    assert!(index.mark() > 0);
    for (name, bytes) in sizes(&options.dir) {
        println!("| {name} | {:.1} MB |", bytes as f64 / 1e6);
    }
    let any = Filter { now: NOW, ..Filter::default() };
    let filters = [
        ("no filter", Filter::default()),
        ("living", any.clone()),
        ("one category", Filter { categories: vec![CATEGORIES[2].to_owned()], ..any.clone() }),
        (
            "importance >= 4, a category",
            Filter { categories: vec![CATEGORIES[2].to_owned()], min_importance: 4, ..any.clone() },
        ),
        ("a tag", Filter { tags: vec!["tag7".to_owned()], ..any.clone() }),
        ("the last week", Filter { since: Some(NOW - 7 * 86_400), ..any.clone() }),
    ];
    println!("| {} queries of 3 to 10 words | p50 | p99 | max |", options.queries);
    for (kind, lexical, semantic) in [("words", true, false), ("meaning", false, true), ("both", true, true)]
    {
        for (name, filter) in &filters {
            let mut random = Random(42);
            let mut times = Vec::new();
            let tail = Tail::default();
            let mut found = 0;
            for round in 0..options.queries + 20 {
                let doc = doc(&language, random.below(options.rows));
                let text = Language::question(&doc.passages[0], &mut random);
                let query =
                    Query { text: &text, filter, candidates: CANDIDATES, words: 64, lexical, semantic };
                let begin = Instant::now();
                found += index.search(&tail, &query).unwrap().hits.len();
                if round >= 20 {
                    times.push(begin.elapsed());
                }
            }
            times.sort_unstable();
            let [p50, p99] = [50, 99].map(|percent| times[times.len() * percent / 100]);
            let figures = milliseconds(&[p50, p99, times[times.len() - 1]]);
            println!("| {kind}, {name} ({} hits) | {figures} |", found / (options.queries + 20));
        }
    }
    println!("| resident, peak | {} MB, {} MB |", memory("VmRSS"), memory("VmHWM"));
    println!("| resident without mapped files | {} MB |", memory("RssAnon"));
}

/// Writes texts, questions, their vectors (f32, little-endian), and what memdir makes of them: times and best rows.
fn export(options: &Options, dir: &Path) {
    let language = Language::read();
    let model = Arc::new(Model::builtin().unwrap());
    let mut index = Index::open(&dir.join("index"), Arc::clone(&model)).unwrap();
    let text = |memory: usize| doc(&language, memory).passages.remove(0);
    let mut random = Random(42);
    let questions: Vec<_> = (0..options.queries)
        .map(|_| Language::question(&text(random.below(options.rows)), &mut random))
        .collect();
    let texts: Vec<_> = (0..options.rows).map(text).collect();
    for (name, texts) in [("texts", &texts), ("questions", &questions)] {
        fs::write(dir.join(name), texts.join("\n")).unwrap();
        let mut file = BufWriter::new(fs::File::create(dir.join(format!("{name}.f32"))).unwrap());
        for text in texts {
            for number in model.embed(text) {
                file.write_all(&number.to_le_bytes()).unwrap();
            }
        }
        file.flush().unwrap();
    }

    let begin = Instant::now();
    let mut docs = (0..options.rows).map(|memory| doc(&language, memory));
    assert_eq!(index.update(0, options.rows as i64, &mut docs).unwrap(), Written::Done);
    let took = begin.elapsed().as_secs_f64();
    let bytes: u64 =
        sizes(&dir.join("index")).iter().filter(|(name, _)| name == "on disk, all").map(|(_, b)| b).sum();
    let mut kinds = serde_json::Map::new();
    for (kind, lexical, semantic) in [("words", true, false), ("meaning", false, true), ("both", true, true)]
    {
        let (mut times, mut found) = (Vec::new(), Vec::new());
        for text in questions.iter().take(20).chain(&questions) {
            let filter = &Filter::default();
            let query = Query { text, filter, candidates: CANDIDATES, words: 64, lexical, semantic };
            let begin = Instant::now();
            let mut hits = index.search(&Tail::default(), &query).unwrap().hits;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            hits.sort_by(|a, b| (b.lexical + b.semantic).total_cmp(&(a.lexical + a.semantic)));
            found.push(hits.iter().take(10).map(|hit| hit.memory).collect::<Vec<_>>());
        }
        let found = found.split_off(20);
        kinds.insert(kind.to_owned(), serde_json::json!({"milliseconds": times[20..], "found": found}));
    }
    let told =
        serde_json::json!({"build": took, "bytes": bytes, "dimensions": model.dimensions(), "kinds": kinds});
    fs::write(dir.join("memdir.json"), told.to_string()).unwrap();
}

fn milliseconds(times: &[std::time::Duration]) -> String {
    times.iter().map(|time| format!("{:.2} ms", time.as_secs_f64() * 1e3)).collect::<Vec<_>>().join(" | ")
}

fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1000
}

fn sizes(dir: &Path) -> Vec<(String, u64)> {
    let mut sizes = std::collections::BTreeMap::new();
    for entry in
        walkdir::WalkDir::new(dir).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file())
    {
        let name = entry.file_name().to_str().unwrap();
        let is_text = entry.path().parent().unwrap().ends_with("tantivy");
        let kind = if is_text { name.rsplit('.').next().unwrap() } else { name };
        *sizes.entry(if is_text { format!("tantivy: {kind}") } else { kind.to_owned() }).or_insert(0) +=
            entry.metadata().unwrap().len();
    }
    let whole = sizes.values().sum();
    sizes
        .into_iter()
        .filter(|(_, bytes)| *bytes > 100_000)
        .chain([("on disk, all".to_owned(), whole)])
        .collect()
}
