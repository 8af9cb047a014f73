//! Staging: each edit of a request becomes files in `staging/`, rows for the journal, and acts to publish.

use std::collections::HashMap;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use super::batch::{Addition, Batch, Planned, staged_new, staged_old};
use super::gate::{self, Passed};
use super::publish::{Act, Move, Pending, Slot, Take, Tree, Whose};
use super::session::refuse_unwritable;
use super::{Edit, absorb};
use crate::disk::{Draft, Go, Look, OpenFile, Place, survey};
use crate::error::{Error, Result};
use crate::guard::{self, Warning};
use crate::hash::Hash;
use crate::id::{MemoryId, new_ulid};
use crate::journal::{Content, Step, Stored};
use crate::path::MemoryPath;
use crate::text::Bytes;

impl Batch<'_, '_> {
    pub(super) fn stage(&mut self, planned: Planned, owner: usize, addition: &mut Addition) -> Result<()> {
        match &planned.edit {
            Edit::Write { path, bytes } => {
                let (path, bytes) = (path.clone(), Arc::clone(bytes));
                self.stage_write(path, bytes, planned, owner, addition)
            }
            Edit::Remove { path } => {
                let path = path.clone();
                match planned.place.look {
                    _ if self.slots.contains_key(&path) => self.stage_remove_pending(&path, owner, addition),
                    Look::Missing => Err(Error::Missing { path }),
                    Look::File { .. } => self.stage_remove(path, planned, owner, addition),
                    _ => self.stage_take(path, planned.place, owner, addition),
                }
            }
            Edit::Rename { from, to } => {
                let (from, to) = (from.clone(), to.clone());
                self.stage_rename(from, to, planned.place, owner, addition)
            }
        }
    }

    fn stage_write(
        &mut self,
        path: MemoryPath,
        bytes: Bytes,
        planned: Planned,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        let settings = &self.session.core.settings;
        let pending = self.slots.get(&path).map(|slot| slot.pending.clone());
        let on_disk = match (&pending, planned.read, &planned.place.look) {
            // Another file by now: it is absorbed when it is displaced.
            (None, Some(read), Look::File { .. }) => Some(read),
            (None, Some(_), Look::Missing) => return Err(Error::Missing { path }),
            (None, Some(_), Look::Special | Look::Directory) => return Err(Error::Unsupported { path }),
            (None, None, Look::Missing) | (Some(_), _, _) => None,
            (None, _, Look::Link) => return Err(Error::Link { path }),
            (None, _, _) => return Err(Error::Exists { path }),
        };
        let before = match &pending {
            Some(Pending::Write { bytes, .. }) => Some(Arc::clone(bytes)),
            Some(Pending::Remove { .. }) => None,
            None => on_disk.as_ref().map(|read| Arc::clone(&read.bytes)),
        };
        let mode_before = match (&pending, &on_disk) {
            (Some(Pending::Write { mode, .. }), _) => Some(*mode),
            (_, Some(read)) => Some(read.stamp.mode & 0o7777),
            _ => None,
        };
        let asked = addition.plan.modes.get(&path).copied();
        let mode = asked.or(mode_before).unwrap_or(settings.file_mode);
        let is_another = addition.brings_another(&path);
        if before.as_ref() == Some(&bytes) && mode_before == Some(mode) && !is_another {
            return Ok(());
        }
        let Passed { bytes, warnings } = self.pass(&path, bytes, before.as_ref(), addition)?;
        addition.warn(self.guard(), &path, &warnings);
        if before.as_ref() == Some(&bytes) && mode_before == Some(mode) && !is_another {
            return Ok(());
        }
        let size = bytes.len() as u64;
        let n = self.number();
        let staged = planned.place.missing.is_empty().then_some(n);
        if staged.is_some() {
            let replaces = match &pending {
                Some(Pending::Write { .. }) => true,
                Some(Pending::Remove { .. }) => false,
                None => on_disk.is_some(),
            };
            let like = self.like(addition.moved.get(&path).or(replaces.then_some(&path)));
            refuse_unwritable(&planned.place.dir)?;
            self.session.room.stage(&staged_new(n), &Draft { bytes: &bytes, mode, like: like.as_ref() })?;
            addition.staged.push(staged_new(n));
        } else {
            let like = self.like(addition.moved.get(&path));
            let draft = Draft { bytes: &bytes, mode, like: like.as_ref() };
            self.stage_in_tree(&path, &planned.place, Some(&draft), owner, addition)?;
        }
        let hash = Hash::of(&bytes);
        let whose = self.whose(&path, before.is_some(), is_another, addition);
        if let Some(slot) = self.slots.get_mut(&path) {
            if before.is_none() || is_another {
                slot.whose = whose;
            }
            let replaced = std::mem::replace(
                &mut slot.pending,
                Pending::Write { staged: n, bytes: Arc::clone(&bytes), mode },
            );
            slot.owners.push(owner);
            if let Pending::Write { staged, .. } = replaced {
                let _ = self.session.room.discard(&staged_new(staged));
            }
        } else {
            let on_disk = on_disk.map(|read| (read.stamp, Some(read.bytes)));
            let original = absorb::file(self.session, &path, on_disk, &mut addition.outside)?;
            if staged.is_some() {
                self.slots.push_file(Slot {
                    path: path.clone(),
                    place: planned.place,
                    original,
                    pending: Pending::Write { staged: n, bytes: Arc::clone(&bytes), mode },
                    whose,
                    owners: vec![owner],
                    is_published: false,
                    displaced: None,
                });
            }
        }
        if addition.plan.replaced.contains(&path) {
            addition.ended.push(Step::Delete { path: path.as_str().into(), staged: None });
        }
        if let Some(&memory) = addition.plan.revived.get(&path) {
            addition.own.push(Step::Revive { memory, path: path.as_str().into() });
        }
        if let Whose::Begun(memory) = whose {
            addition.own.push(Step::Begin { memory, path: path.as_str().into() });
        }
        // What was there is no version of a memory that comes from elsewhere.
        let old = before.filter(|_| !is_another);
        let content = Content { hash, size, bytes: Stored::Here { new: bytes, old } };
        addition.own.push(Step::Write { path: path.as_str().into(), content, mode, staged });
        addition
            .own
            .extend(warnings.into_iter().map(|warning| Step::Warn { path: path.as_str().into(), warning }));
        Ok(())
    }

