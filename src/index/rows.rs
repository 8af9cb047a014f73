//! What is known of each passage beside its text and vector: a file of records, held as columns.

use std::io::{self, Read, Write};

use crc32fast::Hasher;

use super::Facts;

/// Bytes of a record: memory, fold, updated, expires, ordinal (each u32), category (u16), flags (u8); little endian.
pub(super) const RECORD: usize = 23;

/// So many rows are looked at together.
const GROUP: usize = 64;

const IMPORTANCE: u8 = 0b0111;
const PINNED: u8 = 0b1000;
const ENTRY: u8 = 0b1_0000;

/// One passage. Times are seconds since 1970, up to 2106: what is later counts as then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) memory: u32,
    /// The lower half of the number of [`Facts`].
    pub(super) fold: u32,
    pub(super) updated: u32,
    /// 0: never.
    pub(super) expires: u32,
    /// The number of the passage in its file.
    pub(super) ordinal: u32,
    /// 0: none, else one more than its place among the categories of the manifest.
    pub(super) category: u16,
    flags: u8,
}

impl Row {
    pub(super) fn new(memory: u32, ordinal: u32, category: u16, facts: &Facts) -> Self {
        let mut flags = facts.importance.min(IMPORTANCE);
        if facts.pinned {
            flags |= PINNED;
        }
        if facts.is_entry {
            flags |= ENTRY;
        }
        Self {
            memory,
            fold: fold(facts.fold),
            updated: seconds(facts.updated),
            expires: facts.expires.map_or(0, |expires| seconds(expires).max(1)),
            ordinal,
            category,
            flags,
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&self.memory.to_le_bytes());
        record[4..8].copy_from_slice(&self.fold.to_le_bytes());
        record[8..12].copy_from_slice(&self.updated.to_le_bytes());
        record[12..16].copy_from_slice(&self.expires.to_le_bytes());
        record[16..20].copy_from_slice(&self.ordinal.to_le_bytes());
        record[20..22].copy_from_slice(&self.category.to_le_bytes());
        record[22] = self.flags;
        to.write_all(&record)
    }

    pub(super) fn importance(&self) -> u8 {
        importance(self.flags)
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.flags & PINNED != 0
    }

    pub(super) fn is_entry(&self) -> bool {
        is_entry(self.flags)
    }
}

pub(super) fn importance(flags: u8) -> u8 {
    flags & IMPORTANCE
}

pub(super) fn is_entry(flags: u8) -> bool {
    flags & ENTRY != 0
}

/// As much of a hash as a row holds: the few that are taken for the same are told apart by their texts.
pub(super) fn fold(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).expect("32 bits are left")
}

/// A time as rows hold it.
pub(super) fn seconds(time: i64) -> u32 {
    u32::try_from(time.max(0)).unwrap_or(u32::MAX)
}

/// The rows of an index, as columns: a filter reads few of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) memory: Vec<u32>,
    pub(super) fold: Vec<u32>,
    pub(super) updated: Vec<u32>,
    pub(super) expires: Vec<u32>,
    ordinal: Vec<u32>,
    pub(super) category: Vec<u16>,
    pub(super) flags: Vec<u8>,
    /// The first end of any row; 0: none ends.
    pub(super) soonest: u32,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn get(&self, row: usize) -> Row {
        Row {
            memory: self.memory[row],
            fold: self.fold[row],
            updated: self.updated[row],
            expires: self.expires[row],
            ordinal: self.ordinal[row],
            category: self.category[row],
            flags: self.flags[row],
        }
    }

    /// Reads so many records more, and goes on with the checksum of those before.
    pub(super) fn read(&mut self, from: &mut impl Read, count: usize, crc: &mut Hasher) -> io::Result<()> {
        self.memory.reserve_exact(count);
        self.fold.reserve_exact(count);
        self.updated.reserve_exact(count);
        self.expires.reserve_exact(count);
        self.ordinal.reserve_exact(count);
        self.category.reserve_exact(count);
        self.flags.reserve_exact(count);
        let mut block = vec![0; RECORD * count.min(4096)];
        let mut left = count;
        while left > 0 {
            let now = left.min(4096);
            let block = &mut block[..now * RECORD];
            from.read_exact(block)?;
            crc.update(block);
            for record in block.chunks_exact(RECORD) {
                let four = |at: usize| {
                    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
                };
                let two = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
                self.memory.push(four(0));
                self.fold.push(four(4));
                self.updated.push(four(8));
                let expires = four(12);
                if expires != 0 && (self.soonest == 0 || expires < self.soonest) {
                    self.soonest = expires;
                }
                self.expires.push(expires);
                self.ordinal.push(four(16));
                self.category.push(two(20));
                self.flags.push(record[22]);
            }
            left -= now;
        }
        Ok(())
    }
}

/// The rows that have a value in a column, in order. Groups that have it nowhere, as nearly all, are passed over at the speed of
/// the memory.
pub(super) fn equal(column: &[u32], value: u32) -> impl Iterator<Item = u32> {
    let groups = column.chunks(GROUP).zip((0_u32..).step_by(GROUP));
    let has = move |values: &[u32]| values.iter().fold(0, |has, &found| has | u8::from(found == value)) > 0;
    let rows = move |(values, first): (&[u32], u32)| {
        let equal = values.iter().zip(first..).filter(move |&(&found, _)| found == value);
        equal.map(|(_, row)| row).collect::<Vec<_>>()
    };
    groups.filter(move |(values, _)| has(values)).flat_map(rows)
}

/// Writes records and their checksum.
pub(super) struct RowWriter<W: Write> {
    to: W,
    crc: Hasher,
    record: Vec<u8>,
}

impl<W: Write> RowWriter<W> {
    pub(super) fn new(to: W, crc: Hasher) -> Self {
        Self { to, crc, record: Vec::with_capacity(RECORD) }
    }

    pub(super) fn push(&mut self, row: &Row) -> io::Result<()> {
        self.record.clear();
        row.write(&mut self.record)?;
        self.crc.update(&self.record);
        self.to.write_all(&self.record)
    }

    pub(super) fn finish(mut self) -> io::Result<u32> {
        self.to.flush()?;
        Ok(self.crc.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_found_in_every_group() {
        for length in [0, 1, 63, 64, 65, 200] {
            let column: Vec<u32> = (0..length).map(|row| row % 61).collect();
            for value in [0, 3, 60, 61] {
                let expected: Vec<u32> = (0..length).filter(|&row| column[row as usize] == value).collect();
                assert_eq!(equal(&column, value).collect::<Vec<_>>(), expected);
            }
        }
    }
}
