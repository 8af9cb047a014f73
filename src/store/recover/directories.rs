//! Doing again what the log says of directories, each told from a later one of the same name.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;

use super::leftovers::put_away;
use super::{Touched, find_version};
use crate::disk::{Look, OpenFile, What, make_in, merge, move_to_free, remove_empty, visit};
use crate::error::{Error, Result};
use crate::journal::LoggedStep;
use crate::path::MemoryPath;
use crate::store::absorb;
use crate::store::batch::staged_old;
use crate::store::session::Session;

impl Touched {
    /// Directories move with what is renamed; files must be looked for at both ends.
    pub(super) fn rename(&mut self, from: &str, to: &str, steps: &[LoggedStep]) {
        let moved: Vec<String> =
            self.directories.iter().filter(|made| is_at_or_below(made, from)).cloned().collect();
        for made in moved {
            self.directories.remove(&made);
            self.directories.insert(format!("{to}{}", &made[from.len()..]));
        }
        for stray in self.strays.iter_mut().filter(|stray| is_at_or_below(&stray.to, from)) {
            stray.to = format!("{to}{}", &stray.to[from.len()..]);
        }
        for step in steps {
            if let LoggedStep::Version { memory, path, .. } = step
                && is_at_or_below(path, to)
            {
                let before = format!("{from}{}", &path[to.len()..]);
                self.files.entry(before).or_default().insert(*memory);
            }
        }
    }
}

pub(super) fn is_at_or_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether what is at `path` was removed later with a directory that it was in, and nothing of it had gone elsewhere before.
///
/// Then it is not moved again: the directories made for it would not be those that were removed, by their inodes.
pub(super) fn goes_with_what_is_around<'a>(path: &str, later: impl Iterator<Item = &'a LoggedStep>) -> bool {
    let mut now = path.to_owned();
    for step in later {
        match step {
            LoggedStep::Renamed { from, to, .. } if is_at_or_below(&now, from) => {
                now = format!("{to}{}", &now[from.len()..]);
            }
            LoggedStep::Renamed { from, .. } if is_at_or_below(from, &now) => return false,
            LoggedStep::RemovedTree { path, .. } if is_at_or_below(&now, path) => return *path != now,
            _ => {}
        }
    }
    false
}

/// A rename that is in the journal: `from` still being the same inode shows that it was not done, or not to the end.
///
/// But where the inode is free again by the end of the log (`is_removed`), or something else lives at `from` by then, it may
/// be that of another file or directory.
pub(super) fn rename(
    session: &Session<'_>,
    (from, to): (&str, &str),
    inode: u64,
    is_removed: bool,
    touched: &mut Touched,
) -> Result<()> {
    let (from, to) = (MemoryPath::from_normal(from), MemoryPath::from_normal(to));
    let Ok(source) = session.base().sandbox.parent(&from)? else { return Ok(()) };
    if source.stamp.map(|stamp| stamp.ino) != Some(inode) {
        return Ok(());
    }
    let is_made_again = session.journal.head(from.as_str())?.is_some()
        || !session.journal.heads_below(from.as_str())?.is_empty();
    if (is_removed || is_made_again) && !is_known(session, &from, touched)? {
        touched.former.entry(inode).or_default().push(from.as_str().to_owned());
        return Ok(());
    }
    if let Some((above, _)) = to.split_last() {
        make_directory(session, above.as_str())?;
    }
    let Ok(destination) = session.base().sandbox.parent(&to)? else { return Ok(()) };
    let failed = |e| Error::write(format!("rename {from}"), e);
    match (&source.look, &destination.look) {
        (_, Look::Missing) => {
            let (from_dir, to_dir) = (source.dir.as_fd(), destination.dir.as_fd());
            move_to_free(from_dir, &source.name, to_dir, &destination.name).map_err(failed)
        }
        // Cut short while the entries went one by one.
        (Look::Directory, Look::Directory) => {
            let inner = session.base().sandbox.open_dir(&from)?;
            let outer = session.base().sandbox.open_dir(&to)?;
            let (Ok(inner), Ok(outer)) = (inner, outer) else { return Ok(()) };
            match merge(inner.as_fd(), outer.as_fd()) {
                Ok(()) => remove_empty(&source).map_err(failed),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                Err(e) => Err(failed(e)),
            }
        }
        _ => Ok(()),
    }
}

