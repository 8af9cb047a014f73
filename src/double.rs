//! A stand-in for the Messages API: it refuses what the API refuses, with the same words, and plays what it is told to.
//!
//! It has no model. What it says comes from a [`Script`]; what it checks is real: the head of the request, every rule of
//! [`context`](crate::context), signatures of thinking (bound to what stands before it), the window. What it reports is
//! counted: tokens, and what of them the prompt cache would have had. It has no clock and opens no connection: the time
//! comes with each call, and a door of its own (`memdir double`) puts it on a port.
//!
//! ```
//! use memdir::double::{Double, Script};
//! use serde_json::json;
//!
//! let mut api = Double::new(Script::from_lines(r#"{"reply":{"text":"Four."}}"#)?);
//! let mut request = json!({
//!     "model": "claude-opus-5",
//!     "max_tokens": 1024,
//!     "messages": [{"role": "user", "content": "Two and two?"}],
//! });
//! let answer = api.create(&request, &[])?;
//! assert_eq!(answer["content"][0]["text"], "Four.");
//!
//! request["messages"] = json!([{"role": "assistant", "content": "Four."}]);
//! let refused = api.create(&request, &[]).unwrap_err();
//! assert_eq!(refused.message, "messages: first message must use the \"user\" role");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

use serde_json::{Value, json};

use crate::context::{ApiError, Request, Violation, violations};

mod ask;
mod cache;
mod edit;
mod fault;
mod prompt;
mod reply;
mod script;
mod seal;
mod stream;
#[cfg(test)]
mod tests;

use ask::{Ask, Purpose};
use cache::{Cache, Usage};
use edit::Edited;
use prompt::Prompt;
use reply::Said;
pub use script::{BadScript, Script};
use seal::Signer;
pub use stream::Event;

/// A stand-in for the Messages API.
#[derive(Debug)]
pub struct Double {
    script: Script,
    settings: Settings,
    signer: Signer,
    cache: Cache,
    /// How many calls were answered.
    calls: u64,
}

/// What a stand-in asks for, and what its models are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The key that a call must have; `None`: any.
    pub key: Option<String>,
    /// The window of every model, in tokens; `None`: that of the model.
    pub window: Option<u64>,
}

/// A call over HTTP.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The method, as `POST`.
    pub method: &'a str,
    /// The path, as `/v1/messages`, without what follows a `?`.
    pub path: &'a str,
    /// Names, in any case, and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a str,
}

impl<'a> Call<'a> {
    /// Makes a call.
    #[must_use]
    pub fn new(method: &'a str, path: &'a str, headers: &'a [(&'a str, &'a str)], body: &'a str) -> Self {
        Self { method, path, headers, body }
    }
}

/// What is answered to a [`Call`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// Names, in lower case, and values; without `content-type` and `content-length`.
    pub headers: Vec<(&'static str, String)>,
    /// What it says.
    pub body: Body,
}

/// The body of an [`Answer`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// `application/json`
    Json(Value),
    /// `text/event-stream`
    Events {
        /// In their order.
        events: Vec<Event>,
        /// Whether the connection breaks after them, without an end.
        breaks: bool,
    },
}

impl Double {
    /// A stand-in that plays a script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self::with(script, Settings::default())
    }

    /// A stand-in that plays a script, with settings.
    #[must_use]
    pub fn with(script: Script, settings: Settings) -> Self {
        Self { script, settings, signer: Signer::default(), cache: Cache::default(), calls: 0 }
    }
}

impl Double {
    /// Answers a call. `now` is the time since any moment; it only goes forward, and the prompt cache goes by it.
    pub fn answer(&mut self, call: &Call<'_>, now: Duration) -> Answer {
        self.calls += 1;
        let id = format!("req_{:024}", self.calls);
        let mut headers = vec![("request-id", id.clone())];
        let (status, body) = match self.respond(call, now) {
            Ok(body) => (200, body),
            Err(Refusal { error, retry_after }) => {
                headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
                (error.status, Body::Json(fault::body(&error, &id)))
            }
        };
        Answer { status, headers, body }
    }

    /// Answers a request in process, with values of the header `anthropic-beta`: the message, however it was asked for.
    ///
    /// # Errors
    /// What the API would refuse it for.
    pub fn create(&mut self, request: &Value, betas: &[&str]) -> Result<Value, ApiError> {
        self.create_at(request, betas, Duration::ZERO)
    }

    /// As [`Double::create`], at a time.
    ///
    /// # Errors
    /// As [`Double::create`].
    pub fn create_at(&mut self, request: &Value, betas: &[&str], now: Duration) -> Result<Value, ApiError> {
        self.calls += 1;
        let key = self.settings.key.clone().unwrap_or_else(|| "in-process".to_owned());
        let betas = betas.join(",");
        let mut headers = vec![
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("x-api-key", &key),
        ];
        headers.extend((!betas.is_empty()).then_some(("anthropic-beta", betas.as_str())));
        let body = request.to_string();
        let call = Call::new("POST", "/v1/messages", &headers, &body);
        let made = self.message(&call, now).map_err(|refusal| refusal.error)?;
        Ok(made.message)
    }

