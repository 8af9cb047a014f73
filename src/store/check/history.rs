//! The history's part of a check: the database, the chain, every content, and the end that the chain must have had.

use chrono::{DateTime, Utc};

use super::{Check, Finding, Findings, Progress};
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::journal::{History, Problem};
use crate::version::rfc3339;

/// What the history came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verified {
    pub(super) head: Hash,
    pub(super) versions: u64,
}

/// Verifies all that the journal holds.
pub(super) fn look(
    history: History<'_>,
    check: &Check,
    findings: &mut Findings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Verified> {
    let verified = history.verify(&mut |done, total| {
        progress(Progress { done, total: Some(total), what: "versions" });
    })?;
    let untold = verified.wrong.saturating_sub(verified.problems.len() as u64);
    for Problem { kind, place, what: problem } in verified.problems {
        let place = if place == "journal.db" { JOURNAL.to_owned() } else { place };
        // One failure may keep several parts from being read.
        if !findings.0.iter().any(|found| found.place == place && found.problem == problem) {
            findings.wrong(kind, place, problem, remedy_of(kind));
        }
    }
    if untold > 0 {
        findings.wrong("chain", JOURNAL, format!("{untold} more things are wrong with the history"), DAMAGED);
    }
    if let Some(expected) = check.expected_head.filter(|expected| *expected != verified.head) {
        findings.push(unexpected(history.since(expected)?));
    }
    Ok(Verified { head: verified.head, versions: verified.versions })
}

/// Tells of changes whose times `now` has not come to: a clock ran ahead once, or is behind.
///
/// # Errors
/// What the journal says.
pub(super) fn tell_ahead(history: History<'_>, now: DateTime<Utc>, findings: &mut Findings) -> Result<()> {
    let from = now.timestamp_micros().saturating_add(AHEAD);
    let Some((changes, newest)) = history.since_time(from)? else { return Ok(()) };
    let which = if changes == 1 { "the newest change has a time" } else { "the newest changes have times" };
    let (newest, now) = (rfc3339(&newest), rfc3339(&now));
    let problem = format!(
        "{which} that the clock has not come to ({changes}, up to {newest}; now it is {now}): it ran ahead when they were \
         made, or is behind"
    );
    let remedy = format!(
        "set the clock if it is wrong; else what is written until {newest} has times as late, and `memdir restore --before` \
         takes back more than it seems to: name a version or a change, which `memdir log` lists"
    );
    findings.note("clock", JOURNAL, problem, remedy);
    Ok(())
}

/// So many microseconds clocks differ by without anybody's fault: a minute.
const AHEAD: i64 = 60_000_000;

/// Where the history is, as a place in a finding.
pub(super) const JOURNAL: &str = ".memdir/journal.db";

fn remedy_of(kind: &str) -> &'static str {
    match kind {
        "chain" => {
            "the history was altered or damaged here; the files are as they are: compare them with a copy that you \
             trust, and keep `memdir check --print-head` elsewhere from now on"
        }
        "content" => {
            "this version cannot be restored; the files as they are now, and the other versions, can"
        }
        _ => DAMAGED,
    }
}

/// What the end of the chain tells that is not the one that was expected.
pub(super) fn unexpected(since: Option<u64>) -> Finding {
    let place = JOURNAL.to_owned();
    match since {
        Some(since) => Finding {
            kind: "head",
            is_wrong: false,
            place,
            problem: format!(
                "the chain goes on for {since} {} beyond the expected head; up to it nothing was altered",
                if since == 1 { "version" } else { "versions" }
            ),
            remedy: "keep the new head, which `memdir check --print-head` gives".to_owned(),
            is_fixed: false,
        },
        None => Finding {
            kind: "head",
            is_wrong: true,
            place,
            problem: "the chain never had the expected head".to_owned(),
            remedy: "the history was cut off, rewritten, or is another store's: compare it with a copy that you trust"
                .to_owned(),
            is_fixed: false,
        },
    }
}

const DAMAGED: &str = "the plain files in `memories` are intact; to start a new journal, stop every memdir that uses the \
    store and move its `.memdir/journal.db*` away (the history so far goes with them)";

/// The finding for a history that cannot be read at all.
pub(super) fn unreadable(error: &Error) -> Finding {
    let why = match error {
        Error::Write { why, .. } | Error::Read { why, .. } => Some(*why),
        _ => None,
    };
    let remedy = match (error, why) {
        (Error::NewerJournal { .. }, _) => {
            "the plain files in `memories` are intact; use the memdir that wrote this store, or a newer one"
        }
        (_, Some(Trouble::Denied)) => "check the owner and the mode of the store's directories",
        // Nothing is known to be wrong with it: it is not to be thrown away.
        (_, Some(Trouble::ReadOnly)) => {
            "it is of an older memdir, and has to be brought up to date once: mount its file system so that it can be written"
        }
        (_, Some(Trouble::NoSpace)) => "free some space, and check again",
        (_, Some(Trouble::TooManyFiles)) => "raise the limit of open files (`ulimit -n`)",
        _ => DAMAGED,
    };
    Finding {
        kind: "database",
        is_wrong: true,
        place: JOURNAL.to_owned(),
        problem: why.map_or_else(|| error.to_string(), |why| format!("it cannot be read: {why}")),
        remedy: remedy.to_owned(),
        is_fixed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_damaged_journal_is_to_be_moved_away() {
        let remedy = |why| unreadable(&Error::Write { why, doing: String::new(), source: None }).remedy;
        assert_eq!(remedy(Trouble::Journal), DAMAGED);
        for why in [Trouble::ReadOnly, Trouble::NoSpace, Trouble::Denied, Trouble::TooManyFiles] {
            assert!(!remedy(why).contains("journal.db"), "{why:?}");
        }
    }
}
