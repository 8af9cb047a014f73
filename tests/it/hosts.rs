//! The configurations of `examples/hosts` start what they say, and the README shows them.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::process::{Done, feed};

/// The files of servers, and the key under which they list them.
const SERVERS: &[(&str, &str)] = &[
    ("claude-code.mcp.json", "mcpServers"),
    ("claude_desktop_config.json", "mcpServers"),
    ("cursor.mcp.json", "mcpServers"),
    ("vscode.mcp.json", "servers"),
    ("codex.config.toml", "mcp_servers"),
];
const SETTINGS: &str = "claude-code.settings.json";

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hosts").join(name)).unwrap()
}

fn parsed(name: &str) -> Value {
    let text = example(name);
    match kind(name) {
        "toml" => toml::from_str(&text).unwrap(),
        _ => serde_json::from_str(&text).unwrap(),
    }
}

fn kind(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// A command that finds `memdir` as a host would, with a home directory of its own.
fn hosted(program: &str, home: &Path) -> Command {
    let beside = Path::new(env!("CARGO_BIN_EXE_memdir")).parent().unwrap();
    let path = format!("{}:{}", beside.display(), env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.env("PATH", path).env("HOME", home).current_dir("/");
    for name in ["XDG_DATA_HOME", "MEMDIR_DIR", "MEMDIR_ACTOR"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn every_configuration_starts_a_server_that_answers() {
    for (name, key) in SERVERS {
        let home = tempfile::tempdir().unwrap();
        let servers = &parsed(name)[key];
        assert_eq!(servers.as_object().unwrap().len(), 1, "{name}");
        let server = &servers["memdir"];
        let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let mut command = hosted(server["command"].as_str().unwrap(), home.path());
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut ask = |id: u32, method: &str, params: Value| {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            writeln!(stdin, "{request}").unwrap();
            let answer: Value = serde_json::from_str(&lines.next().expect("an answer").unwrap()).unwrap();
            assert_eq!(answer["id"], id, "{name}: {answer}");
            if method == "initialize" {
                writeln!(stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
            }
            answer
        };
        let client = json!({"name": "test", "version": "1"});
        let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = ask(1, "initialize", begin);
        assert_eq!(answer["result"]["serverInfo"]["name"], "memdir", "{name}: {answer}");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("data"), "{name}: {answer}");
        let answer = ask(2, "tools/list", json!({}));
        assert!(answer["result"]["tools"].to_string().contains(r#""name":"memory""#), "{name}: {answer}");
        let answer = ask(3, "prompts/list", json!({}));
        assert_eq!(answer["result"]["prompts"].as_array().unwrap().len(), 3, "{name}: {answer}");
        let answer =
            ask(4, "prompts/get", json!({"name": "memory_bootstrap", "arguments": {"budget": "500"}}));
        assert_eq!(answer["result"]["messages"][0]["role"], "user", "{name}: {answer}");
        let answer = ask(5, "prompts/get", json!({"name": "memory_bootstrap", "arguments": {"budget": "0"}}));
        assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
        drop(stdin);
        assert!(child.wait().unwrap().success(), "{name}");
        assert!(home.path().join(".local/share/memdir").is_dir(), "{name}");
    }
}

#[test]
fn the_hooks_of_the_settings_run() {
    let home = tempfile::tempdir().unwrap();
    let said =
        json!({"type": "user", "uuid": "u1", "message": {"role": "user", "content": "The tide is high."}});
    fs::write(home.path().join("t.jsonl"), said.to_string()).unwrap();
    let settings = parsed(SETTINGS);
    let run = |event: &str, input: Value| -> Done {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["type"], "command");
        let mut input = input;
        input["session_id"] = "s1".into();
        input["hook_event_name"] = event.into();
        input["transcript_path"] = home.path().join("t.jsonl").to_str().unwrap().into();
        let mut command = hosted("sh", home.path());
        feed(command.args(["-c", hook["command"].as_str().unwrap()]), input.to_string())
    };
    let done = run("PreCompact", json!({"trigger": "manual", "custom_instructions": "the tide"}));
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    let done = run("SessionStart", json!({"source": "compact"}));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert!(done.out.contains("-s1.md"), "{done:?}");
}

#[test]
fn codex_needs_nobody_to_approve_calls() {
    let server = &parsed("codex.config.toml")["mcp_servers"]["memdir"];
    assert_eq!(server["default_tools_approval_mode"], "approve");
}

#[test]
fn the_readme_shows_the_configurations() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for name in SERVERS.iter().map(|(name, _)| *name).chain([SETTINGS]) {
        let block = format!("```{}\n{}```\n", kind(name), example(name));
        assert!(readme.contains(&block), "{name} is not in the README as it is");
    }
}
