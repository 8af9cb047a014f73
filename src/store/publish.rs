//! From committed to visible: each act is one rename; what fails is taken back; what was displaced is looked at again.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use super::absorb;
use super::batch::{staged_new, staged_old};
use super::recover::unknown_name;
use super::session::Session;
use crate::disk::{Kind, OpenFile, Place, Stamp, What, move_to_free};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::{MemoryId, VersionId};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// One thing to publish.
pub(super) enum Act {
    File(Slot),
    Tree(Tree),
    Take(Take),
    Move(Move),
}

/// A file: what it was on disk when the batch began, and what it is to be.
pub(super) struct Slot {
    pub(super) path: MemoryPath,
    pub(super) place: Place,
    pub(super) original: Option<Original>,
    pub(super) pending: Pending,
    pub(super) whose: Whose,
    /// The requests that touched it, by their place in the batch.
    pub(super) owners: Vec<usize>,
    pub(super) is_published: bool,
    /// What came to lie in `staging/` in exchange.
    pub(super) displaced: Option<Stamp>,
}

/// A file on disk that a change displaces.
pub(super) struct Original {
    /// As it was when it was read. It is not held open: a large change displaces many.
    pub(super) stamp: Stamp,
    pub(super) bytes: Option<Bytes>,
    /// Whether the journal holds its bytes; else the file itself goes to `kept/`.
    pub(super) is_stored: bool,
    /// The version that it is, where that was known before the commit.
    pub(super) id: Option<VersionId>,
}

/// What a file is to be.
#[derive(Clone)]
pub(super) enum Pending {
    Write { staged: u64, bytes: Bytes, mode: u32 },
    Remove { staged: u64 },
}

/// Which memory it is that a pending file belongs to, or belonged to until it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// One that begins with it.
    Begun(MemoryId),
    /// The one that lives at its path.
    Head,
    /// It is found out when all is committed.
    Unknown,
}

/// Directories that appear together, perhaps with files in them.
pub(super) struct Tree {
    pub(super) path: MemoryPath,
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: String,
    pub(super) staged: u64,
    pub(super) owner: usize,
    pub(super) is_published: bool,
}

/// Something that is no regular file, to be taken away with all below it.
pub(super) struct Take {
    pub(super) path: MemoryPath,
    pub(super) place: Place,
    pub(super) staged: u64,
    /// The files below it as they were read, by the names on disk.
    pub(super) expected: HashMap<Vec<u8>, Expected>,
    pub(super) owner: usize,
    pub(super) is_published: bool,
}

/// A file in a directory that is taken away.
pub(super) struct Expected {
    pub(super) stamp: Stamp,
    pub(super) hash: Hash,
    pub(super) path: String,
    pub(super) is_stored: bool,
    pub(super) id: Option<VersionId>,
}

/// A file or directory to be moved.
pub(super) struct Move {
    pub(super) from: MemoryPath,
    pub(super) to: MemoryPath,
    pub(super) place: Place,
    /// Where it went.
    pub(super) destination: Option<Place>,
    pub(super) owner: usize,
    pub(super) is_published: bool,
}

impl Act {
    pub(super) fn as_file(&self) -> Option<&Slot> {
        if let Self::File(slot) = self { Some(slot) } else { None }
    }

    pub(super) fn as_file_mut(&mut self) -> Option<&mut Slot> {
        if let Self::File(slot) = self { Some(slot) } else { None }
    }

    pub(super) fn owners(&self) -> &[usize] {
        match self {
            Self::File(slot) => &slot.owners,
            Self::Tree(Tree { owner, .. })
            | Self::Take(Take { owner, .. })
            | Self::Move(Move { owner, .. }) => std::slice::from_ref(owner),
        }
    }

    pub(super) fn is_published(&self) -> bool {
        match self {
            Self::File(Slot { is_published, .. })
            | Self::Tree(Tree { is_published, .. })
            | Self::Take(Take { is_published, .. })
            | Self::Move(Move { is_published, .. }) => *is_published,
        }
    }

    pub(super) fn set_unpublished(&mut self) {
        match self {
            Self::File(Slot { is_published, .. })
            | Self::Tree(Tree { is_published, .. })
            | Self::Take(Take { is_published, .. })
            | Self::Move(Move { is_published, .. }) => *is_published = false,
        }
    }

