//! passages
