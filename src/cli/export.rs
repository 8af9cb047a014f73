//! `memdir export`: all memories as one archive.

use std::io::{self, BufWriter, IsTerminal, Read as _, Seek as _, Write as _, stdout};

use camino::Utf8PathBuf;
use serde_json::json;

use super::busy::Busy;
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
    let busy = Busy::with("writing the archive");
    let files = home::export(&opened.store, &mut file, args.history).map_err(|error| match error {
        ExportError::Store(error) => error.into(),
        ExportError::Write(error) => failed(&args.output, &error),
    })?;
    file.flush().map_err(|error| failed(&args.output, &error))?;
    drop(file);
    outlet.finish()?;
    drop(busy);
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
    // Nobody waits for whoever reads the pipe: while an archive is written no memory can be changed.
    let failed =
        |error: io::Error| Fault::failed(format!("cannot keep the archive in a temporary file: {error}"));
    let mut archive = BufWriter::new(tempfile::tempfile().map_err(failed)?);
    let busy = Busy::with("writing the archive");
    home::export(&opened.store, &mut archive, history).map_err(|error| match error {
        ExportError::Store(error) => error.into(),
        ExportError::Write(error) => failed(error),
    })?;
    drop(busy);
    opened.warn();
    let mut archive = archive.into_inner().map_err(|error| failed(error.into_error()))?;
    archive.rewind().map_err(failed)?;
    let mut piece = vec![0; PIECE];
    loop {
        match archive.read(&mut piece).map_err(failed)? {
            0 => return Ok(0),
            n => {
                if pipe::say(&piece[..n])? == Reader::Gone {
                    return Ok(0);
                }
            }
        }
    }
}

/// Bytes of an archive that are written at once.
const PIECE: usize = 64 << 10;
