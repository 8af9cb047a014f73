//! `memdir context`: conversations in, what is wrong with them or what to send of them out, a line of JSON each.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::value::RawValue;

use self::answer::{Answer, Planner};
use self::line::Refusal;
use self::policy::Chosen;
use super::fault::{self, Fault};
use super::lines::{Group, Lines};
use super::pipe::{self, Reader};

mod answer;
mod line;
mod policy;

/// Bytes that a line may have: what the API takes in one request is a quarter of it.
const LINE_LIMIT: usize = 128 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say what the API would refuse
    #[command(long_about = VALIDATE_ABOUT, after_help = VALIDATE_EXAMPLES)]
    Validate(Asked),
    /// Mend what the API would refuse, with as little change as can be
    #[command(long_about = REPAIR_ABOUT, after_help = REPAIR_EXAMPLES)]
    Repair(Asked),
    /// Say what is to be sent of a conversation, and why
    #[command(long_about = PLAN_ABOUT, after_help = PLAN_EXAMPLES)]
    Plan(Planned),
    /// Give what is to be sent of a conversation
    #[command(long_about = RENDER_ABOUT, after_help = RENDER_EXAMPLES)]
    Render(Planned),
}

#[derive(Debug, clap::Args)]
struct Asked {
    /// The model that it is for, whatever the request says [default: the request's `model`]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// One conversation, or a file with one or with one on each line; without it, one per line is read from standard input
    #[arg(value_name = "JSON|FILE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    input: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Planned {
    /// What is done when a conversation grows: `sliding_window`, `compact_with_summary` or `selective_retention`, =NUMBER if not
    /// the usual one; or a policy as JSON, or a file with it [default: results of tools are cleared at 100,000 tokens, and at
    /// 150,000 the oldest messages go]
    #[arg(long, value_name = "PRESET|JSON|FILE")]
    policy: Option<String>,
    #[command(flatten)]
    asked: Asked,
}

pub(super) const ABOUT: &str = "\
Keep long conversations with the Messages API within their window, and valid.

