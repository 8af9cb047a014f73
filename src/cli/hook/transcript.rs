//! The end of a conversation, from the transcript that Claude Code keeps of it: a JSON object a line.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::home::open_outside;

/// Bytes that are read from the end of a transcript; more, up to [`MOST`], where an image or the like leaves little told in them.
const TAIL: u64 = 1 << 20;
const MOST: u64 = 16 << 20;
/// Fewer messages are little.
const FEW: usize = 20;
/// Fields of a tool's input that say in a line what a call is about, the most telling first.
const TELLING: [&str; 9] =
    ["command", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "prompt"];

/// What hosts put around or beside the words of a person, each between tags of this name.
const OF_HOSTS: [&str; 5] =
    ["command-name", "command-message", "command-args", "local-command-stdout", "system-reminder"];

/// A line of the transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) uuid: Option<String>,
    pub(super) parts: Vec<Part>,
}

/// A part of what was said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    User(String),
    Assistant(String),
    /// A tool, and what it was called with.
    Call(String, String),
    Result(String),
}

impl Said {
    /// Whether there is anything to note of it.
    pub(super) fn is_told(&self) -> bool {
        !self.parts.is_empty()
    }
}

/// What was said last, in its order. Lines that are no messages, or broken, are passed over.
pub(super) fn read(file: &Path) -> io::Result<Vec<Said>> {
    let mut file = open_outside(file)?;
    let length = file.metadata()?.len();
    let mut tail = TAIL;
    loop {
        let said = read_tail(&mut file, length, tail)?;
        let told = said.iter().filter(|said| said.is_told()).count();
        if told >= FEW || tail >= length.min(MOST) {
            return Ok(said);
        }
        tail *= 4;
    }
}

fn read_tail(file: &mut File, length: u64, tail: u64) -> io::Result<Vec<Said>> {
    file.seek(SeekFrom::Start(length.saturating_sub(tail)))?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(tail).read_to_end(&mut bytes)?;
    let mut own = HashSet::new();
    // The first line may have lost its beginning; then it does not parse.
    Ok(bytes.split(|&byte| byte == b'\n').filter_map(|line| said(line, &mut own)).collect())
}

/// Reads a line; `own` has the ids of the memory's own calls so far.
fn said(line: &[u8], own: &mut HashSet<String>) -> Option<Said> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let text: fn(String) -> Part = match line.get("type")?.as_str()? {
        "user" => Part::User,
        "assistant" => Part::Assistant,
        _ => return None,
    };
    let is = |flag: &str| line.get(flag).and_then(Value::as_bool) == Some(true);
    // What the host itself put in; what an agent's own agents said; what was noted before it was summed up.
    let is_passed_over = ["isMeta", "isSidechain", "isCompactSummary"].into_iter().any(is);
    let content = line.get("message")?.get("content")?;
    let parts = match content {
        _ if is_passed_over => Vec::new(),
        Value::String(all) => vec![text(without_blocks(all))],
        Value::Array(blocks) => blocks.iter().filter_map(|block| part(block, text, own)).collect(),
        _ => return None,
    };
    let uuid = line.get("uuid").and_then(Value::as_str).filter(|uuid| is_plain(uuid)).map(str::to_owned);
    let is_blank = |part: &Part| match part {
        Part::User(text) | Part::Assistant(text) | Part::Result(text) => text.trim().is_empty(),
        Part::Call(..) => false,
    };
    Some(Said { uuid, parts: parts.into_iter().filter(|part| !is_blank(part)).collect() })
}

