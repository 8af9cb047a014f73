//! `memdir redact`: erases what versions held.

use std::collections::HashSet;

use serde_json::json;

use super::fault::Fault;
use super::ids;
use super::out::{self, Out};
use super::place::{Common, Missing};
use super::words::many;
use crate::id::VersionId;
use crate::store::Erasure;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The versions, as `memdir log` shows them
    #[arg(required = true, value_name = "VERSION", value_parser = ids::version)]
    versions: Vec<VersionId>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let mut seen = HashSet::new();
    let versions: Vec<_> = args.versions.iter().copied().filter(|id| seen.insert(*id)).collect();
    let done = opened.store.redact(&versions)?;
    opened.warn();
    if args.common.json {
        let said = json!({"versions": done.versions, "erasure": erasure(done.erasure)});
        _ = out.json(&said);
        return Ok(0);
    }
    for version in &done.versions {
        _ = out.line(format_args!("redacted  {}", out.paint(out::ID, version.id)));
    }
    _ = match done.erasure {
        Erasure::Done => out.line("Content and path are gone from the history for good."),
        Erasure::Pending => out.line(format_args!(
            "Content and path of {} are no longer shown, but not yet gone from the disk: {PENDING}.",
            many(done.versions.len() as u64, "version")
        )),
    };
    Ok(0)
}

/// Why bytes are not yet gone, and when they will be.
pub(super) const PENDING: &str =
    "another process reads the history, or the disk is full; the next change or `memdir check` tries again";

/// The word for whether erased bytes are gone.
pub(super) fn erasure(erasure: Erasure) -> &'static str {
    match erasure {
        Erasure::Done => "done",
        Erasure::Pending => "pending",
    }
}
