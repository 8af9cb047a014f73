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
//! | too many cache marks | the last ones stay: they cover the most |
//! | too many messages | the first ones go |
//! | an assistant first | a marked message of the user's before it: nothing is lost |
//! | an assistant last, where the model does not go on with its words | a marked message of the user's behind it: nothing is lost |
//! | white space at the end of words to go on with | trimming it |
//!
//! On a model that binds thinking to what is before it, the thinking after the first change goes: it would be refused.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use super::block::{Block, Kind};
use super::fields::{self, Fields};
use super::message::{Message, Role};
use super::profile::{Binding, Profile};
use super::request::{self, Entry, Request};
use super::rules::{self, Fault, MOST_MARKS, MOST_MESSAGES, Place, Rule, Seals, Violation, violations};

mod draft;

use draft::Draft;

const EARLIER: &str = r#"{"type":"text","text":"[earlier messages were left out]"}"#;
const GO_ON: &str = r#"{"type":"text","text":"[no new message: continue]"}"#;
const OPERATOR: &str = r#"{"type":"text","text":"[system message]"}"#;
const LOST_CALL: &str = r#"{"type":"text","text":"[a result whose call is not recorded was left out]"}"#;
const LOST_RESULT: &str = "[result not recorded]";

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
    let mut mending = Mending::of(request, is_bound);
    mending.mend_all(profile, seals);
    if is_bound && mending.strip(request) {
        mending.mend_all(profile, seals);
    }
    (mending.request(), mending.done)
}

struct Mending {
    /// The request, for its other fields.
    head: Request,
    drafts: Vec<Draft>,
    done: Vec<Repair>,
    /// Whether thinking is refused once something before it has changed.
    is_bound: bool,
}

