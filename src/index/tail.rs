//! What changed since the index was built, in memory. What it means, and its words, are found out once, when somebody first asks by
//! that: who stores one entry after the other does not need the words, and has what they mean found out aside.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use tantivy::query::Bm25Weight;

use super::lexical::words::{For, analyzer};
use super::lexical::{Asked, statistics};
use super::{Doc, Index, Model};

/// What has changed since the index was built.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    docs: HashMap<i64, Known>,
    /// Rows of the index that its memories hide, in a state of the index.
    hidden: Vec<u32>,
    state: Option<State>,
}

/// Which commit of which index.
pub(super) type State = (String, u64);

#[derive(Debug)]
pub(super) struct Known {
    pub(super) doc: Doc,
    /// Of each passage.
    vectors: OnceLock<Vec<Vec<f32>>>,
    words: OnceLock<Vec<Words>>,
}

/// The words of a passage, as they are scored.
#[derive(Debug, Default)]
pub(super) struct Words {
    terms: HashMap<String, u32>,
    length: u32,
}

impl Tail {
    /// Puts a memory in place of what is known of it.
    pub(crate) fn put(&mut self, index: &Index, doc: Doc) {
        let memory = doc.memory;
        let known = Known { doc, vectors: OnceLock::new(), words: OnceLock::new() };
        let is_new = self.docs.insert(memory, known).is_none();
        let state = index.state();
        if state != self.state {
            self.hidden = self.hidden_by(index);
            self.state = state;
        } else if is_new {
            self.hidden.extend(index.rows_of(memory));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.docs.len()
    }

    pub(crate) fn into_docs(self) -> Vec<Doc> {
        self.docs.into_values().map(|known| known.doc).collect()
    }

    /// The rows of the index that do not count, since the tail knows better.
    pub(super) fn hidden(&self, index: &Index) -> Cow<'_, [u32]> {
        if index.state() == self.state {
            Cow::Borrowed(&self.hidden)
        } else {
            Cow::Owned(self.hidden_by(index))
        }
    }

    fn hidden_by(&self, index: &Index) -> Vec<u32> {
        index.rows_where(|memory| self.docs.contains_key(&i64::from(memory)))
    }

    pub(super) fn docs(&self) -> impl Iterator<Item = &Known> {
        self.docs.values()
    }

    /// Adds what it holds to the counts that words are weighed by.
    pub(super) fn count(&self, asked: &[Asked], statistics: &mut statistics::Statistics) {
        let passages = || self.docs.values().flat_map(Known::words);
        statistics
            .add_documents(passages().count() as u64, passages().map(|words| u64::from(words.length)).sum());
        for asked in asked {
            let found = passages().filter(|words| words.terms.contains_key(&asked.term)).count();
            statistics.add(&asked.term, found as u64);
        }
    }
}

impl Known {
    /// The words of each passage.
    pub(super) fn words(&self) -> &[Words] {
        self.words.get_or_init(|| {
            let mut analyzer = analyzer(For::Document);
            let read = |text: &String| {
                let mut words = Words::default();
                analyzer.token_stream(text).process(&mut |token| {
                    words.length += 1;
                    match words.terms.get_mut(&token.text) {
                        Some(often) => *often += 1,
                        None => {
                            words.terms.insert(token.text.clone(), 1);
                        }
                    }
                });
                words
            };
            self.doc.passages.iter().map(read).collect()
        })
    }

    /// The cosine of a passage to a normalised vector, by a model that is always the same.
    pub(super) fn cosine(&self, model: &Model, ordinal: usize, vector: &[f32]) -> f32 {
        let embed = || self.doc.passages.iter().map(|text| model.embed(text)).collect();
        product(&self.vectors.get_or_init(embed)[ordinal], vector)
    }
}

/// The sum of products, in lanes that the compiler makes vectors of: a sum in order cannot be one.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let ((ones, more), (others, rest)) = (one.as_chunks::<16>(), other.as_chunks::<16>());
    let mut lanes = [0.0; 16];
    for (one, other) in ones.iter().zip(others) {
        for ((lane, a), b) in lanes.iter_mut().zip(one).zip(other) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + more.iter().zip(rest).map(|(a, b)| a * b).sum::<f32>()
}

impl Words {
    /// BM25; 0 where it holds none of the words.
    pub(super) fn score(&self, asked: &[(&Asked, Bm25Weight)]) -> f32 {
        let each = asked.iter().filter_map(|(asked, weight)| {
            self.terms.get(&asked.term).map(|&often| statistics::score(weight, self.length, often))
        });
        each.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_counts_every_number() {
        for length in [0, 1, 15, 16, 17, 256, 300] {
            let one: Vec<f32> = (0_u8..=255).cycle().map(f32::from).take(length).collect();
            let other: Vec<f32> = one.iter().map(|number| number % 3.0).collect();
            let expected: f32 = one.iter().zip(&other).map(|(a, b)| a * b).sum();
            assert!((product(&one, &other) - expected).abs() < 1e-6);
        }
    }
}
