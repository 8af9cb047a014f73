//! Archives and directories: what goes out comes back, and nothing hostile comes in.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use memdir::{
    ImportError, Imported, Limits, MemoryPath, Others, Settings, Store, export, import_archive,
    import_directory,
};
use serde_json::Value;

/// All files below a directory, by path; links and FIFOs by what they are.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tree = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if entry.file_type().is_file() {
            tree.insert(path, std::fs::read(entry.path()).unwrap());
        } else if !entry.file_type().is_dir() {
            tree.insert(path, b"special".to_vec());
        }
    }
    tree
}

/// A store in a directory of its own.
struct World {
    dir: tempfile::TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        // In memory, where there is such a file system: nothing here is about syncs.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let store = Store::open(dir.path().join("base")).unwrap();
        Self { dir, store }
    }

    fn memories(&self) -> std::path::PathBuf {
        self.dir.path().join("base/memories")
    }

    fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        tree(&self.memories())
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let (path, text) = (memory(path), text.as_ref().to_vec());
        self.store
            .change(move |files| {
                files.read(&path)?;
                Ok::<_, memdir::Error>((vec![memdir::Edit::write(&path, text.clone())], ()))
            })
            .unwrap();
    }

    fn export(&self, history: bool) -> Vec<u8> {
        let mut archive = Vec::new();
        export(&self.store, &mut archive, history).unwrap();
        archive
    }

    fn import(&self, archive: &[u8]) -> Result<Imported, ImportError> {
        self.import_with(archive, Others::Keep, &Limits::default())
    }

    fn import_with(&self, archive: &[u8], others: Others, limits: &Limits) -> Result<Imported, ImportError> {
        import_archive(&self.store, Cursor::new(archive), &MemoryPath::ROOT, others, limits)
    }

    fn import_directory(&self, directory: &Path) -> Result<Imported, ImportError> {
        import_directory(&self.store, directory, &MemoryPath::ROOT, Others::Keep, &Limits::default())
    }
}

fn memory(path: &str) -> MemoryPath {
    MemoryPath::parse(&format!("/memories/{path}")).unwrap()
}

fn limits(files: u64, bytes: u64) -> Limits {
    let mut limits = Limits::default();
    (limits.files, limits.bytes) = (files, bytes);
    limits
}

/// A store with whatever is hard to pack.
fn full() -> World {
    let world = World::new();
    let long = format!("{0}/{0}/{0}/{1}.md", "d".repeat(255), "é".repeat(100));
    for (path, text) in [
        ("a.md", "plain\n"),
        ("a/b.md", "below a name that begins so, too"),
        ("empty.md", ""),
        ("ünïcödé/日本語.md", "crlf\r\n"),
        ("-r --option.md", "not one"),
        (&long, "far down"),
        (&"n".repeat(100), "as long as the oldest format takes"),
        (&format!("{}.md", "m".repeat(98)), "a little longer"),
        ("large.md", &"0123456789abcde\n".repeat(65_536)),
    ] {
        world.write(path, text);
    }
    std::fs::write(world.memories().join("binary.bin"), [0, 255, 254, 10]).unwrap();
    world
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let world = full();
    let archive = world.export(false);
    let other = World::new();
    let imported = other.import(&archive).unwrap();
    assert_eq!(imported.written.len(), 10);
    assert!(imported.change_id.is_some());
    assert_eq!(other.tree(), world.tree());
    // Once more: all of it is there.
    let again = other.import(&archive).unwrap();
    assert_eq!((again.written.len(), again.unchanged, again.conflicts.len()), (0, 10, 0));
    assert_eq!(again.change_id, None);
    assert_eq!(other.import(&world.export(true)).unwrap(), again);
}

