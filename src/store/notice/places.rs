//! Looking only where a watch says that something happened.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Core, Noticed, Stamps, Survey, changed, compare, end, look, of_history};
use crate::disk::{Base, Look, News, Refusal, Watch};
use crate::error::Result;
use crate::journal::History;
use crate::path::MemoryPath;

/// How long the system is not asked after it had no room: each time all directories are gone through.
const AGAIN: Duration = Duration::from_secs(300);

impl Noticed {
    /// Begins to watch, if nothing does yet.
    pub(super) fn begin(&mut self, base: &Base) {
        if self.watch.is_some() || self.watchable.is_some_and(|then| Instant::now() < then) {
            return;
        }
        match Watch::begin(base, &self.bell) {
            Ok(watch) => self.watch = Some(watch),
            Err(Refusal::Late) => self.watchable = Some(Instant::now() + AGAIN),
            Err(Refusal::Early) => {}
        }
    }

    /// Where something happened since the last look.
    pub(super) fn news(&mut self, base: &Base) -> News {
        let Some(watch) = &mut self.watch else { return News::Everywhere };
        match watch.news(base) {
            News::Broken => {
                self.begin_again(base);
                News::Everywhere
            }
            // Of a file that has other names, somebody may write to one of those.
            News::None | News::At(_) if self.stamps.as_ref().is_none_or(|stamps| stamps.has_links) => {
                self.settle(base);
                News::Everywhere
            }
            news => news,
        }
    }

    /// Comes before a look at everything.
    fn settle(&mut self, base: &Base) {
        if self.watch.as_mut().is_some_and(|watch| !watch.settle()) {
            self.begin_again(base);
        }
    }

    fn begin_again(&mut self, base: &Base) {
        self.watch = None;
        self.begin(base);
        // The look that comes now is the one that it asks for.
        if let Some(watch) = &mut self.watch {
            watch.news(base);
        }
    }

    /// As [`look`], but only at these paths, and where the history has changed, if that is enough.
    pub(super) fn look_at(
        &mut self,
        core: &Core,
        history: Option<History<'_>>,
        stamps: &mut Stamps,
        at: BTreeSet<MemoryPath>,
    ) -> Result<Survey> {
        if let (Some(history), Some(watch)) = (history, &self.watch)
            && core.base.sandbox.root()?.is_some()
        {
            let end = end(Some(history))?;
            let mut has_links = false;
            if let Some(changed) = changed(Some(history), stamps)?
                && let Some(at) = files(core, history, watch, at, &mut has_links)?
            {
                let mut suspects = of_history(changed, stamps);
                suspects.extend(at);
                let found = compare(core, Some(history), stamps, suspects)?;
                (stamps.mark, stamps.chain) = end;
                stamps.has_links |= has_links;
                return Ok(found);
            }
        }
        self.settle(&core.base);
        look(core, history, stamps)
    }
}

/// Those of the paths at which a file or memory counts; `None` where one may have to do with a directory, or may be a
/// file by another name.
fn files(
    core: &Core,
    history: History<'_>,
    watch: &Watch,
    at: BTreeSet<MemoryPath>,
    has_links: &mut bool,
) -> Result<Option<Vec<MemoryPath>>> {
    let mut files = Vec::new();
    for path in at {
        let is_known = history.live(path.as_str())?.is_some();
        if history.has_live_below(path.as_str())? || !is_known && watch.may_misspell(&core.base, &path) {
            return Ok(None);
        }
        match core.base.sandbox.open_file(&path) {
            Ok(Err(Look::Directory)) => return Ok(None),
            Ok(Ok(open)) => *has_links |= open.stamp.nlink > 1,
            // It is gone, or is looked at once more by who can tell what that means.
            Ok(Err(_)) | Err(_) => {}
        }
        if is_known || !path.is_passed_over() {
            files.push(path);
        }
    }
    Ok(Some(files))
}

#[cfg(test)]
impl Noticed {
    /// Doubts all files, so that a look at everything reads them all.
    pub(in crate::store) fn forget(&mut self) {
        if let Some(stamps) = &mut self.stamps {
            stamps.doubt_all();
        }
    }

    pub(in crate::store) fn watch(&mut self) -> Option<&mut Watch> {
        self.watch.as_mut()
    }
}
