//! An agent loop with a memory, and a script in the place of the model: `cargo run --example agent_loop`.
#![allow(clippy::disallowed_macros, reason = "an example shows what it does")]

use memdir::{Dispatcher, Store};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let memory = Dispatcher::new(Store::open(dir.path())?);

    let mut messages = vec![json!({"role": "user", "content": "Remember that I drink green tea."})];
    loop {
        let reply = model(&messages);
        println!("{reply}");
        messages.push(json!({"role": "assistant", "content": reply["content"]}));
        if reply["stop_reason"] != "tool_use" {
            return Ok(());
        }
        let answered = memory.run_message(&reply)?;
        let mut results = serde_json::to_value(answered.message)?;
        println!("{results}");
        // The results of other tools' calls belong into the same message; without any result there is nothing to send.
        let others = answered
            .left_alone
            .iter()
            .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "…"}));
        results["content"].as_array_mut().expect("a message has content").extend(others);
        messages.push(results);
    }
}

/// What a model would answer: it looks, takes a note, and says so.
fn model(messages: &[Value]) -> Value {
    let call =
        |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "memory", "input": input});
    let (stop_reason, block) = match messages.len() {
        1 => ("tool_use", call("toolu_1", json!({"command": "view", "path": "/memories"}))),
        3 => {
            let note =
                json!({"command": "create", "path": "/memories/tea.md", "file_text": "Drinks green tea.\n"});
            ("tool_use", call("toolu_2", note))
        }
        _ => ("end_turn", json!({"type": "text", "text": "I have noted it."})),
    };
    json!({"role": "assistant", "stop_reason": stop_reason, "content": [block]})
}
