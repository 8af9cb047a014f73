//! `memdir cat`: the bytes of a memory, as it is or as it was.

use std::ops::ControlFlow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::fault::Fault;
use super::ids;
use super::out::Out;
use super::paths::no_file;
use super::place::{Common, Missing, Opened};
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::store::{Found, History};
use crate::version::{Log, Version};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The memory
    #[arg(required_unless_present = "version")]
    path: Option<String>,
    /// Number the lines, as the agent sees them
    #[arg(short, long)]
    number: bool,
    /// Show this version of it
    #[arg(long, value_name = "VERSION", value_parser = ids::version)]
    version: Option<VersionId>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let path = args.path.as_deref().map(|path| opened.path(path)).transpose()?;
    if let Some(id) = args.version {
        let history = opened.store.history()?;
        let version = history.version(id)?;
        if let Some(path) = &path {
            refuse_foreign(&history, &version, path)?;
        }
        let bytes = history.content(id)?;
        say(args, version.path.as_ref(), Some(&version), &bytes, out);
    } else if let Some(path) = path {
        if args.common.json {
            match opened.store.read(&path)? {
                Found::File(bytes) => say(args, Some(&path), None, &bytes, out),
                Found::Not(look) => return Err(no_file(&path, look)),
            }
        } else {
            stream(&opened, &path, args.number, out)?;
        }
    }
    opened.warn();
    Ok(0)
}

/// Refuses a version of a memory that never was at `path`.
fn refuse_foreign(history: &History, version: &Version, path: &MemoryPath) -> Result<(), Fault> {
    let mut is_of_path = false;
    let log = Log { path: Some(path.clone()), memory: Some(version.memory_id), ..Log::default() };
    history.versions(&log, &mut |_| {
        is_of_path = true;
        Ok(ControlFlow::Break(()))
    })?;
    if is_of_path {
        return Ok(());
    }
    let at = version.path.as_ref().map_or_else(|| "another memory".to_owned(), |path| format!("`{path}`"));
    Err(Fault::failed(format!("version `{}` is of {at}, not of `{path}`", version.id)))
}

fn stream(opened: &Opened, path: &MemoryPath, is_numbered: bool, out: &mut Out) -> Result<(), Fault> {
    let mut lines = Numbers::default();
    let read = opened.store.read_pieces(path, &mut |piece| {
        if is_numbered { lines.say(piece, out) } else { out.bytes(piece) }
    })?;
    match read {
        Ok(()) if is_numbered => lines.end(out),
        Ok(()) => {}
        Err(look) => return Err(no_file(path, look)),
    }
    Ok(())
}

fn say(args: &Args, path: Option<&MemoryPath>, version: Option<&Version>, bytes: &[u8], out: &mut Out) {
    if args.common.json {
        let mut object = json!({"path": path.map(ToString::to_string), "size_bytes": bytes.len()});
        if let Some(version) = version {
            object["version_id"] = version.id.to_string().into();
        }
        match str::from_utf8(bytes) {
            Ok(text) => object["content"] = text.into(),
            Err(_) => object["content_base64"] = STANDARD.encode(bytes).into(),
        }
        _ = out.json(&object);
    } else if args.number {
        let mut lines = Numbers::default();
        _ = lines.say(bytes, out);
        lines.end(out);
    } else {
        _ = out.bytes(bytes);
    }
}

/// Numbers lines as a view does: the empty one after a last line end counts, too.
#[derive(Default)]
struct Numbers {
    lines: usize,
    is_within: bool,
}

impl Numbers {
    fn say(&mut self, piece: &[u8], out: &mut Out) -> ControlFlow<()> {
        for part in piece.split_inclusive(|&byte| byte == b'\n') {
            self.begin(out);
            out.bytes(part)?;
            self.is_within = part.last() != Some(&b'\n');
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, out: &mut Out) {
        if !self.is_within {
            self.lines += 1;
            _ = out.bytes(format!("{:>6}\t", self.lines).as_bytes());
        }
    }

    fn end(&mut self, out: &mut Out) {
        self.begin(out);
        _ = out.bytes(b"\n");
    }
}
