//! The one error type of the library, and why a disk refused.

use std::io;

use camino::Utf8PathBuf;

use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::{MemoryPath, PathError};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a store could not do what it was asked.
///
/// Programs match the variants; models get the words of the dialect they speak (module `tool`);
/// people get `Display`, and a hint from the command line.
/// No variant shows a path of the host in its `Display`, since stores are served to strangers, but [`Error::NoStore`]: it
/// comes only from opening, and names what the caller gave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a path of a memory.
    #[error("`{path}` is not a valid path: {source}")]
    Path {
        /// The path as it was given.
        path: String,
        /// The rule that it breaks.
        source: PathError,
    },
    /// A change would touch a name that begins with a dot, which the settings forbid.
    #[error("`{path}` is hidden, and hidden names cannot be changed")]
    Hidden {
        /// The path that was to be changed.
        path: MemoryPath,
    },
    /// A change would touch a path that the settings call read-only.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The path that was to be changed.
        path: MemoryPath,
    },
    /// A written file would be longer than the settings allow.
    #[error("`{path}` would be {size} bytes, over the limit of {limit} bytes")]
    TooLarge {
        /// The file that was to be written.
        path: MemoryPath,
        /// Bytes that it would have.
        size: u64,
        /// Bytes that it may have.
        limit: u64,
    },
    /// What was to be written looks like a secret. No byte of that is in here.
    #[error("not stored: {} looks like {rule}", match .line { Some(line) => format!("line {line} of `{path}`"), None => "the path".to_owned() })]
    Secret {
        /// The file, without what is a secret in its path.
        path: MemoryPath,
        /// The line on which it begins; `None`: it is the path.
        line: Option<usize>,
        /// The rule that found it.
        rule: &'static str,
    },
    /// What was to be made is there already, or came to be there while the change was under way.
    #[error("`{path}` already exists")]
    Exists {
        /// The path that is taken.
        path: MemoryPath,
    },
    /// What was to be read, edited, moved or removed is not there (any more).
    #[error("`{path}` does not exist")]
    Missing {
        /// The path that leads nowhere.
        path: MemoryPath,
    },
    /// The path crosses or ends in a symbolic link, which is never followed.
    #[error("`{path}` is a symbolic link")]
    Link {
        /// The path that was asked for.
        path: MemoryPath,
    },
    /// The path goes through something that is no directory.
    #[error("`{file}` is a file, so `{path}` cannot be below it")]
    BelowFile {
        /// The path that was asked for.
        path: MemoryPath,
        /// The file on the way.
        file: MemoryPath,
    },
    /// The path names a FIFO, a socket or a device.
    #[error("`{path}` is neither a file nor a directory")]
    Unsupported {
        /// The path that was asked for.
        path: MemoryPath,
    },
    /// The file, or what was to be put into it, is not UTF-8 text where only text will do.
    #[error("`{path}` is not UTF-8 text")]
    NotText {
        /// The file.
        path: MemoryPath,
    },
    /// The file is larger than what is read into memory.
    #[error("`{path}` is too large to be read ({size} bytes)")]
    TooLargeToRead {
        /// The file.
        path: MemoryPath,
        /// Its length.
        size: u64,
    },
    /// Two edits of one change concern the same place, or one lies below the other.
    #[error("another edit of the same change concerns `{path}`, too")]
    Overlap {
        /// The path that is concerned twice.
        path: MemoryPath,
    },
    /// The memory directory refused a change; what was there before stands.
    #[error("the memory directory cannot be written: {why}")]
    Write {
        /// The reason, in words that name nothing of the host.
        why: Trouble,
        /// What was being done, for a log: verb and name.
        doing: String,
        /// What the operating system or the database said.
        source: Option<Cause>,
    },
    /// The memory directory, or its journal, could not be read.
    #[error("the memory directory cannot be read: {why}")]
    Read {
        /// The reason, in words that name nothing of the host.
        why: Trouble,
        /// What was being done, for a log: verb and name.
        doing: String,
        /// What the operating system or the database said.
        source: Option<Cause>,
    },
    /// Another process kept the store locked for longer than the settings allow.
    #[error("the memory directory is busy{}", match .pid { Some(p) => format!(" (process {p} has it)"), None => String::new() })]
    Busy {
        /// The process that holds the lock, as far as it is known.
        pid: Option<u32>,
    },
    /// The change is durable, but could be neither published nor withdrawn: the next open settles it.
    #[error("it is not known whether the change to `{path}` was saved")]
    Unknown {
        /// The path to look at before trying again.
        path: MemoryPath,
    },
    /// There is no store where one was to be read.
    #[error("there is no memory store in `{base}`")]
    NoStore {
        /// The directory as it was given.
        base: Utf8PathBuf,
    },
    /// What retrieval derives from the memories cannot be kept on the disk: questions are answered without.
    #[error("the index cannot be kept on the disk: {why}")]
    Index {
        /// What the disk said.
        why: String,
    },
    /// `memdir.toml` says something that memdir does not understand.
    #[error("memdir.toml: {problem}")]
    Settings {
        /// What is wrong, with line and the nearest right word where there is one.
        problem: String,
    },
    /// A field of what is to be stored or found breaks its rule.
    #[error("{field}: {rule}; it is {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it was given, cut off after 100 characters.
        value: String,
        /// The rule.
        rule: String,
    },
    /// There is no memory with this id (any more).
    #[error("there is no memory `{id}`")]
    NoMemory {
        /// The id that was asked for.
        id: MemoryId,
    },
    /// The memory is a plain file, and only entries are deleted by their id.
    #[error("`{path}` is a plain file, not an entry")]
    PlainFile {
        /// The file.
        path: MemoryPath,
    },
    /// There is no such version, or retention took it.
    #[error("there is no version `{id}`")]
    NoVersion {
        /// The id that was asked for.
        id: VersionId,
    },
    /// There is no such change, or retention took all of it.
    #[error("there is no change `{id}`")]
    NoChange {
        /// The id that was asked for.
        id: ChangeId,
    },
    /// The version has no content to give: it is a deletion, it was redacted, or its bytes were never kept.
    #[error("version `{id}` has no content: {why}")]
    NoContent {
        /// The version that was asked for.
        id: VersionId,
        /// Why it has none.
        why: NoContent,
    },
    /// The version is what its memory is now, and so cannot be redacted.
    #[error("version `{id}` is what `{path}` holds now, and cannot be redacted")]
    IsHead {
        /// The version that was to be redacted.
        id: VersionId,
        /// The memory.
        path: MemoryPath,
    },
    /// Another memory is where one was to be put back.
    #[error("another memory is at `{path}` now")]
    Taken {
        /// The path that is taken.
        path: MemoryPath,
    },
    /// What stood there at that time is not known any more: retention took it.
    #[error("the history of `{path}` does not reach back so far")]
    TooEarly {
        /// The path.
        path: MemoryPath,
    },
    /// A large restore failed in a later part: what stands of it is one change, which can be undone by its id.
    #[error("only a part of it is done, as the change `{change}`; then: {source}")]
    Partly {
        /// What is done.
        change: ChangeId,
        /// Why no more is.
        source: Box<Error>,
    },
    /// The journal was written by a newer memdir.
    #[error("the journal has format {found}, and this memdir knows formats up to {known}")]
    NewerJournal {
        /// The format on disk.
        found: i64,
        /// The newest format that this version reads.
        known: i64,
    },
}

