//! Noticing what others did to the files without reading them all: only those whose stamps have changed.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, OwnedFd};
#[cfg(feature = "search")]
use std::os::unix::ffi::OsStrExt as _;

use super::core::Core;
use super::scan::survey::{Survey, compare_each, reach};
use super::{Absorbed, Store, lock};
#[cfg(feature = "search")]
use crate::disk::{Go, What, survey};
#[cfg(feature = "search")]
use crate::disk::{News, OpenFile, Told, Watch};
use crate::error::Result;
use crate::hash::Hash;
use crate::journal::{History, Reader};
use crate::path::{MemoryPath, is_passed_over};

mod stamps;

use stamps::Stamps;

/// The name in `.memdir/index/`.
const STAMPS: &str = "stamps";

/// With so much that is not in the file it is written anew; less is looked at again by the next process.
const MUCH: usize = if cfg!(test) { 4 } else { 64 };

/// What is known of the files between two looks.
#[derive(Default)]
pub(super) struct Noticed {
    /// `None`: what is on disk about that.
    stamps: Option<Stamps>,
    #[cfg(feature = "search")]
    watch: Option<Watch>,
}

impl Store {
    /// As [`Store::absorb`] of everything, but of the files that were found to be as the history says before, only those
    /// are read that have changed since, as their size, times and inode tell.
    ///
    /// A file that was written to so lately that another write could leave the same times is read, too. What was found is
    /// kept for the next call, of this process or another one. [`Absorbed::files`] are those that were read. Files that others write to through a memory map are noticed
    /// when the system gives them a new time.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn notice(&self) -> Result<Absorbed> {
        self.inner.mend();
        let mut noticed = lock(&self.inner.noticed);
        #[cfg(feature = "search")]
        let told = noticed.told(&self.inner.core);
        #[cfg(not(feature = "search"))]
        let told: Option<Vec<MemoryPath>> = None;
        if told.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Absorbed::default());
        }
        let found = self.look_again(&mut noticed, told);
        #[cfg(feature = "search")]
        if let (Err(_), Some(watch)) = (&found, &noticed.watch) {
            watch.shake();
        }
        drop(noticed);
        let found = found?;
        let files = found.files;
        let versions = self.take_in(found);
        #[cfg(feature = "search")]
        if let (Err(_), Some(watch)) = (&versions, &lock(&self.inner.noticed).watch) {
            watch.shake();
        }
        Ok(Absorbed { versions: versions?, files })
    }

    /// Lets the system tell from now on when something happens to the files: as long as nothing does, [`Store::notice`]
    /// costs no look at them, but for one every half a minute: some of what can be done to a file is not told. For a process
    /// that lives long: it holds a thread, and a watch on every directory.
    ///
    /// Where the system does not let us watch, each call looks, as before.
    ///
    /// # Errors
    /// As [`Store::history`].
    #[cfg(feature = "search")]
    pub fn watch(&self) -> Result<()> {
        // There must be a room for what is watched.
        self.history()?;
        lock(&self.inner.noticed).watch = Watch::begin(&self.inner.core.base);
        Ok(())
    }

    /// Looks at what changed since the last look: of what others did at these paths alone, where it is known that they did
    /// nothing else.
    fn look_again(&self, noticed: &mut Noticed, told: Option<Vec<MemoryPath>>) -> Result<Survey> {
        let reader = self.reader()?;
        let history = reader.as_ref().map(Reader::history);
        let core = &self.inner.core;
        let mut stamps = noticed.stamps.take().or_else(|| load(core)).unwrap_or_default();
        let found = look(core, history, &mut stamps, told);
        if found.is_ok() && stamps.unsaved > MUCH && core.base.write_derived(STAMPS, &stamps.encode()).is_ok()
        {
            stamps.unsaved = 0;
        }
        noticed.stamps = Some(stamps);
        found
    }
}

#[cfg(feature = "search")]
impl Noticed {
    /// Knows nothing of any file, so that a look reads them all.
    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        let has_links = self.stamps.as_ref().is_some_and(|stamps| stamps.has_links);
        let mut stamps = Stamps::default();
        stamps.has_links = has_links;
        self.stamps = Some(stamps);
    }

    #[cfg(test)]
    pub(super) fn has_watch(&self) -> bool {
        self.watch.is_some()
    }

    /// The files to which something happened since the last look; `None`: it may be any.
    fn told(&mut self, core: &Core) -> Option<Vec<MemoryPath>> {
        let watch = self.watch.as_mut()?;
        // Of a file that has other names, somebody may write to one of those.
        let stamps = self.stamps.as_ref().filter(|stamps| !stamps.has_links);
        match watch.news(&core.base) {
            News::None => stamps.map(|_| Vec::new()),
            News::At(told) => stamps.and_then(|stamps| files_of(core, &told, stamps)),
            News::Some => None,
            News::Broken => {
                self.watch = Watch::begin(&core.base);
                // The look that comes now is the one that it asks for.
                if let Some(watch) = &mut self.watch {
                    watch.news(&core.base);
                }
                None
            }
        }
    }
}

