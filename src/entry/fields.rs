//! From the values of a mapping to what they say, with what is wrong with them.

use chrono::{DateTime, Utc};

use super::fence::{FIRST_LINE, Fence};
use super::yaml::{self, Node};
use super::{Broken, Fields, KEYS, lines, time};

/// Reads what stands within the fence.
pub(super) fn read(text: &str, fence: &Fence) -> Result<Fields, Broken> {
    let source = &text[fence.yaml.clone()];
    let document = yaml::read(source)?;
    let begin = FIRST_LINE + 1 + memchr::memchr_iter(b'\n', source.as_bytes()).count();
    let mut fields = Fields { body: fence.body, body_line: begin, ..Fields::default() };
    let mut wrong = Vec::new();
    for (at, node) in document.own {
        let key = KEYS[at];
        if is_nothing(&node) {
            continue;
        }
        fields.is_ours |= !matches!(key, "tags" | "created_at" | "updated_at");
        if let Err(rule) = fields.set(key, node, source) {
            wrong.push((key, rule));
        }
    }
    if !wrong.is_empty() {
        let (spans, _) = lines::spans(source);
        fields.faults.extend(wrong.into_iter().map(|(key, rule)| {
            let line = spans.iter().find(|span| span.key == key).map_or(FIRST_LINE, |span| span.line);
            Broken { line, why: format!("`{key}` must be {rule}") }
        }));
    }
    Ok(fields)
}

const TEXT: &str = "a text";
const MOMENT: &str = "a date or a time in the form `2026-11-30T09:12:44Z`";

impl Fields {
    /// Takes a value in, or says what it would have to be.
    fn set(&mut self, key: &'static str, node: Node, source: &str) -> Result<(), &'static str> {
        match key {
            "id" => self.id = Some(text(key, node, source)?),
            "category" => self.category = Some(text(key, node, source)?),
            "key" => self.key = Some(text(key, node, source)?),
            "importance" => self.importance = Some(importance(&node)?),
            "pinned" => self.pinned = flag(&node)?,
            "created_at" => self.created_at = Some(moment(&node)?),
            "updated_at" => self.updated_at = Some(moment(&node)?),
            "expires_at" => self.expires_at = Some(moment(&node)?),
            _ => self.tags = tags(key, node, source)?,
        }
        Ok(())
    }
}

fn is_nothing(node: &Node) -> bool {
    match node {
        Node::Null => true,
        Node::Text(text) => text.is_empty(),
        _ => false,
    }
}

/// A text; what YAML takes for a number or a flag is meant as it is written.
fn text(key: &str, node: Node, source: &str) -> Result<String, &'static str> {
    match node {
        Node::Text(text) => Ok(text),
        Node::Bool(_) | Node::Number(_) => {
            let texts = yaml::texts(source, key, false).map_err(|_| TEXT)?;
            texts.into_iter().next().ok_or(TEXT)
        }
        Node::Null | Node::List(_) | Node::Other => Err(TEXT),
    }
}

fn importance(node: &Node) -> Result<u8, &'static str> {
    let number = match node {
        Node::Number(number) => *number,
        Node::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = number.filter(|number| (1..=5).contains(number));
    number.and_then(|number| u8::try_from(number).ok()).ok_or("a whole number from 1 to 5")
}

/// Source of the words: YAML 1.1, `bool`.
fn flag(node: &Node) -> Result<bool, &'static str> {
    let is = |text: &str, words: [&str; 3]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    match node {
        Node::Bool(flag) => Ok(*flag),
        Node::Text(text) if is(text, ["true", "yes", "on"]) => Ok(true),
        Node::Text(text) if is(text, ["false", "no", "off"]) => Ok(false),
        _ => Err("`true` or `false`"),
    }
}

fn moment(node: &Node) -> Result<DateTime<Utc>, &'static str> {
    match node {
        Node::Text(text) => time::parse(text).ok_or(MOMENT),
        _ => Err(MOMENT),
    }
}

/// A list, or one text with commas between the tags; what is empty is none.
fn tags(key: &str, node: Node, source: &str) -> Result<Vec<String>, &'static str> {
    const LIST: &str = "a list of texts";
    match node {
        Node::List(items) => {
            let is_plain = |node: &Node| matches!(node, Node::Text(_) | Node::Null);
            let texts = if items.iter().all(is_plain) {
                items
                    .into_iter()
                    .map(|node| if let Node::Text(text) = node { text } else { String::new() })
                    .collect()
            } else {
                let texts = yaml::texts(source, key, true).map_err(|_| LIST)?;
                let is_there = |(node, text)| if node == &Node::Null { String::new() } else { text };
                items.iter().zip(texts).map(is_there).collect::<Vec<_>>()
            };
            Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
        }
        Node::Text(text) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Ok(parts.map(str::to_owned).collect())
        }
        Node::Bool(_) | Node::Number(_) => text_list(key, node, source),
        Node::Null | Node::Other => Err(LIST),
    }
}

fn text_list(key: &str, node: Node, source: &str) -> Result<Vec<String>, &'static str> {
    Ok(vec![text(key, node, source)?])
}
