//! Listings and extents: whole directories looked at by handle, each level opened from the handle above it.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::FileType;
use rustix::io::{self, Errno};
use unicode_normalization::UnicodeNormalization;

use super::names::{each, open_dir};
use super::stat::{self, Kind, Mount};
use super::{Entry, Extent, Listing};
use crate::path::is_passed_over;

/// Levels below the viewed directory that are looked at. What lies deeper (a path has at most 20 segments, so only a
/// person can have made it) counts as empty: each level holds a descriptor open.
const LEVELS: usize = 128;

/// What is visible in a directory, `depth` levels deep; what lies below those is only summed.
pub(super) fn list(dir: BorrowedFd<'_>, home: Mount, depth: usize) -> io::Result<Listing> {
    list_level(dir, home, depth, LEVELS)
}

/// Calls `visit` with what is visible in a directory itself, sorted by the bytes of the names, until it breaks off. Each is
/// looked at when its turn comes, and directories, which are not looked into, have no size.
pub(super) fn each_entry(
    dir: BorrowedFd<'_>,
    home: Mount,
    visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut names: Vec<CString> = Vec::new();
    each(dir, |name, file_type| {
        let is_shown = name.to_str().is_ok() && !is_passed_over(name.to_bytes());
        if is_shown && matches!(file_type, FileType::RegularFile | FileType::Directory | FileType::Unknown) {
            names.push(name.to_owned());
        }
        Ok(())
    })?;
    names.sort_unstable();
    for name in names {
        let seen = match stat::at(dir, &name) {
            Err(Errno::NOENT) => continue,
            seen => seen?,
        };
        let (is_dir, size, modified) = match seen.kind {
            Kind::Directory => (true, 0, None),
            Kind::File => (false, seen.stamp.size, seen.stamp.modified()),
            Kind::Link | Kind::Special => continue,
        };
        let name = name.into_string().expect("only UTF-8 names are kept");
        let entry = Entry { name, is_dir, size, modified, children: Vec::new() };
        if seen.is_on(home) && visit(entry).is_break() {
            break;
        }
    }
    Ok(())
}

fn list_level(dir: BorrowedFd<'_>, home: Mount, depth: usize, levels: usize) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut dirs: Vec<CString> = Vec::new();
    each(dir, |name, file_type| {
        let Ok(text) = name.to_str() else { return Ok(()) };
        if is_passed_over(text.as_bytes()) {
            return Ok(());
        }
        if matches!(file_type, FileType::RegularFile | FileType::Unknown) {
            let seen = match stat::at(dir, name) {
                Err(Errno::NOENT) => return Ok(()),
                seen => seen?,
            };
            match seen.kind {
                _ if !seen.is_on(home) => {}
                Kind::Directory => dirs.push(name.to_owned()),
                Kind::File => {
                    let size = seen.stamp.size;
                    listing.size = listing.size.saturating_add(size);
                    if depth > 0 {
                        listing.entries.push(Entry {
                            name: text.to_owned(),
                            is_dir: false,
                            size,
                            modified: seen.stamp.modified(),
                            children: Vec::new(),
                        });
                    }
                }
                Kind::Link | Kind::Special => {}
            }
        } else if file_type == FileType::Directory {
            dirs.push(name.to_owned());
        }
        Ok(())
    })?;
    for name in dirs {
        let below = match open_dir(dir, &name, home) {
            Ok(_) if levels == 0 => Listing::default(),
            Ok(inside) => match list_level(inside.as_fd(), home, depth.saturating_sub(1), levels - 1) {
                Err(Errno::ACCESS) => Listing::default(),
                below => below?,
            },
            Err(Errno::ACCESS)
                if stat::at(dir, &name).is_ok_and(|s| s.kind == Kind::Directory && s.is_on(home)) =>
            {
                Listing::default()
            }
            Err(e) if is_gone(e) || e == Errno::ACCESS => continue,
            Err(e) => return Err(e),
        };
        listing.size = listing.size.saturating_add(below.size);
        if depth > 0 {
            let name = name.into_string().expect("only UTF-8 names are kept");
            listing.entries.push(Entry {
                name,
                is_dir: true,
                size: below.size,
                modified: None,
                children: below.entries,
            });
        }
    }
    listing.entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listing)
}

/// All names of a directory, and whether each is one itself.
pub(super) fn entries(dir: BorrowedFd<'_>) -> io::Result<Vec<(CString, bool)>> {
    let mut entries = Vec::new();
    each(dir, |name, file_type| {
        let is_dir = match file_type {
            FileType::Directory => true,
            FileType::Unknown => stat::at(dir, name).is_ok_and(|s| s.kind == Kind::Directory),
            _ => false,
        };
        entries.push((name.to_owned(), is_dir));
        Ok(())
    })?;
    Ok(entries)
}

/// Whether a name that was a directory is none any more, or is the root of another file system.
pub(super) fn is_gone(e: Errno) -> bool {
    matches!(e, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK | Errno::XDEV)
}

/// How far the names below a directory reach, down to the cap on levels, which lies far beyond any limit of a path.
/// A directory that may not be read is an error: what is in it is not known.
pub(super) fn extent(dir: BorrowedFd<'_>, home: Mount) -> io::Result<Extent> {
    extent_level(dir, home, LEVELS)
}

fn extent_level(dir: BorrowedFd<'_>, home: Mount, levels: usize) -> io::Result<Extent> {
    let mut most = Extent::default();
    let mut dirs: Vec<(CString, usize)> = Vec::new();
    each(dir, |name, file_type| {
        let bytes = match name.to_str() {
            Ok(text) if !text.is_ascii() => text.nfc().map(char::len_utf8).sum(),
            _ => name.count_bytes(),
        };
        most = Extent { bytes: most.bytes.max(bytes), segments: 1 };
        let is_dir = match file_type {
            FileType::Directory => true,
            FileType::Unknown => stat::at(dir, name).is_ok_and(|s| s.kind == Kind::Directory),
            _ => false,
        };
        if is_dir {
            dirs.push((name.to_owned(), bytes));
        }
        Ok(())
    })?;
    for (name, bytes) in dirs {
        if levels == 0 {
            break;
        }
        let below = match open_dir(dir, &name, home) {
            Ok(inside) => extent_level(inside.as_fd(), home, levels - 1)?,
            Err(e) if is_gone(e) => continue,
            Err(e) => return Err(e),
        };
        if below.segments > 0 {
            most.bytes = most.bytes.max(bytes + 1 + below.bytes);
            most.segments = most.segments.max(1 + below.segments);
        }
    }
    Ok(most)
}
