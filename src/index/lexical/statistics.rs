//! How often words occur, in the index and in what changed since: what BM25 weighs by, the same for both.

use std::collections::HashMap;

use tantivy::Term;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{Bm25StatisticsProvider, Bm25Weight};
use tantivy::schema::Field;

use super::Asked;

/// The average length counts as so many times as long. In tantivy k1 = 1.2 and b = .75 are fixed, meant for articles: what a
/// word weighs is divided by 1 + k1 (1 − b + b length / average) where it stands once. With three times the average that is
/// k1 = .6 and b = .5: a memory is a few sentences, in which a word that comes again tells little, and one of three sentences is
/// no worse an answer than one of a single one. On ten real chats (REALTALK, 705 questions, a memory for each turn) evidence
/// recall@10 rises from .532 to .544, on the questions of `fixtures/retrieval` from .787 to .789; from 2 to 6 it is about as good.
const AVERAGES: u64 = 3;

/// Of each block of documents tantivy keeps the length and the number of a word with which that weighs most, by the average length
/// as it is: the best of the block may weigh so much more by the one that counts. (With u = (.3 + .9 x) / n by which a word's weight
/// falls there, x the length in averages, it falls here by v = .2 / n + u / 3: at most 2 / 11 apart.)
pub(super) const UNDERRATED: f32 = 1.19;

/// As if so many documents more were there that have no word asked for: in a store of a few a word that one has is not rare, and would
/// count for next to nothing beside those of the question that none has. Questions of everyday to a single
/// memory that has their word (`what do you know about the garage?`) got no answer in 135 of 285 cases, and now always do.
const PRESUMED: u64 = 10;

/// Counts of documents and words, and in how many documents each asked word occurs.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Statistics {
    docs: u64,
    tokens: u64,
    found: HashMap<String, u64>,
}

impl Statistics {
    pub(in super::super) fn new(docs: u64, tokens: u64) -> Self {
        Self { docs, tokens, found: HashMap::new() }
    }

    /// A term occurs in so many documents more.
    pub(in super::super) fn add(&mut self, term: &str, documents: u64) {
        match self.found.get_mut(term) {
            Some(found) => *found += documents,
            None => {
                self.found.insert(term.to_owned(), documents);
            }
        }
    }

    /// There are so many documents more, with so many words.
    pub(in super::super) fn add_documents(&mut self, documents: u64, tokens: u64) {
        self.docs += documents;
        self.tokens += tokens;
    }

    pub(in super::super) fn found(&self, term: &str) -> u64 {
        self.found.get(term).copied().unwrap_or(0).min(self.docs)
    }

    /// How many documents count.
    fn documents(&self) -> u64 {
        self.docs + PRESUMED
    }

    /// Their lengths together, as they count: those that are presumed have the average one.
    fn lengths(&self) -> u64 {
        let lengths = u128::from(self.tokens.max(1)) * u128::from(AVERAGES) * u128::from(self.documents());
        u64::try_from(lengths / u128::from(self.docs.max(1))).unwrap_or(u64::MAX)
    }

    pub(in super::super) fn weight(&self, asked: &Asked) -> Bm25Weight {
        #[expect(clippy::cast_precision_loss, reason = "an average length, as tantivy has it")]
        let average = self.lengths() as f32 / self.documents() as f32;
        Bm25Weight::for_one_term_without_explain(self.found(&asked.term), self.documents(), average)
            .boost_by(asked.weight)
    }
}

/// The score of a document that holds a term so often, as tantivy computes it.
pub(in super::super) fn score(weight: &Bm25Weight, length: u32, often: u32) -> f32 {
    weight.score(FieldNormReader::fieldnorm_to_id(length), often)
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.lengths())
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(term.value().as_str().map_or(0, |term| self.found(term)))
    }
}