    pub(super) fn publish(&mut self, session: &Session<'_>) -> Result<()> {
        match self {
            Self::File(slot) => slot.publish(session),
            Self::Tree(tree) => {
                let published = session.room.publish_new(&staged_new(tree.staged), &tree.dir, &tree.name);
                published.map_err(|e| failed("make", &tree.path, e))?;
                tree.is_published = true;
                Ok(())
            }
            Self::Take(take) => take.publish(session),
            Self::Move(moved) => moved.publish(session),
        }
    }

    /// Puts everything back where it was before [`Act::publish`].
    pub(super) fn undo(&self, session: &Session<'_>) -> io::Result<()> {
        let room = session.room;
        match self {
            Self::File(slot) => slot.undo(session),
            Self::Tree(tree) => {
                if_there(room.take(&tree.dir, &tree.name, &staged_new(tree.staged)))?;
                put_aside(
                    session,
                    &tree.path,
                    &staged_new(tree.staged),
                    Kind::Directory,
                    (&tree.dir, &tree.name),
                )
            }
            Self::Take(take) => room.publish_new(&staged_old(take.staged), &take.place.dir, &take.place.name),
            Self::Move(moved) => moved.undo(),
        }
    }

    /// Removes from `staging/` what was never published.
    pub(super) fn discard(&self, session: &Session<'_>) {
        if let Self::File(Slot { pending: Pending::Write { staged, .. }, .. })
        | Self::Tree(Tree { staged, .. }) = self
        {
            let _ = session.room.discard(&staged_new(*staged));
        }
    }
}

impl Slot {
    fn publish(&mut self, session: &Session<'_>) -> Result<()> {
        let room = session.room;
        let Place { dir, name, .. } = &self.place;
        let path = &self.path;
        match (&self.original, &self.pending) {
            (None, Pending::Write { staged, .. }) => {
                room.publish_new(&staged_new(*staged), dir, name).map_err(|e| failed("publish", path, e))?;
            }
            (Some(_), Pending::Write { staged, .. }) => {
                let staged = staged_new(*staged);
                room.exchange(&staged, dir, name).map_err(|e| failed("publish", path, e))?;
                self.is_published = true;
                let seen = room.seen(&staged);
                if let Some(error) = no_file(seen.map(|seen| seen.0), path) {
                    // The withdrawal swaps it back.
                    return Err(error);
                }
                self.displaced = seen.map(|seen| seen.1);
            }
            (Some(_), Pending::Remove { staged }) => {
                let staged = staged_old(*staged);
                room.take(dir, name, &staged).map_err(|e| failed("remove", path, e))?;
                self.is_published = true;
                let seen = room.seen(&staged);
                if let Some(error) = no_file(seen.map(|seen| seen.0), path) {
                    return Err(error);
                }
                self.displaced = seen.map(|seen| seen.1);
            }
            (None, Pending::Remove { .. }) => {}
        }
        self.is_published = true;
        Ok(())
    }

    fn undo(&self, session: &Session<'_>) -> io::Result<()> {
        let Place { dir, name, .. } = &self.place;
        match (&self.original, &self.pending) {
            (None, Pending::Write { staged, .. }) => {
                if_there(session.room.take(dir, name, &staged_new(*staged)))?;
                put_aside(session, &self.path, &staged_new(*staged), Kind::File, (dir, name))
            }
            (Some(_), Pending::Write { staged, .. }) => {
                let staged = staged_new(*staged);
                match session.room.exchange(&staged, dir, name) {
                    // Somebody removed what was published.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {
                        session.room.publish_new(&staged, dir, name)
                    }
                    answer => {
                        answer?;
                        put_aside(session, &self.path, &staged, Kind::File, (dir, name))
                    }
                }
            }
            (Some(_), Pending::Remove { staged }) => {
                session.room.publish_new(&staged_old(*staged), dir, name)
            }
            (None, Pending::Remove { .. }) => Ok(()),
        }
    }

    /// The name in `staging/` of what this displaced.
    pub(super) fn displaced_name(&self) -> String {
        match self.pending {
            Pending::Write { staged, .. } => staged_new(staged),
            Pending::Remove { staged } => staged_old(staged),
        }
    }
}

