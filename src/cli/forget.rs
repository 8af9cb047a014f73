//! `memdir forget`: removes a whole store, and has another process prove that nothing is left of it.

use std::env;
use std::io::{self, IsTerminal, Write, stderr, stdin};
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::busy::Busy;
use super::fault::{FAILED, Fault};
use super::out::{self, Out};
use super::outlet::{Existing, Outlet, failed};
use super::place::{Common, Missing, Opened};
use super::traces::{self, Searched};
use super::when;
use super::words::{many, many_of};
use crate::store::Receipt;
use crate::text::human_size;
use crate::version::rfc3339;

/// Hashes of what went that are shown to a person.
const SHOWN: usize = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Forget all memories and their whole history
    #[arg(long, required = true)]
    all: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Write the receipt to this new file, too, as JSON
    #[arg(long, value_name = "FILE")]
    receipt: Option<Utf8PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    if let Some(path) = &args.receipt {
        opened.refuse_inside(path)?;
    }
    if !args.yes {
        confirm(&opened)?;
    }
    let outlet = match &args.receipt {
        Some(path) => Some((path, Outlet::begin(path, Existing::Refuse("give the receipt another name"))?)),
        None => None,
    };
    let busy = Busy::with("forgetting");
    let receipt = opened.store.forget()?;
    let base = opened.base.clone();
    // The journal is closed before anybody reads its bytes.
    drop(opened);
    let searched = search(&base, &receipt.traces);
    drop(busy);
    let object = object(&receipt, searched.as_ref().ok());
    // It is all gone by now: what cannot be kept is told at least.
    let kept = outlet.map_or(Ok(()), |(path, outlet)| keep(path, outlet, &object));
    if args.common.json {
        _ = out.json(&object);
    } else {
        tell(&receipt, searched.as_ref().ok(), out);
    }
    let fault = match searched {
        Ok(searched) if searched.found.is_empty() => return kept.map(|()| 0),
        Ok(searched) => Fault::failed(format!(
            "something of what was to be forgotten is still in {}",
            searched.found.join(", ")
        ))
        .hint("if memdir wrote it there, run the command again; else remove it by hand"),
        Err(error) => {
            Fault::failed(format!("everything was removed, but what is left could not be searched: {error}"))
        }
    };
    out.flush();
    fault.report();
    kept.map(|()| FAILED)
}

/// Writes the receipt to its file.
fn keep(path: &Utf8Path, mut outlet: Outlet<'_>, receipt: &Value) -> Result<(), Fault> {
    writeln!(outlet.file(), "{receipt:#}").map_err(|error| failed(path, &error))?;
    outlet.finish()
}

/// Has the person type the name of the store.
fn confirm(opened: &Opened) -> Result<(), Fault> {
    if !stdin().is_terminal() {
        return Err(Fault::usage("this cannot be undone").hint("give --yes if it is meant"));
    }
    let absolute = opened.absolute();
    let name = absolute.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy());
    let _ = write!(
        stderr(),
        "This removes all memories in `{}` and their whole history, and cannot be undone.\nType `{name}` to go on: ",
        opened.base
    );
    let mut typed = String::new();
    stdin()
        .read_line(&mut typed)
        .map_err(|error| Fault::failed(format!("cannot read standard input: {error}")))?;
    if typed.trim_end_matches(['\r', '\n']) == name {
        return Ok(());
    }
    Err(Fault::failed("nothing was forgotten"))
}

/// Has another process search what is left of the store for pieces of what was in it.
fn search(base: &Utf8Path, traces: &[Vec<u8>]) -> io::Result<Searched> {
    #[allow(clippy::disallowed_methods, reason = "the command starts itself")]
    let itself = env::current_exe()?;
    let mut child = Command::new(itself)
        .arg(traces::NAME)
        .arg(base)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    // It reads all of them before it answers.
    let written = stdin.write_all(traces::encode(traces).as_bytes());
    drop(stdin);
    let output = child.wait_with_output()?;
    written?;
    let found = output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten();
    found.ok_or_else(|| io::Error::other("the search failed"))
}

fn tell(receipt: &Receipt, searched: Option<&Searched>, out: &mut Out) {
    fn row(out: &mut Out, name: &str, value: &str) {
        _ = out.line(format_args!("{name:<14}{value}"));
    }
    _ = out.line(out.paint(out::STRONG, format_args!("Forgotten {}", when::local(&receipt.at))));
    row(out, "files", &format!("{} ({})", receipt.files, human_size(receipt.bytes)));
    row(
        out,
        "history",
        &format!(
            "{} of {}",
            many(receipt.versions, "version"),
            many_of(receipt.memories, "memory", "memories")
        ),
    );
    row(out, "chain", &receipt.head.to_string());
    for (at, hash) in receipt.contents.iter().take(SHOWN).enumerate() {
        row(out, if at == 0 { "contents" } else { "" }, &hash.to_string());
    }
    if receipt.contents.len() > SHOWN {
        row(
            out,
            "",
            &format!("and {} more, which --json and --receipt give", receipt.contents.len() - SHOWN),
        );
    }
    if let Some(searched) = searched {
        let verdict = match searched.found.len() {
            0 => "nothing is left".to_owned(),
            n => format!("traces in {}", many(n as u64, "file")),
        };
        let files = many(searched.files, "file");
        let traces = many(receipt.traces.len() as u64, "trace");
        row(out, "searched", &format!("{files} ({}) for {traces}: {verdict}", human_size(searched.bytes)));
    }
    row(out, "out of reach", "backups, copies, and what models and people have read");
    for place in &receipt.out_of_reach {
        row(out, "", place);
    }
}

/// The receipt without the traces.
fn object(receipt: &Receipt, searched: Option<&Searched>) -> Value {
    json!({
        "type": "receipt",
        "forgotten_at": rfc3339(&receipt.at),
        "files": receipt.files,
        "size_bytes": receipt.bytes,
        "memories": receipt.memories,
        "versions": receipt.versions,
        "head": receipt.head.to_string(),
        "contents_sha256": receipt.contents.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "out_of_reach": receipt.out_of_reach,
        "search": searched.map(|searched| json!({
            "files": searched.files,
            "size_bytes": searched.bytes,
            "traces": receipt.traces.len(),
            "found_in": searched.found,
        })),
    })
}
