//! What is known of a store's memories: the index, and what has changed since it was built.

use crate::index::{Index, Tail};

/// The index of a store and its tail, as far as this process has looked.
#[derive(Default)]
pub(super) struct Catalog {
    index: Option<Index>,
    tail: Tail,
}
