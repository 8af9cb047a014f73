//! `memdir hook`: what a coding agent's host runs at the turns of a session.
//!
//! The host waits for it, so it is over within two seconds, whatever the disk, another process or standard input do; and
//! it never ends with the exit code that the host takes for "block".

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use camino::Utf8PathBuf;
use serde_json::json;

use super::fault::{FAILED, Fault, USAGE, complain};
use super::out::{Out, speak};
use super::place::{Place, tell_warned};
use super::{agent_named, variable};
use crate::error::Error;
use crate::mcp;
use crate::recall::Recall;
use crate::store::{Actor, Builder, Edit, Found, Settings, Snapshot, Store};

mod input;
mod note;
mod transcript;

use input::Input;
use note::Heading;
use transcript::Said;

/// The name of the command.
pub(super) const NAME: &str = "hook";
/// It is given up after this long.
const PATIENCE: Duration = Duration::from_millis(1800);
/// The lock is waited for this long, so that it can be told that it is held.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    event: Event,
}

#[derive(Debug, clap::Subcommand)]
enum Event {
    /// A session begins: print what is known, for the agent to have from the start
    SessionStart {
        #[command(flatten)]
        place: Place,
        /// About so many tokens at most
        #[arg(long, value_name = "TOKENS", default_value = "2000")]
        budget: NonZeroUsize,
    },
    /// The conversation is about to be compacted: note the end of it
    PreCompact {
        #[command(flatten)]
        place: Place,
        /// Who makes the note, for the history [default: $MEMDIR_ACTOR, else hook]
        #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        actor: Option<String>,
    },
}

pub(super) fn run(args: Args) -> Result<ExitCode, Fault> {
    let (over, is_over) = mpsc::channel();
    let work = move || {
        let done = speak(|out| match args.event {
            Event::SessionStart { place, budget } => session_start(&place, budget.get(), out),
            Event::PreCompact { place, actor } => pre_compact(&place, actor),
        });
        // Who has given up does not hear it.
        let _ = over.send(done);
    };
    let started = thread::Builder::new().name(NAME.to_owned()).spawn(work);
    started.map_err(|error| Fault::failed(format!("cannot start a thread: {error}")))?;
    is_over.recv_timeout(PATIENCE).unwrap_or_else(|why| match why {
        RecvTimeoutError::Timeout => {
            let fault = Fault::failed("it took too long, and was given up so that the host does not wait");
            Err(fault.hint(
                "if it does so each time, run `memdir prefetch` on the store once: that takes its time",
            ))
        }
        RecvTimeoutError::Disconnected => Err(Fault::failed("it broke off")),
    })
}

/// The exit code in place of the one that hosts take for "block".
pub(super) fn never_block(code: ExitCode) -> ExitCode {
    if code == ExitCode::from(USAGE) { ExitCode::from(FAILED) } else { code }
}

/// Prints what is known, as Claude Code adds it to a session's context; nothing where there is nothing to tell.
fn session_start(place: &Place, budget: usize, out: &mut Out) -> Result<u8, Fault> {
    let input = input::read().unwrap_or_else(|why| {
        complain(&format!("warning: {why}"));
        Input::default()
    });
    let builder = |base| Store::builder(base).create(false);
    let store = match open(place, builder) {
        Err(fault) if fault.is_no_store() => {
            complain("There is no store yet: the first memory that is stored makes it.");
            return Ok(0);
        }
        opened => opened?,
    };
    let mut told = mcp::known(&Recall::new(store.clone()), None, budget)?;
    if input.source.as_deref() == Some("compact")
        && let Some(path) = note::newest(&store, &input.session())?
    {
        let _ =
            writeln!(told, "\nThe end of this conversation, before it was compacted, is noted in {path}.");
    }
    if !told.is_empty() {
        let output = json!({"hookEventName": "SessionStart", "additionalContext": told.trim()});
        _ = out.json(&json!({"hookSpecificOutput": output}));
    }
    Ok(0)
}

/// Notes the end of the conversation.
fn pre_compact(place: &Place, actor: Option<String>) -> Result<u8, Fault> {
    let input = input::read().map_err(Fault::failed)?;
    let file = input.transcript_path.as_deref().ok_or_else(|| {
        Fault::failed("the input names no transcript").hint("the host gives it as `transcript_path`")
    })?;
    let said = transcript::read(&at_home(file)?)
        .map_err(|error| Fault::failed(format!("the transcript cannot be read: {error}")))?;
    if !said.iter().any(Said::is_told) {
        complain("The transcript has nothing to note.");
        return Ok(0);
    }
    let actor = agent_named(actor)?.unwrap_or_else(|| Actor::Agent(NAME.to_owned()));
    let store = open(place, |base| Store::builder(base).actor(actor.clone()))?;
    let (session, now) = (input.session(), store.now());
    let path = note::newest(&store, &session)?.unwrap_or_else(|| note::path(&session, now));
    let heading = Heading { session, at: now, trigger: input.trigger(), asked: input.custom_instructions };
    let guard = store.settings().guard.clone();
    let decide = move |snapshot: &mut Snapshot<'_>| {
        let before = match snapshot.read(&path)? {
            Found::File(bytes) => match String::from_utf8(bytes.to_vec()) {
                Ok(text) => Some(text),
                Err(_) => return Err(Error::NotText { path: path.clone() }),
            },
            Found::Not(_) => None,
        };
        let after = note::with(before.as_deref(), &said, &heading, &guard);
        Ok((after.map(|text| Edit::write(&path, text)).into_iter().collect(), ()))
    };
    let ((), warned) = store.with_reason("before the conversation was compacted").change_warned(decide)?;
    tell_warned(&warned);
    Ok(0)
}

/// Opens the store that a host's session uses, with no more patience than a hook has.
fn open(place: &Place, builder: impl Fn(Utf8PathBuf) -> Builder) -> Result<Store, Fault> {
    let base = place.base_for_hosts(variable("MEMDIR_DIR")?)?;
    let settings = builder(base.clone()).open()?.settings().clone();
    let lock_wait = settings.lock_wait.min(LOCK_PATIENCE);
    Ok(builder(base).settings(Settings { lock_wait, ..settings }).open()?)
}

/// A path of the host's, in which `~` stands for the home directory.
fn at_home(path: &str) -> Result<PathBuf, Fault> {
    match (path.strip_prefix("~/"), variable("HOME")?) {
        (Some(rest), Some(home)) => Ok(PathBuf::from(home).join(rest)),
        _ => Ok(path.into()),
    }
}
