//! What the values of a mapping come to, in a few bytes: an edit must leave all of them but one as they are.

use std::cell::Cell;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess as _, Visitor,
};

use crate::entry::Broken;

use super::{Budget, Take, parse};

/// Bytes and nodes that are looked at, aliases followed.
const MOST: usize = 1 << 20;

/// Every key with a digest of its value, aliases followed.
pub(in crate::entry) fn digests(yaml: &str) -> Result<Vec<(String, u64)>, Broken> {
    let mut digests = Digests { found: Vec::new(), budget: Budget(Cell::new(MOST)) };
    parse(yaml, &mut digests)?;
    Ok(digests.found)
}

/// What every value comes to.
struct Digests {
    found: Vec<(String, u64)>,
    budget: Budget,
}

impl Take for Digests {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        let mut hasher = DefaultHasher::new();
        map.next_value_seed(Digest { hasher: &mut hasher, budget: &self.budget })?;
        self.found.push((key, hasher.finish()));
        Ok(())
    }
}

struct Digest<'d> {
    hasher: &'d mut DefaultHasher,
    budget: &'d Budget,
}

impl Digest<'_> {
    /// Takes in something of a kind; what is between two kinds cannot be read in two ways.
    fn take<E: serde::de::Error>(self, kind: u8, bytes: &[u8]) -> Result<(), E> {
        self.budget.spend(1 + bytes.len())?;
        (kind, bytes).hash(self.hasher);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Digest<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Digest<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.take(0, &[])
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.take(0, &[])
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.take(1, &[u8::from(value)])
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.take(2, &u128::from(value).to_be_bytes())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<(), E> {
        self.take(2, &value.to_be_bytes())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.take(3, &i128::from(value).to_be_bytes())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<(), E> {
        self.take(3, &value.to_be_bytes())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.take(4, &value.to_bits().to_be_bytes())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.take(5, text.as_bytes())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { hasher, budget } = self;
        Digest { hasher, budget }.take(6, &[])?;
        while seq.next_element_seed(Digest { hasher, budget })?.is_some() {}
        Digest { hasher, budget }.take(7, &[])
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { hasher, budget } = self;
        Digest { hasher, budget }.take(8, &[])?;
        while map.next_key_seed(Digest { hasher, budget })?.is_some() {
            map.next_value_seed(Digest { hasher, budget })?;
        }
        Digest { hasher, budget }.take(9, &[])
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let Self { hasher, budget } = self;
        let (tag, value) = tagged.variant::<String>()?;
        Digest { hasher, budget }.take(10, tag.as_bytes())?;
        value.newtype_variant_seed(Digest { hasher, budget })
    }
}
