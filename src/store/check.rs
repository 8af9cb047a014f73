//! Whether files and history agree, and what else is amiss in a store.

use super::scan::Absorbed;
use super::scan::survey::Survey;
use super::{Store, gate};
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::journal::{History, Reader};
use crate::path::MemoryPath;

mod entries;
mod files;
mod history;
mod room;
mod secrets;

use history::Verified;

/// What a check is to do beside looking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Check {
    /// Mend what is safe to mend.
    pub fix: bool,
    /// An end that the chain of versions must have, or must have had: the versions up to it are as they were then.
    pub expected_head: Option<Hash>,
    /// Look for secrets in every file and every version, and in what else the store keeps: names, reasons, copies.
    pub secrets: bool,
}

/// How far a check, or another long work, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Things looked at so far.
    pub done: u64,
    /// Of so many, where that is known.
    pub total: Option<u64>,
    /// What they are, in the plural: `files`, `versions`.
    pub what: &'static str,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What sort of thing, a stable name for programs. Of the history: `chain`, `content`, `database`, `head`, `clock`, `erasure`;
    /// of files: `file`, `name`, `size`, `mode`, `link`, `special`, `mount`, `denied`, `hidden`, `entry` (front matter); of the machine's room: `mode`,
    /// `gitignore`, `leftover`, `kept`, and, from the command, `index`. Of any of them: `secret`, and `unsearched` for what could not be searched for one.
    pub kind: &'static str,
    /// Whether it is wrong, or only worth knowing.
    pub is_wrong: bool,
    /// Where: a path below `/memories`, a name in `.memdir/`, a version's id.
    pub place: String,
    /// What is amiss, one lower-case clause.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether it was mended.
    pub is_fixed: bool,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is amiss, in the order of the places.
    pub findings: Vec<Finding>,
    /// What others did to the files since memdir last looked; it is in the history now, and nothing amiss.
    pub absorbed: Absorbed,
    /// Files that were compared with their last version.
    pub files: u64,
    /// Versions whose place in the chain, and whose content, were verified; those that were taken in are new among them.
    pub versions: u64,
    /// The end of the chain: to keep elsewhere and compare.
    pub head: Hash,
}

impl Report {
    /// Whether nothing is wrong (any more).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| !finding.is_wrong || finding.is_fixed)
    }
}

/// Findings, as they come.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn push(&mut self, finding: Finding) -> &mut Finding {
        self.0.push(finding);
        self.0.last_mut().expect("it was just pushed")
    }

    fn wrong(
        &mut self,
        kind: &'static str,
        place: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        let (place, problem, remedy) = (place.into(), problem.into(), remedy.into());
        self.push(Finding { kind, is_wrong: true, place, problem, remedy, is_fixed: false })
    }

    /// Tells that the history cannot be read, unless that was told.
    ///
    /// # Errors
    /// The error itself, if it is about something else.
    fn damage(&mut self, error: Error) -> Result<()> {
        if !is_about_the_journal(&error) {
            return Err(error);
        }
        if !self.is_damaged() {
            self.push(history::unreadable(&error));
        }
        Ok(())
    }

    fn is_damaged(&self) -> bool {
        let is_damage = |found: &Finding| found.kind == "database" && found.place == history::JOURNAL;
        self.0.iter().any(is_damage)
    }

    fn note(
        &mut self,
        kind: &'static str,
        place: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        let note = self.wrong(kind, place, problem, remedy);
        note.is_wrong = false;
        note
    }
}

impl Store {
    /// Takes in what others did (see [`Store::absorb`]), then compares every file with its last version and verifies the
    /// chain, every content and the database.
    ///
    /// No lock is held while files and contents are read. A journal that cannot be read is a finding, and so is a store
    /// that cannot be written: what can be looked at is looked at all the same.
    ///
    /// # Errors
    /// Only when it could not look: what is wrong with the store is in the report.
    pub fn check(&self, check: &Check, progress: &mut dyn FnMut(Progress)) -> Result<Report> {
        self.inner.mend();
        let mut findings = Findings::default();
        let mut verified = Verified { head: Hash([0; 32]), versions: 0 };
        let mut reader = None;
        match self.verify(check, &mut findings, progress) {
            Ok(read) => (reader, verified) = read,
            Err(error) => findings.damage(error)?,
        }
        let mut absorbed = Absorbed::default();
        // Nothing is added to a history that is damaged.
        if !findings.is_damaged() {
            match self.agree(&mut findings, progress) {
                Ok(agreed) => absorbed = agreed,
                Err(error) => findings.damage(error)?,
            }
        }
        if !absorbed.versions.is_empty() {
            reader = self.reader().unwrap_or(reader);
        }
        let history = reader.as_ref().map(Reader::history);
        if let Some(Ok((.., head))) = history.map(History::size) {
            verified.head = head;
        }
        secrets::tell_absorbed(&absorbed, &self.inner.core.settings.guard, &mut findings);
        self.look_around(check, history, &mut findings)?;
        if let Some(history) = history.filter(|_| !findings.is_damaged())
            && let Err(error) = entries::look(self, history, &mut findings)
        {
            findings.damage(error)?;
        }
        if check.secrets
            && let Err(error) = secrets::look(self, history.filter(|_| !findings.is_damaged()), &mut findings)
        {
            findings.damage(error)?;
        }
        let guard = gate::searching(&self.inner.core.settings.guard);
        secrets::leave_out(&guard, &mut absorbed, &mut findings);
        findings.0.sort_by(|a, b| (rank(a), &a.place).cmp(&(rank(b), &b.place)));
        // What was warned of is in the report.
        drop(self.take_warning());
        let (Verified { head, versions }, files) = (verified, absorbed.files);
        let versions = versions + absorbed.versions.len() as u64;
        Ok(Report { findings: findings.0, absorbed, files, versions, head })
    }

