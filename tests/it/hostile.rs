//! A store in which somebody has put what does not belong there: no hang, no panic, no word of the host, nothing lost.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model::answers::REFUSED;
use crate::model::staging;
use crate::process::{Done, feed, memdir, shell};

fn scratch() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(call(dir.path(), &[create("/memories/a.md", "alpha\n")]).len(), 1);
    dir
}

fn create(path: &str, text: &str) -> Value {
    json!({"command": "create", "path": path, "file_text": text})
}

fn view(path: &str) -> Value {
    json!({"command": "view", "path": path})
}

fn insert(path: &str) -> Value {
    json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "more"})
}

fn rename(from: &str, to: &str) -> Value {
    json!({"command": "rename", "old_path": from, "new_path": to})
}

fn delete(path: &str) -> Value {
    json!({"command": "delete", "path": path})
}

/// Has a process answer the calls; the texts of its answers.
fn call(base: &Path, calls: &[Value]) -> Vec<String> {
    let lines: Vec<_> = calls.iter().map(|call| format!("{call}\n")).collect();
    let done = feed(&mut memdir(base, ["call", "--dir", "."]), lines.concat());
    texts(&done)
}

/// The texts of the answers of a process that has not panicked, and told nothing of the host.
fn texts(done: &Done) -> Vec<String> {
    assert!(!done.err.contains("panicked"), "{}", done.err);
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    for word in ["os error", ".memdir", "SQL", "/tmp"] {
        assert!(!done.out.contains(word), "`{word}` in {}", done.out);
    }
    let text = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["content"].as_str().unwrap_or_default().to_owned()
    };
    done.out.lines().map(text).collect()
}

/// What may stand where a file or a directory of memdir's own should be.
#[derive(Debug, Clone, Copy)]
enum Thing {
    Fifo,
    Socket,
    Directory,
    Junk,
    Link,
    DanglingLink,
}

impl Thing {
    const ALL: [Self; 6] =
        [Self::Fifo, Self::Socket, Self::Directory, Self::Junk, Self::Link, Self::DanglingLink];

    /// Puts the thing in the place of what is there. Links lead to `victim`, or to `nowhere`, in `base`.
    fn put(self, base: &Path, at: &str) {
        let path = base.join(at);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).unwrap();
        }
        match self {
            Self::Fifo => make_fifo(&path),
            Self::Socket => drop(UnixListener::bind(&path).unwrap()),
            Self::Directory => fs::create_dir(&path).unwrap(),
            Self::Junk => fs::write(&path, "junk ".repeat(400)).unwrap(),
            Self::Link => symlink(base.join("victim"), &path).unwrap(),
            Self::DanglingLink => symlink(base.join("nowhere"), &path).unwrap(),
        }
    }
}

fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(path.symlink_metadata().unwrap().file_type().is_fifo());
}

#[test]
fn whatever_is_in_the_machines_room_hangs_nothing_and_loses_nothing() {
    let parts = [
        ".memdir",
        ".memdir/lock",
        ".memdir/turn",
        ".memdir/staging",
        ".memdir/kept",
        ".memdir/journal.db",
        ".memdir/journal.db-wal",
        ".memdir/journal.db-shm",
    ];
    for part in parts {
        for thing in Thing::ALL {
            let about = format!("{thing:?} for {part}");
            let dir = scratch();
            fs::write(dir.path().join("victim"), "v").unwrap();
            thing.put(dir.path(), part);
            let texts =
                call(dir.path(), &[view("/memories/a.md"), create("/memories/b", "b"), view("/memories/b")]);
            assert!(texts[0].ends_with("\n     1\talpha\n     2\t"), "{about}: {texts:?}");
            let is_made = texts[1] == "File created successfully at: /memories/b";
            assert!(
                is_made || texts[1].starts_with("Error: The memory directory cannot be written: "),
                "{texts:?}"
            );
            assert_eq!(is_made, texts[2].ends_with("\tb"), "{about}: {texts:?}");
            assert_eq!(fs::read_to_string(dir.path().join("victim")).unwrap(), "v", "{about}");
            assert!(!dir.path().join("nowhere").exists(), "{about}");
            let files: Vec<_> = fs::read_dir(dir.path().join("memories")).unwrap().collect();
            assert_eq!(files.len(), 1 + usize::from(is_made), "{about}");
        }
    }
}

