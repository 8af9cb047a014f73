//! Memories as resources of the Model Context Protocol, and what clients are told of them, over standard input and output.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use crate::process::{feed, memdir, shell, start};

/// Longer than any machine takes.
const LONG: Duration = Duration::from_secs(60);

/// The two lives of a connection: with `initialize`, and with all that matters in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revision {
    Old,
    New,
}

const REVISIONS: [Revision; 2] = [Revision::Old, Revision::New];

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What was told, and not asked for yet.
    told: Vec<Value>,
    asked: u64,
    revision: Revision,
}

impl Client {
    /// Starts a server for the store in a directory.
    fn start(dir: &Path, revision: Revision) -> Self {
        let mut child = start(&mut memdir(dir, ["mcp", "--dir", "."]));
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let _ = send.send(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        let mut client = Self { child, input, lines, told: Vec::new(), asked: 0, revision };
        if revision == Revision::Old {
            let hello = json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
            });
            let answer = client.ask("initialize", hello);
            let offered = json!({"subscribe": true, "listChanged": true});
            assert_eq!(answer["result"]["capabilities"]["resources"], offered);
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request; its id.
    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.asked += 1;
        if self.revision == Revision::New {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        self.asked
    }

    /// Waits for the answer of a request.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.recv_timeout(LONG).expect("no answer came");
            if line["id"] == id {
                return line;
            }
            assert!(line["id"].is_null(), "{line}");
            self.told.push(line);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Waits until all of these were told, in any order, and nothing else.
    fn hears(&mut self, events: &[&str]) {
        let right: BTreeSet<String> = events.iter().map(|&event| event.to_owned()).collect();
        let mut told = BTreeSet::new();
        while told != right {
            let line = if self.told.is_empty() {
                let line = self.lines.recv_timeout(LONG);
                line.unwrap_or_else(|_| panic!("{told:?} is not all of {right:?}"))
            } else {
                self.told.remove(0)
            };
            let event = event(&line);
            assert!(right.contains(&event), "{line} is none of {right:?}");
            told.insert(event);
        }
    }

    /// Subscribes, as the revision has it, and to changes of the list; the id of the stream, if it is one.
    fn subscribe(&mut self, uris: &[&str]) -> Option<u64> {
        if self.revision == Revision::Old {
            assert!(self.ask("resources/list", json!({}))["error"].is_null());
            for uri in uris {
                assert_eq!(self.ask("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
            }
            return None;
        }
        let wants = json!({"resourcesListChanged": true, "resourceSubscriptions": uris});
        let id = self.request("subscriptions/listen", json!({"notifications": wants}));
        let line = self.lines.recv_timeout(LONG).unwrap();
        assert_eq!(line["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(line["params"]["notifications"], wants);
        Some(id)
    }

    /// Runs a call of the memory tool in this very server.
    fn call(&mut self, input: &Value) {
        let answer = self.ask("tools/call", json!({"name": "memory", "arguments": input}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }

    /// Ends the input; all lines that come after.
    fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut lines = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(LONG) {
            lines.push(line);
        }
        assert!(self.child.wait().unwrap().success());
        lines
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A notification in a word.
fn event(line: &Value) -> String {
    match line["method"].as_str() {
        Some("notifications/resources/list_changed") => "list".to_owned(),
        Some("notifications/resources/updated") => {
            let uri = line["params"]["uri"].as_str().unwrap();
            uri.strip_prefix("memory:///memories").unwrap_or(uri).trim_start_matches('/').to_owned()
        }
        _ => panic!("unexpected: {line}"),
    }
}

/// A memory with files in it, as a person writes them.
fn memory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        write(dir.path(), name, bytes);
    }
    dir
}

fn write(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let file = dir.join("memories").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
}

fn png() -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n\xff\xfe", &b"\0\0\0\0IEND\xae\x42\x60\x82"[..]].concat()
}

#[test]
fn all_visible_files_are_listed() {
    let dir = memory(&[
        ("b.md", b"b\n"),
        ("b/a b#c?%.txt", b"x"),
        ("b/.hidden", b"x"),
        ("node_modules/x.md", b"x"),
        ("deep/a/b/c/d/e.md", b"x"),
        ("notes", "tä".as_bytes()),
        ("picture.PNG", &png()),
        ("program", b"\x7fELF\xff"),
        ("empty", b""),
        ("back\\slash", b"no path has this name"),
    ]);
    std::os::unix::fs::symlink("b.md", dir.path().join("memories/link.md")).unwrap();
    let time = std::time::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
    let file = fs::File::options().write(true).open(dir.path().join("memories/b.md")).unwrap();
    file.set_modified(time).unwrap();
    for revision in REVISIONS {
        let mut client = Client::start(dir.path(), revision);
        let answer = client.ask("resources/list", json!({}));
        let listed: Vec<_> = answer["result"]["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| {
                let text = |field: &str| resource[field].as_str().unwrap().to_owned();
                assert!(resource["annotations"]["lastModified"].as_str().unwrap().ends_with('Z'));
                (text("uri"), text("name"), text("mimeType"), resource["size"].as_u64().unwrap())
            })
            .collect();
        let right = [
            ("b/a%20b%23c%3F%25.txt", "b/a b#c?%.txt", "text/plain", 1),
            ("b.md", "b.md", "text/markdown", 2),
            ("deep/a/b/c/d/e.md", "deep/a/b/c/d/e.md", "text/markdown", 1),
            ("empty", "empty", "text/plain", 0),
            ("notes", "notes", "text/plain", 3),
            ("picture.PNG", "picture.PNG", "image/png", png().len() as u64),
            ("program", "program", "application/octet-stream", 5),
        ]
        .map(|(uri, name, kind, size)| {
            (format!("memory:///memories/{uri}"), name.to_owned(), kind.to_owned(), size)
        });
        assert_eq!(listed, right);
        let annotations = json!({"audience": ["assistant"], "lastModified": "2023-11-14T22:13:20.250Z"});
        assert_eq!(answer["result"]["resources"][1]["annotations"], annotations);
        for uri in listed.iter().map(|(uri, ..)| uri) {
            assert!(client.ask("resources/read", json!({"uri": uri}))["error"].is_null(), "{uri}");
        }

        // What a result says of itself, each revision in its way.
        for (method, params) in [
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "memory:///memories/b.md"})),
            ("tools/list", json!({})),
            ("prompts/list", json!({})),
        ] {
            let result = &client.ask(method, params)["result"];
            match revision {
                Revision::Old => assert!(result["ttlMs"].is_null() && result["cacheScope"].is_null()),
                Revision::New => {
                    assert!(result["ttlMs"] == 0 && result["cacheScope"] == "private", "{result}");
                }
            }
        }
        let templates = client.ask("resources/templates/list", json!({}));
        let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(template, "memory:///memories/{+path}");
    }
}

#[test]
fn pages_pass_over_nothing_while_files_go() {
    let names: Vec<String> = (0..250).map(|n| format!("{}/{n:03}.md", n % 7)).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    for revision in REVISIONS {
        let dir = memory(&files);
        let remove = |name: &str| fs::remove_file(dir.path().join("memories").join(name)).unwrap();
        let mut client = Client::start(dir.path(), revision);
        let mut seen: Vec<String> = Vec::new();
        let mut cursor = None;
        let mut pages = 0;
        loop {
            let params = cursor.map_or(json!({}), |cursor: Value| json!({"cursor": cursor}));
            let page = client.ask("resources/list", params);
            let page = &page["result"];
            let uris = page["resources"].as_array().unwrap().iter();
            seen.extend(uris.map(|resource| resource["uri"].as_str().unwrap().to_owned()));
            pages += 1;
            if pages == 1 {
                // The last one seen, one before it, and one that is still to come; and one comes before all of them.
                let last = seen.last().unwrap().trim_start_matches("memory:///memories/");
                remove(last);
                remove("0/000.md");
                remove("6/006.md");
                write(dir.path(), "0/0.md", "x");
            }
            cursor = Some(page["nextCursor"].clone());
            if page["nextCursor"].is_null() {
                break;
            }
        }
        let mut right: Vec<_> = names.iter().map(|name| format!("memory:///memories/{name}")).collect();
        right.retain(|uri| !uri.ends_with("6/006.md"));
        right.sort();
        assert_eq!(seen, right);
        assert_eq!(pages, 3);
        for cursor in ["", "x", "YWJj", "../../etc"] {
            let answer = client.ask("resources/list", json!({"cursor": cursor}));
            assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
        }
    }
}

#[test]
fn contents_are_read_whole() {
    let long = "0123456789\n".repeat(5_000);
    let dir = memory(&[
        ("a.md", "# Tä\n".as_bytes()),
        ("long.txt", long.as_bytes()),
        ("crlf.txt", b"\xef\xbb\xbfa\r\nb\r\n"),
        ("empty", b""),
        ("picture.png", &png()),
        ("text.png", b"no picture"),
        ("program", b"\0\xff\x01"),
    ]);
    let blob = |bytes: &[u8]| {
        use base64::Engine as _;
        base64::prelude::BASE64_STANDARD.encode(bytes)
    };
    for revision in REVISIONS {
        let mut client = Client::start(dir.path(), revision);
        for (name, kind, field, content) in [
            ("a.md", "text/markdown", "text", "# Tä\n".to_owned()),
            ("long.txt", "text/plain", "text", long.clone()),
            ("crlf.txt", "text/plain", "text", "\u{feff}a\r\nb\r\n".to_owned()),
            ("empty", "text/plain", "text", String::new()),
            ("picture.png", "image/png", "blob", blob(&png())),
            ("text.png", "text/plain", "text", "no picture".to_owned()),
            ("program", "application/octet-stream", "blob", blob(b"\0\xff\x01")),
        ] {
            let uri = format!("memory:///memories/{name}");
            let answer = client.ask("resources/read", json!({"uri": uri}));
            let contents = json!([{"uri": uri, "mimeType": kind, field: content}]);
            assert_eq!(answer["result"]["contents"], contents, "{name}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let dir = memory(&[
        ("a.txt", &[b'a'; 100]),
        ("b.txt", &[b'b'; 101]),
        ("c.png", &[0xff; 200]),
        ("d.png", &[0xff; 201]),
    ]);
    fs::write(dir.path().join("memdir.toml"), "file_limit = 100\nimage_limit = 200\nview_limit = 10\n")
        .unwrap();
    let mut client = Client::start(dir.path(), Revision::New);
    for name in ["a.txt", "c.png"] {
        let answer = client.ask("resources/read", json!({"uri": format!("memory:///memories/{name}")}));
        assert!(answer["error"].is_null(), "{answer}");
    }
    for name in ["b.txt", "d.png"] {
        let answer = client.ask("resources/read", json!({"uri": format!("memory:///memories/{name}")}));
        assert_eq!(answer["error"]["code"], -32602);
        let words = answer["error"]["message"].as_str().unwrap();
        assert!(words.starts_with(&format!("/memories/{name} is too large to be read whole")), "{words}");
    }
}

#[test]
fn bad_addresses_lead_nowhere() {
    let dir = memory(&[("a.md", b"x"), ("d/b.md", b"x")]);
    fs::write(dir.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", dir.path().join("memories/link.md")).unwrap();
    std::os::unix::fs::symlink("..", dir.path().join("memories/up")).unwrap();
    for revision in REVISIONS {
        let mut client = Client::start(dir.path(), revision);
        let not_found = if revision == Revision::Old { -32002 } else { -32602 };
        for (uri, code) in [
            ("memory:///memories/none.md", not_found),
            ("memory:///memories/a.md/b", not_found),
            ("memory:///memories", not_found),
            ("memory:///memories/d/", not_found),
            ("memory:///memories/link.md", not_found),
            ("memory:///memories/up/secret", not_found),
            ("", -32602),
            ("a.md", -32602),
            ("file:///etc/passwd", -32602),
            ("memory://host/memories/a.md", -32602),
            ("memory:///secret", -32602),
            ("memory:///memories/../secret", -32602),
            ("memory:///memories/%2e%2e/secret", -32602),
            ("memory:///memories/%252e%252e/secret", -32602),
            ("memory:///memories/..%2fsecret", -32602),
            ("memory:///memories/a.md%00", -32602),
            ("memory:///memories/a%0ab", -32602),
            ("memory:///memories/a.md?x=1", -32602),
            ("memory:///memories/a.md#x", -32602),
            ("memory:///memories/%", -32602),
            ("memory:///memories/%ff", -32602),
            (&*format!("memory:///memories/{}", "x".repeat(300)), -32602),
        ] {
            let answer = client.ask("resources/read", json!({"uri": uri}));
            assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
            let words = answer["error"].to_string();
            assert!(!words.contains(dir.path().to_str().unwrap()), "{words}");
            if revision == Revision::Old && code == -32602 {
                let subscribed = client.ask("resources/subscribe", json!({"uri": uri}));
                assert_eq!(subscribed["error"]["code"], code, "{uri}: {subscribed}");
            }
        }
        assert!(client.ask("resources/read", json!({"uri": "memory:///memories/a.md"}))["error"].is_null());
    }
}

/// Another process makes a change.
fn call(dir: &Path, input: &Value) {
    let done = feed(&mut memdir(dir, ["call", "--dir", "."]), format!("{input}\n"));
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn whatever_anybody_does_is_told() {
    for revision in REVISIONS {
        let dir = memory(&[
            ("a.md", b"one\n"),
            ("notes/b.md", b"one\n"),
            ("notes/c.md", b"two\n"),
            ("z.md", b"z\n"),
        ]);
        let dir = dir.path();
        let mut client = Client::start(dir, revision);
        let (a, notes, new) =
            ("memory:///memories/a.md", "memory:///memories/notes/", "memory:///memories/new%20one.md");
        client.subscribe(&[a, notes, new]);
        // A stream names no other address than those that were asked for.
        let below = |name: &'static str| if revision == Revision::Old { name } else { "notes/" };

        call(
            dir,
            &json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "two"}),
        );
        client.hears(&["a.md"]);
        let hand = |line: &str| assert_eq!(shell(&dir.join("memories"), line).code, Some(0), "{line}");
        hand("echo three >> a.md");
        client.hears(&["a.md"]);
        hand("cp a.md .a.md.swp && echo four >> .a.md.swp && mv .a.md.swp a.md");
        client.hears(&["a.md"]);
        client.call(&json!({"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "zero\n"}));
        client.hears(&["a.md"]);
        hand("echo more >> notes/b.md");
        client.hears(&[below("notes/b.md")]);
        hand("rm a.md");
        client.hears(&["list", "a.md"]);
        client.call(&json!({"command": "create", "path": "/memories/new one.md", "file_text": "new\n"}));
        client.hears(&["list", "new%20one.md"]);
        hand("mv notes notebook");
        let mut gone = vec!["list", below("notes/b.md"), below("notes/c.md")];
        gone.dedup();
        client.hears(&gone);
        hand("mkdir -p notes/deep && echo x > notes/deep/d.md");
        client.hears(&["list", below("notes/deep/d.md")]);
        // What was not asked for is not told: the next thing that is heard is another.
        hand("echo z >> z.md && echo more >> notebook/b.md");
        call(dir, &json!({"command": "create", "path": "/memories/a.md", "file_text": "again\n"}));
        client.hears(&["list", "a.md"]);
        assert_eq!(client.told, [json!(null); 0]);
    }
}

#[test]
fn nothing_is_told_without_a_subscription() {
    for revision in REVISIONS {
        let dir = memory(&[("a.md", b"one\n"), ("b.md", b"one\n")]);
        let mut client = Client::start(dir.path(), revision);
        client.call(&json!({"command": "create", "path": "/memories/c.md", "file_text": "new\n"}));
        call(dir.path(), &json!({"command": "delete", "path": "/memories/c.md"}));
        let (a, b) = ("memory:///memories/a.md", "memory:///memories/b.md");
        match revision {
            Revision::Old => {
                for (method, uri) in
                    [("subscribe", a), ("subscribe", b), ("unsubscribe", a), ("unsubscribe", a)]
                {
                    let answer = client.ask(&format!("resources/{method}"), json!({"uri": uri}));
                    assert_eq!(answer["result"], json!({}));
                }
            }
            Revision::New => {
                let ended = client.subscribe(&[a]).unwrap();
                client.send(&json!({
                    "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ended},
                }));
                let wants = json!({"notifications": {"resourceSubscriptions": [b, "file:///x"], "toolsListChanged": true}});
                client.request("subscriptions/listen", wants);
                let line = client.lines.recv_timeout(LONG).unwrap();
                assert_eq!(line["params"]["notifications"], json!({"resourceSubscriptions": [b]}));
            }
        }
        write(dir.path(), "a.md", "two\n");
        write(dir.path(), "new.md", "new\n");
        write(dir.path(), "b.md", "two\n");
        client.hears(&["b.md"]);
    }
}

/// Each of several streams hears what it asked for, with its id.
#[test]
fn streams_are_told_apart() {
    let dir = memory(&[("a.md", b"one\n"), ("b.md", b"one\n")]);
    let mut client = Client::start(dir.path(), Revision::New);
    let first = client.subscribe(&["memory:///memories/a.md"]).unwrap();
    let second = client.subscribe(&["memory:///memories"]).unwrap();
    write(dir.path(), "a.md", "two\n");
    let mut told = BTreeSet::new();
    while told.len() < 2 {
        let line = client.lines.recv_timeout(LONG).unwrap();
        let stream = &line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        told.insert((event(&line), stream.as_u64().unwrap()));
    }
    assert_eq!(told, [("a.md".to_owned(), first), (String::new(), second)].into());
    // The end of the input ends the streams, each with its result.
    let lines = client.end();
    let ids: BTreeSet<u64> = lines.iter().filter_map(|line| line["id"].as_u64()).collect();
    assert_eq!(ids, [first, second].into());
}

#[test]
fn there_may_be_so_many_subscriptions() {
    let dir = memory(&[]);
    let uri = |n: usize| format!("memory:///memories/{n}.md");
    let words = "At most 1000 subscriptions are possible at a time; end some that are not needed";

    let mut client = Client::start(dir.path(), Revision::Old);
    for n in 0..999 {
        assert_eq!(client.ask("resources/subscribe", json!({"uri": uri(n)}))["result"], json!({}));
    }
    let answer = client.ask("resources/subscribe", json!({"uri": uri(999)}));
    assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(-32602), &json!(words)));
    client.ask("resources/unsubscribe", json!({"uri": uri(5)}));
    assert_eq!(client.ask("resources/subscribe", json!({"uri": uri(999)}))["result"], json!({}));

    let mut client = Client::start(dir.path(), Revision::New);
    let uris: Vec<String> = (0..1000).map(uri).collect();
    let answer =
        client.ask("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    assert_eq!(answer["error"]["message"], words);
    assert_eq!(client.told[0]["params"]["notifications"], json!({}));
}
