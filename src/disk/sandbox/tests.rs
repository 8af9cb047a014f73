//! What every obstacle looks like, the same through both back ends.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::super::tree::{What, remove_tree, visit};
use super::*;

pub(super) const BACKENDS: [Backend; 2] = [Backend::Openat2, Backend::Walk];

pub(super) fn open(dir: &Path, backend: Backend) -> Sandbox {
    Sandbox::new(File::open(dir).unwrap().into(), backend).unwrap()
}

pub(super) fn path(text: &str) -> MemoryPath {
    MemoryPath::from_normal(text)
}

fn fifo(path: &Path) {
    let (dir, name) = (File::open(path.parent().unwrap()).unwrap(), path.file_name().unwrap());
    rustix::fs::mknodat(dir, name, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// A base directory with one of everything, and an outside that nothing may reach.
fn ground() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let at = |p: &str| top.path().join(p);
    fs::create_dir_all(at("outside/sub")).unwrap();
    fs::write(at("outside/f.md"), "secret").unwrap();
    fs::write(at("outside/sub/g.md"), "secret").unwrap();
    fs::create_dir_all(at("base/memories/dir/deep")).unwrap();
    fs::write(at("base/memories/f.md"), "12345").unwrap();
    fs::write(at("base/memories/dir/deep/g.md"), "123").unwrap();
    fs::write(at("base/memories/dir/.hidden"), "1234567").unwrap();
    fs::create_dir_all(at("base/memories/dir/node_modules")).unwrap();
    fs::write(at("base/memories/dir/node_modules/x.md"), "1").unwrap();
    symlink(at("outside"), at("base/memories/link")).unwrap();
    symlink("dir", at("base/memories/inner")).unwrap();
    symlink(at("outside/f.md"), at("base/memories/dir/flink")).unwrap();
    symlink("nowhere", at("base/memories/dangling")).unwrap();
    fs::create_dir(at("base/memories/cafe\u{301}")).unwrap();
    fs::write(at("base/memories/cafe\u{301}/\u{212a}.md"), "kelvin").unwrap();
    fs::write(at("base/memories/cafe\u{301}/u\u{323}\u{302}.md"), "first").unwrap();
    fs::write(at("base/memories/cafe\u{301}/\u{1ee5}\u{302}.md"), "second").unwrap();
    fifo(&at("base/memories/fifo"));
    drop(UnixListener::bind(at("base/memories/sock")).unwrap());
    top
}

fn each_backend(check: impl Fn(&Sandbox, &Path)) {
    let top = ground();
    for backend in BACKENDS {
        check(&open(&top.path().join("base"), backend), top.path());
    }
}

#[test]
fn every_obstacle_has_its_look() {
    let long = "x".repeat(300);
    let below_long = format!("{long}/y");
    let below = |p: &str| Look::BelowFile(path(p));
    let cases = [
        ("", Look::Directory),
        ("f.md", Look::File { size: 5 }),
        ("dir", Look::Directory),
        ("dir/deep/g.md", Look::File { size: 3 }),
        ("dir/.hidden", Look::File { size: 7 }),
        ("no", Look::Missing),
        ("no/no/no", Look::Missing),
        ("dir/no", Look::Missing),
        ("é/no", Look::Missing),
        (&long, Look::Missing),
        (&below_long, Look::Missing),
        ("f.md/x", below("f.md")),
        ("f.md/x/y", below("f.md")),
        ("dir/deep/g.md/x", below("dir/deep/g.md")),
        ("link", Look::Link),
        ("link/f.md", Look::BelowLink),
        ("link/sub/g.md", Look::BelowLink),
        ("link/no", Look::BelowLink),
        ("inner", Look::Link),
        ("inner/deep", Look::BelowLink),
        ("dangling", Look::Link),
        ("dangling/x", Look::BelowLink),
        ("dir/flink", Look::Link),
        ("dir/flink/x", Look::BelowLink),
        ("fifo", Look::Special),
        ("fifo/x", below("fifo")),
        ("sock", Look::Special),
        ("sock/x/y", below("sock")),
        ("café", Look::Directory),
        ("café/K.md", Look::File { size: 6 }),
        ("café/no.md", Look::Missing),
        ("café/K.md/x", below("café/K.md")),
        ("café/\u{1ef1}.md", Look::Missing),
    ];
    each_backend(|sandbox, _| {
        for (text, look) in &cases {
            let p = path(text);
            assert_eq!(sandbox.look(&p).unwrap(), *look, "look {text}");
            match look {
                Look::File { size } => {
                    let (bytes, stamp) = sandbox.read_stamped(&p).unwrap().unwrap();
                    assert_eq!((bytes.len() as u64, stamp.size), (*size, *size), "read {text}");
                }
                _ => assert_eq!(sandbox.read(&p).unwrap(), Found::Not(look.clone()), "read {text}"),
            }
            match look {
                Look::Directory => assert!(sandbox.list(&p, 2).unwrap().is_ok(), "list {text}"),
                _ => assert_eq!(sandbox.list(&p, 2).unwrap().unwrap_err(), *look, "list {text}"),
            }
            match (sandbox.parent(&p).unwrap(), look) {
                (Err(there), Look::BelowFile(_) | Look::BelowLink) => {
                    assert_eq!(there, *look, "parent {text}");
                }
                (Ok(place), _) => {
                    assert_eq!((&place.look, place.stamp.is_some()), (look, *look != Look::Missing));
                }
                (there, _) => panic!("parent {text}: {there:?}"),
            }
        }
    });
}

#[test]
fn a_place_has_the_spelling_on_disk_and_what_is_missing() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("", &[], "memories"),
        ("f.md", &[], "f.md"),
        ("a/b/c.md", &["a", "b"], "c.md"),
        ("dir/a/c.md", &["a"], "c.md"),
        ("café", &[], "cafe\u{301}"),
        ("café/K.md", &[], "\u{212a}.md"),
        ("café/\u{1ed9}/x", &["\u{1ed9}"], "x"),
        ("new-é", &[], "new-é"),
    ];
    each_backend(|sandbox, _| {
        for (text, missing, name) in cases {
            let place = sandbox.parent(&path(text)).unwrap().unwrap();
            assert_eq!(
                (place.missing, &*place.name),
                (missing.iter().map(ToString::to_string).collect(), *name)
            );
        }
    });
}

