//! What lies on the disk and is in no history: hidden files, names, and the copies in the machine's room.

use std::os::fd::AsFd as _;

use super::super::{Findings, files, room};
use super::{Search, Told, rules, tell_unsearched, too_large, why_unsearched};
use crate::disk::{Go, Visit, What, survey};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::id::VersionId;
use crate::path::MemoryPath;
use crate::store::gate;
use crate::store::scan::survey::reach;
use crate::version::Version;

/// Git's own contents are compressed, and nothing can be found in them.
const OBJECTS: &[u8] = b".git/objects";

impl Search<'_> {
    pub(super) fn look_at_disk(&mut self, findings: &mut Findings) -> Result<()> {
        match self.store.inner.core.base.sandbox.root() {
            Ok(Some(root)) => survey(root.as_fd(), &mut |seen| {
                if seen.path.ends_with(OBJECTS) {
                    return Ok(Go::Past);
                }
                self.memory(seen, findings).map(|()| Go::On)
            })?,
            // What stands in its place is told with the files.
            Ok(None) | Err(Error::Link { .. } | Error::Unsupported { .. } | Error::Read { .. }) => {}
            Err(error) => return Err(error),
        }
        let leftovers = room::leftovers(self.store)?;
        for area in ["edits", "kept", "staging"] {
            let Some(dir) = self.store.inner.core.base.room_directory(area)? else { continue };
            survey(dir.as_fd(), &mut |seen| {
                let path = String::from_utf8_lossy(seen.path).into_owned();
                let first = path.split('/').next().unwrap_or_default();
                // What a change is at work with is not left over.
                if area == "staging" && !first.is_empty() && !leftovers.iter().any(|name| name == first) {
                    return Ok(Go::Past);
                }
                self.copy(area, seen, &path, findings).map(|()| Go::On)
            })?;
        }
        Ok(())
    }

    /// Looks at something below `memories`.
    fn memory(&mut self, seen: &Visit<'_>, findings: &mut Findings) -> Result<()> {
        let rest = String::from_utf8_lossy(seen.path).into_owned();
        let path = reach(&MemoryPath::ROOT, seen.path).ok();
        let head = match (&path, self.history, seen.what) {
            (Some(path), Some(history), What::File) => history.live(path.as_str())?,
            _ => None,
        };
        let place = files::place(&gate::shown_names(&self.guard, &rest));
        let mut what = Told::default();
        // The path of a memory is told with its versions.
        if head.is_none() {
            what = self.name(&rest);
        }
        let is_named = !what.is_empty();
        if let Some((hash, bytes)) = self.read(seen, &place, findings)?
            && head.is_none_or(|head| head.hash != hash)
        {
            what.extend(&self.lines(hash, &bytes));
        }
        if !what.is_empty() {
            let (problem, remedy) = match seen.what {
                What::File => (
                    format!("{what}; it is not in the history"),
                    if is_named { "rename or remove the file" } else { "edit or remove the file" },
                ),
                _ => {
                    (what.to_string(), "rename or remove it; what the history has of its name is told apart")
                }
            };
            findings.wrong("secret", place, problem, remedy);
        }
        Ok(())
    }

    /// Looks at something in one of the room's directories.
    fn copy(&mut self, area: &str, seen: &Visit<'_>, path: &str, findings: &mut Findings) -> Result<()> {
        let place = format!(".memdir/{area}/{}", gate::shown_names(&self.guard, path));
        let version = if area == "kept" { self.kept_for(path)? } else { None };
        let mut what = self.name(path);
        if let Some((hash, bytes)) = self.read(seen, &place, findings)? {
            // What is kept for a version is told with it.
            let is_told = version.as_ref().is_some_and(|(version, is_only)| {
                *is_only && version.content_sha256 == Some(hash) && version.path.is_some()
            });
            if !is_told {
                what.extend(&self.lines(hash, &bytes));
            }
        }
        if what.is_empty() {
            return Ok(());
        }
        let first = gate::shown_names(&self.guard, path.split('/').next().unwrap_or_default());
        let (problem, remedy) = match (area, version) {
            ("edits", _) => (
                "a copy that `memdir edit` made has it still",
                format!(
                    "if no editor has it open, take from it what is to be kept and remove `.memdir/edits/{first}`: nothing else clears it"
                ),
            ),
            ("staging", _) => (
                "a change that was cut short left it behind",
                format!("remove `.memdir/staging/{first}` while no memdir uses the store"),
            ),
            (_, Some((Version { id, .. }, _))) => (
                "it is kept for a version",
                format!(
                    "`memdir redact {id}` removes it, once its file is edited or deleted if it holds that now"
                ),
            ),
            _ => (
                "a change found it in its way, and no version has it",
                format!(
                    "take from it what is to be kept and remove `.memdir/kept/{first}`: nothing else clears it"
                ),
            ),
        };
        findings.wrong("secret", place, format!("{what}; {problem}"), remedy);
        Ok(())
    }

    /// The version that a file in `kept/` is kept for, and whether no other file is.
    fn kept_for(&self, name: &str) -> Result<Option<(Version, bool)>> {
        let (id, is_only) = name.split_once('-').map_or((name, true), |(id, _)| (id, false));
        let (Ok(id), Some(history)) = (id.parse::<VersionId>(), self.history) else { return Ok(None) };
        Ok(history.recorded(id)?.map(|version| (version, is_only)))
    }

    /// What looks like a secret in a name, and not in those of the directories above, which are told themselves.
    fn name(&self, path: &str) -> Told {
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let mut found = gate::scan_names(&self.guard, path);
        gate::leave_new(&mut found, path.as_bytes(), &gate::scan_names(&self.guard, above), above.as_bytes());
        rules(&found, "the name")
    }

    /// The bytes of a file and their hash; `None` where it is none. What cannot be read is told.
    fn read(
        &self,
        seen: &Visit<'_>,
        place: &str,
        findings: &mut Findings,
    ) -> Result<Option<(Hash, crate::text::Bytes)>> {
        let closed = |error, findings: &mut Findings| {
            tell_unsearched(place.to_owned(), &why_unsearched(error)?, findings);
            Ok(None)
        };
        if seen.what == What::Closed {
            return closed(crate::store::scan::survey::closed(&MemoryPath::ROOT), findings);
        }
        if seen.what != What::File {
            return Ok(None);
        }
        let open = match seen.open() {
            Ok(Ok(open)) => open,
            Ok(Err(_)) => return Ok(None),
            Err(error) => return closed(error, findings),
        };
        if open.stamp.size > self.most() {
            tell_unsearched(place.to_owned(), &too_large(open.stamp.size), findings);
            return Ok(None);
        }
        match open.read() {
            Ok(bytes) => Ok(Some((Hash::of(&bytes), bytes))),
            Err(error) => closed(Error::read("read a file", error), findings),
        }
    }
}
