//! The names in a directory, and the one that a segment in normal form means.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io;
use unicode_normalization::UnicodeNormalization;

use super::stat::{self, Mount, Seen};

/// How a directory is opened to read its names: never through a link.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// Opens a directory to read its names; one of another mount is `EXDEV`, a link `ENOTDIR` or `ELOOP`.
pub(super) fn open_dir(dir: BorrowedFd<'_>, name: &CStr, home: Mount) -> io::Result<OwnedFd> {
    let fd = io::retry_on_intr(|| rustix::fs::openat(dir, name, READ, Mode::empty()))?;
    if stat::of(fd.as_fd())?.is_on(home) { Ok(fd) } else { Err(io::Errno::XDEV) }
}

/// Opens once more what a handle holds: one that can be read and synced, with a position of its own.
pub(crate) fn reopen(dir: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    io::retry_on_intr(|| rustix::fs::openat(dir, c".", READ, Mode::empty()))
}

/// Calls `f` with each name of a directory but `.` and `..`, and the type that the directory gives for it, which may be
/// unknown. A directory that is removed meanwhile ends early.
pub(super) fn each(
    dir: BorrowedFd<'_>,
    mut f: impl FnMut(&CStr, FileType) -> io::Result<()>,
) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut names = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = match entry {
                Err(io::Errno::INTR) => continue,
                Err(io::Errno::NOENT) => break,
                entry => entry?,
            };
            if !is_dots(entry.file_name()) {
                f(entry.file_name(), entry.file_type())?;
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        if !is_dots(entry.file_name()) {
            f(entry.file_name(), entry.file_type())?;
        }
    }
    Ok(())
}

/// Bytes of names that are asked for at once: about a thousand.
#[cfg(target_os = "linux")]
const BUFFER: usize = 32 * 1024;

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// All names of a directory, sorted by bytes, with the type that the directory gives (perhaps unknown).
pub(crate) fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<(CString, FileType)>> {
    let mut names = Vec::new();
    each(dir, |name, file_type| {
        names.push((name.to_owned(), file_type));
        Ok(())
    })?;
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

/// The name on disk that a segment in NFC means, and what stands there: the segment itself, or if that is missing the
/// first entry by bytes whose NFC form it is.
pub(super) fn find<'a>(dir: BorrowedFd<'_>, segment: &'a str) -> io::Result<Option<(Cow<'a, str>, Seen)>> {
    if let Some(seen) = there(dir, segment)? {
        return Ok(Some((segment.into(), seen)));
    }
    let Some(other) = other_spelling(dir, segment)? else { return Ok(None) };
    Ok(there(dir, &other)?.map(|seen| (other.into(), seen)))
}

/// What stands at a name; a name that is too long for the file system, or no name at all, is nowhere.
fn there(dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Seen>> {
    let Ok(name) = CString::new(name) else { return Ok(None) };
    match stat::at(dir, &name) {
        Ok(seen) => Ok(Some(seen)),
        Err(io::Errno::NOENT | io::Errno::NAMETOOLONG) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The first entry by bytes whose NFC form is `segment`, but not `segment` itself.
pub(super) fn other_spelling(dir: BorrowedFd<'_>, segment: &str) -> io::Result<Option<String>> {
    if !has_other_spelling(segment) {
        return Ok(None);
    }
    let dir = match reopen(dir) {
        Err(io::Errno::NOENT) => return Ok(None),
        dir => dir?,
    };
    let mut first: Option<String> = None;
    each(dir.as_fd(), |name, _| {
        let bytes = name.to_bytes();
        if !bytes.is_ascii()
            && let Ok(name) = std::str::from_utf8(bytes)
            && name != segment
            && first.as_deref().is_none_or(|f| name < f)
            && name.nfc().eq(segment.chars())
        {
            first = Some(name.to_owned());
        }
        Ok(())
    })?;
    Ok(first)
}

/// Whether a text other than this one, which is in NFC, can have it as its NFC form.
///
/// Of ASCII only three characters are the normal form of something else: U+212A, U+037E and U+1FEF.
pub(super) fn has_other_spelling(text: &str) -> bool {
    text.bytes().any(|b| !b.is_ascii() || matches!(b, b'K' | b';' | b'`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text whose NFD form is not all ASCII has an NFC form that is not, for what composes is never ASCII.
    #[test]
    fn only_three_ascii_characters_have_another_spelling() {
        let mut others: Vec<String> = ('\u{80}'..=char::MAX)
            .map(|c| std::iter::once(c).nfd().collect())
            .filter(|d: &String| d.is_ascii())
            .collect();
        others.sort();
        assert_eq!(others, [";", "K", "`"]);
        for c in ('\0'..='\x7f').chain(['é']) {
            assert_eq!(has_other_spelling(&format!("a{c}")), matches!(c, 'é' | 'K' | ';' | '`'), "{c:?}");
        }
    }
}
