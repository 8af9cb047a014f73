//! What a restore comes to, decided from what memories are to become and what stands in their way. Pure: no file is
//! touched, and no content read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::wish::Wish;
use super::{Others, Restored};
use crate::disk::Look;
use crate::error::{Error, Result};
use crate::path::MemoryPath;

/// What stands where, and which memories live there.
pub(super) trait Ground {
    fn look(&mut self, path: &MemoryPath) -> Result<Look>;
    /// The memories that live below a directory.
    fn below(&mut self, dir: &MemoryPath) -> Result<Vec<MemoryPath>>;
    /// All that is in a directory, and whether it is one itself.
    fn entries(&mut self, dir: &MemoryPath) -> Result<Vec<(MemoryPath, bool)>>;
}

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// What each memory undergoes, by path.
    pub(super) memories: Vec<Restored>,
    /// Directories that must go to where they were before anything else is done: others of the wishes are about what
    /// is in them.
    pub(super) first: Vec<Unit>,
    /// What must be done together, each; what is entangled comes first.
    pub(super) units: Vec<Unit>,
}

/// Edits that stand or fall together: first all removals, then all renames, then all writes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// The wishes that it fulfils.
    pub(super) wishes: Vec<usize>,
    pub(super) removes: Vec<MemoryPath>,
    pub(super) renames: Vec<(MemoryPath, MemoryPath)>,
    pub(super) writes: Vec<Write>,
}

/// A wish that is fulfilled by writing a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) wish: usize,
    /// Whether the memory that is at the path now ends with that.
    pub(super) replaces: bool,
    /// Whether the memory has no file now.
    pub(super) revives: bool,
}

impl Unit {
    /// How many edits it is, a rename counting for two: it holds two directories open.
    pub(super) fn edits(&self) -> usize {
        self.removes.len() + 2 * self.renames.len() + self.writes.len()
    }

    /// Bytes that it writes, and reads to replace or remove them; of whole directories few are held at a time.
    pub(super) fn bytes(&self, wishes: &[Wish]) -> u64 {
        let is_one = matches!(self.wishes[..], [i] if wishes[i].now.as_ref().map(|now| &now.path) == self.removes.first());
        if self.writes.is_empty() && !is_one {
            return 0;
        }
        let states = self.wishes.iter().flat_map(|&i| [&wishes[i].now, &wishes[i].then]);
        states.flatten().map(|state| state.size).sum()
    }
}

/// Outlines what fulfils `wishes`.
///
/// # Errors
/// [`Error::Taken`] where something is in the way that may not be replaced.
pub(super) fn outline(wishes: &[Wish], others: Others, ground: &mut dyn Ground) -> Result<Outline> {
    let mut drawer = Drawer::new(wishes, others, ground)?;
    drawer.rename()?;
    let first = std::mem::take(&mut drawer.first);
    if !first.is_empty() {
        // The rest is another matter by then; but nothing is begun that cannot be ended.
        drawer = Drawer::new(wishes, others, ground)?;
    }
    drawer.draw()?;
    Ok(Outline { first, ..drawer.finish() })
}

struct Drawer<'a> {
    wishes: &'a [Wish],
    others: Others,
    ground: &'a mut dyn Ground,
    /// Wishes that need nothing, or for which all is outlined.
    is_done: Vec<bool>,
    /// Who is now where.
    now: HashMap<&'a MemoryPath, usize>,
    /// Who goes away from where.
    leaves: HashMap<&'a MemoryPath, usize>,
    /// Where somebody is to be.
    then: BTreeSet<MemoryPath>,
    /// Ends of the renames.
    ends: BTreeSet<MemoryPath>,
    memories: Vec<Restored>,
    /// Renames that come before all else.
    first: Vec<Unit>,
    units: Vec<Unit>,
    /// Which of them writes what a wish wants.
    writer: HashMap<usize, usize>,
    /// Wishes that depend on one another.
    entangled: BTreeSet<usize>,
    /// Others' files that are replaced.
    replaced: BTreeSet<MemoryPath>,
    /// Whatever makes way as a whole, for what goes to its place or below.
    ways: BTreeSet<MemoryPath>,
    /// Files to be removed, and nothing more, by path.
    removed: BTreeMap<MemoryPath, usize>,
    /// Directories, and whether nothing is left in them.
    emptied: HashMap<MemoryPath, bool>,
}

