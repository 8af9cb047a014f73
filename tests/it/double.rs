//! `memdir double` as a process, and the same in this one: on a port, with clients of every kind.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::sync::mpsc::channel;
use std::thread;

use memdir::double::{Double, Script};
use memdir::http::{serve_double, serve_double_watched};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::process::{Done, feed, memdir, start};

/// A stand-in that was started, and where it listens.
struct Served {
    child: Child,
    output: BufReader<ChildStdout>,
    url: String,
}

impl Served {
    fn with(dir: &Path, args: &[&str]) -> Self {
        let mut command = memdir(dir, ["double"]);
        let anywhere: &[&str] = if args.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let mut child = start(command.args(anywhere).args(args));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        output.read_line(&mut url).unwrap();
        Self { child, output, url: url.trim_end().to_owned() }
    }

    fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it; what it has said.
    fn end(mut self, signal: Signal) -> Done {
        self.signal(signal);
        let (mut out, mut err) = (String::new(), String::new());
        self.output.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Done { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It is over already, but where a test has failed.
        let _ = self.child.kill();
    }
}

#[derive(Debug)]
struct Answered {
    status: u16,
    head: String,
    /// As it came: in chunks, if it is a stream.
    body: String,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn read(connection: &mut impl std::io::Read) -> Self {
        let mut bytes = Vec::new();
        // One that is broken off has said something before.
        let _ = connection.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }
}

fn head(line: &str, length: usize, more: &str) -> String {
    format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nanthropic-version: 2023-06-01\r\n\
         x-api-key: test\r\ncontent-length: {length}\r\n{more}\r\n"
    )
}

fn send(to: SocketAddr, line: &str, body: &[u8], more: &str) -> Answered {
    let mut connection = TcpStream::connect(to).unwrap();
    let head = head(line, body.len(), &format!("connection: close\r\n{more}"));
    connection.write_all(&[head.as_bytes(), body].concat()).unwrap();
    Answered::read(&mut connection)
}

fn message(to: SocketAddr, request: &Value) -> Answered {
    send(to, "POST /v1/messages", request.to_string().as_bytes(), "")
}

