//! `kept/`: bytes that the journal does not hold, each under the id of its version.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::base::Base;
use super::room::{KEPT, ROOM, Room};
use crate::error::{Error, Result};
use crate::fail;

impl Base {
    /// The bytes of `kept/{id}`; `None` when there is no such file.
    pub(crate) fn kept(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let failed = |e: std::io::Error| Error::read(format!("read .memdir/kept/{id}"), e);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(
            self.sandbox.base(),
            format!("{ROOM}/{KEPT}/{id}"),
            flags,
            Mode::empty(),
        ) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(failed(e.into())),
        };
        let size = file.metadata().map_err(failed)?.len();
        let most = self.sandbox.most_read;
        if size > most {
            return Err(failed(std::io::Error::other(format!("it has {size} bytes, more than {most}"))));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(bytes))
    }
}

impl Room {
    /// The ids that files in `kept/` have.
    pub(crate) fn kept_ids(&self) -> Result<BTreeSet<String>> {
        Ok(self.names_in(KEPT)?.iter().map(|name| id_of(name).to_owned()).collect())
    }

    /// Removes the files in `kept/` that have one of these ids.
    pub(crate) fn forget_kept(&self, ids: &BTreeSet<String>) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        for name in self.names_in(KEPT)?.iter().filter(|name| ids.contains(id_of(name))) {
            fail::step();
            match rustix::fs::unlinkat(&self.kept, &**name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(Error::write(format!("remove .memdir/kept/{name}"), e)),
            }
        }
        Ok(())
    }
}

/// Where two files are one version, a number stands behind its id.
fn id_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(id, _)| id)
}
