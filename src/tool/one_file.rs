//! The one-file tool: `save` and `clear`, over one file of dated lines for each agent.
//!
//! A host gives its model this tool under the name `memory_20250818`, and puts the file's text into the system prompt.

use serde_json::{Value, json};

use super::entries::store_says;
use crate::error::{Error, Result};
use crate::guard;
use crate::path::MemoryPath;
use crate::store::{Edit, Found, Look, Snapshot, Store};

/// The agent whose file it is, where nobody names one.
const AGENT: &str = "agent";
/// What a reader gets where nothing has been saved.
const NOTHING: &str = "No memories yet.";
/// As many characters of a wrong value are quoted.
const QUOTED: usize = 100;

/// An agent, as the path of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent(MemoryPath);

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Save(String),
    Clear,
    /// An action that the tool does not have: no error, as its hosts know it.
    Unknown,
}

impl Agent {
    /// # Errors
    /// [`Error::Field`].
    pub(super) fn named(name: &str) -> Result<Self> {
        let wrong = |rule: &str| {
            let value = format!("{:?}", name.chars().take(QUOTED).collect::<String>());
            Error::Field { field: "agent", value, rule: rule.to_owned() }
        };
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            return Err(wrong("must be a file name: not empty, without `/`, and not beginning with a dot"));
        }
        let path = MemoryPath::parse(&format!("/memories/{name}.txt"));
        path.map(Self).map_err(|rule| wrong(&format!("must be a file name: {rule}")))
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self::named(AGENT).expect("it is a file name")
    }
}

/// An agent's name as it was given, if it can be a file's.
#[cfg(feature = "cli")]
pub(crate) fn agent_name(text: &str) -> Result<String> {
    Agent::named(text).map(|_| text.to_owned())
}

/// The text of an agent's file in the one-file dialect, for the system prompt; `No memories yet.` where there is none.
///
/// # Errors
/// [`Error::Field`] for a name that cannot be a file's, [`Error::NotText`] for a file that is not UTF-8, else what
/// [`Store::read`] says.
pub fn one_file_text(store: &Store, agent: &str) -> Result<String> {
    let Agent(path) = Agent::named(agent)?;
    let text = match store.read(&path)? {
        Found::File(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| Error::NotText { path })?,
        Found::Not(look) => absent(look, &path)?,
    };
    Ok(if text.trim().is_empty() { NOTHING.to_owned() } else { text })
}

/// Reads the input of a call.
pub(super) fn prepare(input: &Value) -> Result<Action, String> {
    let input = input.as_object().ok_or("the input must be a JSON object")?;
    let text = |name: &str| {
        let value = input.get(name).ok_or_else(|| format!("{name}: must be a string; it is missing"))?;
        value.as_str().ok_or_else(|| format!("{name}: must be a string"))
    };
    match text("action")? {
        "save" => match text("content")? {
            blank if blank.trim().is_empty() => Err("content: must not be empty".to_owned()),
            content => Ok(Action::Save(content.to_owned())),
        },
        "clear" => Ok(Action::Clear),
        _ => Ok(Action::Unknown),
    }
}

/// Does it; the answer is the text of the result.
pub(super) fn perform(store: &Store, agent: &Agent, action: &Action) -> Result<String, String> {
    let (action, path) = (action.clone(), agent.0.clone());
    let message = match action {
        Action::Unknown => return Ok(json!({"success": false, "message": "Unknown action."}).to_string()),
        Action::Clear => "Memory cleared.",
        Action::Save(_) => "Memory saved.",
    };
    let date = store.now().format("%Y-%m-%d").to_string();
    let (((), warned), mut answer) = (
        store
            .change_warned(move |snapshot| decide(snapshot, &path, &action, &date).map(|edits| (edits, ())))
            .map_err(|error| store_says(&error))?,
        json!({"success": true, "message": message}),
    );
    if !warned.is_empty() {
        let words = guard::words(warned.iter().map(|warned| &warned.warning));
        answer["warning"] = words.join("\n").into();
    }
    Ok(answer.to_string())
}