fn request(text: &str) -> Value {
    json!({"model": "claude-opus-5", "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

fn streamed(text: &str) -> Value {
    let mut request = request(text);
    request["stream"] = json!(true);
    request
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn says_where_it_listens_answers_and_ends_when_told() {
    let dir = scratch();
    fs::write(
        dir.path().join("script"),
        "{\"reply\":{\"text\":\"Four.\"}}\n{\"reply\":{\"text\":\"Five.\"}}\n",
    )
    .unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let served = Served::with(dir.path(), &["--script", "script"]);
        let answer = message(served.address(), &request("a secret question"));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["content"][0]["text"], "Four.");
        assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
        assert!(answer.head.contains("request-id: req_"), "{answer:?}");

        let answer = message(served.address(), &streamed("a secret question"));
        assert!(answer.head.contains("content-type: text/event-stream; charset=utf-8"), "{answer:?}");
        assert!(answer.body.contains("message_stop") && answer.body.ends_with("\r\n0\r\n\r\n"), "{answer:?}");

        let answer =
            message(served.address(), &json!({"model": "claude-opus-5", "max_tokens": 1, "messages": []}));
        assert_eq!((answer.status, &answer.json()["error"]["type"]), (400, &json!("invalid_request_error")));

        let done = served.end(signal);
        assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{}", done.err);
        let lines: Vec<_> = done.err.lines().collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("200 POST /v1/messages tokens: "), "{lines:?}");
        assert!(lines[1].ends_with(" streamed"), "{lines:?}");
        assert!(lines[2].starts_with("400 POST /v1/messages invalid_request_error: messages"), "{lines:?}");
        assert!(!done.err.contains("secret") && !done.err.contains("Four"), "{}", done.err);
    }
}

#[test]
fn asks_for_a_key_and_is_quiet_when_told_to() {
    let dir = scratch();
    let served = Served::with(dir.path(), &["--quiet", "--key", "another"]);
    let answer = message(served.address(), &request("a"));
    assert_eq!((answer.status, &answer.json()["error"]["type"]), (401, &json!("authentication_error")));
    let done = served.end(Signal::TERM);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}

#[test]
fn tells_once_of_a_model_that_it_does_not_know() {
    let dir = scratch();
    let served = Served::with(dir.path(), &[]);
    for model in ["claude-opus4-6", "claude-opus-5", "claude-opus4-6"] {
        let mut request = request("a");
        request["model"] = json!(model);
        assert_eq!(message(served.address(), &request).status, 200, "{model}");
    }
    let done = served.end(Signal::TERM);
    let notes: Vec<_> = done.err.lines().filter(|line| line.starts_with("note: ")).collect();
    let note = "note: the model `claude-opus4-6` is not known here, and the real API may not know it either";
    assert_eq!(notes, [note], "{}", done.err);
}

#[test]
fn says_why_a_signature_is_refused() {
    let dir = scratch();
    let script = "{\"when\":{},\"reply\":{\"thinking\":\"Tea.\",\"text\":\"Green.\"}}\n";
    fs::write(dir.path().join("script"), script).unwrap();
    let served = Served::with(dir.path(), &["--script", "script"]);
    let mut request = request("Which?");
    request["model"] = json!("claude-opus-5-5");
    request["max_tokens"] = json!(2_000);
    request["thinking"] = json!({"type": "adaptive"});
    let said = message(served.address(), &request).json()["content"].clone();
    assert_eq!(said[0]["type"], "thinking", "{said}");
    let changes: [&dyn Fn(&mut Value); 4] = [
        &|_| {},
        &|messages| messages[1]["content"][0]["thinking"] = json!("Coffee."),
        &|messages| messages[1]["content"][0]["signature"] = json!("RXJz"),
        &|messages| messages[0]["content"] = json!("Which cup?"),
    ];
    let statuses = changes.map(|change| {
        let mut messages = json!([request["messages"][0], {"role": "assistant", "content": said},
            {"role": "user", "content": "Why?"}]);
        change(&mut messages);
        let mut request = request.clone();
        request["messages"] = messages;
        message(served.address(), &request).status
    });
    assert_eq!(statuses, [200, 400, 400, 400]);
    let done = served.end(Signal::TERM);
    let refused: Vec<_> = done.err.lines().filter(|line| line.starts_with("400 ")).collect();
    for (line, why) in refused.iter().zip(["altered since", "not signed here", "what stands before it"]) {
        assert!(line.contains(why), "{why}: {line}");
    }
}

#[test]
fn does_not_begin_with_what_is_wrong() {
    let dir = scratch();
    fs::write(dir.path().join("script"), "{\"reply\":{\"text\":\"a\"}}\n\n{\"reply\":\n").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--script", "script"], 1, "error: `script`: line 3 of the script: "),
        (&["--script", "none"], 1, "error: cannot read `none`: "),
        (&["--record", "none/record"], 1, "error: cannot write `none/record`: "),
        (&["--listen", &taken], 1, "error: cannot listen on 127.0.0.1:"),
        (&["--listen", "127.0.0.1"], 2, "error: invalid value '127.0.0.1' for '--listen <ADDR>'"),
        (
            &["--listen", "8099"],
            2,
            "error: invalid value '8099' for '--listen <ADDR>': it is a port alone: 127.0.0.1:8099",
        ),
        (&["--window", "0"], 2, "error: invalid value '0' for '--window <TOKENS>'"),
        (&["--key", ""], 2, "error: a value is required for '--key <KEY>'"),
    ];
    for (args, code, error) in cases {
        let mut command = memdir(dir.path(), ["double"]);
        let done = feed(command.args(*args), "");
        assert_eq!((done.code, done.out.as_str()), (Some(*code), ""), "{args:?}: {}", done.err);
        assert!(done.err.starts_with(error), "{args:?}: {}", done.err);
    }
}

