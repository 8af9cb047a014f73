//! From a plan to bytes: what is kept is copied, never written anew.

use std::borrow::Cow;

use serde_json::Value;

use super::block::Kind;
use super::fields::Fields;
use super::message::Message;
use super::plan::{Change, Needs, Plan, To, Verdict};
use super::request::{self, Entry, Request};
use super::rules;
use super::speech;
use super::transcript::Transcript;

const MANAGEMENT: &str = "context_management";

/// The `messages` of the request, as a JSON list. Messages and blocks that are kept are the bytes that came; the same plan,
/// or one read back from JSON, gives the same bytes.
#[must_use]
pub fn render(transcript: &Transcript, plan: &Plan) -> String {
    before(transcript, plan, usize::MAX)
}

/// Of the `messages`, those that stand for the messages before `upto`, which begins an atom.
pub(super) fn before(transcript: &Transcript, plan: &Plan, upto: usize) -> String {
    let messages = |verdict: &Verdict| {
        let numbers = verdict.messages.clone().filter_map(|number| transcript.get(number));
        numbers.map(|message| message.json().len() + 1).sum::<usize>()
    };
    let sent = || plan.atoms.iter().filter(|verdict| verdict.fate.is_sent() && verdict.messages.end <= upto);
    let mut list = String::with_capacity(2 + sent().map(messages).sum::<usize>());
    list.push('[');
    if let Some(head) = &plan.head {
        add(&mut list, &head.to_string());
    }
    let mut inserts = plan.inserts.iter().peekable();
    let mut changes = &plan.changes[..];
    for verdict in sent() {
        for number in verdict.messages.clone() {
            while let Some(insert) = inserts.next_if(|insert| insert.before <= number) {
                add(&mut list, &user(&insert.text));
            }
            let Some(message) = transcript.get(number) else { continue };
            changes = &changes[changes.partition_point(|change| change.message < number)..];
            let here = &changes[..changes.partition_point(|change| change.message == number)];
            if here.is_empty() {
                add(&mut list, message.json());
            } else if let Some(json) = edited(message, here) {
                add(&mut list, &json);
            }
        }
    }
    list.push(']');
    list
}

fn add(list: &mut String, message: &str) {
    if list.len() > 1 {
        list.push(',');
    }
    list.push_str(message);
}

/// A message of the user with a text.
pub(super) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":{}}}"#, Value::from(text))
}

/// A message with changes; `None`: nothing of it is left.
pub(super) fn edited(message: &Message, changes: &[Change]) -> Option<String> {
    let blocks = message.blocks();
    let (first, last) = (blocks.first()?, blocks.last()?);
    let mut kept = String::new();
    let mut is_blank = true;
    for (number, block) in blocks.iter().enumerate() {
        let json = message.block_json(block);
        let change = changes.iter().find(|change| change.block == number);
        let Some(json) = changed(json, change.map(|change| &change.to)) else { continue };
        is_blank &= block.is_blank && block.kind == Kind::Text;
        if !kept.is_empty() {
            kept.push(',');
        }
        kept.push_str(&json);
    }
    let json = message.json();
    (!is_blank).then(|| format!("{}{kept}{}", &json[..first.span.start], &json[last.span.end..]))
}

/// A block with a change; `None`: nothing of it is left.
pub(super) fn changed<'a>(json: &'a str, change: Option<&To>) -> Option<Cow<'a, str>> {
    match change {
        None => Some(Cow::Borrowed(json)),
        Some(To::Nothing) => None,
        Some(To::Content(text)) => Some(Cow::Owned(with_content(json, text))),
        Some(To::NoInput) => Some(Cow::Owned(with_field(json, "input", "{}"))),
    }
}

/// A block with another `content`, a text.
pub(super) fn with_content(json: &str, text: &str) -> String {
    with_field(json, "content", &Value::from(text).to_string())
}

/// A block with another value in a field that it has.
fn with_field(json: &str, field: &str, value: &str) -> String {
    let said = speech::said(json);
    let old = said.and_then(|said| if field == "input" { said.input } else { said.content });
    let Some(old) = old else { return json.to_owned() };
    let start = old.get().as_ptr().addr() - json.as_ptr().addr();
    format!("{}{value}{}", &json[..start], &json[start + old.get().len()..])
}

