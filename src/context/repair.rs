//! Makes a broken history valid with as little change as can be.
//!
//! What [`violations`] finds is mended, the worst first, until nothing is found: there is no rule here that is not there.
//! What stays is byte for byte what it was. Nothing is made up but placeholders that say in brackets what they are.
//!
//! | broken | mended by |
//! |---|---|
//! | no message, no block, a call without id | taking it out |
//! | a block in a message of the wrong role | taking it out |
//! | a system message where the model takes none | making it the user's, marked; changes of tools in it go |
//! | a system message in the wrong place | moving it behind the next message of the user's; a marked one is added where there is none |
//! | empty or blank texts, empty messages | taking them out; an empty compaction, too, since it is signed and null would be another |
//! | two calls, two results of one id | the first stays |
//! | a call whose result came too late | moving the result to its place |
//! | a call whose result never came | a marked result, with `is_error` |
//! | a result without its call | taking it out; where it is all that a message has, a marked text stands for it, so that turns stay apart |
//! | half a pair of the API's own tools, a call whose code is gone | taking it out: what the API would have said cannot be made up |
//! | thinking that is last in its message, unsigned, forged or unbound | taking it out; on a model that binds, all thinking after it |
//! | a turn that lacks its thinking where the request asks for it | turning thinking off, as the API advises |
//! | thinking in a turn that goes on without | taking it out |
//! | too many cache marks | the last ones stay: they cover the most |
//! | a cache mark for five minutes before one for an hour, or beside another | taking it away |
//! | too many messages | the first ones go |
//! | an assistant first | a marked message of the user's before it: nothing is lost |
//! | an assistant last, where the model does not go on with its words | a marked message of the user's behind it: nothing is lost |
//! | white space at the end of words to go on with | trimming it |
//!
//! On a model that binds thinking to what is before it, the thinking after a change goes: it would be refused. What the API
//! has summed up is no longer before what comes after.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{self, Fields};
use super::message::Role;
use super::profile::{Binding, Profile};
use super::request::{self, Entry, Request};
use super::rules::{self, Fault, MOST_MARKS, MOST_MESSAGES, Place, Rule, Seals, Violation, violations};

mod draft;
mod marks;
mod results;
mod system;
mod thinking;

use draft::Draft;

const EARLIER: &str = r#"{"type":"text","text":"[earlier messages were left out]"}"#;
const GO_ON: &str = r#"{"type":"text","text":"[no new message: continue]"}"#;

/// What was done about a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Deed {
    /// It was taken out.
    Removed,
    /// It was put where it belongs.
    Moved,
    /// A placeholder was put in, at it or for it.
    Added,
    /// It was written anew.
    Changed,
}

/// One change that a repair made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Repair {
    /// Where, in the history as it came.
    pub path: String,
    /// What was done.
    pub what: Deed,
    /// For which rule.
    pub why: Rule,
    /// What was wrong, for people.
    pub hint: String,
}

/// Makes a request, or a list of messages, valid for the model that it names, and says what it changed. What is valid, or is
/// no request at all, stays as it is.
///
/// Numbers may be written anew on their way through a [`Value`]; [`repaired`] keeps every byte.
///
/// ```
/// use memdir::context::{repair, validate};
/// use serde_json::json;
///
/// let (whole, repairs) = repair(&json!([
///     {"role": "user", "content": "Count them."},
///     {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "count", "input": {}}]},
/// ]));
/// assert!(validate(&whole).is_empty());
/// assert_eq!(whole[2]["content"][0]["content"], "[result not recorded]");
/// assert_eq!(repairs[0].path, "messages.1");
/// ```
#[must_use]
pub fn repair(request: &Value) -> (Value, Vec<Repair>) {
    let Ok(given) = Request::from_value(request) else { return (request.clone(), Vec::new()) };
    let (whole, repairs) = repaired(&given, &given.profile(), &());
    if repairs.is_empty() {
        return (request.clone(), repairs);
    }
    (whole.to_value(), repairs)
}

/// As [`repair`], for a model and with signatures that are known.
#[must_use]
pub fn repaired(request: &Request, profile: &Profile, seals: &impl Seals) -> (Request, Vec<Repair>) {
    let is_bound = profile.binding != Binding::Ignore && !request.drops_unbound_thinking();
    let mut mending = Mending::of(request);
    mending.mend_all(profile, seals);
    while is_bound && mending.strip(request) {
        mending.mend_all(profile, seals);
    }
    (mending.request(), mending.done)
}

