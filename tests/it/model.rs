//! Random calls, and random edits from outside, against a model of the files written from the specification.
//!
//! `PROPTEST_CASES=2000 cargo test --release --test it model::` runs more of them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use camino::Utf8Path;
use memdir::{Content, Dispatcher, Settings, Store, ToolResult, ToolUse};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::Value;

pub mod answers;
pub mod files;
mod outside;
mod steps;

use answers::{Limits, Said};
use files::{Files, Thing};
use steps::{Step, steps};

/// Cases without `PROPTEST_CASES`: a few seconds in a debug build.
const CASES: u32 = 24;

/// How calls reach the store.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// One by one.
    Single,
    /// Those that come together in one batch.
    Batch,
    /// As JSON lines, those that come together at once.
    Lines,
    /// As an assistant message.
    Message,
}

/// How a store is opened and asked.
#[derive(Debug, Clone, Copy)]
struct Setup {
    way: Way,
    walks: bool,
    limits: Limits,
}

impl Setup {
    fn open(self, base: &Utf8Path) -> Store {
        let mut settings = Settings::default();
        (settings.file_limit, settings.view_limit) = (self.limits.file, self.limits.view);
        let builder = Store::builder(base).settings(settings);
        let builder = if self.walks { builder.walk() } else { builder };
        builder.open().unwrap()
    }
}

const USUAL: Limits = Limits { file: 1 << 20, view: 16_000 };
const SMALL: Limits = Limits { file: 2000, view: 900 };
const SETUPS: [Setup; 6] = [
    Setup { way: Way::Single, walks: false, limits: USUAL },
    Setup { way: Way::Single, walks: true, limits: SMALL },
    Setup { way: Way::Batch, walks: false, limits: SMALL },
    Setup { way: Way::Batch, walks: true, limits: USUAL },
    Setup { way: Way::Lines, walks: false, limits: SMALL },
    Setup { way: Way::Message, walks: true, limits: SMALL },
];

proptest! {
    #![proptest_config(Config {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES),
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn every_answer_and_every_file_is_as_the_model_says(steps in steps()) {
        for setup in SETUPS {
            play(setup, &steps)?;
        }
    }
}

/// Plays the steps on a new store, and on the model beside it.
fn play(setup: Setup, steps: &[Step]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(dir.path()).unwrap();
    let root = dir.path().join("memories");
    let mut files = Files::default();
    let dispatcher = Dispatcher::new(setup.open(base));
    for group in steps.chunk_by(|a, b| matches!((a, b), (Step::Call(_), Step::Call(_)))) {
        if let [Step::Outside(edit)] = group {
            edit.make(&root, dir.path(), &mut files);
            continue;
        }
        let inputs: Vec<&Value> = group
            .iter()
            .filter_map(|step| match step {
                Step::Call(input) => Some(input),
                Step::Outside(_) => None,
            })
            .collect();
        let right: Vec<Said> =
            inputs.iter().map(|input| answers::answer(&mut files, input, setup.limits)).collect();
        let said = ask(&dispatcher, setup.way, &inputs);
        for ((input, right), said) in inputs.iter().zip(&right).zip(&said) {
            prop_assert_eq!(said, right, "{:?}: {}", setup, input);
        }
        prop_assert_eq!(said.len(), right.len());
        prop_assert_eq!(&look(&root), &files, "{:?} after {:?}", setup, group);
    }
    drop(dispatcher);
    prop_assert_eq!(staging(dir.path()), Vec::<String>::new());
    // What has neither `memories` nor `.memdir` is no store: opening it makes one.
    files.root |= !dir.path().join(".memdir").exists();
    let dispatcher = Dispatcher::new(setup.open(base));
    for path in files.directories().chain(files.regular_files()) {
        let input = serde_json::json!({"command": "view", "path": path});
        let right = answers::answer(&mut files.clone(), &input, setup.limits);
        prop_assert_eq!(
            &ask(&dispatcher, Way::Single, &[&input])[0],
            &right,
            "{:?}: opened again: {}",
            setup,
            input
        );
    }
    drop(dispatcher);
    prop_assert_eq!(&look(&root), &files, "{:?}: opened again", setup);
    prop_assert_eq!(staging(dir.path()), Vec::<String>::new());
    Ok(())
}

fn ask(dispatcher: &Dispatcher, way: Way, inputs: &[&Value]) -> Vec<Said> {
    let call = |input: &&Value| ToolUse {
        id: "toolu_1".to_owned(),
        name: "memory".to_owned(),
        input: (*input).clone(),
    };
    match way {
        Way::Single => inputs.iter().map(|input| said(dispatcher.run(&call(input)))).collect(),
        Way::Batch => {
            let calls: Vec<_> = inputs.iter().map(call).collect();
            dispatcher.run_all(&calls).into_iter().map(said).collect()
        }
        Way::Lines => {
            let lines: Vec<_> = inputs.iter().map(ToString::to_string).collect();
            let lines: Vec<_> = lines.iter().map(String::as_bytes).collect();
            let results = dispatcher.run_lines(&lines);
            results.iter().map(|line| said(serde_json::from_str(line).unwrap())).collect()
        }
        Way::Message => {
            let calls: Vec<_> = inputs.iter().map(call).collect();
            let message = serde_json::json!({"role": "assistant", "content": calls});
            let answered = dispatcher.run_message(&message).unwrap();
            answered.message.content.into_iter().map(said).collect()
        }
    }
}

fn said(result: ToolResult) -> Said {
    match (result.content, result.is_error) {
        (Content::Text(text), false) => Ok(text),
        (Content::Text(text), true) => Err(text),
        (Content::Blocks(blocks), _) => panic!("no image was asked for: {blocks:?}"),
    }
}

/// The names of what is left in `staging/`.
pub fn staging(base: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(base.join(".memdir/staging")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// What is on disk.
pub fn look(root: &Path) -> Files {
    let mut files =
        Files { root: root.symlink_metadata().is_ok(), things: std::collections::BTreeMap::new() };
    if files.root {
        look_below(root, &mut Vec::new(), &mut files);
    }
    files
}

fn look_below(dir: &Path, at: &mut files::Key, files: &mut Files) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        at.push(path.file_name().unwrap().as_bytes().to_vec());
        let metadata = path.symlink_metadata().unwrap();
        let (kind, mode) = (metadata.file_type(), metadata.permissions().mode() & 0o7777);
        let thing = if kind.is_dir() {
            look_below(&path, at, files);
            Thing::Directory { mode }
        } else if kind.is_file() {
            Thing::File { bytes: fs::read(&path).unwrap(), mode }
        } else if kind.is_symlink() {
            Thing::Link
        } else {
            assert!(kind.is_fifo());
            Thing::Fifo
        };
        files.things.insert(at.clone(), thing);
        at.pop();
    }
}
