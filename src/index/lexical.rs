//! Full text: analyzers, and what tantivy stores.