/// The paths at or below another one.
fn at_or_below<'s>(set: &'s BTreeSet<MemoryPath>, path: &MemoryPath) -> impl Iterator<Item = &'s MemoryPath> {
    let start = MemoryPath::from_normal(format!("{}/", path.as_str()));
    let below = set.range(start.clone()..).take_while(move |at| at.as_str().starts_with(start.as_str()));
    set.get(path).into_iter().chain(below)
}

impl<'a> Drawer<'a> {
    fn new(wishes: &'a [Wish], others: Others, ground: &'a mut dyn Ground) -> Result<Self> {
        let is_done: Vec<bool> = wishes.iter().map(Wish::is_fulfilled).collect();
        let mut drawer = Self {
            wishes,
            others,
            ground,
            is_done,
            now: HashMap::new(),
            leaves: HashMap::new(),
            then: BTreeSet::new(),
            ends: BTreeSet::new(),
            memories: Vec::new(),
            first: Vec::new(),
            units: Vec::new(),
            writer: HashMap::new(),
            entangled: BTreeSet::new(),
            replaced: BTreeSet::new(),
            ways: BTreeSet::new(),
            removed: BTreeMap::new(),
            emptied: HashMap::new(),
        };
        for (i, wish) in wishes.iter().enumerate() {
            if let Some(now) = &wish.now {
                drawer.now.insert(&now.path, i);
            }
            drawer.leaves.extend(wish.leaves().map(|path| (path, i)));
            if let Some(then) = &wish.then
                && !drawer.then.insert(then.path.clone())
            {
                return Err(Error::Taken { path: then.path.clone() });
            }
            if !drawer.is_done[i] {
                drawer.memories.push(wish.restored());
            }
        }
        Ok(drawer)
    }

