//! What a model is told when its edit makes a plain note of an entry.

use memdir::{Content, Dispatcher, Settings, Store, ToolUse};
use serde_json::{Value, json};

const ENTRY: &str = "---\nid: mem_1\nkey: a\n---\nTea.\n";

fn answers(settings: &str, calls: &[Value]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::builder(dir.path()).settings(Settings::parse(settings).unwrap()).open().unwrap();
    let call =
        |input: &Value| ToolUse { id: "toolu_1".to_owned(), name: "memory".to_owned(), input: input.clone() };
    let calls: Vec<_> = calls.iter().map(call).collect();
    let text = |result: memdir::ToolResult| match result.content {
        Content::Text(text) if !result.is_error => text,
        other => panic!("{other:?}"),
    };
    Dispatcher::new(store).run_all(&calls).into_iter().map(text).collect()
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
}

fn insert(path: &str, after: usize, text: &str) -> Value {
    json!({"command": "insert", "path": path, "insert_line": after, "insert_text": text})
}

#[test]
fn an_edit_that_breaks_front_matter_says_so_in_its_last_line() {
    let path = "/memories/a.md";
    let warning = |line: usize, why: &str| {
        format!(
            "Warning: the front matter of {path} no longer parses (line {line}: {why}); it is a plain note now"
        )
    };
    for (edit, line, why) in [
        (replace(path, "key: a", "key: a: b"), 3, "mapping values are not allowed in this context"),
        (replace(path, "a\n---\n", "a\n"), 1, "there is no closing line `---`"),
        (insert(path, 1, "key: b\n"), 4, "`key` is there twice"),
    ] {
        let said = answers("", &[create(path, ENTRY), edit.clone()]).pop().unwrap();
        assert_eq!(said.lines().last(), Some(warning(line, why).as_str()), "{edit}: {said}");
        assert_eq!(said.matches("Warning").count(), 1, "{said}");
    }
    let overwrites = [create(path, ENTRY), create(path, "---\n- a\n---\n")];
    let said = answers("create = \"overwrite\"\n", &overwrites).pop().unwrap();
    assert!(said.ends_with(&warning(2, "it is not a mapping of names to values")), "{said}");
}

#[test]
fn it_comes_after_what_looks_like_a_secret() {
    let path = "/memories/a.md";
    let secret = "password = \"kT7mQ2vX9pL4wZ8s\"";
    let said = answers("", &[create(path, ENTRY), replace(path, "id: mem_1", secret)]).pop().unwrap();
    let warnings: Vec<_> = said.lines().filter(|line| line.starts_with("Warning: ")).collect();
    assert_eq!(warnings.len(), 2, "{said}");
    assert!(
        warnings[1].starts_with("Warning: the front matter of /memories/a.md no longer parses"),
        "{said}"
    );
    assert!(said.ends_with(warnings[1]), "{said}");
}

#[test]
fn nothing_is_said_where_no_entry_was_broken() {
    let path = "/memories/a.md";
    let broken = "---\nkey: [a\n---\nTea.\n";
    for calls in [
        vec![create(path, broken), replace(path, "Tea", "Coffee")],
        vec![create(path, ENTRY), replace(path, "key: a", "key: b"), replace(path, "Tea", "a: b: c")],
        vec![create(path, ENTRY), replace(path, "---\nid: mem_1\nkey: a\n---\n", "")],
        vec![create("/memories/a.txt", ENTRY), replace("/memories/a.txt", "key: a", "key: [a")],
        vec![create(path, "Tea.\n"), insert(path, 0, "---\nkey: [a\n---\n")],
    ] {
        for said in answers("", &calls) {
            assert!(!said.contains("Warning"), "{said}");
        }
    }
}