#[test]
fn an_export_is_a_plain_archive_that_tells_nothing_of_its_owner() {
    let world = full();
    let path = world.memories().join("a.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let bytes = world.export(true);
    assert_eq!(bytes, world.export(true), "the same files make the same bytes");
    let mut seen = BTreeMap::new();
    let mut names = Vec::new();
    let mut archive = tar::Archive::new(&*bytes);
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let header = entry.header();
        assert_eq!(header.entry_type(), tar::EntryType::Regular, "{name}");
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
        if name == "memories/a.md" {
            assert_eq!(header.mode().unwrap(), 0o640);
            let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
            let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
            assert_eq!(header.mtime().unwrap(), modified);
        }
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        names.push(name.clone());
        if let Some(path) = name.strip_prefix("memories/") {
            seen.insert(path.to_owned(), content);
        }
    }
    assert_eq!(seen, world.tree());
    assert_eq!(names.pop().unwrap(), "history.jsonl");
    assert!(names.is_sorted());
}

#[test]
fn the_history_is_exported_with_what_every_version_held() {
    let world = World::new();
    world.write("a.md", "one");
    world.write("a.md", "two");
    world.write("b.bin", [255, 0]);
    let path = memory("a.md");
    world.store.change(move |_| Ok::<_, memdir::Error>((vec![memdir::Edit::remove(&path)], ()))).unwrap();
    let bytes = world.export(true);
    let mut archive = tar::Archive::new(&*bytes);
    let mut lines = String::new();
    for entry in archive.entries().unwrap() {
        lines.clear();
        let mut entry = entry.unwrap();
        if entry.path().unwrap().to_str() == Some("history.jsonl") {
            std::io::Read::read_to_string(&mut entry, &mut lines).unwrap();
        }
    }
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line.get(name).map(|value| value.as_str().unwrap_or("null").to_owned());
            (text("operation").unwrap(), text("path").unwrap(), text("content"), text("content_base64"))
        })
        .collect();
    let some = |text: &str| Some(text.to_owned());
    let line = |operation: &str, path: &str, content, base64| {
        (operation.to_owned(), format!("/memories/{path}"), content, base64)
    };
    assert_eq!(
        told,
        [
            line("created", "a.md", some("one"), None),
            line("modified", "a.md", some("two"), None),
            line("created", "b.bin", None, some("/wA=")),
            line("deleted", "a.md", some("null"), None),
        ]
    );
    assert_eq!(lines[0]["memory_id"], lines[3]["memory_id"]);
}

#[test]
fn an_empty_store_is_exported_and_imported_as_one() {
    let archive = World::new().export(true);
    let world = World::new();
    assert_eq!(world.import(&archive).unwrap(), Imported::default());
    assert_eq!(world.tree(), BTreeMap::new());
}

/// A writer that takes so many bytes, and then no more.
struct Full(usize, Vec<u8>);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.0.saturating_sub(self.1.len()).min(bytes.len());
        self.1.extend_from_slice(&bytes[..room]);
        if room == 0 && !bytes.is_empty() { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_export_that_fails_is_no_archive() {
    let world = World::new();
    world.write("a.md", "a");
    world.write("b.md", "b");
    let whole = world.export(true).len();
    for room in [0, 512, 1024, 1536, 2048, 2500, whole - 1] {
        let mut full = Full(room, Vec::new());
        let error = export(&world.store, &mut full, true).unwrap_err();
        assert!(error.to_string().starts_with("cannot write the archive: "), "{error}");
        assert_eq!(full.1.len(), room);
        if room < whole - 512 {
            assert!(World::new().import(&full.1).is_err(), "{room}");
        }
    }
}

/// An entry of an archive, as any program may have written it.
fn entry(name: impl AsRef<[u8]>, kind: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    sized(name, kind, content.len() as u64, content)
}

fn sized(name: impl AsRef<[u8]>, kind: u8, size: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let (name, content) = (name.as_ref(), content.as_ref());
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..124].copy_from_slice(b"0000000\x000000000\0");
    if size < 1 << 33 {
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        block[124] = 0x80;
        block[128..136].copy_from_slice(&size.to_be_bytes());
    }
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[157..162].copy_from_slice(b"a.md\0");
    block[257..265].copy_from_slice(b"ustar\x0000");
    seal(&mut block);
    block.extend_from_slice(content);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

fn seal(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn file(name: impl AsRef<[u8]>) -> Vec<u8> {
    entry(name, b'0', "hostile")
}

/// Records in front of an entry.
fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let length = (rest.len()..rest.len() + 9).find(|n| n.to_string().len() + rest.len() == *n).unwrap();
        format!("{length}{rest}")
    };
    entry("pax", b'x', records.iter().map(record).collect::<String>())
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.extend([0; 1024]);
    bytes
}

