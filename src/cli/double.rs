//! `memdir double`: the stand-in for the Messages API, on a port.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _, stderr};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;
use serde_json::Value;
use serde_json::value::RawValue;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::fault::{self, Fault};
use super::out::{BAD, GOOD};
use super::pipe;
use crate::double::{self, Answer, Body, Double, Script, Settings};
use crate::guard::Guard;
use crate::http::{Seen, serve_double_watched};
use crate::path;

/// Characters of a refusal that are told, and names of models that are not known.
const MOST: usize = 300;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to listen: an address of this machine and a port; port 0 takes one that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8089", value_parser = address)]
    listen: SocketAddr,
    /// A file of what to say: a JSON object on each line
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
    /// A file to which every request for a message is added, with what was answered, for --script
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The key that requests must have [default: any will do]
    #[arg(long, value_name = "KEY", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    key: Option<String>,
    /// The window of every model [default: that of the model]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// Do not tell of each request on standard error
    #[arg(long)]
    quiet: bool,
}

fn address(given: &str) -> Result<SocketAddr, String> {
    let addresses =
        given.to_socket_addrs().map_err(|_| match given.trim_start_matches(':').parse::<u16>() {
            Ok(port) => format!("it is a port alone: 127.0.0.1:{port} is one of this machine"),
            Err(_) => "it is no address with a port".to_owned(),
        })?;
    // A name may have more than one; programs look for the older first.
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| "no machine has that name".to_owned())
}

/// Serves until a signal ends it.
pub(super) fn run(args: Args) -> Result<ExitCode, Fault> {
    let double =
        Double::with(script(args.script.as_deref())?, Settings { key: args.key, window: args.window });
    let mut record = args.record.map(Record::open).transpose()?;
    let is_lost = Arc::new(AtomicBool::new(false));
    let listener = listen(args.listen)?;
    let failed = |error: io::Error| Fault::failed(format!("cannot serve: {error}"));
    // Before anybody can know that it runs.
    let end = signals().map_err(failed)?;

    let mut tells = Lines::new(args.quiet);
    let losing = Arc::clone(&is_lost);
    let running = serve_double_watched(listener, double, move |seen| {
        tells.tell(seen);
        if let Some(record) = &mut record
            && let Err(fault) = record.add(seen)
            && !losing.swap(true, Ordering::Relaxed)
        {
            fault.warn();
        }
    })
    .map_err(failed)?;
    if !running.address().ip().is_loopback() {
        let what = format!("whoever reaches {} can use it", running.address());
        Fault::failed(what).hint("--listen 127.0.0.1:8089 is for this machine alone").warn();
    }
    // Who started it may not listen; the requests of others are answered all the same.
    pipe::say(format!("{}\n", running.base_url()).as_bytes())?;
    wait(end);
    drop(running);
    let code = if is_lost.load(Ordering::Relaxed) { fault::FAILED } else { 0 };
    Ok(ExitCode::from(code))
}

fn script(file: Option<&str>) -> Result<Script, Fault> {
    let Some(file) = file else { return Ok(Script::default()) };
    // The person's own path, links and all: memories are not reached by it.
    #[allow(clippy::disallowed_methods, reason = "it is no memory")]
    let read = std::fs::read_to_string(file);
    let lines = read.map_err(|error| Fault::failed(format!("cannot read `{file}`: {error}")))?;
    Script::from_lines(&lines).map_err(|bad| Fault::failed(format!("`{file}`: {bad}")))
}

fn listen(at: SocketAddr) -> Result<TcpListener, Fault> {
    TcpListener::bind(at).map_err(|error| {
        let fault = Fault::failed(format!("cannot listen on {at}: {error}"));
        match error.kind() {
            io::ErrorKind::AddrInUse => fault.hint("--listen 127.0.0.1:0 takes a port that is free"),
            _ => fault,
        }
    })
}

/// What can be read from once a signal to end has come.
fn signals() -> io::Result<UnixStream> {
    let (end, told) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, told.try_clone()?)?;
    }
    Ok(end)
}

fn wait(mut end: UnixStream) {
    while end.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
}

/// A line for each request.
struct Lines {
    is_quiet: bool,
    has_colours: bool,
    /// Models that are not known, and were told of.
    strangers: BTreeSet<String>,
}

impl Lines {
    fn new(is_quiet: bool) -> Self {
        let has_colours = anstream::AutoStream::choice(&stderr()) != anstream::ColorChoice::Never;
        Self { is_quiet, has_colours, strangers: BTreeSet::new() }
    }

    fn tell(&mut self, seen: Seen<'_>) {
        if self.is_quiet {
            return;
        }
        fault::complain(&self.line(seen));
        let (Body::Json(message) | Body::Events { message, .. }) = &seen.answer.body;
        // What only was counted, or refused, names no model.
        if let Some(model) = message["model"].as_str()
            && !double::is_known(model)
            && self.strangers.len() < MOST
            && self.strangers.insert(cut(model))
        {
            note(&format!(
                "the model `{}` is not known here, and the real API may not know it either",
                cut(model)
            ));
        }
    }

