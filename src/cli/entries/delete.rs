//! `memdir delete`: the end of an entry.

use serde_json::json;

use super::super::fault::Fault;
use super::super::ids;
use super::super::out::{self, Out};
use super::super::place::{Common, Missing};
use super::recall;
use crate::id::MemoryId;
use crate::path;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The entry
    #[arg(long, value_name = "ID", value_parser = ids::memory)]
    id: MemoryId,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    common: Common,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    if args.reason.trim().is_empty() {
        return Err(Fault::usage("the reason is empty"));
    }
    let opened = args.common.open(Missing::Refuse)?;
    let path = recall(&opened).delete(args.id, &args.reason)?.to_string();
    if args.common.json {
        _ = out.json(&json!({"success": true}));
    } else {
        _ = out.line(format_args!("Deleted {}.", out.paint(out::PLACE, path::escape(&path))));
    }
    opened.warn();
    Ok(0)
}
