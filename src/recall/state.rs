//! How the index stands, for people: whatever is amiss with it costs time, and no memory.

use super::catalog::{chain_at, model};
use super::{Recall, Result};
use crate::index::{Mark, check_writable, look};
use crate::store::History;

/// How far the index is, and what is amiss with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IndexState {
    /// The model of the settings, by the name that indexes know it by; `None`: it cannot be used.
    pub model: Option<String>,
    /// Passages that are in the index.
    pub passages: u64,
    /// The newest versions that are not in it: questions read them from the history, and bring the index up to date when they
    /// are many.
    pub behind: u64,
    /// What is amiss.
    pub fault: Option<IndexFault>,
}

/// What is amiss with an index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexFault {
    /// The model of the settings cannot be used, and why: nothing is retrieved, and no entry stored.
    Model(String),
    /// What is there is of no use, and why: a question makes it anew.
    Outdated(String),
    /// It cannot be written, and why: questions read from the history what is not in it.
    Closed(String),
}

impl Recall {
    /// How the index stands. Nothing is made or mended, but for the files of its locks.
    ///
    /// # Errors
    /// What the journal says.
    pub fn index_state(&self) -> Result<IndexState> {
        let history = self.store.history()?;
        let (newest, _) = history.end()?;
        let mut state = IndexState { behind: count(newest), ..IndexState::default() };
        let model = match model(&self.store) {
            Ok(model) => model,
            Err(error) => {
                state.fault = Some(IndexFault::Model(error.to_string()));
                return Ok(state);
            }
        };
        state.model = Some(model.id().to_owned());
        let dir = self.store.index_dir();
        let outdated = |why: &str| Some(IndexFault::Outdated(why.to_owned()));
        match look(&dir, &model) {
            Ok(None) => {}
            Ok(Some(found)) if found.model != model.id() => state.fault = outdated("it is of another model"),
            Ok(Some(found)) if !is_of(&history, found.mark)? => {
                state.fault = outdated("it is of another history");
            }
            Ok(Some(found)) => {
                state.passages = found.passages as u64;
                state.behind = count(newest - found.mark.version);
            }
            Err(error) => state.fault = outdated(error.why()),
        }
        if let Err(error) = check_writable(&dir) {
            state.fault = Some(IndexFault::Closed(error.why().to_owned()));
        }
        Ok(state)
    }
}

/// Whether a history has a mark of an index in it.
fn is_of(history: &History, mark: Mark) -> Result<bool> {
    Ok(mark.version == 0 || chain_at(history, mark.version)? == Some(mark.chain))
}

fn count(versions: i64) -> u64 {
    u64::try_from(versions).unwrap_or_default()
}
