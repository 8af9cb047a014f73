//! A path of a memory: parsed once into a value that cannot name anything outside `/memories`.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

mod invisible;

#[cfg(feature = "search")]
pub use invisible::without_invisible;
pub use invisible::{escape, escape_name, has_invisible};

/// How every path of a memory begins.
const ROOT_TEXT: &str = "/memories";
/// What file systems take for one name.
const SEGMENT_BYTES: usize = 255;
/// `/memories` included.
const PATH_BYTES: usize = 1024;
/// Below the root.
const DEPTH: usize = 20;

/// A place at or below `/memories`, in normal form: NFC, no `.`, `..` or empty segments, within the limits.
///
/// It is relative to the root: the root itself is the empty string, a file `a/b.md`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryPath(String);

/// The rule that a text breaks which was to be a [`MemoryPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Does not begin with `/memories` as a whole segment.
    #[error("it must start with /memories")]
    NotUnderRoot,
    /// Climbs above the root, or a percent-encoded segment would.
    #[error("it would escape /memories")]
    Escapes,
    /// Holds a backslash.
    #[error("backslash is not allowed")]
    Backslash,
    /// Holds a control, format or otherwise invisible character.
    #[error("control and format characters are not allowed")]
    Invisible,
    /// A segment is over 255 bytes.
    #[error("a segment is longer than 255 bytes")]
    LongSegment,
    /// The whole path is over 1,024 bytes.
    #[error("it is longer than 1024 bytes")]
    Long,
    /// Lies more than 20 segments below the root.
    #[error("it has more than 20 segments")]
    Deep,
}

impl MemoryPath {
    /// The root, `/memories` itself.
    pub const ROOT: Self = Self(String::new());

