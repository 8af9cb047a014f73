//! `memdir diff`: what differs between two versions of a memory.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::fault::{FAILED, Fault};
use super::out::{self, Out};
use super::paths::no_file;
use super::place::{Common, Missing, quoted};
use super::{ids, when};
use crate::error::Error;
use crate::id::{MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::store::{Found, History, Look};
use crate::text::{Bytes, unified};
use crate::version::{Log, Operation, Version, rfc3339};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The memory, by its path or one that it had before
    path: String,
    /// The older side: a version, or a time [default: the version before the newest]
    #[arg(value_parser = point)]
    from: Option<Point>,
    /// The newer side: a version, or a time [default: the file as it is]
    #[arg(value_parser = point)]
    to: Option<Point>,
    /// Show N lines around each change
    #[arg(short = 'U', long, value_name = "N", default_value_t = 3)]
    unified: usize,
    /// End with exit code 1 if they differ
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    common: Common,
}

/// Which version is meant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Point {
    Version(VersionId),
    Time(DateTime<Utc>),
}

/// One side of a comparison. Without a version and without bytes: nothing was there.
struct Side {
    version: Option<Version>,
    is_now: bool,
    bytes: Option<Bytes>,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let path = opened.path(&args.path)?;
    match opened.store.look(&path)? {
        Look::Directory => {
            let log = format!("memdir log {}", quoted(&path.to_string()));
            let hint = format!("a file can be compared; `{log}` shows what changed in the directory");
            return Err(Fault::failed(format!("`{path}` is a directory")).hint(hint));
        }
        // Somebody may have moved it anywhere.
        Look::Missing => opened.take_in(&MemoryPath::ROOT),
        _ => opened.take_in(&path),
    }
    let history = opened.store.history()?;
    let mut newest = newest(&history, &path)?;
    // It may be elsewhere by now, where something may have been done to it, too.
    let path = match &newest {
        Some(Version { path: Some(now), memory_id, .. }) if *now != path => {
            opened.take_in(now);
            newest = first(&history, &of_memory(*memory_id))?;
            newest.as_ref().and_then(|newest| newest.path.clone()).unwrap_or(path)
        }
        _ => path,
    };
    let to = match args.to {
        Some(point) => pick(&history, point, newest.as_ref())?,
        None => match opened.store.read(&path)? {
            Found::File(bytes) => Side { version: newest.clone(), is_now: true, bytes: Some(bytes) },
            Found::Not(_) if newest.is_some() => Side { version: newest.clone(), is_now: true, bytes: None },
            Found::Not(look) => return Err(no_file(&path, look)),
        },
    };
    let from = match args.from {
        Some(point) => pick(&history, point, newest.as_ref())?,
        None => match &newest {
            Some(newest) => side(&history, earlier(&history, newest, &|version| version.n < newest.n)?)?,
            None => Side::NOTHING,
        },
    };
    opened.warn();
    let differs = from.bytes != to.bytes || from.path() != to.path();
    if args.common.json {
        _ = out.json(&object(&path, &from, &to, args.unified));
    } else if differs {
        _ = say(&path, &from, &to, args.unified, out);
    }
    Ok(if differs && args.exit_code { FAILED } else { 0 })
}

fn point(text: &str) -> Result<Point, String> {
    if text.starts_with("mem") {
        return ids::version(text).map(Point::Version);
    }
    when::moment(text).map(Point::Time)
}

/// The newest version of the memory that is at a path, else of the one that was there last, wherever it is now.
fn newest(history: &History, path: &MemoryPath) -> Result<Option<Version>, Fault> {
    if let Some(head) = history.head(path)? {
        return Ok(Some(head));
    }
    let mut last = None;
    history.versions(&Log { path: Some(path.clone()), ..Log::default() }, &mut |version| {
        if version.path.as_ref() != Some(path) {
            return Ok(ControlFlow::Continue(()));
        }
        last = Some(version.memory_id);
        Ok(ControlFlow::Break(()))
    })?;
    match last {
        Some(memory) => first(history, &of_memory(memory)),
        None => Ok(None),
    }
}

fn of_memory(memory: MemoryId) -> Log {
    Log { memory: Some(memory), ..Log::default() }
}

