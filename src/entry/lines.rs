//! Which lines of front matter belong to which key.
//!
//! The library tells values and not places, so that places are found here: in the block mapping that people write, a key
//! begins a line, and what is more indented, or still quoted or in brackets, goes on with its value. Who edits compares the
//! keys found here with those of the library; YAML that is read here in another way is not edited.

use std::ops::Range;

use super::fence::FIRST_LINE;

/// A key with its value. All places are bytes of the YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) key: String,
    /// The line of the file, from 1.
    pub(super) line: usize,
    /// Its lines, whole; blank lines and comments after the value are not its own.
    pub(super) lines: Range<usize>,
    /// After the colon.
    pub(super) colon: usize,
    /// Where the value begins, or the line ends without one.
    pub(super) value: usize,
    /// A comment after the key or the value, with the blanks before it.
    pub(super) comment: Range<usize>,
    /// How the dashes of a list are indented.
    pub(super) dashes: Option<usize>,
}

/// One line: without and with what ends it.
struct Line {
    text: Range<usize>,
    end: usize,
}

/// The keys in their order, and whether everything was understood: if not, they are those before the place that was not.
pub(super) fn spans(yaml: &str) -> (Vec<Span>, bool) {
    let lines = split(yaml);
    let mut spans = Vec::new();
    let mut base = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let text = &yaml[line.text.clone()];
        if is_filler(text) {
            at += 1;
            continue;
        }
        let indent = indent(text);
        if *base.get_or_insert(indent) != indent {
            return (spans, false);
        }
        let Some((span, next)) = span(yaml, &lines, at, indent) else { return (spans, false) };
        spans.push(span);
        at = next;
    }
    (spans, true)
}

/// How a mapping is indented: as its first key is.
pub(super) fn base_indent(yaml: &str) -> usize {
    yaml.lines().find(|line| !is_filler(line)).map_or(0, indent)
}

fn split(yaml: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', yaml.as_bytes()).map(|at| at + 1).chain([yaml.len()]) {
        if end > start {
            let text = yaml[start..end].trim_end_matches('\n').trim_end_matches('\r');
            lines.push(Line { text: start..start + text.len(), end });
        }
        start = end;
    }
    lines
}