    /// Which memory a file will be of that is written: what was there is gone on with, and else one begins.
    fn whose(&self, path: &MemoryPath, is_there: bool, is_another: bool, addition: &Addition) -> Whose {
        let plan = &addition.plan;
        if plan.revived.contains_key(path) || addition.moved.contains_key(path) {
            Whose::Unknown
        } else if is_there && !is_another {
            Whose::Head
        } else {
            let begun = plan.begun.get(path).copied();
            Whose::Begun(begun.unwrap_or_else(|| MemoryId(new_ulid(self.session.core.now()))))
        }
    }

    /// What may be written to a file: its path, where that is new, its size, and its content are judged, in this order.
    fn pass(
        &self,
        path: &MemoryPath,
        bytes: Bytes,
        before: Option<&Bytes>,
        addition: &Addition,
    ) -> Result<Passed> {
        let is_restored = addition.plan.is_restored;
        let mut warnings = match before {
            Some(_) => Vec::new(),
            None => gate::judge_path(self.guard(), path, addition.moved.get(path), is_restored)?,
        };
        let limit = self.session.core.settings.file_limit;
        let refuse_large = |bytes: &Bytes| {
            let size = bytes.len() as u64;
            if is_restored || guard::fits(size, limit, before.map(|before| before.len() as u64)) {
                return Ok(());
            }
            Err(Error::TooLarge { path: path.clone(), size, limit })
        };
        refuse_large(&bytes)?;
        let passed = gate::judge(self.guard(), path, bytes, before, is_restored)?;
        // What stands for a secret may be longer than it.
        refuse_large(&passed.bytes)?;
        warnings.extend(passed.warnings);
        Ok(Passed { bytes: passed.bytes, warnings })
    }

    /// The file whose owner and attributes one that is written takes over.
    fn like(&self, path: Option<&MemoryPath>) -> Option<OpenFile> {
        self.session.base().sandbox.open_file(path?).ok()?.ok()
    }

    /// Stages a file, or only directories, below directories that do not exist yet: they appear all at once.
    fn stage_in_tree(
        &mut self,
        path: &MemoryPath,
        place: &Place,
        file: Option<&Draft<'_>>,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        let dir_mode = self.session.core.settings.dir_mode;
        // Fewer segments than are missing: `memories` itself is gone again.
        let Some(depth) = path.depth().checked_sub(place.missing.len() + 1) else {
            return Err(Error::Missing { path: path.clone() });
        };
        let top = path.ancestor(depth + 1);
        let inner = &place.missing[1..];
        let file = file.map(|draft| (place.name.as_str(), draft));
        let found = self.slots.acts.iter().find_map(|act| match act {
            Act::Tree(tree) if tree.path == top => Some(tree.staged),
            _ => None,
        });
        if let Some(staged) = found {
            self.session.room.grow_tree(&staged_new(staged), inner, dir_mode, file)?;
        } else {
            refuse_unwritable(&place.dir)?;
            let staged = self.number();
            let name = staged_new(staged);
            self.session.room.stage_tree(&name, inner, dir_mode, file)?;
            addition.staged.push(name);
            let dir = Arc::clone(&place.dir);
            let name = place.missing[0].clone();
            self.slots.acts.push(Act::Tree(Tree {
                path: top,
                dir,
                name,
                staged,
                owner,
                is_published: false,
            }));
        }
        for level in depth + 1..=depth + place.missing.len() {
            let path = path.ancestor(level).as_str().to_owned();
            let is_same = |step: &Step| matches!(step, Step::MakeDirectory { path: made } if *made == path);
            if !addition.own.iter().any(is_same) {
                addition.own.push(Step::MakeDirectory { path });
            }
        }
        Ok(())
    }

