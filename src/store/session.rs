//! What may be done while the lock is held, and how one gets there: room, lock, journal, and whatever a predecessor left
//! to be mended.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use super::absorb::Read;
use super::spare::Spare;
use super::{Actor, Core, erase, lock, recover, sync};
use crate::disk::{Base, Held, Look, Mark, OpenFile, Place, Room, check_writable};
use crate::error::{Error, Result};
use crate::journal::{Journal, Record, Run, Step};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// What a store keeps open between changes.
#[derive(Default)]
pub(super) struct Engine {
    room: Option<Arc<Room>>,
    journal: Option<OpenJournal>,
}

struct OpenJournal {
    /// Goes before the journal does: who closes it last brings its log into it.
    spare: Arc<Spare>,
    journal: Journal,
}

/// The right to change the store.
pub(super) struct Session<'a> {
    pub(super) core: &'a Core,
    pub(super) room: &'a Room,
    pub(super) journal: &'a mut Journal,
    /// Memories whose files were found to be at other paths, though that is not committed yet.
    pub(super) moved: RefCell<BTreeSet<i64>>,
}

/// How long to wait for the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as the settings say.
    Wait,
    /// Not at all: someone else is at work, and will see to it.
    Try,
}

/// A file of more bytes is never read to be recorded: it is moved about as it is.
pub(super) const MOST_READ: u64 = 64 << 20;