fn is_filler(line: &str) -> bool {
    let text = line.trim_matches([' ', '\t', '\r']);
    text.is_empty() || text.starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line begins with an item of a list, or a part of a key that is not on one line.
fn is_mark(text: &str) -> bool {
    text.strip_prefix(['-', '?', ':']).is_some_and(is_blank_or_end)
}

fn is_dash(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(is_blank_or_end)
}

/// The key that begins on a line, and the line after its value.
fn span(yaml: &str, lines: &[Line], at: usize, base: usize) -> Option<(Span, usize)> {
    let text = lines[at].text.clone();
    let begin = text.start + base;
    let (key, colon) = key(&yaml[begin..text.end])?;
    let colon = begin + colon;
    let value = colon + blanks(&yaml[colon..text.end]);
    let head = value + properties(&yaml[value..text.end]);
    let rest = &yaml[head..text.end];
    let mut dashes = None;
    let (last, comment) = match rest.bytes().next() {
        Some(quote @ (b'"' | b'\'')) => after(yaml, lines, at, head + quoted(&yaml[head..], quote)?)?,
        Some(b'[' | b'{') => after(yaml, lines, at, head + flow(&yaml[head..])?)?,
        Some(b'|' | b'>') => {
            let keeps = rest.split(' ').next().is_some_and(|header| header.contains('+'));
            (block(yaml, lines, at, base, keeps), comment(yaml, head, text.end))
        }
        first => {
            let is_empty = matches!(first, None | Some(b'#'));
            let mut last = at;
            for (next, line) in lines.iter().enumerate().skip(at + 1) {
                let text = &yaml[line.text.clone()];
                if is_filler(text) {
                    continue;
                }
                let is_item = is_empty && is_dash(&text[indent(text)..]);
                if indent(text) < base || indent(text) == base && !is_item {
                    break;
                }
                if last == at && is_item {
                    dashes = Some(indent(text));
                }
                last = next;
            }
            (last, comment(yaml, head, text.end))
        }
    };
    let lines = text.start..lines[last].end;
    let span = Span { key, line: FIRST_LINE + at, lines, colon, value, comment, dashes };
    Some((span, last + 1))
}

/// A key, and where its colon ends.
fn key(text: &str) -> Option<(String, usize)> {
    if text.starts_with(['[', '{', '&', '*', '!', '|', '>', '%', '@', '`']) || is_mark(text) {
        return None;
    }
    let first = text.bytes().next()?;
    let end = if matches!(first, b'"' | b'\'') {
        let end = quoted(text, first)?;
        end + blanks(&text[end..])
    } else {
        let is_end = |&(at, _): &(usize, &str)| is_blank_or_end(&text[at + 1..]);
        text.match_indices(':').find(is_end)?.0
    };
    let is_colon = text[end..].strip_prefix(':').is_some_and(is_blank_or_end);
    let name = text[..end].trim_end_matches([' ', '\t']);
    let name = if name.starts_with(['"', '\'']) {
        serde_norway::from_str::<String>(name).ok()?
    } else {
        name.to_owned()
    };
    is_colon.then_some((name, end + 1))
}

fn is_blank_or_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t'])
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// How long an anchor and a tag before a value are.
fn properties(text: &str) -> usize {
    let mut at = 0;
    while text[at..].starts_with(['&', '!']) {
        at += text[at..].find([' ', '\t']).unwrap_or(text.len() - at);
        at += blanks(&text[at..]);
    }
    at
}

/// Where a quoted text ends, its quotes included.
fn quoted(text: &str, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'\\' {
            at += if quote == b'"' { 2 } else { 1 };
        } else if quote == b'\'' && bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}

/// Where a list or mapping in brackets ends, the brackets included.
fn flow(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0_usize, 0_usize);
    // The last byte that is not blank: only after some of them does a quote begin a text.
    let mut before = b'[';
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' if matches!(before, b'[' | b'{' | b',' | b':') => {
                at += quoted(&text[at..], byte)?;
                before = byte;
                continue;
            }
            b'#' if at > 0 && bytes[at - 1].is_ascii_whitespace() => {
                at += memchr::memchr(b'\n', &bytes[at..])?;
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        at += 1;
    }
    None
}

/// The line on which a value ends, and the comment after it; nothing else may stand there.
fn after(yaml: &str, lines: &[Line], at: usize, end: usize) -> Option<(usize, Range<usize>)> {
    let last = at + lines[at..].iter().position(|line| end <= line.text.end)?;
    let rest = end..lines[last].text.end;
    let text = &yaml[rest.clone()];
    let blanks = blanks(text);
    if blanks == text.len() {
        return Some((last, rest.end..rest.end));
    }
    (blanks > 0 && text[blanks..].starts_with('#')).then_some((last, rest))
}

/// The last line of a block text, whose lines look like anything.
fn block(yaml: &str, lines: &[Line], at: usize, base: usize, keeps: bool) -> usize {
    let mut last = at;
    for (next, line) in lines.iter().enumerate().skip(at + 1) {
        let text = &yaml[line.text.clone()];
        let is_blank = text.trim_matches([' ', '\t']).is_empty();
        if !is_blank && indent(text) <= base {
            break;
        }
        if !is_blank || keeps {
            last = next;
        }
    }
    last
}

/// The comment at the end of a line, from the blanks before it on.
fn comment(yaml: &str, from: usize, end: usize) -> Range<usize> {
    let text = &yaml[..end];
    let is_first = |at: usize| text[..at].ends_with([' ', '\t']);
    match text[from..].match_indices('#').map(|(at, _)| from + at).find(|&at| is_first(at)) {
        Some(at) => text[..at].trim_end_matches([' ', '\t']).len()..end,
        None => end..end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_key_before_them() {
        // Between two `§` is what belongs to one key.
        for marked in [
            "§a: 1\n§b: 2 # c\n§",
            "# head\n§a: 1\n§\n# between\n\n§b:\n§  # tail\n",
            "§a:\n  - x\n  # in it\n  - y\n§b: 1\n§",
            "§a:\n- x\n- y: 1\n§b: 1\n§",
            "§a: one\n  two\n\n  three\n§b: 1\n§",
            "§a: \"x\n# no comment\n  y\" # c\n§b: 1\n§",
            "§a: 'it''s\n  b: y'\n§b: 1\n§",
            "§a: [x, # one]\n  \"]\", it's,\n  '}'] # c\n§b: {c: [d], \"}\": '{'}\n§",
            "§a: |\n  # text\n\n  text\n§\n# c\n§b: >-\n   x\n§",
            "§a: |+\n  text\n\n§b: 1\n§",
            "§\"a b\": 1\n§'c: d': 2\n§e:f: 3\n§",
            "§a: &x !t [b]\n§c: *x\n§",
            "§  a: 1\n§  b:\n    - x\n§",
            "§a: 1\r\n§b:\r\n  - x\r\n§",
            "§a: x#y\n§b: \\\n§c: 'x\\'\n§",
            "§a:\t1\t# c\n§b:\n§",
            "§a: 1§",
        ] {
            let yaml = marked.replace('§', "");
            let (spans, whole) = spans(&yaml);
            assert!(whole, "{yaml}");
            let mut cuts: Vec<_> = spans.iter().flat_map(|span| [span.lines.start, span.lines.end]).collect();
            cuts.dedup();
            let mut found = yaml;
            for cut in cuts.into_iter().rev() {
                found.insert(cut, '§');
            }
            assert_eq!(found, marked);
        }
    }

    #[test]
    fn comments_are_told_from_what_only_looks_like_one() {
        for (yaml, comment) in [
            ("a: 1 # c", "# c"),
            ("a: x#y", ""),
            ("a: '#' # c", "# c"),
            ("a: [\"#\"]  # c", "# c"),
            ("a: # c\n  - x # not it", "# c"),
            ("a: |  # c\n  # text", "# c"),
            ("a: #", "#"),
        ] {
            let (spans, _) = spans(yaml);
            assert_eq!(yaml[spans[0].comment.clone()].trim(), comment, "{yaml}");
        }
    }

    #[test]
    fn what_is_not_understood_ends_the_list() {
        for yaml in
            ["{a: 1}", "a: 1\n? b\n: c\n", "a: 1\n- b\n", "a: \"x", "a: [x", "a: 1\n  b: 2\nc", "a: \"x\" y"]
        {
            assert!(!spans(yaml).1, "{yaml}");
        }
    }
}
