//! `memdir prune`: removes entries whose time is over, or old history.

use std::time::Duration;

use serde_json::json;

use super::busy::Busy;
use super::fault::Fault;
use super::out::Out;
use super::place::{Common, Missing};
use super::redact::{PENDING, erasure};
use super::when;
use super::words::{many, many_of};
use crate::store::{Erasure, Settings};
use crate::text::human_size;
use crate::version::Keep;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Remove old versions from the history, and no entry; the newest ten of each file always stay
    #[arg(long, required = cfg!(not(feature = "search")))]
    history: bool,
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before entries are removed
    #[cfg(feature = "search")]
    #[arg(long, conflicts_with = "history")]
    yes: bool,
    /// Keep versions not older than this, such as 90d [default: as `memdir.toml` says, for this and the next two]
    #[arg(long, value_name = "SPAN", value_parser = when::span, requires = "history")]
    keep_age: Option<Duration>,
    /// Keep so many versions of each memory
    #[arg(long, value_name = "N", requires = "history")]
    keep_versions: Option<u64>,
    /// Keep so much history, such as 1GiB
    #[arg(long, value_name = "SIZE", value_parser = when::size, requires = "history")]
    keep_size: Option<u64>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    #[cfg(feature = "search")]
    if !args.history {
        let how =
            super::entries::prune::How { is_dry: args.dry_run, is_sure: args.yes, is_json: args.common.json };
        return super::entries::prune::run(&opened, how, out);
    }
    let keep = keep(args, opened.store.settings());
    if keep.is_all() {
        return Err(Fault::usage("all history is to be kept").hint(
            "say what to keep: --keep-age, --keep-versions, --keep-size, or `history` in `memdir.toml`",
        ));
    }
    let busy = Busy::with("pruning");
    let done = if args.dry_run {
        opened.store.preview_prune_history(&keep)?
    } else {
        opened.store.prune_history(&keep)?
    };
    drop(busy);
    opened.warn();
    if args.common.json {
        let said = json!({
            "is_dry_run": args.dry_run,
            "versions": done.versions,
            "memories": done.memories,
            "size_bytes": done.bytes,
            "erasure": if args.dry_run { None } else { Some(erasure(done.erasure)) },
        });
        _ = out.json(&said);
        return Ok(0);
    }
    if done.versions == 0 {
        _ = out.line("Nothing to remove.");
        return Ok(0);
    }
    let mut what = format!("{} ({})", many(done.versions, "version"), human_size(done.bytes));
    if done.memories > 0 {
        let memories = many_of(done.memories, "deleted memory", "deleted memories");
        what = format!("{what}, with them all that was left of {memories}");
    }
    if args.dry_run {
        _ = out.line(format_args!("Would be removed: {what}."));
    } else {
        _ = out.line(format_args!("Removed: {what}."));
        if done.erasure == Erasure::Pending {
            _ = out.line(format_args!("Their bytes are not yet gone from the disk: {PENDING}."));
        }
    }
    Ok(0)
}

/// What is kept: as the options say, or, where there is none, the settings.
fn keep(args: &Args, settings: &Settings) -> Keep {
    let given = Keep { age: args.keep_age, versions: args.keep_versions, size: args.keep_size };
    if given.is_all() { settings.keep_history } else { given }
}
