//! Lays out what a case begins with.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::case::{Setup, decode, text_of};

/// Longer files are holes.
const FILLED: u64 = 4 << 20;

/// Makes `memories` below `base`, and what else the setup names.
pub fn lay_out(base: &Path, setup: &Setup) -> io::Result<()> {
    let root = base.join("memories");
    fs::create_dir(&root)?;
    for dir in &setup.dirs {
        fs::create_dir_all(root.join(dir))?;
    }
    lay_out_files(&root, setup)?;
    for (path, text) in &setup.outside {
        place(&base.join(path), text.as_bytes())?;
    }
    for (path, target) in &setup.links {
        let path = with_parents(root.join(path))?;
        symlink(target.replace("{BASE}", &base.to_string_lossy()), path)?;
    }
    for (path, target) in &setup.hardlinks {
        fs::hard_link(root.join(target), with_parents(root.join(path))?)?;
    }
    for path in &setup.fifos {
        let path = with_parents(root.join(path))?;
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
    }
    for path in &setup.sockets {
        UnixListener::bind(root.join(path))?;
    }
    for (path, mode) in &setup.modes {
        let mode = u32::from_str_radix(mode, 8).map_err(io::Error::other)?;
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn lay_out_files(root: &Path, setup: &Setup) -> io::Result<()> {
    for (path, text) in &setup.files {
        place(&root.join(path), text_of(text).as_bytes())?;
    }
    for (path, bytes) in &setup.b64 {
        place(&root.join(path), &decode(bytes))?;
    }
    for (path, &size) in &setup.fill {
        let path = root.join(path);
        if size <= FILLED {
            place(&path, &vec![b'x'; usize::try_from(size).map_err(io::Error::other)?])?;
        } else {
            place(&path, b"")?;
            File::options().write(true).open(&path)?.set_len(size)?;
        }
    }
    for (path, (unit, times)) in &setup.repeated {
        place(&root.join(path), unit.repeat(*times).as_bytes())?;
    }
    for (path, (head, unit, times, tail)) in &setup.bin {
        place(&root.join(path), &[decode(head), decode(unit).repeat(*times), decode(tail)].concat())?;
    }
    for many in &setup.many {
        for i in 0..many.n {
            let name = format!("{}{i:0width$}{}", many.prefix, many.suffix, width = many.width);
            place(&root.join(name), many.text.as_bytes())?;
        }
    }
    for name in &setup.rawnames {
        place(&root.join(OsStr::from_bytes(&decode(name))), b"")?;
    }
    Ok(())
}

fn place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(with_parents(path)?, bytes)
}

fn with_parents<P: AsRef<Path>>(path: P) -> io::Result<P> {
    fs::create_dir_all(path.as_ref().parent().expect("it is below a directory"))?;
    Ok(path)
}
