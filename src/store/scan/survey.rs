//! What differs between the files at or below a path and the newest versions of their memories. Nothing is changed here,
//! and no lock is needed: whatever is found is looked at again under the lock.

use std::collections::HashSet;
use std::os::fd::AsFd as _;

use crate::disk::{Go, OpenFile, Stamp, Visit, What, survey};
use crate::error::{Error, Result, Trouble};
use crate::hash::Hash;
use crate::journal::{Head, History};
use crate::path::{MemoryPath, PathError, is_passed_over};
use crate::store::absorb::UNREAD;
use crate::store::core::Core;
use crate::store::session::MOST_READ;

/// What a survey found.
#[derive(Debug, Default)]
pub(in crate::store) struct Survey {
    /// Files that are not what their memories were last.
    pub(in crate::store) edited: Vec<MemoryPath>,
    /// Files of no memory.
    pub(in crate::store) added: Vec<Added>,
    /// Memories without a file.
    pub(in crate::store) gone: Vec<Gone>,
    /// Memories elsewhere without a file, whose content one of the files of no memory has.
    pub(in crate::store) lost: Vec<Gone>,
    /// Memories, and other files, that cannot be read.
    pub(in crate::store) closed: Vec<MemoryPath>,
    /// Files that were compared.
    pub(in crate::store) files: u64,
}

/// A file of no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Added {
    pub(in crate::store) path: MemoryPath,
    pub(in crate::store) hash: Hash,
    pub(in crate::store) size: u64,
}

/// A memory without a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Gone {
    pub(in crate::store) memory: i64,
    pub(in crate::store) path: MemoryPath,
    pub(in crate::store) hash: Hash,
    pub(in crate::store) size: u64,
}

impl Survey {
    pub(in crate::store) fn is_empty(&self) -> bool {
        self.edited.is_empty() && self.added.is_empty() && self.gone.is_empty()
    }
}

/// Why a file is no memory, and can become none under the name that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Unreachable {
    /// Its name is not UTF-8.
    NotText,
    /// Its path breaks a rule.
    Path(PathError),
}

/// The path that the tool has for what lies at `rest` below a directory.
pub(in crate::store) fn reach(directory: &MemoryPath, rest: &[u8]) -> Result<MemoryPath, Unreachable> {
    let rest = std::str::from_utf8(rest).map_err(|_| Unreachable::NotText)?;
    MemoryPath::parse(&format!("{directory}/{rest}")).map_err(Unreachable::Path)
}

/// Compares all that is visible at or below `scope`, and all memories that live there.
///
/// Where `memories` itself is gone nothing is found.
pub(in crate::store) fn look_around(
    core: &Core,
    history: Option<History<'_>>,
    scope: &MemoryPath,
    progress: &mut dyn FnMut(u64),
) -> Result<Survey> {
    if core.base.sandbox.root()?.is_none() {
        return Ok(Survey::default());
    }
    let (seen, found) = (HashSet::new(), Survey::default());
    let mut surveyor = Surveyor { core, history, seen, found, progress, same: &mut |_, _| () };
    if !scope.is_passed_over() {
        surveyor.walk(scope)?;
    }
    surveyor.look_for_the_rest(scope)?;
    surveyor.look_elsewhere(scope)?;
    Ok(surveyor.found)
}

/// Compares these paths with the memories that live there, and tells `same` of each where both are the same: with the stamp
/// that the file had before it was read, or without one where there is neither file nor memory.
pub(in crate::store) fn compare_each(
    core: &Core,
    history: Option<History<'_>>,
    paths: impl IntoIterator<Item = MemoryPath>,
    same: &mut dyn FnMut(&MemoryPath, Option<&Stamp>),
) -> Result<Survey> {
    let (seen, found) = (HashSet::new(), Survey::default());
    let mut surveyor = Surveyor { core, history, seen, found, progress: &mut |_| (), same };
    for path in paths {
        match core.base.sandbox.open_file(&path) {
            Ok(Ok(open)) => {
                let head = surveyor.live(&path)?;
                surveyor.compare(path, head, &open)?;
            }
            Ok(Err(_)) => match surveyor.live(&path)? {
                Some(head) => surveyor.found.gone.push(Gone::of(head)),
                None => (surveyor.same)(&path, None),
            },
            Err(error) => surveyor.pass_over(&path, error)?,
        }
    }
    Ok(surveyor.found)
}

struct Surveyor<'a, 'p> {
    core: &'a Core,
    history: Option<History<'a>>,
    /// Memories whose files were looked at.
    seen: HashSet<i64>,
    found: Survey,
    progress: &'p mut dyn FnMut(u64),
    /// Is told where files and memories are the same.
    same: &'p mut dyn FnMut(&MemoryPath, Option<&Stamp>),
}

impl Gone {
    fn of(Head { memory, path, hash, size, .. }: Head) -> Self {
        Self { memory, path: MemoryPath::from_normal(path), hash, size }
    }
}

