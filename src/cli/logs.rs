//! What the server tells of its work on standard error, as `MEMDIR_LOG` asks for it.

use std::io;

use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use super::fault::Fault;
use super::variable;

/// What is told where nothing is asked for.
const DEFAULT: &str = "error";
/// The library that speaks the protocol tells whole messages, with what memories hold, at its level `debug`.
const PROTOCOL: &str = "rmcp";

/// Begins to tell. Contents of memories are told by nothing below the level `trace`.
pub(super) fn begin() -> Result<(), Fault> {
    let asked = variable("MEMDIR_LOG")?;
    let filter = EnvFilter::try_new(asked.as_deref().unwrap_or(DEFAULT))
        .map_err(|error| Fault::usage(format!("$MEMDIR_LOG is no filter: {error}")))?;
    let tells_all = filter.max_level_hint() == Some(LevelFilter::TRACE);
    let harmless = filter_fn(move |event| {
        tells_all || !event.target().starts_with(PROTOCOL) || *event.level() < tracing::Level::DEBUG
    });
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(false);
    // One that is set already is another's, in whose process this runs.
    let _ = registry().with(lines.with_filter(harmless)).with(filter).try_init();
    Ok(())
}
