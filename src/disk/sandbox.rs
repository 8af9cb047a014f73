//! The sandbox: the one way from a path to a file, by handle, at the moment of use.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(target_os = "linux")]
use std::sync::atomic::Ordering;

use rustix::fs::{Mode, OFlags};
use rustix::io;

use super::room::MEMORIES;
use super::stat::{self, Kind, Mount, Stamp};
use super::walk::{self, Walked};
use super::{Entry, Extent, Found, Listing, Look, list, names};
use crate::error::{Error, Result};
use crate::hash::{Hash, Hasher};
use crate::path::MemoryPath;
use crate::text::Bytes;

// Elsewhere file systems normalise names themselves, and some refuse those that are not UTF-8.
#[cfg(all(test, target_os = "linux"))]
mod race;
#[cfg(all(test, target_os = "linux"))]
mod tests;

/// What was asked for, or what stands in its place.
pub(crate) type Looked<T> = Result<std::result::Result<T, Look>>;

/// How paths are resolved. Both ways answer the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Backend {
    /// One system call for the whole path; the walk says what an obstacle is.
    #[cfg(target_os = "linux")]
    #[default]
    Openat2,
    /// One `openat` for each component.
    #[cfg_attr(not(target_os = "linux"), default)]
    Walk,
}

/// The directory `memories` of a base directory that is held open.
///
/// No path is looked at first and opened later: what is answered was true of what was opened.
#[derive(Debug)]
pub(crate) struct Sandbox {
    base: OwnedFd,
    home: Mount,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no other way"))]
    walks: AtomicBool,
    /// Bytes of a file that are read at most: memory is finite, and a file may be sparse.
    pub(crate) most_read: u64,
}

/// Unless the settings allow larger files.
const MOST_READ: u64 = 512 << 20;

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// Taken when it was opened: if it has changed by now, a later stamp differs.
    pub(crate) stamp: Stamp,
}

/// Where the last segment of a path lives, or would live.
#[derive(Debug)]
pub(crate) struct Place {
    /// The deepest directory on the way that exists; a handle that names nothing (`O_PATH`) where the system has such:
    /// [`names::reopen`] makes one that can be read and synced.
    pub(crate) dir: Arc<OwnedFd>,
    /// The segments below `dir` that are to be made before `name` can be, the root's own among them should it be gone.
    pub(crate) missing: Vec<String>,
    /// The last segment as it is spelt on disk, else in NFC.
    pub(crate) name: String,
    /// What stands there, never looked at through a link.
    pub(crate) look: Look,
    /// The stamp of what stands there.
    pub(crate) stamp: Option<Stamp>,
}

/// Directories that are held open, by device and inode.
pub(crate) type Handles = HashMap<(u64, u64), Arc<OwnedFd>>;

impl Place {
    /// Lets all places in one directory have one handle between them.
    pub(crate) fn share(&mut self, handles: &mut Handles) -> Result<()> {
        let seen = stat::of(self.dir.as_fd()).map_err(|e| Error::read("look at a directory", e))?;
        let shared = handles.entry((seen.stamp.dev, seen.stamp.ino)).or_insert_with(|| Arc::clone(&self.dir));
        self.dir = Arc::clone(shared);
        Ok(())
    }

    /// What stands there now.
    pub(crate) fn seen(&self) -> Option<(Kind, Stamp)> {
        let name = CString::new(self.name.as_str()).ok()?;
        stat::at(self.dir.as_fd(), &name).ok().map(|seen| (seen.kind, seen.stamp))
    }

    /// Whether this is what stood there, moved. (Of a directory that moves entry by entry another arrives.)
    pub(crate) fn is_like(&self, seen: Option<(Kind, Stamp)>) -> bool {
        match (seen, self.stamp) {
            (Some((Kind::Directory, _)), _) => self.look == Look::Directory,
            (Some((_, now)), Some(before)) => (now.dev, now.ino) == (before.dev, before.ino),
            _ => false,
        }
    }
}