/// Why a version has no content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoContent {
    /// It is the end of its memory.
    #[error("it is a deletion")]
    Deleted,
    /// It was redacted.
    #[error("it was redacted")]
    Redacted,
    /// It was too large, or not text, and nobody had it when it was displaced.
    #[error("its bytes were not kept")]
    NotKept,
}

/// What lies beneath an [`Error::Write`] or [`Error::Read`].
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the disk refused, in words fit for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The file system, the quota or the inode table is full, or a size limit of the process is reached.
    #[error("no space left")]
    NoSpace,
    /// The file system is mounted read-only.
    #[error("it is read-only")]
    ReadOnly,
    /// This user may not.
    #[error("permission denied")]
    Denied,
    /// The process or the system has no file descriptors left.
    #[error("too many files are open")]
    TooManyFiles,
    /// Anything else that the operating system reported.
    #[error("input/output error")]
    Io,
    /// `journal.db` is not a database, or its pages are damaged. The plain files are not touched by that.
    #[error("its journal is damaged")]
    Journal,
    /// A sync failed, after which nothing is known to be durable until the store is opened again.
    #[error("a sync failed, restart to go on")]
    SyncFailed,
    /// The store lies on a file system over the network, which cannot hold a write-ahead log.
    #[error("it is on a network file system, which cannot hold a journal")]
    Network,
    /// `memories` and `.memdir` lie on different file systems, so that nothing can be published by a rename.
    #[error("its parts are on different file systems")]
    Split,
}

