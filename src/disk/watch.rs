//! Being told by the system that something happened below `memories`, so that nobody has to look for it.
//!
//! Events come late, so what was just done may not be among them yet. To know, a file is made in a directory that is
//! watched, too: when the event of that has come, so have all before it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::base::Base;
use super::room::{MEMORIES, ROOM};
use super::stat;
use crate::id::fill_random;

/// The directory in `.memdir/index/` for files that are made to be noticed.
const COOKIES: &str = "cookie";
/// How long the event of such a file is waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// Not all that is done to a file is told: not what is done by a name that it got elsewhere, nor through a memory map. So
/// it is looked for now and then.
const TRUST: Duration = Duration::from_secs(30);

/// A watch over a store's memories.
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    heard: Arc<Heard>,
    /// Device and inode of `memories` when the watch began.
    root: (u64, u64),
    memories: PathBuf,
    cookies: PathBuf,
    /// What the names of this watch's cookies begin with.
    prefix: String,
    asked: u64,
    /// When everything was last looked at.
    looked: Instant,
}

/// When so many files changed, everything is looked at.
const MANY: usize = 64;

/// What the events have told.
#[derive(Default)]
struct Heard {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Something happened since it was last asked, which may be anything.
    is_due: bool,
    /// Where files were made, written, renamed or removed since, and whether something left that place by a rename.
    paths: BTreeMap<PathBuf, bool>,
    /// Something happened after which directories may be there that are not watched.
    is_shaken: bool,
    /// Events were lost, or will be.
    is_broken: bool,
    /// The newest cookie that was heard of.
    cookie: u64,
}

/// A place below `memories` where something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) path: PathBuf,
    /// Whether something left it by a rename, which may have been a directory.
    pub(crate) was_left: bool,
}

/// What a watch has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing happened since it was last asked, as far as it is told.
    None,
    /// Something happened at these paths below `memories`, where no directories are, and nowhere else, as far as it is told.
    At(Vec<Told>),
    /// Something may have.
    Some,
    /// It cannot tell any more: it must be set up again.
    Broken,
}

impl Watch {
    /// Begins to watch; `None` where the system does not let us. Something may have happened just before.
    pub(crate) fn begin(base: &Base) -> Option<Self> {
        base.make_derived().ok()?;
        let dir = base.sandbox.base();
        let cookies = format!("{ROOM}/index/{COOKIES}");
        match rustix::fs::mkdirat(dir, &cookies, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(_) => return None,
        }
        let mut random = [0; 8];
        fill_random(&mut random);
        let prefix = format!("{:016x}-", u64::from_ne_bytes(random));
        let heard = Arc::<Heard>::default();
        heard.state().is_due = true;
        let (listener, mine) = (Arc::clone(&heard), prefix.clone());
        let handler = move |event: notify::Result<Event>| listener.hear(&event, &mine);
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(handler, config).ok()?;
        let (memories, cookies) = (base.path().join(MEMORIES), base.path().join(cookies));
        let root = identity(base, &memories)?;
        watcher.watch(&cookies, RecursiveMode::NonRecursive).ok()?;
        watcher.watch(&memories, RecursiveMode::Recursive).ok()?;
        Some(Self { watcher, heard, root, memories, cookies, prefix, asked: 0, looked: Instant::now() })
    }

    /// Whether something happened since this was last asked. After [`News::Some`] whoever asks looks at everything.
    pub(crate) fn news(&mut self, base: &Base) -> News {
        if identity(base, &self.memories) != Some(self.root) || self.ask(base).is_none() {
            return News::Broken;
        }
        let State { is_due, is_shaken, is_broken, paths, .. } = {
            let mut state = self.heard.state();
            let cookie = state.cookie;
            // From here on all that happens is news again.
            std::mem::replace(&mut *state, State { cookie, ..State::default() })
        };
        if is_broken {
            return News::Broken;
        }
        if !is_due && self.looked.elapsed() < TRUST {
            if paths.is_empty() {
                return News::None;
            }
            if let Some(paths) = self.files(&paths) {
                return News::At(paths);
            }
        }
        self.looked = Instant::now();
        // The watcher answers when it is done with the events that it has told of: then new directories are watched, and
        // what was in them before is found by who looks now.
        let (path, mode) = if is_shaken {
            (&self.memories, RecursiveMode::Recursive)
        } else {
            (&self.cookies, RecursiveMode::NonRecursive)
        };
        match self.watcher.watch(path, mode) {
            Ok(()) => News::Some,
            Err(_) => News::Broken,
        }
    }

    /// These paths, below `memories`; `None` where a directory stands at one of them now, which may hold anything.
    fn files(&self, paths: &BTreeMap<PathBuf, bool>) -> Option<Vec<Told>> {
        let each = paths.iter().map(|(path, &was_left)| {
            let below = path.strip_prefix(&self.memories).ok().filter(|below| *below != Path::new(""))?;
            let is_directory =
                rustix::fs::lstat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir());
            (!is_directory).then(|| Told { path: below.to_path_buf(), was_left })
        });
        each.collect()
    }

    /// Lets the next question be answered with [`News::Some`]: the look at everything failed.
    pub(crate) fn shake(&self) {
        self.heard.state().is_due = true;
    }

    /// Makes a file, and waits until it is heard of.
    fn ask(&mut self, base: &Base) -> Option<()> {
        self.asked += 1;
        let name = format!("{ROOM}/index/{COOKIES}/{}{}", self.prefix, self.asked);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = base.sandbox.base();
        rustix::fs::openat(dir, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
        let _ = rustix::fs::unlinkat(dir, &name, AtFlags::empty());
        let state = self.heard.state();
        let is_waiting = |state: &mut State| state.cookie < self.asked && !state.is_broken;
        let (mut state, waited) = self
            .heard
            .changed
            .wait_timeout_while(state, PATIENCE, is_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        // It may be late: then nobody knows what else is.
        state.is_due |= waited.timed_out();
        Some(())
    }
}

impl Heard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: &notify::Result<Event>, prefix: &str) {
        let Ok(event) = event else {
            self.state().is_broken = true;
            self.changed.notify_all();
            return;
        };
        if let [path] = &event.paths[..]
            && is_cookie(path)
        {
            let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix(prefix)?.parse().ok());
            if let Some(number) = number {
                let mut state = self.state();
                state.cookie = state.cookie.max(number);
                self.changed.notify_all();
            }
            return;
        }
        let mut state = self.state();
        match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Create(CreateKind::File)
            | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(RenameMode::To))
            | EventKind::Remove(RemoveKind::File) => state.note(&event.paths, false),
            EventKind::Modify(ModifyKind::Name(_)) => state.note(&event.paths, true),
            // That somebody looks is no news.
            EventKind::Access(_) => {}
            EventKind::Any | EventKind::Other | EventKind::Modify(ModifyKind::Metadata(_)) => {
                (state.is_due, state.is_shaken) = (true, true);
            }
            EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => state.is_due = true,
        }
    }
}

impl State {
    /// Something happened at these paths.
    fn note(&mut self, paths: &[PathBuf], was_left: bool) {
        if !self.is_due {
            for path in paths {
                *self.paths.entry(path.clone()).or_default() |= was_left;
            }
            self.is_due = paths.is_empty() || self.paths.len() > MANY;
        }
    }
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
