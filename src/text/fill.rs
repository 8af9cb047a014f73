//! Texts with names in braces, which facts take the place of.

/// A text with facts in it, each in the place of its name in braces. What comes out of a fact is not filled again, and a name
/// that no fact has stays.
pub(crate) fn fill<T: AsRef<str>>(text: &str, facts: &[(&str, T)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let fact = after.split_once('}').and_then(|(name, after)| {
            let (_, value) = facts.iter().find(|(known, _)| *known == name)?;
            Some((value.as_ref(), after))
        });
        let (value, after) = fact.unwrap_or(("{", after));
        filled.push_str(value);
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn each_name_is_filled_once() {
        let facts = [("a", "{b}"), ("b", "two")];
        for (text, filled) in [
            ("{a} and {b}", "{b} and two"),
            ("{c} and {{b}", "{c} and {two"),
            ("{\"a\": {a}}", "{\"a\": {b}}"),
            ("{a", "{a"),
            ("", ""),
        ] {
            assert_eq!(fill(text, &facts), filled, "{text}");
        }
    }
}