struct Mending {
    /// The request, for its other fields.
    head: Request,
    drafts: Vec<Draft>,
    done: Vec<Repair>,
}

impl Mending {
    fn of(request: &Request) -> Self {
        let mut mending = Self {
            head: request.with_messages([]),
            drafts: Vec::with_capacity(request.messages().len()),
            done: Vec::new(),
        };
        for (i, entry) in request.messages().iter().enumerate() {
            match entry {
                Entry::Message(message) => mending.drafts.push(Draft::of(message.clone(), i)),
                Entry::Broken { json, why } => {
                    let gone = |place: Place| Repair {
                        path: place.to_string(),
                        what: Deed::Removed,
                        why: Rule::Shape,
                        hint: why.hint.to_owned(),
                    };
                    if let Some((draft, lost)) = Draft::salvage(json, i) {
                        mending.drafts.push(draft);
                        mending.done.extend(lost.into_iter().map(|block| gone(Place::Block(i, block))));
                    } else {
                        mending.done.push(gone(Place::Message(i)));
                    }
                }
            }
        }
        mending
    }

    fn request(&self) -> Request {
        self.head.with_messages(self.drafts.iter().map(|draft| draft.message.clone()))
    }

    /// Mends until nothing is found. Each round ends in less that is wrong of one kind: what was taken out does not come back,
    /// what was moved stands right, and a placeholder is only put where there is none. The bound is for what was overlooked.
    fn mend_all(&mut self, profile: &Profile, seals: &impl Seals) {
        let blocks: usize = self.drafts.iter().map(|draft| 1 + draft.message.blocks().len()).sum();
        for _ in 0..100 + 4 * blocks {
            let found = violations(&self.request(), profile, seals);
            let Some(first) = found.iter().map(|it| stage(it.fault)).min() else { return };
            self.mend(&found.iter().filter(|it| stage(it.fault) == first).collect::<Vec<_>>());
        }
    }

