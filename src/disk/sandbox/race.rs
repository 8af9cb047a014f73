//! Another thread exchanges a directory and a link to the outside, as fast as it can.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{RenameFlags, renameat_with};

use super::super::tree::{What, remove_tree, visit};
use super::tests::{BACKENDS, open, path};
use super::*;

const TRIES: usize = 20_000;
/// Each starts a thread and lays a tree.
const REMOVALS: usize = 500;

/// Runs `call` while `a/` and the link `l` change places; answers after both have been met.
fn raced(backend: Backend, tries: usize, mut call: impl FnMut(&Sandbox, &std::path::Path, usize)) {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("base/memories");
    fs::create_dir_all(root.join("a/sub")).unwrap();
    fs::write(root.join("a/f.md"), "inside").unwrap();
    fs::write(root.join("a/sub/g.md"), "inside").unwrap();
    fs::create_dir_all(top.path().join("outside/sub")).unwrap();
    for name in ["f.md", "sub/g.md", "a-longer-outname.md"] {
        fs::write(top.path().join("outside").join(name), "a secret from outside").unwrap();
    }
    symlink(top.path().join("outside"), root.join("l")).unwrap();
    let sandbox = open(&top.path().join("base"), backend);
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let dir = File::open(&root).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let done = renameat_with(&dir, "a", &dir, "l", RenameFlags::EXCHANGE).is_ok();
                swaps.fetch_add(usize::from(done), Ordering::Relaxed);
            }
        });
        // The attacker stops however the calls end.
        let _stop = Stop(&stop);
        for i in 0..tries {
            call(&sandbox, &root, i);
        }
    });
    assert!(swaps.into_inner() > 100);
    let outside = top.path().join("outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 3);
    assert_eq!(fs::read(outside.join("sub/g.md")).unwrap(), b"a secret from outside");
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_outside_is_read() {
    for backend in BACKENDS {
        let mut read = 0;
        raced(backend, TRIES, |sandbox, _, i| {
            let p = path(["a/f.md", "l/f.md", "a/sub/g.md", "l/sub/g.md"][i % 4]);
            match sandbox.read(&p).unwrap() {
                Found::File(bytes) => {
                    assert_eq!(*bytes, *b"inside");
                    read += 1;
                }
                Found::Not(look) => assert!(matches!(look, Look::BelowLink | Look::Missing), "{look:?}"),
            }
        });
        assert!(read > 0);
    }
}

#[test]
fn nothing_outside_is_listed_or_counted() {
    for backend in BACKENDS {
        let mut listed = 0;
        raced(backend, TRIES, |sandbox, _, i| {
            let p = path(["", "a", "l", "a/sub"][i % 4]);
            match sandbox.list(&p, 2).unwrap() {
                Ok(listing) => {
                    // `a` can be met under both names in turn; never more than what is inside, twice.
                    assert!(matches!(listing.size, 0 | 6 | 12 | 24), "{listing:?}");
                    assert!(!format!("{listing:?}").contains("outname"));
                    listed += usize::from(listing.size > 0);
                }
                Err(look) => {
                    assert!(matches!(look, Look::Link | Look::BelowLink | Look::Missing), "{look:?}");
                }
            }
            assert!(sandbox.extent(&p).unwrap().bytes <= "a/sub/g.md".len());
        });
        assert!(listed > 0);
    }
}

#[test]
fn nothing_outside_is_visited() {
    for backend in BACKENDS {
        let mut read = 0;
        raced(backend, TRIES / 4, |sandbox, _, _| {
            let root = sandbox.root().unwrap().unwrap();
            let answer = visit(root.as_fd(), &mut |v| {
                assert!(!v.path.ends_with(b"a-longer-outname.md"));
                if v.what == What::File
                    && let Ok(file) = v.open()?
                {
                    assert_eq!(*file.read().unwrap(), *b"inside");
                    read += 1;
                }
                Ok(())
            });
            assert!(answer.is_ok() || matches!(answer, Err(Error::Read { .. })));
        });
        assert!(read > 0);
    }
}

#[test]
fn nothing_outside_is_removed() {
    let top = tempfile::tempdir().unwrap();
    let at = |p: &str| top.path().join(p);
    fs::create_dir_all(at("outside/sub")).unwrap();
    fs::write(at("outside/sub/g.md"), "outside").unwrap();
    fs::create_dir(at("staging")).unwrap();
    let staging = File::open(at("staging")).unwrap();
    for _ in 0..REMOVALS {
        let pairs = ["0", "1", "2", "3"].map(|i| (format!("a{i}"), format!("l{i}")));
        for (dir, link) in &pairs {
            fs::create_dir_all(at("staging/tree").join(dir).join("sub")).unwrap();
            fs::write(at("staging/tree").join(dir).join("sub/g.md"), "inside").unwrap();
            symlink(at("outside"), at("staging/tree").join(link)).unwrap();
        }
        let tree = File::open(at("staging/tree")).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (dir, link) in &pairs {
                        let _ = renameat_with(&tree, dir, &tree, link, RenameFlags::EXCHANGE);
                    }
                }
            });
            let _stop = Stop(&stop);
            remove_tree(staging.as_fd(), c"tree").unwrap();
        });
        assert_eq!(fs::read_dir(at("staging")).unwrap().count(), 0);
        assert_eq!(fs::read(at("outside/sub/g.md")).unwrap(), b"outside");
    }
}