fn pick(history: &History, point: Point, newest: Option<&Version>) -> Result<Side, Fault> {
    match (point, newest) {
        (Point::Version(id), _) => side(history, Some(history.version(id)?)),
        (Point::Time(time), Some(newest)) => {
            side(history, earlier(history, newest, &|version| version.created_at < time)?)
        }
        (Point::Time(_), None) => Ok(Side::NOTHING),
    }
}

/// The newest version of a memory that `is_it`; `None`: the memory was not there yet.
fn earlier(
    history: &History,
    newest: &Version,
    is_it: &dyn Fn(&Version) -> bool,
) -> Result<Option<Version>, Fault> {
    let (mut found, mut has_more) = (None, false);
    history.versions(&of_memory(newest.memory_id), &mut |version| {
        has_more = version.prev.is_some();
        if !is_it(&version) {
            return Ok(ControlFlow::Continue(()));
        }
        found = Some(version);
        Ok(ControlFlow::Break(()))
    })?;
    if found.is_none() && has_more {
        // Retention took what was before.
        return Err(Error::TooEarly { path: newest.path.clone().unwrap_or(MemoryPath::ROOT) }.into());
    }
    Ok(found)
}

fn first(history: &History, log: &Log) -> Result<Option<Version>, Fault> {
    let mut first = None;
    history.versions(log, &mut |version| {
        first = Some(version);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(first)
}

fn side(history: &History, version: Option<Version>) -> Result<Side, Fault> {
    let bytes = match &version {
        Some(version) if version.operation != Operation::Deleted => Some(history.content(version.id)?),
        _ => None,
    };
    Ok(Side { version, is_now: false, bytes })
}

/// Both sides as text; `None` where one is none.
fn texts<'a>(from: &'a Side, to: &'a Side) -> Option<(&'a str, &'a str)> {
    fn text(side: &Side) -> Option<&str> {
        str::from_utf8(side.bytes.as_ref().map_or(&[][..], |bytes| bytes)).ok()
    }
    text(from).zip(text(to))
}

fn say(path: &MemoryPath, from: &Side, to: &Side, context: usize, out: &mut Out) -> ControlFlow<()> {
    let Some((old, new)) = texts(from, to) else {
        return out.line(format_args!("{} and {} differ, and are no text", from.label(path), to.label(path)));
    };
    out.line(out.paint(out::STRONG, format_args!("--- {}", from.label(path))))?;
    out.line(out.paint(out::STRONG, format_args!("+++ {}", to.label(path))))?;
    out.hunks(old, new, context, "")
}

fn object(path: &MemoryPath, from: &Side, to: &Side, context: usize) -> Value {
    let texts = texts(from, to);
    json!({
        "path": path.to_string(),
        "from": from.object(),
        "to": to.object(),
        "differs": from.bytes != to.bytes || from.path() != to.path(),
        "is_text": texts.is_some(),
        "diff": texts.map(|(old, new)| unified(old, new, context)),
    })
}

impl Side {
    const NOTHING: Self = Self { version: None, is_now: false, bytes: None };

    /// Where the memory was, or is.
    fn path(&self) -> Option<&MemoryPath> {
        self.version.as_ref().and_then(|version| version.path.as_ref())
    }

    /// How it is called in a heading.
    fn label(&self, path: &MemoryPath) -> String {
        let path = self.path().unwrap_or(path);
        match &self.version {
            Some(version) => {
                let when = when::local(&version.created_at);
                let nothing = if self.bytes.is_none() { ", deleted" } else { "" };
                let now = if self.is_now && self.bytes.is_some() { ", now" } else { "" };
                format!("{path} ({}, {when}{nothing}{now})", version.id)
            }
            None if self.is_now => format!("{path} (now)"),
            None => "/dev/null".to_owned(),
        }
    }

    fn object(&self) -> Value {
        json!({
            "version_id": self.version.as_ref().map(|version| version.id.to_string()),
            "path": self.path().map(ToString::to_string),
            "created_at": self.version.as_ref().map(|version| rfc3339(&version.created_at)),
            "is_now": self.is_now,
            "is_there": self.bytes.is_some(),
        })
    }
}
