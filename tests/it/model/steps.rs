//! Random calls: mostly sensible, on few paths, so that they meet.

use std::fmt;

// The strategies are boxed: unboxed, they overflow the stack of a test thread in a debug build.
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::answers::{JUNK, REFUSED};
use super::outside::{Outside, outside};

/// A call, or something that happens from outside.
#[derive(Clone)]
pub enum Step {
    Call(Value),
    Outside(Outside),
}

impl fmt::Debug for Step {
    /// A long text is not shown to its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Call(input) => input.to_string(),
            Self::Outside(edit) => format!("{edit:?}"),
        };
        let head: String = text.chars().take(400).collect();
        write!(f, "{head} ({} bytes)", text.len())
    }
}

pub fn steps() -> BoxedStrategy<Vec<Step>> {
    let step = prop_oneof![5 => call().prop_map(Step::Call), 1 => outside().prop_map(Step::Outside)];
    prop::collection::vec(step, 1..40).boxed()
}

fn name() -> BoxedStrategy<String> {
    prop_oneof![
        12 => select(&["a", "b", "d", "c.md"][..]).prop_map(str::to_owned),
        2 => select(&["\u{e9}", "e\u{301}", "日本", "👨\u{200d}👩", "a b", "$(x)", "%41", "~", "-rf"][..]).prop_map(str::to_owned),
        1 => select(&[".h", "node_modules", "..x"][..]).prop_map(str::to_owned),
        1 => select(&[120, 255, 256][..]).prop_map(|n| "n".repeat(n)),
    ]
    .boxed()
}

fn path() -> BoxedStrategy<String> {
    let names = prop_oneof![
        6 => prop::collection::vec(name(), 1..=1),
        5 => prop::collection::vec(name(), 2..=2),
        2 => prop::collection::vec(name(), 3..=4),
    ];
    let plain = names.prop_map(|names| format!("/memories/{}", names.join("/")));
    let deep =
        (17..=21usize, name()).prop_map(|(depth, name)| format!("/memories{}/{name}", "/d".repeat(depth)));
    prop_oneof![
        30 => plain.clone(),
        1 => plain.clone().prop_map(|path| path + "/"),
        1 => plain.clone().prop_map(|path| path.replace("/memories/", "/memories//./x/..//")),
        1 => deep,
        1 => select(&["/memories", "/memories/", "/memories/a/.."][..]).prop_map(str::to_owned),
        1 => select(REFUSED).prop_map(|(path, _)| path.to_owned()),
    ]
    .boxed()
}

/// Text of few words, so that `old_str` is often found, once or more often.
pub fn text() -> BoxedStrategy<String> {
    let word = select(
        &["alpha", "beta", "a", "é", "日本", "\n", "\n", "\n", "\r\n", "\t", " ", "\u{2028}", "\0"][..],
    );
    prop_oneof![
        12 => prop::collection::vec(word, 0..12).prop_map(|words| words.concat()),
        1 => (1990..=2003usize).prop_map(|n| "k".repeat(n)),
        1 => (990..=1001usize).prop_map(|n| "é".repeat(n)),
        1 => (100..200usize).prop_map(|n| "line\n".repeat(n)),
        1 => ((1 << 20) - 2..=(1 << 20) + 2usize).prop_map(|n| "m".repeat(n)),
    ]
    .boxed()
}

fn old_str() -> BoxedStrategy<String> {
    prop_oneof![
        10 => select(&["alpha", "beta", "a", "é", "\n", "a\n", "kkk", "line", "nowhere", ""][..]).prop_map(str::to_owned),
        1 => text(),
    ]
    .boxed()
}

fn range() -> BoxedStrategy<Value> {
    let pair = (-2..6i64, -2..12i64).prop_map(|(start, end)| json!([start, end]));
    prop_oneof![
        6 => pair,
        1 => Just(json!([])),
        1 => Just(Value::Null),
        1 => Just(json!([2.0, -1])),
        1 => Just(json!([1])),
        1 => Just(json!([1, 2, 3, 4, 5, 6])),
        1 => Just(json!([i64::MIN, i64::MAX])),
    ]
    .boxed()
}

fn call() -> BoxedStrategy<Value> {
    let line = prop_oneof![8 => (-1..6i64).prop_map(|n| json!(n)), 1 => Just(json!(2.0)), 1 => Just(json!(i64::MAX))];
    let new = prop_oneof![4 => text().prop_map(Value::from), 1 => Just(Value::Null)];
    prop_oneof![
        2 => path().prop_map(|path| json!({"command": "view", "path": path})),
        2 => (path(), range())
            .prop_map(|(path, range)| json!({"command": "view", "path": path, "view_range": range})),
        6 => (path(), text())
            .prop_map(|(path, text)| json!({"command": "create", "path": path, "file_text": text, "extra": 1})),
        5 => (path(), old_str(), new).prop_map(|(path, old, new)| {
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        }),
        1 => (path(), old_str()).prop_map(|(path, old)| json!({"command": "str_replace", "path": path, "old_str": old})),
        5 => (path(), line, text()).prop_map(|(path, line, text)| {
            json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
        }),
        3 => path().prop_map(|path| json!({"command": "delete", "path": path})),
        5 => (path(), path())
            .prop_map(|(old, new)| json!({"command": "rename", "old_path": old, "new_path": new})),
        1 => select(JUNK).prop_map(|(json, _)| serde_json::from_str(json).unwrap()),
    ]
    .boxed()
}