A conversation is a line of JSON: a request with `messages`, or a list of messages alone. Each line is answered with one line, \
at once, so that a program in any language can keep the command running and ask it before every request. A line that cannot be \
answered gets {\"error\": {\"type\", \"message\"}}, and the next one goes on. Blank lines are skipped, lines over 128 MiB refused. \
The exit code is 0 whatever the answers are; with JSON or FILE as argument it is 1 if one is an error, or not valid.

What the other commands answer is a line, too: `memdir context repair | memdir context render` works. There is no store, no \
network, no key and no clock: the same lines get the same answers.";

pub(super) const EXAMPLES: &str = "\
Examples:
  memdir context validate request.json
  memdir context repair < broken.jsonl > mended.jsonl
  memdir context plan --policy sliding_window=20 request.json
  memdir context render --policy compact_with_summary --model claude-opus-5 < conversations.jsonl

Types of errors: no_json, no_request, bad_policy, bad_note, wrong_plan, cannot_fit, too_long.";

const VALIDATE_ABOUT: &str = "\
Say what the API would refuse in a conversation, as if it were sent now.

The answer: {\"valid\": false, \"violations\": [{\"path\": \"messages.3.content.1\", \"rule\": \"I4\", \"hint\": TEXT}]}. Tokens are \
not counted, and signatures of thinking are not verified: only the API has the key.";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  memdir context validate request.json
  memdir context validate --model claude-opus-5 '[{\"role\":\"user\",\"content\":\"Hello.\"}]'
  memdir context validate < requests.jsonl | grep -c '\"valid\":false'";

const REPAIR_ABOUT: &str = "\
Mend what the API would refuse in a conversation, with as little change as can be.

The answer: {\"request\": REQUEST, \"repairs\": [{\"path\", \"what\", \"why\", \"hint\"}]}, with `messages` in place of `request` for a \
list of messages. `what` is removed, moved, added or changed; `path` is a place in the conversation as it came. What stays is byte for \
byte what it was, and nothing is made up but texts in brackets that say what they stand for.";

const REPAIR_EXAMPLES: &str = "\
Examples:
  memdir context repair request.json
  memdir context repair < broken.jsonl | memdir context render --policy sliding_window";

const PLAN_ABOUT: &str = "\
Say what is to be sent of a conversation, and why.

Give the whole conversation each time, as it was before any edit. What was cut once stays cut, and nothing else changes until a mark \
is reached again, so that the prompt cache stays warm.

A line may be {\"request\": REQUEST} or {\"messages\": LIST} with, beside it:
  \"policy\": as --policy, but no file; it comes before --policy
  \"notes\": a list of what was learned on the way

A note has \"after\": N, the number of messages that were there (without it: all of the line), and one of:
  \"usage\": what the API reported, after its answer, and \"edits\": how many the plan of that request had
  \"wanted\": what a plan wanted, and \"answer\": the text that the model wrote, or the whole response of the API
  \"note\": {\"summary_failed\": {\"why\": TEXT}}, or \"flushed\"

The answer is the plan: `atoms` (which messages are sent, as what: pinned, state, newest, kept, compacted; or left_out or summarised by \
the edit of that number), `edits`, `inserts`, `changes`, `spills`, `needs`, `warnings`. `wanted`, if it is there, is a request for a \
summary: send its `messages` with its `max_tokens` to a model of your choice, add the answer to the notes, for good (of `wanted`, only \
`upto`, `facts` and `room` are needed there), and ask again. A summary with \"by\": \"api\" is made by the API that the conversation \
is with (beta compact-2026-09-04): `wanted` has `needs` then, and `render` makes the `request` of it. \
What cannot fit, whatever is left out, gets {\"error\": {\"type\": \"cannot_fit\", \"min\": TOKENS, \"limit\": TOKENS, …}}.

A policy in JSON; this has all that one may have, and other fields are refused:
{\"strategies\": [
   {\"type\": \"clear_tool_uses_20250919\", \"trigger\": {\"type\": \"input_tokens\", \"value\": 100000},
    \"keep\": {\"type\": \"tool_uses\", \"value\": 3},
    \"clear_at_least\": {\"type\": \"input_tokens\", \"value\": 20000},
    \"exclude_tools\": [\"memory\"], \"clear_tool_inputs\": false, \"spill_to\": \"/memories/context\"},
   {\"type\": \"sliding_window\"},
   {\"type\": \"summary\", \"keep\": 5, \"window\": 200000, \"max_tokens\": 2000, \"facts\": 4000},
   {\"type\": \"retention\", \"keywords\": [\"decision\", \"error\"], \"half_life\": 20},
   {\"type\": \"delegate\", \"edits\": [{\"type\": \"clear_tool_uses_20250919\"}]}],
 \"budget\": {\"unit\": \"tokens\", \"high\": 150000, \"low\": 30000},
 \"pins\": [\"first_task\", \"latest_task\", {\"message\": 7}],
 \"output\": 8192,
 \"flush\": \"before_edits\",
 \"profile\": {\"window\": 200000, \"binding\": \"strip_thinking\", \"prefill\": false,
             \"mid_system\": false, \"cache\": {\"write\": 1.25, \"read\": 0.1}}}
Only `strategies` and `budget` must be there. Strategies are tried in their order, from the high mark down to the low one, which count \
tokens or \"messages\"; `flush` tells the model before anything goes. Without `profile` the policy is for --model, else for the \
request's `model`; without `output` the request's `max_tokens` is kept free.

A preset is a policy with one strategy: `sliding_window=N` begins above N messages, `selective_retention=N` above N tokens, \
`compact_with_summary=N` at N tokens; each goes down to half. These are marks, not limits: the limit is the window.";

const PLAN_EXAMPLES: &str = "\
Examples:
  memdir context plan --policy sliding_window=20 request.json
  memdir context plan --policy policy.json --model claude-opus-5 < conversations.jsonl
  memdir context plan '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello.\"}],\"policy\":\"selective_retention=50000\"}'";

const RENDER_ABOUT: &str = "\
Give what is to be sent of a conversation.

A line is one of `plan` with \"plan\": PLAN beside it, as `plan` answered it. Without one it is planned first, which gives the same.

The answer: {\"request\": REQUEST, \"needs\", \"edits\", \"spills\", \"wanted\", \"flush\", \"warnings\"}, with `messages` in place of `request` for a \
list of messages. The request has all its other fields as they came, and what `needs` says, but for `betas`: those are for the header \
anthropic-beta. (`lacks_thinking`: a `thinking` that is `enabled` is `disabled` until the turn ends.) `edits` is their number, for the note of its `usage`. `spills` are memory files to write first, each with `path` and `text`. While a summary is `wanted`, the conversation is \
as it was; a `wanted` with `needs` has, in place of `messages`, the `request` to send.";

const RENDER_EXAMPLES: &str = "\
Examples:
  memdir context render --policy sliding_window=20 request.json
  memdir context render --policy selective_retention < conversations.jsonl
  memdir context render '{\"messages\":[…],\"plan\":{…}}'";

pub(super) fn run(args: Args) -> Result<ExitCode, Fault> {
    match args.what {
        What::Validate(Asked { model, input }) => {
            each(input, |line| answer::validate(line, model.as_deref()))
        }
        What::Repair(Asked { model, input }) => each(input, |line| answer::repair(line, model.as_deref())),
        What::Plan(Planned { policy, asked }) => {
            let planner = planner(policy, asked.model)?;
            each(asked.input, |line| answer::plan(line, &planner))
        }
        What::Render(Planned { policy, asked }) => {
            let planner = planner(policy, asked.model)?;
            each(asked.input, |line| answer::render(line, &planner))
        }
    }
}

fn planner(policy: Option<String>, model: Option<String>) -> Result<Planner, Fault> {
    let chosen = match policy {
        None => Chosen::default(),
        Some(given) => {
            let json = if is_json(&given) || policy::is_preset(&given) { given } else { text_of(&given)? };
            Chosen::read(json.trim()).map_err(|why| {
                let presets = policy::PRESETS.join(", ");
                Fault::usage(format!("--policy: {why}")).hint(format!("{presets} or a policy as JSON"))
            })?
        }
    };
    Ok(Planner { chosen, model })
}

/// Answers the conversations of an argument, else those on standard input.
fn each(input: Option<String>, answer: impl Fn(&str) -> Answer) -> Result<ExitCode, Fault> {
    let Some(given) = input.filter(|given| given != "-") else { return stream(&answer) };
    let is_given = is_json(&given);
    let text = if is_given { given } else { text_of(&given)? };
    // What is one JSON, on however many lines, is one conversation.
    if is_given || serde_json::from_str::<&RawValue>(&text).is_ok() {
        return all([&*text], &answer);
    }
    all(text.lines(), &answer)
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn text_of(file: &str) -> Result<String, Fault> {
    // The person's own path, links and all: memories are not reached by it.
    #[allow(clippy::disallowed_methods, reason = "it is no memory")]
    let read = std::fs::read_to_string(file);
    read.map_err(|error| Fault::failed(format!("cannot read `{file}`: {error}")))
}

/// Answers lines that are there already.
fn all<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    answer: &impl Fn(&str) -> Answer,
) -> Result<ExitCode, Fault> {
    let mut code = ExitCode::SUCCESS;
    for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
        let answer = answer(line);
        if !answer.is_fine {
            code = ExitCode::from(fault::FAILED);
        }
        if say(answer)? == Reader::Gone {
            break;
        }
    }
    Ok(code)
}

/// Answers lines as they come.
fn stream(answer: &impl Fn(&str) -> Answer) -> Result<ExitCode, Fault> {
    if stdin().is_terminal() {
        fault::complain("Reading conversations, one JSON per line; Ctrl-D ends.");
    }
    let mut lines = Lines::new(LINE_LIMIT);
    loop {
        while let Some(group) = lines.next_group() {
            let lines = match group {
                Group::Lines(lines) => lines.into_iter().filter(|line| !line.trim_ascii().is_empty()),
                Group::TooLong => {
                    let message = format!("the line is longer than {LINE_LIMIT} bytes");
                    if say(Answer::refused(&Refusal::TooLong { message }))? == Reader::Gone {
                        return Ok(ExitCode::SUCCESS);
                    }
                    continue;
                }
            };
            for line in lines {
                let answer = match str::from_utf8(line) {
                    Ok(line) => answer(line),
                    Err(error) => {
                        Answer::refused(&Refusal::NoJson { message: format!("the line is no text: {error}") })
                    }
                };
                if say(answer)? == Reader::Gone {
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
        if lines.is_ended() {
            return Ok(ExitCode::SUCCESS);
        }
        if pipe::hear(lines.space())? == 0 {
            lines.end();
        }
    }
}

fn say(answer: Answer) -> Result<Reader, Fault> {
    let mut bytes = answer.json.into_bytes();
    // Strings in JSON hold no line ends: these stand between other parts of what is kept.
    for byte in bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    bytes.push(b'\n');
    pipe::say(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Policy;

    #[test]
    fn the_policy_of_the_help_is_one() {
        let from = PLAN_ABOUT.find("{\"strategies\"").unwrap();
        let to = from + PLAN_ABOUT[from..].find("\nOnly `strategies`").unwrap();
        let policy: Policy = serde_json::from_str(&PLAN_ABOUT[from..to]).unwrap();
        assert_eq!((policy.strategies.len(), policy.pins.len()), (5, 3));
    }
}
