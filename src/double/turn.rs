//! One turn: a request that is judged, edited and read, and the message that is said to it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ask::{Ask, Purpose};
use super::cache::Usage;
use super::edit::{self, Compaction, Edited, Summary};
use super::fault::Fault;
use super::prompt::{self, Prompt};
use super::reply::Said;
use super::script::{Line, Play};
use super::{Body, Call, Double, Refusal, Whose, stream};
use crate::context::{ApiError, Request, Rule, Violation, violations};

impl Double {
    /// A message that is said to a request that is whole.
    pub(super) fn turn(&mut self, call: &Call<'_>, now: Duration) -> Result<Made, Refusal> {
        let mut ask = Ask::read(call, Purpose::Message, &self.settings)?;
        let (sent, Edited { request, applied, compaction }, read) = self.read(&mut ask)?;
        let is_summarised = ask.compacts || compaction.is_some();
        fit(&ask, read.tokens(), if is_summarised { 0 } else { ask.max_tokens })?;
        if ask.compacts {
            return self.summary(&ask, &sent, &read, now);
        }
        let transformations = sent.transformations();
        let mut turn = Turn { sent, read, summary: None, iterations: Vec::new(), transformations };
        if let Some(compaction) = &compaction {
            self.summarise(&mut turn, &ask, &request, compaction, now);
        }
        let pauses = compaction.is_some_and(|compaction| compaction.pauses);
        let (line, usage) = if pauses {
            (Line::empty("compaction"), Usage::default())
        } else {
            (self.play(&ask)?, self.cache.take(&turn.read, &ask, now))
        };
        let (breaks_after, breaks_with) = (line.breaks_after, line.breaks_with.clone());
        let mut said = Said::of(line, &ask, &turn.sent, &mut self.signer, self.calls);
        if pauses {
            said.tokens = 0;
        } else if turn.summary.is_some() {
            turn.iterations.push(usage.iteration("message", said.tokens));
        }
        said.content.splice(0..0, turn.summary);
        let mut more = Map::new();
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
        let summary = Summary::of(self.script.summary(ask, request.messages().len()), ask.max_tokens);
        let usage = self.read_by_summary(&turn.read, ask, compaction.instructions.as_deref(), now);
        turn.iterations.push(usage.iteration("compaction", summary.tokens));
        let block = summary.at_threshold();
        turn.sent = edit::behind(&ask.request, &block, &ask.model, &self.signer);
        turn.read = edit::behind(request, &block, &ask.model, &self.signer);
        turn.summary = Some(block);
    }

    /// A summary of the whole conversation, alone, as it is asked for by `compaction`.
    fn summary(&mut self, ask: &Ask, sent: &Prompt, read: &Prompt, now: Duration) -> Result<Made, Refusal> {
        let line = self.play(ask)?;
        let summary = Summary::of(Some(line), ask.max_tokens);
        let instructions = ask.fields.get("compaction").and_then(|it| it["instructions"].as_str());
        let usage = self.read_by_summary(read, ask, instructions, now);
        let block = summary.on_demand(ask, sent, &self.signer);
        let stop_reason = summary.text.err().unwrap_or_else(|| "compaction".to_owned());
        let mut said = Said::of(Line::empty(&stop_reason), ask, read, &mut self.signer, self.calls);
        said.tokens = 0;
        said.content.extend(block);
        let id = format!("msg_{:024}", self.calls);
        let mut message = said.message(ask, &id, Usage::default(), Map::new());
        message["usage"]["iterations"] = json!([usage.iteration("compaction", summary.tokens)]);
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
            Play::Says(line) => Ok(line),
            Play::Fails { error, retry_after } => {
                Err(Refusal { retry_after, whose: Whose::Script, ..error.into() })
            }
            Play::Refuses(error) => Err(Refusal { whose: Whose::Own, ..error.into() }),
        }
    }

    /// How many tokens a request has, and had before it was edited.
    pub(super) fn count(&self, call: &Call<'_>) -> Result<Value, Refusal> {
        let mut ask = Ask::read(call, Purpose::Count, &self.settings)?;
        let (sent, _, read) = self.read(&mut ask)?;
        let mut counted = json!({"input_tokens": read.tokens()});
        if !ask.edits.is_empty() {
            counted["context_management"] = json!({"original_input_tokens": sent.tokens()});
        }
        Ok(counted)
    }

    /// A request as it was sent, what became of it, and that as it is read. What of it may not be read is gone.
    fn read(&self, ask: &mut Ask) -> Result<(Prompt, Edited, Prompt), Refusal> {
        let sent = self.judged(ask)?;
        if !sent.dropped.is_empty() {
            let left = prompt::without(&ask.request, &sent.dropped);
            ask.sent = Some(std::mem::replace(&mut ask.request, left));
        }
        let edited = edit::edit(ask, &sent);
        let read = Prompt::of(&edited.request, &ask.model, &self.signer, false);
        Ok((sent, edited, read))
    }

    /// What a model reads of a request, when nothing in it is refused.
    fn judged(&self, ask: &Ask) -> Result<Prompt, Refusal> {
        let drops = ask.request.drops_unbound_thinking();
        let prompt = Prompt::of(&ask.request, &ask.model, &self.signer, drops);
        let found = violations(&ask.request, &ask.profile, &prompt);
        // Nothing is said after a summary: whose the last message is does not matter.
        let counts = |violation: &&Violation| !ask.compacts || violation.rule != Rule::I3;
        let refused =
            found.iter().filter(counts).find_map(|violation| Some((violation, violation.api_error()?)));
        let Some((violation, error)) = refused else {
            edit::check(ask, &self.signer)?;
            return Ok(prompt);
        };
        let standing = violation.misfit().and_then(|place| prompt.standing(place));
        Err(Refusal { standing, ..error.into() })
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
pub(super) struct Made {
    pub(super) message: Value,
    is_stream: bool,
    breaks_after: Option<usize>,
    breaks_with: Option<ApiError>,
}

impl Made {
    pub(super) fn body(self) -> Body {
        if !self.is_stream {
            return Body::Json(self.message);
        }
        let events = stream::events(&self.message);
        let after = self.breaks_after.unwrap_or(events.len());
        let (events, breaks) = stream::broken(events, after, self.breaks_with.as_ref());
        Body::Events { events, breaks, message: self.message }
    }
}

/// Whether a request of so many tokens fits into the window, with so many for the answer.
fn fit(ask: &Ask, tokens: u64, answer: u64) -> Result<(), ApiError> {
    let window = ask.profile.window;
    if tokens > window {
        let number = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        let violation = Violation::too_long(number(tokens), number(window));
        return Err(violation.api_error().expect("a test reads the table of errors"));
    }
    if tokens.saturating_add(answer) > window {
        return Err(Fault::OverWindow.error(&[
            ("value", &tokens.to_string()),
            ("most", &answer.to_string()),
            ("window", &window.to_string()),
        ]));
    }
    Ok(())
}
