//! Noticing what others did to the files without reading them all: only those whose stamps have changed.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;

use super::core::Core;
use super::scan::survey::{Survey, compare_each, reach};
use super::{Absorbed, Store, lock};
#[cfg(feature = "search")]
use crate::disk::{Base, News, Watch};
use crate::disk::{Go, What, survey};
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
        if noticed.is_quiet(&self.inner.core.base) {
            return Ok(Absorbed::default());
        }
        let found = self.look_again(&mut noticed);
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

    /// Looks at what changed since the last look.
    fn look_again(&self, noticed: &mut Noticed) -> Result<Survey> {
        let reader = self.reader()?;
        let history = reader.as_ref().map(Reader::history);
        let core = &self.inner.core;
        let mut stamps = noticed.stamps.take().or_else(|| load(core)).unwrap_or_default();
        let found = look(core, history, &mut stamps);
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

    /// Whether nothing happened since the last look.
    fn is_quiet(&mut self, base: &Base) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        match watch.news(base) {
            // Of a file that has other names, somebody may write to one of those.
            News::None => self.stamps.as_ref().is_some_and(|stamps| !stamps.has_links),
            News::Some => false,
            News::Broken => {
                self.watch = Watch::begin(base);
                // The look that comes now is the one that it asks for.
                if let Some(watch) = &mut self.watch {
                    watch.news(base);
                }
                false
            }
        }
    }
}

fn load(core: &Core) -> Option<Stamps> {
    Stamps::decode(&core.base.derived_file(STAMPS)?)
}

/// What differs between files and history. On an error the mark stays where it was.
fn look(core: &Core, history: Option<History<'_>>, stamps: &mut Stamps) -> Result<Survey> {
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
    let changed = if let Some(changed) = changed {
        changed
    } else {
        *stamps = Stamps::default();
        history.map(|history| history.paths_since(0)).transpose()?.flatten().unwrap_or_default()
    };
    stamps.unsaved += changed.len();
    let mut suspects: BTreeSet<MemoryPath> = changed.into_iter().map(MemoryPath::from_normal).collect();
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
    for path in &suspects {
        stamps.doubt(path.as_str());
    }
    let found = compare_each(core, history, suspects, &mut |path, stamp| match stamp {
        Some(stamp) => stamps.note(path.as_str(), stamp),
        None => stamps.forget(path.as_str()),
    })?;
    (stamps.mark, stamps.chain, stamps.has_links) = (mark, chain, has_links);
    Ok(found)
}