/// A removal of a directory (or of a link, or a FIFO) that is in the journal.
///
/// One that holds what is not to be removed stays; what is known in it is judged file by file.
pub(super) fn remove_tree(
    session: &mut Session<'_>,
    path: &str,
    inode: u64,
    staged: u64,
    touched: &Touched,
) -> Result<()> {
    let at = MemoryPath::from_normal(path);
    let Ok(place) = session.base().sandbox.parent(&at)? else { return Ok(()) };
    if place.stamp.map(|stamp| stamp.ino) != Some(inode) || matches!(place.look, Look::File { .. }) {
        return Ok(());
    }
    if !is_known(session, &at, touched)? {
        return Ok(());
    }
    let name = staged_old(staged);
    put_away(session, &name, path, &touched.files)?;
    session.room.take(&place.dir, &place.name, &name).map_err(|e| Error::write(format!("remove {at}"), e))?;
    put_away(session, &name, path, &touched.files)
}

/// Removes a directory whose files are gone, and those in it; what still holds something stays.
pub(super) fn remove_emptied(session: &Session<'_>, path: &str, inode: u64) -> Result<()> {
    let at = MemoryPath::from_normal(path);
    let Ok(place) = session.base().sandbox.parent(&at)? else { return Ok(()) };
    if place.stamp.map(|stamp| stamp.ino) != Some(inode) || place.look != Look::Directory {
        return Ok(());
    }
    let Ok(dir) = session.base().sandbox.open_dir(&at)? else { return Ok(()) };
    let mut below = Vec::new();
    visit(dir.as_fd(), &mut |seen| {
        if matches!(seen.what, What::Directory { .. }) && !seen.path.is_empty() {
            below.push(absorb::below(&at, seen.path));
        }
        Ok(())
    })?;
    let places = below.iter().rev().map(|path| session.base().sandbox.parent(path));
    for place in places.chain([Ok(Ok(place))]) {
        let Ok(place) = place? else { continue };
        match remove_empty(&place) {
            Err(e) if !matches!(e.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => {
                return Err(Error::write(format!("remove {path}"), e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether all files at or below a path are versions of memories that were there, and none lives there now.
fn is_known(session: &Session<'_>, path: &MemoryPath, touched: &Touched) -> Result<bool> {
    let is_known = |path: &str, open: &OpenFile| -> Result<bool> {
        if session.journal.head(path)?.is_some() {
            return Ok(false);
        }
        // What was too large to be read is known by its name alone.
        let Some(bytes) = session.read_open(open)? else { return Ok(true) };
        let mut memories = touched.files.get(path).cloned().unwrap_or_default();
        memories.extend(session.journal.memories_at(path)?);
        if bytes.iter().all(|&byte| byte == 0) || find_version(session, &memories, &bytes)?.is_some() {
            return Ok(true);
        }
        for memory in memories {
            if session.journal.past(memory)?.iter().any(|past| past.hash == Some(absorb::UNREAD)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if let Ok(open) = session.base().sandbox.open_file(path)? {
        return is_known(path.as_str(), &open);
    }
    let Ok(dir) = session.base().sandbox.open_dir(path)? else { return Ok(true) };
    let mut all = true;
    visit(dir.as_fd(), &mut |seen| {
        if all
            && seen.what == What::File
            && let Ok(open) = seen.open()?
        {
            all = is_known(absorb::below(path, seen.path).as_str(), &open)?;
        }
        Ok(())
    })?;
    Ok(all)
}

/// Makes a directory and those above it, where they are missing.
pub(super) fn make_directory(session: &Session<'_>, path: &str) -> Result<()> {
    let mode = session.core.settings.dir_mode;
    session.base().make_root(mode)?;
    if path.is_empty() {
        return Ok(());
    }
    let path = MemoryPath::from_normal(path);
    let depth = path.segments().count();
    for level in 1..=depth {
        let Ok(place) = session.base().sandbox.parent(&path.ancestor(level))? else { return Ok(()) };
        if place.look == Look::Missing && place.missing.is_empty() {
            make_in(&place, mode)?;
        }
    }
    Ok(())
}
