//! The stand-in for the Messages API, on a port: its thread, and its end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::handler::Handler as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::answer::{Door, answer};
use super::connection::Connections;
use crate::double::{Answer, Double};

/// So long what is being answered may go on after the end was asked for; then as long again for what cannot be broken off.
const GRACE: Duration = Duration::from_secs(2);

/// A request, and what was answered to it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Seen<'a> {
    /// The method, as `POST`.
    pub method: &'a str,
    /// The path, as `/v1/messages`.
    pub path: &'a str,
    /// The body; empty, if it was too large or no text.
    pub body: &'a str,
    /// What was answered. Headers that are about the connection come to it.
    pub answer: &'a Answer,
}

/// A stand-in that answers on a port, until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Running {
    address: SocketAddr,
    /// Ends it when it is dropped.
    goes_on: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client on this machine is pointed at: `http://127.0.0.1:PORT`, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.goes_on.take());
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

/// Answers on a port with a stand-in, on a thread of its own, until what is given back is dropped.
///
/// Requests are answered one after the other, in the order in which they were complete; streams are told beside each other.
/// The prompt cache goes by the time since this call. A body of more than 32 MB is refused, as the API does. So is whatever
/// a web page from elsewhere has a browser send. Clients that are silent or slow lose their connection after a minute or two.
///
/// # Errors
/// When the listener or a thread cannot be had.
pub fn serve_double(listener: TcpListener, double: Double) -> io::Result<Running> {
    serve_double_watched(listener, double, |_| {})
}

/// As [`serve_double`]; `watch` is told of each request when it is answered, in order. The next one waits for it.
///
/// # Errors
/// As [`serve_double`].
pub fn serve_double_watched(
    listener: TcpListener,
    double: Double,
    watch: impl FnMut(Seen<'_>) + Send + 'static,
) -> io::Result<Running> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let connections = {
        let _inside = runtime.enter();
        Connections::of(tokio::net::TcpListener::from_std(listener)?)
    };
    let door = Door::new(double, watch);
    let (goes_on, over) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("memdir-double".to_owned())
        .spawn(move || serve(runtime, connections, door, over))?;
    Ok(Running { address, goes_on: Some(goes_on), thread: Some(thread) })
}

fn serve(runtime: Runtime, connections: Connections, door: Door, over: oneshot::Receiver<()>) {
    runtime.block_on(async {
        let (tell, told) = oneshot::channel();
        let server = axum::serve(connections, answer.with_state(door)).with_graceful_shutdown(async move {
            // It says nothing: it is dropped.
            let _ = over.await;
            let _ = tell.send(());
        });
        let mut server = std::pin::pin!(server.into_future());
        tokio::select! {
            _ = &mut server => return,
            _ = told => {}
        }
        // Whoever is not done then is cut off.
        let _ = timeout(GRACE, server).await;
    });
    runtime.shutdown_timeout(GRACE);
}
