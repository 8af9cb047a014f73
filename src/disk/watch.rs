//! Being told by the system that something happened below `memories`, so that nobody has to look for it.
//!
//! Events come late, so what was just done may not be among them yet. To know, a file is made in a directory that is
//! watched, too: when the event of that has come, so have all before it.
//!
//! Where something happened is kept, as long as it is at few paths, so that nobody has to look elsewhere. An event does not
//! always tell a file from a directory: whoever looks at the paths must, and look at everything where one is a directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::base::Base;
use super::bell::Bell;
use super::room::{MEMORIES, ROOM};
use super::stat;
use crate::id::fill_random;
use crate::path::MemoryPath;

/// The directory in `.memdir/index/` for files that are made to be noticed.
const COOKIES: &str = "cookie";
/// How long the event of such a file is waited for. (Tests count what is looked at, on busy machines, too.)
const PATIENCE: Duration = if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(250) };
/// Not all that is done to a file is told: not what is done by a name that it got elsewhere, nor through a memory map. So
/// it is looked for now and then.
const TRUST: Duration = Duration::from_secs(30);
/// As many paths are kept; where more happens everything is looked at.
const MOST_PATHS: usize = 64;

/// A watch over a store's memories.
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    heard: Arc<Heard>,
    /// Device and inode of `memories` when the watch began.
    root: (u64, u64),
    cookies: PathBuf,
    asked: u64,
    /// When everything was last looked at.
    looked: Instant,
    /// [`State::is_shaken`] when it was last asked.
    is_shaken: bool,
    /// Whether names of the file system are the same that differ in case.
    folds: bool,
}

/// Why nothing can be watched now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It was found out at once.
    Early,
    /// Only after all directories were gone through.
    Late,
}

/// What the events have told.
struct Heard {
    /// What the events' paths begin with.
    memories: PathBuf,
    /// What the names of this watch's cookies begin with.
    prefix: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Something happened since it was last asked, at these paths.
    paths: BTreeSet<MemoryPath>,
    /// Something happened at too many paths, or nobody knows where.
    is_everywhere: bool,
    /// Something happened after which directories may be there that are not watched.
    is_shaken: bool,
    /// Events were lost, or will be.
    is_broken: bool,
    /// The newest cookie that was heard of.
    cookie: u64,
}

/// What a watch has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing happened since it was last asked, as far as it is told.
    None,
    /// Something happened at these paths, and nowhere else. Where one is a directory, or was, or memories are below it,
    /// everything must be looked at, after [`Watch::settle`].
    At(BTreeSet<MemoryPath>),
    /// Something may have happened anywhere.
    Everywhere,
    /// It cannot tell any more: it must be set up again.
    Broken,
}

impl Watch {
    /// Begins to watch, and rings the bell for what happens, where the system lets us. Something may have happened just
    /// before.
    pub(crate) fn begin(base: &Base, bell: &Arc<Bell>) -> Result<Self, Refusal> {
        let mut watch = Self::prepare(base, bell).ok_or(Refusal::Early)?;
        let watched = watch.watcher.watch(&watch.heard.memories, RecursiveMode::Recursive);
        watched.map_err(|_| Refusal::Late)?;
        watch.looked = Instant::now();
        Ok(watch)
    }

    /// All but the watch itself.
    fn prepare(base: &Base, bell: &Arc<Bell>) -> Option<Self> {
        base.make_derived().ok()?;
        let cookies = format!("{ROOM}/index/{COOKIES}");
        match rustix::fs::mkdirat(base.derived_dir().ok()?, COOKIES, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(_) => return None,
        }
        let mut random = [0; 8];
        fill_random(&mut random);
        let prefix = format!("{:016x}-", u64::from_ne_bytes(random));
        let folds = folds(base, &cookies, &prefix)?;
        let (memories, cookies) = (base.path().join(MEMORIES), base.path().join(cookies));
        let root = identity(base, &memories)?;
        let state = Mutex::new(State { is_everywhere: true, ..State::default() });
        let heard = Arc::new(Heard { memories, prefix, state, changed: Condvar::new() });
        let (listener, bell) = (Arc::clone(&heard), Arc::clone(bell));
        let handler = move |event: notify::Result<Event>| {
            if listener.hear(&event) {
                bell.ring();
            }
        };
        // The watcher does not say that it got no thread, and then ends the process.
        std::thread::Builder::new().spawn(|| ()).ok()?.join().ok()?;
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(handler, config).ok()?;
        watcher.watch(&cookies, RecursiveMode::NonRecursive).ok()?;
        let looked = Instant::now();
        Some(Self { watcher, heard, root, cookies, asked: 0, looked, is_shaken: false, folds })
    }

    /// Where something happened since this was last asked. After [`News::Everywhere`] whoever asks looks at everything.
    pub(crate) fn news(&mut self, base: &Base) -> News {
        if identity(base, &self.heard.memories) != Some(self.root) || self.ask(base).is_none() {
            return News::Broken;
        }
        let State { paths, is_everywhere, is_shaken, is_broken, .. } = {
            let mut state = self.heard.state();
            let cookie = state.cookie;
            // From here on all that happens is news again.
            std::mem::replace(&mut *state, State { cookie, ..State::default() })
        };
        if is_broken {
            return News::Broken;
        }
        self.is_shaken = is_shaken;
        if is_everywhere || self.looked.elapsed() >= TRUST {
            return if self.settle() { News::Everywhere } else { News::Broken };
        }
        if paths.is_empty() { News::None } else { News::At(paths) }
    }

