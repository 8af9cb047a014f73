//! The atoms that matter stay: by words, by age, by what they are; most for their tokens first.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Candidate, fill};

/// Keeps what matters, and marks where something was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Words, or beginnings of words, that tell what matters. Those of the latest task are added.
    pub keywords: Vec<String>,
    /// After so many messages, being recent is worth half.
    pub half_life: u64,
}

impl Default for Retention {
    fn default() -> Self {
        let keywords = [
            "decision",
            "important",
            "remember",
            "conclusion",
            "error",
            "fix",
            "solution",
            "warning",
            "critical",
        ];
        Self { keywords: keywords.map(str::to_owned).to_vec(), half_life: 20 }
    }
}

/// What an atom says, and what it is.
#[derive(Debug, Default)]
pub(in crate::context) struct Voice<'a> {
    pub(in crate::context) said: Vec<Cow<'a, str>>,
    /// A tool failed.
    pub(in crate::context) has_error: bool,
    /// The user speaks.
    pub(in crate::context) is_task: bool,
}

/// The parameters of BM25 that are usual.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A sum of BM25 that is worth half of what the best is.
const HALF: f64 = 3.0;
/// What it is worth that a tool failed, or that the user speaks.
const ERROR: f64 = 0.5;
const TASK: f64 = 0.3;
/// What every atom costs beside its tokens, so that the shortest do not always win.
const FRAME: f64 = 20.0;
/// Words of the latest task that count: longer ones than this, at most so many.
const SHORT: usize = 3;
const MOST_TERMS: usize = 32;

/// Which candidates stay, `voices` being what each of them says and `task` what the user said last.
pub(in crate::context) fn choose(
    retention: &Retention,
    candidates: &[Candidate],
    voices: &[Voice<'_>],
    task: &str,
    room: f64,
) -> Vec<bool> {
    let scores = score(retention, candidates, voices, task);
    let worth = |at: usize| scores[at] / (candidates[at].cost + FRAME);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| worth(*b).total_cmp(&worth(*a)).then(b.cmp(a)));
    fill(candidates, order, room)
}

fn score(retention: &Retention, candidates: &[Candidate], voices: &[Voice<'_>], task: &str) -> Vec<f64> {
    let terms = Terms::new(terms(&retention.keywords, task));
    let mut often = vec![0; terms.terms.len()];
    let counted: Vec<Count> = voices.iter().map(|voice| terms.count(&voice.said, &mut often)).collect();
    let all = float(counted.len());
    let average = counted.iter().map(|(words, _)| words).sum::<f64>() / all.max(1.0);
    let mut found = vec![0.0; terms.terms.len()];
    for (term, _) in counted.iter().flat_map(|(_, terms)| terms) {
        found[*term] += 1.0;
    }
    let end = candidates.last().map_or(0, |last| last.messages.end);
    let each = candidates.iter().zip(voices).zip(&counted);
    each.map(|((candidate, voice), (words, terms))| {
        let bm25: f64 = terms
            .iter()
            .map(|(term, often)| {
                let rare = (1.0 + (all - found[*term] + 0.5) / (found[*term] + 0.5)).ln();
                rare * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * words / average.max(1.0)))
            })
            .sum();
        let age = float(end - candidate.messages.end);
        let half_life = float(usize::try_from(retention.half_life.max(1)).unwrap_or(usize::MAX));
        let prior = |is: bool, worth: f64| if is { worth } else { 0.0 };
        bm25 / (bm25 + HALF)
            + (-age / half_life).exp2()
            + prior(voice.has_error, ERROR)
            + prior(voice.is_task, TASK)
    })
    .collect()
}

/// Keywords and the words of the task, in lower case, sorted.
fn terms(keywords: &[String], task: &str) -> Vec<String> {
    let task = words(task).filter(|word| word.chars().count() > SHORT).take(MOST_TERMS);
    let mut terms: Vec<String> =
        keywords.iter().map(String::as_str).chain(task).map(str::to_lowercase).collect();
    terms.retain(|term| !term.is_empty());
    terms.sort_unstable();
    // What begins with a term is found by that term.
    terms.dedup_by(|longer, shorter| longer.starts_with(shorter.as_str()));
    terms
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Terms, in lower case and sorted, and where those that begin with each byte start: most words are no term, and that is
/// seen at once.
struct Terms {
    terms: Vec<String>,
    starts: [usize; 257],
}

/// How many words a text has, and how often each term begins one: none that does not.
type Count = (f64, Vec<(usize, f64)>);

impl Terms {
    fn new(terms: Vec<String>) -> Self {
        let start = |byte: usize| terms.partition_point(|term| usize::from(term.as_bytes()[0]) < byte);
        Self { starts: std::array::from_fn(start), terms }
    }

    fn count(&self, texts: &[Cow<'_, str>], often: &mut [usize]) -> Count {
        let words = texts.iter().map(|text| self.count_in(text, often)).sum();
        let found = often.iter_mut().enumerate().filter(|(_, often)| **often > 0);
        (float(words), found.map(|(term, often)| (term, float(std::mem::take(often)))).collect())
    }

    /// Counts terms, and gives the number of words.
    fn count_in(&self, text: &str, often: &mut [usize]) -> usize {
        let mut words = 0;
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            // Letters and signs that are not ASCII count as letters.
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] >= 0x80) {
                at += 1;
            }
            if at > start {
                words += 1;
                if let Some(term) = self.find(&text[start..at]) {
                    often[term] += 1;
                }
            }
            at += 1;
        }
        words
    }

    /// The term that begins a word. No term begins another, so that there is at most one.
    fn find(&self, word: &str) -> Option<usize> {
        if !word.is_ascii() {
            let word = word.to_lowercase();
            let after = self.terms.partition_point(|term| *term <= word);
            return after.checked_sub(1).filter(|at| word.starts_with(&self.terms[*at]));
        }
        let word = word.as_bytes();
        let first = usize::from(word[0].to_ascii_lowercase());
        (self.starts[first]..self.starts[first + 1]).find(|at| {
            let term = self.terms[*at].as_bytes();
            word.get(..term.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(term))
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "words and messages are counted")]
fn float(count: usize) -> f64 {
    count as f64
}
