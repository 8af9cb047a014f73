//! Opening a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use camino::Utf8PathBuf;
use chrono::{DateTime, Utc};

use super::core::Core;
use super::queue::Queue;
use super::{Actor, Author, Inner, Settings, Store};
use crate::disk::{Backend, Base};
use crate::error::{Error, Result};

/// The name of the settings' file in the base directory.
pub(super) const SETTINGS: &str = "memdir.toml";

/// How a [`Store`] is opened.
pub struct Builder {
    base: PathBuf,
    settings: Option<Settings>,
    actor: Actor,
    create: bool,
    backend: Backend,
    clock: Box<dyn Fn() -> DateTime<Utc> + Send + Sync>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("actor", &self.actor)
            .field("create", &self.create)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(super) fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            settings: None,
            actor: Actor::Agent(String::new()),
            create: true,
            backend: Backend::default(),
            clock: Box::new(Utc::now),
        }
    }

    /// Who makes the changes (default: an agent without a name).
    #[must_use]
    pub fn actor(self, actor: Actor) -> Self {
        Self { actor, ..self }
    }

    /// Whether a missing store is made (default) or refused with [`Error::NoStore`].
    #[must_use]
    pub fn create(self, create: bool) -> Self {
        Self { create, ..self }
    }

    /// Settings to use in place of those in `memdir.toml`.
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings: Some(settings), ..self }
    }

    /// Where the time comes from (default: the system's clock). It may go backwards; times within a store do not.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Resolves paths by a walk over their components, as on systems without `openat2`: for tests of that.
    #[doc(hidden)]
    #[must_use]
    pub fn walk(self) -> Self {
        Self { backend: Backend::Walk, ..self }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`Error::Settings`], [`Error::NoStore`], or what the disk says.
    pub fn open(self) -> Result<Store> {
        let no_store =
            || Error::NoStore { base: Utf8PathBuf::from(self.base.to_string_lossy().into_owned()) };
        let mut base = match Base::open(&self.base, self.backend)? {
            Some(base) => base,
            None if self.create => {
                let made = Base::make(&self.base, Settings::default().dir_mode)?;
                let mut base = Base::open(&self.base, self.backend)?.ok_or_else(no_store)?;
                base.made = made;
                base
            }
            None => return Err(no_store()),
        };
        base.refuse_split()?;
        let settings = match (self.settings, base.side_file(SETTINGS)?) {
            (Some(settings), _) => settings,
            (None, Some(text)) => Settings::parse(&text)?,
            (None, None) => Settings::default(),
        };
        let largest = settings.file_limit.max(settings.image_limit);
        base.sandbox.most_read = base.sandbox.most_read.max(largest);
        if !base.is_store() {
            if !self.create {
                return Err(no_store());
            }
            // Where it cannot be made, there is nothing to read, and the first write says why.
            base.made.root = base.make_root(settings.dir_mode).unwrap_or(false);
        }
        let core = Core {
            base,
            settings,
            clock: self.clock,
            unsynced: AtomicU64::new(0),
            unsettled: AtomicBool::new(false),
            poison: Mutex::new(None),
            warning: Mutex::new(None),
            warned: Mutex::default(),
            spare: Mutex::default(),
        };
        let inner =
            Inner { core, queue: Queue::default(), engine: Mutex::default(), noticed: Mutex::default() };
        let actor = self.actor.map_name(|name| inner.core.settings.guard.mask(name).into_owned());
        let author = Author { actor, reason: None };
        Ok(Store { inner: Arc::new(inner), author: Arc::new(author) })
    }
}

impl Store {
    /// Takes back the directories that opening made, where nothing came of it: an import that was refused, say. Whether
    /// nothing of them is left.
    ///
    /// What was there before stays, and so does a directory in which something is by now, and a store that somebody has
    /// begun to write to. Another handle that found the store meanwhile, and has not written to it, may have to be opened
    /// again.
    #[must_use]
    pub fn unmake(&self) -> bool {
        self.inner.core.base.unmake()
    }
}