impl Engine {
    /// Takes the lock, mends what a predecessor left, and runs `work`; `Ok(None)` when the lock was not to be had at once.
    ///
    /// What fails on the way in is refined; what `work` answers is not: [`Store::locked`](super::Store::locked) does that.
    pub(super) fn enter<T>(
        &mut self,
        core: &Core,
        patience: Patience,
        work: impl FnOnce(&mut Session<'_>) -> T,
    ) -> Result<Option<T>> {
        self.locked(core, patience, |engine, room, held| engine.work(core, room, held, work))
            .map_err(|error| core.refine(error))
    }

    /// Takes the lock for the last time: `look` runs as the work of [`Engine::enter`] does; then the journal is closed,
    /// and `remove` may take the room apart while the lock is still held.
    pub(super) fn end<L, T>(
        &mut self,
        core: &Core,
        look: impl FnOnce(&mut Session<'_>) -> L,
        remove: impl FnOnce(Result<L>, &Room) -> Result<T>,
    ) -> Result<T> {
        let ended = self.locked(core, Patience::Wait, |engine, room, held| {
            let looked = engine.work(core, room, held, look);
            engine.journal = None;
            let removed = remove(looked, room);
            engine.room = None;
            removed
        });
        ended?.ok_or(Error::Busy { pid: None })
    }

    /// Takes the lock of the room that the base directory holds; `Ok(None)` when it was not to be had at once.
    fn locked<T>(
        &mut self,
        core: &Core,
        patience: Patience,
        f: impl FnOnce(&mut Self, &Arc<Room>, &Held<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        if let Some(why) = core.poisoned() {
            return Err(Error::Write { why, doing: "change the store".into(), source: None });
        }
        loop {
            let room = self.room(core)?;
            let held = match patience {
                Patience::Wait => room.locks.acquire(core.settings.lock_wait)?,
                Patience::Try => match room.locks.try_acquire()? {
                    Some(held) => held,
                    None => return Ok(None),
                },
            };
            if room.is_current(core.base.sandbox.base()) {
                return f(self, &room, &held).map(Some);
            }
            // It went while its lock was waited for: that lock excludes nobody any more.
        }
    }

    /// Mends what a predecessor left, and runs `work`.
    fn work<T>(
        &mut self,
        core: &Core,
        room: &Room,
        held: &Held<'_>,
        work: impl FnOnce(&mut Session<'_>) -> T,
    ) -> Result<T> {
        let mark = room.locks.mark();
        // What lies in `staging/` when a process comes is a leftover, of one that could not clear up.
        let is_due = mark.as_ref().is_none_or(|mark| core.is_due(mark))
            || self.journal.is_none() && !room.staged()?.is_empty();
        let pid = std::process::id();
        // Until all is mended the old site stays in the mark, so that readers know to wait.
        let busy = match &mark {
            Some(mark) if is_due => Mark { pid, idle: false, ..mark.clone() },
            _ => Mark { pid, site: core.base.site.clone(), published: 0, idle: false },
        };
        if is_due && mark.is_some() {
            held.write_mark(&busy)?;
        }
        let journal = self.journal(core, room)?;
        // The last to write was this process, and nothing was written since.
        let newest = mark.as_ref().filter(|mark| mark.pid == pid && mark.idle).map(|mark| mark.published);
        journal.trust(newest);
        let mut session = Session { core, room, journal, moved: RefCell::default() };
        if is_due {
            let refine = |error| core.refine(error);
            recover::recover(&mut session, mark.as_ref()).map_err(refine)?;
        }
        let published = session.journal.last_change().map_err(|e| core.refine(e))?;
        let busy = Mark { site: core.base.site.clone(), published, ..busy };
        held.write_mark(&busy)?;
        core.set_unsettled(false);
        let result = work(&mut session);
        if core.poisoned().is_none() && !core.is_unsettled() {
            let published = session.journal.last_change().map_err(|e| core.refine(e))?;
            held.write_mark(&Mark { published, idle: true, ..busy })?;
        }
        Ok(result)
    }

    /// The room, opened again when it is not the one that the base directory holds any more.
    fn room(&mut self, core: &Core) -> Result<Arc<Room>> {
        if let Some(room) = self.room.as_ref().filter(|room| room.is_current(core.base.sandbox.base())) {
            return Ok(Arc::clone(room));
        }
        self.journal = None;
        let room = Arc::new(core.base.room(core.settings.allow_fuse)?);
        self.room = Some(Arc::clone(&room));
        Ok(room)
    }

    fn journal(&mut self, core: &Core, room: &Room) -> Result<&mut Journal> {
        let inode = room.journal_inode();
        if self.journal.as_ref().is_some_and(|open| !open.spare.is_of(inode)) {
            self.journal = None;
        }
        let open = match self.journal.take() {
            Some(open) => open,
            None => open_journal(core, room, inode.is_none())?,
        };
        Ok(&mut self.journal.insert(open).journal)
    }
}

fn open_journal(core: &Core, room: &Room, is_new: bool) -> Result<OpenJournal> {
    let site = &core.base.site;
    let run = Run { boot: site.boot.clone(), mount: site.mount };
    room.check_journal().map_err(|error| core.refine(error))?;
    let mut journal = Journal::open(&core.base.journal_path(), &run).map_err(|error| core.refine(error))?;
    erase::finish(core, room, &mut journal).map_err(|error| core.refine(error))?;
    if is_new {
        room.sync()?;
    }
    let spare = Arc::new(Spare::of(room.journal_inode()));
    *lock(&core.spare) = Arc::downgrade(&spare);
    Ok(OpenJournal { spare, journal })
}

impl Session<'_> {
    pub(super) fn base(&self) -> &Base {
        &self.core.base
    }

    /// Where a path's last segment lives.
    pub(super) fn place(&self, path: &MemoryPath) -> Result<Place> {
        match self.base().sandbox.parent(path)? {
            Ok(place) => Ok(place),
            Err(look) => Err(refusal(look, path)),
        }
    }

    /// Makes `memories` when it is gone, and records first that all that was in it went with it; whether it was gone.
    pub(super) fn make_root(&mut self) -> Result<bool> {
        if self.base().sandbox.root()?.is_some() {
            return Ok(false);
        }
        let gone = self.journal.heads_below("")?;
        if !gone.is_empty() {
            let steps: Vec<Step> =
                gone.into_iter().map(|head| Step::Delete { path: head.path, staged: None }).collect();
            self.journal.commit(
                self.core.now(),
                &[Record { by: &Actor::Outside, reason: None, id: None, steps: &steps }],
            )?;
        }
        self.base().make_root(self.core.settings.dir_mode)
    }

    /// Reads a regular file that is to be removed; `None` when it is none any more.
    pub(super) fn read_file(&self, path: &MemoryPath) -> Result<Option<Read>> {
        match self.base().sandbox.open_file(path)? {
            Ok(open) => {
                let bytes = self.read_open(&open)?;
                Ok(Some((open.stamp, bytes)))
            }
            Err(_) => Ok(None),
        }
    }

    /// The bytes of an open file, if it is not too large to be read.
    pub(super) fn read_open(&self, open: &OpenFile) -> Result<Option<Bytes>> {
        if open.stamp.size > MOST_READ.max(self.core.settings.file_limit) {
            return Ok(None);
        }
        open.read().map(Some).map_err(|e| Error::read("read a file", e))
    }

    /// Refuses to move a directory that this user cannot write to.
    pub(super) fn refuse_unwritable_directory(&self, path: &MemoryPath) -> Result<()> {
        match self.base().sandbox.open_dir(path)? {
            Ok(dir) => refuse_unwritable(&dir),
            Err(look) => Err(refusal(look, path)),
        }
    }

    /// Syncs what was published, and moves the watermark, once there is much of it.
    pub(super) fn sync_if_much(&mut self) {
        if self.core.unsynced() >= MUCH
            && !self.core.is_unsettled()
            && let Err(error) = sync::sync(self)
        {
            // Only a sync that failed ends anything.
            self.core.warn(&self.core.refine(error));
        }
    }
}

/// Refuses a change in a directory that this user, or nobody, can write to.
pub(super) fn refuse_unwritable(dir: &OwnedFd) -> Result<()> {
    check_writable(dir.as_fd()).map_err(|e| Error::write("write to a directory", e))
}

/// So many unsynced changes are synced in passing, so that recovery stays short.
const MUCH: u64 = 512;

/// What a path that leads to no place is refused with.
fn refusal(look: Look, path: &MemoryPath) -> Error {
    let path = path.clone();
    match look {
        Look::Link | Look::BelowLink => Error::Link { path },
        Look::BelowFile(file) => Error::BelowFile { path, file },
        Look::Special => Error::Unsupported { path },
        Look::Missing | Look::Directory | Look::File { .. } => Error::Missing { path },
    }
}
