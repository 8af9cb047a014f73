//! `memdir import`: files from an archive or a directory.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileTypeExt as _;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use super::busy::Busy;
use super::fault::{FAILED, Fault};
use super::out::{self, Out};
use super::pipe;
use super::place::{Common, Missing, Opened};
use super::when;
use super::words::many;
use crate::error::Error;
use crate::home::{ImportError, Imported, Limits, import_archive, import_directory};
use crate::path;
use crate::store::Others;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A tar archive, a directory, or `-` for an archive on standard input; the history of an export is passed over
    #[arg(value_name = "FILE|DIR")]
    source: Utf8PathBuf,
    /// Put the files below this directory [default: all memories]
    #[arg(long, value_name = "PATH")]
    into: Option<String>,
    /// Replace memories that are there; they stay in the history
    #[arg(long)]
    overwrite: bool,
    /// Refuse more files than this
    #[arg(long, value_name = "N", default_value_t = Limits::default().files)]
    max_files: u64,
    /// Refuse more bytes than this, all files together
    #[arg(long, value_name = "SIZE", value_parser = when::size, default_value = "1GiB")]
    max_bytes: u64,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Where the files come from.
enum Source {
    Directory,
    Archive(File),
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let limits = Limits { files: args.max_files, bytes: args.max_bytes };
    let source = open(&args.source, &limits)?;
    let opened = args.common.open(Missing::Make)?;
    let store = opened.store.clone();
    import(args, opened, source, &limits, out).map_err(|fault| {
        // A store that was made for nothing is in the way of who looks for one.
        if store.unmake() {
            fault
        } else {
            fault.and("the store that was made for it stays: something is in it by now")
        }
    })
}

fn import(
    args: &Args,
    mut opened: Opened,
    source: Source,
    limits: &Limits,
    out: &mut Out,
) -> Result<u8, Fault> {
    if let Some(reason) = &args.reason {
        opened.store = opened.store.with_reason(reason);
    }
    let into = opened.path_or_root(args.into.as_deref())?;
    // Of what is read-only only a part may be below it: each file is asked for.
    if let Err(hidden @ Error::Hidden { .. }) = opened.store.admit(&into) {
        return Err(hidden.into());
    }
    let others = if args.overwrite { Others::Overwrite } else { Others::Keep };
    let busy = Busy::with("importing");
    let done = match source {
        Source::Directory => {
            import_directory(&opened.store, args.source.as_std_path(), &into, others, limits)
        }
        Source::Archive(file) => import_archive(&opened.store, file, &into, others, limits),
    };
    drop(busy);
    let done = done.map_err(|error| refused(error, &opened.options))?;
    opened.warn();
    if args.common.json {
        let texts = |paths: &[path::MemoryPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        let said = json!({
            "change_id": done.change_id.map(|id| id.to_string()),
            "written": texts(&done.written),
            "unchanged": done.unchanged,
            "conflicts": texts(&done.conflicts),
        });
        _ = out.json(&said);
    } else {
        tell(&done, &opened.options, out);
    }
    if done.conflicts.is_empty() {
        return Ok(0);
    }
    out.flush();
    let places = done.conflicts.len() as u64;
    let places = format!("{} {}", many(places, "place"), if places == 1 { "holds" } else { "hold" });
    Fault::failed(format!("{places} something else, and nothing was changed there"))
        .hint(if args.overwrite {
            "no file is in the way there, but a directory, a link, or a file where a directory would be: move it away"
        } else {
            "--overwrite replaces files; they stay in the history"
        })
        .report();
    Ok(FAILED)
}

fn open(source: &Utf8Path, limits: &Limits) -> Result<Source, Fault> {
    let failed = |error: io::Error| Fault::failed(format!("cannot read `{source}`: {error}"));
    if source == "-" {
        return spool(limits, &mut pipe::hear).map(Source::Archive);
    }
    // The person's own path, links and all: memories are not reached by it.
    #[allow(clippy::disallowed_methods, reason = "it is no memory")]
    let mut file = File::open(source).map_err(failed)?;
    let kind = file.metadata().map_err(failed)?.file_type();
    Ok(if kind.is_dir() {
        Source::Directory
    } else if kind.is_fifo() {
        let hear = &mut |piece: &mut Vec<u8>| (&mut file).take(PIECE).read_to_end(piece).map_err(failed);
        Source::Archive(spool(limits, hear)?)
    } else {
        Source::Archive(file)
    })
}

/// Bytes of a pipe that are read at once.
const PIECE: u64 = 64 << 10;

/// Keeps what comes through a pipe in a file without a name, since an archive is read twice. `hear` appends what comes
/// next; 0 bytes: it has ended.
fn spool(limits: &Limits, hear: &mut dyn FnMut(&mut Vec<u8>) -> Result<usize, Fault>) -> Result<File, Fault> {
    // Headers with long names, and the end.
    let most = limits.bytes.saturating_add(limits.files.saturating_mul(4096)).saturating_add(1 << 20);
    let failed =
        |error: io::Error| Fault::failed(format!("cannot keep the archive in a temporary file: {error}"));
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut piece = Vec::new();
    let mut bytes = 0u64;
    while hear(&mut piece)? > 0 {
        bytes += piece.len() as u64;
        if bytes > most {
            return Err(refused(ImportError::TooMuch { what: "bytes", limit: limits.bytes }, ""));
        }
        file.write_all(&piece).map_err(failed)?;
        piece.clear();
    }
    file.rewind().map_err(failed)?;
    Ok(file)
}

fn refused(error: ImportError, options: &str) -> Fault {
    match error {
        ImportError::Store(error) => error.into(),
        ImportError::Broken { change, .. } => Fault::failed(error.to_string())
            .hint(format!("to take them back: memdir restore{options} --change {change}")),
        error => {
            let fault = Fault::failed(format!("nothing was imported: {error}"));
            match error {
                ImportError::TooMuch { .. } => fault.hint("--max-files and --max-bytes set the limits"),
                _ => fault,
            }
        }
    }
}

fn tell(done: &Imported, options: &str, out: &mut Out) {
    for (word, paths) in [("written", &done.written), ("in use", &done.conflicts)] {
        for path in paths {
            if out.line(format_args!("{word:<8}  {}", path::escape(&path.to_string()))).is_break() {
                return;
            }
        }
    }
    let written = many(done.written.len() as u64, "file");
    _ = out.line(format_args!("{written} written, {} there already.", done.unchanged));
    if let Some(change) = done.change_id {
        let id = out.paint(out::ID, change);
        _ = out.line(format_args!(
            "It is the change {id}; to undo it: memdir restore{options} --change {change}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limits_are_those_of_the_library() {
        assert_eq!(when::size("1GiB"), Ok(Limits::default().bytes));
    }
}
