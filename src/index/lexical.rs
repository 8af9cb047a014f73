//! Full text: what tantivy stores, and how it is asked.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tantivy::index::SegmentId;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocSet, IndexReader, IndexSettings, ReloadPolicy, Searcher, TERMINATED, Term};
use unicode_normalization::UnicodeNormalization;

use super::IndexError;
use super::manifest::{FORMAT, Manifest};
use super::vectors::Bitmap;

pub(super) mod best;
mod fold;
mod forms;
pub(super) mod gone;
mod small;
pub(super) mod statistics;
mod stems;
mod unsynced;
mod whole;
pub(super) mod words;

use best::Best;
use statistics::Statistics;
use unsynced::Unsynced;
use words::{For, analyzer};

const ANALYZER: &str = "words";

/// The fields of a document: one document is one passage, and none of its text is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) text: Field,
    pub(super) tag: Field,
    pub(super) key: Field,
    pub(super) row: Field,
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let words =
        TextFieldIndexing::default().set_tokenizer(ANALYZER).set_index_option(IndexRecordOption::WithFreqs);
    let exact = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let fields = Fields {
        text: schema.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        tag: schema.add_text_field("tag", TextOptions::default().set_indexing_options(exact.clone())),
        key: schema.add_text_field("key", TextOptions::default().set_indexing_options(exact)),
        row: schema.add_u64_field("row", NumericOptions::default().set_fast()),
    };
    (schema.build(), fields)
}

/// A tag as tags are compared.
pub(super) fn folded_tag(tag: &str) -> String {
    tag.nfkc().flat_map(char::to_lowercase).collect()
}

/// Makes an index without documents.
pub(super) fn create(dir: &Path) -> Result<(tantivy::Index, Fields), IndexError> {
    let (schema, fields) = schema();
    let settings =
        IndexSettings { docstore_compression: tantivy::store::Compressor::None, ..IndexSettings::default() };
    let index =
        tantivy::Index::builder().schema(schema).settings(settings).open_or_create(Unsynced::open(dir)?)?;
    index.tokenizers().register(ANALYZER, analyzer(For::Document));
    Ok((index, fields))
}

/// Opens an index, and all that is known of its files: others may have written to it since.
pub(super) fn open(dir: &Path) -> Result<(tantivy::Index, Fields), IndexError> {
    let index = tantivy::Index::open(Unsynced::open(dir)?)?;
    let (expected, fields) = schema();
    if index.schema() != expected {
        return Err(IndexError::new("its fields are not those of this format"));
    }
    index.tokenizers().register(ANALYZER, analyzer(For::Document));
    Ok((index, fields))
}

/// The documents of one commit.
#[derive(Clone)]
pub(super) struct Lexical {
    index: tantivy::Index,
    pub(super) fields: Fields,
    reader: IndexReader,
    searcher: Searcher,
    /// The row of each document, for each segment.
    rows: HashMap<SegmentId, Arc<Vec<u32>>>,
}

/// A term of a query, and what it weighs: the forms of one word share its weight.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) term: String,
    pub(super) weight: f32,
}

impl Lexical {
    /// Opens what was committed last, with its manifest.
    pub(super) fn open(dir: &Path) -> Result<(Self, Manifest), IndexError> {
        let (index, fields) = open(dir)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let mut lexical = Self { index, fields, reader, searcher, rows: HashMap::new() };
        let manifest = lexical.reload()?;
        Ok((lexical, manifest))
    }

    /// The manifest of the last commit, without opening it.
    pub(super) fn manifest(&self) -> Result<Manifest, IndexError> {
        let payload =
            self.index.load_metas()?.payload.ok_or_else(|| IndexError::new("nothing is committed"))?;
        let manifest: Manifest = serde_json::from_str(&payload)
            .map_err(|fault| IndexError::new(format!("its manifest does not parse: {fault}")))?;
        if manifest.format != FORMAT {
            return Err(IndexError::new("it is of another format"));
        }
        Ok(manifest)
    }

    /// Opens what was committed last, with its manifest: segments and manifest are read one after the other, so they are of
    /// one commit only if no other one ended in between.
    pub(super) fn reload(&mut self) -> Result<Manifest, IndexError> {
        for _ in 0..16 {
            let manifest = self.manifest()?;
            self.reader.reload()?;
            if self.manifest()? == manifest {
                self.searcher = self.reader.searcher();
                self.load_rows(&manifest)?;
                return Ok(manifest);
            }
        }
        Err(IndexError::new("it changes all the time"))
    }

