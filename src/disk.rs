//! The only module that touches memory files: by handle, never following a link.

#![allow(clippy::disallowed_methods, reason = "the base directory is opened, made and synced here")]

use chrono::{DateTime, Utc};

use crate::path::MemoryPath;
use crate::text::Bytes;

mod base;
#[cfg(feature = "search")]
mod bell;
mod derived;
mod inspect;
mod kept;
mod list;
mod lock;
mod made;
mod mark;
mod names;
mod outside;
mod room;
mod sandbox;
mod site;
mod stage;
mod stat;
mod tree;
mod walk;
#[cfg(feature = "search")]
mod watch;

pub(crate) use base::{Base, sync_at};
#[cfg(feature = "search")]
pub(crate) use bell::Bell;
pub(crate) use lock::Held;
#[cfg(test)]
pub(crate) use mark::forge_boot;
pub(crate) use mark::{Mark, Marked};
pub(crate) use outside::open_outside;
pub(crate) use room::Room;
pub(crate) use sandbox::{Backend, Handles, OpenFile, Place};
pub(crate) use stage::{Draft, check_writable, make_in, merge, move_to_free, remove_empty};
pub(crate) use stat::{Kind, Stamp};
pub(crate) use tree::{Go, Visit, What, survey, visit};
#[cfg(feature = "search")]
pub(crate) use watch::{News, Refusal, Watch};

/// What stands at a path, looked at from the root down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Missing,
    /// Nothing can: this file (or FIFO, socket, device, root of another file system) on the way is no directory to go
    /// through.
    BelowFile(MemoryPath),
    /// A symbolic link: the path's own last segment.
    Link,
    /// A symbolic link on the way to it.
    BelowLink,
    /// A FIFO, a socket, a device, or the root of another file system.
    Special,
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its length in bytes.
        size: u64,
    },
}

/// What reading a path found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A regular file, whole.
    File(Bytes),
    /// Anything else ([`Look::File`] never stands here).
    Not(Look),
}

/// One visible entry of a directory: a regular file or a directory whose name is UTF-8, not hidden and not `node_modules`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name as it is on disk.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The length of a file; for a directory the sum of the lengths of all visible files below it.
    pub size: u64,
    /// When a file was last modified, as its file system says; `None` for a directory.
    pub modified: Option<DateTime<Utc>>,
    /// A directory's visible entries, as deep as was asked for, sorted by the bytes of their names.
    pub children: Vec<Entry>,
}

/// A directory with what is visible in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The sum of the lengths of all visible files below it, at any depth.
    pub size: u64,
    /// Its visible entries, sorted by the bytes of their names.
    pub entries: Vec<Entry>,
}

/// How far the names below a directory reach, hidden ones, links and all else included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Bytes of the longest path below it, relative to it and in NFC; 0 when it is empty.
    pub bytes: usize,
    /// Segments of the deepest path below it; 0 when it is empty.
    pub segments: usize,
}
