//! A case as the fixtures hold it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub setup: Setup,
    pub calls: Vec<Call>,
    /// All regular files: text, `{"b64"}`, `{"sha256", "size"}` or `{"size"}`.
    pub files_after: BTreeMap<String, Value>,
    /// Everything else: `dir`, `fifo`, `socket`, `link -> target`.
    pub others_after: BTreeMap<String, String>,
    #[serde(default)]
    pub modes_after: BTreeMap<String, String>,
}

/// What is on disk before the first call; paths are below `memories`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    pub files: BTreeMap<String, Value>,
    pub b64: BTreeMap<String, String>,
    /// So many times `x`; a hole over 4 MiB.
    pub fill: BTreeMap<String, u64>,
    /// A text, so many times.
    #[serde(rename = "gen")]
    pub repeated: BTreeMap<String, (String, usize)>,
    /// Head, unit, how many units, tail; in base64.
    pub bin: BTreeMap<String, (String, String, usize, String)>,
    pub many: Vec<Many>,
    pub dirs: Vec<String>,
    /// `{BASE}` in a target is filled in.
    pub links: BTreeMap<String, String>,
    pub hardlinks: BTreeMap<String, String>,
    pub fifos: Vec<String>,
    pub sockets: Vec<String>,
    pub rawnames: Vec<String>,
    pub modes: BTreeMap<String, String>,
    pub umask: Option<String>,
    /// Below BASE.
    pub outside: BTreeMap<String, String>,
    #[serde(rename = "_modes")]
    pub _named_in_modes_after: Vec<String>,
    /// `memories` goes after the first call.
    #[serde(rename = "_rmroot")]
    pub remove_root: Option<Value>,
}

#[derive(Deserialize)]
pub struct Many {
    pub prefix: String,
    pub suffix: String,
    pub width: usize,
    pub n: usize,
    #[serde(default)]
    pub text: String,
}

/// `input`, `raw` or `raw_b64`; `output`; `is_error`.
#[derive(Deserialize)]
pub struct Call(Map<String, Value>);

impl Case {
    /// Calls have to be made one at a time.
    pub fn is_interactive(&self) -> bool {
        self.setup.remove_root.is_some()
    }

    pub fn lines(&self) -> Vec<Vec<u8>> {
        self.calls.iter().enumerate().map(|(n, call)| call.line(n)).collect()
    }

    /// The calls as requests of the Model Context Protocol, with their places as ids.
    #[cfg(feature = "mcp")]
    pub fn requests(&self) -> Vec<Vec<u8>> {
        let head = r#","method":"tools/call","params":{"name":"memory","arguments":"#;
        let request = |(n, call): (usize, &Call)| {
            [format!(r#"{{"jsonrpc":"2.0","id":{n}{head}"#).as_bytes(), &call.input(n), b"}}"].concat()
        };
        self.calls.iter().enumerate().map(request).collect()
    }

    pub fn compare_answers(&self, lines: &[String]) -> Vec<String> {
        if lines.len() != self.calls.len() {
            return vec![format!("{} answers to {} calls", lines.len(), self.calls.len())];
        }
        let pairs = self.calls.iter().zip(lines).enumerate();
        pairs.filter_map(|(n, (call, line))| call.compare(n, line)).collect()
    }
}

impl Call {
    /// The call as a line.
    fn line(&self, n: usize) -> Vec<u8> {
        let head = format!(r#"{{"type":"tool_use","id":"{}","name":"memory","input":"#, id(n));
        [head.as_bytes(), &self.input(n), b"}"].concat()
    }

    /// Its input; even ones as raw UTF-8, odd ones in ASCII.
    fn input(&self, n: usize) -> Vec<u8> {
        if let Some(Value::String(bytes)) = self.0.get("raw_b64") {
            decode(bytes)
        } else if let Some(Value::String(text)) = self.0.get("raw") {
            text.clone().into_bytes()
        } else {
            let text = expand(&self.0["input"]).to_string();
            if n.is_multiple_of(2) { text.into_bytes() } else { in_ascii(&text).into_bytes() }
        }
    }

    /// Whether the input is a JSON object.
    #[cfg(feature = "mcp")]
    pub fn is_object(&self) -> bool {
        serde_json::from_slice::<Map<String, Value>>(&self.input(0)).is_ok()
    }

    /// The answer that is wanted, or one that is as good.
    #[cfg(feature = "mcp")]
    pub fn wanted(&self, n: usize) -> String {
        let content = if self.0["output"].is_null() { Value::from("") } else { self.0["output"].clone() };
        result(n, &content, self.0["is_error"] == true)
    }

    fn compare(&self, n: usize, line: &str) -> Option<String> {
        let got: Map<String, Value> = match serde_json::from_str(line) {
            Ok(object) => object,
            Err(error) => return Some(format!("call {n}: {error}: {line}")),
        };
        let is_error = self.0["is_error"] == true;
        let content = got.get("content").unwrap_or(&Value::Null);
        let fine = got.get("type").is_some_and(|kind| kind == "tool_result")
            && (!self.0.contains_key("input") || got.get("tool_use_id").is_some_and(|got| *got == *id(n)))
            && got.get("is_error") == is_error.then_some(&Value::Bool(true))
            && is_same(&self.0["output"], content);
        (!fine).then(|| format!("call {n}: want {} (error: {is_error})\n    got {line}", self.0["output"]))
    }
}

/// A result as a line.
#[cfg(feature = "mcp")]
pub fn result(n: usize, content: &Value, is_error: bool) -> String {
    let mut result = serde_json::json!({"type": "tool_result", "tool_use_id": id(n), "content": content});
    if is_error {
        result["is_error"] = true.into();
    }
    result.to_string()
}

fn id(n: usize) -> String {
    format!("toolu_{n:04}")
}

fn is_same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::Null, _) => got.is_string(),
        (Value::Object(digest), Value::String(text)) => {
            digest["len"] == text.chars().count() && digest["sha256"] == sha256(text.as_bytes())
        }
        _ => want == got,
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

pub fn decode(base64: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(base64).expect("a fixture holds base64")
}

/// Resolves `{"$rep": [unit, n]}` and `{"$cat": [part, …]}`.
pub fn expand(value: &Value) -> Value {
    match value {
        Value::Object(object) => match (object.get("$rep"), object.get("$cat")) {
            (Some(rep), _) => {
                let times = rep[1].as_u64().and_then(|n| usize::try_from(n).ok()).expect("a count");
                rep[0].as_str().expect("a text").repeat(times).into()
            }
            (_, Some(parts)) => {
                parts.as_array().expect("parts").iter().map(text_of).collect::<String>().into()
            }
            _ => object.iter().map(|(key, value)| (key.clone(), expand(value))).collect::<Map<_, _>>().into(),
        },
        Value::Array(values) => values.iter().map(expand).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

/// A text that may be written with `$rep` and `$cat`.
pub fn text_of(value: &Value) -> String {
    expand(value).as_str().expect("a text").to_owned()
}

fn in_ascii(json: &str) -> String {
    use std::fmt::Write as _;
    json.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        out
    })
}
