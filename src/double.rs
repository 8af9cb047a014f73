//! A stand-in for the Messages API: it refuses what the API refuses, with the same words, and plays what it is told to.
//!
//! It has no model. What it says comes from a [`Script`]; what it checks is real: the head of the request, every rule of
//! [`context`](crate::context), signatures of thinking (bound to what stands before it), the window. What it reports is
//! counted: tokens, and what of them the prompt cache would have had. It has no clock and opens no connection: the time
//! comes with each call, and a door of its own (`memdir double`) puts it on a port.
//!
//! Any name may be a model's, but an empty one. One of Anthropic's takes what that model takes; any other takes everything
//! that some model takes, so that agents made for other models can be pointed here.
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

use crate::context::{ApiError, Request, Rule, Violation, violations};

mod ask;
mod cache;
mod edit;
mod fault;
mod models;
mod prompt;
mod reply;
mod script;
mod seal;
mod stream;
#[cfg(test)]
mod tests;
mod thread;

use ask::{Ask, Purpose};
use cache::{Cache, Usage};
use edit::{Compaction, Edited, Summary, Told};
use fault::Fault;
use prompt::Prompt;
use reply::Said;
use script::Line;
pub use script::{BadScript, Script};
use seal::Signer;
pub use stream::Event;
use thread::Threads;

/// A stand-in for the Messages API.
#[derive(Debug)]
pub struct Double {
    script: Script,
    settings: Settings,
    signer: Signer,
    cache: Cache,
    threads: Threads,
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
    /// The path, as `/v1/messages`; what follows a `?` may be there.
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
    /// The request for a message that the script was played for, whole; `None`: it was refused, or it was for another thing.
    pub played: Option<String>,
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
        /// What they tell, were it told at once.
        message: Value,
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
        Self {
            script,
            settings,
            signer: Signer::default(),
            cache: Cache::default(),
            threads: Threads::default(),
            calls: 0,
        }
    }
}

impl Double {
    /// Answers a call. `now` is the time since any moment; it only goes forward, and the prompt cache goes by it.
    pub fn answer(&mut self, call: &Call<'_>, now: Duration) -> Answer {
        self.calls += 1;
        let done = self.respond(call, now);
        self.told(done)
    }

    /// Refuses a call that is none, as a door sees it.
    #[cfg(feature = "http")]
    pub(crate) fn refuse(&mut self, error: ApiError) -> Answer {
        self.calls += 1;
        self.told(Err(error.into()))
    }