    /// Verifies what the journal holds, if there is one.
    fn verify(
        &self,
        check: &Check,
        findings: &mut Findings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Option<Reader>, Verified)> {
        let head = Hash([0; 32]);
        let reader = match self.reader() {
            Err(error @ Error::Read { .. }) => {
                findings.push(history::unreadable(&error));
                return Ok((None, Verified { head, versions: 0 }));
            }
            reader => reader?,
        };
        let Some(reader) = reader else {
            if check.expected_head.is_some_and(|expected| expected != head) {
                findings.push(history::unexpected(None));
            }
            return Ok((None, Verified { head, versions: 0 }));
        };
        let verified = history::look(reader.history(), check, findings, progress)?;
        history::tell_ahead(reader.history(), (self.inner.core.clock)(), findings)?;
        Ok((Some(reader), verified))
    }

    /// Takes in what others did, and tells where files and history do not agree after it.
    fn agree(&self, findings: &mut Findings, progress: &mut dyn FnMut(Progress)) -> Result<Absorbed> {
        let is_gone = match self.inner.core.base.sandbox.root() {
            Ok(root) => root.is_none(),
            // What stands in its place is told with the files.
            Err(Error::Link { .. } | Error::Unsupported { .. } | Error::Read { .. }) => {
                return Ok(Absorbed::default());
            }
            Err(error) => return Err(error),
        };
        if is_gone {
            self.tell_gone(findings)?;
            return Ok(Absorbed::default());
        }
        let mut found = self
            .survey(&MemoryPath::ROOT, &mut |done| progress(Progress { done, total: None, what: "files" }))?;
        let closed = std::mem::take(&mut found.closed);
        let files = found.files;
        let differing = differing(&found);
        let versions = match self.take_in(found) {
            Ok(versions) => versions,
            Err(Error::Write { why, .. }) if why != Trouble::Journal && why != Trouble::SyncFailed => {
                let (first, count) = differing.expect("only what differs is taken in");
                let others = match count - 1 {
                    0 => String::new(),
                    1 => ", as does 1 other".to_owned(),
                    others => format!(", as do {others} others"),
                };
                let problem =
                    format!("it differs from its last version{others}, which could not be recorded: {why}");
                let remedy = "check again where the store can be written";
                findings.note("file", first.to_string(), problem, remedy);
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let reader = self.reader()?;
        let history = reader.as_ref().map(Reader::history);
        let is_memory = |path: &MemoryPath| {
            history.is_some_and(|history| history.live(path.as_str()).is_ok_and(|head| head.is_some()))
        };
        files::tell_closed(&closed, is_memory, findings);
        Ok(Absorbed { versions, files })
    }

    /// Tells that `memories` is gone, if something was in it.
    fn tell_gone(&self, findings: &mut Findings) -> Result<()> {
        let Some(reader) = self.reader()? else { return Ok(()) };
        let mut memories = 0;
        reader.history().each_live("", &mut |_| {
            memories += 1;
            Ok(())
        })?;
        if memories > 0 {
            let noun = if memories == 1 { "memory" } else { "memories" };
            let problem = format!("the directory is gone, and with it {memories} {noun}");
            let remedy = "put it back; or `memdir restore --before TIME` brings back what the history has";
            findings.wrong("file", files::place(""), problem, remedy);
        }
        Ok(())
    }

    /// Looks at all that is no content.
    fn look_around(
        &self,
        check: &Check,
        history: Option<History<'_>>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut around = Findings::default();
        files::look(&self.inner.core, check.fix, &mut around)?;
        // What could not be read was perhaps told of already.
        around.0.retain(|new| new.kind != "denied" || !findings.0.iter().any(|old| old.place == new.place));
        room::look(self, check.fix, &mut around)?;
        let history =
            history.map_or(Ok(()), |history| room::look_with(self, history, check.fix, &mut around));
        findings.0.append(&mut around.0);
        if let Err(error) = history {
            findings.damage(error)?;
        }
        Ok(())
    }
}

/// The history first, then the files, then the room.
fn rank(finding: &Finding) -> u8 {
    match finding.place.as_str() {
        place if place.starts_with("/memories") => 1,
        place if place.starts_with(history::JOURNAL) => 0,
        place if place.starts_with(".memdir") => 2,
        _ => 0,
    }
}

/// The first path where files and history differ, and how many there are.
fn differing(found: &Survey) -> Option<(MemoryPath, usize)> {
    let added = found.added.iter().map(|added| &added.path);
    let gone = found.gone.iter().map(|gone| &gone.path);
    let all = found.edited.iter().chain(added).chain(gone);
    let count = all.clone().count();
    all.min().map(|first| (first.clone(), count))
}

fn is_about_the_journal(error: &Error) -> bool {
    match error {
        Error::Write { why, .. } => *why != Trouble::SyncFailed,
        error => matches!(error, Error::Read { why: Trouble::Journal, .. } | Error::NewerJournal { .. }),
    }
}
