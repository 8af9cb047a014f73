//! The console blocks of the README do what they say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::shell;

/// What the README calls the command, for somebody who has just cloned it.
const RUN: &str = "cargo run --release -- ";
/// The parts of the repository that its blocks use.
const USED: &[&str] = &["fixtures/quickstart.jsonl", "memories"];

#[test]
fn console_blocks_print_what_they_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for used in USED {
        copy(&root.join(used), &dir.path().join(used));
    }
    let mut checked = 0;
    for Step { line, command, output } in steps(&readme) {
        let command = match command.strip_prefix(RUN) {
            Some(rest) => format!("$MEMDIR {rest}"),
            // Tests do not run the tests, and nothing is installed.
            None if command.starts_with("cargo ") => continue,
            None => command.replace("memdir ", "$MEMDIR "),
        };
        let done = shell(dir.path(), &command);
        let seen = done.out + &done.err;
        if !is_like(&seen, &output) {
            // Shows what differs.
            assert_eq!(seen, output, "README.md:{line}: {command}");
        }
        checked += 1;
    }
    assert!(checked > 0, "the README has no console block");
}

#[test]
fn python_blocks_are_in_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let examples: Vec<_> = ["examples/python_loop.py", "examples/python_sdk.py"]
        .map(|example| fs::read_to_string(root.join(example)).unwrap())
        .into();
    let blocks: Vec<_> = readme
        .split("```python\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("a block that begins also ends").0)
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        assert!(examples.iter().any(|example| example.contains(block)), "in no example:\n{block}");
    }
}

#[test]
fn the_test_with_a_double_is_in_its_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let docs = fs::read_to_string(root.join("src/double.rs")).unwrap();
    let shown = readme.split("```rust\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    let shown = shown.filter(|block| block.contains("memdir::double")).collect::<String>();
    assert!(shown.contains("fn the_answer_is_four"), "{shown}");
    // Those of the docs compile; what makes a test of it cannot be in them.
    for line in shown.lines().filter(|line| !line.is_empty() && *line != "#[test]") {
        assert!(docs.contains(&format!("//! {line}\n")), "{line}");
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let table = readme.split_once("| promise | tests |").expect("the table of promises").1;
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 5, "{rows:?}");
    let mut sources = String::new();
    for top in ["src", "tests"] {
        gather(&root.join(top), &mut sources);
    }
    for row in rows {
        let tests = row.trim_end_matches([' ', '|']).rsplit_once("| ").expect("two columns").1;
        for name in tests.split('`').skip(1).step_by(2) {
            let is_test = sources.contains(name) && !name.contains("::");
            let is_module = root.join("src").join(name.replace("::", "/") + ".rs").is_file();
            assert!(is_test || is_module || root.join(name).is_file(), "`{name}` is no test: {row}");
        }
    }
}

/// The names of all functions below a directory.
fn gather(at: &Path, names: &mut String) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            names.extend(source.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")));
        }
    }
}

#[test]
fn a_step_is_a_command_with_what_it_prints() {
    let text = "```console\n$ a \\\n    b\nout\n\nmore\n$ c\n```\n```sh\n$ d\n```\n";
    let steps: Vec<_> = steps(text).into_iter().map(|step| (step.line, step.command, step.output)).collect();
    assert_eq!(
        steps,
        [(2, "a \\\n    b".to_owned(), "out\n\nmore\n".to_owned()), (7, "c".to_owned(), String::new())]
    );
}

#[test]
fn two_dots_in_brackets_stand_for_the_rest_of_what_differs() {
    for (seen, shown, is_right) in [
        ("a 1 b\n", "a [..] b\n", true),
        ("a  b\n", "a [..] b\n", true),
        ("a 1 b 2 b\n", "a [..] b\n", true),
        ("a 1\n", "a [..]\n", true),
        ("a 1\nb\n", "a [..]\n", false),
        ("a 1\n", "a [..] b\n", false),
        ("ab", "a[..]b[..]b", false),
        ("x a", "a[..]", false),
        ("a\n", "a", false),
    ] {
        assert_eq!(is_like(seen, shown), is_right, "{seen:?} {shown:?}");
    }
}

/// Whether a text is what the README shows, in which `[..]` stands for what differs from run to run within a line.
fn is_like(seen: &str, shown: &str) -> bool {
    let (seen, shown): (Vec<_>, Vec<_>) = (seen.split('\n').collect(), shown.split('\n').collect());
    seen.len() == shown.len() && seen.iter().zip(shown).all(|(seen, shown)| is_like_line(seen, shown))
}

fn is_like_line(seen: &str, shown: &str) -> bool {
    let Some((first, rest)) = shown.split_once("[..]") else { return seen == shown };
    let Some(mut left) = seen.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = rest.split("[..]").collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

struct Step {
    line: usize,
    command: String,
    output: String,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if !is_console {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: at + 1, command: command.to_owned(), output: String::new() });
        } else if let Some(step) = steps.last_mut() {
            if step.command.ends_with('\\') && step.output.is_empty() {
                step.command = format!("{}\n{line}", step.command);
            } else {
                step.output += line;
                step.output += "\n";
            }
        }
    }
    steps
}

fn copy(from: &Path, to: &PathBuf) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}