    /// The status, what was asked for, and in how many tokens, or why it was refused: nothing that a message holds.
    fn line(&self, seen: Seen<'_>) -> String {
        let Answer { status, body, .. } = seen.answer;
        let style = match status {
            _ if !self.has_colours => Style::new(),
            ..400 => GOOD,
            _ => BAD,
        };
        let asked = format!("{} {}", cut(seen.method), cut(seen.path));
        let more = match body {
            Body::Json(json) if *status >= 400 => {
                let error = &json["error"];
                let text = |field: &str| cut(error[field].as_str().unwrap_or_default());
                let why = seen.answer.why.map(|why| format!(" ({why})")).unwrap_or_default();
                format!(" {}: {}{why}", text("type"), text("message"))
            }
            Body::Json(message) => usage(message),
            Body::Events { breaks: true, message, .. } => format!("{} broken off", usage(message)),
            Body::Events { message, .. } => format!("{} streamed", usage(message)),
        };
        let line = format!("{asked}{more}");
        let line = Guard::default().mask(&line).into_owned();
        format!("{style}{status}{style:#} {}", path::escape(&line))
    }
}

/// The tokens of a message, where there are any.
fn usage(message: &Value) -> String {
    let usage = &message["usage"];
    let number = |field: &str| usage[field].as_u64();
    let (Some(fresh), Some(output)) = (number("input_tokens"), number("output_tokens")) else {
        return String::new();
    };
    let of_cache = [("read", "cache_read_input_tokens"), ("written", "cache_creation_input_tokens")];
    let of_cache = of_cache.map(|(what, field)| match number(field) {
        None | Some(0) => String::new(),
        Some(tokens) => format!(", {tokens} {what}"),
    });
    format!(" tokens: {fresh} in{}, {output} out", of_cache.concat())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A file with what was asked and answered.
struct Record {
    name: String,
    file: File,
}

impl Record {
    fn open(name: String) -> Result<Self, Fault> {
        // The person's own path; what is made is private.
        #[allow(clippy::disallowed_methods, reason = "it is no memory")]
        let opened = OpenOptions::new().read(true).append(true).create(true).open(&name);
        let mut record = match opened {
            Ok(file) => Self { name, file },
            Err(error) => return Err(unwritten(&name, &error)),
        };
        let lines = record.end_line().map_err(|error| unwritten(&record.name, &error))?;
        if lines > 0 {
            let (s, them) = if lines == 1 { ("", "it") } else { ("s", "them") };
            let name = &record.name;
            note(&format!(
                "`{name}` has {lines} line{s} already, and what is recorded is added after {them}"
            ));
        }
        Ok(record)
    }

    /// What was cut short stays a line of its own. How many lines there are.
    fn end_line(&mut self) -> io::Result<u64> {
        // What is no file that can be read from its beginning, a pipe say, has no length.
        if self.file.metadata()?.len() == 0 {
            return Ok(0);
        }
        let mut lines = 0;
        let mut is_ended = true;
        let mut file = BufReader::new(&self.file);
        loop {
            let read = file.fill_buf()?;
            let Some(last) = read.last() else { break };
            is_ended = *last == b'\n';
            lines += memchr::memchr_iter(b'\n', read).count() as u64;
            let length = read.len();
            file.consume(length);
        }
        if !is_ended {
            self.file.write_all(b"\n")?;
            lines += 1;
        }
        Ok(lines)
    }

    fn add(&mut self, seen: Seen<'_>) -> Result<(), Fault> {
        // What was refused is refused again, whatever the script says.
        let Some(played) = seen.answer.played.as_deref() else { return Ok(()) };
        let Ok(request) = serde_json::from_str::<&RawValue>(played) else { return Ok(()) };
        let (Body::Json(response) | Body::Events { message: response, .. }) = &seen.answer.body;
        let request = request.get().replace(['\n', '\r'], " ");
        let status = seen.answer.status;
        let retry = seen.answer.headers.iter().find(|(name, _)| *name == "retry-after");
        let retry = retry.map(|(_, seconds)| format!(",\"retry_after\":{seconds}")).unwrap_or_default();
        let line = format!("{{\"request\":{request},\"status\":{status}{retry},\"response\":{response}}}\n");
        self.file.write_all(line.as_bytes()).map_err(|error| unwritten(&self.name, &error))
    }
}

/// Tells the person what is good to know.
fn note(what: &str) {
    fault::complain(&Guard::default().mask(&path::escape(&format!("note: {what}"))));
}

fn unwritten(name: &str, error: &io::Error) -> Fault {
    Fault::failed(format!("cannot write `{name}`: {error}"))
}