#[test]
fn of_several_spellings_nfc_comes_first_then_the_first_by_bytes() {
    let wanted = path("café/ự.md");
    let top = tempfile::tempdir().unwrap();
    let dir = top.path().join("memories/cafe\u{301}");
    fs::create_dir_all(&dir).unwrap();
    let spellings = ["\u{1b0}\u{323}.md", "u\u{323}\u{31b}.md", "u\u{31b}\u{323}.md", "ự.md"];
    for backend in BACKENDS {
        let sandbox = open(top.path(), backend);
        for (i, name) in spellings.iter().enumerate() {
            fs::write(dir.join(name), name).unwrap();
            let first = spellings[..=i].iter().min().unwrap();
            let first = if i == 3 { &"ự.md" } else { first };
            assert_eq!(sandbox.read(&wanted).unwrap(), Found::File(first.as_bytes().to_vec().into()));
        }
        for name in spellings {
            fs::remove_file(dir.join(name)).unwrap();
        }
    }
}

#[test]
fn the_root_may_be_missing_a_link_or_a_file() {
    for backend in BACKENDS {
        let top = tempfile::tempdir().unwrap();
        let sandbox = open(top.path(), backend);
        let root = top.path().join("memories");
        let looks = || ["", "a", "a/b"].map(|p| sandbox.look(&path(p)).unwrap());
        assert_eq!(looks(), [Look::Missing, Look::Missing, Look::Missing]);
        assert!(sandbox.root().unwrap().is_none());
        let place = sandbox.parent(&path("a/b")).unwrap().unwrap();
        assert_eq!((place.missing, place.name), (vec!["memories".into(), "a".into()], "b".into()));
        symlink("/", &root).unwrap();
        assert_eq!(looks(), [Look::Link, Look::BelowLink, Look::BelowLink]);
        assert!(matches!(sandbox.root(), Err(Error::Link { .. })));
        fs::remove_file(&root).unwrap();
        fs::write(&root, "x").unwrap();
        let below = Look::BelowFile(MemoryPath::ROOT);
        assert_eq!(looks(), [Look::File { size: 1 }, below.clone(), below]);
        fs::remove_file(&root).unwrap();
        fs::create_dir(&root).unwrap();
        assert!(sandbox.root().unwrap().is_some());
        assert_eq!(sandbox.list(&MemoryPath::ROOT, 2).unwrap().unwrap(), Listing::default());
    }
}

