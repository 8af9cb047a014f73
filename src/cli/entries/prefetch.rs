//! `memdir prefetch`: what an agent is told before it asks.

use std::num::NonZeroUsize;

use serde_json::json;

use super::super::busy::Busy;
use super::super::fault::{Fault, complain};
use super::super::out::Out;
use super::super::place::{Common, Missing};
use super::recall_shown;
use crate::recall::Prefetch;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// What the user said [default: the newest and most important memories are told]
    query: Option<String>,
    /// Tell at most N memories beside those that are pinned
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    limit: NonZeroUsize,
    /// Only memories of this importance or more, 1 to 5
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=5))]
    min_importance: u8,
    /// About so many tokens at most
    #[arg(long, value_name = "TOKENS", default_value = "2000")]
    budget: NonZeroUsize,
    #[command(flatten)]
    common: Common,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let busy = Busy::with("looking");
    let text = recall_shown(&opened, &busy).prefetch(&Prefetch {
        query: args.query.clone().filter(|query| !query.trim().is_empty()),
        limit: args.limit.get(),
        min_importance: args.min_importance,
        budget: args.budget.get(),
    })?;
    drop(busy);
    if args.common.json {
        _ = out.json(&json!({"text": text}));
    } else if text.is_empty() {
        complain("There is nothing to tell.");
    } else {
        _ = text.lines().try_for_each(|line| out.line(out.shown(line).into_owned()));
    }
    opened.warn();
    Ok(0)
}
