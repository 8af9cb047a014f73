//! How long a file may be.

/// Whether a file may get `new` bytes under a limit; `old` is its length now, when there is one.
///
/// A file that a person let grow past the limit may still be edited as long as it gets shorter.
#[must_use]
pub fn fits(new: u64, limit: u64, old: Option<u64>) -> bool {
    new <= limit || old.is_some_and(|old| new < old)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn only_an_edit_that_shortens_may_pass_the_limit() {
        for (new, old, fine) in [
            (0, None, true),
            (10, None, true),
            (11, None, false),
            (10, Some(20), true),
            (11, Some(10), false),
            (20, Some(20), false),
            (21, Some(20), false),
            (19, Some(20), true),
        ] {
            assert_eq!(fits(new, 10, old), fine, "{old:?} to {new}");
        }
    }
}
