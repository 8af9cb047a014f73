//! `memdir prune` without `--history`: removes entries that have expired, are too many, or are unused.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::ops::ControlFlow;

use serde_json::json;

use super::super::busy::Busy;
use super::super::fault::Fault;
use super::super::out::{self, Out};
use super::super::place::Opened;
use super::super::words::many_of;
use super::recall;
use crate::path;
use crate::recall::{Doomed, Why};

/// How the entries are pruned.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct How {
    pub(in crate::cli) is_dry: bool,
    /// Nobody is asked.
    pub(in crate::cli) is_sure: bool,
    pub(in crate::cli) is_json: bool,
}

pub(in crate::cli) fn run(opened: &Opened, how: How, out: &mut Out) -> Result<u8, Fault> {
    let recall = recall(opened);
    if !how.is_dry && !how.is_sure && stdin().is_terminal() {
        let doomed = recall.preview_prune()?;
        if !doomed.is_empty() && !is_meant(&doomed)? {
            return Err(Fault::failed("nothing was removed"));
        }
    }
    let busy = Busy::with("pruning");
    let doomed = if how.is_dry { recall.preview_prune()? } else { recall.prune()? };
    drop(busy);
    _ = doomed.iter().try_for_each(|one| if how.is_json { say_json(one, out) } else { say(one, out) });
    if !how.is_json {
        let entries = many_of(doomed.len() as u64, "entry", "entries");
        _ = match (doomed.len(), how.is_dry) {
            (0, _) => out.line("Nothing to remove."),
            (_, true) => out.line(format_args!("Would be removed: {entries}.")),
            (_, false) => out.line(format_args!(
                "Removed: {entries}. `memdir log` shows the change, which `memdir restore --change` undoes."
            )),
        };
    }
    opened.warn();
    Ok(0)
}

/// Asks the person.
fn is_meant(doomed: &[Doomed]) -> Result<bool, Fault> {
    let entries = many_of(doomed.len() as u64, "entry", "entries");
    let _ = write!(stderr(), "Remove {entries}? `--dry-run` shows which. [y/N] ");
    let mut typed = String::new();
    stdin()
        .read_line(&mut typed)
        .map_err(|error| Fault::failed(format!("cannot read standard input: {error}")))?;
    Ok(matches!(typed.trim(), "y" | "Y" | "yes"))
}

fn say(Doomed { id, path, why, .. }: &Doomed, out: &mut Out) -> ControlFlow<()> {
    let why = match why {
        Why::Capacity { effective } => format!("too many, importance {effective:.2} by now"),
        why => why.as_str().to_owned(),
    };
    let path = path.to_string();
    out.line(format_args!(
        "{}  {}  {why}",
        out.paint(out::ID, id),
        out.paint(out::PLACE, path::escape(&path))
    ))
}

fn say_json(Doomed { id, path, why, .. }: &Doomed, out: &mut Out) -> ControlFlow<()> {
    let mut said = json!({"id": id.to_string(), "path": path.to_string(), "why": why.as_str()});
    if let Why::Capacity { effective } = why {
        said["effective_importance"] = ((f64::from(*effective) * 1000.0).round() / 1000.0).into();
    }
    out.json(&said)
}
