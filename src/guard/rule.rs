//! A rule: what a secret of one kind looks like.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::around::{Around, is_escaped};
use super::shape::Shape;
use super::value;

/// What a secret of one kind looks like.
#[derive(Debug)]
pub(super) struct Rule {
    /// The name that people and models get to see.
    pub(super) id: &'static str,
    /// Lower-case words, of which one begins what the rule matches, whatever its case there.
    pub(super) keywords: &'static [&'static str],
    form: Form,
    /// The secret has more bits per byte than this.
    entropy: f64,
    /// What stands in values that are known to be none.
    allow: &'static [&'static str],
    /// Bytes of a match before its keyword.
    lead: usize,
    /// What stands before a match, on its line, in any case.
    line: Option<&'static [u8]>,
    left: Left,
    /// Whether what it finds is a secret beyond reasonable doubt.
    pub(super) is_sure: bool,
    compiled: OnceLock<Compiled>,
}

/// What may stand directly before a format that tells by itself what it is.
///
/// A `_` and an escape (`\n` in a string, `%3D`, a colour code) may always stand there. gitleaks asks for no letter, digit
/// or `_` before most formats, and so misses `key_AKIA…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Anything: the pattern does not care.
    Any,
    /// No long row of letters; a letter or a digit only before a secret with a digit that begins in the case of its
    /// format: what begins by chance with a telling prefix is mostly a piece of a blob, or of words.
    Telling,
    /// No letter and no digit: the prefix is that of many other things.
    Plain,
}

/// What is made of a pattern at its first use.
#[derive(Debug)]
struct Compiled {
    regex: Regex,
    /// What begins all that a token's pattern matches.
    shape: Shape,
}

#[derive(Debug)]
enum Form {
    /// A format of its own, at least so many bytes long without a blank: group 1 of the pattern, else all of it.
    Token { pattern: &'static str, least: usize },
    /// A value after a name and a sign between them.
    Near { name: Option<&'static str>, value: &'static str },
    /// A value after a keyword and what stands between them, with a judgement beyond the pattern: what stands before the
    /// value, and the value.
    Judged { after: &'static str, judge: fn(&[u8], &[u8]) -> bool },
    /// A block that begins with a keyword: what tells where it ends, if it is one.
    Block { end: fn(&[u8]) -> Option<usize> },
}

/// A rule for a format that tells by itself what it is.
pub(super) const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    least: usize,
    entropy: f64,
) -> Rule {
    let mut rule = rule(id, keywords, Form::Token { pattern, least }, entropy, true);
    rule.left = if is_bound(pattern) { Left::Telling } else { Left::Any };
    rule
}

/// Whether a pattern asks for a boundary before it.
const fn is_bound(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let at = if bytes[0] == b'(' && bytes[1] == b'?' && bytes[2] == b'i' { 4 } else { 0 };
    bytes[at] == b'\\' && bytes[at + 1] == b'b'
}

/// A rule for a value that tells nothing but by the name before it, which is one of the keywords.
pub(super) const fn near(
    id: &'static str,
    keywords: &'static [&'static str],
    value: &'static str,
    entropy: f64,
) -> Rule {
    rule(id, keywords, Form::Near { name: None, value }, entropy, false)
}

/// As [`near`], with a name that is more than its keyword.
pub(super) const fn near_as(
    id: &'static str,
    keywords: &'static [&'static str],
    name: &'static str,
    value: &'static str,
    entropy: f64,
) -> Rule {
    rule(id, keywords, Form::Near { name: Some(name), value }, entropy, false)
}

/// A rule whose matches are judged: what stands before the value, and the value. `after` is a pattern for what follows a
/// keyword; its group 1 is the value.
pub(super) const fn judged(
    id: &'static str,
    keywords: &'static [&'static str],
    after: &'static str,
    entropy: f64,
    judge: fn(&[u8], &[u8]) -> bool,
) -> Rule {
    rule(id, keywords, Form::Judged { after, judge }, entropy, false)
}

/// A rule for what no pattern describes: `end` tells where it ends that begins with a keyword.
pub(super) const fn block(
    id: &'static str,
    keywords: &'static [&'static str],
    end: fn(&[u8]) -> Option<usize>,
) -> Rule {
    rule(id, keywords, Form::Block { end }, 0.0, true)
}

const fn rule(
    id: &'static str,
    keywords: &'static [&'static str],
    form: Form,
    entropy: f64,
    is_sure: bool,
) -> Rule {
    Rule {
        id,
        keywords,
        form,
        entropy,
        allow: &[],
        lead: 0,
        line: None,
        left: Left::Any,
        is_sure,
        compiled: OnceLock::new(),
    }
}

/// A pattern for bytes, with ASCII classes: what a format spells is ASCII, and text may be any bytes.
pub(super) fn regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("patterns are the house's own, and a test compiles all")
}