    /// Comes before a look at everything that the paths turn out to ask for: whether it can go on to watch after that.
    pub(crate) fn settle(&mut self) -> bool {
        self.looked = Instant::now();
        // The watcher answers when it is done with the events that it has told of: then new directories are watched, and
        // what was in them before is found by who looks now.
        let (path, mode) = if self.is_shaken {
            (&self.heard.memories, RecursiveMode::Recursive)
        } else {
            (&self.cookies, RecursiveMode::NonRecursive)
        };
        self.watcher.watch(path, mode).is_ok()
    }

    /// Lets the next question be answered with [`News::Everywhere`]: a look failed.
    pub(crate) fn shake(&self) {
        self.heard.state().everywhere();
    }

    /// Whether an event may tell another name than the one on disk, in the directories that hold this path.
    pub(crate) fn may_misspell(&self, base: &Base, path: &MemoryPath) -> bool {
        self.folds || path.ancestors().any(|dir| base.sandbox.folds_case(&dir))
    }

    /// Takes the file system for one that folds case.
    #[cfg(test)]
    pub(crate) fn fold(&mut self) {
        self.folds = true;
    }

    /// Lets so much time pass that everything is looked at again.
    #[cfg(test)]
    pub(crate) fn distrust(&mut self) {
        self.looked = self.looked.checked_sub(TRUST).unwrap();
    }

    /// Makes a file, and waits until it is heard of.
    fn ask(&mut self, base: &Base) -> Option<()> {
        self.asked += 1;
        let name = format!("{COOKIES}/{}{}", self.heard.prefix, self.asked);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = base.derived_dir().ok()?;
        rustix::fs::openat(&dir, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
        let _ = rustix::fs::unlinkat(&dir, &name, AtFlags::empty());
        let state = self.heard.state();
        let is_waiting = |state: &mut State| state.cookie < self.asked && !state.is_broken;
        let (mut state, waited) = self
            .heard
            .changed
            .wait_timeout_while(state, PATIENCE, is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            // It may be late: then nobody knows what else is.
            state.everywhere();
        }
        Some(())
    }
}

impl State {
    fn everywhere(&mut self) {
        self.is_everywhere = true;
        self.paths.clear();
    }

    /// Takes note that something happened at a path; `None`: it has no name that a memory's file can have.
    fn at(&mut self, path: Option<MemoryPath>) {
        match path {
            _ if self.is_everywhere => {}
            Some(path) if self.paths.len() < MOST_PATHS || self.paths.contains(&path) => {
                self.paths.insert(path);
            }
            _ => self.everywhere(),
        }
    }
}

impl Heard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of an event; whether something happened to the memories, or may have.
    fn hear(&self, event: &notify::Result<Event>) -> bool {
        let Ok(event) = event else {
            self.state().is_broken = true;
            self.changed.notify_all();
            return true;
        };
        if let [path] = &event.paths[..]
            && !path.starts_with(&self.memories)
            && is_cookie(path)
        {
            let number = |name: &str| name.strip_prefix(&self.prefix)?.parse().ok();
            if let Some(number) = path.file_name().and_then(|name| number(name.to_str()?)) {
                let mut state = self.state();
                state.cookie = state.cookie.max(number);
                self.changed.notify_all();
            }
            return false;
        }
        let mut state = self.state();
        match event.kind {
            // That somebody looks is no news.
            EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write) => return false,
            EventKind::Any | EventKind::Other => {
                state.is_shaken = true;
                state.everywhere();
            }
            EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
                state.everywhere();
            }
            // Directories that could not be looked into before can be now.
            EventKind::Modify(ModifyKind::Metadata(_)) => state.is_shaken = true,
            EventKind::Access(_) | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => {}
        }
        if event.paths.is_empty() {
            state.everywhere();
        }
        // What comes in its place may have its inode, and is watched by nobody.
        if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
            && event.paths.contains(&self.memories)
        {
            state.is_broken = true;
            self.changed.notify_all();
        }
        for path in &event.paths {
            state.at(self.path_of(path));
        }
        true
    }

    /// Where something is below `memories`; `None` unless its names are those that its path has.
    fn path_of(&self, file: &Path) -> Option<MemoryPath> {
        let rest = file.strip_prefix(&self.memories).ok()?.to_str()?;
        let path = MemoryPath::parse(&format!("{}/{rest}", MemoryPath::ROOT)).ok()?;
        (path.as_str() == rest && !path.is_root()).then_some(path)
    }
}

/// Whether names in the directory of cookies are the same that differ in case; `None` if nothing can be made there.
fn folds(base: &Base, cookies: &str, prefix: &str) -> Option<bool> {
    let dir = base.sandbox.base();
    let name = |first: char| format!("{cookies}/{first}{prefix}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name('n'), flags, Mode::RUSR | Mode::WUSR).ok()?;
    let folds = rustix::fs::statat(dir, name('N'), AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let _ = rustix::fs::unlinkat(dir, name('n'), AtFlags::empty());
    Some(folds)
}

/// Whether something lies in the directory of cookies, or is that. If it goes, the next cookie cannot be made.
fn is_cookie(path: &Path) -> bool {
    let end = Path::new(ROOM).join("index").join(COOKIES);
    path.ends_with(&end) || path.parent().is_some_and(|dir| dir.ends_with(&end))
}

/// Device and inode of `memories`, if it is what stands at its path, too: the system is asked to watch by that.
fn identity(base: &Base, path: &Path) -> Option<(u64, u64)> {
    let root = base.sandbox.root().ok()??;
    let by_handle = stat::of(std::os::fd::AsFd::as_fd(&root)).ok()?.stamp;
    let by_path = rustix::fs::stat(path).ok()?;
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "types differ by system")]
    let ino = by_path.st_ino as u64;
    (by_handle.ino == ino).then_some((by_handle.dev, by_handle.ino))
}