    /// Mends violations of one stage, which are in the order of their messages.
    fn mend(&mut self, found: &[&Violation]) {
        match found[0].fault {
            Fault::SystemFirst | Fault::SystemAfterAssistant | Fault::SystemBeforeUser => {
                self.move_system(found);
            }
            Fault::SystemUnsupported => self.make_user(found),
            Fault::LateResult => self.move_results(found),
            Fault::Unanswered => self.answer(found),
            Fault::Orphan => self.remove_orphans(found),
            Fault::NoThinkingFirst => {
                self.note(&found[0].at(Place::Field("thinking")), Deed::Changed);
                self.head.set("thinking", r#"{"type":"disabled"}"#);
            }
            Fault::MarkOnSealed | Fault::TwoLifetimes => {
                self.unmark(found[0], found.iter().map(|it| it.place));
            }
            Fault::TooManyMarks => {
                let marks = rules::marks(&self.request());
                let few = marks.len().saturating_sub(MOST_MARKS);
                self.unmark(found[0], marks.into_iter().take(few));
            }
            Fault::LongAfterShort => {
                let request = self.request();
                let marks = rules::marks(&request);
                let is_long = |place: &Place| rules::is_long(&request, *place);
                let last = marks.iter().rposition(is_long).unwrap_or_default();
                let short: Vec<Place> =
                    marks[..last].iter().copied().filter(|place| !is_long(place)).collect();
                self.unmark(found[0], short);
            }
            Fault::TooManyMessages => {
                self.note(found[0], Deed::Removed);
                // Some more than too many: placeholders need room.
                self.drafts.drain(..self.drafts.len() + 100 - MOST_MESSAGES);
            }
            Fault::NoMessages | Fault::NotUserFirst => {
                self.note(found[0], Deed::Added);
                self.drafts.insert(0, Draft::new(Role::User, EARLIER));
            }
            Fault::EndsWithAssistant => self.end(found[0]),
            Fault::EndsWithSpace => self.trim(found[0]),
            _ => self.remove(found),
        }
    }

    fn note(&mut self, about: &Violation, what: Deed) {
        let place = match about.place {
            Place::Message(i) => self.drafts[i].origin(None).unwrap_or(Place::Messages),
            Place::Block(i, j) | Place::Part(i, j, _) => {
                self.drafts[i].origin(Some(j)).unwrap_or(Place::Messages)
            }
            place => place,
        };
        let path = place.to_string();
        self.done.push(Repair { path, what, why: about.rule, hint: about.hint.clone() });
    }

    /// Takes out what is at fault.
    fn remove(&mut self, found: &[&Violation]) {
        let mut blocks: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        let mut parts: BTreeMap<(usize, usize), HashSet<usize>> = BTreeMap::new();
        let (mut messages, mut system) = (HashSet::new(), HashSet::new());
        for about in found {
            let is_new = match about.place {
                Place::Message(i) => messages.insert(i),
                Place::Block(i, j) => blocks.entry(i).or_default().insert(j),
                Place::Part(i, j, k) => parts.entry((i, j)).or_default().insert(k),
                Place::System(k) => system.insert(k),
                _ => false,
            };
            if is_new {
                self.note(about, Deed::Removed);
            }
        }
        for ((i, j), gone) in parts {
            let json = without_parts(&self.drafts[i].item(j), &gone);
            self.drafts[i].rewrite(j, json);
        }
        for (i, gone) in blocks {
            self.drafts[i].remove(&gone);
        }
        if !system.is_empty() {
            let parts = self.head.parts("system");
            let kept =
                parts.into_iter().enumerate().filter(|(k, _)| !system.contains(k)).map(|(_, part)| part);
            let kept = fields::list(kept);
            self.head.set("system", &kept);
        }
        self.remove_messages(&messages);
    }

    fn remove_messages(&mut self, gone: &HashSet<usize>) {
        let mut number = 0..;
        self.drafts.retain(|_| number.next().is_none_or(|number| !gone.contains(&number)));
    }

    fn end(&mut self, about: &Violation) {
        if self.drafts.last().is_some_and(|last| rules::is_empty(&last.message)) {
            self.note(about, Deed::Removed);
            self.drafts.pop();
        } else {
            self.note(about, Deed::Added);
            self.drafts.push(Draft::new(Role::User, GO_ON));
        }
    }

    fn trim(&mut self, about: &Violation) {
        let Place::Block(i, j) = about.place else { return };
        self.note(about, Deed::Changed);
        let json = self.drafts[i].item(j);
        let text = request::string(&json, "text").unwrap_or_default();
        let text = Value::from(text.trim_end()).to_string();
        let json = Fields::read(&json).unwrap_or_default().with(&[("text", Some(&text))]);
        self.drafts[i].rewrite(j, json);
    }
}

/// In which order faults are mended: what the mending of one may undo of another comes first.
fn stage(fault: Fault) -> u8 {
    match fault {
        Fault::BrokenMessage | Fault::NoId | Fault::AnswersNothing => 0,
        Fault::WrongRole => 1,
        Fault::SystemUnsupported => 2,
        Fault::EmptyText | Fault::BlankText | Fault::EmptyCompaction => 3,
        Fault::EmptyMessage => 4,
        Fault::SystemFirst | Fault::SystemAfterAssistant | Fault::SystemBeforeUser => 5,
        Fault::SecondId | Fault::NoCaller | Fault::ServerUnanswered | Fault::ServerOrphan => 6,
        Fault::SecondResult => 7,
        Fault::LateResult => 8,
        Fault::Unanswered => 9,
        Fault::Orphan => 10,
        Fault::Forged | Fault::Unbound | Fault::Unsigned | Fault::EndsInThinking => 11,
        Fault::NoThinkingFirst | Fault::ThinkingDisabled => 12,
        Fault::MarkOnSealed => 13,
        Fault::TwoLifetimes => 14,
        Fault::LongAfterShort => 15,
        Fault::TooManyMarks => 16,
        Fault::TooManyMessages => 17,
        Fault::NoMessages | Fault::NotUserFirst => 18,
        Fault::EndsWithAssistant => 19,
        _ => 20,
    }
}

fn without_parts(json: &str, gone: &HashSet<usize>) -> String {
    let fields = Fields::read(json).unwrap_or_default();
    let parts: Vec<&RawValue> =
        fields.get("content").and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    let kept = parts.iter().enumerate().filter(|(k, _)| !gone.contains(k)).map(|(_, part)| part.get());
    fields.with(&[("content", Some(&fields::list(kept)))])
}
