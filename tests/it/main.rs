//! The integration tests, in one binary.
#![allow(clippy::disallowed_methods, reason = "tests lay out directories and start processes")]

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod concurrency;
#[cfg(feature = "cli")]
mod context;
#[cfg(all(feature = "cli", feature = "http"))]
mod double;
mod edit;
#[cfg(feature = "search")]
mod entries;
mod floors;
mod front_matter;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod hook;
#[cfg(feature = "cli")]
mod hostile;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod hosts;
mod import;
#[cfg(feature = "cli")]
mod kill;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod mcp;
#[cfg(all(feature = "cli", feature = "mcp"))]
mod mcp_resources;
mod model;
#[cfg(feature = "cli")]
mod people;
#[cfg(feature = "cli")]
mod process;
#[cfg(feature = "cli")]
mod readme;
mod secrets;
#[cfg(feature = "cli")]
mod transcripts;
