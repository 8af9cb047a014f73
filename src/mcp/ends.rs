//! Standard input and output as the process was given them.
//!
//! Pipes and sockets (which is what programs in Node give to those that they start) are waited for together with
//! everything else; of anything else a thread of its own reads, and one writes, which takes longer.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

/// Standard input, and standard output.
pub(super) fn ends() -> (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) {
    if let (Some(input), Some(output)) = (socket(&io::stdin()), socket(&io::stdout())) {
        return (Box::new(input), Box::new(output));
    }
    let (input, output) = rmcp::transport::stdio_pipes();
    (Box::new(input), Box::new(output))
}

fn socket(end: &impl AsFd) -> Option<UnixStream> {
    let stream = net::UnixStream::from(end.as_fd().try_clone_to_owned().ok()?);
    // Of anything but a socket of the kind there is no such address.
    stream.local_addr().ok()?;
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}
