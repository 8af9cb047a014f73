//! The nouns of the history: versions, who made them, and which of them are asked for.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::guard::Warning;
use crate::hash::Hash;
use crate::id::{ChangeId, MemoryId, VersionId};
use crate::path::MemoryPath;

/// Who makes a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Actor {
    /// An agent, by the name that its host gives it.
    Agent(String),
    /// A person's command, by login name.
    User(String),
    /// Something that is not memdir: an editor, git, rsync.
    Outside,
    /// memdir itself, putting back what a crash took.
    Recovery,
}

/// What a version did to its memory, in the words of the Memory Stores API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The memory began, or came back after it was deleted.
    Created,
    /// It got other content, another path, or both.
    Modified,
    /// It is gone from its path.
    Deleted,
}

/// One version of a memory: what one change did to it.
///
/// Serialized it has the field names of the Memory Stores API, without `content`; `change_id`, `moved_from`, `reason` and
/// `warnings` (only where there are some) are memdir's own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// The version's own id.
    pub id: VersionId,
    /// The memory: the same through all edits and renames.
    pub memory_id: MemoryId,
    /// The change that made it: what one call did has one id.
    pub change_id: ChangeId,
    /// What it did.
    pub operation: Operation,
    /// Where the memory was after it (of a deletion: until then); `None` when redacted.
    pub path: Option<MemoryPath>,
    /// Where the memory was before, when this version moved it.
    pub moved_from: Option<MemoryPath>,
    /// SHA-256 of the content; `None` for a deletion, and when redacted.
    pub content_sha256: Option<Hash>,
    /// Bytes of the content; `None` for a deletion, and when redacted.
    pub content_size_bytes: Option<u64>,
    /// Permission bits of the file; `None` for a deletion.
    pub mode: Option<u32>,
    /// When; strictly increasing from change to change.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: Actor,
    /// Why, where a reason was given.
    pub reason: Option<String>,
    /// When and by whom its content and path were erased.
    pub redacted: Option<Redacted>,
    /// What looks like a secret in it, or was left out of it.
    pub warnings: Vec<Warning>,
    /// The row in the journal.
    pub(crate) n: i64,
    /// The row of its memory.
    pub(crate) memory: i64,
    /// The row of the version before, which may be gone.
    pub(crate) prev: Option<i64>,
    /// Whether the journal holds the bytes; else they are in `kept/`, if anywhere.
    pub(crate) is_stored: bool,
}

/// That a version was redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// When.
    pub at: DateTime<Utc>,
    /// By whom.
    pub by: Actor,
}

/// Which versions are asked for: those that meet all that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Log {
    /// That left their memory at or below this path, or took it away from there, and all versions of the memories that
    /// once were or are at this very path.
    pub path: Option<MemoryPath>,
    /// Of this memory.
    pub memory: Option<MemoryId>,
    /// Of this change.
    pub change: Option<ChangeId>,
    /// By them.
    pub actor: Option<ActorFilter>,
    /// That did this.
    pub operation: Option<Operation>,
    /// Made at this moment or later.
    pub since: Option<DateTime<Utc>>,
    /// Made before this moment.
    pub before: Option<DateTime<Utc>>,
    /// Older than this version: where a page ended, the next begins.
    pub after: Option<VersionId>,
}

/// Whose versions are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActorFilter {
    /// Those of all agents.
    Agents,
    /// Those of all people's commands.
    Users,
    /// Those made without memdir.
    Outside,
    /// Those of the agent or the user of this name.
    Named(String),
}

/// How much history is kept beyond the newest ten versions of each live file: what meets all that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Keep {
    /// Versions not older than this.
    pub age: Option<std::time::Duration>,
    /// So many versions of each memory, the newest ones; at least 10.
    pub versions: Option<u64>,
    /// So many bytes of journal, the newest versions first.
    pub size: Option<u64>,
}

impl Keep {
    /// Whether all is kept.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Version {
    /// Where the memory is after it; `None` where it ended with it, or it was redacted.
    pub(crate) fn place(&self) -> Option<&MemoryPath> {
        self.path.as_ref().filter(|_| self.operation != Operation::Deleted)
    }
}

impl Actor {
    /// The same sort of actor by another name, where it has one.
    pub(crate) fn map_name(self, rename: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Agent(name) => Self::Agent(rename(&name)),
            Self::User(name) => Self::User(rename(&name)),
            other => other,
        }
    }
}

impl Operation {
    /// The name that it has in the Memory Stores API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, name) = match self {
            Self::Agent(name) => ("agent", Some(name)),
            Self::User(name) => ("user", Some(name)),
            Self::Outside => ("outside", None),
            Self::Recovery => ("recovery", None),
        };
        let mut fields = serializer.serialize_struct("Actor", 1 + usize::from(name.is_some()))?;
        fields.serialize_field("type", kind)?;
        if let Some(name) = name {
            fields.serialize_field("name", name)?;
        }
        fields.end()
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |id: &dyn std::fmt::Display| id.to_string();
        let mut fields =
            serializer.serialize_struct("Version", 14 + usize::from(!self.warnings.is_empty()))?;
        fields.serialize_field("id", &text(&self.id))?;
        fields.serialize_field("type", "memory_version")?;
        fields.serialize_field("memory_id", &text(&self.memory_id))?;
        fields.serialize_field("change_id", &text(&self.change_id))?;
        fields.serialize_field("operation", self.operation.as_str())?;
        fields.serialize_field("path", &self.path.as_ref().map(|path| text(path)))?;
        fields.serialize_field("moved_from", &self.moved_from.as_ref().map(|path| text(path)))?;
        fields.serialize_field("content_sha256", &self.content_sha256.map(|hash| text(&hash)))?;
        fields.serialize_field("content_size_bytes", &self.content_size_bytes)?;
        fields.serialize_field("created_at", &rfc3339(&self.created_at))?;
        fields.serialize_field("created_by", &self.created_by)?;
        fields.serialize_field("reason", &self.reason)?;
        fields.serialize_field("redacted_at", &self.redacted.as_ref().map(|r| rfc3339(&r.at)))?;
        fields.serialize_field("redacted_by", &self.redacted.as_ref().map(|r| &r.by))?;
        if !self.warnings.is_empty() {
            fields.serialize_field("warnings", &self.warnings)?;
        }
        fields.end()
    }
}

/// A time as every JSON of memdir shows it: UTC, microseconds.
#[must_use]
pub fn rfc3339(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}