    fn told(&self, done: Result<(Body, Option<String>), Refusal>) -> Answer {
        let id = format!("req_{:024}", self.calls);
        let mut headers = vec![("request-id", id.clone())];
        let (status, body, played) = match done {
            Ok((body, played)) => (200, body, played),
            Err(Refusal { error, retry_after, code, played, .. }) => {
                headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
                let mut body = fault::body(&error, &id);
                if let Some(code) = code {
                    body["error"]["details"] = json!({"error_code": code});
                }
                (error.status, Body::Json(body), played)
            }
        };
        Answer { status, headers, body, played }
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
        let (made, _) = self.message(&call, now).map_err(|refusal| refusal.error)?;
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

    /// What is answered, and what the script was played for.
    fn respond(&mut self, call: &Call<'_>, now: Duration) -> Result<(Body, Option<String>), Refusal> {
        let (path, query) = call.path.split_once('?').unwrap_or((call.path, ""));
        let model = path.strip_prefix("/v1/models/").filter(|id| !id.is_empty() && !id.contains('/'));
        match (path, call.method, model) {
            ("/v1/messages", "POST", _) => {
                let (made, played) = self.message(call, now)?;
                Ok((made.body(), Some(played)))
            }
            ("/v1/messages/count_tokens", "POST", _) => Ok((Body::Json(self.count(call)?), None)),
            ("/v1/models", "GET", _) => {
                ask::admit(call, &self.settings)?;
                Ok((Body::Json(models::list(query, &self.settings)?), None))
            }
            (_, "GET", Some(id)) => {
                ask::admit(call, &self.settings)?;
                Ok((Body::Json(models::one(id, &self.settings)?), None))
            }
            ("/v1/messages" | "/v1/messages/count_tokens" | "/v1/models", ..) | (_, _, Some(_)) => {
                Err(Fault::WrongMethod.error(&[]).into())
            }
            _ => Err(Fault::NoRoute.error(&[]).into()),
        }
    }

    /// A message, and the request that it was said to, whole.
    fn message(&mut self, call: &Call<'_>, now: Duration) -> Result<(Made, String), Refusal> {
        ask::admit(call, &self.settings)?;
        let Some(turn) = self.threads.turn(call.body, now)? else {
            let made = self.turn(call, now).map_err(|refusal| refusal.of(|| call.body.to_owned()))?;
            return Ok((made, call.body.to_owned()));
        };
        let made = self.turn(&Call { body: &turn.body(), ..*call }, now);
        let made = made.map_err(|refusal| refusal.of(|| turn.alone()))?;
        let played = turn.alone();
        self.threads.keep(turn, &made.message, now);
        Ok((made, played))
    }

    /// A message that is said to a request that is whole.
    fn turn(&mut self, call: &Call<'_>, now: Duration) -> Result<Made, Refusal> {
        let mut ask = Ask::read(call, Purpose::Message, &self.settings)?;
        let sent = self.judged(&ask)?;
        if !sent.dropped.is_empty() {
            ask.request = prompt::without(&ask.request, &sent.dropped);
        }
        let Edited { request, applied, compaction } = edit::edit(&ask, &sent);
        let read = Prompt::of(&request, &ask.model, &self.signer, false);
        let is_summarised = ask.compacts || compaction.is_some();
        let answer = if is_summarised { 0 } else { ask.max_tokens };
        if read.tokens().saturating_add(answer) > ask.profile.window {
            return Err(too_long(&ask, read.tokens()).into());
        }
        if ask.compacts {
            return self.summary(&ask, &sent, &read, now);
        }
        let transformations = sent.transformations();
        let mut turn = Turn { sent, read, summary: None, iterations: Vec::new(), transformations };
        if let Some(compaction) = &compaction {
            self.summarise(&mut turn, &ask, &request, compaction, now);
        }
        let pauses = compaction.is_some_and(|compaction| compaction.pauses);
        let line = if pauses {
            Line { stop_reason: Some("compaction".to_owned()), ..Line::default() }
        } else {
            self.play(&ask)?
        };
        let usage = if pauses { Usage::default() } else { self.cache.take(&turn.read, &ask, now) };
        let (breaks_after, breaks_with) = (line.breaks_after, line.breaks_with.clone());
        let mut said = Said::of(line, &ask, &turn.sent, &mut self.signer, self.calls);
        if !pauses && turn.summary.is_some() {
            turn.iterations.push(usage.iteration("message", said.tokens));
        }
        said.tokens = if pauses { 0 } else { said.tokens };
        said.content.splice(0..0, turn.summary);
        let mut more = serde_json::Map::new();
        if !ask.edits.is_empty() {
            more.insert("context_management".to_owned(), json!({"applied_edits": applied}));
        }
        if ask.betas.iter().any(|beta| beta.starts_with("thinking-binding-controls-")) {
            more.insert("input_transformations".to_owned(), turn.transformations);
        }
        let id = format!("msg_{:024}", self.calls);
        let mut message = said.message(&ask, &id, usage, more);
        if !turn.iterations.is_empty() {
            message["usage"]["iterations"] = Value::from(turn.iterations);
        }
        Ok(Made { message, is_stream: ask.is_stream, breaks_after, breaks_with })
    }

    /// Makes the summary that is due, whose place is before the answer.
    fn summarise(
        &mut self,
        turn: &mut Turn,
        ask: &Ask,
        request: &Request,
        compaction: &Compaction,
        now: Duration,
    ) {
        let told = Told::of(self.script.summary(ask, request.messages().len()), ask.max_tokens);
        let usage = self.read_by_summary(&turn.read, ask, compaction.instructions.as_deref(), now);
        turn.iterations.push(usage.iteration("compaction", told.tokens));
        let block = Summary::at_threshold(&told).block;
        turn.sent = edit::behind(&ask.request, &block, &ask.model, &self.signer);
        turn.read = edit::behind(request, &block, &ask.model, &self.signer);
        turn.summary = Some(block);
    }

    /// A summary of the whole conversation, alone, as it is asked for by `compaction`.
    fn summary(&mut self, ask: &Ask, sent: &Prompt, read: &Prompt, now: Duration) -> Result<Made, Refusal> {
        let line = self.play(ask)?;
        let told = Told::of(Some(line), ask.max_tokens);
        let instructions = ask.fields.get("compaction").and_then(|it| it["instructions"].as_str());
        let usage = self.read_by_summary(read, ask, instructions, now);
        let summary = Summary::on_demand(&told, ask, sent, &self.signer);
        let stop_reason = told.text.err().unwrap_or_else(|| "compaction".to_owned());
        let line = Line { stop_reason: Some(stop_reason), ..Line::default() };
        let mut said = Said::of(line, ask, read, &mut self.signer, self.calls);
        said.tokens = 0;
        said.content.extend(summary.map(|summary| summary.block));
        let id = format!("msg_{:024}", self.calls);
        let mut message = said.message(ask, &id, Usage::default(), serde_json::Map::new());
        message["usage"]["iterations"] = json!([usage.iteration("compaction", told.tokens)]);
        Ok(Made { message, is_stream: ask.is_stream, breaks_after: None, breaks_with: None })
    }

    /// What a summary reads of a prompt.
    fn read_by_summary(
        &mut self,
        read: &Prompt,
        ask: &Ask,
        instructions: Option<&str>,
        now: Duration,
    ) -> Usage {
        let mut usage = self.cache.take(read, ask, now);
        usage.fresh += edit::asking(instructions);
        usage
    }

    fn play(&mut self, ask: &Ask) -> Result<Line, Refusal> {
        match self.script.play(ask) {
            script::Play::Says(line) => Ok(line),
            script::Play::Fails { error, retry_after } => {
                Err(Refusal { retry_after, is_scripted: true, ..error.into() })
            }
        }
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
        // Nothing is said after a summary: whose the last message is does not matter.
        let counts = |violation: &&Violation| !ask.compacts || violation.rule != Rule::I3;
        match found.iter().filter(counts).find_map(Violation::api_error) {
            Some(error) => Err(error),
            None => edit::check(ask, &self.signer).map(|()| prompt),
        }
    }
}

/// What an answer follows.
struct Turn {
    /// What was sent: what the answer's thinking is bound to.
    sent: Prompt,
    /// What is read of it.
    read: Prompt,
    /// The summary that was made first.
    summary: Option<Value>,
    iterations: Vec<Value>,
    transformations: Value,
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
        Body::Events { events, breaks, message: self.message }
    }
}

/// Why there is no message.
struct Refusal {
    error: ApiError,
    retry_after: Option<u64>,
    /// `error.details.error_code`
    code: Option<&'static str>,
    is_scripted: bool,
    /// The request, whole, that the script was played for.
    played: Option<String>,
}

impl Refusal {
    /// With the request that it is about.
    fn of(self, request: impl FnOnce() -> String) -> Self {
        Self { played: self.is_scripted.then(request), ..self }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, retry_after: None, code: None, is_scripted: false, played: None }
    }
}

/// That a request is larger than the window, alone or with the answer that it asks for.
fn too_long(ask: &Ask, tokens: u64) -> ApiError {
    if tokens <= ask.profile.window {
        return Fault::OverWindow.error(&[
            ("value", &tokens.to_string()),
            ("most", &ask.max_tokens.to_string()),
            ("window", &ask.profile.window.to_string()),
        ]);
    }
    let number = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
    let violation = Violation::too_long(number(tokens), number(ask.profile.window));
    violation.api_error().expect("a test reads the table of errors")
}
