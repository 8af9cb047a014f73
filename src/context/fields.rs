//! The fields of a JSON object, in their order and as they came.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object; no name is there twice.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// `None`: it is no object, or names a field twice.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The object with some fields changed: `None` takes a field away, a new one comes last.
    pub(super) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let change = |name: &str| changes.iter().find(|(changed, _)| *changed == name).map(|(_, to)| *to);
        let kept = self.iter().filter_map(|(name, value)| Some((name, change(name).unwrap_or(Some(value))?)));
        let new = changes.iter().filter(|(name, _)| self.get(name).is_none());
        object(kept.chain(new.filter_map(|(name, value)| Some((*name, (*value)?)))))
    }
}

/// An object of fields whose values are JSON.
pub(super) fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let fields: Vec<String> =
        fields.map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// A list of items that are JSON.
pub(super) fn list<T: AsRef<str>>(items: impl Iterator<Item = T>) -> String {
    let mut list = String::from("[");
    for (number, item) in items.enumerate() {
        list.push_str(if number == 0 { "" } else { "," });
        list.push_str(item.as_ref());
    }
    list.push(']');
    list
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                let mut names = HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom("a field is there twice"));
                    }
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_change_stays_as_it_is() {
        let fields = Fields::read(r#"{ "a" : 1.00, "b\n":[ 1 ], "c":null }"#).unwrap();
        assert_eq!(fields.get("a"), Some("1.00"));
        assert_eq!(fields.with(&[]), r#"{"a":1.00,"b\n":[ 1 ],"c":null}"#);
        assert_eq!(
            fields.with(&[("a", None), ("c", Some("2")), ("d", Some("{}")), ("e", None)]),
            r#"{"b\n":[ 1 ],"c":2,"d":{}}"#
        );
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for json in ["[]", "7", r#"{"a":1,"a":2}"#, "{"] {
            assert!(Fields::read(json).is_none(), "{json}");
        }
    }
}
