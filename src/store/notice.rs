//! Noticing what others did to the files without reading them all: only those whose stamps have changed.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;

use super::core::Core;
use super::scan::survey::{Survey, compare_each, reach};
use super::{Absorbed, Store, lock};
use crate::disk::{Go, What, survey};
use crate::error::Result;
use crate::hash::Hash;
use crate::journal::{History, Reader};
use crate::path::{MemoryPath, is_passed_over};

mod stamps;

pub(super) use stamps::Stamps;

/// The name in `.memdir/index/`.
const STAMPS: &str = "stamps";

/// With so much that is not in the file it is written anew; less is looked at again by the next process.
const MUCH: usize = if cfg!(test) { 4 } else { 64 };

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
        let mut known = lock(&self.inner.stamps);
        let reader = self.reader()?;
        let history = reader.as_ref().map(Reader::history);
        let core = &self.inner.core;
        let mut stamps = known.take().or_else(|| load(core)).unwrap_or_default();
        let looked = look(core, history, &mut stamps);
        let found = match looked {
            Ok(found) => found,
            Err(error) => {
                *known = Some(stamps);
                return Err(error);
            }
        };
        if stamps.unsaved > MUCH && core.base.write_derived(STAMPS, &stamps.encode()).is_ok() {
            stamps.unsaved = 0;
        }
        *known = Some(stamps);
        drop(known);
        let files = found.files;
        Ok(Absorbed { versions: self.take_in(found)?, files })
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
    survey(root.as_fd(), &mut |seen| {
        if seen.path.is_empty() {
            return Ok(Go::On);
        }
        if is_passed_over(seen.name.to_bytes()) {
            return Ok(Go::Past);
        }
        match seen.what {
            What::File => {
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
        let is_same = matches!(core.base.sandbox.open_file(&path), Ok(Ok(open))
            if stamps.is_same(path.as_str().as_bytes(), &open.stamp));
        if !is_same {
            suspects.insert(path);
        }
    }
    for path in &suspects {
        stamps.forget(path.as_str());
    }
    let found = compare_each(core, history, suspects, &mut |path, stamp| stamps.note(path.as_str(), stamp))?;
    (stamps.mark, stamps.chain) = (mark, chain);
    Ok(found)
}