    /// Parses a path as a call gives it, `/memories/…`.
    ///
    /// # Errors
    /// The first rule that it breaks, in the order of the variants of [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let below = below_root(text).ok_or(PathError::NotUnderRoot)?;
        resolve(below).ok_or(PathError::Escapes)?;
        if below.split('/').any(escapes_when_decoded) {
            return Err(PathError::Escapes);
        }
        if text.contains('\\') {
            return Err(PathError::Backslash);
        }
        let normal = to_nfc(below);
        if has_invisible(&normal) {
            return Err(PathError::Invisible);
        }
        if normal.split('/').any(|segment| segment.len() > SEGMENT_BYTES) {
            return Err(PathError::LongSegment);
        }
        if ROOT_TEXT.len() + normal.len() > PATH_BYTES {
            return Err(PathError::Long);
        }
        let segments = resolve(&normal).ok_or(PathError::Escapes)?;
        if segments.len() > DEPTH {
            return Err(PathError::Deep);
        }
        Ok(Self(segments.join("/")))
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path below the root, `a/b.md`; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments from the root down.
    #[must_use]
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|s| !s.is_empty())
    }

    /// The directory that holds it, and its last segment; `None` for the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((parent, name)) => (Self(parent.to_owned()), name),
            None => (Self::ROOT, &self.0),
        })
    }

    /// The directories above it, nearest first, the root last; none for the root itself.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.split_last().map(|(parent, _)| parent), |dir| {
            dir.split_last().map(|(parent, _)| parent)
        })
    }

    /// Its first `depth` segments; itself when it has no more.
    #[must_use]
    pub fn ancestor(&self, depth: usize) -> Self {
        let end = self.0.match_indices('/').map(|(i, _)| i).chain([self.0.len()]).nth(depth.wrapping_sub(1));
        match depth {
            0 => Self::ROOT,
            _ => Self(self.0[..end.unwrap_or(self.0.len())].to_owned()),
        }
    }

    /// Whether it lies below `dir` (a path does not lie below itself).
    #[must_use]
    pub fn is_below(&self, dir: &Self) -> bool {
        dir.is_root() && !self.is_root()
            || self.0.strip_prefix(&dir.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// How many segments it lies below the root.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.segments().count()
    }

    /// The path of an entry of this directory, whose name may be any that a person gave it.
    #[must_use]
    pub(crate) fn join(&self, name: &str) -> Self {
        let name = to_nfc(name);
        if self.is_root() { Self(name.into_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// Whether a path below this one, `bytes` and `segments` longer, would be over the limits.
    #[must_use]
    pub(crate) fn is_too_long_with(&self, bytes: usize, segments: usize) -> bool {
        bytes > 0
            && (ROOT_TEXT.len() + 1 + self.0.len() + 1 + bytes > PATH_BYTES
                || self.depth() + segments > DEPTH)
    }

    /// The first segment that begins with a dot.
    #[must_use]
    pub fn hidden_segment(&self) -> Option<&str> {
        self.segments().find(|segment| segment.starts_with('.'))
    }

    /// Whether a segment begins with a dot.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.hidden_segment().is_some()
    }

    /// Whether a segment is `.git`, in upper or lower case.
    ///
    /// U+FE0F is passed over: a directory of ext4 that folds case may do so, too. The other characters that HFS+ and
    /// ext4 ignore cannot stand between ASCII letters of a path. What NTFS alone takes for it (`.git.`, `git~1`) is not
    /// meant: memdir keeps no store there.
    #[must_use]
    pub fn names_git(&self) -> bool {
        self.segments().any(|segment| {
            let folded = segment.chars().filter(|&c| c != invisible::EMOJI_PRESENTATION);
            folded.map(|c| c.to_ascii_lowercase()).eq(".git".chars())
        })
    }

    /// Whether listings, scans and imports pass it over, for its name or for one above it.
    #[must_use]
    pub(crate) fn is_passed_over(&self) -> bool {
        self.segments().any(|name| is_passed_over(name.as_bytes()))
    }

    /// A path from the journal or a listing, which was in normal form when it was written.
    pub(crate) fn from_normal(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for MemoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROOT_TEXT)?;
        if self.is_root() { Ok(()) } else { write!(f, "/{}", self.0) }
    }
}

impl std::str::FromStr for MemoryPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// What follows `/memories`: nothing, or a slash and the rest.
fn below_root(text: &str) -> Option<&str> {
    text.strip_prefix(ROOT_TEXT).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The segments that are left when `.`, `..` and empty ones are resolved; `None` where `..` climbs above the root.
fn resolve(below: &str) -> Option<Vec<&str>> {
    let mut left = Vec::new();
    for segment in below.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(left.pop()?),
            _ => left.push(segment),
        }
    }
    Some(left)
}

/// Whether listings, scans and imports pass a name over: that of a hidden file, or `node_modules`.
#[must_use]
pub fn is_passed_over(name: &[u8]) -> bool {
    name.starts_with(b".") || name == b"node_modules"
}

/// Whether something that decodes percent signs, once or twice, would read a way out of a segment.
fn escapes_when_decoded(segment: &str) -> bool {
    let segment = segment.as_bytes();
    let once = percent_decode(segment);
    let twice = percent_decode(&once);
    [&once, &twice].into_iter().any(|decoded| {
        **decoded != *segment
            && (matches!(&**decoded, b"." | b"..") || decoded.iter().any(|b| matches!(b, b'/' | b'\\' | 0)))
    })
}

fn percent_decode(segment: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'%', segment).is_none() {
        return Cow::Borrowed(segment);
    }
    let mut decoded = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let Some((&byte, tail)) = rest.split_first() {
        let encoded = (byte == b'%').then(|| tail.split_at_checked(2)).flatten();
        let value = encoded.and_then(|(digits, after)| Some((hex_byte(digits)?, after)));
        let (byte, after) = value.unwrap_or((byte, tail));
        decoded.push(byte);
        rest = after;
    }
    Cow::Owned(decoded)
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value << 4 | u8::try_from(digit).ok()?)
    })
}

fn to_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

#[cfg(test)]
mod tests;
