//! What people and programs do to the files behind memdir's back.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::select;

use super::files::{Files, Key, Thing};

/// An edit from outside. One that makes no sense where it comes does nothing.
#[derive(Debug, Clone)]
pub enum Outside {
    Write(Key, Vec<u8>),
    Append(Key, Vec<u8>),
    Remove(Key),
    RemoveAny(prop::sample::Index),
    Rename(Key, Key),
    RenameAny(prop::sample::Index, Key),
    MakeDirectory(Key),
    Link(Key, &'static str),
    HardLink(Key, Key),
    Fifo(Key),
    Mode(Key, u32),
    RemoveRoot,
}

/// Names that are, in part, not those that the tool uses.
const NAMES: &[&[u8]] = &[
    b"a",
    b"a",
    b"a",
    b"b",
    b"b",
    b"d",
    b"d",
    b"c.md",
    b"\xc3\xa9",
    b"e\xcc\x81",
    b".h",
    b"node_modules",
    b"x\xff",
    b"n\nl\\",
];

fn key() -> BoxedStrategy<Key> {
    let name = select(NAMES).prop_map(<[u8]>::to_vec);
    prop_oneof![
        3 => prop::collection::vec(name.clone(), 1..=1),
        3 => prop::collection::vec(name.clone(), 2..=2),
        1 => prop::collection::vec(name, 3..=4),
    ]
    .boxed()
}

fn bytes() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![
        8 => super::steps::text().prop_map(String::into_bytes),
        1 => Just(b"\xff\xfe not text \0".to_vec()),
        1 => Just(vec![b'z'; 2500]),
    ]
    .boxed()
}

pub fn outside() -> BoxedStrategy<Outside> {
    use Outside as O;
    prop_oneof![
        8 => (key(), bytes()).prop_map(|(key, bytes)| O::Write(key, bytes)),
        2 => (key(), bytes()).prop_map(|(key, bytes)| O::Append(key, bytes)),
        2 => key().prop_map(O::Remove),
        2 => any::<prop::sample::Index>().prop_map(O::RemoveAny),
        2 => (key(), key()).prop_map(|(from, to)| O::Rename(from, to)),
        3 => (any::<prop::sample::Index>(), key()).prop_map(|(from, to)| O::RenameAny(from, to)),
        4 => key().prop_map(O::MakeDirectory),
        2 => (key(), select(&["/etc", "a", "..", "nowhere"][..])).prop_map(|(key, to)| O::Link(key, to)),
        1 => (key(), key()).prop_map(|(from, to)| O::HardLink(from, to)),
        1 => key().prop_map(O::Fifo),
        2 => (key(), select(&[0o600, 0o644, 0o640, 0o755][..])).prop_map(|(key, mode)| O::Mode(key, mode)),
        1 => Just(O::RemoveRoot),
    ]
    .boxed()
}

/// The path of a key on disk.
fn on_disk(root: &Path, key: &Key) -> PathBuf {
    key.iter().fold(root.to_owned(), |path, name| path.join(OsStr::from_bytes(name)))
}

/// Removes whatever stands at a path.
fn remove(path: &Path) {
    if path.symlink_metadata().unwrap().is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

impl Outside {
    /// Makes the edit on disk and in the model.
    pub fn make(&self, root: &Path, beside: &Path, files: &mut Files) {
        if let Self::RemoveRoot = self {
            if files.root {
                fs::remove_dir_all(root).unwrap();
                *files = Files { root: false, ..Files::default() };
            }
            return;
        }
        if !files.root {
            fs::create_dir(root).unwrap();
            files.root = true;
        }
        let path = |key| on_disk(root, key);
        let has_parent = |files: &Files, key: &Key| {
            matches!(files.thing(&key[..key.len() - 1].to_vec()), Some(Thing::Directory { .. }))
        };
        let is_free = |files: &Files, key: &Key| has_parent(files, key) && files.thing(key).is_none();
        let nth = |files: &Files, index: &prop::sample::Index| {
            (!files.things.is_empty())
                .then(|| files.things.keys().nth(index.index(files.things.len())).unwrap().clone())
        };
        match self {
            Self::Write(key, bytes) => {
                if !has_parent(files, key) {
                    return;
                }
                let mode = match files.thing(key) {
                    None => 0o644,
                    Some(Thing::File { mode, .. }) => *mode,
                    Some(_) => return,
                };
                // As most editors do: a new file, renamed over the old one.
                let new = beside.join("new");
                fs::write(&new, bytes).unwrap();
                fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
                fs::rename(&new, path(key)).unwrap();
                files.things.insert(key.clone(), Thing::File { bytes: bytes.clone(), mode });
            }
            Self::Append(key, more) => {
                let Some(Thing::File { bytes, .. }) = files.things.get_mut(key) else { return };
                if path(key).metadata().unwrap().nlink() > 1 {
                    return;
                }
                bytes.extend_from_slice(more);
                fs::write(path(key), bytes).unwrap();
            }
            Self::Remove(key) => {
                if files.things.contains_key(key) {
                    remove(&path(key));
                    files.remove(key);
                }
            }
            Self::RemoveAny(index) => {
                if let Some(key) = nth(files, index) {
                    remove(&path(&key));
                    files.remove(&key);
                }
            }
            Self::Rename(from, to) => rename(files, root, from, to),
            Self::RenameAny(index, to) => {
                if let Some(from) = nth(files, index) {
                    rename(files, root, &from, to);
                }
            }
            Self::MakeDirectory(key) => {
                if is_free(files, key) {
                    fs::create_dir(path(key)).unwrap();
                    fs::set_permissions(path(key), fs::Permissions::from_mode(0o755)).unwrap();
                    files.things.insert(key.clone(), Thing::Directory { mode: 0o755 });
                }
            }
            Self::Link(key, to) => {
                if is_free(files, key) {
                    std::os::unix::fs::symlink(to, path(key)).unwrap();
                    files.things.insert(key.clone(), Thing::Link);
                }
            }
            Self::HardLink(from, to) => {
                if let Some(file @ Thing::File { .. }) = files.thing(from).cloned()
                    && is_free(files, to)
                {
                    fs::hard_link(path(from), path(to)).unwrap();
                    files.things.insert(to.clone(), file);
                }
            }
            Self::Fifo(key) => {
                if is_free(files, key) {
                    let mode = rustix::fs::Mode::from_raw_mode(0o644);
                    rustix::fs::mknodat(rustix::fs::CWD, path(key), rustix::fs::FileType::Fifo, mode, 0)
                        .unwrap();
                    files.things.insert(key.clone(), Thing::Fifo);
                }
            }
            Self::Mode(key, new) => {
                let Some(Thing::File { mode, .. }) = files.things.get_mut(key) else { return };
                if path(key).metadata().unwrap().nlink() == 1 {
                    fs::set_permissions(path(key), fs::Permissions::from_mode(*new)).unwrap();
                    *mode = *new;
                }
            }
            Self::RemoveRoot => unreachable!("it was handled first"),
        }
    }
}

fn rename(files: &mut Files, root: &Path, from: &Key, to: &Key) {
    let has_parent = matches!(files.thing(&to[..to.len() - 1].to_vec()), Some(Thing::Directory { .. }));
    if files.things.contains_key(from) && has_parent && files.thing(to).is_none() && !to.starts_with(from) {
        fs::rename(on_disk(root, from), on_disk(root, to)).unwrap();
        files.rename(from, to);
    }
}