/// The files that may have changed, as they are told, of those that a look at everything would compare; `None` where more
/// may have: a directory was there, or the file has another name.
#[cfg(feature = "search")]
fn files_of(core: &Core, told: &[Told], stamps: &Stamps) -> Option<Vec<MemoryPath>> {
    let mut files = Vec::new();
    for Told { path, was_left } in told {
        let Ok(path) = reach(&MemoryPath::ROOT, path.as_os_str().as_bytes()) else { continue };
        let is_known = stamps.knows(path.as_str());
        if !is_known && *was_left && stamps.knows_below(path.as_str()) {
            return None;
        }
        if is_known || !path.segments().any(|name| is_passed_over(name.as_bytes())) {
            let has_links = |open: OpenFile| open.stamp.nlink > 1;
            if core.base.sandbox.open_file(&path).is_ok_and(|found| found.is_ok_and(has_links)) {
                return None;
            }
            files.push(path);
        }
    }
    Some(files)
}

fn load(core: &Core) -> Option<Stamps> {
    Stamps::decode(&core.base.derived_file(STAMPS)?)
}

/// What differs between files and history. On an error the mark stays where it was.
///
/// Where others did something at the paths in `told` alone, no other files are looked at but those that the history names.
fn look(
    core: &Core,
    history: Option<History<'_>>,
    stamps: &mut Stamps,
    told: Option<Vec<MemoryPath>>,
) -> Result<Survey> {
    let Some(root) = core.base.sandbox.root()? else { return Ok(Survey::default()) };
    // Read first: what comes later is newer than the mark.
    let (mark, chain) = match history {
        Some(history) => history.end()?,
        None => (0, Hash([0; 32])),
    };
    let changed = match history {
        Some(history) if history.chain_at(stamps.mark)? == Some(stamps.chain) => {
            history.paths_since(stamps.mark)?
        }
        _ => None,
    };
    let mut told = told;
    let changed = if let Some(changed) = changed {
        changed
    } else {
        told = None;
        *stamps = Stamps::default();
        history.map(|history| history.paths_since(0)).transpose()?.flatten().unwrap_or_default()
    };
    stamps.unsaved += changed.len();
    let mut suspects: BTreeSet<MemoryPath> = changed.into_iter().map(MemoryPath::from_normal).collect();
    let is_whole = told.is_none();
    let mut has_links = false;
    if let Some(told) = told {
        suspects.extend(told);
    } else {
        has_links = walk(core, &root, stamps, &mut suspects)?;
    }
    for path in &suspects {
        stamps.doubt(path.as_str());
    }
    let found = compare_each(core, history, suspects, &mut |path, stamp| match stamp {
        Some(stamp) => {
            has_links |= stamp.nlink > 1;
            stamps.note(path.as_str(), stamp);
        }
        None => stamps.forget(path.as_str()),
    })?;
    (stamps.mark, stamps.chain) = (mark, chain);
    stamps.has_links = has_links || !is_whole && stamps.has_links;
    Ok(found)
}

/// Adds the files that are not what the stamps say; returns whether one has another name.
fn walk(
    core: &Core,
    root: &OwnedFd,
    stamps: &mut Stamps,
    suspects: &mut BTreeSet<MemoryPath>,
) -> Result<bool> {
    stamps.begin();
    let mut has_links = false;
    survey(root.as_fd(), &mut |seen| {
        if seen.path.is_empty() {
            return Ok(Go::On);
        }
        if is_passed_over(seen.name.to_bytes()) {
            return Ok(Go::Past);
        }
        match seen.what {
            What::File => {
                has_links |= seen.stamp.nlink > 1;
                if !stamps.is_same(seen.path, &seen.stamp)
                    && let Ok(path) = reach(&MemoryPath::ROOT, seen.path)
                {
                    suspects.insert(path);
                }
            }
            What::Closed => suspects.extend(reach(&MemoryPath::ROOT, seen.path)),
            What::Directory { .. } | What::Link | What::Special | What::Mount => {}
        }
        Ok(Go::On)
    })?;
    // Those that are hidden, and those that are gone.
    for path in stamps.unmet() {
        let path = MemoryPath::from_normal(path.into_string());
        if let Ok(Ok(open)) = core.base.sandbox.open_file(&path) {
            has_links |= open.stamp.nlink > 1;
            if stamps.is_same(path.as_str().as_bytes(), &open.stamp) {
                continue;
            }
        }
        suspects.insert(path);
    }
    Ok(has_links)
}
