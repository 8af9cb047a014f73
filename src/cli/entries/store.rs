//! `memdir store`: a new entry.

use chrono::{DateTime, Utc};

use super::super::busy::Busy;
use super::super::fault::Fault;
use super::super::out::{self, Out};
use super::super::place::{Common, Missing, tell_warned};
use super::super::{ids, pipe, when};
use super::{check_category, recall_shown};
use crate::id::MemoryId;
use crate::path;
use crate::recall::{NewEntry, Similar, Stored};
use crate::store::Settings;
use crate::text::quote;
use crate::tool::StoredShown;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The text; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    content: String,
    /// What kind of memory it is: `user_preference`, `project_context`, `factual_knowledge`, `decision_log`, `relationship`,
    /// `task_progress`, or one of the settings
    #[arg(long, value_name = "CATEGORY")]
    category: String,
    /// How important it is, 1 to 5
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    importance: u8,
    /// A tag (may be given several times)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// When it ends: a time, or a span from now on such as 30d [default: never]
    #[arg(long, value_name = "TIME", value_parser = when::coming)]
    expires: Option<DateTime<Utc>>,
    /// What it is the current value of; replaces the entry of the category that has this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// An entry that it replaces (may be given several times)
    #[arg(long, value_name = "ID", value_parser = ids::memory)]
    supersedes: Vec<MemoryId>,
    /// It neither ages nor is pruned
    #[arg(long)]
    pinned: bool,
    #[command(flatten)]
    common: Common,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let content = match args.content.as_str() {
        "-" => standard_input()?,
        content => content.to_owned(),
    };
    check(args, &content)?;
    let opened = args.common.open(Missing::Make)?;
    let busy = Busy::with("storing");
    let stored = recall_shown(&opened, &busy).store(NewEntry {
        content,
        category: args.category.clone(),
        importance: args.importance,
        tags: args.tag.clone(),
        expires_at: args.expires,
        key: args.key.clone(),
        supersedes: args.supersedes.clone(),
        pinned: args.pinned,
    })?;
    drop(busy);
    if args.common.json {
        _ = out.json(&StoredShown::new(&stored));
    } else {
        tell(&stored, out);
        tell_warned(&stored.warned);
    }
    opened.warn();
    Ok(0)
}

/// Refuses what is wrong usage before a store is made for it.
fn check(args: &Args, content: &str) -> Result<(), Fault> {
    if content.trim().is_empty() {
        return Err(Fault::usage("the content is empty"));
    }
    match args.common.open(Missing::Refuse) {
        Err(fault) if fault.is_no_store() => check_category(&Settings::default(), &args.category),
        opened => check_category(opened?.store.settings(), &args.category),
    }
}

fn standard_input() -> Result<String, Fault> {
    let mut input = Vec::new();
    while pipe::hear(&mut input)? > 0 {}
    let text = String::from_utf8(input).map_err(|_| Fault::failed("standard input is not UTF-8 text"))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn tell(stored: &Stored, out: &mut Out) {
    let did = if stored.duplicate_of.is_some() { "Already there, and brought up to date" } else { "Stored" };
    let (id, place) = (out.paint(out::ID, stored.memory_id), stored.path.to_string());
    _ = out.line(format_args!("{did}: {id}  {}", out.paint(out::PLACE, path::escape(&place))));
    for id in &stored.superseded {
        _ = out.line(format_args!("Superseded: {}", out.paint(out::ID, id)));
    }
    for Similar { id, content, score, differs, .. } in &stored.similar {
        let line = content.lines().next().unwrap_or_default();
        let line = out.shown(&quote(line)).into_owned();
        let differs =
            if differs.is_empty() { String::new() } else { format!(", differs in {}", differs.join(", ")) };
        _ = out.line(format_args!("Similar: {}  {score:.3}{differs}  {line}", out.paint(out::ID, id)));
    }
}
