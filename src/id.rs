//! Ids: a prefix that says what it is, and a ULID that says when it was made.

use std::fmt;

use ulid::Ulid;

/// Declares an id type with its prefix.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) Ulid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let ulid = text.strip_prefix($prefix).and_then(|rest| Ulid::from_string(rest).ok());
                ulid.map(Self).ok_or(IdError { prefix: $prefix })
            }
        }
    )*};
}

/// The text is no id of the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not an id of the form `{prefix}` and 26 letters and digits")]
pub struct IdError {
    prefix: &'static str,
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