#[cfg(all(feature = "search", target_os = "linux"))]
fn has_folding_flag(dir: BorrowedFd<'_>) -> bool {
    /// From `linux/fs.h`.
    const FS_CASEFOLD_FL: u32 = 0x4000_0000;
    rustix::fs::ioctl_getflags(dir).is_ok_and(|flags| flags.bits() & FS_CASEFOLD_FL != 0)
}

#[cfg(all(feature = "search", not(target_os = "linux")))]
fn has_folding_flag(_: BorrowedFd<'_>) -> bool {
    false
}

/// How a file is opened: a FIFO does not hang, a terminal is not taken over, a link is not followed.
pub(super) const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// How a directory is opened that only leads further.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often a lookup is tried again that others disturb.
#[cfg(target_os = "linux")]
const TRIES: usize = 16;

impl Sandbox {
    /// A sandbox below an open directory. Where openat2 turns out to be missing the walk takes over for good.
    pub(crate) fn new(base: OwnedFd, backend: Backend) -> Result<Self> {
        let home = stat::of(base.as_fd()).map_err(|e| Error::read("look at the base directory", e))?.mount;
        let walks = backend == Backend::Walk;
        Ok(Self { base, home, walks: walks.into(), most_read: MOST_READ })
    }

    /// The base directory.
    pub(crate) fn base(&self) -> BorrowedFd<'_> {
        self.base.as_fd()
    }

    /// A handle of `memories` itself, readable; `None` if it is missing.
    pub(crate) fn root(&self) -> Result<Option<OwnedFd>> {
        match self.open_dir(&MemoryPath::ROOT)? {
            Ok(dir) => Ok(Some(dir)),
            Err(Look::Missing) => Ok(None),
            Err(Look::Link) => Err(Error::Link { path: MemoryPath::ROOT }),
            Err(_) => Err(Error::Unsupported { path: MemoryPath::ROOT }),
        }
    }

    /// What stands at a path.
    pub(crate) fn look(&self, path: &MemoryPath) -> Result<Look> {
        #[cfg(target_os = "linux")]
        match self.beneath(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC) {
            Ok(fd) => {
                let seen = stat::of(fd.as_fd()).map_err(|e| failed("look at", path, e))?;
                return Ok(seen.look(self.home));
            }
            Err(Obstacle::Missing) => return Ok(Look::Missing),
            Err(Obstacle::Other) => {}
        }
        Ok(match self.walk(path, "look at")? {
            Walked::Last { seen, .. } => seen.map_or(Look::Missing, |seen| seen.look(self.home)),
            Walked::Gap { .. } => Look::Missing,
            Walked::Blocked(look) => look,
        })
    }

    /// Opens a regular file for reading; anything else is only named.
    pub(crate) fn open_file(&self, path: &MemoryPath) -> Looked<OpenFile> {
        #[cfg(target_os = "linux")]
        match self.beneath(path, FILE) {
            Ok(fd) => return as_file(fd, self.home).map_err(|e| failed("look at", path, e)),
            Err(Obstacle::Missing) => return Ok(Err(Look::Missing)),
            Err(Obstacle::Other) => {}
        }
        self.at_last(path, Kind::File, |dir, name| open_in(dir, name, self.home))
    }

    /// Opens a directory to read its names; anything else is only named.
    pub(crate) fn open_dir(&self, path: &MemoryPath) -> Looked<OwnedFd> {
        #[cfg(target_os = "linux")]
        match self.beneath(path, FILE | OFlags::DIRECTORY) {
            Ok(fd) => return Ok(Ok(fd)),
            Err(Obstacle::Missing) => return Ok(Err(Look::Missing)),
            Err(Obstacle::Other) => {}
        }
        self.at_last(path, Kind::Directory, |dir, name| match walk::enter(dir, name)? {
            (Some(entered), seen) if seen.kind == Kind::Directory && seen.is_on(self.home) => {
                names::reopen(entered.as_fd()).map(Ok)
            }
            (_, seen) => Ok(Err(seen.look(self.home))),
        })
    }

    /// Whether a directory is one of those, on file systems that have such, whose names are the same that differ in case.
    /// (One that cannot be looked into may be.)
    #[cfg(feature = "search")]
    pub(crate) fn folds_case(&self, dir: &MemoryPath) -> bool {
        match self.open_dir(dir) {
            Ok(Ok(dir)) => has_folding_flag(dir.as_fd()),
            Ok(Err(_)) => false,
            Err(_) => true,
        }
    }

    /// A file's content, whole.
    pub(crate) fn read(&self, path: &MemoryPath) -> Result<Found> {
        Ok(match self.read_stamped(path)? {
            Ok((bytes, _)) => Found::File(bytes),
            Err(look) => Found::Not(look),
        })
    }

    /// A file's content with the stamp that it had before it was read.
    pub(crate) fn read_stamped(&self, path: &MemoryPath) -> Looked<(Bytes, Stamp)> {
        match self.open_file(path)? {
            Ok(open) => Ok(Ok((self.read_whole(&open, path)?, open.stamp))),
            Err(look) => Ok(Err(look)),
        }
    }

    /// All bytes of an open file, unless it is too large for that.
    pub(crate) fn read_whole(&self, open: &OpenFile, path: &MemoryPath) -> Result<Bytes> {
        self.refuse_large(open, path)?;
        open.read().map_err(|e| failed("read", path, e))
    }

    fn refuse_large(&self, open: &OpenFile, path: &MemoryPath) -> Result<()> {
        let size = open.stamp.size;
        if size <= self.most_read { Ok(()) } else { Err(Error::TooLargeToRead { path: path.clone(), size }) }
    }

    /// Hands out a file's content piece by piece, until `piece` wants no more.
    pub(crate) fn read_pieces(
        &self,
        path: &MemoryPath,
        piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Looked<()> {
        match self.open_file(path)? {
            Ok(open) => {
                self.refuse_large(&open, path)?;
                open.read_pieces(piece).map_err(|e| failed("read", path, e)).map(Ok)
            }
            Err(look) => Ok(Err(look)),
        }
    }

    /// Where a path's last segment lives; a link, or a file, on the way is only named.
    ///
    /// The root's place is in the base directory.
    pub(crate) fn parent(&self, path: &MemoryPath) -> Looked<Place> {
        #[cfg(target_os = "linux")]
        if let Some((above, last)) = path.split_last()
            && let Ok(dir) = self.beneath(&above, STEP)
        {
            let found = names::find(dir.as_fd(), last).map_err(|e| failed("look at", path, e))?;
            let (name, seen) = found.map_or((last.into(), None), |(name, seen)| (name, Some(seen)));
            let name = name.into_owned();
            return Ok(Ok(self.place(dir, name, seen)));
        }
        Ok(match self.walk(path, "look at")? {
            Walked::Last { dir, name, seen } => Ok(self.place(dir, name, seen)),
            Walked::Gap { dir, missing, name } => Ok(Place { missing, ..self.place(dir, name, None) }),
            Walked::Blocked(look) => Err(look),
        })
    }

    /// What is visible in a directory, `depth` levels deep, with all sizes.
    pub(crate) fn list(&self, path: &MemoryPath, depth: usize) -> Looked<Listing> {
        match self.open_dir(path)? {
            Ok(dir) => {
                Ok(Ok(list::list(dir.as_fd(), self.home, depth).map_err(|e| failed("list", path, e))?))
            }
            Err(look) => Ok(Err(look)),
        }
    }

    /// All that is in a directory, hidden or not, and whether it is a directory itself; a name that is not UTF-8 is shown
    /// as one that nothing has.
    pub(crate) fn entries(&self, path: &MemoryPath) -> Looked<Vec<(MemoryPath, bool)>> {
        match self.open_dir(path)? {
            Ok(dir) => {
                let entries = list::entries(dir.as_fd()).map_err(|e| failed("list", path, e))?;
                let path = |(name, is_dir): (CString, bool)| (path.join(&name.to_string_lossy()), is_dir);
                Ok(Ok(entries.into_iter().map(path).collect()))
            }
            Err(look) => Ok(Err(look)),
        }
    }

    /// How far the names below a directory reach; nothing reaches below anything else.
    pub(crate) fn extent(&self, path: &MemoryPath) -> Result<Extent> {
        match self.open_dir(path)? {
            Ok(dir) => list::extent(dir.as_fd(), self.home).map_err(|e| failed("measure", path, e)),
            Err(_) => Ok(Extent::default()),
        }
    }

    /// Calls `visit` with what is visible in a directory itself, sorted, until it breaks off; directories have no size.
    pub(crate) fn each_entry(
        &self,
        path: &MemoryPath,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Looked<()> {
        match self.open_dir(path)? {
            Ok(dir) => {
                Ok(Ok(list::each_entry(dir.as_fd(), self.home, visit).map_err(|e| failed("list", path, e))?))
            }
            Err(look) => Ok(Err(look)),
        }
    }

    fn place(&self, dir: OwnedFd, name: String, seen: Option<stat::Seen>) -> Place {
        let look = seen.map_or(Look::Missing, |seen| seen.look(self.home));
        Place { dir: Arc::new(dir), missing: Vec::new(), name, look, stamp: seen.map(|seen| seen.stamp) }
    }

    fn walk(&self, path: &MemoryPath, verb: &str) -> Result<Walked> {
        walk::walk(self.base(), self.home, path).map_err(|e| failed(verb, path, e))
    }

    /// Walks to the last segment and opens it if it is of this kind.
    fn at_last<T>(
        &self,
        path: &MemoryPath,
        kind: Kind,
        open: impl Fn(BorrowedFd<'_>, &CStr) -> io::Result<Result<T, Look>>,
    ) -> Looked<T> {
        let (dir, name, seen) = match self.walk(path, "open")? {
            Walked::Last { dir, name, seen: Some(seen) } => (dir, name, seen),
            Walked::Last { .. } | Walked::Gap { .. } => return Ok(Err(Look::Missing)),
            Walked::Blocked(look) => return Ok(Err(look)),
        };
        if seen.kind != kind || !seen.is_on(self.home) {
            return Ok(Err(seen.look(self.home)));
        }
        let Ok(name) = CString::new(name) else { return Ok(Err(Look::Missing)) };
        match open(dir.as_fd(), &name) {
            Ok(answer) => Ok(answer),
            Err(e) => swapped(e).map(Err).ok_or_else(|| failed("open", path, e)),
        }
    }

    /// Opens `memories/<path>` in one step, crossing neither links nor mounts.
    #[cfg(target_os = "linux")]
    fn beneath(&self, path: &MemoryPath, flags: OFlags) -> std::result::Result<OwnedFd, Obstacle> {
        use rustix::fs::ResolveFlags;
        const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
            .union(ResolveFlags::NO_SYMLINKS)
            .union(ResolveFlags::NO_MAGICLINKS)
            .union(ResolveFlags::NO_XDEV);
        if self.walks.load(Ordering::Relaxed) {
            return Err(Obstacle::Other);
        }
        let mut whole = Vec::with_capacity(MEMORIES.len() + path.as_str().len() + 2);
        whole.extend_from_slice(MEMORIES.as_bytes());
        if !path.is_root() {
            whole.push(b'/');
            whole.extend_from_slice(path.as_str().as_bytes());
        }
        let Ok(whole) = CString::new(whole) else { return Err(Obstacle::Missing) };
        for _ in 0..TRIES {
            match rustix::fs::openat2(&self.base, &*whole, flags, Mode::empty(), RESOLVE) {
                Ok(fd) => return Ok(fd),
                Err(io::Errno::AGAIN | io::Errno::INTR) => {}
                Err(io::Errno::NOENT) if !names::has_other_spelling(path.as_str()) => {
                    return Err(Obstacle::Missing);
                }
                Err(io::Errno::NOSYS | io::Errno::PERM) => {
                    self.walks.store(true, Ordering::Relaxed);
                    break;
                }
                Err(_) => break,
            }
        }
        Err(Obstacle::Other)
    }
}

/// Why openat2 opened nothing.
#[cfg(target_os = "linux")]
enum Obstacle {
    /// A segment is missing, no other spelling of it can be there, and nothing on the way to it is in the way.
    Missing,
    /// The walk knows.
    Other,
}

impl OpenFile {
    /// The whole content. A file that grows meanwhile is read to the end that is met.
    ///
    /// One byte more is asked for than it has, so that the answer tells in one call that this was the end. It can be read
    /// again: the position of the file is not used.
    pub(crate) fn read(&self) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        let mut room =
            usize::try_from(self.stamp.size).ok().and_then(|n| n.checked_add(1)).ok_or(io::Errno::NOMEM)?;
        loop {
            bytes.try_reserve_exact(room).map_err(|_| io::Errno::NOMEM)?;
            let asked = bytes.capacity() - bytes.len();
            let offset = bytes.len() as u64;
            match io::retry_on_intr(|| {
                rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut bytes), offset)
            })? {
                0 => return Ok(bytes.into()),
                n if n < asked && bytes.len() as u64 == self.stamp.size => return Ok(bytes.into()),
                n if n == asked => room = bytes.len().max(4096),
                n => room = asked - n,
            }
        }
    }
}

