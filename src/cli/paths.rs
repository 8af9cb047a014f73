//! Paths of memories as people write them: `/memories/a.md`, `a.md`, or where the file is on disk.

use std::path::{Component, Path, PathBuf};

use super::fault::Fault;
use super::place::quoted;
use crate::error::Error;
use crate::path::MemoryPath;
use crate::store::Look;

/// Where a path is read.
pub(super) struct Whereabouts {
    /// The working directory.
    pub(super) here: PathBuf,
    /// The store's `memories`, absolute.
    pub(super) memories: PathBuf,
}

impl Whereabouts {
    /// The store is in `base`, which is seen from `here`, an absolute path.
    pub(super) fn new(here: PathBuf, base: &Path) -> Self {
        let memories = flat(&here.join(base)).join("memories");
        Self { here, memories }
    }

    /// Reads a path. A relative one is looked for on disk first, `is_there` telling whether something stands at a place.
    ///
    /// Only the texts are compared: a path that leads into the store through a link is none of it.
    pub(super) fn read(&self, text: &str, is_there: impl Fn(&Path) -> bool) -> Result<MemoryPath, Fault> {
        if text.is_empty() {
            return Err(Fault::usage("the path is empty").hint("the whole store is `/memories`"));
        }
        if text == "/memories" || text.starts_with("/memories/") {
            return parse(text, text);
        }
        let place = flat(&self.here.join(text));
        let below = place.strip_prefix(&self.memories).ok().and_then(Path::to_str);
        if Path::new(text).is_absolute() {
            let below = below.ok_or_else(|| {
                Fault::usage(format!("`{text}` is not in the store"))
                    .hint("name a memory as `/memories/a.md`, as `a.md`, or by its place on disk")
            })?;
            return parse(text, &format!("/memories/{below}"));
        }
        match below {
            Some(below) if is_there(&place) || place.parent().is_some_and(&is_there) => {
                parse(text, &format!("/memories/{below}"))
            }
            _ => parse(text, &format!("/memories/{text}")),
        }
    }
}

fn parse(given: &str, path: &str) -> Result<MemoryPath, Fault> {
    MemoryPath::parse(path).map_err(|rule| Fault::usage(format!("`{given}` is not a valid path: {rule}")))
}

/// The path without `.` and `..`, by its text alone.
pub(super) fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = flat.pop(),
            other => flat.push(other),
        }
    }
    flat
}

/// Why there is no file to be read at a path.
pub(super) fn no_file(path: &MemoryPath, look: Look) -> Fault {
    let path = path.clone();
    match look {
        Look::Directory => Fault::failed(format!("`{path}` is a directory"))
            .hint(format!("`memdir tree {}` shows what is in it", quoted(&path.to_string()))),
        Look::Missing | Look::File { .. } => Error::Missing { path }.into(),
        Look::BelowFile(file) => Error::BelowFile { path, file }.into(),
        Look::Link | Look::BelowLink => Error::Link { path }.into(),
        Look::Special => Error::Unsupported { path }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_of_the_tool_or_below_the_memories_or_on_disk() {
        // What is on disk: /home/me/memory/memories/notes/a.md.
        let is_there = |path: &Path| Path::new("/home/me/memory/memories/notes/a.md").starts_with(path);
        let cases = [
            ("/home/me", "/memories", ""),
            ("/home/me", "/memories/notes/a.md", "notes/a.md"),
            ("/home/me", "/memories/notes/", "notes"),
            ("/home/me", "notes/a.md", "notes/a.md"),
            ("/home/me", "notes/", "notes"),
            ("/home/me", "./notes/../b.md", "b.md"),
            ("/home/me", "memory/memories/notes/a.md", "notes/a.md"),
            ("/home/me", "memory/memories/notes/gone.md", "notes/gone.md"),
            ("/home/me", "memory/memories", ""),
            ("/home/me", "/home/me/memory/memories/x/y.md", "x/y.md"),
            ("/home/me", "/home/me/memory/./memories/", ""),
            ("/home/me/memory/memories/notes", "a.md", "notes/a.md"),
            ("/home/me/memory/memories/notes", "../b.md", "b.md"),
            ("/home/me/memory/memories/notes", ".", "notes"),
            ("/home/me/memory/memories/notes", "notes/a.md", "notes/a.md"),
            ("/home/me/memory/memories/notes", "other/deep/b.md", "other/deep/b.md"),
        ];
        for (here, text, path) in cases {
            let whereabouts = Whereabouts::new(here.into(), Path::new("/home/me/memory"));
            assert_eq!(whereabouts.read(text, is_there).unwrap().as_str(), path, "{text} in {here}");
        }
    }

    #[test]
    fn a_path_outside_is_wrong_usage() {
        let whereabouts = Whereabouts::new("/home/me".into(), Path::new("memory"));
        assert_eq!(whereabouts.memories, Path::new("/home/me/memory/memories"));
        for text in [
            "",
            "/etc/passwd",
            "/home/me/memory",
            "/home/me/memory/memories/../x",
            "../a",
            "a\\b",
            "/memories/../a",
        ] {
            assert!(whereabouts.read(text, |_| true).is_err(), "{text}");
        }
    }
}
