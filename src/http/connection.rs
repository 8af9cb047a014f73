//! Connections that do not pile up: there are so many at most, and who is silent or slow loses his.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections that are open at once; others wait in the system's queue. A process may have 1,024 files as a rule.
const MOST: usize = 512;
const PATIENCE: Patience = Patience { silence: Duration::from_secs(60), request: Duration::from_secs(120) };

/// How long a connection waits.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For the first byte of a request; and for each part of an answer to be taken.
    silence: Duration,
    /// From the first byte of a request to the first of its answer, whatever comes in between.
    request: Duration,
}

/// The connections that are made to a port.
pub(super) struct Connections {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Connections {
    pub(super) fn of(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Listener for Connections {
    type Io = Connection<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let room = Arc::clone(&self.room).acquire_owned().await.expect("nobody closes it");
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // Events are told one by one; where that fails, they are told together.
        let _ = stream.set_nodelay(true);
        (Connection::new(stream, PATIENCE, Some(room)), from)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection, which fails when its time is over.
pub(super) struct Connection<S> {
    stream: S,
    turn: Turn,
    patience: Patience,
    over: Pin<Box<Sleep>>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Who is to say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The client, who has not begun.
    Silent,
    /// The client, or who answers him.
    Asking,
}

impl<S> Connection<S> {
    fn new(stream: S, patience: Patience, room: Option<OwnedSemaphorePermit>) -> Self {
        let over = Box::pin(sleep(patience.silence));
        Self { stream, turn: Turn::Silent, patience, over, _room: room }
    }

    fn take_turn(&mut self, turn: Turn) {
        self.turn = turn;
        let time = match turn {
            Turn::Silent => self.patience.silence,
            Turn::Asking => self.patience.request,
        };
        self.over.as_mut().reset(Instant::now() + time);
    }

    /// What a step comes to, when the time may be over first.
    fn in_time<T>(
        &mut self,
        cx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>>
    where
        S: Unpin,
    {
        let done = step(Pin::new(&mut self.stream), cx);
        if done.is_pending() && self.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(self.in_time(cx, |stream, cx| stream.poll_read(cx, into)))?;
        if into.filled().len() > before && self.turn == Turn::Silent {
            self.take_turn(Turn::Asking);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(self.in_time(cx, |stream, cx| stream.poll_write(cx, from)))?;
        self.take_turn(Turn::Silent);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.in_time(cx, |stream, cx| stream.poll_write_vectored(cx, from)))?;
        self.take_turn(Turn::Silent);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx, AsyncWrite::poll_shutdown)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::TimedOut;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const SOON: Duration = Duration::from_millis(1);
    const NEVER: Duration = Duration::from_secs(3600);

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    #[test]
    fn who_is_silent_is_cut_off() {
        run(async {
            let (near, _far) = duplex(8);
            let mut connection = Connection::new(near, Patience { silence: SOON, request: NEVER }, None);
            assert_eq!(connection.read_u8().await.unwrap_err().kind(), TimedOut);
        });
    }

    #[test]
    fn who_never_comes_to_an_end_is_cut_off_whatever_he_says() {
        run(async {
            let (near, mut far) = duplex(8);
            let mut connection = Connection::new(near, Patience { silence: NEVER, request: SOON }, None);
            let ended = async {
                loop {
                    if let Err(error) = connection.read_u8().await {
                        return error.kind();
                    }
                }
            };
            let drip = async {
                while far.write_u8(b'x').await.is_ok() {
                    sleep(SOON / 10).await;
                }
            };
            tokio::select! {
                kind = ended => assert_eq!(kind, TimedOut),
                () = drip => panic!("it was not read"),
            }
        });
    }

    #[test]
    fn who_does_not_take_his_answer_is_cut_off() {
        run(async {
            let (near, _far) = duplex(8);
            let mut connection = Connection::new(near, Patience { silence: SOON, request: NEVER }, None);
            assert_eq!(connection.write_all(&[0; 9]).await.unwrap_err().kind(), TimedOut);
        });
    }

    #[test]
    fn an_answer_begins_the_time_anew() {
        run(async {
            let (near, mut far) = duplex(8);
            let mut connection = Connection::new(near, Patience { silence: NEVER, request: NEVER }, None);
            far.write_u8(b'x').await.unwrap();
            connection.read_u8().await.unwrap();
            assert_eq!(connection.turn, Turn::Asking);
            connection.write_u8(b'y').await.unwrap();
            assert_eq!(connection.turn, Turn::Silent);
        });
    }
}
