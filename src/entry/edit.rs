//! Front matter with some of its values changed, in place.

use super::fence::{FIRST_LINE, Fence};
use super::lines::{self, Span};
use super::write::{rank, written};
use super::{Broken, Value, parsed, scalar, yaml};

/// The text with these keys of its front matter changed, and nothing else: unknown keys, comments, order and line ends stay.
///
/// A value that is there already is left as it is written. A new key goes to its neighbours in the order of the
/// specification, or before the closing line. A list of one line per item stays one.
///
/// # Errors
/// Where there is no front matter that parses (a file without it is never given one), or YAML of a kind that cannot be
/// edited in place, such as one mapping in brackets.
pub(crate) fn edit(text: &str, edits: &[(&str, Option<Value>)]) -> Result<String, Broken> {
    parsed(text)?;
    let mut edited = text.to_owned();
    for (key, value) in edits {
        if let Some(next) = edit_one(&edited, key, value.as_ref())? {
            edited = next;
        }
    }
    Ok(edited)
}

/// The text with another body under the same front matter; its lines end as those of the front matter do.
///
/// # Errors
/// As [`edit`].
pub(crate) fn with_body(text: &str, body: &str) -> Result<String, Broken> {
    let (fence, _) = parsed(text)?;
    let mut whole = text[..fence.body].to_owned();
    if !whole.ends_with('\n') && !body.is_empty() {
        whole.push_str(fence.line_end);
    }
    if fence.line_end == "\r\n" && !body.contains("\r\n") {
        whole.push_str(&body.replace('\n', "\r\n"));
    } else {
        whole.push_str(body);
    }
    Ok(whole)
}

/// The text with one key changed, checked; `None` where it is as wanted.
fn edit_one(text: &str, key: &str, value: Option<&Value>) -> Result<Option<String>, Broken> {
    let (fence, document) = parsed(text)?;
    let source = &text[fence.yaml.clone()];
    let (spans, whole) = lines::spans(source);
    let same = spans.iter().zip(&document.keys).take_while(|(span, key)| span.key == **key).count();
    if !whole || same < spans.len().max(document.keys.len()) {
        let line = spans.get(same).or(spans.last()).map_or(FIRST_LINE, |span| span.line);
        return Err(refused(line, key, "the front matter is not one `name: value` after the other"));
    }
    let before = yaml::digests(source)?;
    let at = spans.iter().position(|span| span.key == key);
    let mut wanted = before.clone();
    let (place, lines) = match (at, value) {
        (None, None) => return Ok(None),
        (Some(at), None) => {
            wanted.remove(at);
            (spans[at].lines.clone(), String::new())
        }
        (Some(at), Some(value)) => {
            let digest = digest(value)?;
            if before[at].1 == digest {
                return Ok(None);
            }
            wanted[at].1 = digest;
            let is_crlf = source[spans[at].lines.clone()].ends_with("\r\n");
            let line_end = if is_crlf { "\r\n" } else { "\n" };
            (spans[at].lines.clone(), changed(source, &spans[at], value, line_end))
        }
        (None, Some(value)) => {
            let (at, place) = place(&spans, key, source.len());
            wanted.insert(at, (key.to_owned(), digest(value)?));
            (place..place, added(source, key, value, &fence))
        }
    };
    let line = FIRST_LINE + source[..place.start].matches('\n').count();
    let mut edited = text.to_owned();
    edited.replace_range(fence.yaml.start + place.start..fence.yaml.start + place.end, &lines);
    let seen = parsed(&edited).and_then(|(fence, _)| yaml::digests(&edited[fence.yaml]));
    match seen {
        Ok(seen) if seen == wanted => Ok(Some(edited)),
        Ok(_) => Err(refused(line, key, "something else would change with it")),
        Err(broken) => Err(refused(line, key, &broken.why)),
    }
}

fn refused(line: usize, key: &str, why: &str) -> Broken {
    Broken { line, why: format!("`{}` cannot be changed in place: {why}", crate::text::echo(key)) }
}

/// What a value comes to when it stands alone.
fn digest(value: &Value) -> Result<u64, Broken> {
    let digests = yaml::digests(&format!("value: {}\n", written(value)))?;
    let digest = digests.first().map(|(_, digest)| *digest);
    digest.ok_or_else(|| Broken { line: FIRST_LINE, why: "the value cannot be written".to_owned() })
}

/// The lines of a key with another value.
fn changed(source: &str, span: &Span, value: &Value, line_end: &str) -> String {
    let mut line = source[span.lines.start..span.colon].to_owned();
    let comment = &source[span.comment.clone()];
    match (value, span.dashes) {
        (Value::List(items), Some(indent)) if !items.is_empty() => {
            line.push_str(comment);
            for item in items {
                line.push_str(line_end);
                line.extend(std::iter::repeat_n(' ', indent));
                line.push_str("- ");
                scalar::push(&mut line, item);
            }
        }
        _ => {
            let gap = &source[span.colon..span.value];
            let has_value = span.value < span.comment.start;
            line.push_str(if has_value && !gap.is_empty() { gap } else { " " });
            line.push_str(&written(value));
            line.push_str(comment);
        }
    }
    line.push_str(line_end);
    line
}

/// The line of a new key.
fn added(source: &str, key: &str, value: &Value, fence: &Fence) -> String {
    let mut line = " ".repeat(lines::base_indent(source));
    scalar::push(&mut line, key);
    line.push_str(": ");
    line.push_str(&written(value));
    line.push_str(fence.line_end);
    line
}

/// Where a new key goes: its place among the keys, and in bytes.
fn place(spans: &[Span], key: &str, end: usize) -> (usize, usize) {
    let own = rank(key);
    let ranks = || spans.iter().map(|span| rank(&span.key)).enumerate();
    let is_own = rank("") > own;
    let before = ranks().filter(|&(_, rank)| is_own && rank < own).max_by_key(|&(_, rank)| rank);
    let after = ranks()
        .filter(|&(_, rank)| is_own && rank > own && rank < super::KEYS.len())
        .min_by_key(|&(_, rank)| rank);
    match (before, after) {
        (Some((at, _)), _) => (at + 1, spans[at].lines.end),
        (None, Some((at, _))) => (at, spans[at].lines.start),
        (None, None) => (spans.len(), end),
    }
}