#[test]
fn warns_where_others_can_reach_it() {
    let dir = scratch();
    let served = Served::with(dir.path(), &["--listen", "0.0.0.0:0", "--quiet"]);
    assert!(served.url.starts_with("http://127.0.0.1:"), "{}", served.url);
    assert_eq!(message(served.address(), &request("a")).status, 200);
    let done = served.end(Signal::TERM);
    assert!(done.err.starts_with("warning: whoever reaches 0.0.0.0:"), "{}", done.err);
}

#[test]
fn what_was_recorded_is_played_again() {
    let dir = scratch();
    let script = "{\"reply\":{\"text\":\"One.\"}}\n{\"reply\":{\"error\":{\"status\":529}}}\n{\"reply\":{\"text\":\"Two.\"}}\n";
    fs::write(dir.path().join("script"), script).unwrap();
    // A line that was cut short stays one of its own; here it is a comment.
    fs::write(dir.path().join("record"), "# begun").unwrap();
    let refused = json!({"model": "claude-opus-5", "max_tokens": 1, "messages": []});
    let requests = [request("a\nb"), refused, request("again"), streamed("c")];
    let played = |args: &[&str]| {
        let served = Served::with(dir.path(), args);
        let answers = requests.clone().map(|request| message(served.address(), &request));
        let done = served.end(Signal::TERM);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let note = "note: `record` has 1 line already, and what is recorded is added after it\n";
        assert_eq!(done.err.starts_with(note), args.contains(&"--record"), "{}", done.err);
        answers.map(|answer| {
            // Ids tell the number of the call, and sizes of chunks do not matter.
            let events = answer.body.lines().filter(|line| line.starts_with(['{', 'd']));
            (answer.status, events.map(str::to_owned).collect::<Vec<_>>())
        })
    };
    let first = played(&["--script", "script", "--record", "record"]);
    assert_eq!(
        first.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
        [200, 400, 529, 200],
        "{first:?}"
    );
    let record = fs::read_to_string(dir.path().join("record")).unwrap();
    assert_eq!(record.lines().count(), 4, "{record}");
    assert_eq!(played(&["--script", "record"]), first);
}

#[test]
fn its_own_complaints_are_not_recorded_and_nobody_tries_again() {
    let dir = scratch();
    let script = "{\"reply\":{\"text\":\"One.\"},\"when\":{\"last\":\"a\"},\"times\":1}\n\
                  {\"reply\":{\"tool_use\":{\"name\":\"weather\"}},\"when\":{\"last\":\"b\"}}\n\
                  {\"reply\":{\"error\":{\"status\":500}},\"when\":{\"last\":\"c\"}}\n";
    fs::write(dir.path().join("script"), script).unwrap();
    let played = |args: &[&str], texts: &[&str]| {
        let served = Served::with(dir.path(), args);
        let answers: Vec<_> = texts.iter().map(|text| message(served.address(), &request(text))).collect();
        assert_eq!(served.end(Signal::TERM).code, Some(0));
        let is_final = |answer: &Answered| answer.head.contains("\r\nx-should-retry: false");
        answers.iter().map(|answer| (answer.status, is_final(answer))).collect::<Vec<_>>()
    };
    let seen = played(&["--script", "script", "--record", "record"], &["a", "a", "b", "c"]);
    assert_eq!(seen, [(200, false), (500, true), (500, true), (500, false)]);
    let record = fs::read_to_string(dir.path().join("record")).unwrap();
    assert_eq!(record.lines().count(), 2, "{record}");
    assert!(!record.contains("memdir double"), "{record}");
    let seen = played(&["--script", "record", "--record", "again"], &["a", "other", "other", "c"]);
    assert_eq!(seen, [(200, false), (400, true), (400, true), (500, false)]);
    assert_eq!(fs::read_to_string(dir.path().join("again")).unwrap(), record);
}