/// Whether it can stand in a line of a note, as it is.
fn is_plain(uuid: &str) -> bool {
    (1..=64).contains(&uuid.len()) && uuid.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// A block of a message; thinking and images are left out, and what the memory was asked and answered: what is deleted
/// there must not live on in a note.
fn part(block: &Value, text: fn(String) -> Part, own: &mut HashSet<String>) -> Option<Part> {
    let of = |key: &str| block.get(key).and_then(Value::as_str);
    match of("type")? {
        "text" => of("text").map(|all| text(without_blocks(all))),
        "tool_use" if of("name").is_some_and(is_own) => {
            own.extend(of("id").map(str::to_owned));
            None
        }
        "tool_result" if of("tool_use_id").is_some_and(|id| own.contains(id)) => None,
        "tool_use" => Some(Part::Call(of("name")?.to_owned(), input(block.get("input")))),
        "tool_result" => Some(Part::Result(without_blocks(&result(block.get("content")?)))),
        _ => None,
    }
}

/// Whether a tool is the memory's: by its name, or as hosts name a server's, `mcp__SERVER__TOOL`.
fn is_own(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    name == "memory" || name.starts_with("memory_")
}

/// A text without what hosts put around or beside it.
fn without_blocks(text: &str) -> String {
    OF_HOSTS.iter().fold(text.to_owned(), |text, name| {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let (mut kept, mut rest) = (String::new(), text.as_str());
        while let Some((before, after)) = rest.split_once(&open)
            && let Some((_, behind)) = after.split_once(&close)
        {
            kept += before;
            rest = behind;
        }
        kept + rest
    })
}

/// What a tool was called with.
fn input(input: Option<&Value>) -> String {
    let Some(input) = input else { return String::new() };
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    telling.map_or_else(|| input.to_string(), str::to_owned)
}

/// The texts of what a tool answered.
fn result(content: &Value) -> String {
    let texts = |blocks: &Vec<Value>| {
        let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
        texts.collect::<Vec<_>>().join(" ")
    };
    content.as_str().map_or_else(|| content.as_array().map(texts).unwrap_or_default(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(line: &str) -> Option<Vec<Part>> {
        said(line.as_bytes(), &mut HashSet::new()).map(|said| said.parts)
    }

    #[test]
    fn a_line_is_what_was_said_in_it() {
        let of = |text: &str| text.to_owned();
        for (line, wanted) in [
            (r#"{"type":"user","message":{"content":"hi"}}"#, Some(vec![Part::User(of("hi"))])),
            (
                r#"{"type":"assistant","message":{"content":[
                    {"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"},{"type":"text","text":" "},
                    {"type":"tool_use","name":"Bash","input":{"description":"d","command":"ls -l"}},
                    {"type":"tool_use","name":"X","input":{"n":1}}]}}"#,
                Some(vec![
                    Part::Assistant(of("yes")),
                    Part::Call(of("Bash"), of("ls -l")),
                    Part::Call(of("X"), of(r#"{"n":1}"#)),
                ]),
            ),
            (
                r#"{"type":"user","message":{"content":[
                    {"type":"tool_result","content":"ok"},
                    {"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image","source":{}}]},
                    {"type":"image","source":{"data":"AAAA"}}, 7, {}]}}"#,
                Some(vec![Part::Result(of("ok")), Part::Result(of("a"))]),
            ),
            (r#"{"type":"user","isMeta":true,"message":{"content":"caveat"}}"#, Some(vec![])),
            (r#"{"type":"assistant","isSidechain":true,"message":{"content":"x"}}"#, Some(vec![])),
            (r#"{"type":"user","message":{"content":7}}"#, None),
            (r#"{"type":"user","message":"x"}"#, None),
            (r#"{"type":"summary","summary":"x"}"#, None),
            (r#"lf a line","uuid":"x"}"#, None),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(parts(line), wanted, "{line}");
        }
    }

    #[test]
    fn what_the_memory_was_asked_and_answered_is_left_out() {
        let mut own = HashSet::new();
        for (name, is_own) in [
            ("memory", true),
            ("memory_store", true),
            ("mcp__memdir__memory", true),
            ("mcp__my_memory__memory_retrieve", true),
            ("mcp__memory__fetch", false),
            ("Bash", false),
            ("in_memory", false),
            ("memorize", false),
        ] {
            let call = format!(
                r#"{{"type":"assistant","message":{{"content":[
                    {{"type":"tool_use","id":"{name}","name":"{name}","input":{{}}}}]}}}}"#
            );
            let result = format!(
                r#"{{"type":"user","message":{{"content":[
                    {{"type":"tool_result","tool_use_id":"{name}","content":"ok"}}]}}}}"#
            );
            for line in [call, result] {
                assert_eq!(said(line.as_bytes(), &mut own).unwrap().parts.is_empty(), is_own, "{line}");
            }
        }
    }

    #[test]
    fn what_hosts_put_around_texts_is_left_out() {
        for (text, left) in [
            ("<system-reminder>\nTodo.\n</system-reminder>", ""),
            ("Fix <system-reminder>a</system-reminder>it.<system-reminder>b</system-reminder>", "Fix it."),
            (
                "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
                "",
            ),
            ("<local-command-stdout>done</local-command-stdout>", ""),
            ("What is a <system-reminder>?", "What is a <system-reminder>?"),
            ("</command-name><command-name>", "</command-name><command-name>"),
        ] {
            for block in ["user", "assistant"] {
                let line = json!({"type": block, "message": {"content": text}}).to_string();
                let kept = parts(&line).unwrap();
                let kept: Vec<_> = kept
                    .iter()
                    .map(|part| match part {
                        Part::User(text) | Part::Assistant(text) => text.as_str(),
                        other => panic!("{other:?}"),
                    })
                    .collect();
                assert_eq!(kept.concat(), left);
                assert_eq!(kept.is_empty(), left.is_empty());
            }
            let block = json!({"type": "tool_result", "content": [{"type": "text", "text": text}]});
            let line = json!({"type": "user", "message": {"content": [block]}}).to_string();
            let wanted = if left.is_empty() { vec![] } else { vec![Part::Result(left.to_owned())] };
            assert_eq!(parts(&line).unwrap(), wanted);
        }
    }

    #[test]
    fn a_uuid_that_could_be_more_than_that_is_none() {
        for (uuid, is_kept) in [("a-1", true), ("a -->", false), ("a\\nb", false), ("", false)] {
            let line = format!(r#"{{"type":"user","uuid":"{uuid}","message":{{"content":"x"}}}}"#);
            let said = said(line.as_bytes(), &mut HashSet::new()).unwrap();
            assert_eq!(said.uuid.is_some(), is_kept, "{uuid}");
        }
    }

    #[test]
    fn the_end_of_a_long_transcript_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.jsonl");
        let line = |n: usize| {
            format!(
                "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"message\":{{\"content\":\"{}\"}}}}\n",
                "x".repeat(1000)
            )
        };
        std::fs::write(&file, (0..3000).map(line).collect::<String>()).unwrap();
        let said = read(&file).unwrap();
        assert!((900..1050).contains(&said.len()), "{}", said.len());
        assert_eq!(said.last().unwrap().uuid.as_deref(), Some("u2999"));
        assert!(read(dir.path()).is_err());
    }
}