/// Puts the messages into a request, and what they need; all other fields stay as they are, in their order. The beta
/// headers ([`Needs::betas`]) are the caller's to send.
///
/// Thinking with a budget, which only models take that do not bind it to its prefix, is turned off for a turn that lacks
/// its first thinking. With it go the later thinking of that turn and the edit `clear_thinking_20251015`: the API takes
/// neither in a request without thinking.
///
/// A request for a summary ([`Needs::compaction`]) loses what the API takes in none: `context_management`, `stop_sequences`,
/// `output_config.format`, a `tool_choice` that asks for a call.
///
/// # Errors
/// When the request, its `thinking` or its `context_management` is no JSON object.
pub fn splice(request: &str, messages: &str, needs: &Needs) -> Result<String, serde_json::Error> {
    let fields = read(request)?;
    let mut changes = vec![("messages", Some(messages))];
    let (thinking, management, bare);
    let is_off = needs.lacks_thinking
        && fields
            .get("thinking")
            .is_some_and(|thinking| request::string(thinking, "type").is_some_and(|kind| kind == "enabled"));
    if is_off {
        bare = without_thinking(messages);
        changes[0].1 = Some(&bare);
        changes.push(("thinking", Some(r#"{"type":"disabled"}"#)));
    } else if needs.drops_blocks {
        let given = read(fields.get("thinking").unwrap_or(r#"{"type":"adaptive"}"#))?;
        let binding = read(given.get("block_binding").unwrap_or("{}"))?;
        let binding = binding.with(&[("prefix_mismatch_behavior", Some(r#""drop_block""#))]);
        thinking = given.with(&[("block_binding", Some(&binding))]);
        changes.push(("thinking", Some(&thinking)));
    }
    if !needs.edits.is_empty() || is_off && fields.get(MANAGEMENT).is_some() {
        let given = read(fields.get(MANAGEMENT).unwrap_or("{}"))?;
        let mut edits = needs.edits.clone();
        if edits.is_empty() {
            edits = given.get("edits").and_then(|edits| serde_json::from_str(edits).ok()).unwrap_or_default();
        }
        edits.retain(|edit| !(is_off && edit["type"] == "clear_thinking_20251015"));
        management = given.with(&[("edits", Some(&serde_json::to_string(&edits)?))]);
        changes.push((MANAGEMENT, Some(&management)));
    }
    let (compaction, config);
    if let Some(asked) = &needs.compaction {
        compaction = asked.to_string();
        changes.retain(|(name, _)| *name != MANAGEMENT);
        changes.extend([("compaction", Some(&*compaction)), (MANAGEMENT, None), ("stop_sequences", None)]);
        if let Some(given) = fields.get("output_config").and_then(Fields::read) {
            config = given.with(&[("format", None)]);
            changes.push(("output_config", Some(&config)));
        }
        let choice = fields.get("tool_choice").and_then(|choice| request::string(choice, "type"));
        if choice.is_some_and(|choice| matches!(&*choice, "any" | "tool")) {
            changes.push(("tool_choice", None));
        }
    }
    Ok(fields.with(&changes))
}

/// Messages without the thinking of the turn that goes on.
fn without_thinking(messages: &str) -> String {
    let Ok(given) = Request::from_json(messages) else { return messages.to_owned() };
    let entries = given.messages();
    let back = entries.iter().enumerate().rev().filter_map(|(number, entry)| match entry {
        Entry::Message(message) if !rules::is_directive(message) => {
            let blocks = message.blocks().iter().enumerate().map(|(at, block)| ((number, at), block.kind));
            Some((message.role(), blocks.collect()))
        }
        _ => None,
    });
    let turn = rules::open_turn(back).into_iter().filter(|(_, kind)| *kind == Kind::Thinking);
    let gone: Vec<Change> =
        turn.map(|((message, block), _)| Change { message, block, to: To::Nothing }).collect();
    let mut list = String::with_capacity(messages.len());
    list.push('[');
    for (number, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Message(message) => {
                let here = &gone[gone.partition_point(|one| one.message < number)..];
                let here = &here[..here.partition_point(|one| one.message == number)];
                if here.is_empty() {
                    add(&mut list, message.json());
                } else if let Some(json) = edited(message, here) {
                    add(&mut list, &json);
                }
            }
            Entry::Broken { json, .. } => add(&mut list, json),
        }
    }
    list.push(']');
    list
}

fn read(json: &str) -> Result<Fields<'_>, serde_json::Error> {
    serde_json::from_str(json)
}
