//! A stand-in for the Messages API: it refuses what the API refuses, in the same words where they are known, and
//! plays what it is told to.
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
//!
//! In a test:
//!
//! ```
//! use memdir::double::{Double, Script};
//! use serde_json::json;
//!
//! fn the_answer_is_four() -> Result<(), Box<dyn std::error::Error>> {
//!     let script: Script = r#"{"when": {"last": "2 + 2"}, "reply": {"text": "Four."}}"#.parse()?;
//!     let mut api = Double::new(script);
//!     let messages = json!([{"role": "user", "content": "2 + 2?"}]);
//!     let answer = api.create(&json!({"model": "claude-opus-5", "max_tokens": 100, "messages": messages}), &[])?;
//!     assert_eq!(answer["content"][0]["text"], "Four.");
//!     Ok(())
//! }
//! # the_answer_is_four().unwrap();
//! ```

use std::time::Duration;

use serde_json::{Value, json};

use crate::context::{ApiError, Malformed, Request};

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
mod turn;

#[cfg(feature = "http")]
pub(crate) use ask::MOST_BYTES;
use cache::Cache;
pub(crate) use fault::Fault;
#[cfg(all(feature = "cli", feature = "http"))]
pub(crate) use models::is_known;
pub use script::{BadScript, Script};
use seal::{Signer, Standing};
pub use stream::Event;
use thread::Threads;
use turn::Made;

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
///
/// ```
/// use memdir::double::{Double, Script, Settings};
///
/// let narrow = Double::with(Script::default(), Settings { window: Some(20_000), ..Settings::default() });
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The key that a call must have; `None`: any.
    pub key: Option<String>,
    /// The window of every model, in tokens; `None`: that of the model.
    pub window: Option<u64>,
}

/// A call over HTTP.
#[derive(Debug, Clone, Copy)]
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
    /// Why it was refused, for people, where more is known than the API tells.
    pub why: Option<&'static str>,
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

    /// Answers a call. `now` is the time since any moment; it only goes forward, and the prompt cache goes by it.
    pub fn answer(&mut self, call: &Call<'_>, now: Duration) -> Answer {
        self.calls += 1;
        let done = self.respond(call, now);
        self.told(done)
    }

    /// Refuses a call that is none, as a door sees it.
    #[cfg(feature = "http")]
    pub(crate) fn refuse(&mut self, fault: Fault) -> Answer {
        self.calls += 1;
        self.told(Err(fault.error(&[]).into()))
    }

    fn told(&self, done: Result<(Body, Option<String>), Refusal>) -> Answer {
        let id = format!("req_{:024}", self.calls);
        let mut headers = vec![("request-id", id.clone())];
        let (status, body, played, why) = match done {
            Ok((body, played)) => (200, body, played, None),
            Err(Refusal { error, retry_after, code, whose, standing, played }) => {
                headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
                // SDKs go by it: asked again, the script still does not fit.
                headers.extend((whose == Whose::Own).then(|| ("x-should-retry", "false".to_owned())));
                let mut body = fault::body(&error, &id);
                if let Some(code) = code {
                    body["error"]["details"] = json!({"error_code": code});
                }
                (error.status, Body::Json(body), played, standing.and_then(Standing::why))
            }
        };
        Answer { status, headers, body, played, why }
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
        let headers = headers(&key, &betas);
        let body = request.to_string();
        let call = Call { method: "POST", path: "/v1/messages", headers: &headers, body: &body };
        let (made, _) = self.message(&call, now).map_err(|refusal| refusal.error)?;
        Ok(made.message)
    }

    /// Signs the thinking and the summaries of a request anew, as if this stand-in had said them: for a history that is made up.
    ///
    /// # Errors
    /// [`Malformed`] for what is no request.
    pub fn signed(&mut self, request: &Value) -> Result<Value, Malformed> {
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
}

/// The headers of a call that is in order.
fn headers<'a>(key: &'a str, betas: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("content-type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", key),
        ("anthropic-beta", betas),
    ]
}

/// Why there is no message.
struct Refusal {
    error: ApiError,
    retry_after: Option<u64>,
    /// `error.details.error_code`
    code: Option<&'static str>,
    whose: Whose,
    /// How the signature stands that it is about.
    standing: Option<Standing>,
    /// The request, whole, that the script was played for.
    played: Option<String>,
}

/// Whose words a refusal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Api,
    Script,
    /// The stand-in's own: the script does not fit the request.
    Own,
}

impl Refusal {
    /// With the request that it is about.
    fn of(self, request: impl FnOnce() -> String) -> Self {
        Self { played: (self.whose == Whose::Script).then(request), ..self }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, retry_after: None, code: None, whose: Whose::Api, standing: None, played: None }
    }
}
