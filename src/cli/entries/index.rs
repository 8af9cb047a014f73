//! How the index stands, in the words of `memdir check` and `memdir stats`.

use serde_json::{Value, json};

use super::super::fault::Fault;
use super::super::place::Opened;
use super::super::words::many;
use super::recall;
use crate::recall::{IndexFault, IndexState};
use crate::store::Finding;

pub(in crate::cli) fn state(opened: &Opened) -> Result<IndexState, Fault> {
    Ok(recall(opened).index_state()?)
}

/// What a check tells of it, if anything is amiss. That the history cannot be read is told already.
pub(in crate::cli) fn finding(opened: &Opened) -> Option<Finding> {
    let fault = recall(opened).index_state().ok()?.fault?;
    let is_wrong = matches!(fault, IndexFault::Model(_));
    let (place, problem, remedy) = match fault {
        IndexFault::Model(why) => (
            "memdir.toml",
            format!("{}; nothing is retrieved and no entry stored", why.trim_start_matches("memdir.toml: ")),
            "a model is a directory with `tokenizer.json` and `model.safetensors`, a relative name begins in the store; without \
             that line it is the model in the program",
        ),
        IndexFault::Outdated(why) => (PLACE, why, "nothing need be done: the next question makes it anew"),
        IndexFault::Closed(why) => (
            PLACE,
            format!(
                "it cannot be written: {why}; what is not in it is read from the history for each question, which takes longer"
            ),
            "see to its owner and its mode, or remove it, which loses nothing: it is derived from the history",
        ),
    };
    let (place, remedy) = (place.to_owned(), remedy.to_owned());
    Some(Finding { kind: "index", is_wrong, place, problem, remedy, is_fixed: false })
}

const PLACE: &str = ".memdir/index";

/// It in one line.
pub(in crate::cli) fn words(state: &IndexState) -> String {
    let extent = match (state.passages, state.behind) {
        (0, _) => "none yet".to_owned(),
        (passages, 0) => format!("{}, up to date", many(passages, "passage")),
        (passages, behind) => format!("{}, {} behind", many(passages, "passage"), many(behind, "version")),
    };
    match &state.fault {
        None => extent,
        Some(IndexFault::Model(why)) => why.clone(),
        Some(IndexFault::Outdated(why)) => format!("to be made anew: {why}"),
        Some(IndexFault::Closed(why)) => format!("{extent}; it cannot be written: {why}"),
    }
}

pub(in crate::cli) fn object(state: &IndexState) -> Value {
    let IndexState { model, passages, behind, fault, .. } = state;
    let problem = fault.as_ref().map(|fault| match fault {
        IndexFault::Model(why) | IndexFault::Outdated(why) => why.clone(),
        IndexFault::Closed(why) => format!("it cannot be written: {why}"),
    });
    json!({"model": model, "passages": passages, "versions_behind": behind, "problem": problem})
}
