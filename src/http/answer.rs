//! One request over HTTP: what the door itself refuses, what the stand-in answers, and how that is told.

use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use std::vec;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use futures_core::Stream;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;

use super::double::Seen;
use crate::double::{self, Answer, Call, Double, Fault, MOST_BYTES};

/// What is read of a body that is too large, so that a client that writes all of it first comes to read the answer.
const READ_LIMIT: usize = 256 << 20;
/// A body that is larger, or whose length is not said, waits until there is room for it.
const SMALL: u64 = 1 << 20;
/// So many of those are held at once.
const ROOM: usize = 8;

/// What answers.
#[derive(Clone)]
pub(super) struct Door {
    inside: Arc<Mutex<Inside>>,
    room: Arc<Semaphore>,
}

struct Inside {
    double: Double,
    watch: Box<dyn FnMut(Seen<'_>) + Send>,
    since: Instant,
}

impl Door {
    pub(super) fn new(double: Double, watch: impl FnMut(Seen<'_>) + Send + 'static) -> Self {
        let inside = Inside { double, watch: Box::new(watch), since: Instant::now() };
        Self { inside: Arc::new(Mutex::new(inside)), room: Arc::new(Semaphore::new(ROOM)) }
    }
}

/// Answers a request.
pub(super) async fn answer(State(door): State<Door>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let is_small = body.size_hint().upper().is_some_and(|most| most <= SMALL);
    // Held until it is answered.
    let _room = if is_small { None } else { door.room.acquire().await.ok() };
    let body = whole(body).await;
    let mut inside = Arc::clone(&door.inside).lock_owned().await;
    // A large request takes a while: streams go on meanwhile.
    let told = spawn_blocking(move || Told::of(&inside.answer(&head, &body)));
    told.await.unwrap_or_else(|_| Told::panicked()).response()
}

/// The body of a request, or why there is none.
async fn whole(body: Body) -> Result<String, Fault> {
    let mut parts = body.into_data_stream();
    let mut whole = Vec::new();
    let mut read = 0;
    while let Some(part) = poll_fn(|cx| Pin::new(&mut parts).poll_next(cx)).await {
        let part = part.map_err(|_| Fault::BodyCutOff)?;
        read += part.len();
        if read > READ_LIMIT {
            break;
        }
        if read > MOST_BYTES {
            whole = Vec::new();
        } else {
            whole.extend_from_slice(&part);
        }
    }
    if read > MOST_BYTES {
        return Err(Fault::BodyTooLarge);
    }
    String::from_utf8(whole).map_err(|_| Fault::NoUtf8)
}

impl Inside {
    fn answer(&mut self, head: &Parts, body: &Result<String, Fault>) -> Answer {
        let headers = head.headers.iter();
        let headers: Vec<(&str, Cow<'_, str>)> =
            headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()))).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        let text = body.as_ref().map_or("", String::as_str);
        let path = head.uri.path_and_query().map_or("", |path| path.as_str());
        let call = Call { method: head.method.as_str(), path, headers: &headers, body: text };
        let answer = match body {
            _ if is_from_elsewhere(&head.headers) => self.double.refuse(Fault::FromElsewhere),
            Err(fault) => self.double.refuse(*fault),
            Ok(_) => self.double.answer(&call, self.since.elapsed()),
        };
        (self.watch)(Seen { method: call.method, path: head.uri.path(), body: text, answer: &answer });
        answer
    }
}

/// Whether a browser sends this for a page that does not come from this machine. Such a page could use up what the script
/// says, also under a name of its own that leads here; that it reads nothing else here is left to the browser.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let Ok(origin) = origin.to_str() else { return true };
    if origin != "null" && !origin.starts_with("http://") && !origin.starts_with("https://") {
        // A program with pages of its own.
        return false;
    }
    let host = origin.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_ascii_lowercase));
    !host.is_some_and(|host| {
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || host.ends_with(".localhost") || ip.is_ok_and(|ip| ip.is_loopback())
    })
}

/// An answer, as it is told.
struct Told {
    status: StatusCode,
    headers: HeaderMap,
    body: Said,
}

enum Said {
    Whole(String),
    Events(Events),
}

impl Told {
    fn of(answer: &Answer) -> Self {
        let status = StatusCode::from_u16(answer.status).ok().filter(|status| !status.is_informational());
        let mut headers = HeaderMap::new();
        for (name, value) in &answer.headers {
            // One that HTTP cannot say is left out.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        let body = match &answer.body {
            double::Body::Json(value) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Said::Whole(value.to_string())
            }
            double::Body::Events { events, breaks, .. } => {
                let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
                headers.insert(CONTENT_TYPE, kind);
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                let lines: Vec<String> = events.iter().map(double::Event::lines).collect();
                Said::Events(Events { lines: lines.into_iter(), breaks: *breaks, rests: false })
            }
        };
        Self { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), headers, body }
    }

    /// What is told when the stand-in itself has failed.
    fn panicked() -> Self {
        let why = "the stand-in failed, and said why on standard error";
        let error = serde_json::json!({"type": "api_error", "message": why});
        let body = serde_json::json!({"type": "error", "error": error, "request_id": null});
        let body = double::Body::Json(body);
        Self::of(&Answer { status: 500, headers: Vec::new(), body, played: None, why: None })
    }

    fn response(self) -> Response {
        let body = match self.body {
            Said::Whole(text) => Body::from(text),
            Said::Events(events) => Body::from_stream(events),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Events, one at a time: each is sent before the next is asked for.
struct Events {
    lines: vec::IntoIter<String>,
    breaks: bool,
    rests: bool,
}

impl Stream for Events {
    type Item = io::Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rests = !self.rests;
        if !self.rests {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.lines.next().map(Ok);
        let broken = || io::Error::from(io::ErrorKind::ConnectionAborted);
        Poll::Ready(next.or_else(|| std::mem::take(&mut self.breaks).then(|| Err(broken()))))
    }
}
