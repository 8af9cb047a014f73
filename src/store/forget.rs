//! Forgetting a whole store: files, journal, everything.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

use chrono::{DateTime, Utc};

use super::core::Core;
use super::open::SETTINGS;
use super::session::Session;
use super::{Store, lock};
use crate::disk::{Go, OpenFile, Room, Visit, What, survey};
use crate::error::{Error, Result};
use crate::hash::{Hash, Hasher};
use crate::path::MemoryPath;
use crate::version::Log;

mod trace;

use trace::Traces;

/// What went, and what is out of reach.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// When.
    pub at: DateTime<Utc>,
    /// Files below `memories/`.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Memories that the history knew, living and deleted.
    pub memories: u64,
    /// Versions of them.
    pub versions: u64,
    /// The end of the chain over all versions: what went, in one hash.
    pub head: Hash,
    /// SHA-256 of each file that went, sorted.
    pub contents: Vec<Hash>,
    /// What could not be reached: files that other names (hard links) lead to.
    pub out_of_reach: Vec<String>,
    /// What to look for afterwards: pieces of the texts and names that went. A person's secrets: for the search only.
    pub traces: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Receipt {
    /// Shows how many traces there are, and none of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at, files, bytes, memories, versions, head, contents, out_of_reach, traces } = self;
        f.debug_struct("Receipt")
            .field("at", at)
            .field("files", files)
            .field("bytes", bytes)
            .field("memories", memories)
            .field("versions", versions)
            .field("head", head)
            .field("contents", contents)
            .field("out_of_reach", out_of_reach)
            .field("traces", &traces.len())
            .finish()
    }
}

impl Store {
    /// Removes all memories, the journal and everything else of the store but `memdir.toml`. Cannot be undone.
    ///
    /// Hidden files and a `.git` below `memories/` go, too. What is counted of the history is counted as far as it can be
    /// read: a damaged journal, or a full disk, keeps nobody from forgetting.
    ///
    /// Before the receipt is shown to anybody, another process should search what is left of the store for
    /// [`Receipt::traces`]: the library cannot start one. The handle may be used again, for a new store.
    ///
    /// # Errors
    /// As [`Store::change`]; what was not removed by then is removed by calling it again. [`Error::Unsupported`], with
    /// nothing removed, where another file system is mounted below `memories/`.
    pub fn forget(&self) -> Result<Receipt> {
        let core = &self.inner.core;
        // What others did is to be counted, too.
        match self.absorb(&MemoryPath::ROOT) {
            Err(error) if !is_about_the_history(&error) => return Err(error),
            _ => {}
        }
        let mut engine = lock(&self.inner.engine);
        let receipt = engine.end(core, look_at_history, |history, room| {
            let history = match history.and_then(|looked| looked) {
                Ok(history) => history,
                Err(error) if is_about_the_history(&error) => Past::default(),
                Err(error) => return Err(error),
            };
            let receipt = look_at_files(core, room, history)?;
            core.base.remove_root()?;
            room.remove(core.base.sandbox.base())?;
            Ok(receipt)
        })?;
        core.set_synced();
        Ok(receipt)
    }
}

/// What the journal knew.
#[derive(Default)]
struct Past {
    memories: u64,
    versions: u64,
    head: Option<Hash>,
    traces: Traces,
}

/// Whether the history alone is at fault: then the files can go all the same.
fn is_about_the_history(error: &Error) -> bool {
    matches!(error, Error::Write { .. } | Error::Read { .. } | Error::NewerJournal { .. })
}

fn look_at_history(session: &mut Session<'_>) -> Result<Past> {
    let history = session.journal.history();
    let (memories, versions, head) = history.size()?;
    let mut traces = Traces::default();
    // What of it cannot be read is no trace either.
    let _ = history.versions(&Log::default(), &mut |version| {
        if let Some(path) = &version.path {
            traces.add_name(path.as_str());
        }
        if let Ok(Some(content)) = history.content(version.n) {
            traces.add_content(&content);
        }
        Ok(if traces.is_half_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    Ok(Past { memories, versions, head: Some(head), traces })
}

/// Counts what is about to go.
///
/// # Errors
/// [`Error::Unsupported`] where something is mounted.
fn look_at_files(core: &Core, room: &Room, past: Past) -> Result<Receipt> {
    let Past { memories, versions, head, mut traces } = past;
    let (mut files, mut bytes, mut contents, mut out_of_reach) = (0, 0, BTreeSet::new(), Vec::new());
    if let Some(root) = core.base.sandbox.root()? {
        survey(root.as_fd(), &mut |seen| {
            let path = String::from_utf8_lossy(seen.path);
            match seen.what {
                What::Mount => {
                    return Err(Error::Unsupported { path: MemoryPath::ROOT.join(&path) });
                }
                What::File => {}
                _ => return Ok(Go::On),
            }
            files += 1;
            bytes += seen.stamp.size;
            if let Some(others) = seen.stamp.nlink.checked_sub(1).filter(|&others| others > 0) {
                let names = if others == 1 { "name" } else { "names" };
                out_of_reach.push(format!("/memories/{path} has {others} other {names} (hard links)"));
            }
            // Git's own files are made of compressed pieces.
            let is_traced = !path.split('/').any(|name| name == ".git");
            if is_traced {
                traces.add_name(&path);
            }
            if let Some((hash, first)) = read(seen) {
                contents.insert(hash.0);
                if is_traced {
                    traces.add_content(&first);
                }
            }
            Ok(Go::On)
        })?;
    }
    room.visit("kept", &mut |seen| {
        if seen.what == What::File
            && let Some((_, first)) = read(seen)
        {
            traces.add_content(&first);
        }
        Ok(())
    })?;
    if core.base.has(".git") {
        out_of_reach
            .push("the git repository beside the memories, as far as they were committed to it".to_owned());
    }
    let settings = core.base.side_file(SETTINGS).ok().flatten().unwrap_or_default();
    Ok(Receipt {
        at: (core.clock)(),
        files,
        bytes,
        memories,
        versions,
        head: head.unwrap_or(Hash([0; 32])),
        contents: contents.into_iter().map(Hash).collect(),
        out_of_reach,
        traces: traces.without(settings.as_bytes()),
    })
}

/// The hash of a file, and its beginning; `None` where it cannot be read.
fn read(seen: &Visit<'_>) -> Option<(Hash, Vec<u8>)> {
    let open: OpenFile = seen.open().ok()?.ok()?;
    let (mut hasher, mut first) = (Hasher::default(), Vec::new());
    let read = open.read_pieces(&mut |piece| {
        hasher.update(piece);
        if first.is_empty() {
            first.extend_from_slice(piece);
        }
        ControlFlow::Continue(())
    });
    read.ok().map(|()| (hasher.end(), first))
}
