//! What somebody may have meant by a name that is not known.

/// The known name that is nearest to one that is not.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> &'k str {
    // Beyond that it is no name, and measuring it takes long.
    let name = super::cut(name, 64).unwrap_or(name);
    known.iter().min_by_key(|known| distance(name, known)).copied().unwrap_or_default()
}

/// Levenshtein's edit distance, in characters.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_was_meant_is_the_nearest() {
        let known = ["when", "reply", "times"];
        for (name, meant) in [("repply", "reply"), ("time", "times"), ("When", "when"), ("", "when")] {
            assert_eq!(nearest(name, &known), meant, "{name}");
        }
        assert_eq!((nearest(&"é".repeat(1 << 20), &known), nearest("x", &[])), ("when", ""));
    }
}
