//! A query for the documents of certain rows, by which they are deleted: cheaper than an index over a number that each
//! document has for itself.

use std::sync::Arc;

use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use super::super::vectors::Bitmap;

/// Documents whose row is in a set.
#[derive(Debug, Clone)]
pub(in super::super) struct Gone(pub(in super::super) Arc<Bitmap>);

impl Query for Gone {
    fn weight(&self, _scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for Gone {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let rows = segment.fast_fields().u64("row")?.first_or_default_col(u64::MAX);
        let mut docs = BitSet::with_max_value(segment.max_doc());
        for doc in 0..segment.max_doc() {
            if usize::try_from(rows.get_val(doc)).is_ok_and(|row| self.0.has(row)) {
                docs.insert(doc);
            }
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(docs), boost)))
    }

    fn explain(&self, _segment: &SegmentReader, _doc: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument("a deletion has no score".to_owned()))
    }
}
