//! `memdir log`: what was changed, when and by whom.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::fault::{self, Fault};
use super::out::{self, Out};
use super::place::{Common, Missing};
use super::words::who;
use super::{ids, when, words};
use crate::error::Error;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::{self, MemoryPath};
use crate::store::History;
use crate::text::Bytes;
use crate::text::human_size;
use crate::version::{ActorFilter, Log, Operation, Version};

/// Lines around each change.
const CONTEXT: usize = 3;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file or a directory, there or deleted [default: all memories]
    path: Option<String>,
    /// Show at most N versions
    #[arg(short = 'n', long, value_name = "N")]
    number: Option<u64>,
    /// Show what each version changed, too
    #[arg(short = 'p', long, conflicts_with = "json")]
    patch: bool,
    /// Only what they did: `agents`, `users`, `outside`, or a name
    #[arg(long, value_name = "WHO", value_parser = actor)]
    actor: Option<ActorFilter>,
    /// Only versions that did this
    #[arg(long, value_name = "WHAT", value_parser = operations())]
    operation: Option<Operation>,
    /// Only what was done at this time or later
    #[arg(long, value_name = "TIME", value_parser = when::moment)]
    since: Option<DateTime<Utc>>,
    /// Only what was done before this time
    #[arg(long, value_name = "TIME", value_parser = when::moment)]
    before: Option<DateTime<Utc>>,
    /// Only what this change did
    #[arg(long, value_name = "CHANGE", value_parser = ids::change)]
    change: Option<ChangeId>,
    /// Only versions of this memory
    #[arg(long, value_name = "MEMORY", value_parser = ids::memory)]
    memory: Option<MemoryId>,
    /// Go on after this version: only older ones
    #[arg(long, value_name = "VERSION", value_parser = ids::version)]
    after: Option<VersionId>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let path = args.path.as_deref().map(|path| opened.path(path)).transpose()?;
    opened.take_in(path.as_ref().unwrap_or(&MemoryPath::ROOT));
    let log = Log {
        path: path.filter(|path| !path.is_root()),
        memory: args.memory,
        change: args.change,
        actor: args.actor.clone(),
        operation: args.operation,
        since: args.since,
        before: args.before,
        after: args.after,
    };
    let history = opened.store.history()?;
    // What each version changed is asked beside the running query.
    let beside = opened.store.history()?;
    let mut left = args.number.unwrap_or(u64::MAX);
    let mut change = None;
    if left > 0 {
        history.versions(&log, &mut |version| {
            left -= 1;
            let flow = if args.common.json {
                out.json(&version)
            } else {
                let is_new = change.replace(version.change_id) != Some(version.change_id);
                let flow = say(&version, is_new, out);
                if args.patch && flow.is_continue() { patch(&beside, &version, out)? } else { flow }
            };
            Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
        })?;
    }
    if change.is_none() && !args.common.json && args.number != Some(0) {
        let all = log == Log::default();
        fault::complain(if all { "Nothing in the history." } else { "Nothing in the history matches." });
    }
    opened.warn();
    Ok(0)
}

/// Says one version, below a line for its change where that begins.
fn say(version: &Version, is_new: bool, out: &mut Out) -> ControlFlow<()> {
    let flow = if is_new { heading(version, out) } else { ControlFlow::Continue(()) };
    if flow.is_break() {
        return flow;
    }
    let did = out.paint(words::style(version.operation), words::did(version));
    let size = version.content_size_bytes.map_or_else(|| "-".to_owned(), human_size);
    let place = match (&version.path, &version.redacted) {
        (Some(path), _) => words::place(version, path),
        (None, Some(redacted)) => {
            format!("(redacted {} by {})", when::local(&redacted.at), who(&redacted.by))
        }
        (None, None) => "(redacted)".to_owned(),
    };
    let mut flow = out.line(format_args!("  {}  {did:<8}  {size:>8}  {place}", version.id));
    for warning in &version.warnings {
        if flow.is_continue() {
            flow = out.line(format_args!("      {}", out.paint(out::ODD, warning)));
        }
    }
    flow
}

/// Says what a version changed.
fn patch(history: &History, version: &Version, out: &mut Out) -> crate::error::Result<ControlFlow<()>> {
    let mut before = None;
    let log = Log { memory: Some(version.memory_id), after: Some(version.id), ..Log::default() };
    history.versions(&log, &mut |version| {
        before = Some(version);
        Ok(ControlFlow::Break(()))
    })?;
    let (Some(old), Some(new)) = (content(history, before.as_ref())?, content(history, Some(version))?)
    else {
        return Ok(out.line("    what was in it is not in the history"));
    };
    Ok(match (str::from_utf8(&old), str::from_utf8(&new)) {
        (Ok(old), Ok(new)) => out.hunks(old, new, CONTEXT, "    "),
        _ => out.line("    no text"),
    })
}

/// What a memory held; `None` when nobody knows any more.
fn content(history: &History, version: Option<&Version>) -> crate::error::Result<Option<Bytes>> {
    match version {
        Some(version) if version.operation != Operation::Deleted => match history.content(version.id) {
            Err(Error::NoContent { .. }) => Ok(None),
            content => content.map(Some),
        },
        _ => Ok(Some(Bytes::default())),
    }
}

fn heading(version: &Version, out: &mut Out) -> ControlFlow<()> {
    let id = out.paint(out::ID, version.change_id);
    let reason = match &version.reason {
        Some(reason) => format!("  \"{}\"", path::escape(reason)),
        None => String::new(),
    };
    out.line(format_args!("{id}  {}  {}{reason}", when::local(&version.created_at), who(&version.created_by)))
}

fn actor(text: &str) -> Result<ActorFilter, &'static str> {
    Ok(match text {
        "" => return Err("it is empty"),
        "agents" | "agent" => ActorFilter::Agents,
        "users" | "user" => ActorFilter::Users,
        "outside" => ActorFilter::Outside,
        name => ActorFilter::Named(name.to_owned()),
    })
}

fn operations() -> impl TypedValueParser<Value = Operation> {
    const ALL: [Operation; 3] = [Operation::Created, Operation::Modified, Operation::Deleted];
    PossibleValuesParser::new(ALL.map(Operation::as_str)).try_map(|name| {
        ALL.into_iter().find(|operation| operation.as_str() == name).ok_or("it is no operation")
    })
}
