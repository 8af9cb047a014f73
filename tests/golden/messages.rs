//! Whole assistant messages, and lines of every kind in one go.

use camino::Utf8Path;
use memdir::{Dispatcher, MessageError, Store};
use serde_json::{Value, json};

fn with_dispatcher(run: impl FnOnce(&Dispatcher)) {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let base = Utf8Path::from_path(dir.path()).expect("a temporary directory has a plain name");
    run(&Dispatcher::new(Store::open(base).expect("an empty directory becomes a store")));
}

fn tool_use(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn message() -> Value {
    let create = json!({"command": "create", "path": "/memories/a.md", "file_text": "one\n"});
    let insert =
        json!({"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "two"});
    json!({"role": "assistant", "content": [
        {"type": "text", "text": "I note that down."},
        tool_use("t1", "memory", &create),
        tool_use("t2", "bash", &json!({"command": "ls"})),
        tool_use("t3", "memory", &json!({"command": "create", "path": "/memories/a.md"})),
        tool_use("t4", "memory", &insert),
        tool_use("t5", "memory", &json!({"command": "view", "path": "/memories/a.md"})),
    ]})
}

fn answer() -> Value {
    let result =
        |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    json!({"role": "user", "content": [
        result("t1", "File created successfully at: /memories/a.md"),
        {"type": "tool_result", "tool_use_id": "t3", "content": "Error: Missing required parameter `file_text` for `create`", "is_error": true},
        result("t4", "The file /memories/a.md has been edited."),
        result("t5", "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\t"),
    ]})
}

#[test]
fn a_message_is_answered_by_one_message() {
    with_dispatcher(|dispatcher| {
        let answered = dispatcher.run_message(&message()).expect("it is an assistant message");
        assert_eq!(json!(answered.message), answer());
        assert_eq!(answered.left_alone, ["t2"]);
        assert_eq!(dispatcher.run_message(&json!([])), Err(MessageError::NotAnObject));
        assert_eq!(dispatcher.run_message(&json!({"role": "user"})), Err(MessageError::NotAssistant));
    });
}

#[test]
fn lines_of_every_kind_have_their_answers_in_order() {
    with_dispatcher(|dispatcher| {
        let message = message().to_string();
        let other = tool_use("t9", "bash", &json!({})).to_string();
        let lines = [message.as_str(), "", "nope", r#"{"command":"delete","path":"/memories/a.md"}"#, &other];
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let answers: Vec<Value> = dispatcher
            .run_lines(&lines)
            .iter()
            .map(|line| serde_json::from_str(line).expect("an answer is JSON"))
            .collect();
        let result = |id: &str, content: &str, is_error: bool| {
            let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            if is_error {
                result["is_error"] = true.into();
            }
            result
        };
        let more = if cfg!(feature = "search") {
            ", memory_store, memory_retrieve, memory_delete, memory_20250818"
        } else {
            ""
        };
        let unknown = format!("Error: Unknown tool `bash`. The tools that are answered here: memory{more}");
        assert_eq!(
            answers,
            [
                answer(),
                result("", "Error: The memory tool's input is not valid JSON", true),
                result("", "Successfully deleted /memories/a.md", false),
                result("t9", &unknown, true),
            ]
        );
    });
}
