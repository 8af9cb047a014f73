//! What is to be done about a secret, by store and by rule.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::{ours, scan};

/// What is done about a secret in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// What is sure is blocked, and the rest is warned of.
    #[default]
    Default,
    /// The same for all.
    All(Action),
}

/// What is done about a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing.
    Off,
    /// It is stored, and told.
    Warn,
    /// The rest is stored, without it.
    Redact,
    /// Nothing is stored.
    Block,
}

/// What a store does about secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Guard {
    /// In general.
    pub mode: Mode,
    /// Of some rules, by their names.
    pub rules: BTreeMap<&'static str, Action>,
}

/// Something in a text that looks like a secret. It holds no byte of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The rule that found it.
    pub rule: &'static str,
    /// What is to be done about it.
    pub action: Action,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

/// What was found in a version, and stored all the same or left out of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Warning {
    /// The line; `None`: the path.
    pub line: Option<usize>,
    /// What it looks like.
    pub rule: String,
    /// Whether it was left out.
    pub is_redacted: bool,
    /// How many more were found behind it that are not told one by one, whatever they look like. Over 0 in the last of
    /// [`MOST_WARNINGS`] alone.
    pub more: usize,
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Warning", 3 + usize::from(self.more > 0))?;
        fields.serialize_field("line", &self.line)?;
        fields.serialize_field("rule", &self.rule)?;
        fields.serialize_field("is_redacted", &self.is_redacted)?;
        if self.more > 0 {
            fields.serialize_field("more", &self.more)?;
        }
        fields.end()
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.is_redacted) {
            (None, _) => write!(f, "the path looks like {}", self.rule),
            (Some(line), false) => write!(f, "line {line} looks like {}", self.rule),
            (Some(line), true) => write!(f, "line {line} looked like {} and was not stored", self.rule),
        }?;
        if self.more > 0 {
            write!(f, ", and {} more like these", self.more)?;
        }
        Ok(())
    }
}

/// As many warnings of one version are told and recorded; the last one says how many more there are.
///
/// What is left out of a text, and what it is refused for, has no such limit.
pub const MOST_WARNINGS: usize = 100;

/// What is told of a version in which something was found, in the order of its lines; `is_left_out` tells what is not
/// stored with it.
pub(crate) fn warnings(found: &[Found], is_left_out: impl Fn(&Found) -> bool) -> Vec<Warning> {
    let warning = |found: &Found| Warning {
        line: Some(found.line),
        rule: found.rule.to_owned(),
        is_redacted: is_left_out(found),
        more: 0,
    };
    let mut told: Vec<_> = found.iter().take(MOST_WARNINGS).map(warning).collect();
    if let Some(last) = told.last_mut() {
        last.more = found.len().saturating_sub(MOST_WARNINGS);
    }
    told
}

/// Warnings in words, as an answer tells them: the first few, and how many more there are.
pub(crate) fn words<'w>(warnings: impl ExactSizeIterator<Item = &'w Warning>) -> Vec<String> {
    const MOST: usize = 10;
    let mut more = warnings.len().saturating_sub(MOST);
    let mut words = Vec::new();
    for warning in warnings {
        if words.len() < MOST {
            words.push(Warning { more: 0, ..warning.clone() }.to_string());
        }
        more += warning.more;
    }
    if more > 0 {
        words.push(format!("and {more} more like these"));
    }
    words
}

/// The names of all rules, and whether what they find is sure.
#[must_use]
pub fn rule_names() -> BTreeMap<&'static str, Sureness> {
    let mut names = BTreeMap::new();
    for (id, is_sure) in scan::rules().map(|rule| (rule.id, rule.is_sure)).chain([(ours::CARD, true)]) {
        let known = names.entry(id).or_insert(if is_sure { Sureness::Sure } else { Sureness::Likely });
        if (*known == Sureness::Sure) != is_sure {
            *known = Sureness::ByShape;
        }
    }
    names
}

