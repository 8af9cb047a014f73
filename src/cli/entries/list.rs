//! `memdir list`: memories that meet some filters, newest first.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};

use super::super::busy::Busy;
use super::super::fault::{Fault, complain};
use super::super::out::{self, Out};
use super::super::place::{Common, Missing};
use super::super::when;
use super::{Filters, joined, recall_shown};
use crate::path;
use crate::recall::Memory;
use crate::tool::MemoryShown;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Show at most N memories [default: all]
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    common: Common,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let ask = args.filters.ask(&opened, "", args.limit.unwrap_or(NonZeroUsize::MAX))?;
    let busy = Busy::with("looking");
    let memories = recall_shown(&opened, &busy).list(&ask)?.memories;
    drop(busy);
    if memories.is_empty() && !args.common.json {
        complain("There is no such memory.");
    }
    let now = ask.as_of.unwrap_or_else(|| opened.store.now());
    _ = memories.iter().try_for_each(|memory| {
        if args.common.json { out.json(&MemoryShown::unranked(memory)) } else { say(memory, &now, out) }
    });
    opened.warn();
    Ok(0)
}

fn say(memory: &Memory, now: &DateTime<Utc>, out: &mut Out) -> ControlFlow<()> {
    let id = out.paint(out::ID, memory.id);
    let importance = memory.importance.map_or("-".to_owned(), |importance| importance.to_string());
    let age = when::age(&memory.updated_at, now);
    let path = memory.path.to_string();
    let mut more = String::new();
    if memory.pinned {
        more.push_str("  pinned");
    }
    if !memory.tags.is_empty() {
        more.push_str("  ");
        more.push_str(&joined(&memory.tags));
    }
    let path = out.paint(out::PLACE, path::escape(&path));
    out.line(format_args!("{id}  {importance}  {age:>4}  {path}{}", out.paint(out::FAINT, more)))
}
