//! The stand-in as a whole, in process.

use serde_json::json;

use super::*;

#[test]
fn what_it_thought_comes_back_as_it_was_or_not_at_all() {
    let script = r#"{"reply":{"text":"Green."}}"#;
    let mut api = Double::new(Script::from_lines(script).unwrap());
    let request = json!({"model": "claude-opus-5-5", "max_tokens": 100,
        "messages": [{"role": "user", "content": "Tea?"}]});
    let answer = api.create(&request, &[]).unwrap();
    assert_eq!(answer["stop_reason"], "end_turn");
}
