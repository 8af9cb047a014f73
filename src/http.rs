//! Servers over HTTP.

#[cfg(feature = "cli")]
pub(crate) mod double;
