//! Noticing what others did to the files without reading them all: only those whose stamps have changed; and where the
//! system tells of it, without looking at all stamps.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
#[cfg(feature = "search")]
use std::sync::Arc;
#[cfg(feature = "search")]
use std::time::Instant;

use super::core::Core;
use super::scan::survey::{Survey, compare_each, reach};
use super::{Absorbed, Store, lock};
#[cfg(feature = "search")]
use crate::disk::{Bell, News, Watch};
use crate::disk::{Go, What, survey};
use crate::error::Result;
use crate::hash::Hash;
use crate::journal::{History, Reader};
use crate::path::{MemoryPath, is_passed_over};

#[cfg(feature = "search")]
mod places;
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
    /// Until then it is not tried again.
    #[cfg(feature = "search")]
    pub(super) watchable: Option<Instant>,
    /// Rung by whatever watch there is.
    #[cfg(feature = "search")]
    bell: Arc<Bell>,
}

impl Store {
    /// As [`Store::absorb`] of everything, but of the files that were found to be as the history says before, only those
    /// are read that have changed since, as their size, times and inode tell.
    ///
    /// A file that was written to so lately that another write could leave the same times is read, too. What was found is
    /// kept for the next call, of this process or another one. [`Absorbed::files`] are those that were read. Files that
    /// others write to through a memory map are noticed when the system gives them a new time.
    ///
    /// # Errors
    /// As [`Store::change`].
    pub fn notice(&self) -> Result<Absorbed> {
        self.inner.mend();
        let mut noticed = lock(&self.inner.noticed);
        #[cfg(feature = "search")]
        let found = match noticed.news(&self.inner.core.base) {
            News::None => return Ok(Absorbed::default()),
            News::At(paths) => self.look_again(&mut noticed, |noticed, core, history, stamps| {
                noticed.look_at(core, history, stamps, paths)
            }),
            News::Everywhere | News::Broken => self.look_again(&mut noticed, look_everywhere),
        };
        #[cfg(not(feature = "search"))]
        let found = self.look_again(&mut noticed, look_everywhere);
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

    /// Lets the system tell from now on when something happens to the files, and to which: [`Store::notice`] looks at no
    /// others then. It looks at all of them when something happened to a directory, to more than a few files, or to one
    /// that has other names, and every half a minute: some of what can be done to a file is not told. For a process that
    /// lives long: it holds a thread, and a watch on every directory.
    ///
    /// Where the system does not let us watch, each call looks at all files, as before. (Where it has no room for as many
    /// directories, it is not asked again for five minutes.)
    ///
    /// # Errors
    /// As [`Store::history`].
    #[cfg(feature = "search")]
    pub fn watch(&self) -> Result<()> {
        // There must be a room for what is watched.
        self.history()?;
        lock(&self.inner.noticed).begin(&self.inner.core.base);
        Ok(())
    }

    /// Whether the system tells of what happens to the files.
    #[cfg(feature = "search")]
    pub(crate) fn is_watched(&self) -> bool {
        lock(&self.inner.noticed).watch.is_some()
    }

    /// What rings when the system tells of something.
    #[cfg(feature = "search")]
    pub(super) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&lock(&self.inner.noticed).bell)
    }

    /// Looks at what changed since the last look.
    fn look_again(
        &self,
        noticed: &mut Noticed,
        look: impl FnOnce(&mut Noticed, &Core, Option<History<'_>>, &mut Stamps) -> Result<Survey>,
    ) -> Result<Survey> {
        let spare = self.spare();
        let kept = spare.upgrade().and_then(|spare| spare.take());
        let reader = if kept.is_some() { kept } else { self.reader()? };
        let history = reader.as_ref().map(Reader::history);
        let core = &self.inner.core;
        let mut stamps = noticed.stamps.take().or_else(|| load(core)).unwrap_or_default();
        let found = look(noticed, core, history, &mut stamps);
        if found.is_ok() && stamps.unsaved > MUCH && core.base.write_derived(STAMPS, &stamps.encode()).is_ok()
        {
            stamps.unsaved = 0;
        }
        noticed.stamps = Some(stamps);
        if let (Some(reader), Some(spare)) = (reader, spare.upgrade()) {
            spare.keep(reader);
        }
        found
    }
}

fn load(core: &Core) -> Option<Stamps> {
    Stamps::decode(&core.base.derived_file(STAMPS)?)
}

/// What differs between files and history. On an error the mark stays where it was.
fn look(core: &Core, history: Option<History<'_>>, stamps: &mut Stamps) -> Result<Survey> {
    let Some(root) = core.base.sandbox.root()? else { return Ok(Survey::default()) };
    let end = end(history)?;
    let changed = if let Some(changed) = changed(history, stamps)? {
        changed
    } else {
        *stamps = Stamps::default();
        history.map(|history| history.paths_since(0)).transpose()?.flatten().unwrap_or_default()
    };
    let mut suspects = of_history(changed, stamps);
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
    let found = compare(core, history, stamps, suspects)?;
    (stamps.mark, stamps.chain) = end;
    stamps.has_links = has_links;
    Ok(found)
}

fn look_everywhere(
    _: &mut Noticed,
    core: &Core,
    history: Option<History<'_>>,
    stamps: &mut Stamps,
) -> Result<Survey> {
    look(core, history, stamps)
}

/// The end of the history, to be read first: what comes later is newer than the mark.
fn end(history: Option<History<'_>>) -> Result<(i64, Hash)> {
    history.map_or(Ok((0, Hash([0; 32]))), History::end)
}

/// Where something changed in the history since the mark; `None` where nobody can tell.
fn changed(history: Option<History<'_>>, stamps: &Stamps) -> Result<Option<Vec<String>>> {
    match history {
        Some(history) if history.chain_at(stamps.mark)? == Some(stamps.chain) => {
            history.paths_since(stamps.mark)
        }
        _ => Ok(None),
    }
}

fn of_history(changed: Vec<String>, stamps: &mut Stamps) -> BTreeSet<MemoryPath> {
    stamps.unsaved += changed.len();
    changed.into_iter().map(MemoryPath::from_normal).collect()
}

/// Compares files with their memories, and takes note of what they are.
fn compare(
    core: &Core,
    history: Option<History<'_>>,
    stamps: &mut Stamps,
    suspects: BTreeSet<MemoryPath>,
) -> Result<Survey> {
    for path in &suspects {
        stamps.doubt(path.as_str());
    }
    compare_each(core, history, suspects, &mut |path, stamp| match stamp {
        Some(stamp) => stamps.note(path.as_str(), stamp),
        None => stamps.forget(path.as_str()),
    })
}
