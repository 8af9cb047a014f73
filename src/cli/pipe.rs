//! Standard input and output as raw bytes: no line is held back, and no byte is copied twice.

use std::io::{self, stdin, stdout};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::fault::Fault;

/// Bytes asked for at once: what a pipe holds.
const CHUNK: usize = 64 << 10;

/// Whether somebody still reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// All of it was taken.
    Listens,
    /// The other end is closed; there is nobody to tell.
    Gone,
}

/// Appends what standard input has, waiting until there is something. 0 bytes: it has ended.
pub(super) fn hear(into: &mut Vec<u8>) -> Result<usize, Fault> {
    read(stdin(), into).map_err(|error| Fault::failed(format!("cannot read standard input: {error}")))
}

/// Waits for standard input to have something (or to end); false when `patience` is over first.
pub(super) fn is_heard_within(patience: Duration) -> bool {
    wait(stdin(), PollFlags::IN, Some(patience)).unwrap_or(true)
}

/// Writes all of `bytes` to standard output.
pub(super) fn say(bytes: &[u8]) -> Result<Reader, Fault> {
    match write(stdout(), bytes) {
        Ok(()) => Ok(Reader::Listens),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Fault::failed(format!("cannot write to standard output: {error}"))),
    }
}

fn read(from: impl AsFd, into: &mut Vec<u8>) -> io::Result<usize> {
    into.reserve(CHUNK);
    loop {
        match rustix::io::read(&from, rustix::buffer::spare_capacity(into)) {
            Err(Errno::INTR) => {}
            // Somebody who shares the terminal or the pipe made it non-blocking.
            Err(Errno::AGAIN) => _ = wait(&from, PollFlags::IN, None)?,
            done => return Ok(done?),
        }
    }
}

fn write(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => _ = wait(&to, PollFlags::OUT, None)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait(on: impl AsFd, what: PollFlags, patience: Option<Duration>) -> io::Result<bool> {
    let patience = patience.and_then(|time| Timespec::try_from(time).ok());
    loop {
        match poll(&mut [PollFd::new(&on, what)], patience.as_ref()) {
            Err(Errno::INTR) => {}
            done => return Ok(done? > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn reads_what_is_there_and_waits_no_longer() {
        let (from, mut to) = io::pipe().unwrap();
        let mut heard = b"a".to_vec();
        assert!(!wait(&from, PollFlags::IN, Some(Duration::ZERO)).unwrap());
        to.write_all(b"bc").unwrap();
        assert!(wait(&from, PollFlags::IN, Some(Duration::ZERO)).unwrap());
        assert_eq!(read(&from, &mut heard).unwrap(), 2);
        drop(to);
        assert_eq!(read(&from, &mut heard).unwrap(), 0);
        assert_eq!(heard, b"abc");
    }

    #[test]
    fn a_closed_reader_is_an_error_and_no_signal() {
        let (from, to) = io::pipe().unwrap();
        drop(from);
        assert_eq!(write(&to, b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