#[test]
fn whatever_is_in_the_place_of_the_settings_is_told_and_hangs_nothing() {
    for thing in [Thing::Fifo, Thing::Socket, Thing::Directory, Thing::Junk] {
        let dir = scratch();
        thing.put(dir.path(), "memdir.toml");
        let done = feed(&mut memdir(dir.path(), ["call", "--dir", "."]), view("/memories").to_string());
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{thing:?}");
        assert!(done.err.contains("memdir.toml"), "{thing:?}: {}", done.err);
    }
    let dir = scratch();
    fs::File::create(dir.path().join("memdir.toml")).unwrap().set_len(20 << 30).unwrap();
    let done = feed(&mut memdir(dir.path(), ["call", "--dir", "."]), view("/memories").to_string());
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("memdir.toml"), "{}", done.err);
}

#[test]
fn what_is_no_file_is_neither_opened_nor_followed_and_can_be_deleted() {
    let link = "Error: The path /memories/x is a symbolic link, which the memory directory does not follow";
    let other = "Error: Unsupported file type for /memories/x";
    for (thing, words) in
        [(Thing::Fifo, other), (Thing::Socket, other), (Thing::Link, link), (Thing::DanglingLink, link)]
    {
        let dir = scratch();
        fs::write(dir.path().join("victim"), "alpha").unwrap();
        thing.put(dir.path(), "memories/x");
        let edit =
            json!({"command": "str_replace", "path": "/memories/x", "old_str": "alpha", "new_str": "beta"});
        let calls = [view("/memories/x"), insert("/memories/x"), edit, rename("/memories/x", "/memories/y")];
        for (call, text) in calls.iter().zip(call(dir.path(), &calls)) {
            assert_eq!(text, words, "{thing:?}: {call}");
        }
        let calls =
            [create("/memories/x", ""), rename("/memories/a.md", "/memories/x"), create("/memories/x/y", "")];
        assert!(call(dir.path(), &calls).iter().all(|text| text.starts_with("Error: ")), "{thing:?}");
        let texts = call(dir.path(), &[view("/memories"), delete("/memories/x")]);
        assert!(texts[0].ends_with("\n6B\t/memories\n6B\t/memories/a.md"), "{thing:?}: {texts:?}");
        assert_eq!(texts[1], "Successfully deleted /memories/x", "{thing:?}");
        assert_eq!(fs::read_to_string(dir.path().join("victim")).unwrap(), "alpha");
        assert_eq!(fs::read_dir(dir.path().join("memories")).unwrap().count(), 1);
        assert_eq!(staging(dir.path()), Vec::<String>::new());
    }
}

#[test]
fn every_command_refuses_every_hostile_path() {
    let dir = scratch();
    let calls = |path: &str| {
        [
            view(path),
            create(path, "x"),
            json!({"command": "str_replace", "path": path, "old_str": "alpha", "new_str": "beta"}),
            insert(path),
            delete(path),
            rename(path, "/memories/b"),
            rename("/memories/a.md", path),
        ]
    };
    for (path, words) in REFUSED {
        for text in call(dir.path(), &calls(path)) {
            assert_eq!(text, *words);
        }
    }
    assert_eq!(call(dir.path(), &[view("/memories")])[0].lines().count(), 3);
}

#[test]
fn a_call_that_is_refused_does_not_bring_memories_back() {
    let dir = scratch();
    let root = dir.path().join("memories");
    fs::remove_dir_all(&root).unwrap();
    let long = "m".repeat((1 << 20) + 1);
    let calls = [
        create("/memories/a.md", &long),
        create("/memories/d/a.md", &long),
        insert("/memories/a.md"),
        insert("/memories"),
        delete("/memories/a.md"),
        rename("/memories/a.md", "/memories/b/c.md"),
        view("/memories/a.md"),
    ];
    assert!(
        call(dir.path(), &calls)
            .iter()
            .all(|text| text.contains("Error: ") || text.contains("does not exist"))
    );
    assert!(!root.exists());
}

#[test]
fn a_umask_that_forbids_everything_changes_no_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("calls"), create("/memories/d/e/a.md", "alpha\n").to_string()).unwrap();
    let done = shell(dir.path(), "umask 0777; $MEMDIR call --dir p/q < calls");
    assert_eq!(texts(&done), ["File created successfully at: /memories/d/e/a.md"]);
    for (path, right) in [
        ("p", 0o700),
        ("p/q", 0o700),
        ("p/q/memories", 0o700),
        ("p/q/memories/d", 0o700),
        ("p/q/memories/d/e", 0o700),
        ("p/q/memories/d/e/a.md", 0o600),
        ("p/q/.memdir", 0o700),
        ("p/q/.memdir/staging", 0o700),
        ("p/q/.memdir/lock", 0o600),
        ("p/q/.memdir/journal.db", 0o600),
    ] {
        let mode = dir.path().join(path).symlink_metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, right, "{path}: {mode:o}");
    }
}

