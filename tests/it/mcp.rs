//! `memdir mcp` as a process: both life cycles, hostile frames, many at once, ends of every kind.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Done, memdir, shell, start};

const OLDER: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// A server and what it is told.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// A server over the store `dir`, to which nothing was said.
    fn silent(dir: &Path) -> Self {
        let mut child = start(memdir(dir, ["mcp", "--dir", "."]).env_remove("MEMDIR_LOG"));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// One that was told who is there.
    fn with(dir: &Path, client: &str) -> Self {
        let mut talk = Self::silent(dir);
        talk.say(&initialize(OLDER, client));
        assert_eq!(talk.hear()["result"]["protocolVersion"], OLDER);
        talk
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
    }

    fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        self.hear()
    }

    /// That the connection is still good.
    fn pings(&mut self) {
        assert_eq!(self.ask(&request("ping!", "ping", &json!({})))["id"], "ping!");
    }

    /// The text of a call's answer.
    fn text(&mut self, input: &Value) -> String {
        let answer = self.ask(&call(0, input));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Closes its input; what it answers until it ends.
    fn end(self) -> Done {
        let Self { child, input, output } = self;
        drop(input);
        finish(child, output)
    }
}

fn finish(mut child: Child, mut output: impl std::io::Read) -> Done {
    let (mut out, mut err) = (String::new(), String::new());
    output.read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Done { code: child.wait().unwrap().code(), out, err }
}

impl Done {
    /// The answers, after a good end.
    fn answers(&self) -> Vec<Value> {
        assert_eq!((self.code, &*self.err), (Some(0), ""), "{self:?}");
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn initialize(version: &str, client: &str) -> Value {
    request(
        "init",
        "initialize",
        &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}),
    )
}

fn call(id: impl Into<Value>, input: &Value) -> Value {
    request(id, "tools/call", &json!({"name": "memory", "arguments": input}))
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": format!("/memories/{path}"), "file_text": text})
}

fn view(path: &str) -> Value {
    json!({"command": "view", "path": format!("/memories/{path}")})
}

/// A request of the stateless revision says each time who asks.
fn stateless(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "stateless", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, &params)
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_tools_are_those_that_the_command_prints() {
    let dir = scratch();
    let printed = shell(dir.path(), "$MEMDIR tools --dialect mcp");
    let printed: Value = serde_json::from_str(&printed.out).unwrap();
    let list = request(1, "tools/list", &json!({}));
    assert_eq!(Talk::with(dir.path(), "x").ask(&list)["result"], json!({"tools": printed}));
    // Claude Code would show its model the structured content alone.
    let told = Talk::with(dir.path(), "claude-code").ask(&list);
    let mut without = printed;
    without[0].as_object_mut().unwrap().remove("outputSchema").unwrap();
    assert_eq!(told["result"], json!({"tools": without}));
}

#[test]
fn every_older_revision_is_spoken_and_others_are_bargained_for() {
    let dir = scratch();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", OLDER] {
        let mut talk = Talk::silent(dir.path());
        let answer = talk.ask(&initialize(version, "x"));
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "memdir");
        let instructions = answer["result"]["instructions"].as_str().unwrap();
        for word in ["/memories", "memory_retrieve", "memory_store", "importance 5", "files (memory)"] {
            assert!(instructions.contains(word), "{word}: {instructions}");
        }
        assert!(instructions.len() < 1000, "hosts cut what is long: {}", instructions.len());
        talk.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        talk.pings();
        assert!(talk.end().answers().is_empty());
    }
    for version in ["1999-01-01", "", "x", STATELESS] {
        let answer = Talk::silent(dir.path()).ask(&initialize(version, "x"));
        assert_eq!(answer["result"]["protocolVersion"], OLDER, "{version}");
    }
}

