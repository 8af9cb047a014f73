//! An agent loop with a memory, and a script in the place of the model: `cargo run --example agent_loop`.
#![allow(clippy::disallowed_macros, reason = "an example shows what it does")]

use memdir::{Dispatcher, Store};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let base = dir.path().to_str().ok_or("the temporary directory has no UTF-8 name")?;
    let memory = Dispatcher::new(Store::open(base)?);

    let mut messages = vec![json!({"role": "user", "content": "Remember that I drink green tea."})];
    loop {
        let reply = model(&messages);
        println!("{reply}");
        messages.push(reply.clone());
        if reply["stop_reason"] != "tool_use" {
            return Ok(());
        }
        let answered = memory.run_message(&reply)?;
        // `answered.left_alone` names the calls of other tools: their results would be added here.
        let results = serde_json::to_value(answered.message)?;
        println!("{results}");
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
