//! SHA-256 of a memory's bytes, as history, recovery and the chain compare them.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hashes `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes `parts` one after the other, as if they were one.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut state = Sha256::new();
        for part in parts {
            state.update(part);
        }
        Self(state.finalize().into())
    }
}

/// The code (HMAC-SHA-256) of `parts`, one after the other, by which who has `key` knows them again.
pub(crate) fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> Hash {
    let mut state = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    for part in parts {
        state.update(part);
    }
    Hash(state.finalize().into_bytes().into())
}

/// Hashes what comes in pieces.
#[derive(Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn end(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
