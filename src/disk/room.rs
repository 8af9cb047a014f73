//! `.memdir`, the machine's room: lock files, staging, what is kept. No tool path can name it.

use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::lock::{LOCK, Locks, TURN};
use super::names::{names, reopen};
use super::tree::{Visit, remove_tree, visit};
use crate::error::{Error, Result, Trouble};
use crate::fail;

/// The name of the room in the base directory.
pub(super) const ROOM: &str = ".memdir";
/// The name of the memories' root in the base directory.
pub(super) const MEMORIES: &str = "memories";
pub(super) const JOURNAL: &str = "journal.db";
/// How the names of the journal's files end: the database, its log, and what its readers and writers share.
pub(super) const JOURNAL_FILES: [&str; 3] = ["", "-wal", "-shm"];
const STAGING: &str = "staging";
pub(super) const KEPT: &str = "kept";
/// Copies of memories that people edit.
const EDITS: &str = "edits";
/// The room belongs to the machine, whatever the settings say of memories.
pub(super) const PRIVATE: Mode = Mode::RWXU;

/// The open room of a store.
#[derive(Debug)]
pub(crate) struct Room {
    dir: OwnedFd,
    pub(super) staging: OwnedFd,
    pub(super) kept: OwnedFd,
    pub(crate) locks: Locks,
    lock_inode: Option<u64>,
    path: PathBuf,
}

impl Room {
    /// Opens the room in `base` (which lies at `path`), making what is missing of it.
    pub(super) fn open(base: BorrowedFd<'_>, path: &std::path::Path) -> Result<Self> {
        let mut tries = 0;
        loop {
            match Self::open_once(base, path) {
                // Somebody is just removing it: then a new one is made.
                Err(error) if tries < TRIES && is_not_found(&error) => tries += 1,
                opened => return opened,
            }
        }
    }

    fn open_once(base: BorrowedFd<'_>, path: &std::path::Path) -> Result<Self> {
        let made = make_directory(base, ROOM)?;
        let dir = open_directory(base, ROOM)?;
        // Until there is a journal it is not known that this was ever synced.
        let mut fresh = made || inode(&dir, JOURNAL).is_none();
        for name in [STAGING, KEPT] {
            fresh |= make_directory(&dir, name)?;
        }
        let (staging, kept) = (open_directory(&dir, STAGING)?, open_directory(&dir, KEPT)?);
        let locks = Locks::open(&dir)?;
        let path = path.join(ROOM);
        if fresh {
            ignore_in_git(&path)?;
            sync_directory(&dir, ROOM)?;
            sync_directory(&syncable(base)?, "the base directory")?;
        }
        let lock_inode = locks.inode();
        Ok(Self { dir, staging, kept, locks, lock_inode, path })
    }

    /// The room itself.
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The inode of the journal's file; `None` when it is missing.
    pub(crate) fn journal_inode(&self) -> Option<u64> {
        inode(&self.dir, JOURNAL)
    }

