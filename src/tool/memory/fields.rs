//! The fields of a call's input: each there or not, and of the right type or not.

use serde_json::{Map, Number, Value};

use super::words;

/// The input of a call to one command.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub command: &'a str,
    pub input: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub fn string(self, name: &str) -> Result<&'a str, String> {
        as_string(name, self.required(name)?)
    }

    /// Absent and null are the same.
    pub fn optional_string(self, name: &str) -> Result<Option<&'a str>, String> {
        self.optional(name).map(|value| as_string(name, value)).transpose()
    }

    pub fn integer(self, name: &str) -> Result<i64, String> {
        as_integer(self.required(name)?).ok_or_else(|| words::wrong_type(name, "an integer"))
    }

    /// Integers, however many; absent, null and an empty array are the same.
    pub fn range(self, name: &str) -> Result<Option<Vec<i64>>, String> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        let integers = value.as_array().and_then(|values| values.iter().map(as_integer).collect());
        let integers: Vec<_> = integers.ok_or_else(|| words::wrong_type(name, "two integers"))?;
        Ok(Some(integers).filter(|integers| !integers.is_empty()))
    }

    fn required(self, name: &str) -> Result<&'a Value, String> {
        self.input.get(name).ok_or_else(|| words::missing_field(name, self.command))
    }

    fn optional(self, name: &str) -> Option<&'a Value> {
        self.input.get(name).filter(|value| !value.is_null())
    }
}

pub(super) fn as_string<'a>(name: &str, value: &'a Value) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| words::wrong_type(name, "a string"))
}

/// An integer, or a float that is one.
pub(in crate::tool) fn as_integer(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    number.as_i64().or_else(|| integral(number))
}

/// A float that is an integer within the range of an `i64`.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked, and there is no fraction to lose")]
fn integral(number: &Number) -> Option<i64> {
    /// 2^63, the first float that is too large.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if !number.is_f64() {
        return None; // an integer that is no i64
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && (-END..END).contains(&float)).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_counts_as_an_integer() {
        for (text, integer) in [
            ("7", Some(7)),
            ("-0", Some(0)),
            ("2.0", Some(2)),
            ("-1e3", Some(-1000)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-9223372036854775808.0", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("9223372036854775808.0", None),
            ("-9223372036854775809", Some(i64::MIN)), // serde_json has it as the float next to it
            ("-9223372036854777857", None),
            ("1e300", None),
            ("2.5", None),
            ("\"2\"", None),
            ("true", None),
            ("null", None),
            ("[1]", None),
        ] {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(as_integer(&value), integer, "{text}");
        }
    }

    #[test]
    fn optional_fields_may_be_null() {
        let input = json!({"null": null, "empty": [], "range": [1, 2.0, 3], "mixed": [1, "2"], "text": "x"});
        let fields = Fields { command: "view", input: input.as_object().unwrap() };
        let wrong = |name, expected| Err(words::wrong_type(name, expected));
        for (name, range) in [
            ("absent", Ok(None)),
            ("null", Ok(None)),
            ("empty", Ok(None)),
            ("range", Ok(Some(vec![1, 2, 3]))),
            ("mixed", wrong("mixed", "two integers")),
            ("text", wrong("text", "two integers")),
        ] {
            assert_eq!(fields.range(name), range);
        }
        for (name, text) in [
            ("absent", Ok(None)),
            ("null", Ok(None)),
            ("text", Ok(Some("x"))),
            ("empty", Err(words::wrong_type("empty", "a string"))),
        ] {
            assert_eq!(fields.optional_string(name), text);
        }
    }
}
