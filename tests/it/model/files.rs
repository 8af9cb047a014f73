//! The files as the model has them: a map from paths to what stands there.

use std::collections::BTreeMap;
use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

/// The names from the root down. In this order a directory comes right before what is in it.
pub type Key = Vec<Vec<u8>>;

/// What stands at a path.
#[derive(Clone, PartialEq, Eq)]
pub enum Thing {
    File { bytes: Vec<u8>, mode: u32 },
    Directory { mode: u32 },
    Link,
    Fifo,
}

impl fmt::Debug for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { bytes, mode } => {
                let text = String::from_utf8_lossy(bytes);
                let head: String = text.chars().take(60).collect();
                write!(f, "file {mode:o} {} {head:?}", bytes.len())
            }
            Self::Directory { mode } => write!(f, "directory {mode:o}"),
            Self::Link => f.write_str("link"),
            Self::Fifo => f.write_str("fifo"),
        }
    }
}

/// All files.
#[derive(Clone, PartialEq, Eq)]
pub struct Files {
    /// Whether `memories` is there.
    pub root: bool,
    pub things: BTreeMap<Key, Thing>,
}

impl Default for Files {
    fn default() -> Self {
        Self { root: true, things: BTreeMap::new() }
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "root: {}", self.root)?;
        for (key, thing) in &self.things {
            let key: Vec<_> = key.iter().map(|name| String::from_utf8_lossy(name)).collect();
            writeln!(f, "  {:?}: {thing:?}", key.join("/"))?;
        }
        Ok(())
    }
}

/// What is found on the way down to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Something stands there, under these names.
    There(Key),
    /// Nothing does. The names as far as they exist, and the rest.
    Nowhere(Key, Vec<String>),
    /// The way crosses a link.
    ThroughLink,
    /// The way leads through something that is no directory, with these names.
    ThroughFile(Vec<String>),
}

/// The NFC form of a name.
pub fn nfc(name: &str) -> String {
    name.nfc().collect()
}

impl Files {
    /// Walks down from the root.
    pub fn find(&self, segments: &[String]) -> Place {
        let mut at = Key::new();
        for (depth, segment) in segments.iter().enumerate() {
            match self.thing(&at) {
                Some(Thing::Link) => return Place::ThroughLink,
                Some(Thing::File { .. } | Thing::Fifo) => {
                    return Place::ThroughFile(segments[..depth].to_vec());
                }
                Some(Thing::Directory { .. }) => {}
                None => unreachable!("only what exists is walked through"),
            }
            match self.entry(&at, segment) {
                Some(name) => at.push(name),
                None => return Place::Nowhere(at, segments[depth..].to_vec()),
            }
        }
        Place::There(at)
    }

    /// The entry that a name means: itself, else the first whose NFC form it is.
    fn entry(&self, dir: &Key, name: &str) -> Option<Vec<u8>> {
        let mut exact = dir.clone();
        exact.push(name.as_bytes().to_vec());
        if self.things.contains_key(&exact) {
            return exact.pop();
        }
        let same = |entry: &&Vec<u8>| std::str::from_utf8(entry).is_ok_and(|entry| nfc(entry) == name);
        self.children(dir).map(|(name, _)| name).find(same).cloned()
    }

    /// What stands at a key; the root is a directory.
    pub fn thing(&self, key: &Key) -> Option<&Thing> {
        if key.is_empty() { Some(&Thing::Directory { mode: 0o700 }) } else { self.things.get(key) }
    }

    /// What is below a key, without itself.
    pub fn below<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (&'a Key, &'a Thing)> {
        let start = (std::ops::Bound::Excluded(key.clone()), std::ops::Bound::Unbounded);
        self.things.range(start).take_while(move |(below, _)| below.starts_with(key))
    }

    /// The entries of a directory, in the order of their bytes.
    pub fn children<'a>(&'a self, dir: &'a Key) -> impl Iterator<Item = (&'a Vec<u8>, &'a Thing)> {
        self.below(dir)
            .filter(move |(key, _)| key.len() == dir.len() + 1)
            .map(|(key, thing)| (&key[dir.len()], thing))
    }

    /// Removes what stands at a key, and all below it.
    pub fn remove(&mut self, key: &Key) {
        self.things.retain(|other, _| !other.starts_with(key));
    }

    /// Moves what stands at a key, and all below it.
    pub fn rename(&mut self, from: &Key, to: &Key) {
        let moved: Vec<Key> = self.things.keys().filter(|key| key.starts_with(from)).cloned().collect();
        for key in moved {
            let thing = self.things.remove(&key).expect("it was just listed");
            let new = to.iter().chain(&key[from.len()..]).cloned().collect();
            self.things.insert(new, thing);
        }
    }

    /// Makes the directories of a path that are missing, and returns the key of the path.
    pub fn make_way(&mut self, mut at: Key, rest: &[String]) -> Key {
        self.root = true;
        let (name, dirs) = rest.split_last().expect("something is missing");
        for dir in dirs {
            at.push(dir.clone().into_bytes());
            self.things.insert(at.clone(), Thing::Directory { mode: 0o700 });
        }
        at.push(name.clone().into_bytes());
        at
    }

    /// The paths of all directories that can be named, the root first.
    pub fn directories(&self) -> impl Iterator<Item = String> {
        let dirs = self.things.iter().filter(|(_, thing)| matches!(thing, Thing::Directory { .. }));
        std::iter::once("/memories".to_owned()).chain(dirs.filter_map(|(key, _)| path(key)))
    }

    /// The paths of all regular files that can be named.
    pub fn regular_files(&self) -> impl Iterator<Item = String> {
        let files = self.things.iter().filter(|(_, thing)| matches!(thing, Thing::File { .. }));
        files.filter_map(|(key, _)| path(key))
    }
}

/// The path of a key whose names are plain.
fn path(key: &Key) -> Option<String> {
    let names: Option<Vec<&str>> = key.iter().map(|name| std::str::from_utf8(name).ok()).collect();
    let path = format!("/memories/{}", names?.join("/"));
    let is_plain = !path.contains(['\n', '\\', '\t']) && path.len() <= 1024 && nfc(&path) == path;
    is_plain.then_some(path)
}