#[test]
fn a_file_that_is_too_large_to_be_read_can_be_renamed_and_deleted() {
    let dir = scratch();
    let sparse = dir.path().join("memories/sparse");
    fs::File::create(&sparse).unwrap().set_len(20 << 30).unwrap();
    let edit = json!({"command": "str_replace", "path": "/memories/sparse", "old_str": "a", "new_str": "b"});
    let texts = call(
        dir.path(),
        &[
            view("/memories/sparse"),
            insert("/memories/sparse"),
            edit,
            rename("/memories/sparse", "/memories/d/moved"),
            view("/memories"),
            delete("/memories/d/moved"),
        ],
    );
    let refused = "Error: The file /memories/sparse is too large to read (20G)";
    assert_eq!(texts[..3], [refused; 3]);
    assert_eq!(texts[3], "Successfully renamed /memories/sparse to /memories/d/moved");
    assert!(texts[4].ends_with("/memories/a.md\n20G\t/memories/d/\n20G\t/memories/d/moved"), "{texts:?}");
    assert_eq!(texts[5], "Successfully deleted /memories/d/moved");
    let kept: Vec<_> = fs::read_dir(dir.path().join(".memdir/kept")).unwrap().collect();
    assert_eq!(kept.len(), 1, "what is too large for the history is kept beside it");
}

#[test]
fn what_a_process_could_not_clear_up_is_swept_by_the_next() {
    let dir = scratch();
    let staging_dir = dir.path().join(".memdir/staging");
    fs::write(staging_dir.join("new-70"), "never committed").unwrap();
    fs::create_dir_all(staging_dir.join("new-71/d")).unwrap();
    fs::write(staging_dir.join("new-71/d/a.md"), "never committed").unwrap();
    call(dir.path(), &[create("/memories/b", "")]);
    assert_eq!(staging(dir.path()), Vec::<String>::new());
}

#[test]
fn a_process_with_few_descriptors_changes_all_or_nothing() {
    for limit in 5..24 {
        let dir = scratch();
        fs::write(dir.path().join("memories/binary"), b"\xff").unwrap();
        let calls = [
            create("/memories/b", "b"),
            create("/memories/d/e/f", "f"),
            insert("/memories/a.md"),
            rename("/memories/d", "/memories/q/r"),
            delete("/memories/q"),
            delete("/memories/binary"),
        ];
        // One by one, since calls that come together hold more files open.
        let mut files = crate::model::look(&dir.path().join("memories"));
        for call in &calls {
            fs::write(dir.path().join("call"), call.to_string()).unwrap();
            let done =
                shell(dir.path(), &format!("exec < call; ulimit -n {limit}; exec $MEMDIR call --dir ."));
            let [text] = &texts(&done)[..] else { continue };
            if !text.starts_with("Error: The memory directory cannot be ") {
                let limits = crate::model::answers::Limits { file: 1 << 20, view: 16_000 };
                let right = crate::model::answers::answer(&mut files, call, limits);
                assert_eq!(*text, right.unwrap_or_else(|words| words), "{limit}: {call}");
            }
            assert_eq!(crate::model::look(&dir.path().join("memories")), files, "{limit}: {call}");
        }
        let is_gone = !dir.path().join("memories/binary").exists();
        call(dir.path(), &[create("/memories/z", "")]);
        assert_eq!(staging(dir.path()), Vec::<String>::new(), "{limit}");
        let kept = fs::read_dir(dir.path().join(".memdir/kept")).unwrap().count();
        assert_eq!(kept, usize::from(is_gone), "{limit}: what was deleted is kept");
    }
}

/// Has a process answer the calls with something mounted first, in a mount namespace of its own; `None` where this user
/// may not mount.
fn call_in_mounts(base: &Path, mounts: &str, calls: &[Value]) -> Option<Vec<String>> {
    let may_mount = shell(base, "unshare -m mount -t tmpfs none /mnt").code == Some(0);
    let lines: Vec<_> = calls.iter().map(|call| format!("{call}\n")).collect();
    fs::write(base.join("calls"), lines.concat()).unwrap();
    let line = format!("exec < calls; exec unshare -m sh -ec '{mounts}; exec \"$MEMDIR\" call --dir store'");
    may_mount.then(|| texts(&shell(base, &line)))
}

