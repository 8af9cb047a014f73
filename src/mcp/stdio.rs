//! Lines in and out: a message each, and whatever else a line may hold.
//!
//! Every request that was read is answered, unless it was cancelled, before the end of the input is told on; and no more
//! are read while very many wait.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::frame::{self, Frame};

/// Bytes asked for at once: what a pipe holds.
const CHUNK: usize = 64 << 10;
/// A buffer that has grown beyond this for a long line is given back.
const KEPT_CAPACITY: usize = 128 << 10;
/// While so many requests and answers wait, nothing is read.
const MOST_WAITING: usize = 1024;
/// While so many lines wait, what happened meanwhile is not told yet: it may be told as one.
const MOST_TOLD: usize = 64;
/// Answers are gathered up to this size before they are written.
const ANSWER_BYTES: usize = 1 << 20;

/// The server's end of a connection.
pub(super) struct Stdio<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Bytes that a line may have.
    limit: usize,
    /// Whether the rest of a line that was too long is still to come.
    skipping: bool,
    ended: bool,
    answers: Answers,
    shared: Arc<Shared>,
}

/// Where what is to be written goes.
#[derive(Clone)]
struct Answers {
    lines: UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
}

/// What reader and writer know of one another.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Something was written, or cannot be any more: for who reads,
    written: Notify,
    /// and for who has something to tell.
    drained: Notify,
}

#[derive(Default)]
struct State {
    /// Requests that were read and are not answered.
    open: HashSet<RequestId>,
    /// The same of those that go on until the client cancels them.
    streams: HashSet<RequestId>,
    /// Answers that are not written.
    queued: usize,
    /// Whether nobody reads what is written.
    is_alone: bool,
}

/// What was read.
enum Read {
    Line,
    TooLong,
    End,
}

impl Answers {
    fn queue(&self, message: &ServerJsonRpcMessage) {
        let mut line = serde_json::to_vec(message).expect("a message can be written as JSON");
        line.push(b'\n');
        self.shared.state().queued += 1;
        // Without a writer, nobody reads.
        let _ = self.lines.send(line);
    }

    /// As [`Answers::queue`], once there is room.
    async fn queue_late(self, message: ServerJsonRpcMessage) {
        loop {
            let room = self.shared.drained.notified();
            if self.shared.has_room() {
                break;
            }
            room.await;
        }
        self.queue(&message);
    }
}

