//! From an outline to a plan: what stands on the disk is looked at, and the contents are read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::outline::{Ground, Unit, Write};
use super::wish::{Content, State, Wish};
use crate::disk::Look;
use crate::error::{Error, NoContent, Result};
use crate::hash::Hash;
use crate::path::MemoryPath;
use crate::store::plan::{Moved, Plan};
use crate::store::snapshot::Snapshot;
use crate::store::{Edit, Found};
use crate::text::Bytes;

impl Ground for Snapshot<'_> {
    fn look(&mut self, path: &MemoryPath) -> Result<Look> {
        Snapshot::look(self, path)
    }

    fn below(&mut self, dir: &MemoryPath) -> Result<Vec<MemoryPath>> {
        let heads = self.journal.heads_below(dir.as_str())?;
        Ok(heads.into_iter().map(|head| MemoryPath::from_normal(head.path)).collect())
    }

    fn entries(&mut self, dir: &MemoryPath) -> Result<Vec<(MemoryPath, bool)>> {
        Ok(self.base.sandbox.entries(dir)?.unwrap_or_default())
    }
}

/// Refuses a restore of which a content is nowhere.
pub(super) fn check_contents(snapshot: &mut Snapshot<'_>, wishes: &[Wish]) -> Result<()> {
    for Wish { now, then, .. } in wishes {
        let Some(then) = then else { continue };
        let is_here = now.as_ref().is_some_and(|now| now.is_same_content(then));
        if !then.is_stored && !is_here && kept(snapshot, then)?.is_none() {
            return Err(Error::NoContent { id: then.id, why: NoContent::NotKept });
        }
    }
    Ok(())
}

/// Adds to `plan` what `units` do.
pub(super) fn plan(
    snapshot: &mut Snapshot<'_>,
    wishes: &[Wish],
    units: &[Unit],
    mut plan: Plan,
) -> Result<Plan> {
    plan.edits.extend(units.iter().flat_map(|unit| &unit.removes).map(Edit::remove));
    let renames = units.iter().flat_map(|unit| &unit.renames);
    plan.edits.extend(renames.map(|(from, to)| Edit::rename(from, to)));
    for write in units.iter().flat_map(|unit| &unit.writes) {
        add_write(snapshot, &wishes[write.wish], write, &mut plan)?;
    }
    Ok(plan)
}

fn add_write(snapshot: &mut Snapshot<'_>, wish: &Wish, write: &Write, plan: &mut Plan) -> Result<()> {
    let Wish { memory, now, then: Some(then), .. } = wish else { return Ok(()) };
    let bytes = content(snapshot, wish, then)?;
    // The file that is replaced is the one that is seen now.
    snapshot.read(&then.path)?;
    if let Some(mode) = then.mode {
        plan.modes.insert(then.path.clone(), mode);
    }
    if write.replaces {
        plan.replaced.insert(then.path.clone());
    }
    match (*memory, now) {
        (Some(memory), _) if write.revives => drop(plan.revived.insert(then.path.clone(), memory)),
        (Some(memory), Some(now)) if now.path != then.path => {
            plan.moves.push(Moved { memory, from: now.path.clone(), to: then.path.clone() });
        }
        _ => {}
    }
    plan.edits.push(Edit::Write { path: then.path.clone(), bytes });
    Ok(())
}

/// The bytes that a memory is to have. Those that it had then: out of the journal, off the disk where they are the same, or
/// out of `kept/`.
fn content(snapshot: &mut Snapshot<'_>, wish: &Wish, then: &State) -> Result<Bytes> {
    let now = wish.now.as_ref();
    if let (Content::Now | Content::Merged, Some(now)) = (wish.content, now) {
        let here = match snapshot.read(&now.path)? {
            Found::File(bytes) => Some(bytes),
            Found::Not(_) => snapshot.journal.history().content(now.n)?.map(Into::into),
        };
        let bytes = match here {
            Some(here) if wish.content == Content::Merged => wish.merged(snapshot, &here)?,
            here => here,
        };
        if let Some(bytes) = bytes {
            return Ok(bytes);
        }
        // It was made to something else a moment ago: that is in the history then.
    }
    if let Some(bytes) = snapshot.journal.history().content(then.n)? {
        return Ok(bytes.into());
    }
    if let Some(now) = now.filter(|now| now.is_same_content(then))
        && let Found::File(bytes) = snapshot.read(&now.path)?
        && Some(Hash::of(&bytes)) == then.hash
    {
        return Ok(bytes);
    }
    kept(snapshot, then)?.ok_or(Error::NoContent { id: then.id, why: NoContent::NotKept })
}

fn kept(snapshot: &Snapshot<'_>, version: &State) -> Result<Option<Bytes>> {
    let kept = snapshot.base.kept(&version.id.to_string())?;
    Ok(kept.filter(|bytes| Some(Hash::of(bytes)) == version.hash).map(Arc::new))
}

/// The removals of directories at or above `dirs` in which nothing is but such directories.
pub(super) fn empty_directories(
    snapshot: &mut Snapshot<'_>,
    dirs: &BTreeSet<MemoryPath>,
) -> Result<Vec<Edit>> {
    let mut tops = BTreeSet::new();
    // Many of them may be below the same large directory.
    let mut known = HashMap::new();
    for dir in dirs {
        let mut top = None;
        for dir in std::iter::once(dir.clone()).chain(dir.ancestors()) {
            if dir.is_root() || tops.contains(&dir) {
                break;
            }
            match snapshot.look(&dir)? {
                Look::Missing => {}
                Look::Directory if is_empty(snapshot, &dir, &mut known)? => top = Some(dir),
                _ => break,
            }
        }
        tops.extend(top);
    }
    // One that was found from below may have been found from above, too.
    let is_topmost = |dir: &&MemoryPath| !dir.ancestors().any(|above| tops.contains(&above));
    Ok(tops.iter().filter(is_topmost).map(Edit::remove).collect())
}

/// Whether nothing is in a directory but such directories; `known` remembers of which that was asked before.
fn is_empty(
    snapshot: &mut Snapshot<'_>,
    dir: &MemoryPath,
    known: &mut HashMap<MemoryPath, bool>,
) -> Result<bool> {
    if let Some(&known) = known.get(dir) {
        return Ok(known);
    }
    let mut is_all_empty = true;
    for (entry, is_dir) in snapshot.entries(dir)? {
        is_all_empty = is_dir && is_empty(snapshot, &entry, known)?;
        if !is_all_empty {
            break;
        }
    }
    known.insert(dir.clone(), is_all_empty);
    Ok(is_all_empty)
}