#[test]
fn a_lower_directory_of_an_overlay_can_be_renamed_and_deleted() {
    let mounts = "mkdir top store; mount -t tmpfs none top; mkdir -p top/low/memories/d/e top/up top/work
        echo alpha > top/low/memories/d/a; echo beta > top/low/memories/d/e/b; ln -s /etc top/low/memories/d/link
        printf x > top/low/memories/d/e/\"$(printf \"\\377\")\"
        cp -r top/low/memories/d top/low/memories/f
        mount -t overlay none -o lowerdir=top/low,upperdir=top/up,workdir=top/work,redirect_dir=off store";
    let dir = tempfile::tempdir().unwrap();
    let calls = [
        rename("/memories/d", "/memories/new/d"),
        view("/memories/new/d/e/b"),
        delete("/memories/f"),
        insert("/memories/new/d/a"),
        delete("/memories/new/d/e"),
        view("/memories"),
    ];
    let Some(texts) = call_in_mounts(dir.path(), mounts, &calls) else { return };
    assert_eq!(texts[0], "Successfully renamed /memories/d to /memories/new/d");
    assert!(texts[1].ends_with("     1\tbeta\n     2\t"), "{texts:?}");
    assert_eq!(texts[2], "Successfully deleted /memories/f");
    assert_eq!(texts[3], "The file /memories/new/d/a has been edited.");
    assert_eq!(texts[4], "Successfully deleted /memories/new/d/e");
    assert!(texts[5].ends_with("\n11B\t/memories\n11B\t/memories/new/\n11B\t/memories/new/d/"), "{texts:?}");
}

#[test]
fn what_is_mounted_below_memories_is_left_alone() {
    let mounts = "mkdir -p store/memories/m store/memories/d/m
        mount -t tmpfs none store/memories/m; mount -t tmpfs none store/memories/d/m; echo secret > store/memories/m/x";
    let dir = tempfile::tempdir().unwrap();
    let calls =
        [view("/memories/m"), delete("/memories/m"), delete("/memories/d"), create("/memories/a", "")];
    let Some(texts) = call_in_mounts(dir.path(), mounts, &calls) else { return };
    let refused = |path: &str| format!("Error: Unsupported file type for {path}");
    assert_eq!(texts[..3], [refused("/memories/m"), refused("/memories/m"), refused("/memories/d")]);
    assert_eq!(texts[3], "File created successfully at: /memories/a");
}

#[test]
fn what_others_wrote_is_in_the_room_when_it_is_gone_from_the_memories() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let token = |n: usize| format!("token {n} of somebody else's");
    let bytes: [fn(String) -> Vec<u8>; 4] = [
        String::into_bytes,
        |token| [b"\xff\0", token.as_bytes()].concat(),
        |token| token.into_bytes().into_iter().cycle().take(3 << 20).collect(),
        |token| [token.as_bytes(), b"\nalpha\n"].concat(),
    ];
    let names: [&[u8]; 7] =
        [b"a.md", b"d/b", b"d/e/\xff", b"d/e/\xfe", "d/e\u{301}".as_bytes(), b"d/.hidden/c", b"d/e/\xfd"];
    for ending in [
        vec![delete("/memories/a.md"), delete("/memories/d")],
        vec![rename("/memories/d", "/memories/q/r"), delete("/memories/q"), delete("/memories/a.md")],
        vec![
            insert("/memories/a.md"),
            insert("/memories/d/\u{e9}"),
            delete("/memories/a.md"),
            delete("/memories/d"),
        ],
    ] {
        let dir = scratch();
        let root = dir.path().join("memories");
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::create_dir_all(root.join("d/.hidden")).unwrap();
        for (n, name) in names.iter().enumerate() {
            fs::write(root.join(OsStr::from_bytes(name)), bytes[n % bytes.len()](token(n))).unwrap();
        }
        call(dir.path(), &ending);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "{ending:?}");
        let entries = walkdir::WalkDir::new(dir.path().join(".memdir")).into_iter().map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().is_file());
        let held: Vec<u8> = files.flat_map(|file| fs::read(file.path()).unwrap()).collect();
        for (n, name) in names.iter().enumerate() {
            let is_held = memchr::memmem::find(&held, token(n).as_bytes()).is_some();
            assert!(is_held, "{:?} {ending:?}", String::from_utf8_lossy(name));
        }
    }
}

#[test]
fn a_person_is_told_what_a_model_hears_as_an_input_output_error() {
    for thing in [Thing::Fifo, Thing::Junk, Thing::Link] {
        let dir = scratch();
        thing.put(dir.path(), ".memdir");
        let done =
            feed(&mut memdir(dir.path(), ["call", "--dir", "."]), create("/memories/b", "").to_string());
        assert_eq!(texts(&done), ["Error: The memory directory cannot be written: input/output error"]);
        assert!(done.err.starts_with("warning: ") && done.err.contains(".memdir"), "{thing:?}: {}", done.err);
    }
}
