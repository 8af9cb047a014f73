//! The headers of a call.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::context::ApiError;
use crate::double::fault::Fault;
use crate::double::{Call, Settings};

/// Versions of the API. The newest knows fewer fields, and fewer places for blocks.
const VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", NEWEST];
/// The newest of them.
const NEWEST: &str = "2026-10-21";
/// The most that a body may have, in bytes: 32 MB.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// What the headers say.
#[derive(Debug, Clone)]
pub(in crate::double) struct Head {
    /// `anthropic-version`
    pub(super) version: &'static str,
    /// Values of the header `anthropic-beta`, each once.
    pub(super) betas: Vec<String>,
}

impl Head {
    pub(super) fn has(&self, beta: &str) -> bool {
        self.betas.iter().any(|known| known == beta)
    }

    /// Whether the rules of the newest version hold.
    pub(super) fn is_newest(&self) -> bool {
        self.version == NEWEST
    }
}

/// What the headers of a call say, when they are right.
pub(in crate::double) fn admit(call: &Call<'_>, settings: &Settings) -> Result<Head, ApiError> {
    if call.body.len() > MOST_BYTES {
        return Err(Fault::BodyTooLarge.error(&[]));
    }
    unlock(call, settings)?;
    let version = value(call, "anthropic-version").ok_or_else(|| Fault::NoVersion.error(&[]))?;
    let known = VERSIONS.into_iter().find(|known| *known == version);
    let version = known.ok_or_else(|| Fault::UnknownVersion.error(&[("value", version)]))?;
    Ok(Head { version, betas: betas(call)? })
}

/// Whether the body is said to be JSON.
pub(super) fn is_json(call: &Call<'_>) -> Result<(), ApiError> {
    let given = value(call, "content-type").unwrap_or_default();
    let mut parts = given.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(Fault::NoJsonType.error(&[]));
    }
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let is_read = |name: &str| ["utf-8", "iso-8859-1", "us-ascii"].contains(&&*name.to_ascii_lowercase());
    match charset {
        Some(name) if !is_read(name) => Err(Fault::Charset.error(&[("value", name)])),
        _ => Ok(()),
    }
}

fn unlock(call: &Call<'_>, settings: &Settings) -> Result<(), ApiError> {
    let bearer = value(call, "authorization").and_then(|given| {
        let (scheme, key) = given.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let (key, fault) = match (value(call, "x-api-key"), bearer.filter(|key| !key.is_empty())) {
        (Some(key), _) => (key, Fault::WrongKey),
        (None, Some(key)) => (key, Fault::WrongBearer),
        (None, None) => return Err(Fault::NoKey.error(&[])),
    };
    match &settings.key {
        Some(right) if right != key => Err(fault.error(&[])),
        _ => Ok(()),
    }
}

/// The value of a header that is there and not empty.
fn value<'a>(call: &Call<'a>, name: &str) -> Option<&'a str> {
    let mut headers = call.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    headers.find_map(|(_, value)| Some(value.trim()).filter(|value| !value.is_empty()))
}

fn betas(call: &Call<'_>) -> Result<Vec<String>, ApiError> {
    let headers = call.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("anthropic-beta"));
    let given = headers.flat_map(|(_, list)| list.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let mut betas: Vec<String> = Vec::new();
    for name in given {
        if !betas.iter().any(|known| known == name) {
            betas.push(name.to_owned());
        }
    }
    let unknown = betas.iter().filter(|name| !is_beta(name)).map(|name| format!("`{name}`"));
    let unknown: Vec<String> = unknown.collect();
    if unknown.is_empty() {
        return Ok(betas);
    }
    Err(Fault::UnknownBetas.error(&[("values", &unknown.join(", "))]))
}

/// Whether the API knows a beta of that name.
pub(super) fn is_beta(name: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Table {
        listed: Vec<Box<str>>,
        used: Vec<Box<str>>,
    }
    static NAMES: OnceLock<HashSet<Box<str>>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let table: Table = serde_json::from_str(include_str!("betas.json")).expect("a test reads the table");
        table.listed.into_iter().chain(table.used).collect()
    });
    names.contains(name)
}