impl<R: AsyncRead + Unpin> Stdio<R> {
    /// Makes both ends; the second writes until the first is gone. `limit`: bytes that a line may have.
    pub(super) fn new<W: AsyncWrite + Unpin>(
        input: R,
        output: W,
        limit: usize,
    ) -> (Self, impl Future<Output = ()>) {
        let (lines, to_write) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::default());
        let answers = Answers { lines, shared: Arc::clone(&shared) };
        let writer = write_all(output, to_write, Arc::clone(&shared));
        let input = BufReader::with_capacity(CHUNK, input);
        (Self { input, line: Vec::new(), limit, skipping: false, ended: false, answers, shared }, writer)
    }

    /// Fills `line`. It may be dropped at any time, and goes on where it was.
    async fn read_line(&mut self) -> io::Result<Read> {
        while !self.ended {
            let bytes = self.input.fill_buf().await?;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.ended = bytes.is_empty();
            let is_long = !self.skipping && self.line.len() + part.len() > self.limit;
            if !self.skipping && !is_long {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            let was_skipped = self.skipping;
            self.skipping = (is_long || was_skipped) && end.is_none();
            if is_long {
                return Ok(Read::TooLong);
            }
            if end.is_some() && !was_skipped {
                return Ok(Read::Line);
            }
        }
        // What the input ended in the middle of is a line, too.
        Ok(if self.line.is_empty() { Read::End } else { Read::Line })
    }

    /// Takes note of a message, which is passed on or not.
    fn admit(&self, message: Box<ClientJsonRpcMessage>) -> Frame {
        let mut state = self.shared.state();
        match &*message {
            JsonRpcMessage::Request(request) => {
                let id = &request.id;
                if state.open.contains(id) || state.streams.contains(id) {
                    let words = "the `id` is that of another request that is not answered yet";
                    let error = ErrorData::invalid_request(words, None);
                    return Frame::Fault(Box::new(JsonRpcMessage::error(error, None)));
                }
                let is_stream = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                if is_stream { &mut state.streams } else { &mut state.open }.insert(id.clone());
                Frame::Message(message)
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                ClientNotification::CancelledNotification(cancelled) => match &cancelled.params.request_id {
                    Some(id) if state.open.remove(id) || state.streams.remove(id) => Frame::Message(message),
                    _ => Frame::Nothing,
                },
                _ => Frame::Nothing,
            },
            _ => Frame::Nothing,
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            let mut state = self.shared.state();
            _ = state.open.remove(id) || state.streams.remove(id);
        }
        let told = if matches!(message, JsonRpcMessage::Notification(_)) {
            Some(self.answers.clone().queue_late(message))
        } else {
            self.answers.queue(&message);
            None
        };
        async move {
            if let Some(told) = told {
                told.await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let shared = Arc::clone(&self.shared);
        loop {
            let read = match shared.pause() {
                Pause::Over => tokio::select! {
                    biased;
                    read = self.read_line() => read,
                    () = shared.written.notified() => continue,
                },
                Pause::Goes => {
                    shared.written.notified().await;
                    continue;
                }
                Pause::ForEver => return None,
            };
            let read = match read {
                Ok(read) => read,
                Err(error) => {
                    tracing::error!("cannot read standard input: {error}");
                    self.ended = true;
                    self.line.clear();
                    Read::End
                }
            };
            let frame = match read {
                Read::Line => frame::read(&self.line),
                Read::TooLong => Frame::Fault(frame::too_long(&self.line, self.limit)),
                Read::End if shared.is_all_written() => return None,
                Read::End => {
                    shared.written.notified().await;
                    continue;
                }
            };
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
            let frame = if let Frame::Message(message) = frame { self.admit(message) } else { frame };
            match frame {
                Frame::Nothing => {}
                Frame::Fault(answer) => self.answers.queue(&answer),
                Frame::Message(message) => return Some(*message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

/// Whether to read on.
enum Pause {
    Over,
    Goes,
    /// There is nobody to answer.
    ForEver,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> Pause {
        let state = self.state();
        match state.open.len() + state.queued {
            _ if state.is_alone => Pause::ForEver,
            ..MOST_WAITING => Pause::Over,
            _ => Pause::Goes,
        }
    }

    fn has_room(&self) -> bool {
        let state = self.state();
        state.is_alone || state.queued < MOST_TOLD
    }

    fn is_all_written(&self) -> bool {
        let state = self.state();
        state.open.is_empty() && state.queued == 0
    }
}

/// Writes answers, those that have come together in one go.
async fn write_all<W: AsyncWrite + Unpin>(
    mut output: W,
    mut answers: UnboundedReceiver<Vec<u8>>,
    shared: Arc<Shared>,
) {
    while let Some(mut bytes) = answers.recv().await {
        let mut count = 1;
        while bytes.len() < ANSWER_BYTES
            && let Ok(line) = answers.try_recv()
        {
            bytes.extend_from_slice(&line);
            count += 1;
        }
        let done = match output.write_all(&bytes).await {
            Ok(()) => output.flush().await,
            error => error,
        };
        let mut state = shared.state();
        state.queued -= count;
        state.is_alone = done.is_err();
        drop(state);
        shared.written.notify_one();
        shared.drained.notify_waiters();
        if let Err(error) = done {
            // A client that has gone has no complaint.
            if error.kind() != io::ErrorKind::BrokenPipe {
                tracing::error!("cannot write to standard output: {error}");
            }
            return;
        }
    }
}