/// Archives of one good file and something else, with what is said of them.
fn hostile() -> Vec<(Vec<Vec<u8>>, &'static str)> {
    let long = |name: &str| entry("././@LongLink", b'L', format!("{name}\0"));
    vec![
        (vec![file("/etc/passwd")], "`/etc/passwd` cannot be imported: its name is absolute"),
        (vec![file("../up.md")], "`../up.md` cannot be imported: its name leads upwards"),
        (vec![file("a/../../up.md")], "its name leads upwards"),
        (vec![file("a/../b.md")], "its name leads upwards"),
        (vec![file("..")], "its name leads upwards"),
        (vec![long("../up.md"), file("b.md")], "`../up.md` cannot be imported: its name leads upwards"),
        (vec![long("/up.md"), file("b.md")], "its name is absolute"),
        (vec![pax(&[("path", "../up.md")]), file("b.md")], "its name leads upwards"),
        (vec![pax(&[("path", "/up.md")]), long("b.md"), file("b.md")], "its name is absolute"),
        (vec![entry("../d/", b'5', "")], "its name leads upwards"),
        (vec![entry("l", b'2', "")], "`l` cannot be imported: it is a symbolic link"),
        (vec![entry("l", b'1', "")], "it is a hard link"),
        (vec![entry("c", b'3', "")], "it is a device"),
        (vec![entry("b", b'4', "")], "it is a device"),
        (vec![entry("p", b'6', "")], "it is a FIFO"),
        (vec![entry("s", b'S', "")], "it is a sparse file"),
        (
            vec![pax(&[("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "9")]), file("b.md")],
            "it is a sparse file",
        ),
        (vec![entry("v", b'V', "")], "it is neither a file nor a directory"),
        (vec![entry("m", b'M', "")], "it is neither a file nor a directory"),
        (vec![entry("d/", b'5', "content")], "it is a directory with content"),
        (vec![entry("d/", b'0', "content")], "it is a directory with content"),
        (vec![pax(&[("size", "0")]), file("b.md")], "two sizes are told of it"),
        (vec![pax(&[("size", "1024")]), file("b.md")], "two sizes are told of it"),
        (vec![file(b"\xff.md")], "its name is not UTF-8"),
        (vec![file(r"a\b.md")], "backslash is not allowed"),
        (vec![file("a\u{202e}dm.md")], "control and format characters are not allowed"),
        (vec![pax(&[("path", "a\0b.md")]), file("b.md")], "control and format characters are not allowed"),
        (vec![file("%2e%2e%2fup.md")], "it would escape /memories"),
        (vec![long(&format!("{}.md", "a".repeat(253))), file("b.md")], "a segment is longer than 255 bytes"),
        (vec![long(&format!("{}b.md", "a/".repeat(20))), file("b.md")], "it has more than 20 segments"),
        (
            vec![long(&format!("{}b.md", "aaaaaaaaa/".repeat(110))), file("b.md")],
            "it is longer than 1024 bytes",
        ),
        // Refused at once: a hundred thousand of these would fill the memory.
        (
            vec![long(&"a/b".repeat(20_000)), file("b.md"), entry("l", b'2', "")],
            "it is longer than 1024 bytes",
        ),
        (vec![long(&"a/".repeat(40_000)), file("b.md")], "a name or attributes of more than 65536 bytes"),
        (vec![file(".hidden.md")], "it is hidden, and the settings of this store forbid that"),
        (vec![file("a/.b/c.md")], "it is hidden"),
        (vec![entry(".hidden/", b'5', "")], "it is hidden"),
        (vec![file(".git/config")], "nothing is ever put into `.git`"),
        (vec![file("a/.GIT/hooks/pre-commit")], "nothing is ever put into `.git`"),
        (vec![file("good.md")], "another one is at `/memories/good.md`, too"),
        (vec![file("./good.md")], "another one is at `/memories/good.md`, too"),
        (vec![file("é.md"), file("e\u{301}.md")], "another one is at `/memories/é.md`, too"),
        (vec![file("good.md/below.md")], "a file is at `/memories/good.md`, so nothing can be below it"),
        (vec![file("a/b/c.md"), file("a")], "a file is at `/memories/a`, so nothing can be below it"),
        (vec![entry("good.md/", b'5', "")], "a file and a directory are at `/memories/good.md`"),
        (vec![file(".")], "`.` cannot be imported: it has no name"),
        (vec![file("")], "it has no name"),
        (vec![entry("big.md", b'0', "x".repeat((1 << 20) + 1))], "it is over the limit of 1048576 bytes"),
        (vec![sized("bomb.md", b'0', 1 << 40, "small")], "it is over the limit of 1048576 bytes"),
        (vec![sized("bomb.md", b'0', u64::MAX, "small")], "it is over the limit of 1048576 bytes"),
        (vec![sized("history.jsonl", b'0', u64::MAX, "small")], "it was cut off"),
        (vec![sized("long", b'L', u64::MAX, "small")], "a name or attributes of more than 65536 bytes"),
        (vec![sized("cut.md", b'0', 9_000, "small")], "it was cut off"),
        (vec![vec![7; 512]], "it is damaged"),
        (vec![entry("pax", b'x', "99 path=b.md\n"), file("b.md")], "it is damaged"),
        (vec![pax(&[("size", "many")]), file("b.md")], "it is damaged"),
    ]
}

#[test]
fn nothing_hostile_is_imported_and_nothing_beside_it() {
    for (entries, problem) in hostile() {
        let mut all = vec![file("good.md")];
        all.extend(entries);
        let archive = archive(&all);
        let world = World::new();
        world.write("mine.md", "mine");
        let outside = tree(world.dir.path());
        for others in [Others::Keep, Others::Overwrite] {
            let error = world.import_with(&archive, others, &Limits::default()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error:?} and not {problem:?}");
            assert!(!error.contains(world.dir.path().to_str().unwrap()), "{error:?} names the host");
        }
        let is_memory = |(path, _): &(&String, &Vec<u8>)| !path.starts_with("base/.memdir/");
        let after = tree(world.dir.path());
        assert!(outside.iter().filter(is_memory).eq(after.iter().filter(is_memory)), "{problem}");
    }
}

#[test]
fn a_read_only_place_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.read_only = vec![memory("policies")];
    let store = Store::builder(dir.path()).settings(settings).open().unwrap();
    let import = |archive: &[u8], into: &MemoryPath| {
        import_archive(&store, Cursor::new(archive), into, Others::Keep, &Limits::default())
    };
    let hostile = archive(&[file("good.md"), entry("policies/", b'5', ""), file("policies/a.md")]);
    let error = import(&hostile, &MemoryPath::ROOT).unwrap_err().to_string();
    assert_eq!(error, "the entry `policies/a.md` cannot be imported: its place is read-only in this store");
    assert!(import(&archive(&[file("a.md")]), &memory("policies")).is_err());
    let imported = import(&archive(&[entry("./", b'5', ""), file("good.md")]), &MemoryPath::ROOT).unwrap();
    assert_eq!(imported.written, [memory("good.md")]);
}

#[test]
fn what_is_no_archive_says_what_it_is() {
    let world = World::new();
    for (bytes, problem) in [
        (&b""[..], "it is no tar archive"),
        (b"short", "it is no tar archive"),
        (&[b'x'; 2048], "it is no tar archive"),
        (b"\x1f\x8b\x08\0", "it is compressed with gzip: unpack that first"),
        (b"BZh91AY&SY", "it is compressed with bzip2: unpack that first"),
        (b"\xfd7zXZ\0\0", "it is compressed with xz: unpack that first"),
        (b"\x28\xb5\x2f\xfd\0", "it is compressed with zstd: unpack that first"),
        (b"PK\x03\x04", "it is compressed with zip: unpack that first"),
    ] {
        let error = world.import(bytes).unwrap_err().to_string();
        assert_eq!(error, format!("the archive cannot be imported: {problem}"));
    }
    assert_eq!(world.import(&[0; 512]).unwrap(), Imported::default());
}

#[test]
fn an_archive_that_was_cut_off_anywhere_is_not_imported() {
    let world = World::new();
    let whole = archive(&[
        file("a.md"),
        pax(&[("path", "b.md")]),
        file("b.md"),
        entry("././@LongLink", b'L', "c.md\0"),
        entry("c.md", b'0', "x".repeat(512)),
        entry("d/", b'5', ""),
    ]);
    for length in (0..whole.len() - 1024).step_by(64) {
        let error = world.import(&whole[..length]).unwrap_err();
        assert!(matches!(error, ImportError::Archive { .. }), "{length}: {error}");
    }
    assert_eq!(world.tree(), BTreeMap::new());
    assert_eq!(world.import(&whole).unwrap().written.len(), 3);
}

#[test]
fn there_is_a_limit_to_files_directories_and_bytes() {
    let all = archive(&[entry("d/", b'5', ""), entry("d/a.md", b'0', "12345"), entry("b.md", b'0', "67890")]);
    for (files, bytes, problem) in [
        (2, 10, ""),
        (1, 10, "there are more than 1 files"),
        (2, 9, "there are more than 9 bytes"),
        (0, 0, "there are more than 0 directories"),
    ] {
        let world = World::new();
        let imported = world.import_with(&all, Others::Keep, &limits(files, bytes));
        assert_eq!(imported.map_or_else(|e| e.to_string(), |_| String::new()), problem);
        assert_eq!(world.tree().len(), if problem.is_empty() { 2 } else { 0 });
    }
    // A history is no memory, and may be larger than one.
    let history = entry("history.jsonl", b'0', "x".repeat(2 << 20));
    let world = World::new();
    let all = archive(&[file("memories/a.md"), history.clone()]);
    assert_eq!(world.import_with(&all, Others::Keep, &limits(2, 100)).unwrap().written, [memory("a.md")]);
    // Unless it is one.
    let all = archive(&[file("a.md"), history]);
    let error = world.import_with(&all, Others::Keep, &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("it is over the limit"), "{error}");
    let all = archive(&[file("a.md"), entry("history.jsonl", b'0', "x".repeat(90))]);
    let error = world.import_with(&all, Others::Keep, &limits(2, 95)).unwrap_err().to_string();
    assert_eq!(error, "there are more than 95 bytes");
}

#[test]
fn only_what_lies_beside_memories_in_an_export_is_passed_over() {
    for (entries, expected) in [
        (vec![file("memories/a.md"), file("history.jsonl")], vec!["a.md"]),
        (vec![file("./memories/a.md"), file("./memdir.toml")], vec!["a.md"]),
        (
            vec![entry("./", b'5', ""), entry("./memories/", b'5', ""), file("./memories/d/a.md")],
            vec!["d/a.md"],
        ),
        (vec![file("memories/a.md"), file("b.md")], vec!["b.md", "memories/a.md"]),
        (vec![file("memories/a.md"), entry("d/", b'5', "")], vec!["memories/a.md"]),
        (vec![file("memories/history.jsonl")], vec!["history.jsonl"]),
        (vec![file("memories")], vec!["memories"]),
        (vec![file("history.jsonl")], vec!["history.jsonl"]),
        (vec![entry("d", b'\0', ""), entry("e/", b'\0', "")], vec!["d"]),
        (
            vec![
                pax(&[("path", "long.md"), ("mtime", "1.5")]),
                entry("g", b'g', ""),
                entry("x.md", b'7', ""),
            ],
            vec!["long.md"],
        ),
    ] {
        let world = World::new();
        world.import(&archive(&entries)).unwrap();
        assert_eq!(world.tree().into_keys().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn what_stands_there_already_is_a_conflict_or_overwritten() {
    let world = World::new();
    world.write("same.md", "hostile");
    world.write("other.md", "mine");
    world.write("d/a.md", "mine");
    let all =
        archive(&[file("new.md"), file("same.md"), file("other.md"), file("d"), file("other.md.d/x.md")]);
    let imported = world.import(&all).unwrap();
    assert_eq!(imported.written, [memory("new.md"), memory("other.md.d/x.md")]);
    assert_eq!(imported.conflicts, [memory("other.md"), memory("d")]);
    assert_eq!(imported.unchanged, 1);
    assert_eq!(world.tree()["other.md"], b"mine");
    let imported = world.import_with(&all, Others::Overwrite, &Limits::default()).unwrap();
    assert_eq!(imported.written, [memory("other.md")]);
    assert_eq!(imported.conflicts, [memory("d")]);
    assert_eq!((&*world.tree()["other.md"], &*world.tree()["d/a.md"]), (&b"hostile"[..], &b"mine"[..]));
    // Below another directory, and below what is a file.
    let import_into = |into: &str| {
        let bytes = Cursor::new(archive(&[file("memories/x.md")]));
        import_archive(&world.store, bytes, &memory(into), Others::Keep, &Limits::default()).unwrap()
    };
    assert_eq!(import_into("in/there").written, [memory("in/there/x.md")]);
    assert_eq!(import_into("new.md").conflicts, [memory("new.md/x.md")]);
}

#[test]
fn many_files_are_one_change() {
    let world = World::new();
    let files: Vec<_> = (0..600).map(|n| file(format!("{}/{n}.md", n % 7))).collect();
    let imported = world.import(&archive(&files)).unwrap();
    assert_eq!(imported.written.len(), 600);
    let mut log = memdir::Log::default();
    log.change = imported.change_id;
    let mut versions = 0;
    let history = world.store.history().unwrap();
    history
        .versions(&log, &mut |_| {
            versions += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(versions, 600);
    // And so one undo takes all of it back.
    let undo = memdir::Restore::Change(imported.change_id.unwrap());
    assert_eq!(world.store.restore(&undo, Others::Keep).unwrap().memories.len(), 600);
    assert_eq!(world.tree(), BTreeMap::new());
}

/// An archive that is another one when it is read again.
struct Turncoat {
    now: Cursor<Vec<u8>>,
    later: Vec<Vec<u8>>,
}

impl std::io::Read for Turncoat {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.now.read(buffer)
    }
}

impl std::io::Seek for Turncoat {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        if let std::io::SeekFrom::Start(_) = to {
            self.now = Cursor::new(self.later.remove(0));
        }
        self.now.seek(to)
    }
}

#[test]
fn an_archive_that_changes_while_it_is_read_says_what_was_done_by_then() {
    let files: Vec<_> = (0..300).map(|n| file(format!("{n:03}.md"))).collect();
    let whole = archive(&files);
    let with = |at: usize, other: Vec<u8>| {
        let mut files = files.clone();
        files[at] = other;
        archive(&files)
    };
    for (later, written, problem) in [
        (with(3, file("x.md")), 0, "the entry `x.md` cannot be imported: it changed while it was read"),
        (with(3, file("../x.md")), 0, "the entry `../x.md` cannot be imported: it changed while it was read"),
        (
            with(3, entry("003.md", b'0', "more")),
            0,
            "`003.md` cannot be imported: it changed while it was read",
        ),
        (with(3, entry("003.md", b'2', "")), 0, "`003.md` cannot be imported: it is a symbolic link"),
        (with(299, file("x.md")), 256, "; 256 files were imported before that, as change `memchg_"),
        (archive(&[files.clone(), vec![file("more.md")]].concat()), 256, "`more.md` cannot be imported"),
        (whole[..150 * 1024].to_vec(), 0, "it was cut off"),
        (archive(&files[..150]), 0, "it changed while it was read"),
    ] {
        let world = World::new();
        let source = Turncoat { now: Cursor::default(), later: vec![whole.clone(), later] };
        let into = MemoryPath::ROOT;
        let error =
            import_archive(&world.store, source, &into, Others::Keep, &Limits::default()).unwrap_err();
        assert!(error.to_string().contains(problem), "{error} and not {problem}");
        assert_eq!(world.tree().len(), written, "{error}");
        if let ImportError::Broken { change, .. } = error {
            world.store.restore(&memdir::Restore::Change(change), Others::Keep).unwrap();
            assert_eq!(world.tree(), BTreeMap::new());
        }
    }
}

/// Bytes of a good archive are changed at random; the sums of headers are made right again half of the time, so that
/// what lies behind them is reached.
#[test]
fn a_damaged_archive_does_no_harm() {
    let whole = archive(&[
        entry("d/", b'5', ""),
        file("d/a.md"),
        pax(&[("path", "d/b.md"), ("size", "7")]),
        file("b.md"),
        entry("././@LongLink", b'L', "d/c.md\0"),
        entry("c.md", b'0', "x".repeat(700)),
        entry("l", b'0', "a.md"),
    ]);
    let world = World::new();
    world.write("mine.md", "mine");
    std::fs::write(world.dir.path().join("beside"), "beside").unwrap();
    let mut state = 42_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let (mut taken, mut refused) = (0, 0);
    for round in 0..2_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random(4) {
            let block = random(bytes.len() / 512) * 512;
            // Most often in what a header says first, and in its size and kind.
            let at = block + [random(100), 124 + random(33), random(512)][random(3)];
            bytes[at] = [random(256), usize::from(b'.'), usize::from(b'/'), usize::from(b'0') + random(8)]
                .map(|byte| u8::try_from(byte).unwrap())[random(4)];
            if random(2) == 0 && bytes[block + 257..].starts_with(b"ustar") {
                seal(&mut bytes[block..]);
            }
        }
        if random(8) == 0 {
            bytes.truncate(random(bytes.len()));
        }
        let into = memory("in");
        let others = if round % 2 == 0 { Others::Keep } else { Others::Overwrite };
        match import_archive(&world.store, Cursor::new(&bytes), &into, others, &Limits::default()) {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 50 && refused > 500, "{taken} taken, {refused} refused");
    for (path, content) in tree(world.dir.path()) {
        let is_known = path == "beside"
            || path == "base/memories/mine.md"
            || path.starts_with("base/memories/in/")
            || path.starts_with("base/.memdir/");
        assert!(is_known, "{path} came to be");
        if path.ends_with("/mine.md") {
            assert_eq!(content, b"mine");
        }
    }
    assert_eq!(tree(world.dir.path())["beside"], b"beside");
}

fn lay_out(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn a_directory_is_imported_without_what_is_hidden() {
    let dir = tempfile::tempdir().unwrap();
    lay_out(
        dir.path(),
        &[
            ("a.md", "a"),
            ("d/é/b.md", "b"),
            (".git/config", "no"),
            (".hidden", "no"),
            ("d/.obsidian/x", "no"),
            ("node_modules/m/x.md", "no"),
        ],
    );
    let world = World::new();
    let imported = world.import_directory(dir.path()).unwrap();
    assert_eq!(imported.written, [memory("a.md"), memory("d/é/b.md")]);
    assert_eq!(world.import_directory(dir.path()).unwrap().unchanged, 2);
}

#[test]
fn an_unpacked_export_and_another_store_are_imported_as_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    lay_out(
        dir.path(),
        &[("memories/a.md", "a"), ("memdir.toml", ""), (".memdir/x", ""), ("history.jsonl", "{}")],
    );
    let world = World::new();
    assert_eq!(world.import_directory(dir.path()).unwrap().written, [memory("a.md")]);
}

#[test]
fn a_directory_with_what_is_no_plain_file_is_refused() {
    for (name, problem) in [
        ("link", "the entry `d/link` cannot be imported: it is a symbolic link"),
        ("linked", "the entry `d/linked` cannot be imported: it is a symbolic link"),
        ("fifo", "the entry `d/fifo` cannot be imported: it is neither a file nor a directory"),
        ("a\\b", "the entry `d/a\\b` cannot be imported: backslash is not allowed"),
        ("big", "the entry `d/big` cannot be imported: it is over the limit of 1048576 bytes"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        lay_out(dir.path(), &[("a.md", "a"), ("d/b.md", "b")]);
        let at = dir.path().join("d").join(name);
        match name {
            "link" => std::os::unix::fs::symlink("b.md", at).unwrap(),
            "linked" => std::os::unix::fs::symlink("/etc", at).unwrap(),
            "fifo" => {
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &at, kind, rustix::fs::Mode::RWXU, 0).unwrap();
            }
            "big" => std::fs::File::create(at).unwrap().set_len(1 << 40).unwrap(),
            _ => std::fs::write(at, "x").unwrap(),
        }
        let world = World::new();
        assert_eq!(world.import_directory(dir.path()).unwrap_err().to_string(), problem);
        assert_eq!(world.tree(), BTreeMap::new());
    }
}

#[test]
fn what_is_no_directory_is_refused_and_so_is_the_store_itself() {
    let world = World::new();
    world.write("a.md", "a");
    let beside = world.dir.path().join("a file");
    std::fs::write(&beside, "x").unwrap();
    assert!(matches!(world.import_directory(&beside), Err(ImportError::Read { .. })));
    assert!(matches!(
        world.import_directory(&world.dir.path().join("nowhere")),
        Err(ImportError::Read { .. })
    ));
    let error = world.import_directory(world.dir.path()).unwrap_err().to_string();
    assert_eq!(error, "the entry `base` cannot be imported: it is the very store that is imported into");
    // Its own files are there already.
    assert_eq!(world.import_directory(&world.memories()).unwrap().unchanged, 1);
    assert_eq!(world.import_directory(&world.dir.path().join("base")).unwrap().unchanged, 1);
}

/// What stands in a directory, directories too.
#[cfg(feature = "cli")]
fn all(root: &Path) -> Vec<String> {
    let below = |entry: walkdir::Result<walkdir::DirEntry>| {
        entry.unwrap().path().strip_prefix(root).unwrap().to_str().unwrap().to_owned()
    };
    walkdir::WalkDir::new(root).min_depth(1).sort_by_file_name().into_iter().map(below).collect()
}

#[cfg(feature = "cli")]
fn memdir(here: &Path, args: &[&str]) -> crate::process::Done {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_memdir"));
    command.args(args).env_remove("MEMDIR_DIR").current_dir(here).output().unwrap().into()
}

#[cfg(feature = "cli")]
#[test]
fn an_import_that_is_refused_leaves_nothing_of_the_store_that_was_made_for_it() {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let here = dir.path();
    let token = concat!("ghp", "_Zq8kLm2Nx7Rt4Vw9Yb3Cd6Fg1Hj5KpQsUaEi");
    for source in ["link", "secret", "fine"] {
        std::fs::create_dir(here.join(source)).unwrap();
        std::fs::write(here.join(source).join("a.md"), "fine\n").unwrap();
    }
    std::os::unix::fs::symlink("a.md", here.join("link/b.md")).unwrap();
    std::fs::write(here.join("secret/b.md"), token).unwrap();
    std::fs::write(here.join("broken.tar"), "no archive").unwrap();
    std::fs::create_dir(here.join("empty")).unwrap();
    std::fs::create_dir(here.join("settings")).unwrap();
    std::fs::write(here.join("settings/memdir.toml"), "file_limit = 2\n").unwrap();
    let before = all(here);
    let refused: &[&[&str]] = &[
        &["link"],
        &["secret"],
        &["broken.tar"],
        &["fine", "--max-files", "0"],
        &["fine", "--into", "../x"],
        &["fine", "--into", "/memories/.git"],
    ];
    for base in ["new", "new/and/deep", "new/../other", "empty", "settings"] {
        for args in refused {
            let done = memdir(here, &[&["import"], *args, &["--dir", base]].concat());
            assert!(matches!(done.code, Some(1 | 2)), "{base} {args:?}: {done:?}");
            assert_eq!(all(here), before, "{base} {args:?}: {done:?}");
            assert!(!done.err.contains("stays"), "{done:?}");
        }
    }
    assert_eq!(memdir(here, &["import", "fine", "--dir", "settings"]).code, Some(1), "the limit is 2 bytes");
    assert_eq!(all(here), before);

    // What was there before stays, however little it is.
    assert_eq!(memdir(here, &["init", "--dir", "new"]).code, Some(0));
    let before = all(here);
    assert_eq!(memdir(here, &["import", "secret", "--dir", "new"]).code, Some(1));
    assert_eq!(all(here), before);
    assert_eq!(memdir(here, &["import", "fine", "--dir", "new"]).code, Some(0));
}