    /// Finds the directories, and files, that go to where nothing is: as they are, with whatever is in them.
    fn rename(&mut self) -> Result<()> {
        let mut judged: HashSet<(MemoryPath, MemoryPath)> = HashSet::new();
        for wish in self.wishes {
            let (Some(now), Some(then)) = (&wish.now, &wish.then) else { continue };
            if now.path == then.path || self.is_done[self.now[&now.path]] {
                continue;
            }
            for (from, to) in pairs(&now.path, &then.path) {
                if judged.insert((from.clone(), to.clone())) && self.rename_one(&from, &to)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Outlines one rename, if it is one; directories whose files have further wishes go before all else.
    fn rename_one(&mut self, from: &MemoryPath, to: &MemoryPath) -> Result<bool> {
        let is_entangled = |path: &MemoryPath| {
            at_or_below(&self.ends, path).next().is_some()
                || path.ancestors().any(|above| self.ends.contains(&above))
        };
        let is_in_the_way = from.ancestors().any(|above| self.then.contains(&above));
        if to.is_below(from) || is_in_the_way || is_entangled(from) || is_entangled(to) {
            return Ok(false);
        }
        let is_dir = match self.ground.look(from)? {
            Look::Directory => true,
            Look::File { .. } => false,
            _ => return Ok(false),
        };
        if self.ground.look(to)? != Look::Missing {
            return Ok(false);
        }
        let living = if is_dir { self.ground.below(from)? } else { vec![from.clone()] };
        let mut unit = Unit { renames: vec![(from.clone(), to.clone())], ..Unit::default() };
        let mut is_exact = true;
        for path in living {
            let Some(&i) = self.now.get(&path) else { return Ok(false) };
            let Wish { now: Some(now), then, .. } = &self.wishes[i] else { return Ok(false) };
            match then {
                None => is_exact = false,
                Some(then) if then.path.as_str() == moved(&path, from, to) => {
                    is_exact &= now.is_same_content(then) && now.mode == then.mode;
                }
                Some(_) => return Ok(false),
            }
            unit.wishes.push(i);
        }
        let fulfilled = unit.wishes.len();
        is_exact &= at_or_below(&self.then, from).next().is_none();
        is_exact &= at_or_below(&self.then, to).count() == fulfilled;
        if !is_exact && !is_dir || unit.wishes.is_empty() {
            return Ok(false);
        }
        self.ends.insert(from.clone());
        self.ends.insert(to.clone());
        if is_exact {
            unit.wishes.iter().for_each(|&i| self.is_done[i] = true);
            self.units.push(unit);
        } else {
            self.first.push(unit);
        }
        Ok(true)
    }

    /// Finds what is in the way of a memory that goes somewhere, or gets other content where it is.
    fn arrive(&mut self, i: usize) -> Result<()> {
        let wish = &self.wishes[i];
        let Some(then) = &wish.then else { return Ok(()) };
        let is_in_place = wish.now.as_ref().is_some_and(|now| now.path == then.path);
        let path = &then.path;
        let mut write =
            Write { wish: i, replaces: false, revives: wish.memory.is_some() && wish.now.is_none() };
        match self.ground.look(path)? {
            Look::File { .. } if is_in_place => {}
            Look::File { .. } => {
                write.replaces = match self.leaves.get(path) {
                    Some(&other) => {
                        self.entangled.insert(i);
                        self.wishes[other].then.is_none()
                    }
                    None => self.replace(path).map(|()| true)?,
                }
            }
            look => {
                if look != Look::Missing {
                    self.entangled.insert(i);
                    self.clear(path, look)?;
                }
                // It lives, for all that the journal knows, and its file went a moment ago.
                write.revives |= is_in_place;
            }
        }
        self.is_done[i] = wish.leaves().is_none();
        self.writer.insert(i, self.units.len());
        self.units.push(Unit { wishes: vec![i], writes: vec![write], ..Unit::default() });
        Ok(())
    }

    /// Makes way for a file where something else is.
    fn clear(&mut self, path: &MemoryPath, look: Look) -> Result<()> {
        match look {
            Look::Missing | Look::File { .. } => {}
            Look::BelowFile(file) => {
                if self.then.contains(&file) {
                    return Err(Error::Taken { path: file });
                }
                match self.leaves.get(&file) {
                    Some(&other) => drop(self.entangled.insert(other)),
                    None => self.replace(&file)?,
                }
                self.ways.insert(file);
            }
            Look::Directory => {
                if at_or_below(&self.then, path).any(|at| at != path) {
                    return Err(Error::Taken { path: path.clone() });
                }
                let mut dirs = vec![path.clone()];
                while let Some(dir) = dirs.pop() {
                    for (entry, is_dir) in self.ground.entries(&dir)? {
                        match self.leaves.get(&entry) {
                            _ if is_dir => dirs.push(entry),
                            Some(&other) => drop(self.entangled.insert(other)),
                            None if self.others == Others::Keep => {
                                return Err(Error::Taken { path: path.clone() });
                            }
                            None => drop(self.replaced.insert(entry)),
                        }
                    }
                }
                self.ways.insert(path.clone());
            }
            Look::Link | Look::Special => {
                self.replace(path)?;
                self.ways.insert(path.clone());
            }
            Look::BelowLink => return Err(Error::Link { path: path.clone() }),
        }
        Ok(())
    }

    fn replace(&mut self, path: &MemoryPath) -> Result<()> {
        if self.others == Others::Keep {
            return Err(Error::Taken { path: path.clone() });
        }
        self.replaced.insert(path.clone());
        Ok(())
    }

    /// Takes a memory's file away from where the memory is not to stay.
    fn leave(&mut self, i: usize) -> Result<()> {
        let wish = &self.wishes[i];
        let Some(path) = wish.leaves() else { return Ok(()) };
        self.is_done[i] = true;
        let is_way = self.ways.contains(path) || path.ancestors().any(|above| self.ways.contains(&above));
        // Others who come to its path, or below, take it away.
        if is_way || self.then.contains(path) {
            self.entangled.insert(i);
            return Ok(());
        }
        if !matches!(self.ground.look(path)?, Look::File { .. }) {
            // Its file went a moment ago.
            return if wish.then.is_none() { Ok(()) } else { Err(Error::Missing { path: path.clone() }) };
        }
        match self.writer.get(&i) {
            Some(&unit) => self.units[unit].removes.push(path.clone()),
            None => drop(self.removed.insert(path.clone(), i)),
        }
        Ok(())
    }

    /// Removes files, and directories that hold nothing else.
    fn remove(&mut self) -> Result<()> {
        let mut units: BTreeMap<MemoryPath, Vec<usize>> = BTreeMap::new();
        for (path, i) in self.removed.clone() {
            let mut top = path;
            while let Some((dir, _)) = top.split_last()
                && !dir.is_root()
                && self.is_emptied(&dir)?
            {
                top = dir;
            }
            units.entry(top).or_default().push(i);
        }
        for (path, wishes) in units {
            self.units.push(Unit { wishes, removes: vec![path], ..Unit::default() });
        }
        Ok(())
    }

    fn is_emptied(&mut self, dir: &MemoryPath) -> Result<bool> {
        if let Some(&known) = self.emptied.get(dir) {
            return Ok(known);
        }
        let mut is_emptied =
            at_or_below(&self.then, dir).next().is_none() && at_or_below(&self.ends, dir).next().is_none();
        if is_emptied {
            let (dirs, files): (Vec<_>, Vec<_>) =
                self.ground.entries(dir)?.into_iter().partition(|(_, is_dir)| *is_dir);
            is_emptied = files.iter().all(|(path, _)| self.removed.contains_key(path));
            for (path, _) in dirs {
                is_emptied = is_emptied && self.is_emptied(&path)?;
            }
        }
        self.emptied.insert(dir.clone(), is_emptied);
        Ok(is_emptied)
    }

    fn finish(self) -> Outline {
        let Self { mut memories, units, entangled, ways, replaced, now, .. } = self;
        let is_entangled = |unit: &Unit| unit.wishes.iter().any(|i| entangled.contains(i));
        let (knot, mut units): (Vec<Unit>, Vec<Unit>) = units.into_iter().partition(is_entangled);
        if !knot.is_empty() {
            let mut all = Unit { removes: ways.into_iter().collect(), ..Unit::default() };
            all.wishes.extend(entangled);
            for unit in knot {
                all.removes.extend(unit.removes);
                all.writes.extend(unit.writes);
            }
            units.insert(0, all);
        }
        let is_other = |path: &MemoryPath| !now.contains_key(path);
        memories.extend(replaced.into_iter().filter(is_other).map(|path| Restored {
            from: Some(path),
            to: None,
            version: None,
            undone: 0,
            kept: 0,
            unmerged: None,
        }));
        memories.sort_by(|a, b| {
            let path = |restored: &'_ Restored| restored.to.clone().or_else(|| restored.from.clone());
            path(a).cmp(&path(b))
        });
        Outline { memories, first: Vec::new(), units }
    }

    fn draw(&mut self) -> Result<()> {
        for i in 0..self.wishes.len() {
            if !self.is_done[i] {
                self.arrive(i)?;
            }
        }
        for i in 0..self.wishes.len() {
            if !self.is_done[i] {
                self.leave(i)?;
            }
        }
        self.remove()
    }
}

/// The pairs of directories, the upper ones first, and then the files themselves, of which one becomes the other when
/// `from` goes to `to`.
fn pairs(from: &MemoryPath, to: &MemoryPath) -> Vec<(MemoryPath, MemoryPath)> {
    let mut pairs = vec![(from.clone(), to.clone())];
    while let Some((from, to)) = pairs.last()
        && let (Some((from, name)), Some((to, other))) = (from.split_last(), to.split_last())
        && name == other
        && !from.is_root()
        && !to.is_root()
    {
        pairs.push((from, to));
    }
    pairs.reverse();
    pairs
}

/// Where what is at `path`, at or below `from`, is when `from` has become `to`.
fn moved(path: &MemoryPath, from: &MemoryPath, to: &MemoryPath) -> String {
    format!("{}{}", to.as_str(), &path.as_str()[from.as_str().len()..])
}

#[cfg(test)]
mod tests;
