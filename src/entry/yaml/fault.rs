//! The library's errors, in the lines of the file and in words that name none.

use serde_norway::Error;

use crate::entry::Broken;
use crate::entry::fence::FIRST_LINE;
use crate::text::echo;

/// How the library tells a place within its words.
const PLACES: [&str; 2] = [" at line ", " at position "];

/// What is wrong with a text, and where: what the library was reading when it ran out of text tells more than the end does.
pub(super) fn broken(error: &Error, yaml: &str) -> Broken {
    let said = error.to_string();
    if said.contains("more than one document") {
        let at = yaml.lines().position(|line| line.starts_with("---")).unwrap_or(0);
        return Broken { line: FIRST_LINE + at, why: "it is more than one YAML document".to_owned() };
    }
    let (why, places) = without_places(&said);
    let last = yaml.matches('\n').count().saturating_sub(1);
    let control = yaml.find(|c| !is_allowed(c)).filter(|_| why.contains("control characters"));
    let at = match (control, error.location()) {
        (Some(at), _) => lines_before(&yaml[..at]),
        // Characters are counted, for the library also ends lines where no editor does.
        (None, Some(place)) => {
            let end = yaml.char_indices().nth(place.index()).map(|(at, _)| at);
            match (end, places.last()) {
                (Some(end), _) => lines_before(&yaml[..end]),
                (None, Some(&line)) => line.saturating_sub(1),
                (None, None) => last,
            }
        }
        (None, None) => 0,
    };
    Broken { line: FIRST_LINE + at.min(last), why: echo(&why).into_owned() }
}

fn lines_before(text: &str) -> usize {
    text.matches('\n').count()
}

/// The words without ` at line 3 column 4`, and the lines that stood there.
fn without_places(said: &str) -> (String, Vec<usize>) {
    let (mut why, mut lines, mut rest) = (String::with_capacity(said.len()), Vec::new(), said);
    while let Some((at, mark)) = PLACES.iter().filter_map(|mark| Some((rest.find(mark)?, mark))).min() {
        why.push_str(&rest[..at]);
        let is_digit = |c: char| c.is_ascii_digit();
        let after = &rest[at + mark.len()..];
        let number = &after[..after.find(|c| !is_digit(c)).unwrap_or(after.len())];
        lines.extend(number.parse::<usize>());
        rest = &after[number.len()..];
        if let Some(column) = rest.strip_prefix(" column ") {
            rest = column.trim_start_matches(is_digit);
        }
    }
    why.push_str(rest);
    (why, lines)
}

/// Whether YAML lets a character stand as it is.
///
/// Source: YAML 1.1, `c-printable`.
pub(in crate::entry) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}
