//! Tests of the engine: what a crash, a power cut, another person or a damaged disk may do to it.
//!
//! All tests leave the store in a world of their own and ask [`World::check`] for what must be true of every store at rest.

#![allow(
    clippy::disallowed_methods,
    reason = "these tests do what others do to a store: edit, damage, remove"
)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::session::{Patience, Session};
use super::{Edit, Found, Snapshot, Store, lock};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::journal::verify;
use crate::path::MemoryPath;

mod audit;
#[cfg(feature = "search")]
mod changes;
mod check;
mod crash;
mod damage;
mod entries;
mod erase;
mod export;
mod forget;
mod history;
mod invariants;
mod notice;
mod outside;
mod plan;
mod power;
mod restore;
mod revert;
mod scan;
mod search;
mod since;
mod spare;
mod unmake;
mod withdraw;

/// What stands somewhere below `memories`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
    Special,
}

/// All that stands below `memories`, by path; the root is `""`.
type Tree = BTreeMap<String, Node>;

/// A base directory of a test's own.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    /// A store in memory, where there is such a file system: a test of order needs no real syncs.
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { dir: dir.unwrap() }
    }

    /// A store on a disk, where inodes are used again.
    fn on_disk() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn base(&self) -> &Path {
        self.dir.path()
    }

    fn open(&self) -> Store {
        open(self.base())
    }

    fn file(&self, path: &str) -> PathBuf {
        self.base().join("memories").join(path)
    }

    fn room(&self, name: &str) -> PathBuf {
        self.base().join(".memdir").join(name)
    }

    /// Writes as a person does.
    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let file = self.file(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(path)).ok()
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        note(&self.base().join("memories"), String::new(), &mut tree);
        tree
    }

    /// Lets the next open believe that the machine was started anew since all this was published.
    fn reboot(&self) {
        crate::disk::forge_boot(&self.room("lock"));
        verify::forge_boot(&self.room("journal.db"));
    }

    fn kept(&self) -> Vec<Vec<u8>> {
        let mut kept = Vec::new();
        for entry in walkdir::WalkDir::new(self.room("kept")) {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                kept.push(std::fs::read(entry.path()).unwrap());
            }
        }
        kept
    }

    /// Opens the store, mends what is to be mended, and checks what must be true of every store at rest: the journal is
    /// sound, every head agrees with the disk (`lagging`: but for these, which outsiders changed), nothing is left in
    /// `staging/`.
    fn check(&self, lagging: &[&str]) -> Store {
        let store = self.open();
        store.list(&MemoryPath::ROOT, 1).unwrap().unwrap();
        assert_eq!(store.take_warning().map(|e| format!("{e:?}")), None);
        look(&store, |session| {
            session.journal.verify();
            assert!(session.journal.is_synchronous());
            for head in session.journal.heads_below("").unwrap() {
                if lagging.contains(&&*head.path) {
                    continue;
                }
                let bytes = self.read(&head.path).unwrap_or_else(|| panic!("{} is not there", head.path));
                assert_eq!(Hash::of(&bytes), head.hash, "{} is not its head", head.path);
                let mode = std::fs::metadata(self.file(&head.path)).unwrap().permissions().mode() & 0o7777;
                assert_eq!(mode, head.mode, "the mode of {}", head.path);
            }
            let mark = session.room.locks.mark().unwrap();
            assert_eq!(mark.published, session.journal.last_change().unwrap());
        });
        let staged: Vec<_> = std::fs::read_dir(self.room("staging")).unwrap().collect();
        assert!(staged.is_empty(), "left in staging: {staged:?}");
        store
    }

    /// Panics unless these bytes are in a file, in the history, or in `kept/`.
    fn assert_not_lost(&self, store: &Store, bytes: &[u8]) {
        let is_in_history =
            look(store, |session| session.journal.contents().iter().any(|(.., content)| content == bytes));
        let is_on_disk =
            self.tree().values().any(|node| matches!(node, Node::File(_, seen) if seen == bytes));
        let is_kept = self.kept().iter().any(|kept| kept == bytes);
        assert!(is_in_history || is_on_disk || is_kept, "lost: {}", String::from_utf8_lossy(bytes));
    }
}

fn note(at: &Path, name: String, tree: &mut Tree) {
    let Ok(stat) = std::fs::symlink_metadata(at) else { return };
    let mode = stat.permissions().mode() & 0o7777;
    let node = if stat.is_dir() {
        for entry in std::fs::read_dir(at).unwrap() {
            let inner = entry.unwrap().file_name().into_string().unwrap();
            let path = if name.is_empty() { inner.clone() } else { format!("{name}/{inner}") };
            note(&at.join(inner), path, tree);
        }
        Node::Directory(mode)
    } else if stat.is_file() {
        Node::File(mode, std::fs::read(at).unwrap())
    } else if stat.is_symlink() {
        Node::Link(std::fs::read_link(at).unwrap())
    } else {
        Node::Special
    };
    tree.insert(name, node);
}

fn open(base: &Path) -> Store {
    Store::open(camino::Utf8Path::from_path(base).unwrap()).unwrap()
}

/// Looks into the engine of a store, with the lock held.
fn look<T>(store: &Store, f: impl FnOnce(&mut Session<'_>) -> T) -> T {
    lock(&store.inner.engine).enter(&store.inner.core, Patience::Wait, f).unwrap().unwrap()
}

/// Drops a store as a process does that is killed between two changes: nothing is synced.
fn kill(store: Store) {
    crate::fail::die();
    drop(store);
    crate::fail::survive();
}

fn path(text: &str) -> MemoryPath {
    if text.is_empty() { MemoryPath::ROOT } else { MemoryPath::parse(&format!("/memories/{text}")).unwrap() }
}

/// Writes a file, whether it is there or not.
fn put(store: &Store, at: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
    let (at, bytes): (_, Arc<Vec<u8>>) = (path(at), bytes.as_ref().to_vec().into());
    store.change(move |snapshot| {
        snapshot.read(&at)?;
        Ok((vec![Edit::Write { path: at.clone(), bytes: Arc::clone(&bytes) }], ()))
    })
}

/// Adds a line to a file.
fn append(store: &Store, at: &str, line: &str) -> Result<()> {
    store.change(appending(at, line))
}

fn appending(
    at: &str,
    line: &str,
) -> impl FnMut(&mut Snapshot<'_>) -> Result<(Vec<Edit>, ())> + Send + use<> {
    let (at, line) = (path(at), line.to_owned());
    move |snapshot: &mut Snapshot<'_>| {
        let Found::File(old) = snapshot.read(&at)? else { return Err(Error::Missing { path: at.clone() }) };
        let bytes = [&old, line.as_bytes()].concat().into();
        Ok((vec![Edit::Write { path: at.clone(), bytes }], ()))
    }
}

fn remove(store: &Store, at: &str) -> Result<()> {
    let at = path(at);
    store.change(move |_| Ok((vec![Edit::Remove { path: at.clone() }], ())))
}

fn rename(store: &Store, from: &str, to: &str) -> Result<()> {
    let (from, to) = (path(from), path(to));
    store.change(move |_| Ok((vec![Edit::Rename { from: from.clone(), to: to.clone() }], ())))
}

/// Whether the long forms of the tests were asked for.
fn is_long() -> bool {
    std::env::var_os("MEMDIR_LONG").is_some()
}
