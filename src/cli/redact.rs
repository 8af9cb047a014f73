//! `memdir redact`: erases what versions held.

use std::collections::HashSet;

use serde_json::json;

use super::busy::Busy;
use super::fault::Fault;
use super::ids;
use super::out::{self, Out};
use super::place::{Common, Missing};
use super::words::many;
use crate::id::VersionId;
use crate::path::{self, MemoryPath};
use crate::store::{Erasure, History};
use crate::version::Version;

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
    let (mut versions, mut seen) = (args.versions.clone(), HashSet::new());
    versions.retain(|&id| seen.insert(id));
    // What others did may hold the same content, or have taken it out of where it was.
    if let Err(error) = opened.store.absorb(&MemoryPath::ROOT) {
        opened.warn_of(error, "what others did to the files may be missing here");
    }
    let busy = Busy::with("erasing");
    let done = opened.store.redact(&versions)?;
    drop(busy);
    opened.warn();
    if args.common.json {
        let still_held: Vec<_> = done.still_held.iter().map(|version| version.id.to_string()).collect();
        let said = json!({
            "versions": done.versions, "still_held": still_held, "erasure": erasure(done.erasure),
        });
        _ = out.json(&said);
        return Ok(0);
    }
    for version in &done.versions {
        _ = out.line(format_args!("redacted  {}", out.paint(out::ID, version.id)));
    }
    let of = many(done.versions.len() as u64, "version");
    _ = match (done.erasure, done.still_held.is_empty()) {
        (Erasure::Done, true) => out.line("Content and path are gone from the history for good."),
        (Erasure::Done, false) => out.line(format_args!("Content and path of {of} are gone for good.")),
        (Erasure::Pending, _) => out.line(format_args!(
            "Content and path of {of} are no longer shown, but not yet gone from the disk: {PENDING}."
        )),
    };
    if !done.still_held.is_empty() {
        let history = opened.store.history()?;
        let held: Vec<_> =
            done.still_held.iter().map(|version| held(&history, version)).collect::<Result<_, _>>()?;
        _ = out.line(format_args!("But the same content is still in {}.", held.join(", ")));
    }
    _ = out.line(BEYOND);
    Ok(0)
}

/// A version that holds what was to be erased, and the memory if that holds it now.
fn held(history: &History, version: &Version) -> Result<String, Fault> {
    let Some(path) = &version.path else { return Ok(version.id.to_string()) };
    let is_now = history.head(path)?.is_some_and(|head| head.id == version.id);
    let now = if is_now { format!(" ({} now)", path::escape(&path.to_string())) } else { String::new() };
    Ok(format!("{}{now}", version.id))
}

/// What no redaction reaches, and how to find the rest.
const BEYOND: &str = "Out of reach are exports, backups, git, and other hard links to the files. \
    `memdir grep --history TEXT` finds what other versions have of it.";

/// Why bytes are not yet gone, and when they will be.
pub(super) const PENDING: &str = "another process reads the history, or the disk is full; the next change or `memdir check --fix` tries again";

/// The word for whether erased bytes are gone.
pub(super) fn erasure(erasure: Erasure) -> &'static str {
    match erasure {
        Erasure::Done => "done",
        Erasure::Pending => "pending",
    }
}
