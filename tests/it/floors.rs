//! The floors of the house: who may import whom, and which foreign crate lives where.
//!
//! The two tables are the architecture. Changing them is a decision, not a fix for a failing test.

use std::fs;
use std::path::Path;

/// Module, its floor, and the floors that it may import from.
const FLOORS: &[(&str, u8, &[u8])] = &[
    ("error", 0, &[0]),
    ("fail", 0, &[0]),
    ("path", 0, &[0]),
    ("text", 0, &[0]),
    ("entry", 0, &[0]),
    ("guard", 0, &[0]),
    ("hash", 0, &[0]),
    ("id", 0, &[0]),
    ("version", 0, &[0]),
    ("context", 0, &[0]),
    ("disk", 1, &[0]),
    ("journal", 1, &[0]),
    ("index", 1, &[0]),
    ("store", 2, &[0, 1]),
    ("home", 2, &[0, 1]),
    ("recall", 3, &[0, 1, 2]),
    ("tool", 4, &[0, 2, 3]),
    ("double", 4, &[0]),
    ("cli", 5, &[0, 2, 3, 4]),
    ("mcp", 5, &[0, 2, 3, 4]),
    ("http", 5, &[0, 2, 3, 4]),
    ("agent", 5, &[0, 2, 3, 4]),
];

/// What the table does not allow and is right all the same: the command starts the other doors, and what stands beside
/// a store's memories (archives, copies for an editor, other stores) works on stores.
const ALSO: &[(&str, &str)] = &[("cli", "mcp"), ("cli", "http"), ("cli", "agent"), ("home", "store")];

