//! A directory of tantivy that never syncs: the index is derived, and a commit of a few memories would wait for the disk
//! twenty times. What a power cut takes away, or damages in another way, is noticed by checksums: a file is checked when it is
//! opened, the first time, and again when it has changed. (Memory that goes bad afterwards is not noticed.)
//!
//! To check a file is to read it, so that it is kept in memory, where nobody can cut it short. Only what is large is mapped.

use std::collections::HashMap;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::super::plain;
use super::whole;

/// A longer file is mapped (32 MiB). Of a million short passages no file is as long.
const LONGEST_HELD: u64 = 32 << 20;

/// Files in a directory.
#[derive(Debug, Clone)]
pub(super) struct Unsynced {
    files: MmapDirectory,
    path: Arc<Path>,
    /// Those that were checked, as they were then.
    whole: Arc<Mutex<HashMap<PathBuf, Whole>>>,
}

/// A file that was checked.
#[derive(Debug)]
struct Whole {
    stamp: Stamp,
    /// What is in it, while somebody reads that and it is not mapped.
    held: Weak<[u8]>,
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

    /// What is in a file, after a check; `None`: it is to be mapped.
    fn whole(&self, name: &Path) -> io::Result<Option<Arc<[u8]>>> {
        let file = plain::open(&self.path.join(name))?;
        let metadata = file.metadata()?;
        let stamp = stamp(&metadata);
        let mut known = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.get(name).filter(|whole| whole.stamp == stamp);
        if metadata.len() > LONGEST_HELD {
            if same.is_none() {
                whole::check(&file)?;
                let held = Weak::<[u8; 0]>::new();
                known.insert(name.to_owned(), Whole { stamp, held });
            }
            return Ok(None);
        }
        if let Some(held) = same.and_then(|whole| whole.held.upgrade()) {
            return Ok(Some(held));
        }
        let length = usize::try_from(metadata.len()).expect("it is not long");
        let bytes = whole::read(&file, length)?;
        known.insert(name.to_owned(), Whole { stamp, held: Arc::downgrade(&bytes) });
        Ok(Some(bytes))
    }
}

impl Directory for Unsynced {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.whole(path).map_err(|fault| unread(fault, path))? {
            Some(bytes) => Ok(Arc::new(OwnedBytes::new(bytes))),
            None => self.files.get_file_handle(path),
        }
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
        let path = self.path.join(&lock.filepath);
        // It is locked, and not written: who may only read takes it, too.
        let file = plain::open(&path)
            .or_else(|_| plain::open_or_make(&path, OpenOptions::new().write(true)))
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
