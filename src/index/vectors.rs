//! Vectors: sign codes that are scanned, and int8 rows that rescore the best.