#[test]
fn a_listing_shows_and_sums_what_is_visible() {
    each_backend(|sandbox, top| {
        let odd = top.join("base/memories/dir").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        fs::write(odd, "12345678").unwrap();
        let listing = sandbox.list(&MemoryPath::ROOT, 2).unwrap().unwrap();
        let mut lines = Vec::new();
        for entry in &listing.entries {
            lines.push(format!("{} {}", entry.name, entry.size));
            lines.extend(
                entry
                    .children
                    .iter()
                    .map(|e| format!("{}/{} {} {}", entry.name, e.name, e.size, e.children.len())),
            );
        }
        let wanted = [
            "cafe\u{301} 17",
            "cafe\u{301}/u\u{323}\u{302}.md 5 0",
            "cafe\u{301}/\u{1ee5}\u{302}.md 6 0",
            "cafe\u{301}/\u{212a}.md 6 0",
            "dir 3",
            "dir/deep 3 0",
            "f.md 5",
        ];
        assert_eq!((lines, listing.size), (wanted.map(str::to_owned).to_vec(), 25));
        let deepest = sandbox.list(&path("dir"), 9).unwrap().unwrap();
        assert_eq!(deepest.entries[0].children[0].name, "g.md");
        assert_eq!(sandbox.list(&path("dir"), 0).unwrap().unwrap(), Listing { size: 3, entries: vec![] });
        assert_eq!(sandbox.list(&path("dir/node_modules"), 1).unwrap().unwrap().size, 1);
    });
}

