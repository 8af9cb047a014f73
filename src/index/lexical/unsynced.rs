//! A directory of tantivy that never syncs: the index is derived, and a commit of a few memories would wait for the disk
//! twenty times. What a power cut takes away, or damages in another way, is noticed by checksums: a file is checked before it is
//! mapped, the first time, and again when it has changed. (Memory that goes bad afterwards is not noticed.)

use std::collections::HashMap;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use super::super::plain;
use super::whole;

/// Files in a directory, mapped to be read.
#[derive(Debug, Clone)]
pub(super) struct Unsynced {
    files: MmapDirectory,
    path: Arc<Path>,
    /// Those that were checked, as they were then.
    whole: Arc<Mutex<HashMap<PathBuf, Stamp>>>,
}

/// What changes with a file: its length, number, and times of change, in nanoseconds.
type Stamp = (u64, u64, [i64; 4]);

fn stamp(file: &Metadata) -> Stamp {
    (file.len(), file.ino(), [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()])
}

impl Unsynced {
    pub(super) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { files: MmapDirectory::open(path)?, path: Arc::from(path), whole: Arc::default() })
    }

    fn check(&self, name: &Path) -> io::Result<()> {
        let file = plain::open(&self.path.join(name))?;
        let stamp = stamp(&file.metadata()?);
        let mut known = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(name) != Some(&stamp) {
            whole::check(&file)?;
            known.insert(name.to_owned(), stamp);
        }
        Ok(())
    }
}

impl Directory for Unsynced {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.check(path).map_err(|fault| unread(fault, path))?;
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let file: Box<dyn TerminatingWrite + Send + Sync> = Box::new(Flushed(self.files.open_write(path)?));
        Ok(WritePtr::new(file))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = plain::read(&self.path.join(path), u64::MAX).and_then(whole::unsealed);
        bytes.map_err(|fault| unread(fault, path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        plain::replace(&self.path.join(path), &whole::sealed(data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let file = plain::open_or_make(&self.path.join(&lock.filepath), OpenOptions::new().write(true))
            .map_err(LockError::wrap_io_error)?;
        if lock.is_blocking {
            file.lock().map_err(LockError::wrap_io_error)?;
        } else {
            file.try_lock().map_err(|_| LockError::LockBusy)?;
        }
        Ok(DirectoryLock::from(Box::new(file)))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

fn unread(fault: io::Error, path: &Path) -> OpenReadError {
    match fault.kind() {
        io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(fault, path.to_owned()),
    }
}

/// A file that is written out at its end, and not synced.
struct Flushed(WritePtr);

impl Write for Flushed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Flushed {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.flush()
    }
}
