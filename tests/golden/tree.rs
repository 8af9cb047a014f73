//! What is on disk after a case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::case::{Case, sha256};

/// Longer files are compared by their hash.
const TEXT_MAX: usize = 8192;
/// Longer files are compared by their size.
const HASH_MAX: u64 = 64 << 20;
/// What memdir itself may have below BASE.
const OWN: [&str; 3] = ["memories", ".memdir", "memdir.toml"];

#[derive(Default)]
struct Tree {
    files: BTreeMap<String, Value>,
    others: BTreeMap<String, String>,
    modes: BTreeMap<String, String>,
}

/// What differs from what a case wants, outside `memories` as well as in it.
pub fn compare(base: &Path, case: &Case) -> io::Result<Vec<String>> {
    let tree = Tree::read(&base.join("memories"), base)?;
    let modes =
        case.modes_after.keys().filter_map(|path| Some((path.clone(), tree.modes.get(path)?.clone())));
    let mut differences = differences("file", &case.files_after, &tree.files);
    differences.extend(self::differences("entry", &case.others_after, &tree.others));
    differences.extend(self::differences("mode", &case.modes_after, &modes.collect()));
    differences.extend(compare_outside(base, &case.setup.outside)?);
    Ok(differences)
}

fn compare_outside(base: &Path, outside: &BTreeMap<String, String>) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    for (path, text) in outside {
        if fs::read(base.join(path)).ok().as_deref() != Some(text.as_bytes()) {
            problems.push(format!("OUTSIDE file {path} changed"));
        }
    }
    let tops: BTreeSet<&str> = outside.keys().filter_map(|path| path.split('/').next()).collect();
    for entry in fs::read_dir(base)? {
        let name = entry?.file_name();
        let is_known = name.to_str().is_some_and(|name| OWN.contains(&name) || tops.contains(name));
        if !is_known {
            problems.push(format!("OUTSIDE: BASE gained {}", name.display()));
        }
    }
    for dir in tops.iter().filter(|&&top| !outside.contains_key(top)) {
        let tree = Tree::read(&base.join(dir), base)?;
        let files = tree.files.keys().filter(|path| !outside.contains_key(&format!("{dir}/{path}")));
        let others = tree.others.iter().filter(|(_, kind)| *kind != "dir").map(|(path, _)| path);
        problems.extend(files.chain(others).map(|path| format!("OUTSIDE directory {dir} gained {path}")));
    }
    Ok(problems)
}

fn differences<V: PartialEq + Debug>(
    what: &str,
    want: &BTreeMap<String, V>,
    got: &BTreeMap<String, V>,
) -> Vec<String> {
    let paths: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
    paths
        .into_iter()
        .filter(|&path| want.get(path) != got.get(path))
        .map(|path| format!("{what} {path:?}: want {:?}, got {:?}", want.get(path), got.get(path)))
        .collect()
}

impl Tree {
    fn read(top: &Path, base: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        if top.is_dir() {
            tree.walk(top, b"", base)?;
        }
        Ok(tree)
    }

    fn walk(&mut self, dir: &Path, below: &[u8], base: &Path) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let relative = if below.is_empty() {
                name.as_bytes().to_vec()
            } else {
                [below, b"/", name.as_bytes()].concat()
            };
            let key = String::from_utf8(relative.clone())
                .unwrap_or_else(|_| format!("b64:{}", BASE64_STANDARD.encode(&relative)));
            let metadata = path.symlink_metadata()?;
            let kind = metadata.file_type();
            self.modes.insert(key.clone(), format!("{:04o}", metadata.permissions().mode() & 0o7777));
            if kind.is_file() {
                self.files.insert(key, content(&path, metadata.len())?);
                continue;
            }
            if kind.is_dir() {
                self.walk(&path, &relative, base)?;
            }
            let other = if kind.is_dir() {
                "dir".to_owned()
            } else if kind.is_symlink() {
                let target = fs::read_link(&path)?;
                format!("link -> {}", target.to_string_lossy().replace(&*base.to_string_lossy(), "{BASE}"))
            } else if kind.is_fifo() {
                "fifo".to_owned()
            } else if kind.is_socket() {
                "socket".to_owned()
            } else {
                "other".to_owned()
            };
            self.others.insert(key, other);
        }
        Ok(())
    }
}

fn content(path: &Path, size: u64) -> io::Result<Value> {
    if size > HASH_MAX {
        return Ok(json!({ "size": size }));
    }
    let bytes = fs::read(path)?;
    if bytes.len() > TEXT_MAX {
        return Ok(json!({ "sha256": sha256(&bytes), "size": bytes.len() }));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(error) => json!({ "b64": BASE64_STANDARD.encode(error.as_bytes()) }),
    })
}