#[test]
fn a_hundred_clients_at_once_are_all_answered() {
    let dir = scratch();
    let served = Served::with(dir.path(), &[]);
    let to = served.address();
    let answers: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..100)
            .map(|number| {
                let request = if number % 2 == 0 { request("a") } else { streamed("a") };
                scope.spawn(move || message(to, &request))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let ids: BTreeSet<_> = answers
        .iter()
        .map(|answer| answer.head.split("request-id: ").nth(1).unwrap().get(..28).unwrap())
        .collect();
    assert_eq!(ids.len(), 100);
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(served.end(Signal::TERM).err.lines().count(), 100);
}

#[test]
fn who_is_slow_or_silent_keeps_nobody_waiting_not_even_the_end() {
    let dir = scratch();
    let served = Served::with(dir.path(), &["--quiet"]);
    let body = request("a").to_string();
    let head = head("POST /v1/messages", body.len(), "");
    let begun = ["", "POST", &head, &format!("{head}{}", &body[..9])];
    let open: Vec<_> = (0..40)
        .map(|number| {
            let mut connection = TcpStream::connect(served.address()).unwrap();
            connection.write_all(begun[number % begun.len()].as_bytes()).unwrap();
            connection
        })
        .collect();
    // A stream that nobody reads.
    let mut unread = TcpStream::connect(served.address()).unwrap();
    let asked = streamed("a").to_string();
    write!(unread, "{}{asked}", self::head("POST /v1/messages", asked.len(), "")).unwrap();
    assert_eq!(message(served.address(), &request("a")).status, 200);
    let done = served.end(Signal::TERM);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    drop(open);
}

#[test]
fn what_is_too_large_is_refused_and_the_connection_lives_on() {
    let dir = scratch();
    let served = Served::with(dir.path(), &[]);
    let mut connection = TcpStream::connect(served.address()).unwrap();
    let large = vec![b' '; 40 << 20];
    connection.write_all(head("POST /v1/messages", large.len(), "").as_bytes()).unwrap();
    connection.write_all(&large).unwrap();
    // The next request, and the last.
    let body = request("a").to_string();
    let next = head("POST /v1/messages", body.len(), "connection: close\r\n");
    connection.write_all(format!("{next}{body}").as_bytes()).unwrap();
    let answer = Answered::read(&mut connection);
    assert_eq!(answer.status, 413, "{answer:?}");
    let (refused, rest) = answer.body.split_once("HTTP/1.1 200 OK").unwrap_or_else(|| panic!("{answer:?}"));
    let refused: Value = serde_json::from_str(refused).unwrap();
    assert_eq!((&refused["type"], &refused["error"]["type"]), (&json!("error"), &json!("request_too_large")));
    assert!(rest.contains("\"role\":\"assistant\""), "{rest}");
}

#[test]
fn whatever_comes_it_lives_on() {
    let dir = scratch();
    let served = Served::with(dir.path(), &[]);
    let to = served.address();
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1_000));
    let long = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(1 << 20));
    let odd = format!("GET /{} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", "é".repeat(9));
    let junk: &[&[u8]] = &[
        b"\0\x01\x02\r\n\r\n",
        b"junk\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\ncontent-length: 8\r\n\r\n",
        many.as_bytes(),
        long.as_bytes(),
        odd.as_bytes(),
    ];
    for bytes in junk {
        let mut connection = TcpStream::connect(to).unwrap();
        // It may be refused before all of it is written.
        let _ = connection.write_all(bytes);
        let _ = connection.shutdown(std::net::Shutdown::Write);
        let answer = Answered::read(&mut connection);
        assert!(matches!(answer.status, 0 | 400..=499), "{}: {answer:?}", bytes.escape_ascii());
    }
    let deep = "[".repeat(100_000);
    let cases: &[(&str, &[u8], &str, u16, &str)] = &[
        ("POST /v1/messages", b"\xff", "", 400, "invalid_request_error"),
        ("POST /v1/messages", b"", "", 400, "invalid_request_error"),
        ("POST /v1/messages", b"[", "", 400, "invalid_request_error"),
        ("POST /v1/messages", deep.as_bytes(), "", 400, "invalid_request_error"),
        ("GET /", b"", "", 404, "not_found_error"),
        ("OPTIONS *", b"", "", 404, "not_found_error"),
        ("CONNECT example.com:443", b"", "", 404, "not_found_error"),
        ("BREW /v1/complete", b"", "", 404, "not_found_error"),
        ("POST /v1/messages", b"{}", "origin: http://example.com\r\n", 403, "permission_error"),
        ("POST /v1/messages", b"{}", "origin: http://localhost.example.com\r\n", 403, "permission_error"),
        ("POST /v1/messages", b"{}", "origin: null\r\n", 403, "permission_error"),
        ("POST /v1/messages", b"{}", "origin: http://localhost:3000\r\n", 400, "invalid_request_error"),
        ("POST /v1/messages", b"{}", "origin: http://[::1]:3000\r\n", 400, "invalid_request_error"),
    ];
    for (line, body, more, status, kind) in cases {
        let answer = send(to, line, body, more);
        assert_eq!(answer.status, *status, "{line}: {answer:?}");
        assert_eq!(answer.json()["error"]["type"], *kind, "{line}: {answer:?}");
    }
    let answer = send(to, "HEAD /v1/messages", b"", "");
    assert!(matches!(answer.status, 404 | 405) && answer.body.is_empty(), "{answer:?}");
    assert_eq!(message(to, &request("a")).status, 200);
    assert_eq!(served.end(Signal::TERM).code, Some(0));
}

