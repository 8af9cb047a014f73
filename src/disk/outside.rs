//! Files of the host that are no memories: what a person brings in, and the copies that an editor has.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// Opens a regular file for reading. A link is not followed, and a FIFO does not hang.
///
/// # Errors
/// [`InvalidInput`](std::io::ErrorKind::InvalidInput) for anything that is no regular file, or what the system says.
pub(crate) fn open_outside(path: &Path) -> std::io::Result<File> {
    let other = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::LOOP | Errno::MLINK | Errno::NXIO) => return Err(other()),
        Err(e) => return Err(e.into()),
    };
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(other()),
    }
}
