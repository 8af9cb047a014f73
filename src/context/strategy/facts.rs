//! What a summary must not lose: open to-dos, URLs, paths, numbers with units, identifiers.

use std::collections::HashMap;

/// Kinds of facts, most precious first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Todo,
    Url,
    Path,
    Quantity,
    Identifier,
}

/// The longest line of a to-do, and the longest of all others.
const LONGEST_TODO: usize = 300;
const LONGEST: usize = 200;

/// The facts of texts, as many as `room` bytes hold. Those of a more precious kind come first, then those that are named more
/// often, then those that are named earlier.
pub(in crate::context) fn facts_of(texts: &[String], room: usize) -> Vec<String> {
    let mut found: HashMap<&str, (Fact, usize, usize)> = HashMap::new();
    for (fact, text) in texts.iter().flat_map(|text| facts(text)) {
        let first = found.len();
        found.entry(text).or_insert((fact, 0, first)).1 += 1;
    }
    let mut found: Vec<(&str, (Fact, usize, usize))> = found.into_iter().collect();
    found.sort_unstable_by_key(|(_, (fact, often, first))| (*fact, usize::MAX - often, *first));
    within(found.into_iter().map(|(text, _)| text), room).map(str::to_owned).collect()
}

/// The facts that a summary lacks, as many as `room` bytes hold.
pub(in crate::context) fn lacking<'a>(
    summary: &str,
    facts: &'a [String],
    room: usize,
) -> impl Iterator<Item = &'a str> {
    within(facts.iter().map(String::as_str).filter(|fact| !summary.contains(fact)), room)
}

fn within<'a>(facts: impl Iterator<Item = &'a str>, room: usize) -> impl Iterator<Item = &'a str> {
    facts.scan(room, |left, fact| {
        *left = left.checked_sub(fact.len() + "\n- ".len())?;
        Some(fact)
    })
}

fn facts(text: &str) -> impl Iterator<Item = (Fact, &str)> {
    text.lines().flat_map(|line| {
        let line = line.trim();
        let is_todo = line.starts_with("- [ ]") || line.starts_with("* [ ]") || line.contains("TODO");
        let todo = (is_todo && line.len() <= LONGEST_TODO).then_some((Fact::Todo, line));
        let words = if todo.is_some() { "" } else { line };
        todo.into_iter().chain(quantities(words)).chain(words.split(is_edge).filter_map(word))
    })
}

/// What no path, URL or identifier has in it.
fn is_edge(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';')
}

fn word(word: &str) -> Option<(Fact, &str)> {
    let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '=' | '|' | '…'));
    let has_letter = word.chars().any(char::is_alphabetic);
    if word.len() < 3 || word.len() > LONGEST || !has_letter {
        return None;
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '#' | '@');
    if word.contains("://") {
        return Some((Fact::Url, word));
    }
    let segments = word.split('/').filter(|segment| !segment.is_empty()).count();
    let is_path = word.starts_with(['/', '~']) && segments >= 1
        || word.starts_with("./")
        || word.contains('/') && segments >= 2 && (segments > 2 || word.contains('.'));
    if is_path {
        return Some((Fact::Path, word));
    }
    let inner =
        |sign: char| word.char_indices().any(|(at, c)| c == sign && at > 0 && at + c.len_utf8() < word.len());
    let has_digit = word.chars().any(|c| c.is_ascii_digit());
    let has_hump = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_file = word.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_identifier = word.chars().all(is_plain)
        && (inner('_') || word.contains("::") || has_hump || is_file || has_digit && word.len() >= 4);
    is_identifier.then_some((Fact::Identifier, word))
}

const UNITS: &[&str] = &[
    "%", "ms", "s", "min", "h", "ns", "µs", "us", "seconds", "minutes", "hours", "days", "weeks", "B", "KB",
    "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bytes", "px", "Hz", "kHz", "MHz", "GHz", "m", "km", "cm",
    "mm", "kg", "g", "°C", "USD", "EUR", "dollars", "euros", "tokens", "lines", "rows", "files", "requests",
    "users", "tests", "req/s", "MB/s",
];

/// Numbers with their units: `250 ms`, `3.5GB`, `99 %`.
fn quantities(line: &str) -> impl Iterator<Item = (Fact, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        while rest < line.len() {
            let start = rest + line[rest..].find(|c: char| c.is_ascii_digit())?;
            let number = &line[start..];
            let digits =
                number.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(number.len());
            rest = start + digits;
            let stands_alone =
                !line[..start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'));
            let after = &line[rest..];
            let blank = usize::from(after.starts_with(' '));
            let unit = after[blank..]
                .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | '.' | ':' | '"'))
                .next()?;
            if stands_alone && UNITS.contains(&unit) {
                rest += blank + unit.len();
                return Some((Fact::Quantity, &line[start..rest]));
            }
        }
        None
    })
}
