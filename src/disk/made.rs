//! The directories that an open made, and how they are taken back where nothing came of it.
//!
//! Only directories are removed, by a call that fails where something is in them: whatever another process puts there in
//! between stays.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::base::Base;
use super::room::{MEMORIES, ROOM, sync_directory};
use crate::error::{Error, Result};

/// What an open made.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The base directory and those above it, from the top down.
    above: Vec<PathBuf>,
    /// Whether `memories/` was made.
    pub(crate) root: bool,
}

impl Made {
    fn is_empty(&self) -> bool {
        self.above.is_empty() && !self.root
    }
}

impl Base {
    /// Makes the base directory and those above it, private where they are new, and syncs what it made.
    pub(crate) fn make(path: &Path, dir_mode: u32) -> Result<Made> {
        let path = std::path::absolute(path).map_err(|e| Error::write("find the base directory", e))?;
        let mut missing: Vec<&Path> = path.ancestors().take_while(|dir| !dir.exists()).collect();
        missing.reverse();
        let mut made = Made::default();
        for dir in &missing {
            match std::fs::DirBuilder::new().mode(dir_mode).create(dir) {
                Ok(()) => made.above.push(dir.to_path_buf()),
                // By somebody else, a moment ago.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
                Err(e) => {
                    remove(&made.above);
                    return Err(Error::write("make the base directory", e));
                }
            }
        }
        for dir in missing.iter().rev().filter_map(|dir| dir.parent()) {
            let parent =
                rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(|e| Error::write("open a directory above the base", e))?;
            sync_directory(&parent, "a directory above the base")?;
        }
        Ok(made)
    }

    /// Removes what this open made, as far as nothing is in it by now; whether nothing of it is left.
    ///
    /// A store that somebody has begun to write to stays, however little is in it.
    pub(crate) fn unmake(&self) -> bool {
        if self.made.is_empty() {
            return true;
        }
        if self.has(ROOM) {
            return false;
        }
        if self.made.root {
            self.unmake_root();
        }
        // What has its name by now may be another's.
        let is_same = self.path().symlink_metadata().is_ok_and(|seen| self.is_at(seen.dev(), seen.ino()));
        match (self.made.above.is_empty(), is_same) {
            (true, _) => !self.has(MEMORIES),
            (false, true) => remove(&self.made.above),
            (false, false) => false,
        }
    }
}

/// Removes directories from the bottom up, until something is in one; whether all are gone.
fn remove(made: &[PathBuf]) -> bool {
    made.iter().rev().all(|dir| rustix::fs::rmdir(dir).is_ok())
}
