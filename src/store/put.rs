//! Files that come from outside, put where nothing stands, many in one change.

use std::fs::File;
use std::path::PathBuf;

use super::gate::judge;
use super::plan::Plan;
use super::{Edit, Others, Store};
use crate::disk::{Found, Look};
use crate::error::Result;
use crate::id::{ChangeId, new_ulid};
use crate::path::MemoryPath;
use crate::text::Bytes;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It was written.
    Written,
    /// It was there already, with the same bytes.
    Unchanged,
    /// Something else is in its place, or in its way.
    Conflict,
}

/// What becomes of a file where this was found.
fn becomes(found: &Found, bytes: &Bytes, others: Others) -> Put {
    match found {
        Found::File(old) if old == bytes => Put::Unchanged,
        Found::File(_) if others == Others::Overwrite => Put::Written,
        Found::Not(Look::Missing) => Put::Written,
        Found::File(_) | Found::Not(_) => Put::Conflict,
    }
}

impl Store {
    /// Puts files into the store, none at or below another's path, as one journal change that is a part of `change`; what
    /// became of each.
    ///
    /// [`Others::Overwrite`] replaces files, and nothing else.
    pub(crate) fn put(
        &self,
        files: Vec<(MemoryPath, Bytes)>,
        others: Others,
        change: ChangeId,
    ) -> Result<Vec<Put>> {
        let decide = move |snapshot: &mut super::Snapshot<'_>| {
            let mut plan = Plan { change: Some(change), ..Plan::default() };
            let mut done = Vec::with_capacity(files.len());
            for (path, bytes) in &files {
                let put = becomes(&snapshot.read(path)?, bytes, others);
                if put == Put::Written {
                    plan.edits.push(Edit::Write { path: path.clone(), bytes: Bytes::clone(bytes) });
                }
                done.push(put);
            }
            Ok((plan, done))
        };
        self.carry_out(vec![decide]).pop().expect("one decision has one result")
    }

    /// Refuses what [`Store::put`] would refuse of a file for a secret in it, as far as can be told before.
    pub(crate) fn refuse_secret(&self, path: &MemoryPath, bytes: Bytes, others: Others) -> Result<()> {
        let found = self.read(path)?;
        if becomes(&found, &bytes, others) != Put::Written {
            return Ok(());
        }
        let before = match found {
            Found::File(before) => Some(before),
            Found::Not(_) => self.refuse_secret_path(path).map(|()| None)?,
        };
        judge(&self.settings().guard, path, bytes, before.as_ref(), false).map(drop)
    }

    /// The id of a change that is yet to be made.
    pub(crate) fn new_change(&self) -> ChangeId {
        ChangeId(new_ulid(self.inner.core.now()))
    }

    /// Whether the store's base directory has this device and inode.
    pub(crate) fn is_at(&self, device: u64, inode: u64) -> bool {
        self.inner.core.base.is_at(device, inode)
    }

    /// Where the copies are that people edit.
    pub(crate) fn edits_path(&self) -> Result<PathBuf> {
        self.room()?.edits_path()
    }

    /// A file without a name, on the same disk as the store.
    pub(crate) fn scratch(&self) -> Result<File> {
        self.room()?.scratch()
    }

    fn room(&self) -> Result<crate::disk::Room> {
        self.inner.core.base.room(self.inner.core.settings.allow_fuse)
    }
}