/// Foreign crates that must not spread, and the modules that they live in.
const FOREIGN: &[(&str, &[&str])] = &[
    ("rusqlite", &["journal"]),
    // `cli`: to wait for input.
    ("rustix", &["disk", "cli"]),
    ("getrandom", &["id"]),
    ("hmac", &["hash"]),
    ("sha2", &["hash"]),
    ("fs2", &["disk"]),
    ("notify", &["disk"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("indicatif", &["cli"]),
    ("signal_hook", &["cli"]),
    ("toml", &["store"]),
    ("serde_norway", &["entry"]),
    ("tar", &["home"]),
    ("regex", &["guard", "text"]),
    ("imara_diff", &["text"]),
    ("tantivy", &["index"]),
    ("frostem", &["index"]),
    ("tokenizers", &["index"]),
    ("crc32fast", &["index"]),
    ("pulp", &["index"]),
    ("schemars", &["tool"]),
    ("rmcp", &["mcp"]),
    ("axum", &["http"]),
    ("futures_core", &["http"]),
    ("reqwest", &["agent"]),
    ("tokio", &["mcp", "http", "agent"]),
    ("tracing", &["cli", "mcp"]),
    ("tracing_subscriber", &["cli"]),
];

/// The one thing that a module may take from a crate that does not live in it.
const PIECES: &[(&str, &str)] = &[("error", "rustix::io::Errno")];

#[test]
fn imports_lead_downward() {
    let mut faults = Vec::new();
    let mut files = 0;
    each_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "src", &mut |name, source| {
        files += 1;
        faults.extend(check(name, source));
    });
    assert!(files > 5, "the sources were not found");
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_checker_sees_what_is_wrong() {
    let cases = [
        ("src/disk.rs", "use crate::error::Error;\n", ""),
        (
            "src/disk.rs",
            "\nuse crate::store::Store;",
            "src/disk.rs:2: `disk` (floor 1) may not import `store` (floor 2)",
        ),
        (
            "src/disk/open.rs",
            "crate::journal::f();",
            "src/disk/open.rs:1: `disk` (floor 1) may not import `journal` (floor 1)",
        ),
        (
            "src/store.rs",
            "use crate::{disk, tool::Dialect};",
            "src/store.rs:1: `store` (floor 2) may not import `tool` (floor 4)",
        ),
        (
            "src/store.rs",
            "use crate::{\n    path,\n    cli,\n};",
            "src/store.rs:3: `store` (floor 2) may not import `cli` (floor 5)",
        ),
        (
            "src/store.rs",
            "pub use super::tool;",
            "src/store.rs:1: `store` (floor 2) may not import `tool` (floor 4)",
        ),
        ("src/store/queue.rs", "use super::verdict::judge;", ""),
        (
            "src/store/queue.rs",
            "use super::super::tool;",
            "src/store/queue.rs:1: `store` (floor 2) may not import `tool` (floor 4)",
        ),
        ("src/store/queue/tests.rs", "use super::super::tool;", ""),
        (
            "src/tool.rs",
            "fn f(s: &crate::disk::Look) {}",
            "src/tool.rs:1: `tool` (floor 4) may not import `disk` (floor 1)",
        ),
        (
            "src/tool.rs",
            "use crate::Store;",
            "src/tool.rs:1: `Store` is not a module with a floor: import from the module that owns it",
        ),
        ("src/cli.rs", "use crate::http;", ""),
        ("src/http.rs", "use crate::cli;", "src/http.rs:1: `http` (floor 5) may not import `cli` (floor 5)"),
        ("src/path.rs", "//! See [`crate::store`].\n/// `rusqlite::Error`\nfn f() {} // crate::store", ""),
        (
            "src/store.rs",
            "use rusqlite::Connection;",
            "src/store.rs:1: `rusqlite` lives in `journal`, not in `store`",
        ),
        (
            "src/store.rs",
            "use {serde, rustix as r};",
            "src/store.rs:1: `rustix` lives in `disk` or `cli`, not in `store`",
        ),
        ("src/journal/rows.rs", "use rusqlite::{Row, params};", ""),
        ("src/error.rs", "use rustix::io::Errno;", ""),
        (
            "src/error.rs",
            "use rustix::fs::open;",
            "src/error.rs:1: `rustix` lives in `disk` or `cli`, not in `error`",
        ),
        ("src/lib.rs", "use clap::Parser;", "src/lib.rs:1: `clap` lives in `cli`, not in `lib`"),
        ("src/lib.rs", "pub use crate::store::Store;", ""),
        ("src/cellar.rs", "", "src/cellar.rs:1: `cellar` has no floor: give it one in the table"),
    ];
    for (name, source, fault) in cases {
        assert_eq!(check(name, source).join("\n"), fault, "{name}: {source}");
    }
}

/// What is wrong in one source file, `name` being its path from the root of the package.
fn check(name: &str, source: &str) -> Vec<String> {
    let below = name.strip_prefix("src/").unwrap_or(name).trim_end_matches(".rs");
    let module = below.split('/').next().unwrap_or(below);
    let is_root = matches!(module, "lib" | "main");
    let floor = FLOORS.iter().find(|(known, ..)| *known == module);
    if floor.is_none() && !is_root {
        return vec![format!("{name}:1: `{module}` has no floor: give it one in the table")];
    }

    let words = words(source);
    let mut faults = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut fault = |line: usize, what: String| faults.push(format!("{name}:{line}: {what}"));
        let leads_on = words.get(at + 1).is_some_and(|next| next.text == "::");
        let begins = at == 0 || words[at - 1].text != "::";
        if let Some(&(_, from, may)) = floor.filter(|_| leads_on && begins) {
            let steps = words[at..].chunks(2).take_while(|pair| pair[0].text == "super").count();
            // An inline module is one more step away from the root, but has no name of the table.
            let from_root = word.text == "crate" || steps > 0 && steps >= below.split('/').count();
            for target in if from_root { targets(&words[at + 2 * steps.max(1)..]) } else { Vec::new() } {
                let to = FLOORS.iter().find(|(known, ..)| *known == target.text);
                match to {
                    None if word.text == "super" => {}
                    None => fault(
                        target.line,
                        format!(
                            "`{}` is not a module with a floor: import from the module that owns it",
                            target.text
                        ),
                    ),
                    Some(&(to, ..)) if to == module || ALSO.contains(&(module, to)) => {}
                    Some((_, to, _)) if may.contains(to) => {}
                    Some((to, above, _)) => fault(
                        target.line,
                        format!("`{module}` (floor {from}) may not import `{to}` (floor {above})"),
                    ),
                }
            }
        }
        let foreign = FOREIGN.iter().find(|(foreign, _)| *foreign == word.text);
        if let Some((foreign, homes)) = foreign.filter(|_| begins && (leads_on || is_imported(&words[..at])))
        {
            let path: String = words[at..].iter().take(5).map(|word| word.text).collect();
            if !homes.contains(&module) && !PIECES.contains(&(module, path.as_str())) {
                let homes = homes.join("` or `");
                fault(word.line, format!("`{foreign}` lives in `{homes}`, not in `{module}`"));
            }
        }
    }
    faults
}

#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    line: usize,
}

/// Names, `::`, and single other characters, comments left out.
fn words(source: &str) -> Vec<Word<'_>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            let (text, left) = rest.split_at(end);
            words.push(Word { text, line: at + 1 });
            rest = left.trim_start();
        }
    }
    words
}

/// What `crate::` leads to, `after` being what follows it: one name, or the first name of each branch of a group.
fn targets<'a>(after: &[Word<'a>]) -> Vec<Word<'a>> {
    if after.first().is_none_or(|word| word.text != "{") {
        return after.first().copied().into_iter().collect();
    }
    let mut depth = 0;
    let mut found = Vec::new();
    for (at, word) in after.iter().enumerate() {
        match word.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && matches!(after[at - 1].text, "{" | ",") => found.push(*word),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Whether the name that comes next is brought in by a `use` that has not ended.
fn is_imported(before: &[Word<'_>]) -> bool {
    let last = |text| before.iter().rposition(|word| word.text == text);
    last("use").is_some_and(|begin| last(";").is_none_or(|end| end < begin))
        && before.last().is_some_and(|word| matches!(word.text, "use" | "{" | ","))
}

fn each_source(dir: &Path, name: &str, visit: &mut impl FnMut(&str, &str)) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{name}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            each_source(&path, &name, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&name, &fs::read_to_string(&path).unwrap());
        }
    }
}