    /// Refuses a journal that is a link or anything else but regular files: SQLite would write wherever a link leads.
    pub(crate) fn check_journal(&self) -> Result<()> {
        for suffix in JOURNAL_FILES {
            let name = format!("{JOURNAL}{suffix}");
            match rustix::fs::statat(&self.dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                    let doing = format!("open .memdir/{name}, which is no regular file");
                    return Err(Error::Write { why: Trouble::Journal, doing, source: None });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether this is still the room that `base` holds: somebody may have removed it, and another process made a new one.
    pub(crate) fn is_current(&self, base: BorrowedFd<'_>) -> bool {
        let seen = inode(base, &format!("{ROOM}/{LOCK}"));
        seen.is_some() && seen == self.lock_inode
    }

    /// Where the copies are that people edit, for editors, which open by name; made when it is missing.
    pub(crate) fn edits_path(&self) -> Result<PathBuf> {
        make_directory(&self.dir, EDITS)?;
        open_directory(&self.dir, EDITS)?;
        Ok(self.path.join(EDITS))
    }

    /// A file without a name, on the same disk as the store, that is gone when it is closed.
    pub(crate) fn scratch(&self) -> Result<std::fs::File> {
        tempfile::tempfile_in(&self.path).map_err(|e| Error::write("make a file in .memdir", e))
    }

    /// Syncs the names in the room: a journal that was just made must not vanish.
    pub(crate) fn sync(&self) -> Result<()> {
        sync_directory(&self.dir, ROOM)
    }

    /// Removes everything in the room, the lock files last, and the room itself from `base`. Whoever waits for the lock
    /// sees that it is not current any more.
    pub(crate) fn remove(&self, base: BorrowedFd<'_>) -> Result<()> {
        let failed = |e| Error::write("remove .memdir", e);
        let dir = reopen(self.dir.as_fd()).map_err(failed)?;
        for (name, _) in names(dir.as_fd()).map_err(failed)? {
            if ![TURN, LOCK].iter().any(|lock| lock.as_bytes() == name.to_bytes()) {
                remove_tree(self.dir.as_fd(), &name)?;
            }
        }
        for name in [TURN, LOCK] {
            fail::step();
            match rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        fail::step();
        match rustix::fs::unlinkat(base, ROOM, AtFlags::REMOVEDIR) {
            // Somebody begins anew in it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(e) => return Err(failed(e)),
        }
        sync_directory(&syncable(base)?, "the base directory")
    }

    /// Visits what lies in one of the room's directories; one that is not there has nothing in it.
    pub(crate) fn visit(&self, name: &str, f: &mut dyn FnMut(&Visit<'_>) -> Result<()>) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, name, flags, Mode::empty()) {
            Ok(dir) => visit(dir.as_fd(), f),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(e) => Err(Error::read(format!("look into .memdir/{name}"), e)),
        }
    }

    /// The names in `staging/`, which are all machine-made.
    pub(crate) fn staged(&self) -> Result<Vec<String>> {
        self.names_in(STAGING)
    }

    /// The names in a directory of the room.
    pub(super) fn names_in(&self, directory: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in walkdir::WalkDir::new(self.path.join(directory)).min_depth(1).max_depth(1) {
            match entry {
                Ok(entry) => names.push(entry.file_name().to_string_lossy().into_owned()),
                Err(e) => {
                    let e = e.into_io_error().unwrap_or_else(|| std::io::ErrorKind::Other.into());
                    return Err(Error::write(format!("look into .memdir/{directory}"), e));
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// How often a room is opened that somebody else removes meanwhile.
const TRIES: usize = 64;

fn is_not_found(error: &Error) -> bool {
    let Error::Write { source: Some(source), .. } = error else { return false };
    source.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

/// The inode of what stands there, a link itself.
pub(super) fn inode(dir: impl AsFd, name: &str) -> Option<u64> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_ino)
}

/// Makes a private directory; `false` when it is there.
fn make_directory(parent: impl AsFd + Copy, name: &str) -> Result<bool> {
    fail::step();
    match rustix::fs::mkdirat(parent, name, PRIVATE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // A file system that cannot be written says so even where the directory is there.
        Err(e) => match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => Ok(false),
            _ => Err(Error::write(format!("make {name}"), e)),
        },
    }
}

/// Opens a directory of the machine's own, for reading and syncing.
fn open_directory(parent: impl AsFd + Copy, name: &str) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
        .map_err(|e| Error::write(format!("open {name}"), e))
}

/// A handle of the same directory that can be synced, which one made by `O_PATH` cannot.
pub(super) fn syncable(dir: impl AsFd + Copy) -> Result<OwnedFd> {
    open_directory(dir, ".")
}

/// Syncs a directory: the names in it.
pub(super) fn sync_directory(dir: impl AsFd, name: &str) -> Result<()> {
    fail::step();
    let synced = if fail::breaks_sync() { Err(Errno::IO) } else { rustix::fs::fsync(dir) };
    synced.map_err(|e| sync_failed(format!("sync {name}"), e))
}

/// A sync that failed. Where the file system has turned read-only there was nothing to lose.
pub(super) fn sync_failed(doing: String, error: Errno) -> Error {
    let source: std::io::Error = error.into();
    let why = if error == Errno::ROFS { Trouble::ReadOnly } else { Trouble::SyncFailed };
    Error::Write { why, doing, source: Some(source.into()) }
}

/// Keeps the room out of a git work tree that the store may live in.
pub(super) fn ignore_in_git(room: &std::path::Path) -> Result<()> {
    fail::step();
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(room)?;
        file.write_all(b"*\n")?;
        match file.persist_noclobber(room.join(".gitignore")) {
            Err(e) if e.error.kind() != std::io::ErrorKind::AlreadyExists => Err(e.error),
            _ => Ok(()),
        }
    };
    write().map_err(|e| Error::write("write .memdir/.gitignore", e))
}
