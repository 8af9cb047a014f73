//! Ids: a prefix that says what it is, and a ULID that says when it was made.

use std::fmt;

use ulid::Ulid;

/// Declares an id type with its prefix.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) Ulid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }
    )*};
}

ids! {
    /// A memory: one file through all its versions and renames.
    MemoryId = "mem_";
    /// One version of a memory.
    VersionId = "memver_";
    /// One change: everything that one call did.
    ChangeId = "memchg_";
}

/// Makes ids of one moment: the time comes from the caller, the rest from the operating system.
///
/// `micros` are microseconds since 1970; a clock from before then counts as 1970.
#[must_use]
pub(crate) fn new_ulid(micros: i64) -> Ulid {
    let mut random = [0; 16];
    fill_random(&mut random);
    Ulid::from_parts(u64::try_from(micros / 1000).unwrap_or(0), u128::from_ne_bytes(random))
}

/// Fills `buffer` from the operating system's source of randomness.
pub(crate) fn fill_random(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("a system that runs a database has randomness");
}