impl OpenFile {
    /// The hash of the content, and its length, read piece by piece.
    pub(crate) fn hash(&self) -> io::Result<(Hash, u64)> {
        let (mut hasher, mut size) = (Hasher::default(), 0);
        self.read_pieces(&mut |piece| {
            hasher.update(piece);
            size += piece.len() as u64;
            ControlFlow::Continue(())
        })?;
        Ok((hasher.end(), size))
    }

    /// Whether the file was not written to since it was opened, as far as its stamp tells.
    pub(crate) fn is_still(&self) -> bool {
        let (then, now) = (self.stamp, stat::of(self.file.as_fd()).map(|seen| seen.stamp));
        now.is_ok_and(|now| (now.size, now.mtime) == (then.size, then.mtime))
    }

    /// Hands out the content piece by piece, small enough to stay in the processor's cache.
    pub(crate) fn read_pieces(&self, piece: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
        // One byte more than the file has tells in one call that this was the end.
        let room = usize::try_from(self.stamp.size).map_or(PIECE, |size| (size + 1).min(PIECE));
        let mut buffer = Vec::with_capacity(room);
        let mut offset = 0;
        loop {
            buffer.clear();
            let space = rustix::buffer::spare_capacity(&mut buffer);
            let n = match rustix::io::pread(&self.file, space, offset) {
                Err(io::Errno::INTR) => continue,
                n => n?,
            };
            offset += n as u64;
            if n == 0 || piece(&buffer).is_break() || offset == self.stamp.size && n < buffer.capacity() {
                return Ok(());
            }
        }
    }
}