fn decide(snapshot: &mut Snapshot<'_>, path: &MemoryPath, action: &Action, date: &str) -> Result<Vec<Edit>> {
    let before = match snapshot.read(path)? {
        Found::File(bytes) => Some(bytes),
        Found::Not(look) => absent(look, path).map(|_| None)?,
    };
    let bytes = before.as_ref().map_or(&[][..], |bytes| bytes.as_slice());
    let after = match action {
        Action::Save(content) => appended(bytes, date, content),
        Action::Clear | Action::Unknown => Vec::new(),
    };
    let is_same = before.is_some() && after == bytes;
    Ok(if is_same { Vec::new() } else { vec![Edit::write(path, after)] })
}

/// The text with one more line, which begins and ends as a line whatever was there.
fn appended(bytes: &[u8], date: &str, content: &str) -> Vec<u8> {
    let mut after = bytes.to_vec();
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after.extend_from_slice(format!("[{date}] {content}").as_bytes());
    if !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after
}

/// The text of a file that is not there; an error where something else is in its place.
fn absent(look: Look, path: &MemoryPath) -> Result<String> {
    let path = path.clone();
    match look {
        Look::Missing => Ok(String::new()),
        Look::BelowFile(file) => Err(Error::BelowFile { path, file }),
        Look::Link | Look::BelowLink => Err(Error::Link { path }),
        Look::Special => Err(Error::Unsupported { path }),
        Look::Directory | Look::File { .. } => Err(Error::Exists { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Content, Dispatcher, ToolUse};

    fn open() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let clock = || "2026-11-30T23:59:59Z".parse().unwrap();
        let store = Store::builder(dir.path()).clock(clock).open().unwrap();
        (dir, store)
    }

    fn say(dispatcher: &Dispatcher, input: Value) -> (String, bool) {
        let call = ToolUse { id: "t".to_owned(), name: "memory_20250818".to_owned(), input };
        let result = dispatcher.run(&call);
        match result.content {
            Content::Text(text) => (text, result.is_error),
            Content::Blocks(blocks) => panic!("{blocks:?}"),
        }
    }

    fn text(store: &Store) -> String {
        let path = MemoryPath::parse("/memories/agent.txt").unwrap();
        match store.read(&path).unwrap() {
            Found::File(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Found::Not(look) => panic!("{look:?}"),
        }
    }

    #[test]
    fn saves_are_dated_lines_and_clear_empties_the_file() {
        let (_dir, store) = open();
        let dispatcher = Dispatcher::new(store.clone());
        assert_eq!(one_file_text(&store, "agent").unwrap(), "No memories yet.");
        let saved = (r#"{"success":true,"message":"Memory saved."}"#.to_owned(), false);
        let save = |content: &str| say(&dispatcher, json!({"action": "save", "content": content}));
        assert_eq!(save("Team uses snake_case."), saved);
        assert_eq!(save("two\nlines"), saved);
        assert_eq!(save("ends\n"), saved);
        assert_eq!(save("after"), saved);
        let all = "[2026-11-30] Team uses snake_case.\n[2026-11-30] two\nlines\n[2026-11-30] ends\n[2026-11-30] after\n";
        assert_eq!(text(&store), all);
        assert_eq!(one_file_text(&store, "agent").unwrap(), all);
        let cleared = (r#"{"success":true,"message":"Memory cleared."}"#.to_owned(), false);
        assert_eq!(say(&dispatcher, json!({"action": "clear", "content": ""})), cleared);
        assert_eq!(text(&store), "");
        assert_eq!(one_file_text(&store, "agent").unwrap(), "No memories yet.");
        assert_eq!(say(&dispatcher, json!({"action": "clear"})), cleared);
    }

    #[test]
    fn a_line_begins_where_a_person_left_no_line_end() {
        assert_eq!(appended(b"by hand", "2026-11-30", "x"), b"by hand\n[2026-11-30] x\n");
        assert_eq!(appended(b"by hand\r\n", "2026-11-30", "x"), b"by hand\r\n[2026-11-30] x\n");
        assert_eq!(appended(b"", "2026-11-30", "x"), b"[2026-11-30] x\n");
    }

    #[test]
    fn what_is_no_action_is_answered_without_an_error() {
        let (_dir, store) = open();
        let dispatcher = Dispatcher::new(store);
        let unknown = r#"{"success":false,"message":"Unknown action."}"#;
        for input in [json!({"action": "append", "content": "x"}), json!({"action": ""})] {
            assert_eq!(say(&dispatcher, input), (unknown.to_owned(), false));
        }
        for (input, words) in [
            (json!([]), "the input must be a JSON object"),
            (json!({}), "action: must be a string; it is missing"),
            (json!({"action": 1}), "action: must be a string"),
            (json!({"action": "save"}), "content: must be a string; it is missing"),
            (json!({"action": "save", "content": null}), "content: must be a string"),
            (json!({"action": "save", "content": " \n"}), "content: must not be empty"),
        ] {
            assert_eq!(say(&dispatcher, input), (json!({"error": words}).to_string(), true));
        }
    }

    #[test]
    fn every_agent_has_a_file_of_its_own() {
        let (_dir, store) = open();
        let dispatcher = Dispatcher::new(store.clone()).with_agent("code_review_agent").unwrap();
        say(&dispatcher, json!({"action": "save", "content": "x"}));
        assert_eq!(one_file_text(&store, "code_review_agent").unwrap(), "[2026-11-30] x\n");
        assert_eq!(one_file_text(&store, "agent").unwrap(), "No memories yet.");
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a\nb", "a\u{202e}b", &"x".repeat(252)]
        {
            let said = Dispatcher::new(store.clone()).with_agent(name).unwrap_err().to_string();
            assert!(said.starts_with("agent: must be a file name: ") && said.len() < 300, "{said}");
        }
    }

    #[test]
    fn what_is_in_the_way_and_what_is_too_much_is_an_error_of_the_tool() {
        let (dir, store) = open();
        let dispatcher = Dispatcher::new(store.clone());
        say(&dispatcher, json!({"action": "save", "content": "kept"}));
        let (said, is_error) = say(&dispatcher, json!({"action": "save", "content": "x".repeat(2 << 20)}));
        assert!(is_error && said.starts_with(r#"{"error":"File /memories/agent.txt would be "#), "{said}");
        assert_eq!(text(&store), "[2026-11-30] kept\n");
        std::fs::create_dir(dir.path().join("memories/dir.txt")).unwrap();
        let other = dispatcher.with_agent("dir").unwrap();
        let (said, is_error) = say(&other, json!({"action": "save", "content": "x"}));
        assert_eq!((said.as_str(), is_error), (r#"{"error":"File /memories/dir.txt already exists"}"#, true));
    }

    #[test]
    fn a_secret_is_warned_of_or_refused() {
        let (dir, _) = open();
        let key = format!("key {}{}", "AKIA", "Z7VR4QLMN2PXWB5D");
        for (mode, said) in [("warn", r#""warning":"#), ("block", r#"{"error":"Not stored: "#)] {
            std::fs::write(dir.path().join("memdir.toml"), format!("[guard]\nmode = \"{mode}\"\n")).unwrap();
            let store = Store::open(dir.path()).unwrap();
            // What a file holds already is nobody's fault.
            let dispatcher = Dispatcher::new(store).with_agent(mode).unwrap();
            let (answer, _) = say(&dispatcher, json!({"action": "save", "content": key}));
            assert!(answer.contains(said) && !answer.contains("Z7VR4QLMN2PXWB5D"), "{answer}");
        }
    }
}
