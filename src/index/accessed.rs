//! When memories were last retrieved: a file of records that is appended to, beside the index and as derived as it.
//!
//! A record is the row of a memory and seconds since 1970, 8 bytes each, little-endian; the first one has row 0 and says since
//! when it is written. Half a record at the end is left out.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::plain;

const RECORD: usize = 16;
/// A longer file is written anew with the last time of each memory.
const LONG: u64 = 4 << 20;

/// The record of what was retrieved when.
#[derive(Debug)]
pub(crate) struct Accessed {
    directory: PathBuf,
}

/// What it says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Since when it is written; `None`: it is not.
    pub(crate) since: Option<i64>,
    /// The last time, by row.
    pub(crate) last: HashMap<i64, i64>,
}

impl Accessed {
    pub(crate) fn within(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Where it is; `None` without a directory of its own.
    fn path(&self) -> Option<PathBuf> {
        plain::is_directory(&self.directory).then(|| self.directory.join("accessed"))
    }

    /// Takes note that these memories were retrieved. What cannot be written is not noted.
    pub(crate) fn note(&self, rows: &[i64], now: i64) {
        let Some(path) = self.path() else { return };
        let size = plain::metadata(&path).map_or(0, |file| file.len());
        let mut bytes = Vec::with_capacity((rows.len() + 1) * RECORD);
        // A record that was cut off is closed, so that those after it can be read.
        let cut_off = usize::try_from(size % RECORD as u64).unwrap_or_default();
        bytes.resize((RECORD - cut_off) % RECORD, 0);
        if size == 0 {
            push(&mut bytes, 0, now);
        }
        for &row in rows {
            push(&mut bytes, row, now);
        }
        let file = plain::open_or_make(&path, OpenOptions::new().append(true));
        let _ = file.and_then(|mut file| file.write_all(&bytes));
        if size > LONG {
            self.shorten();
        }
    }

    /// Reads it; what cannot be read says nothing.
    pub(crate) fn times(&self) -> Times {
        let mut times = Times::default();
        let bytes = self.path().and_then(|path| plain::read(&path, u64::MAX).ok()).unwrap_or_default();
        for record in bytes.chunks_exact(RECORD) {
            let number = |at: usize| i64::from_le_bytes(std::array::from_fn(|n| record[at + n]));
            let (row, at) = (number(0), number(8));
            if row == 0 {
                times.since = times.since.or(Some(at));
            } else {
                let last = times.last.entry(row).or_insert(at);
                *last = at.max(*last);
            }
        }
        times
    }

    fn shorten(&self) {
        let Some(path) = self.path() else { return };
        let times = self.times();
        let mut bytes = Vec::new();
        push(&mut bytes, 0, times.since.unwrap_or_default());
        for (&row, &at) in &times.last {
            push(&mut bytes, row, at);
        }
        let _ = plain::replace(&path, &bytes);
    }
}

fn push(bytes: &mut Vec<u8>, row: i64, at: i64) {
    bytes.extend_from_slice(&row.to_le_bytes());
    bytes.extend_from_slice(&at.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_last_time_counts_and_half_a_record_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let accessed = Accessed::within(dir.path());
        assert_eq!(accessed.times(), Times::default());
        accessed.note(&[7, 8], 100);
        accessed.note(&[7], 200);
        let whole = fs::read(accessed.path().unwrap()).unwrap();
        fs::write(accessed.path().unwrap(), &whole[..whole.len() - 3]).unwrap();
        let times = accessed.times();
        assert_eq!((times.since, times.last), (Some(100), [(7, 100), (8, 100)].into()));
        accessed.note(&[9], 300);
        accessed.shorten();
        let times = accessed.times();
        assert_eq!(times.since, Some(100));
        assert_eq!((times.last[&8], times.last[&9]), (100, 300));
    }

    #[test]
    fn nothing_is_read_or_written_through_a_link() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let (strange, index) = (dir.path().join("strange"), dir.path().join("index"));
        fs::write(&strange, [1; RECORD]).unwrap();
        fs::create_dir(&index).unwrap();
        symlink(&strange, index.join("accessed")).unwrap();
        let accessed = Accessed::within(&index);
        accessed.note(&[7], 100);
        assert_eq!((accessed.times(), fs::read(&strange).unwrap()), (Times::default(), vec![1; RECORD]));

        let link = dir.path().join("link");
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, &link).unwrap();
        Accessed::within(&link).note(&[7], 100);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
