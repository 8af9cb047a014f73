//! The YAML library, and nothing of YAML that a flat mapping of names does not need.
//!
//! Values of keys that are not memdir's are parsed and never built, so that no alias in them is followed; what memdir's own
//! values come to, aliases followed, is bounded by the length of the text.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess as _, Visitor,
};

use crate::text::echo;

use super::fence::FIRST_LINE;
use super::{Broken, KEYS, lines};

mod digest;
mod fault;

pub(super) use digest::digests;
pub(super) use fault::is_allowed;

/// A value, as far as it matters.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A whole number, where it is one and fits.
    Number(Option<i64>),
    Text(String),
    List(Vec<Node>),
    /// A mapping, something with a tag of its own, or a list in a list.
    Other,
}

/// The mapping that front matter is.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// All keys, in their order.
    pub(super) keys: Vec<String>,
    /// The values of memdir's own keys, with the place in [`KEYS`].
    pub(super) own: Vec<(usize, Node)>,
}

/// Brackets that front matter may open. The library takes time with the square of how deep they are nested: a second for
/// 15,000, a tenth of it for these.
const MOST_BRACKETS: usize = 4_000;

/// Parses the text of front matter.
pub(super) fn read(yaml: &str) -> Result<Document, Broken> {
    if memchr::memchr2_iter(b'[', b'{', yaml.as_bytes()).nth(MOST_BRACKETS).is_some() {
        return Err(Broken { line: FIRST_LINE, why: format!("it opens more than {MOST_BRACKETS} brackets") });
    }
    let mut own = Own { document: Document::default(), budget: Budget::of(yaml) };
    parse(yaml, &mut own)?;
    let document = own.document;
    let mut seen = HashSet::with_capacity(document.keys.len());
    match document.keys.iter().find(|key| !seen.insert(key.as_str())) {
        Some(twice) => {
            let (spans, _) = lines::spans(yaml);
            let second = spans.iter().filter(|span| span.key == *twice).nth(1);
            let line = second.map_or(FIRST_LINE, |span| span.line);
            Err(Broken { line, why: format!("`{}` is there twice", echo(twice)) })
        }
        None => Ok(document),
    }
}

/// The texts of the value at a key, a scalar or a list of scalars, as they stand there: `1.0` for a number.
pub(super) fn texts(yaml: &str, key: &str, is_list: bool) -> Result<Vec<String>, Broken> {
    let mut texts = Texts { key, is_list, found: Vec::new(), budget: Budget::of(yaml) };
    parse(yaml, &mut texts)?;
    Ok(texts.found)
}

/// What may still be taken from a document.
struct Budget(Cell<usize>);

impl Budget {
    /// An escape of two bytes stands for three at most.
    fn of(yaml: &str) -> Self {
        Self(Cell::new(2 * yaml.len()))
    }

    fn spend<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.ok_or_else(|| E::custom("what its aliases stand for is too much"))?);
        Ok(())
    }
}

/// Takes what it wants from the values of a mapping.
trait Take {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error>;
}

/// Goes through a mapping; an empty text is one without keys.
fn parse<T: Take>(yaml: &str, take: &mut T) -> Result<(), Broken> {
    let is_mapping = serde_norway::Deserializer::from_str(yaml)
        .deserialize_any(Top(take))
        .map_err(|error| fault::broken(&error, yaml))?;
    let why = "it is not a mapping of names to values";
    if is_mapping { Ok(()) } else { Err(Broken { line: FIRST_LINE, why: why.to_owned() }) }
}

struct Top<'t, T>(&'t mut T);

impl<'de, T: Take> Visitor<'de> for Top<'_, T> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.value(key, &mut map)?;
        }
        Ok(true)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u128<E>(self, _: u128) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i128<E>(self, _: i128) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<bool, A::Error> {
        tagged.variant::<IgnoredAny>()?.1.newtype_variant::<IgnoredAny>()?;
        Ok(false)
    }
}

/// Memdir's own values.
struct Own {
    document: Document,
    budget: Budget,
}

impl Take for Own {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match KEYS.iter().position(|&own| own == key) {
            Some(own) => {
                let node = map.next_value_seed(Nodes { budget: &self.budget, is_item: false })?;
                self.document.own.push((own, node));
            }
            None => drop(map.next_value::<IgnoredAny>()?),
        }
        self.document.keys.push(key);
        Ok(())
    }
}

struct Nodes<'b> {
    budget: &'b Budget,
    is_item: bool,
}

impl<'de> DeserializeSeed<'de> for Nodes<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nodes<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(i64::try_from(value).ok()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(Some(value)))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Number(None))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Number(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Number(None))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Node, E> {
        self.budget.spend(text.len())?;
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        // A list in a list is not looked into.
        if !self.is_item {
            loop {
                match seq.next_element_seed(Nodes { budget: self.budget, is_item: true })? {
                    Some(Node::Other) => break,
                    Some(item) => items.push(item),
                    None => return Ok(Node::List(items)),
                }
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Node::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Node::Other)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        tagged.variant::<IgnoredAny>()?.1.newtype_variant::<IgnoredAny>()?;
        Ok(Node::Other)
    }
}

/// The texts of one value.
struct Texts<'k> {
    key: &'k str,
    is_list: bool,
    found: Vec<String>,
    budget: Budget,
}

impl Take for Texts<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        if key == self.key {
            map.next_value_seed(Raw { into: &mut self.found, budget: &self.budget, is_list: self.is_list })
        } else {
            map.next_value::<IgnoredAny>().map(drop)
        }
    }
}

struct Raw<'r> {
    into: &'r mut Vec<String>,
    budget: &'r Budget,
    is_list: bool,
}

impl<'de> DeserializeSeed<'de> for Raw<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.is_list { from.deserialize_seq(self) } else { from.deserialize_str(self) }
    }
}

impl<'de> Visitor<'de> for Raw<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.budget.spend(text.len())?;
        self.into.push(text.to_owned());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { into, budget, .. } = self;
        while seq.next_element_seed(Raw { into, budget, is_list: false })?.is_some() {}
        Ok(())
    }
}