    /// A request with thinking that fits: every signature in it is made anew, as if all had been said to this stand-in.
    ///
    /// # Errors
    /// [`Malformed`](crate::context::Malformed) for what is no request.
    pub fn signed(&mut self, request: &Value) -> Result<Value, crate::context::Malformed> {
        let read = Request::from_value(request)?;
        Ok(prompt::signed(&read, &read.model().unwrap_or_default(), &mut self.signer).to_value())
    }

    fn respond(&mut self, call: &Call<'_>, now: Duration) -> Result<Body, Refusal> {
        match (call.path, call.method) {
            ("/v1/messages", "POST") => Ok(self.message(call, now)?.body()),
            ("/v1/messages/count_tokens", "POST") => Ok(Body::Json(self.count(call)?)),
            _ => {
                ask::admit(call, &self.settings)?;
                Err(ApiError::new(404, "not_found_error", "Not Found".to_owned()).into())
            }
        }
    }

    fn message(&mut self, call: &Call<'_>, now: Duration) -> Result<Made, Refusal> {
        let mut ask = Ask::read(call, Purpose::Message, &self.settings)?;
        let sent = self.judged(&ask)?;
        if !sent.dropped.is_empty() {
            ask.request = prompt::without(&ask.request, &sent.dropped);
        }
        let Edited { request, applied, compaction } = edit::edit(&ask, &sent);
        let read = Prompt::of(&request, &ask.model, &self.signer, false);
        let tokens = read.tokens() + ask.max_tokens;
        if compaction.is_none() && tokens > ask.profile.window {
            return Err(too_long(&ask, read.tokens()).into());
        }
        let play = self.script.play(&ask);
        let (line, retry_after) = match play {
            script::Play::Says(line) => (line, None),
            script::Play::Fails { error, retry_after } => return Err(Refusal { error, retry_after }),
        };
        let _: Option<u64> = retry_after;
        let usage: Usage = self.cache.take(&read, &ask, now);
        let (breaks_after, breaks_with) = (line.breaks_after, line.breaks_with.clone());
        let said = Said::of(line, &ask, &sent, &mut self.signer, self.calls);
        let mut more = serde_json::Map::new();
        if !ask.edits.is_empty() {
            more.insert("context_management".to_owned(), json!({"applied_edits": applied}));
        }
        if ask.betas.iter().any(|beta| beta.starts_with("thinking-binding-controls-")) {
            more.insert("input_transformations".to_owned(), sent.transformations());
        }
        let id = format!("msg_{:024}", self.calls);
        let message = said.message(&ask, &id, usage, more);
        Ok(Made { message, is_stream: ask.is_stream, breaks_after, breaks_with })
    }

    fn count(&mut self, call: &Call<'_>) -> Result<Value, Refusal> {
        let ask = Ask::read(call, Purpose::Count, &self.settings)?;
        let sent = self.judged(&ask)?;
        let Edited { request, .. } = edit::edit(&ask, &sent);
        let read = Prompt::of(&request, &ask.model, &self.signer, false);
        let mut counted = json!({"input_tokens": read.tokens()});
        if !ask.edits.is_empty() {
            counted["context_management"] = json!({"original_input_tokens": sent.tokens()});
        }
        Ok(counted)
    }

    /// What a model reads of a request, when nothing in it is refused.
    fn judged(&self, ask: &Ask) -> Result<Prompt, ApiError> {
        let drops = ask.request.drops_unbound_thinking();
        let prompt = Prompt::of(&ask.request, &ask.model, &self.signer, drops);
        let found = violations(&ask.request, &ask.profile, &prompt);
        match found.iter().find_map(Violation::api_error) {
            Some(error) => Err(error),
            None => Ok(prompt),
        }
    }
}

/// A message that was made.
struct Made {
    message: Value,
    is_stream: bool,
    breaks_after: Option<usize>,
    breaks_with: Option<ApiError>,
}

impl Made {
    fn body(self) -> Body {
        if !self.is_stream {
            return Body::Json(self.message);
        }
        let events = stream::events(&self.message);
        let after = self.breaks_after.unwrap_or(events.len());
        let (events, breaks) = stream::broken(events, after, self.breaks_with.as_ref());
        Body::Events { events, breaks }
    }
}

/// Why there is no message.
struct Refusal {
    error: ApiError,
    retry_after: Option<u64>,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, retry_after: None }
    }
}

/// That a request is larger than the window.
fn too_long(ask: &Ask, tokens: u64) -> ApiError {
    let number = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
    let violation = Violation::too_long(number(tokens), number(ask.profile.window));
    violation.api_error().expect("a test reads the table of errors")
}
