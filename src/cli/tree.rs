//! `memdir tree`: what is there, how large and how old it is, and who changed it last.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::fault::Fault;
use super::out::{self, Out};
use super::paths::no_file;
use super::place::{Common, Missing, Opened};
use super::walk::{Next, Stop, walk};
use super::when;
use super::words::{many, many_of, who};
use crate::path::{self, MemoryPath};
use crate::store::{History, Look};
use crate::text::human_size;
use crate::version::{Actor, Version, rfc3339};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A directory or a file [default: all memories]
    path: Option<String>,
    /// Go only so many levels deep; deeper directories show how much is in them
    #[arg(short = 'L', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    level: Option<u16>,
    #[command(flatten)]
    common: Common,
}

/// What is below a directory.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    files: u64,
    directories: u64,
    bytes: u64,
}

/// What the lines need beside the entry itself.
struct Context {
    history: Option<History>,
    now: DateTime<Utc>,
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let path = opened.path_or_root(args.path.as_deref())?;
    let history = match opened.store.history() {
        Ok(history) => Some(history),
        Err(error) => {
            opened.warn_of(error, "the files are shown without their history");
            None
        }
    };
    let context = Context { history, now: Utc::now(), json: args.common.json };
    let mut total = Total::default();
    match opened.store.look(&path)? {
        Look::File { size } => {
            let name = path.to_string();
            total = Total { files: 1, bytes: size, ..total };
            _ = context.file(&path, &name, size, 0, out)?;
        }
        Look::Directory => show(&opened, &path, args.level, &context, &mut total, out)?,
        Look::Missing if path.is_root() => {}
        look => return Err(no_file(&path, look)),
    }
    opened.warn();
    let Total { files, directories, bytes } = total;
    if context.json {
        let said = json!({"type": "total", "path": path.to_string(), "files": files, "directories": directories, "size_bytes": bytes});
        _ = out.json(&said);
    } else {
        let directories = many_of(directories, "directory", "directories");
        _ = out.line(format_args!("{}, {directories}, {}", many(files, "file"), human_size(bytes)));
    }
    Ok(0)
}

fn show(
    opened: &Opened,
    dir: &MemoryPath,
    levels: Option<u16>,
    context: &Context,
    total: &mut Total,
    out: &mut Out,
) -> Result<(), Fault> {
    if !context.json {
        _ = out.line(format_args!(
            "{}{}",
            " ".repeat(COLUMNS),
            out.paint(out::PLACE, format_args!("{}/", path::escape(&dir.to_string())))
        ));
    }
    _ = walk(&opened.store, dir, &mut |Stop { path, entry, level }| {
        let flow = if !entry.is_dir {
            total.files += 1;
            total.bytes += entry.size;
            context.file(&path, &entry.name, entry.size, level, out)?
        } else if levels.is_some_and(|levels| level >= usize::from(levels)) {
            let below = measure(opened, &path)?;
            total.files += below.files;
            total.bytes += below.bytes;
            total.directories += 1 + below.directories;
            return Ok(next(context.directory(&path, &entry.name, Some(below), level, out), Next::Over));
        } else {
            total.directories += 1;
            context.directory(&path, &entry.name, None, level, out)
        };
        Ok(next(flow, Next::Into))
    })?;
    Ok(())
}

fn next(flow: ControlFlow<()>, next: Next) -> Next {
    if flow.is_break() { Next::Home } else { next }
}

/// How much is below a directory that is not shown.
fn measure(opened: &Opened, dir: &MemoryPath) -> Result<Total, Fault> {
    let mut total = Total::default();
    _ = walk(&opened.store, dir, &mut |Stop { entry, .. }| {
        if entry.is_dir {
            total.directories += 1;
        } else {
            total.files += 1;
            total.bytes += entry.size;
        }
        Ok(Next::Into)
    })?;
    Ok(total)
}

/// Characters of the columns for who made the last change, of all columns, and of a level.
const WHO: usize = 16;
const COLUMNS: usize = 8 + 2 + 4 + 2 + WHO + 2;
const INDENT: usize = 2;

impl Context {
    fn file(
        &self,
        path: &MemoryPath,
        name: &str,
        size: u64,
        level: usize,
        out: &mut Out,
    ) -> Result<ControlFlow<()>, Fault> {
        let head = match &self.history {
            Some(history) => history.head(path)?,
            None => None,
        };
        // Another size than that of the last version: somebody wrote it who is not memdir, and nobody has looked since.
        let head = head.filter(|head| head.content_size_bytes == Some(size));
        let by = match &head {
            Some(head) => Some(&head.created_by),
            None => self.history.is_some().then_some(&Actor::Outside),
        };
        if self.json {
            return Ok(out.json(&file_object(path, size, head.as_ref(), by)));
        }
        let unknown = || "-".to_owned();
        let age = head.as_ref().map_or_else(unknown, |head| when::age(&head.created_at, &self.now));
        let who = by.map_or_else(unknown, who);
        let columns = format!("{:>8}  {age:>4}  {:<WHO$}", human_size(size), cut(&who));
        let indent = " ".repeat(level * INDENT);
        Ok(out.line(format_args!("{}  {indent}{}", out.paint(out::FAINT, columns), path::escape_name(name))))
    }

    fn directory(
        &self,
        path: &MemoryPath,
        name: &str,
        below: Option<Total>,
        level: usize,
        out: &mut Out,
    ) -> ControlFlow<()> {
        if self.json {
            let mut object = json!({"type": "directory", "path": path.to_string()});
            if let Some(below) = below {
                object["files"] = below.files.into();
                object["directories"] = below.directories.into();
                object["size_bytes"] = below.bytes.into();
            }
            return out.json(&object);
        }
        let columns = match below {
            Some(below) => {
                let files = many(below.files, "file");
                format!("{:>8}  {:<width$}", human_size(below.bytes), files, width = 4 + 2 + WHO)
            }
            None => " ".repeat(COLUMNS - 2),
        };
        let indent = " ".repeat(level * INDENT);
        let name = out.paint(out::PLACE, format!("{}/", path::escape_name(name)));
        out.line(format_args!("{}  {indent}{name}", out.paint(out::FAINT, columns)))
    }
}

fn file_object(path: &MemoryPath, size: u64, head: Option<&Version>, by: Option<&Actor>) -> Value {
    json!({
        "type": "file",
        "path": path.to_string(),
        "size_bytes": size,
        "memory_id": head.map(|head| head.memory_id.to_string()),
        "version_id": head.map(|head| head.id.to_string()),
        "changed_at": head.map(|head| rfc3339(&head.created_at)),
        "changed_by": by,
    })
}

/// A name that is too wide for its column ends in `…`.
fn cut(who: &str) -> String {
    match who.char_indices().nth(WHO) {
        None => who.to_owned(),
        Some(_) => who.chars().take(WHO - 1).chain(['…']).collect(),
    }
}