impl Trouble {
    /// What an error of the operating system means for a memory.
    pub(crate) fn of(error: &io::Error) -> Self {
        use rustix::io::Errno;
        match Errno::from_io_error(error) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::NoSpace,
            Some(Errno::ROFS) => Self::ReadOnly,
            Some(Errno::ACCESS | Errno::PERM) => Self::Denied,
            Some(Errno::MFILE | Errno::NFILE) => Self::TooManyFiles,
            _ => Self::Io,
        }
    }
}

impl Error {
    /// A write that the operating system refused; `doing` is verb and name.
    pub(crate) fn write(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::Write { why: Trouble::of(&source), doing: doing.into(), source: Some(source.into()) }
    }

    /// A read that the operating system refused; `doing` is verb and name.
    pub(crate) fn read(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        Self::Read { why: Trouble::of(&source), doing: doing.into(), source: Some(source.into()) }
    }

    /// The same failure where nothing was to be written: the journal has one sort of error for both.
    pub(crate) fn of_reading(self) -> Self {
        match self {
            Self::Write { why, doing, source } if why != Trouble::SyncFailed => {
                Self::Read { why, doing, source }
            }
            error => error,
        }
    }
}

impl Error {
    /// The same failure once more, for each of several changes that it ended; what lies beneath becomes text.
    pub(crate) fn again(&self) -> Self {
        let text = |source: &Option<Cause>| source.as_ref().map(|cause| cause.to_string().into());
        match self {
            Self::Path { path, source } => Self::Path { path: path.clone(), source: *source },
            Self::Hidden { path } => Self::Hidden { path: path.clone() },
            Self::ReadOnly { path } => Self::ReadOnly { path: path.clone() },
            Self::TooLarge { path, size, limit } => {
                Self::TooLarge { path: path.clone(), size: *size, limit: *limit }
            }
            Self::Secret { path, line, rule } => Self::Secret { path: path.clone(), line: *line, rule },
            Self::Exists { path } => Self::Exists { path: path.clone() },
            Self::Missing { path } => Self::Missing { path: path.clone() },
            Self::Link { path } => Self::Link { path: path.clone() },
            Self::BelowFile { path, file } => Self::BelowFile { path: path.clone(), file: file.clone() },
            Self::Unsupported { path } => Self::Unsupported { path: path.clone() },
            Self::NotText { path } => Self::NotText { path: path.clone() },
            Self::TooLargeToRead { path, size } => Self::TooLargeToRead { path: path.clone(), size: *size },
            Self::Overlap { path } => Self::Overlap { path: path.clone() },
            Self::Write { why, doing, source } => {
                Self::Write { why: *why, doing: doing.clone(), source: text(source) }
            }
            Self::Read { why, doing, source } => {
                Self::Read { why: *why, doing: doing.clone(), source: text(source) }
            }
            Self::Index { why } => Self::Index { why: why.clone() },
            Self::Busy { pid } => Self::Busy { pid: *pid },
            Self::Unknown { path } => Self::Unknown { path: path.clone() },
            Self::NoStore { base } => Self::NoStore { base: base.clone() },
            Self::Settings { problem } => Self::Settings { problem: problem.clone() },
            Self::Field { field, value, rule } => {
                Self::Field { field, value: value.clone(), rule: rule.clone() }
            }
            Self::NoMemory { id } => Self::NoMemory { id: *id },
            Self::PlainFile { path } => Self::PlainFile { path: path.clone() },
            Self::NoVersion { id } => Self::NoVersion { id: *id },
            Self::NoChange { id } => Self::NoChange { id: *id },
            Self::NoContent { id, why } => Self::NoContent { id: *id, why: *why },
            Self::IsHead { id, path } => Self::IsHead { id: *id, path: path.clone() },
            Self::Taken { path } => Self::Taken { path: path.clone() },
            Self::TooEarly { path } => Self::TooEarly { path: path.clone() },
            Self::Partly { change, source } => {
                Self::Partly { change: *change, source: Box::new(source.again()) }
            }
            Self::NewerJournal { found, known } => Self::NewerJournal { found: *found, known: *known },
        }
    }
}