impl Take {
    fn publish(&mut self, session: &Session<'_>) -> Result<()> {
        let Place { dir, name, .. } = &self.place;
        let staged = staged_old(self.staged);
        session.room.take(dir, name, &staged).map_err(|e| failed("remove", &self.path, e))?;
        self.is_published = true;
        // What was looked at is what must have gone: anything else came here since, and the withdrawal puts it back.
        if self.place.is_like(session.room.seen(&staged)) {
            Ok(())
        } else {
            Err(Error::Missing { path: self.path.clone() })
        }
    }
}

impl Move {
    fn publish(&mut self, session: &Session<'_>) -> Result<()> {
        let to = session.place(&self.to)?;
        if !to.missing.is_empty() {
            return Err(Error::Missing { path: self.to.clone() });
        }
        let from = &self.place;
        move_to_free(from.dir.as_fd(), &from.name, to.dir.as_fd(), &to.name).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: self.to.clone() },
            _ => failed("rename", &self.from, e),
        })?;
        self.is_published = true;
        // A link that took the place of what was looked at must not be carried about.
        let is_right = self.place.is_like(to.seen());
        self.destination = Some(to);
        if is_right { Ok(()) } else { Err(Error::Missing { path: self.from.clone() }) }
    }

    fn undo(&self) -> io::Result<()> {
        // Somebody removed what was moved: that is as good.
        let Some(to) = self.destination.as_ref().filter(|to| to.seen().is_some()) else { return Ok(()) };
        move_to_free(to.dir.as_fd(), &to.name, self.place.dir.as_fd(), &self.place.name)
    }
}

/// Somebody removed what was published before it could be taken back: that is as good.
fn if_there(taken: io::Result<()>) -> io::Result<()> {
    match taken {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        answer => answer,
    }
}

/// Removes from `staging/` what was published at `path` and taken back. What somebody did to it meanwhile goes to
/// `kept/`, and what they put in its place goes back there.
fn put_aside(
    session: &Session<'_>,
    path: &MemoryPath,
    name: &str,
    kind: Kind,
    (dir, target): (&OwnedFd, &str),
) -> io::Result<()> {
    let room = session.room;
    let Some((seen, _)) = room.seen(name) else { return Ok(()) };
    if seen != kind {
        return room
            .publish_new(name, dir, target)
            .or_else(|_| room.keep(name, &unknown_name(session)).map_err(io::Error::other));
    }
    let is_ours = |path: &MemoryPath, open: &OpenFile| -> Result<bool> {
        let Some(bytes) = session.read_open(open)? else { return Ok(false) };
        Ok(session.journal.head(path.as_str())?.is_some_and(|head| head.hash == Hash::of(&bytes)))
    };
    let put_aside = || {
        if kind == Kind::File {
            return match room.open_staged(name)? {
                Ok(open) if !is_ours(path, &open)? => room.keep(name, &unknown_name(session)),
                _ => room.discard(name),
            };
        }
        room.visit_staged(name, &mut |seen| {
            if seen.what == What::File
                && let Ok(open) = seen.open()?
                && !is_ours(&absorb::below(path, seen.path), &open)?
            {
                return room.keep_from(seen.dir, seen.name, &unknown_name(session));
            }
            Ok(())
        })?;
        room.discard(name)
    };
    if let Err(error) = put_aside() {
        // It is out of sight; recovery sees to it.
        session.core.warn(&session.core.refine(error));
        session.core.set_unsettled(true);
    }
    Ok(())
}

/// The refusal where something took the place of a regular file since it was looked at.
fn no_file(kind: Option<Kind>, path: &MemoryPath) -> Option<Error> {
    let path = path.clone();
    match kind {
        Some(Kind::File) => None,
        Some(Kind::Link) => Some(Error::Link { path }),
        Some(Kind::Directory | Kind::Special) => Some(Error::Unsupported { path }),
        None => Some(Error::Missing { path }),
    }
}

fn failed(verb: &str, path: &MemoryPath, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists { path: path.clone() },
        io::ErrorKind::NotFound => Error::Missing { path: path.clone() },
        // Something is mounted there.
        io::ErrorKind::ResourceBusy => Error::Unsupported { path: path.clone() },
        _ => Error::write(format!("{verb} {path}"), error),
    }
}
