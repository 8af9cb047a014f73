//! Lines in and out: a message each, and whatever else a line may hold.
//!
//! Every request that was read is answered, unless it was cancelled, before the end of the input is told on; and no more
//! are read while very many wait, or much.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage, ServerNotification, SubscriptionFilter,
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
/// The same of their bytes, and of those that are expected in answer. (A message has as many as it has.)
const MOST_BYTES: usize = if cfg!(test) { 64 << 10 } else { 64 << 20 };
/// While so many lines wait, what happened meanwhile is not told yet: it may be told as one.
const MOST_TOLD: usize = 64;
/// Answers are gathered up to this size before they are written.
const ANSWER_BYTES: usize = 1 << 20;

/// The server's end of a connection.
pub(super) struct Stdio<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    limits: Limits,
    /// Whether the rest of a line that was too long is still to come.
    skipping: bool,
    ended: bool,
    answers: Answers,
    shared: Arc<Shared>,
    expect: Expect,
}

/// Bytes that messages may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// A line of the client.
    pub(super) line: usize,
    /// About as many has the largest file in an answer.
    pub(super) answer: usize,
}

/// Called, where it may wait, before a client is told that a stream was accepted.
pub(super) type Expect = Arc<dyn Fn(&SubscriptionFilter) + Send + Sync>;

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
    /// Requests that were read and are not answered, and what bytes each may cost.
    open: HashMap<RequestId, usize>,
    /// All these bytes.
    open_bytes: usize,
    /// The requests that go on until the client cancels them.
    streams: HashSet<RequestId>,
    /// Whether the client has said `initialize`, or a request told all that this would.
    has_begun: bool,
    /// Answers that are not written.
    queued: usize,
    queued_bytes: usize,
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
        let mut state = self.shared.state();
        state.queued += 1;
        state.queued_bytes += line.len();
        drop(state);
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
    /// Makes both ends; the second writes until the first is gone.
    pub(super) fn new<W: AsyncWrite + Unpin>(
        input: R,
        output: W,
        limits: Limits,
        expect: Expect,
    ) -> (Self, impl Future<Output = ()>) {
        let (lines, to_write) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::default());
        let answers = Answers { lines, shared: Arc::clone(&shared) };
        let writer = write_all(output, to_write, Arc::clone(&shared));
        let input = BufReader::with_capacity(CHUNK, input);
        let line = Vec::new();
        (Self { input, line, limits, skipping: false, ended: false, answers, shared, expect }, writer)
    }

    /// Fills `line`. It may be dropped at any time, and goes on where it was.
    async fn read_line(&mut self) -> io::Result<Read> {
        while !self.ended {
            let bytes = self.input.fill_buf().await?;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.ended = bytes.is_empty();
            let is_long = !self.skipping && self.line.len() + part.len() > self.limits.line;
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

    /// Takes note of a message of so many bytes, which is passed on or not.
    fn admit(&self, message: Box<ClientJsonRpcMessage>, bytes: usize) -> Frame {
        let mut state = self.shared.state();
        match &*message {
            JsonRpcMessage::Request(request) => {
                let id = &request.id;
                if state.open.contains_key(id) || state.streams.contains(id) {
                    let words = "the `id` is that of another request that is not answered yet";
                    let error = ErrorData::invalid_request(words, None);
                    return Frame::Fault(Box::new(JsonRpcMessage::error(error, None)));
                }
                if state.has_begun && matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    let words = "the session has begun already: `initialize` is said first, and once";
                    let error = ErrorData::invalid_request(words, None);
                    return Frame::Fault(Box::new(JsonRpcMessage::error(error, Some(id.clone()))));
                }
                state.has_begun |= begins(&request.request);
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    state.streams.insert(id.clone());
                } else {
                    let answer = if asks_for_file(&request.request) { self.limits.answer } else { 0 };
                    state.begin(id.clone(), bytes.saturating_add(answer));
                }
                Frame::Message(message)
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                ClientNotification::CancelledNotification(cancelled) => match &cancelled.params.request_id {
                    Some(id) if state.end(id) => Frame::Message(message),
                    _ => Frame::Nothing,
                },
                _ => Frame::Nothing,
            },
            _ => Frame::Nothing,
        }
    }
}