/// Bytes of a file that are read at once.
const PIECE: usize = 128 << 10;

/// Opens an entry of a directory if it is a regular file on the mount `home`.
pub(super) fn open_in(dir: BorrowedFd<'_>, name: &CStr, home: Mount) -> io::Result<Result<OpenFile, Look>> {
    let fd = io::retry_on_intr(|| rustix::fs::openat(dir, name, FILE, Mode::empty()))?;
    as_file(fd, home)
}

fn as_file(fd: OwnedFd, home: Mount) -> io::Result<Result<OpenFile, Look>> {
    let seen = stat::of(fd.as_fd())?;
    Ok(match seen.kind {
        Kind::File if seen.is_on(home) => Ok(OpenFile { file: fd.into(), stamp: seen.stamp }),
        _ => Err(seen.look(home)),
    })
}

/// What took a file's name just before it was opened, if that is why the open failed.
pub(super) fn swapped(failure: io::Errno) -> Option<Look> {
    match failure {
        io::Errno::NOENT => Some(Look::Missing),
        io::Errno::LOOP | io::Errno::MLINK => Some(Look::Link),
        io::Errno::NXIO => Some(Look::Special),
        _ => None,
    }
}

fn failed(verb: &str, path: &MemoryPath, failure: io::Errno) -> Error {
    let name = if path.is_root() { MEMORIES } else { path.as_str() };
    Error::read(format!("{verb} {name}"), failure)
}