impl Mending {
    fn of(request: &Request, is_bound: bool) -> Self {
        let mut mending = Self {
            head: request.with_messages([]),
            drafts: Vec::with_capacity(request.messages().len()),
            done: Vec::new(),
            is_bound,
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
            Fault::Forged | Fault::Unbound if self.is_bound => self.remove_thinking_from(found[0]),
            Fault::NoThinkingFirst => {
                self.note(&found[0].at(Place::Field("thinking")), Deed::Changed);
                self.head.set("thinking", r#"{"type":"disabled"}"#);
            }
            Fault::MarkOnSealed => self.unmark(found[0], found.iter().map(|it| it.place).collect()),
            Fault::TooManyMarks => {
                let marks = rules::marks(&self.request());
                self.unmark(found[0], marks[..marks.len().saturating_sub(MOST_MARKS)].to_vec());
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
        let mut number = 0..;
        self.drafts.retain(|_| number.next().is_none_or(|number| !messages.contains(&number)));
    }

    fn make_user(&mut self, found: &[&Violation]) {
        let mut gone = Vec::new();
        for about in found {
            let Place::Message(i) = about.place else { continue };
            let blocks = self.drafts[i].message.blocks().iter().enumerate();
            let changes: HashSet<usize> =
                blocks.filter(|(_, block)| block.kind == Kind::ToolChange).map(|(j, _)| j).collect();
            self.note(about, Deed::Changed);
            self.drafts[i].remove(&changes);
            if self.drafts[i].message.blocks().is_empty() {
                gone.push(i);
            } else {
                self.drafts[i].make_user(OPERATOR);
            }
        }
        for i in gone.into_iter().rev() {
            self.drafts.remove(i);
        }
    }

    /// Moves system messages behind the next turn of the user's. The last first: so they keep their order.
    fn move_system(&mut self, found: &[&Violation]) {
        let mut places: Vec<(usize, &Violation)> = Vec::new();
        for about in found {
            if let Place::Message(i) = about.place {
                places.push((i, about));
            }
        }
        places.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
        for (i, about) in places {
            self.note(about, Deed::Moved);
            let system = self.drafts.remove(i);
            let user = (i..self.drafts.len()).find(|&at| self.drafts[at].message.role() == Role::User);
            let Some(user) = user else {
                self.drafts.insert(i, system);
                self.drafts.insert(i, Draft::new(Role::User, GO_ON));
                continue;
            };
            let end = (user..self.drafts.len()).find(|&at| self.drafts[at].message.role() != Role::User);
            self.drafts.insert(end.unwrap_or(self.drafts.len()), system);
        }
    }

    /// The first message of the user's turn that follows the turn of message `i`. `Err`: there is none, but one could be here.
    fn next_user(&self, i: usize) -> Result<usize, usize> {
        let is_of_turn = |at: usize| {
            let message = &self.drafts[at].message;
            message.role() == Role::Assistant || rules::is_directive(message)
        };
        let end = (i..self.drafts.len()).find(|&at| !is_of_turn(at)).unwrap_or(self.drafts.len());
        let is_user = self.drafts.get(end).is_some_and(|next| next.message.role() == Role::User);
        if is_user { Ok(end) } else { Err(end) }
    }

    /// Moves results that come after other blocks to the front of their turn.
    fn move_results(&mut self, found: &[&Violation]) {
        let mut late: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for about in found {
            self.note(about, Deed::Moved);
            if let Place::Block(i, j) = about.place {
                late.entry(i).or_default().push(j);
            }
        }
        let mut starts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (i, blocks) in late {
            let is_of_turn = |&at: &usize| {
                let message = &self.drafts[at].message;
                message.role() == Role::User || rules::is_directive(message)
            };
            let start = (0..=i)
                .rev()
                .take_while(is_of_turn)
                .filter(|&at| self.drafts[at].message.role() == Role::User);
            let start = start.last().unwrap_or(i);
            if start == i {
                self.drafts[i].results_first();
                continue;
            }
            starts.entry(start).or_default().extend(blocks.iter().map(|&j| self.drafts[i].item(j)));
            self.drafts[i].remove(&blocks.into_iter().collect());
        }
        for (start, results) in starts {
            self.drafts[start].add_results(&results);
        }
    }

    /// Gives results to calls: the one that comes later, or a placeholder.
    fn answer(&mut self, found: &[&Violation]) {
        let mut later = self.unasked_results();
        let mut gone: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        let mut answers: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for about in found {
            let Place::Message(i) = about.place else { continue };
            for id in about.ids() {
                let result = later.remove(&**id).filter(|(at, _)| *at > i);
                let answer = if let Some((at, j)) = result {
                    gone.entry(at).or_default().insert(j);
                    self.note(&about.at(Place::Block(at, j)), Deed::Moved);
                    self.drafts[at].item(j)
                } else {
                    self.note(about, Deed::Added);
                    lost_result(id)
                };
                answers.entry(i).or_default().push(answer);
            }
        }
        for (at, blocks) in gone {
            self.drafts[at].remove(&blocks);
        }
        // From the end, so that what is added moves nothing that is still to come.
        for (i, results) in answers.into_iter().rev() {
            match self.next_user(i) {
                Ok(user) => self.drafts[user].add_results(&results),
                Err(at) => {
                    let mut draft = Draft::new(Role::User, &results[0]);
                    draft.add_results(&results[1..]);
                    self.drafts.insert(at, draft);
                }
            }
        }
    }

    /// The results that answer no call of the turn before, by id: the first of each.
    fn unasked_results(&self) -> HashMap<Box<str>, (usize, usize)> {
        let mut unasked = HashMap::new();
        for about in violations(&self.request(), &Profile::default(), &()) {
            if let (Fault::Orphan, Place::Block(i, j), Some(id)) =
                (about.fault, about.place, about.ids().first())
            {
                unasked.entry(id.clone()).or_insert((i, j));
            }
        }
        unasked
    }

    fn remove_orphans(&mut self, found: &[&Violation]) {
        let mut gone: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        for about in found {
            if let Place::Block(i, j) = about.place {
                gone.entry(i).or_default().insert(j);
                self.note(about, Deed::Removed);
            }
        }
        for (i, mut blocks) in gone {
            if blocks.len() == self.drafts[i].message.blocks().len() {
                self.drafts[i].rewrite(0, LOST_CALL.to_owned());
                blocks.remove(&0);
            }
            self.drafts[i].remove(&blocks);
        }
    }

    /// Takes out the thinking at fault and all that comes after it, which is bound to it.
    fn remove_thinking_from(&mut self, first: &Violation) {
        let Place::Block(from, at) = first.place else { return };
        let hint = &first.hint;
        for i in from..self.drafts.len() {
            let blocks = self.drafts[i].message.blocks().iter().enumerate();
            let thinking: HashSet<usize> = blocks
                .filter(|(j, block)| block.kind == Kind::Thinking && (i, *j) >= (from, at))
                .map(|(j, _)| j)
                .collect();
            if thinking.is_empty() {
                continue;
            }
            let mut sorted: Vec<&usize> = thinking.iter().collect();
            sorted.sort_unstable();
            for &j in sorted {
                let place = self.drafts[i].origin(Some(j)).unwrap_or(Place::Messages);
                let path = place.to_string();
                self.done.push(Repair { path, what: Deed::Removed, why: first.rule, hint: hint.clone() });
            }
            self.drafts[i].remove(&thinking);
        }
    }

    /// Takes out all thinking behind the first change, on a model that binds it. Whether there was any.
    fn strip(&mut self, before: &Request) -> bool {
        let Some((i, j)) = self.unbound(before) else { return false };
        self.remove_thinking_from(&Violation::new(Fault::ChangedPrefix, Place::Block(i, j)));
        true
    }

    /// The first thinking that something has changed before.
    fn unbound(&self, before: &Request) -> Option<(usize, usize)> {
        let is_same = |name| before.field(name) == self.head.field(name);
        let mut has_changed = !without_marks(before.field("system"), self.head.field("system"))
            || !(is_same("tools") || without_marks(before.field("tools"), self.head.field("tools")));
        let old = before.messages().iter().enumerate().flat_map(|(i, entry)| {
            let blocks = match entry {
                Entry::Message(message) => message.blocks(),
                Entry::Broken { .. } => &[],
            };
            // What cannot be read is something that was there.
            let broken = matches!(entry, Entry::Broken { .. }).then_some((i, usize::MAX));
            (0..blocks.len()).map(move |j| (i, j)).chain(broken)
        });
        let mut old = old.peekable();
        for (i, draft) in self.drafts.iter().enumerate() {
            for (j, block) in draft.message.blocks().iter().enumerate() {
                let from = match draft.origin(Some(j)) {
                    Some(Place::Block(i, j)) => Some((i, j)),
                    _ => None,
                };
                has_changed |= from.is_none() || old.next() != from || self.is_changed(before, from, i, j);
                if has_changed && block.kind == Kind::Thinking {
                    return Some((i, j));
                }
            }
        }
        None
    }

    /// Whether a block, or whose it is, is not what it was.
    fn is_changed(&self, before: &Request, from: Option<(usize, usize)>, i: usize, j: usize) -> bool {
        let Some((at, block)) = from else { return true };
        let Some(Entry::Message(old)) = before.messages().get(at) else { return true };
        let new = &self.drafts[i].message;
        let plain = |message: &Message, block: usize| {
            let json = message.block_json(&message.blocks()[block]);
            let fields = Fields::read(json).map(|fields| fields.with(&[("cache_control", None)]));
            fields.unwrap_or_else(|| format!(r#"{{"type":"text","text":{json}}}"#))
        };
        old.role() != new.role() || old != new && plain(old, block) != plain(new, j)
    }

    /// Takes cache marks away.
    fn unmark(&mut self, about: &Violation, places: Vec<Place>) {
        for place in places {
            self.note(&about.at(place), Deed::Changed);
            match place {
                Place::Block(i, j) => {
                    let json = without_mark(&self.drafts[i].item(j));
                    self.drafts[i].rewrite(j, json);
                }
                Place::Part(i, j, k) => {
                    let json = self.drafts[i].item(j);
                    let part = &Block::parts(&json)[k].span;
                    let json =
                        [&json[..part.start], &without_mark(&json[part.clone()]), &json[part.end..]].concat();
                    self.drafts[i].rewrite(j, json);
                }
                Place::System(k) => self.unmark_part("system", k),
                Place::Tool(k) => self.unmark_part("tools", k),
                _ => {}
            }
        }
    }

    fn unmark_part(&mut self, name: &str, number: usize) {
        let parts = self.head.parts(name).into_iter().enumerate();
        let parts = parts.map(|(k, part)| if k == number { without_mark(part) } else { part.to_owned() });
        let parts = fields::list(parts);
        self.head.set(name, &parts);
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
        Fault::Forged | Fault::Unbound => 11,
        Fault::Unsigned | Fault::EndsInThinking => 12,
        Fault::NoThinkingFirst => 13,
        Fault::MarkOnSealed => 14,
        Fault::TooManyMarks => 15,
        Fault::TooManyMessages => 16,
        Fault::NoMessages | Fault::NotUserFirst => 17,
        Fault::EndsWithAssistant => 18,
        _ => 19,
    }
}

fn lost_result(id: &str) -> String {
    let id = Value::from(id);
    format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":"{LOST_RESULT}","is_error":true}}"#)
}

fn without_mark(json: &str) -> String {
    Fields::read(json).unwrap_or_default().with(&[("cache_control", None)])
}

fn without_parts(json: &str, gone: &HashSet<usize>) -> String {
    let parts = Block::parts(json).into_iter().enumerate();
    let kept = parts.filter(|(k, _)| !gone.contains(k)).map(|(_, part)| &json[part.span]);
    let content = fields::list(kept);
    Fields::read(json).unwrap_or_default().with(&[("content", Some(&content))])
}

/// Whether two fields are the same but for cache marks.
fn without_marks(old: Option<&str>, new: Option<&str>) -> bool {
    let plain = |json: Option<&str>| {
        let parts: Option<Vec<&serde_json::value::RawValue>> =
            json.and_then(|json| serde_json::from_str(json).ok());
        let plain = |part: &&serde_json::value::RawValue| {
            Fields::read(part.get())
                .map_or_else(|| part.get().to_owned(), |fields| fields.with(&[("cache_control", None)]))
        };
        parts.map(|parts| parts.iter().map(plain).collect::<Vec<_>>())
    };
    old == new || plain(old).is_some() && plain(old) == plain(new)
}