impl Surveyor<'_, '_> {
    fn walk(&mut self, scope: &MemoryPath) -> Result<()> {
        let sandbox = &self.core.base.sandbox;
        match sandbox.open_file(scope) {
            Ok(Ok(open)) => {
                let head = self.live(scope)?;
                return self.compare(scope.clone(), head, &open);
            }
            Ok(Err(_)) => {}
            Err(error) => return self.pass_over(scope, error),
        }
        let dir = match sandbox.open_dir(scope) {
            Ok(Ok(dir)) => dir,
            Ok(Err(_)) => return Ok(()),
            Err(error) => return self.pass_over(scope, error),
        };
        survey(dir.as_fd(), &mut |seen| {
            if seen.path.is_empty() {
                return Ok(Go::On);
            }
            if is_passed_over(seen.name.to_bytes()) {
                return Ok(Go::Past);
            }
            let Ok(path) = reach(scope, seen.path) else { return Ok(Go::Past) };
            match seen.what {
                What::File => self.visit(path, seen)?,
                What::Closed => self.pass_over(&path, closed(&path))?,
                What::Directory { .. } | What::Link | What::Special | What::Mount => {}
            }
            Ok(Go::On)
        })
    }

    fn visit(&mut self, path: MemoryPath, seen: &Visit<'_>) -> Result<()> {
        let is_exact = path.as_str().as_bytes().ends_with(seen.path);
        let opened = if is_exact { seen.open() } else { self.core.base.sandbox.open_file(&path) };
        let open = match opened {
            Ok(Ok(open)) => open,
            // Another file by now, which may be looked for by its memory.
            Ok(Err(_)) => return Ok(()),
            Err(error) => return self.pass_over(&path, error),
        };
        // Of two names that are one path only one is meant.
        if (open.stamp.dev, open.stamp.ino) != (seen.stamp.dev, seen.stamp.ino) && !is_exact {
            return Ok(());
        }
        let head = self.live(&path)?;
        self.compare(path, head, &open)
    }

    fn compare(&mut self, path: MemoryPath, head: Option<Head>, open: &OpenFile) -> Result<()> {
        self.found.files += 1;
        if self.found.files.is_multiple_of(PACE) {
            (self.progress)(self.found.files);
        }
        if let Some(head) = &head {
            self.seen.insert(head.memory);
            if head.size != open.stamp.size {
                self.found.edited.push(path);
                return Ok(());
            }
        }
        let (hash, size) = match identity(self.core, open) {
            Ok(identity) => identity,
            Err(error) => return self.pass_over(&path, error),
        };
        match head {
            Some(head) if head.hash == hash && head.size == size => (self.same)(&path, Some(&open.stamp)),
            Some(_) => self.found.edited.push(path),
            None => self.found.added.push(Added { path, hash, size }),
        }
        Ok(())
    }

    /// Looks for the files of memories that the walk has not met: hidden ones, those that came since, those that are gone.
    fn look_for_the_rest(&mut self, scope: &MemoryPath) -> Result<()> {
        let Some(history) = self.history else { return Ok(()) };
        let mut rest = Vec::new();
        let mut note = |head: Head| {
            if !self.seen.contains(&head.memory) {
                rest.push(head);
            }
            Ok(())
        };
        if let Some(head) = history.live(scope.as_str())? {
            note(head)?;
        }
        history.each_live(scope.as_str(), &mut note)?;
        for head in rest {
            let path = MemoryPath::from_normal(head.path.as_str());
            match self.core.base.sandbox.open_file(&path) {
                Ok(Ok(open)) => self.compare(path, Some(head), &open)?,
                Ok(Err(_)) => self.found.gone.push(Gone::of(head)),
                Err(error) => self.pass_over(&path, error)?,
            }
        }
        Ok(())
    }

    /// Looks for the memories that the files of no memory may have been until somebody moved them to here.
    fn look_elsewhere(&mut self, scope: &MemoryPath) -> Result<()> {
        let Some(history) = self.history else { return Ok(()) };
        if scope.is_root() || self.found.added.is_empty() {
            return Ok(());
        }
        let contents: HashSet<_> = self.found.added.iter().map(|added| (added.hash.0, added.size)).collect();
        let mut alike = Vec::new();
        history.each_live("", &mut |head| {
            let path = MemoryPath::from_normal(head.path.as_str());
            if contents.contains(&(head.hash.0, head.size)) && path != *scope && !path.is_below(scope) {
                alike.push(head);
            }
            Ok(())
        })?;
        for lost in alike.into_iter().map(Gone::of) {
            if matches!(self.core.base.sandbox.open_file(&lost.path), Ok(Err(_))) {
                self.found.lost.push(lost);
            }
        }
        Ok(())
    }

    fn live(&self, path: &MemoryPath) -> Result<Option<Head>> {
        self.history.map_or(Ok(None), |history| history.live(path.as_str()))
    }

    /// Goes on without a file that cannot be read.
    fn pass_over(&mut self, path: &MemoryPath, error: Error) -> Result<()> {
        if !matches!(error, Error::Read { why, .. } if why != Trouble::TooManyFiles) {
            return Err(error);
        }
        self.core.warn(&error);
        if let Some(head) = self.live(path)? {
            self.seen.insert(head.memory);
        }
        self.found.closed.push(path.clone());
        Ok(())
    }
}

/// After so many files somebody is told how many there were.
const PACE: u64 = 64;

/// Hash and length of a file, as its version would have them.
pub(in crate::store) fn identity(core: &Core, open: &OpenFile) -> Result<(Hash, u64)> {
    if open.stamp.size > MOST_READ.max(core.settings.file_limit) {
        return Ok((UNREAD, open.stamp.size));
    }
    open.hash().map_err(|e| Error::read("read a file", e))
}

/// What is said of something that this user may not open.
pub(in crate::store) fn closed(path: &MemoryPath) -> Error {
    Error::Read { why: Trouble::Denied, doing: format!("open {path}"), source: None }
}
