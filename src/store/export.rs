//! All files of a store at one moment.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;

use super::scan::survey::{closed, reach};
use super::session::Session;
use super::{History, Store};
use crate::disk::{Go, What, survey};
use crate::error::Result;
use crate::path::{MemoryPath, is_passed_over};
use crate::text::Bytes;

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredFile {
    /// Where it is.
    pub path: MemoryPath,
    /// All its bytes.
    pub bytes: Bytes,
    /// Its permission bits.
    pub mode: u32,
    /// When it was last written, in seconds since 1970.
    pub modified: i64,
}

impl Store {
    /// Calls `each` with every file, as they all are at one moment, and returns the history as it is at that same moment.
    ///
    /// The files come in the order of their paths' bytes. They are those that a listing shows, and of the hidden ones
    /// those that memdir made; a name that no path has is passed over. What others did is taken in first. Writers wait
    /// meanwhile, so `each` must not change the store: it would wait for its own end.
    ///
    /// # Errors
    /// As [`Store::change`], or what `each` returns.
    pub fn snapshot(&self, each: &mut dyn FnMut(StoredFile) -> Result<()>) -> Result<History> {
        self.absorb(&MemoryPath::ROOT)?;
        let history = self.history()?;
        self.locked(|session| {
            history.freeze()?;
            for path in &files(session)? {
                let done = read(session, path)?.map_or(Ok(()), &mut *each);
                // What the caller fails at is no failure of the store.
                if done.is_err() {
                    return Ok(done);
                }
            }
            Ok(Ok(()))
        })??;
        Ok(history)
    }
}

/// The paths of all files that belong to the store.
fn files(session: &Session<'_>) -> Result<BTreeSet<MemoryPath>> {
    let mut files = BTreeSet::new();
    let Some(root) = session.base().sandbox.root()? else { return Ok(files) };
    survey(root.as_fd(), &mut |seen| {
        if seen.path.is_empty() {
            return Ok(Go::On);
        }
        if is_passed_over(seen.name.to_bytes()) {
            return Ok(Go::Past);
        }
        let Ok(path) = reach(&MemoryPath::ROOT, seen.path) else { return Ok(Go::Past) };
        match seen.what {
            What::File => {
                files.insert(path);
            }
            // An export that lacks a part must not look like one.
            What::Closed => return Err(closed(&path)),
            What::Directory { .. } | What::Link | What::Special | What::Mount => {}
        }
        Ok(Go::On)
    })?;
    let known = session.journal.heads_below("")?;
    let known = known.into_iter().map(|head| MemoryPath::from_normal(head.path));
    files.extend(known.filter(|path| path.is_passed_over() && !path.names_git()));
    Ok(files)
}

/// A file, if it is (still) there.
fn read(session: &Session<'_>, path: &MemoryPath) -> Result<Option<StoredFile>> {
    let sandbox = &session.base().sandbox;
    let Ok((bytes, stamp)) = sandbox.read_stamped(path)? else { return Ok(None) };
    let modified = i64::try_from(stamp.mtime.div_euclid(1_000_000_000)).unwrap_or(0);
    Ok(Some(StoredFile { path: path.clone(), bytes, mode: stamp.mode & 0o7777, modified }))
}
