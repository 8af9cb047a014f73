//! A reader of the journal that is kept for who reads next: to open one costs more than most of what is asked of it.
//!
//! It is kept beside a journal that is open for writing, and goes with that: what another process forgets or replaces is held
//! by nobody who did not hold it anyway. Between two questions it is in no transaction, so that what was redacted can be
//! rewritten and cut off as if it were not there.

use std::sync::{Mutex, Weak};

use super::Store;
use super::queue::lock;
use crate::journal::Reader;

/// The place of a reader that nobody uses just now.
#[derive(Debug)]
pub(super) struct Spare {
    /// Of the journal's file.
    inode: Option<u64>,
    reader: Mutex<Option<Reader>>,
}

impl Spare {
    pub(super) fn of(inode: Option<u64>) -> Self {
        Self { inode, reader: Mutex::default() }
    }

    /// Whether its journal is this file; one that is missing it is not.
    pub(super) fn is_of(&self, inode: Option<u64>) -> bool {
        inode.is_some() && self.inode == inode
    }

    /// Takes the reader, if one is there and still knows the tables.
    pub(super) fn take(&self) -> Option<Reader> {
        let reader = lock(&self.reader).take();
        reader.filter(Reader::is_current)
    }

    /// Keeps a reader, unless there is one, or it cannot end what it was at.
    pub(super) fn keep(&self, reader: Reader) {
        if reader.rest().is_ok() {
            lock(&self.reader).get_or_insert(reader);
        }
    }
}

impl Store {
    /// Where a reader of the journal that is there now is kept; nowhere, unless this process has that open for writing.
    pub(super) fn spare(&self) -> Weak<Spare> {
        let core = &self.inner.core;
        let kept = lock(&core.spare).clone();
        let is_current = kept.upgrade().is_some_and(|spare| spare.is_of(core.base.journal_inode()));
        if is_current { kept } else { Weak::new() }
    }
}