/// Whether a request decides of which kind the session is.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
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
            self.shared.state().end(id);
        }
        let told = if matches!(message, JsonRpcMessage::Notification(_)) {
            Some((message, self.answers.clone(), Arc::clone(&self.expect)))
        } else {
            self.answers.queue(&message);
            None
        };
        async move {
            if let Some((message, answers, expect)) = told {
                if let Some(accepted) = accepted(&message).cloned() {
                    // If that panics the stream itself tells of it.
                    let _ = tokio::task::spawn_blocking(move || expect(&accepted)).await;
                }
                answers.queue_late(message).await;
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
                Read::TooLong => Frame::Fault(frame::too_long(&self.line, self.limits.line)),
                Read::End if shared.is_all_written() => return None,
                Read::End => {
                    shared.written.notified().await;
                    continue;
                }
            };
            let bytes = self.line.len();
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
            let frame = if let Frame::Message(message) = frame { self.admit(message, bytes) } else { frame };
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

/// Whether the answer may hold a whole file.
fn asks_for_file(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::ReadResourceRequest(_) => true,
        ClientRequest::CallToolRequest(call) => {
            let command = call.params.arguments.as_ref().and_then(|arguments| arguments.get("command"));
            command.is_some_and(|command| command == "view")
        }
        _ => false,
    }
}

/// What a client is told that a stream will tell, if the message does.
fn accepted(message: &ServerJsonRpcMessage) -> Option<&SubscriptionFilter> {
    let JsonRpcMessage::Notification(told) = message else { return None };
    match &told.notification {
        ServerNotification::SubscriptionsAcknowledgedNotification(told) => Some(&told.params.notifications),
        _ => None,
    }
}

impl State {
    /// Takes note of a request that may cost so many bytes until it is answered.
    fn begin(&mut self, id: RequestId, bytes: usize) {
        self.open_bytes = self.open_bytes.saturating_add(bytes);
        self.open.insert(id, bytes);
    }

    /// A request was answered or cancelled; whether it was open.
    fn end(&mut self, id: &RequestId) -> bool {
        let bytes = self.open.remove(id);
        self.open_bytes = self.open_bytes.saturating_sub(bytes.unwrap_or(0));
        bytes.is_some() || self.streams.remove(id)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> Pause {
        let state = self.state();
        let is_full = state.open.len() + state.queued >= MOST_WAITING
            || state.open_bytes.saturating_add(state.queued_bytes) >= MOST_BYTES;
        if state.is_alone {
            Pause::ForEver
        } else if is_full {
            Pause::Goes
        } else {
            Pause::Over
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
        state.queued_bytes -= bytes.len();
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use rmcp::model::{ReadResourceResult, ResourceContents, ServerResult};
    use serde_json::json;

    use super::*;

    const LIMITS: Limits = Limits { line: 4 * MOST_BYTES, answer: MOST_BYTES / 4 };

    /// What is there already; `None`: it would have to be waited for.
    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    fn line(id: usize, method: &str, params: &serde_json::Value) -> String {
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Reads what is let in now: how many.
    fn read(connection: &mut Stdio<&[u8]>) -> usize {
        std::iter::from_fn(|| now(connection.receive())?).count()
    }

    fn answer(connection: &mut Stdio<&[u8]>, id: usize, bytes: usize) {
        let contents = vec![ResourceContents::text("x".repeat(bytes), "memory:///memories/a")];
        let result = ServerResult::ReadResourceResult(ReadResourceResult::new(contents));
        let id = RequestId::Number(i64::try_from(id).unwrap());
        now(connection.send(JsonRpcMessage::response(result, id))).unwrap().unwrap();
    }

    #[test]
    fn nothing_is_read_while_many_bytes_wait_to_be_written() {
        let params = json!({"uri": "memory:///memories/a"});
        let input: String = (0..100).map(|id| line(id, "resources/read", &params)).collect();
        let mut output = Vec::new();
        let (mut connection, writer) =
            Stdio::new(input.as_bytes(), &mut output, LIMITS, Arc::new(|_: &SubscriptionFilter| ()));
        let mut writer = pin!(writer);
        assert_eq!(read(&mut connection), 4);
        answer(&mut connection, 0, 10);
        assert_eq!(read(&mut connection), 1);
        for id in 1..5 {
            answer(&mut connection, id, MOST_BYTES / 2);
        }
        // All are answered, and nobody has read that.
        assert_eq!(read(&mut connection), 0);
        let _ = now(writer.as_mut());
        assert_eq!(read(&mut connection), 4);
    }

    #[test]
    fn nothing_is_read_while_long_requests_wait() {
        let list = |id, bytes| line(id, "tools/list", &json!({"cursor": "x".repeat(bytes)}));
        // What is longer than all that may wait is let in when nothing does.
        let input = [list(0, 2 * MOST_BYTES), list(1, MOST_BYTES / 2), list(2, MOST_BYTES / 2), list(3, 1)];
        let input = input.concat();
        let (mut connection, _writer) =
            Stdio::new(input.as_bytes(), tokio::io::sink(), LIMITS, Arc::new(|_: &SubscriptionFilter| ()));
        assert_eq!(read(&mut connection), 1);
        connection.shared.state().end(&RequestId::Number(0));
        connection.shared.written.notify_one();
        assert_eq!(read(&mut connection), 2);
    }
}
