//! Faults as data: a row for each, by its name, and a text about the whole.

use std::collections::HashMap;
use std::hash::Hash;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The rows `R` of faults `F`.
#[derive(Deserialize)]
#[serde(bound = "F: DeserializeOwned + Eq + Hash, R: DeserializeOwned")]
pub(crate) struct Table<F, R> {
    #[serde(flatten)]
    rows: HashMap<F, R>,
    #[serde(rename = "about")]
    _about: Box<str>,
}

impl<F: DeserializeOwned + Eq + Hash, R: DeserializeOwned> Table<F, R> {
    /// Reads a table that is a part of the program.
    pub(crate) fn read(json: &str) -> Self {
        serde_json::from_str(json).expect("a test reads the table")
    }

    pub(crate) fn row(&self, fault: &F) -> &R {
        &self.rows[fault]
    }
}
