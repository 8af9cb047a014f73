//! `memdir mcp`: the memory for hosts of the Model Context Protocol, over standard input and output.

use std::io::{IsTerminal as _, stdin};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::call::line_limit;
use super::fault::{self, Fault};
use super::place::Place;
use super::{agent_named, logs, variable};
use crate::error::Error;
use crate::mcp::{Rounds, Server};
use crate::store::Store;

/// When expired entries are removed: after the questions with which a session begins, and daily.
const ROUNDS: Rounds = Rounds { first: Duration::from_secs(30), every: Duration::from_secs(24 * 60 * 60) };

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
    /// Who makes the changes, for the history [default: $MEMDIR_ACTOR, else the client's name for itself]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    actor: Option<String>,
}

/// Serves until the client is gone.
pub(super) fn run(args: Args) -> Result<ExitCode, Fault> {
    logs::begin()?;
    let base = args.place.base_for_hosts(variable("MEMDIR_DIR")?)?;
    let store = Store::builder(base).open()?;
    if stdin().is_terminal() {
        fault::complain("Waiting for a host of the Model Context Protocol; Ctrl-D ends.");
    }
    let limit = line_limit(store.settings().file_limit);
    Server::new(store, agent_named(args.actor)?, warner())
        .and_then(|server| server.serve_stdio(limit, ROUNDS))
        .map_err(|error| Fault::failed(format!("the connection failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Tells the person what went wrong beside the answers, unless that was told last.
fn warner() -> impl Fn(Error) + Send + Sync {
    let told = Mutex::new(None);
    move |error| {
        let warning = Fault::from(error);
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_ref() != Some(&warning) {
            warning.warn();
            *told = Some(warning);
        }
    }
}
