//! `memdir export`: all memories as one archive.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};

use camino::Utf8PathBuf;
use serde_json::json;

use super::fault::Fault;
use super::out::Out;
use super::outlet::{Existing, Outlet, failed};
use super::pipe::{self, Reader};
use super::place::{Common, Missing, Opened};
use super::words::many;
use crate::home::{self, ExportError};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The archive to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Utf8PathBuf,
    /// Put the whole history into it, too, as JSON lines
    #[arg(long)]
    history: bool,
    /// Replace FILE if it is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    if args.output == "-" {
        return to_pipe(&opened, args.history);
    }
    opened.refuse_inside(&args.output)?;
    let existing = if args.force { Existing::Replace } else { Existing::Refuse("--force replaces it") };
    let mut outlet = Outlet::begin(&args.output, existing)?;
    let mut file = BufWriter::with_capacity(1 << 20, outlet.file());
    let files = home::export(&opened.store, &mut file, args.history).map_err(|error| match error {
        ExportError::Store(error) => error.into(),
        ExportError::Write(error) => failed(&args.output, &error),
    })?;
    file.flush().map_err(|error| failed(&args.output, &error))?;
    drop(file);
    outlet.finish()?;
    opened.warn();
    if args.common.json {
        _ = out.json(&json!({"output": args.output.as_str(), "files": files, "has_history": args.history}));
    } else {
        let history = if args.history { " and the history" } else { "" };
        _ = out.line(format_args!("{}{history} in {}.", many(files, "file"), args.output));
    }
    Ok(0)
}

fn to_pipe(opened: &Opened, history: bool) -> Result<u8, Fault> {
    if stdout().is_terminal() {
        return Err(
            Fault::usage("an archive is nothing for a terminal").hint("name a file, or pipe it somewhere")
        );
    }
    let mut pipe = BufWriter::with_capacity(64 << 10, Pipe(None));
    let done = home::export(&opened.store, &mut pipe, history).and_then(|_| Ok(pipe.flush()?));
    opened.warn();
    // What a writer holds back must not be written when it is dropped.
    let (pipe, _) = pipe.into_parts();
    match (done, pipe.0) {
        (_, Some(fault)) => Err(fault),
        (Err(ExportError::Store(error)), _) => Err(error.into()),
        (Err(ExportError::Write(error)), _) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Fault::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(0),
    }
}

/// Standard output as something to write to, and why that failed.
struct Pipe(Option<Fault>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match pipe::say(bytes) {
            Ok(Reader::Listens) => Ok(bytes.len()),
            Ok(Reader::Gone) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(fault) => {
                self.0 = Some(fault);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