#[test]
fn a_stream_that_breaks_has_no_end() {
    let dir = scratch();
    fs::write(dir.path().join("script"), "{\"reply\":{\"text\":\"Four.\",\"breaks_after\":2}}\n").unwrap();
    let served = Served::with(dir.path(), &["--script", "script"]);
    let answer = message(served.address(), &streamed("a"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body.matches("event: ").count(), 2, "{answer:?}");
    assert!(!answer.body.contains("\r\n0\r\n"), "{answer:?}");
    let done = served.end(Signal::TERM);
    assert!(done.err.ends_with(" broken off\n"), "{}", done.err);
}

#[test]
fn in_process_it_is_watched_and_ends_when_it_is_dropped() {
    let (tell, told) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = serve_double_watched(listener, Double::new(Script::default()), move |seen| {
        let request: Value = serde_json::from_str(seen.body).unwrap();
        tell.send((seen.answer.status, request["messages"][0]["content"].clone())).unwrap();
    })
    .unwrap();
    assert_eq!(api.base_url(), format!("http://{}", api.address()));
    let to = api.address();
    let open = TcpStream::connect(to).unwrap();
    for text in ["one", "two"] {
        assert_eq!(message(to, &request(text)).status, 200);
    }
    drop(api);
    assert!(TcpStream::connect(to).is_err());
    assert_eq!(Answered::read(&mut &open).status, 0);
    assert_eq!(told.iter().collect::<Vec<_>>(), [(200, json!("one")), (200, json!("two"))]);
}

#[test]
fn many_in_one_process_are_apart() {
    let script = |text: &str| Script::from_lines(&json!({"reply": {"text": text}}).to_string()).unwrap();
    let texts = ["one", "two", "three"];
    let apis = texts.map(|text| {
        serve_double(TcpListener::bind("127.0.0.1:0").unwrap(), Double::new(script(text))).unwrap()
    });
    for (api, text) in apis.iter().zip(texts) {
        assert_eq!(message(api.address(), &request("a")).json()["content"][0]["text"], text);
    }
}
