//! The entries of a tar archive, read with suspicion: nothing is believed that is not checked.

use std::io::{self, Read};

use tar::{EntryType, Header, PaxExtensions};

use super::{Entry, ImportError, Kind, shown};

/// Bytes of a block: a header is one, and content fills whole ones.
const BLOCK: usize = 512;
/// Bytes that a name, or whatever else is told in front of an entry, may have.
const FOREWORD: u64 = 64 << 10;
/// How compressed files begin, and what to call them.
const PACKED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
];

/// Calls `each` with every entry, in order. What it leaves of the content is passed over.
pub(super) fn each_entry(
    archive: &mut dyn Read,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut is_first = true;
    let mut told = Told::default();
    loop {
        let mut block = [0; BLOCK];
        let length = fill(archive, &mut block).map_err(|e| unreadable(&e))?;
        if is_first && let Some((_, packer)) = PACKED.iter().find(|(magic, _)| block.starts_with(magic)) {
            return Err(bad(format!("it is compressed with {packer}: unpack that first")));
        }
        if length < BLOCK {
            return Err(bad(if is_first { "it is no tar archive" } else { CUT }));
        }
        if block == [0; BLOCK] {
            return Ok(());
        }
        let header = Header::from_byte_slice(&block);
        if !is_whole(header, &block) {
            return Err(bad(if is_first { "it is no tar archive" } else { DAMAGED }));
        }
        is_first = false;
        let size = header.entry_size().map_err(|_| bad(DAMAGED))?;
        match header.entry_type() {
            EntryType::GNULongName => told.name = Some(until_nul(foreword(archive, size)?)),
            EntryType::XHeader => told.read(&foreword(archive, size)?)?,
            // What they tell is of no use here.
            EntryType::GNULongLink | EntryType::XGlobalHeader => drop(foreword(archive, size)?),
            kind => {
                let told = std::mem::take(&mut told);
                let name = told.path.or(told.name).unwrap_or_else(|| header.path_bytes().into_owned());
                let refuse = |why: &str| Err(ImportError::Entry { name: shown(&name), why: why.to_owned() });
                if told.is_sparse {
                    return refuse("it is a sparse file");
                }
                if told.size.is_some_and(|told| told != size) {
                    return refuse("two sizes are told of it");
                }
                let kind = match kind {
                    // So they were marked before there was a mark.
                    EntryType::Regular if name.ends_with(b"/") && size == 0 => Kind::Directory,
                    EntryType::Regular if name.ends_with(b"/") => {
                        return refuse("it is a directory with content");
                    }
                    EntryType::Regular | EntryType::Continuous => Kind::File,
                    EntryType::Directory if size == 0 => Kind::Directory,
                    EntryType::Directory => return refuse("it is a directory with content"),
                    EntryType::Symlink => return refuse("it is a symbolic link"),
                    EntryType::Link => return refuse("it is a hard link"),
                    EntryType::Char | EntryType::Block => return refuse("it is a device"),
                    EntryType::Fifo => return refuse("it is a FIFO"),
                    EntryType::GNUSparse => return refuse("it is a sparse file"),
                    _ => return refuse("it is neither a file nor a directory"),
                };
                let mut content = archive.take(size);
                each(Entry { name: &name, kind, size, content: &mut content })?;
                io::copy(&mut content, &mut io::sink()).map_err(|e| unreadable(&e))?;
                if content.limit() > 0 {
                    return Err(bad(CUT));
                }
                pass_over_padding(archive, size)?;
            }
        }
    }
}

const CUT: &str = "it was cut off";
const DAMAGED: &str = "it is damaged";

fn bad(why: impl Into<String>) -> ImportError {
    ImportError::Archive { why: why.into() }
}

/// The archive as a whole, which has no name of its own.
pub(super) fn unreadable(source: &io::Error) -> ImportError {
    bad(format!("it cannot be read: {source}"))
}

/// What is told of an entry in front of it.
#[derive(Default)]
struct Told {
    name: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

impl Told {
    fn read(&mut self, records: &[u8]) -> Result<(), ImportError> {
        for record in PaxExtensions::new(records) {
            let record = record.map_err(|_| bad(DAMAGED))?;
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"size" => {
                    let size = record.value().ok().and_then(|size| size.parse().ok());
                    self.size = Some(size.ok_or_else(|| bad(DAMAGED))?);
                }
                key if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a header's sum is right, reckoned with bytes of either sign, as old programs did.
fn is_whole(header: &Header, block: &[u8; BLOCK]) -> bool {
    let Ok(told) = header.cksum() else { return false };
    let bytes =
        || block.iter().enumerate().map(|(i, &byte)| if (148..156).contains(&i) { b' ' } else { byte });
    let unsigned: u32 = bytes().map(u32::from).sum();
    let signed: i32 = bytes().map(|byte| i32::from(byte.cast_signed())).sum();
    told == unsigned || i64::from(told) == i64::from(signed)
}

/// Content that is read whole, as it says something of the entry behind it.
fn foreword(archive: &mut dyn Read, size: u64) -> Result<Vec<u8>, ImportError> {
    if size > FOREWORD {
        return Err(bad(format!("it has a name or attributes of more than {FOREWORD} bytes")));
    }
    let mut bytes = Vec::new();
    archive.take(size).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if (bytes.len() as u64) < size {
        return Err(bad(CUT));
    }
    pass_over_padding(archive, size)?;
    Ok(bytes)
}

fn pass_over_padding(archive: &mut dyn Read, size: u64) -> Result<(), ImportError> {
    let padding = size.next_multiple_of(BLOCK as u64) - size;
    let read = io::copy(&mut archive.take(padding), &mut io::sink()).map_err(|e| unreadable(&e))?;
    if read < padding { Err(bad(CUT)) } else { Ok(()) }
}

/// Reads until the block is full or there is no more; how many bytes there were.
fn fill(archive: &mut dyn Read, block: &mut [u8; BLOCK]) -> io::Result<usize> {
    let mut length = 0;
    while length < BLOCK {
        match archive.read(&mut block[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(length)
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}