#[test]
fn the_stateless_revision_needs_no_beginning() {
    let dir = scratch();
    let mut talk = Talk::silent(dir.path());
    let found = talk.ask(&stateless(1, "server/discover", json!({})));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!(STATELESS)), "{found}");
    let input = json!({"name": "memory", "arguments": create("a.md", "a\n")});
    let made = talk.ask(&stateless(2, "tools/call", input));
    assert_eq!(made["result"]["structuredContent"]["result"], "File created successfully at: /memories/a.md");
    assert_eq!(made["result"]["resultType"], "complete");
    // Without its data the request is at fault, and the connection is not.
    assert_eq!(talk.ask(&call(3, &view("a.md")))["error"]["code"], -32602);
    let mut wrong = stateless(4, "tools/list", json!({}));
    wrong["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
    assert!(talk.ask(&wrong)["error"]["code"].is_i64());
    let tools = talk.ask(&stateless(5, "tools/list", json!({})));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 4);
    assert!(talk.end().answers().is_empty());
    assert!(shell(dir.path(), "$MEMDIR log --dir .").out.contains("stateless"));
}

#[test]
fn what_clients_call_themselves_is_in_the_history() {
    let dir = scratch();
    Talk::with(dir.path(), "planner").text(&create("a.md", "a\n"));
    assert!(shell(dir.path(), "$MEMDIR log --dir .").out.contains("planner"));
    let mut child =
        start(memdir(dir.path(), ["mcp", "--dir", ".", "--actor", "named"]).env_remove("MEMDIR_LOG"));
    let mut input = child.stdin.take().unwrap();
    write!(input, "{}\n{}\n", initialize(OLDER, "unnamed"), call(1, &create("b.md", "b\n"))).unwrap();
    drop(input);
    let output = child.stdout.take().unwrap();
    assert_eq!(finish(child, output).answers().len(), 2);
    Talk::with(dir.path(), &format!(" \u{1b}[31m{}", "long ".repeat(1000))).text(&create("c.md", "c\n"));
    Talk::with(dir.path(), "").text(&create("d.md", "d\n"));
    let log = shell(dir.path(), "$MEMDIR log --dir .").out;
    assert!(log.contains("named") && !log.contains("unnamed"), "{log}");
    assert!(log.contains("[31mlong long") && !log.contains('\u{1b}') && log.len() < 2000, "{log}");
}

#[test]
fn whatever_comes_the_connection_lives_on() {
    let dir = scratch();
    let mut talk = Talk::silent(dir.path());
    // Before the beginning.
    for (line, code) in [
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None),
        (r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#, None),
        ("nope", Some(-32700)),
        ("[]", Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Some(-32602)),
    ] {
        talk.write(format!("{line}\n").as_bytes());
        if let Some(code) = code {
            assert_eq!(talk.hear()["error"]["code"], code, "{line}");
        }
    }
    talk.pings();
    assert!(talk.ask(&initialize(OLDER, "x"))["result"].is_object());
    // After it.
    for (line, code) in [
        (&b""[..], None),
        (b"\r", None),
        (b" \t ", None),
        (b"\xff\xfe", Some(-32700)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\"}", Some(-32700)),
        (b"7", Some(-32600)),
        (b"\"ping\"", Some(-32600)),
        (b"{}", Some(-32600)),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Some(-32600)),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(-32600)),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Some(-32600)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"memory/erase"}"#, Some(-32601)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}"#, Some(-32602)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory","arguments":"view"}}"#, Some(-32602)),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, Some(-32602)),
        (br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"memory"}}"#, None),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#, None),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, None),
    ] {
        talk.write(&[line, b"\n"].concat());
        if let Some(code) = code {
            let answer = talk.hear();
            assert_eq!(answer["error"]["code"], code, "{answer} {}", String::from_utf8_lossy(line));
        }
        talk.pings();
    }
    // A failed call is a result, with the tool's own words.
    let answer = talk.ask(&request(1, "tools/call", &json!({"name": "memory"})));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"].get("structuredContent").is_none());
    // Half a surrogate pair, which a model may write: its request is answered, by its id.
    talk.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"memory\",\"arguments\":{\"path\":\"\\ud800\"}},\"id\":\"half\"}\n");
    let answer = talk.hear();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("half"), &json!(-32700)));
    assert!(talk.end().answers().is_empty());
}

#[test]
fn an_id_comes_back_as_it_was() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "x");
    for id in [json!(0), json!(-1), json!(i64::MAX), json!(""), json!("a\n\u{1f600}")] {
        assert_eq!(talk.ask(&request(id.clone(), "ping", &json!({})))["id"], id);
    }
}