#[test]
fn the_entries_of_a_directory_are_those_of_a_listing_but_for_the_sizes_of_directories() {
    each_backend(|sandbox, _| {
        let entries = |p: &MemoryPath, most: usize| {
            let mut entries = Vec::new();
            let visited = sandbox.each_entry(p, &mut |entry| {
                entries.push(entry);
                if entries.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            visited.unwrap().map(|()| entries)
        };
        let mut listed = sandbox.list(&MemoryPath::ROOT, 1).unwrap().unwrap().entries;
        assert!(listed.iter().any(|entry| entry.is_dir && entry.size > 0), "{listed:?}");
        listed.iter_mut().filter(|entry| entry.is_dir).for_each(|entry| entry.size = 0);
        assert_eq!(entries(&MemoryPath::ROOT, usize::MAX), Ok(listed.clone()));
        assert_eq!(entries(&MemoryPath::ROOT, 1), Ok(listed[..1].to_vec()));
        assert_eq!(entries(&path("f.md"), 1), Err(Look::File { size: 5 }));
        assert_eq!(entries(&path("no"), 1), Err(Look::Missing));
    });
}

#[test]
fn an_extent_counts_everything_in_nfc() {
    each_backend(|sandbox, top| {
        let extent = |p: &str| sandbox.extent(&path(p)).unwrap();
        assert_eq!(extent("café"), Extent { bytes: 8, segments: 1 });
        assert_eq!(extent("dir"), Extent { bytes: "node_modules/x.md".len(), segments: 2 });
        assert_eq!(extent("f.md"), Extent::default());
        assert_eq!(extent("no"), Extent::default());
        let empty = top.join("base/memories/empty");
        fs::create_dir_all(&empty).unwrap();
        assert_eq!(extent("empty"), Extent::default());
        let mut odd = empty.clone();
        odd.push(std::ffi::OsStr::from_bytes(b".\xff\xff"));
        fs::create_dir_all(odd.join("e\u{301}")).unwrap();
        symlink("/", odd.join("e\u{301}/l")).unwrap();
        assert_eq!(extent("empty"), Extent { bytes: 3 + 1 + 2 + 1 + 1, segments: 3 });
        fs::remove_dir_all(empty).unwrap();
    });
}

#[test]
fn a_visit_sees_everything_once_and_enters_no_link() {
    each_backend(|sandbox, _| {
        let dir = sandbox.open_dir(&path("dir")).unwrap().unwrap();
        let mut seen = Vec::new();
        visit(dir.as_fd(), &mut |v| {
            let content = match v.what {
                What::File => v.open()?.unwrap().read().unwrap().len(),
                _ => 0,
            };
            seen.push((String::from_utf8_lossy(v.path).into_owned(), v.what, content));
            Ok(())
        })
        .unwrap();
        seen.retain(|(name, ..)| !name.starts_with("odd"));
        let directory = What::Directory { writable: true };
        let wanted = [
            ("", directory, 0),
            (".hidden", What::File, 7),
            ("flink", What::Link, 0),
            ("deep", directory, 0),
            ("deep/g.md", What::File, 3),
            ("node_modules", directory, 0),
            ("node_modules/x.md", What::File, 1),
        ];
        assert_eq!(seen, wanted.map(|(name, what, n)| (name.to_owned(), what, n)));
    });
}

#[test]
fn a_removed_tree_leaves_what_its_links_point_to() {
    let top = ground();
    let base = File::open(top.path().join("base")).unwrap();
    for name in [c"memories/link", c"memories/fifo", c"memories/no", c"memories"] {
        remove_tree(base.as_fd(), name).unwrap();
        assert!(fs::symlink_metadata(top.path().join("base").join(name.to_str().unwrap())).is_err());
    }
    assert_eq!(fs::read(top.path().join("outside/sub/g.md")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(top.path().join("outside")).unwrap().count(), 2);
}

#[test]
fn a_very_deep_tree_is_listed_to_the_cap_visited_whole_and_removed() {
    const DEEP: usize = 3000;
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("memories")).unwrap();
    let mut dir: OwnedFd = File::open(top.path().join("memories")).unwrap().into();
    for _ in 0..DEEP {
        for name in ["d", "e"] {
            rustix::fs::mkdirat(&dir, name, Mode::RWXU).unwrap();
        }
        let file = rustix::fs::openat(&dir, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
        rustix::io::write(file, b"x").unwrap();
        dir = rustix::fs::openat(&dir, "d", OFlags::RDONLY, Mode::empty()).unwrap();
    }
    drop(dir);
    let sandbox = open(top.path(), BACKENDS[0]);
    assert_eq!(sandbox.list(&MemoryPath::ROOT, 2).unwrap().unwrap().size, 129);
    assert_eq!(sandbox.extent(&MemoryPath::ROOT).unwrap().segments, 129);
    let (mut files, mut dirs) = (0, 0);
    visit(sandbox.root().unwrap().unwrap().as_fd(), &mut |v| {
        files += usize::from(v.what == What::File);
        dirs += usize::from(matches!(v.what, What::Directory { .. }));
        Ok(())
    })
    .unwrap();
    assert_eq!((files, dirs), (DEEP, 2 * DEEP + 1));
    remove_tree(sandbox.base(), c"memories").unwrap();
    assert_eq!(sandbox.look(&MemoryPath::ROOT).unwrap(), Look::Missing);
}

#[test]
fn what_may_not_be_read_is_an_error_but_not_in_a_listing() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    each_backend(|sandbox, top| {
        let set = |p: &str, mode| {
            fs::set_permissions(top.join("base/memories").join(p), fs::Permissions::from_mode(mode)).unwrap();
        };
        set("dir/deep", 0);
        set("f.md", 0);
        assert_eq!(sandbox.look(&path("dir/deep")).unwrap(), Look::Directory);
        assert_eq!(sandbox.look(&path("f.md")).unwrap(), Look::File { size: 5 });
        assert_eq!(sandbox.read(&path("dir/deep")).unwrap(), Found::Not(Look::Directory));
        for p in ["dir/deep/g.md", "f.md"] {
            let error = sandbox.read(&path(p)).unwrap_err();
            assert!(
                matches!(&error, Error::Read { why: crate::error::Trouble::Denied, doing, .. } if doing.ends_with(p))
            );
        }
        for mode in [0, 0o400] {
            set("dir/deep", mode);
            let listing = sandbox.list(&path("dir"), 2).unwrap().unwrap();
            assert_eq!((listing.size, listing.entries[0].size, listing.entries.len()), (0, 0, 1));
        }
        set("dir/deep", 0);
        assert!(sandbox.list(&path("dir/deep"), 2).is_err());
        assert!(sandbox.extent(&path("dir")).is_err());
        let dir = sandbox.open_dir(&path("dir")).unwrap().unwrap();
        assert!(visit(dir.as_fd(), &mut |_| Ok(())).is_err());
        set("dir/deep", 0o500);
        let mut writable = Vec::new();
        visit(dir.as_fd(), &mut |v| {
            if let What::Directory { writable: w } = v.what {
                writable.push(w);
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(writable, [true, false, true]);
        assert!(remove_tree(dir.as_fd(), c"deep").is_err());
        set("dir/deep", 0o700);
        set("f.md", 0o600);
    });
}