    fn load_rows(&mut self, manifest: &Manifest) -> Result<(), IndexError> {
        let mut rows = HashMap::new();
        for segment in self.searcher.segment_readers() {
            // Some files are not looked at before something is searched; what is damaged is to be found now.
            for field in [self.fields.text, self.fields.tag, self.fields.key] {
                segment.inverted_index(field)?;
            }
            segment.get_fieldnorms_reader(self.fields.text)?;
            let id = segment.segment_id();
            let known = if let Some(known) = self.rows.get(&id) {
                Arc::clone(known)
            } else {
                let column = segment.fast_fields().u64("row")?.first_or_default_col(u64::MAX);
                let rows: Option<Vec<u32>> =
                    (0..segment.max_doc()).map(|doc| u32::try_from(column.get_val(doc)).ok()).collect();
                Arc::new(rows.ok_or_else(|| IndexError::new("a document has no row"))?)
            };
            if known.iter().any(|&row| row as usize >= manifest.rows) {
                return Err(IndexError::new("a document has a row that does not count"));
            }
            rows.insert(id, known);
        }
        self.rows = rows;
        if self.searcher.num_docs() != (manifest.rows - manifest.dead.min(manifest.rows)) as u64 {
            return Err(IndexError::new("documents and rows are not the same number"));
        }
        Ok(())
    }

    /// How often the words of texts occur.
    pub(super) fn statistics<'a>(
        &self,
        terms: impl Iterator<Item = &'a str>,
    ) -> Result<Statistics, IndexError> {
        let docs = self.searcher.total_num_docs()?;
        let tokens = self.searcher.total_num_tokens(self.fields.text)?;
        let mut statistics = Statistics::new(docs, tokens);
        for term in terms {
            let found = self.searcher.doc_freq(&Term::from_field_text(self.fields.text, term))?;
            statistics.add(term, found);
        }
        Ok(statistics)
    }

    /// The rows with the best scores, of those that a filter admits.
    pub(super) fn search(
        &self,
        asked: &[Asked],
        statistics: &Statistics,
        filter: Option<&Bitmap>,
        limit: usize,
    ) -> Result<Vec<(u32, f32)>, IndexError> {
        let mut best = Best::new(limit);
        let terms: Vec<(Occur, Box<dyn Query>)> =
            asked.iter().map(|asked| (Occur::Should, self.term_query(asked))).collect();
        if terms.is_empty() || limit == 0 || self.searcher.num_docs() == 0 {
            return Ok(Vec::new());
        }
        let scoring = EnableScoring::enabled_from_statistics_provider(statistics, &self.searcher);
        let weight = BooleanQuery::new(terms).weight(scoring)?;
        // What cannot be among the best is passed over by the block, by bounds that are a little low for these statistics.
        let least = |best: &Best| best.threshold() / statistics::UNDERRATED;
        for segment in self.searcher.segment_readers() {
            let rows = &self.rows[&segment.segment_id()];
            weight.for_each_pruning(least(&best), segment, &mut |doc, score| {
                let row = rows[doc as usize];
                if filter.is_none_or(|filter| filter.has(row as usize)) {
                    best.push(row, score);
                }
                least(&best)
            })?;
        }
        Ok(best.into_vec())
    }

    fn term_query(&self, asked: &Asked) -> Box<dyn Query> {
        let term = Term::from_field_text(self.fields.text, &asked.term);
        let query = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        if (asked.weight - 1.0).abs() > 0.0 { Box::new(BoostQuery::new(query, asked.weight)) } else { query }
    }

    /// The rows whose documents have an exact term.
    pub(super) fn rows_with(&self, field: Field, text: &str) -> Result<Vec<u32>, IndexError> {
        let term = Term::from_field_text(field, text);
        let mut found = Vec::new();
        for segment in self.searcher.segment_readers() {
            let rows = &self.rows[&segment.segment_id()];
            let Some(mut postings) =
                segment.inverted_index(field)?.read_postings(&term, IndexRecordOption::Basic)?
            else {
                continue;
            };
            while postings.doc() != TERMINATED {
                found.push(rows[postings.doc() as usize]);
                postings.advance();
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The terms of a query, of those that count. The forms of one word share its weight; a word that is said twice weighs twice.
pub(super) fn asked(text: &str, counts: impl Fn(&str) -> bool) -> Vec<Asked> {
    let mut analyzer = analyzer(For::Query);
    let mut stream = analyzer.token_stream(text);
    let mut forms: Vec<(usize, String)> = Vec::new();
    stream.process(&mut |token| forms.push((token.position, token.text.clone())));
    forms.dedup();
    forms.retain(|(_, term)| counts(term));
    let mut asked: Vec<Asked> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for word in forms.chunk_by(|one, other| one.0 == other.0) {
        #[expect(clippy::cast_precision_loss, reason = "a word has few forms")]
        let weight = 1.0 / word.len() as f32;
        for (_, term) in word {
            if let Some(&place) = places.get(term) {
                asked[place].weight += weight;
            } else {
                places.insert(term.clone(), asked.len());
                asked.push(Asked { term: term.clone(), weight });
            }
        }
    }
    asked
}