    /// Removes a file that an earlier change of the batch wrote.
    fn stage_remove_pending(
        &mut self,
        path: &MemoryPath,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        let n = self.number();
        let Some(slot) = self.slots.get_mut(path) else { return Ok(()) };
        match std::mem::replace(&mut slot.pending, Pending::Remove { staged: n }) {
            Pending::Write { staged, .. } => {
                slot.owners.push(owner);
                let _ = self.session.room.discard(&staged_new(staged));
            }
            removed @ Pending::Remove { .. } => {
                slot.pending = removed;
                return Err(Error::Missing { path: path.clone() });
            }
        }
        addition.own.push(Step::Delete { path: path.as_str().into(), staged: Some(n) });
        Ok(())
    }

    fn stage_remove(
        &mut self,
        path: MemoryPath,
        planned: Planned,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        refuse_unwritable(&planned.place.dir)?;
        let n = self.number();
        let read = match planned.read {
            Some(read) => Some((read.stamp, Some(read.bytes))),
            None => self.session.read_file(&path)?,
        };
        let Some(read) = read else { return Err(Error::Missing { path }) };
        let original = absorb::file(self.session, &path, Some(read), &mut addition.outside)?;
        match addition.left.get_mut(path.as_str()) {
            Some(staged) => *staged = Some(n),
            None => addition.ended.push(Step::Delete { path: path.as_str().into(), staged: Some(n) }),
        }
        let pending = Pending::Remove { staged: n };
        self.slots.push_file(Slot {
            path,
            place: planned.place,
            original,
            pending,
            whose: Whose::Head,
            owners: vec![owner],
            is_published: false,
            displaced: None,
        });
        Ok(())
    }

    /// A directory, a link, a FIFO: taken away as a whole.
    fn stage_take(
        &mut self,
        path: MemoryPath,
        place: Place,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        refuse_unwritable(&place.dir)?;
        let staged = self.number();
        let inode = place.stamp.map_or(0, |stamp| stamp.ino);
        let mut expected = HashMap::new();
        if place.look == Look::Directory {
            let mut ended = Vec::new();
            expected = absorb::tree(self.session, &path, &mut addition.outside, &mut ended)?;
            let ends =
                |step: &Step| !matches!(step, Step::Delete { path, .. } if addition.left.contains_key(path));
            addition.ended.extend(ended.into_iter().filter(ends));
        }
        addition.ended.push(Step::RemoveTree { path: path.as_str().into(), inode, staged });
        self.slots.acts.push(Act::Take(Take { path, place, staged, expected, owner, is_published: false }));
        Ok(())
    }

    fn stage_rename(
        &mut self,
        from: MemoryPath,
        to: MemoryPath,
        place: Place,
        owner: usize,
        addition: &mut Addition,
    ) -> Result<()> {
        match place.look {
            Look::File { .. } | Look::Directory => {}
            Look::Missing => return Err(Error::Missing { path: from }),
            Look::Link => return Err(Error::Link { path: from }),
            _ => return Err(Error::Unsupported { path: from }),
        }
        let is_restored = addition.plan.is_restored;
        let mut warnings = gate::judge_path(self.guard(), &to, Some(&from), is_restored)?;
        if place.look == Look::Directory {
            for warning in self.judge_below(&from, &to, is_restored)? {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        let destination = self.session.place(&to)?;
        if destination.look != Look::Missing {
            return Err(Error::Exists { path: to });
        }
        refuse_unwritable(&place.dir)?;
        refuse_unwritable(&destination.dir)?;
        if place.look == Look::Directory {
            // To move a directory is to change its `..`.
            self.session.refuse_unwritable_directory(&from)?;
        }
        absorb::vacated(self.session, &to, &mut addition.outside)?;
        if !destination.missing.is_empty() {
            self.stage_in_tree(&to, &destination, None, owner, addition)?;
        }
        let inode = place.stamp.map_or(0, |stamp| stamp.ino);
        addition.own.push(Step::Rename { from: from.as_str().into(), to: to.as_str().into(), inode });
        addition.warn(self.guard(), &to, &warnings);
        self.slots.acts.push(Act::Move(Move {
            from,
            to,
            place,
            destination: None,
            owner,
            is_published: false,
        }));
        Ok(())
    }

    /// Judges the paths of all that moves with a directory: a name may become a secret only by what stands before it.
    fn judge_below(&self, from: &MemoryPath, to: &MemoryPath, is_restored: bool) -> Result<Vec<Warning>> {
        let mut warnings = Vec::new();
        let dir = match self.session.base().sandbox.open_dir(from)? {
            Ok(dir) if !self.guard().is_off() => dir,
            _ => return Ok(warnings),
        };
        survey(dir.as_fd(), &mut |seen| {
            if !seen.path.is_empty() {
                let (from, to) = (absorb::below(from, seen.path), absorb::below(to, seen.path));
                warnings.extend(gate::judge_path(self.guard(), &to, Some(&from), is_restored)?);
            }
            Ok(Go::On)
        })?;
        Ok(warnings)
    }

    /// The next number of which nothing is in `staging/`: what could not be cleared away keeps its own.
    fn number(&mut self) -> u64 {
        let room = self.session.room;
        while [staged_new, staged_old].iter().any(|name| room.seen(&name(self.next)).is_some()) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}
