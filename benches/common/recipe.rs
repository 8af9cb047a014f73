//! How a file is changed with bare system calls.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

/// What is synced.
#[derive(Clone, Copy)]
pub enum Recipe {
    /// The file, and after the rename the directory: the change survives a power cut.
    Textbook,
    /// The file alone, as the SDKs do: a power cut may undo the change.
    Weak,
}

impl Recipe {
    /// Writes a file beside its place, and renames it there.
    pub fn write(self, path: &Path, bytes: &[u8]) {
        let temporary = path.with_extension("tmp");
        let mut file = File::create(&temporary).expect("a file");
        file.write_all(bytes).expect("room");
        file.sync_all().expect("a sync");
        fs::rename(&temporary, path).expect("a rename");
        if let Self::Textbook = self {
            sync_parent(path);
        }
    }

    /// Replaces a text that must stand in the file once.
    pub fn replace(self, path: &Path, old: &str, new: &str) {
        let text = fs::read_to_string(path).expect("a text");
        let mut found = text.match_indices(old);
        let (at, _) = found.next().expect("it is there");
        assert!(found.next().is_none());
        let text = [&text[..at], new, &text[at + old.len()..]].concat();
        self.write(path, text.as_bytes());
    }

    /// Puts a text before all lines but the first.
    pub fn insert(self, path: &Path, new: &str) {
        let mut text = fs::read_to_string(path).expect("a text");
        let at = text.find('\n').expect("a line") + 1;
        text.insert_str(at, new);
        self.write(path, text.as_bytes());
    }
}

pub fn sync_parent(path: &Path) {
    let parent = path.parent().expect("a file in a directory");
    File::open(parent).and_then(|dir| dir.sync_all()).expect("a sync");
}