#[test]
fn lines_may_be_cut_anywhere() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "x");
    let two = format!("{}\r\n\r\n{}\n", request(1, "ping", &json!({})), call(2, &view("")));
    talk.write(two.as_bytes());
    let ids: BTreeSet<String> =
        [talk.hear(), talk.hear()].iter().map(|answer| answer["id"].to_string()).collect();
    assert_eq!(ids, ["1", "2"].map(str::to_owned).into());
    for byte in format!("{}\n", call(3, &create("ü.md", "é\n"))).as_bytes() {
        talk.write(&[*byte]);
    }
    assert_eq!(talk.hear()["result"]["isError"], false);
    // The last one without its end.
    talk.write(call(4, &view("ü.md")).to_string().as_bytes());
    let answers = talk.end().answers();
    assert!(answers[0]["result"]["content"][0]["text"].as_str().unwrap().contains('é'));
}

/// Programs in Node give sockets to what they start; a person's shell gives files.
#[test]
fn sockets_and_files_will_do() {
    let dir = scratch();
    let lines = format!("{}\n{}\n", initialize(OLDER, "x"), call(1, &view("")));
    let [(ours, its), (back, out)] = [(); 2].map(|()| UnixStream::pair().unwrap());
    let mut command = memdir(dir.path(), ["mcp", "--dir", "."]);
    let mut child = command.stdin(OwnedFd::from(its)).stdout(OwnedFd::from(out)).spawn().unwrap();
    drop(command);
    (&ours).write_all(lines.as_bytes()).unwrap();
    let mut back = BufReader::new(back);
    for id in [json!("init"), json!(1)] {
        let mut line = String::new();
        back.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], id);
    }
    ours.shutdown(Shutdown::Write).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(back.read_line(&mut String::new()).unwrap(), 0);

    fs::write(dir.path().join("in"), &lines).unwrap();
    let done = shell(dir.path(), "$MEMDIR mcp --dir . < in > out; cat out");
    assert_eq!((done.code, done.answers().len()), (Some(0), 2));
}

#[test]
fn a_line_may_be_as_long_as_the_largest_file_needs() {
    let dir = scratch();
    fs::write(dir.path().join("memdir.toml"), "file_limit = \"3 MiB\"\n").unwrap();
    let mut talk = Talk::with(dir.path(), "x");
    // As long as JSON can make it.
    let text = "\u{1}".repeat(3 << 20);
    assert_eq!(talk.text(&create("a.md", &text)), "File created successfully at: /memories/a.md");
    assert_eq!(fs::read_to_string(dir.path().join("memories/a.md")).unwrap(), text);
    // Longer ones are not kept, and are answered.
    let long = call("long", &create("b.md", &"x".repeat(25 << 20)));
    let answer = talk.ask(&long);
    assert_eq!(answer["id"], "long", "{answer}");
    assert_eq!(answer["error"]["code"], -32600);
    talk.pings();
    talk.write(&vec![b'['; 26 << 20]);
    talk.write(b"\n");
    assert_eq!(talk.hear()["error"]["code"], -32600);
    talk.pings();
    talk.write(&vec![b'x'; 26 << 20]);
    let answers = talk.end().answers();
    assert_eq!(answers.len(), 1);
    assert!(!dir.path().join("memories/b.md").exists());
}

#[test]
fn calls_that_come_together_are_run_in_their_order() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "x");
    let edit = |from: &str, to: &str| json!({"command": "str_replace", "path": "/memories/a.md", "old_str": from, "new_str": to});
    let inputs = [
        view("a.md"),
        create("a.md", "one\n"),
        view("a.md"),
        edit("one", "two"),
        edit("two", "three"),
        view("a.md"),
        json!({"command": "delete", "path": "/memories/a.md"}),
        view("a.md"),
        create("a.md", "four\n"),
    ];
    let lines: Vec<String> =
        inputs.iter().enumerate().map(|(n, input)| format!("{}\n", call(n, input))).collect();
    talk.write(lines.concat().as_bytes());
    let mut answers = talk.end().answers();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let told: Vec<&str> =
        answers.iter().map(|answer| answer["result"]["content"][0]["text"].as_str().unwrap()).collect();
    for (at, part) in [(0, "does not exist"), (2, "one"), (5, "three"), (7, "does not exist"), (8, "created")]
    {
        assert!(told[at].contains(part), "{at}: {told:?}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("memories/a.md")).unwrap(), "four\n");
}

#[test]
fn what_is_asked_after_a_call_sees_what_that_did() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "t");
    for n in 0..20 {
        let path = format!("{n}.md");
        let uri = json!({"uri": format!("memory:///memories/{path}")});
        let read = request(format!("read {n}"), "resources/read", &uri);
        talk.write(format!("{}\n{read}\n", call(n, &create(&path, "x\n"))).as_bytes());
    }
    for _ in 0..40 {
        let answer = talk.hear();
        assert!(answer.get("error").is_none(), "{answer}");
    }
}

