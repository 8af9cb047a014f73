//! The files' part of a check: names, links, sizes, modes, and what cannot be read.

use std::os::fd::AsFd as _;

use super::Findings;
use crate::disk::{Go, Visit, What, survey};
use crate::error::{Error, Result};
use crate::path::{MemoryPath, PathError, is_passed_over};
use crate::store::core::Core;
use crate::store::scan::survey::{Unreachable, reach};
use crate::store::{Hidden, Settings};

/// Walks over all that stands below the root.
pub(super) fn look(core: &Core, is_fixing: bool, findings: &mut Findings) -> Result<()> {
    let root = match core.base.sandbox.root() {
        Ok(Some(root)) => root,
        Ok(None) => return Ok(()),
        Err(Error::Link { .. }) => {
            let remedy = "put the directory itself in the place of the link";
            findings.wrong("link", place(""), "it is a symbolic link, which is never followed", remedy);
            return Ok(());
        }
        Err(Error::Unsupported { .. }) => {
            findings.wrong("special", place(""), "it is no directory", "put a directory in its place");
            return Ok(());
        }
        Err(Error::Read { why, .. }) => {
            findings.wrong("denied", place(""), format!("it cannot be read: {why}"), CHMOD);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut walker = Walker { core, is_fixing, findings, wide: Wide::default() };
    survey(root.as_fd(), &mut |seen| walker.visit(seen))?;
    walker.tell_wide();
    Ok(())
}

/// A path below the root, or what comes closest to one, as a place in a finding.
pub(super) fn place(path: &str) -> String {
    if path.is_empty() { "/memories".to_owned() } else { format!("/memories/{path}") }
}

struct Walker<'a> {
    core: &'a Core,
    is_fixing: bool,
    findings: &'a mut Findings,
    wide: Wide,
}

/// What is open to more people than the settings say: there may be much of it, so it is one finding.
#[derive(Default)]
struct Wide {
    count: u64,
    fixed: u64,
    first: Option<(String, u32, u32)>,
}

impl Walker<'_> {
    fn visit(&mut self, seen: &Visit<'_>) -> Result<Go> {
        let name = seen.name.to_bytes();
        let rest = String::from_utf8_lossy(seen.path);
        if seen.path.is_empty() {
            self.look_at_mode(&MemoryPath::ROOT, seen);
            return Ok(Go::On);
        }
        // Git's own directory, and the files by which people tell it what to do.
        if name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b".git")) {
            return Ok(Go::Past);
        }
        let settings = &self.core.settings;
        if is_passed_over(name) && (settings.hidden == Hidden::Deny || name == b"node_modules") {
            let remedy = "rename it if the model is to see it";
            self.findings.note("hidden", place(&rest), "listings and scans pass it over", remedy);
            return Ok(Go::Past);
        }
        let path = match reach(&MemoryPath::ROOT, seen.path) {
            Ok(path) => path,
            Err(why) => {
                let (why, remedy) = match why {
                    Unreachable::NotText => ("its name is not UTF-8".to_owned(), "rename it"),
                    Unreachable::Path(rule @ (PathError::Long | PathError::Deep)) => {
                        (format!("its path is not valid: {rule}"), "move it further up")
                    }
                    Unreachable::Path(rule) => (format!("its path is not valid: {rule}"), "rename it"),
                };
                self.findings.wrong("name", place(&rest), format!("the tool cannot reach it: {why}"), remedy);
                return Ok(Go::Past);
            }
        };
        if path.as_str().as_bytes() != seen.path && !self.is_meant(&path, seen)? {
            let problem =
                "the tool cannot reach it: another name is the same in another spelling (Unicode NFC)";
            self.findings.wrong("name", place(&rest), problem, "rename one of the two");
            return Ok(Go::Past);
        }
        let place = place(&rest);
        match seen.what {
            What::Link => {
                let remedy = "put what it leads to in its place, or remove it";
                self.findings.wrong("link", place, "it is a symbolic link, which is never followed", remedy);
            }
            What::Special => {
                let problem = "it is neither a file nor a directory";
                self.findings.wrong("special", place, problem, "move it out of `memories`");
            }
            What::Mount => {
                let remedy = "unmount it, and copy what is in it to here";
                self.findings.wrong(
                    "mount",
                    place,
                    "it is of another file system, which is not entered",
                    remedy,
                );
            }
            What::Closed => {
                self.findings.wrong("denied", place, "it cannot be read", CHMOD);
            }
            What::Directory { .. } => self.look_at_mode(&path, seen),
            What::File => {
                let (size, limit) = (seen.stamp.size, settings.file_limit);
                if size > limit && !is_image(&path, size, settings) {
                    let problem =
                        format!("the tool cannot edit it: it has {size} bytes, and the limit is {limit}");
                    let remedy = "split it, or raise `file_limit` in `memdir.toml`";
                    self.findings.wrong("size", place, problem, remedy);
                }
                self.look_at_mode(&path, seen);
            }
        }
        Ok(Go::On)
    }

    /// Whether this is what the path leads to, of several things that are spelt alike.
    fn is_meant(&self, path: &MemoryPath, seen: &Visit<'_>) -> Result<bool> {
        let Ok(place) = self.core.base.sandbox.parent(path)? else { return Ok(true) };
        let is_same =
            place.stamp.is_none_or(|stamp| (stamp.dev, stamp.ino) == (seen.stamp.dev, seen.stamp.ino));
        Ok(is_same)
    }

    fn look_at_mode(&mut self, path: &MemoryPath, seen: &Visit<'_>) {
        let settings = &self.core.settings;
        let is_file = seen.what == What::File;
        let right = (if is_file { settings.file_mode } else { settings.dir_mode }) & 0o777;
        let mode = seen.stamp.mode & 0o777;
        let beyond = mode & !(right | 0o700);
        if beyond == 0 {
            return;
        }
        let is_fixed = self.is_fixing && self.core.base.narrow(path, right).is_ok();
        if beyond & 0o002 != 0 {
            let problem = format!("anybody may write to it (mode {mode:04o})");
            let remedy = format!("take that away: `chmod o-w`, or `memdir check --fix` for mode {right:04o}");
            self.findings.wrong("mode", path.to_string(), problem, remedy).is_fixed = is_fixed;
        } else {
            self.wide.count += 1;
            self.wide.fixed += u64::from(is_fixed);
            self.wide.first.get_or_insert_with(|| (path.to_string(), mode, right));
        }
    }

    fn tell_wide(self) {
        let Wide { count, fixed, first } = self.wide;
        let Some((place, mode, right)) = first else { return };
        let others = match count - 1 {
            0 => String::new(),
            1 => ", and 1 other is, too".to_owned(),
            others => format!(", and {others} others are, too"),
        };
        let problem =
            format!("it is open to more people than the settings say ({mode:04o}, not {right:04o}){others}");
        let remedy = "`memdir check --fix` sets the modes of the settings; or change `file_mode` and `dir_mode` in `memdir.toml`";
        self.findings.note("mode", place, problem, remedy).is_fixed = fixed == count;
    }
}

const CHMOD: &str = "check its owner and its mode";

/// Whether it may be an image of a size that a view shows.
fn is_image(path: &MemoryPath, size: u64, settings: &Settings) -> bool {
    let extension = path.as_str().rsplit_once('.').map_or("", |(_, extension)| extension);
    size <= settings.image_limit
        && ["png", "jpg", "jpeg"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Tells of the files that could not be read, and so not be compared.
pub(super) fn tell_closed(
    closed: &[MemoryPath],
    is_memory: impl Fn(&MemoryPath) -> bool,
    findings: &mut Findings,
) {
    for path in closed {
        if is_memory(path) {
            let problem = "it cannot be read, so nobody knows whether it is what its history says";
            findings.wrong("file", path.to_string(), problem, CHMOD);
        } else {
            findings.wrong("denied", path.to_string(), "it cannot be read", CHMOD);
        }
    }
}
