//! `memdir mcp`: the memory for hosts of the Model Context Protocol, over standard input and output.

use std::process::ExitCode;

use super::fault::Fault;
use super::place::Place;
use super::{agent_named, variable};
use crate::mcp::Server;
use crate::store::Store;

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
    let base = args.place.base_for_hosts(variable("MEMDIR_DIR")?)?;
    let store = Store::builder(base).open()?;
    let served = Server::new(store, agent_named(args.actor)?).and_then(Server::serve_stdio);
    served.map_err(|error| Fault::failed(format!("the connection failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