#[test]
fn a_session_begins_once() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "t");
    let answer = talk.ask(&initialize(STATELESS, "t"));
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    talk.pings();
    let mut talk = Talk::silent(dir.path());
    let listed = talk.ask(&stateless(1, "tools/list", json!({})));
    assert!(listed.get("error").is_none(), "{listed}");
    let answer = talk.ask(&initialize(OLDER, "t"));
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let listed = talk.ask(&stateless(2, "tools/list", json!({})));
    assert!(listed.get("error").is_none(), "{listed}");
}

#[test]
fn what_was_read_is_answered_before_the_end() {
    let dir = scratch();
    let mut talk = Talk::with(dir.path(), "x");
    let lines: Vec<String> =
        (0..2000).map(|n| format!("{}\n", call(n, &create(&format!("{n}.md"), "x\n")))).collect();
    talk.write(lines.concat().as_bytes());
    let answers = talk.end().answers();
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false));
    let ids: BTreeSet<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!((answers.len(), ids.len()), (2000, 2000));
    assert_eq!(fs::read_dir(dir.path().join("memories")).unwrap().count(), 2000);
}

#[test]
fn a_client_that_says_nothing_or_goes_is_no_error() {
    let dir = scratch();
    assert!(Talk::silent(dir.path()).end().answers().is_empty());
    // Nobody reads: what was asked for is done, and the server ends though its input is open.
    let mut talk = Talk::with(dir.path(), "x");
    let Talk { mut child, mut input, output } = {
        talk.pings();
        talk
    };
    drop(output);
    writeln!(input, "{}", call(1, &create("a.md", "a\n"))).unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*err), (Some(0), ""));
    assert!(dir.path().join("memories/a.md").exists());
}

/// Keeps others from changing the store, and sees whether one waits for its turn.
struct Held {
    _lock: File,
    turn: File,
}

impl Held {
    fn of(dir: &Path) -> Self {
        let open =
            |name: &str| File::options().read(true).write(true).open(dir.join(".memdir").join(name)).unwrap();
        let lock = open("lock");
        lock.lock().unwrap();
        Self { _lock: lock, turn: open("turn") }
    }

    /// Until somebody has begun a change and waits for this.
    fn is_waited_for(&self) {
        loop {
            match self.turn.try_lock() {
                Ok(()) => self.turn.unlock().unwrap(),
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Error(error)) => panic!("{error}"),
            }
            thread::yield_now();
        }
    }
}

#[test]
fn a_cancelled_call_is_not_answered_and_before_its_turn_not_run() {
    let dir = scratch();
    fs::write(dir.path().join("memdir.toml"), "lock_wait = \"5m\"\n").unwrap();
    let cancel =
        |id: u32| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let mut talk = Talk::with(dir.path(), "x");
    talk.text(&create("0.md", "x\n"));
    let held = Held::of(dir.path());
    talk.say(&call(1, &create("1.md", "x\n")));
    held.is_waited_for();
    // The first runs, the others have not had their turn.
    talk.say(&call(2, &create("2.md", "x\n")));
    talk.say(&call(3, &create("3.md", "x\n")));
    talk.say(&cancel(1));
    talk.say(&cancel(2));
    // The door is not held up; and nothing that was cancelled by then is run.
    talk.pings();
    // An id that is in use is refused to another.
    let refused = talk.ask(&call(3, &create("4.md", "x\n")));
    assert_eq!((refused.get("id"), &refused["error"]["code"]), (None, &json!(-32600)));
    drop(held);
    let answers = talk.end().answers();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["id"], 3);
    let there = |name: &str| dir.path().join("memories").join(name).exists();
    assert_eq!(["1.md", "2.md", "3.md", "4.md"].map(there), [true, false, true, false]);
}