/// Whether a word stands on the last line of a text, not far from its end, in any case.
fn is_on_line(text: &[u8], word: &[u8]) -> bool {
    const NEAR: usize = 320;
    let near = &text[text.len().saturating_sub(NEAR)..];
    let line = &near[memchr::memrchr(b'\n', near).map_or(0, |end| end + 1)..];
    line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

impl Rule {
    pub(super) const fn unsure(mut self) -> Self {
        self.is_sure = false;
        self
    }

    pub(super) const fn allow(mut self, allow: &'static [&'static str]) -> Self {
        self.allow = allow;
        self
    }

    pub(super) const fn lead(mut self, lead: usize) -> Self {
        self.lead = lead;
        self
    }

    /// It counts only on a line on which this stands before it, not far away.
    pub(super) const fn on_line_with(mut self, word: &'static [u8]) -> Self {
        self.line = Some(word);
        self
    }

    /// No letter and no digit may stand before it, as its prefix alone tells little.
    pub(super) const fn plain(mut self) -> Self {
        self.left = Left::Plain;
        self
    }

    /// The secret of which a keyword stands at `at`, as a range of `text`.
    pub(super) fn find(&self, around: &mut Around<'_>, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let start = at.checked_sub(self.lead)?;
        let rest = &text[start..];
        match self.form {
            Form::Block { end } => return end(rest).map(|end| (start, start + end)),
            Form::Token { least, .. } => {
                if !self.is_solid(around, start, least) || !self.compiled().shape.begins(rest) {
                    return None;
                }
            }
            Form::Near { .. } | Form::Judged { .. } => {
                if !around.is_followed(start) {
                    return None;
                }
            }
        }
        let is_glued = self.left != Left::Any && start > 0 && value::is_word(text[start - 1]);
        if is_glued && !self.may_be_glued(around, text, start) {
            return None;
        }
        let regex = &self.compiled().regex;
        if !regex.is_match(rest) {
            return None;
        }
        let found = regex.captures(rest)?;
        let secret = found.get(1).or(found.get(0))?.range();
        let bytes = match self.form {
            // A sign that closes a list around it, or goes on with that, is none of its own.
            Form::Judged { .. } => value::without_closing(&rest[secret.clone()]),
            _ => &rest[secret.clone()],
        };
        if !self.line.is_none_or(|word| is_on_line(&text[..start], word)) {
            return None;
        }
        let is_known = self.allow.iter().any(|known| value::contains(bytes, known.as_bytes()));
        let is_one = match self.form {
            Form::Token { .. } => {
                let is_glued = is_glued && text[start - 1] != b'_' && !is_escaped(&text[..start]);
                (!is_glued || value::has_digit(bytes)) && (self.is_sure || !value::is_placeholder(bytes))
            }
            Form::Near { .. } => value::has_digit(bytes) && !value::is_placeholder(bytes),
            Form::Judged { judge, .. } => {
                let before = &text[start.saturating_sub(20)..start + secret.start];
                !value::is_placeholder(bytes) && judge(before, bytes)
            }
            Form::Block { .. } => true,
        };
        (is_one && !is_known && (self.entropy == 0.0 || value::entropy(bytes) > self.entropy))
            .then(|| (start + secret.start, start + secret.start + bytes.len()))
    }

    /// Whether the bytes of a token follow without a blank.
    fn is_solid(&self, around: &mut Around<'_>, start: usize, least: usize) -> bool {
        // What begins before its keyword is asked for in no order.
        least <= self.lead || around.is_solid(start + self.lead, least - self.lead)
    }

    /// Whether a token may begin at `start`, directly behind a letter, a digit or a `_`.
    fn may_be_glued(&self, around: &mut Around<'_>, text: &[u8], start: usize) -> bool {
        if is_escaped(&text[..start]) {
            return true;
        }
        let is_spelled = self.compiled().shape.is_spelled(&text[start..]);
        let is_apart = text[start - 1] == b'_';
        is_spelled && (is_apart || self.left == Left::Telling && !around.is_in_blob(start))
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let shape = match self.form {
                Form::Token { pattern, .. } => Shape::of(pattern),
                _ => Shape::default(),
            };
            Compiled { regex: self.regex(), shape }
        })
    }

    fn regex(&self) -> Regex {
        let pattern = match self.form {
            Form::Token { pattern, .. } => format!("^(?:{pattern})"),
            Form::Judged { after, .. } => {
                let names: Vec<_> = self.keywords.iter().map(|name| regex::escape(name)).collect();
                format!("(?i)^(?:{})(?:{after})", names.join("|"))
            }
            Form::Near { name, value } => {
                let name = name.map_or_else(|| self.keywords.join("|"), str::to_owned);
                format!(
                    r#"(?i)^(?:{name})[ \t\w.-]{{0,20}}[\s'"*\x60]{{0,3}}(?:=|>|:{{1,3}}=|\|\||:|=>|\?=|,)[\x60'"\s=*]{{0,5}}({value})(?:[^\w+/=~-]|$)"#
                )
            }
            Form::Block { .. } => String::new(),
        };
        regex(&pattern)
    }

    /// Compiles the pattern.
    #[cfg(test)]
    pub(super) fn compile(&self) {
        self.compiled();
    }

    /// Whether its shape takes a text that its pattern takes.
    #[cfg(test)]
    pub(super) fn shape_is_sound(&self, text: &[u8]) -> bool {
        let Compiled { regex, shape } = self.compiled();
        shape.begins(text) || !regex.is_match(text)
    }
}
