//! A rule: what a secret of one kind looks like.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

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
    /// Whether what it finds is a secret beyond reasonable doubt.
    pub(super) is_sure: bool,
    regex: OnceLock<Regex>,
}

#[derive(Debug)]
enum Form {
    /// A format of its own, at least so many bytes long without a blank: group 1 of the pattern, else all of it.
    Token { pattern: &'static str, least: usize },
    /// A value after a name and a sign between them.
    Near { name: Option<&'static str>, value: &'static str },
    /// A value after a name, with a judgement beyond the pattern: what stands before the value, and the value.
    Judged { pattern: &'static str, judge: fn(&[u8], &[u8]) -> bool },
    /// The header of a private key, and what follows it.
    PrivateKey,
}

/// A rule for a format that tells by itself what it is.
pub(super) const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    least: usize,
    entropy: f64,
) -> Rule {
    rule(id, keywords, Form::Token { pattern, least }, entropy, true)
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

/// A rule whose matches are judged: what stands before the value, and the value.
pub(super) const fn judged(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    entropy: f64,
    judge: fn(&[u8], &[u8]) -> bool,
) -> Rule {
    rule(id, keywords, Form::Judged { pattern, judge }, entropy, false)
}

/// The rule for private keys.
pub(super) const fn private_key(id: &'static str, keywords: &'static [&'static str]) -> Rule {
    rule(id, keywords, Form::PrivateKey, 0.0, true)
}

const fn rule(
    id: &'static str,
    keywords: &'static [&'static str],
    form: Form,
    entropy: f64,
    is_sure: bool,
) -> Rule {
    Rule { id, keywords, form, entropy, allow: &[], lead: 0, is_sure, regex: OnceLock::new() }
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

    /// The secret of which a keyword stands at `at`, as a range of `text`.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let start = at.checked_sub(self.lead)?;
        let rest = &text[start..];
        if let Form::PrivateKey = self.form {
            return value::private_key(rest).map(|end| (start, start + end));
        }
        if !self.may_match(text, start) {
            return None;
        }
        let found = self.regex().captures(rest)?;
        let secret = found.get(1).or(found.get(0))?;
        let bytes = secret.as_bytes();
        let is_known = self.allow.iter().any(|known| value::contains(bytes, known.as_bytes()));
        let is_one = match self.form {
            Form::Token { .. } => self.is_sure || !value::is_placeholder(bytes),
            Form::Near { .. } => value::has_digit(bytes) && !value::is_placeholder(bytes),
            Form::Judged { judge, .. } => {
                let before = &text[start.saturating_sub(20)..start + secret.start()];
                !value::is_placeholder(bytes) && judge(before, bytes)
            }
            Form::PrivateKey => true,
        };
        (is_one && !is_known && (self.entropy == 0.0 || value::entropy(bytes) > self.entropy))
            .then(|| (start + secret.start(), start + secret.end()))
    }

    /// A look at what follows, before a pattern is compiled and run.
    fn may_match(&self, text: &[u8], start: usize) -> bool {
        match self.form {
            Form::Token { pattern, least } => {
                let is_bound = pattern.trim_start_matches("(?i)").starts_with(r"\b");
                let is_inside = is_bound
                    && start > 0
                    && value::is_word(text[start - 1])
                    && !value::is_escaped(&text[..start]);
                !is_inside && value::is_run(&text[start..], least)
            }
            Form::Near { .. } | Form::Judged { .. } => value::is_followed(&text[start..]),
            Form::PrivateKey => true,
        }
    }

    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let pattern = match self.form {
                Form::Token { pattern, .. } => format!("^(?:{pattern})"),
                Form::Judged { pattern, .. } => format!("(?i)^(?:{pattern})"),
                Form::Near { name, value } => {
                    let name = name.map_or_else(|| self.keywords.join("|"), str::to_owned);
                    format!(
                        r#"(?i)^(?:{name})[ \t\w.-]{{0,20}}[\s'"*\x60]{{0,3}}(?:=|>|:{{1,3}}=|\|\||:|=>|\?=|,)[\x60'"\s=*]{{0,5}}({value})(?:[^\w+/=~-]|$)"#
                    )
                }
                Form::PrivateKey => String::new(),
            };
            // Bytes and ASCII classes: what a format spells is ASCII, and text may be any bytes.
            RegexBuilder::new(&pattern).unicode(false).build().expect("a test compiles every rule")
        })
    }

    /// Compiles the pattern.
    #[cfg(test)]
    pub(super) fn compile(&self) {
        self.regex();
    }
}