/// Whether what a rule finds is a secret beyond reasonable doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sureness {
    /// It is.
    Sure,
    /// It may be none.
    Likely,
    /// In some shapes it is, in others it may be none.
    ByShape,
}

impl Guard {
    /// What is done about what a rule finds.
    #[must_use]
    pub fn action(&self, rule: &str, is_sure: bool) -> Action {
        match (self.rules.get(rule), self.mode) {
            (Some(action), _) => *action,
            (None, Mode::All(action)) => action,
            (None, Mode::Default) if is_sure => Action::Block,
            (None, Mode::Default) => Action::Warn,
        }
    }

    /// Whether nothing is looked for.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.mode == Mode::All(Action::Off) && self.rules.values().all(|action| *action == Action::Off)
    }

    /// Finds the secrets in a text, in order; where several rules find the same, the strictest one counts.
    ///
    /// Time grows with the text and no faster.
    #[must_use]
    pub fn scan(&self, text: &[u8]) -> Vec<Found> {
        if self.is_off() {
            return Vec::new();
        }
        let mut matches = Vec::new();
        let is_wanted = |rule: &str, is_sure| self.action(rule, is_sure) != Action::Off;
        scan::each_match(text, &is_wanted, &mut |found| matches.push(found));
        if matches.is_empty() {
            return Vec::new();
        }
        matches.sort_by_key(|found| (found.start, !found.is_sure, usize::MAX - found.end));
        let mut found: Vec<Found> = Vec::new();
        let (mut line, mut counted) = (1, 0);
        let mut is_last_sure = false;
        for one in matches {
            let action = self.action(one.rule, one.is_sure);
            match found.last_mut() {
                Some(last) if one.start < last.range.end => {
                    last.range.end = last.range.end.max(one.end);
                    if (action, one.is_sure) > (last.action, is_last_sure) {
                        (last.rule, last.action, is_last_sure) = (one.rule, action, one.is_sure);
                    }
                }
                _ => {
                    line += memchr::memchr_iter(b'\n', &text[counted..one.start]).count();
                    counted = one.start;
                    is_last_sure = one.is_sure;
                    found.push(Found { rule: one.rule, action, line, range: one.start..one.end });
                }
            }
        }
        found
    }

    /// A text as it is stored: `[redacted: rule]` in place of what is to be left out, and of nothing else.
    #[cfg(feature = "search")]
    pub(crate) fn leave_out<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.mode != Mode::All(Action::Redact)
            && !self.rules.values().any(|&action| action == Action::Redact)
        {
            return Cow::Borrowed(text);
        }
        let mut found = self.scan(text.as_bytes());
        found.retain(|found| found.action == Action::Redact);
        masked(text, &found)
    }

    /// A text with `[redacted: rule]` in place of every secret, for an answer that quotes it.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        masked(text, &self.scan(text.as_bytes()))
    }
}

fn masked<'t>(text: &'t str, found: &[Found]) -> Cow<'t, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let masked = without(text.as_bytes(), found.iter());
    Cow::Owned(String::from_utf8_lossy(&masked).into_owned())
}

/// A text without what was found in it, and a note in the place of each.
pub(crate) fn without<'f>(text: &[u8], found: impl Iterator<Item = &'f Found>) -> Vec<u8> {
    let mut rest = Vec::with_capacity(text.len());
    let mut at = 0;
    for Found { rule, range, .. } in found {
        // No character is cut in two.
        let is_inner = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let (mut start, mut end) = (range.start.max(at), range.end);
        while start > at && is_inner(start) {
            start -= 1;
        }
        while is_inner(end) {
            end += 1;
        }
        rest.extend_from_slice(&text[at..start]);
        rest.extend_from_slice(format!("[redacted: {rule}]").as_bytes());
        at = end.max(start);
    }
    rest.extend_from_slice(&text[at..]);
    rest
}