#[test]
fn no_change_of_many_clients_is_lost() {
    const CLIENTS: usize = 8;
    const EACH: usize = 50;
    let dir = scratch();
    fs::write(dir.path().join("memdir.toml"), "lock_wait = \"5m\"\n").unwrap();
    Talk::with(dir.path(), "first").text(&create("all.md", ""));
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let dir = dir.path();
            scope.spawn(move || {
                let mut talk = Talk::with(dir, &format!("client {client}"));
                for n in 0..EACH {
                    let text = format!("{client} {n}\n");
                    let input = json!({"command": "insert", "path": "/memories/all.md", "insert_line": 0, "insert_text": text});
                    let said = talk.text(&input);
                    assert!(!said.starts_with("Error"), "{said}");
                }
                assert!(talk.end().answers().is_empty());
            });
        }
    });
    let text = fs::read_to_string(dir.path().join("memories/all.md")).unwrap();
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), CLIENTS * EACH);
}

#[test]
fn a_killed_server_loses_nothing_that_it_answered() {
    let dir = scratch();
    let mut answered = 0;
    // A terminating signal and one that cannot be caught, at moments that differ.
    for (round, signal) in [rustix::process::Signal::KILL, rustix::process::Signal::TERM]
        .into_iter()
        .cycle()
        .take(10)
        .enumerate()
    {
        let mut talk = Talk::with(dir.path(), "x");
        let text = talk.text(&view(""));
        let names: Vec<String> = (0..answered).map(|n| format!("{n}.md")).collect();
        assert!(names.iter().all(|name| text.contains(name)), "round {round}: {text}");
        let lines: Vec<String> = (0..20)
            .map(|n| format!("{}\n", call(n, &create(&format!("{}.md", answered + n), "x\n"))))
            .collect();
        talk.write(lines.concat().as_bytes());
        let before = answered;
        for _ in 0..=round {
            let answer = talk.hear();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
            assert!(text.contains("created") || text.contains("already exists"), "{text}");
            answered = answered.max(before + id + 1);
        }
        let pid = rustix::process::Pid::from_child(&talk.child);
        rustix::process::kill_process(pid, signal).unwrap();
        assert_eq!(talk.child.wait().unwrap().code(), None);
    }
    let checked = shell(dir.path(), "$MEMDIR check --dir .");
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn a_person_is_told_once_what_goes_wrong_beside_the_answers() {
    let dir = scratch();
    fs::write(dir.path().join(".memdir"), "no directory").unwrap();
    let mut talk = Talk::with(dir.path(), "x");
    for _ in 0..3 {
        let said = talk.text(&create("a.md", "a\n"));
        assert_eq!(said, "Error: The memory directory cannot be written: input/output error");
    }
    let done = talk.end();
    assert_eq!((done.code, &*done.out, done.err.matches("warning: ").count()), (Some(0), "", 1), "{done:?}");
}

#[test]
fn logs_go_to_standard_error_and_tell_no_contents() {
    let dir = scratch();
    let run = |level: &str| {
        let mut child = start(memdir(dir.path(), ["mcp", "--dir", "."]).env("MEMDIR_LOG", level));
        let mut input = child.stdin.take().unwrap();
        let private = create(&format!("{level}.md"), "what-is-private\n");
        for message in [initialize(OLDER, "x"), call(1, &private), call(2, &view(&format!("{level}.md")))] {
            // It may have refused to begin.
            let _ = writeln!(input, "{message}");
        }
        drop(input);
        let output = child.stdout.take().unwrap();
        finish(child, output)
    };
    for level in ["off", "error", "info", "debug", "rmcp=debug"] {
        let done = run(level);
        assert_eq!(done.out.lines().count(), 3, "{done:?}");
        assert!(!done.err.contains("what-is-private") && !done.err.contains('\u{1b}'), "{done:?}");
        assert_eq!(done.err.contains("tool=\"memory\""), matches!(level, "info" | "debug"), "{done:?}");
    }
    assert!(run("trace").err.contains("what-is-private"));
    let wrong = run("memdir=loud");
    assert_eq!((wrong.code, &*wrong.out), (Some(2), ""), "{wrong:?}");
    assert!(wrong.err.contains("MEMDIR_LOG"), "{wrong:?}");
}
