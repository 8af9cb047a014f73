//! What each call must be answered, and what it makes of the files: the specification, once more.

use serde_json::Value;

use super::files::{Files, Key, Place, Thing, nfc};

/// The text of an answer, or of an error.
pub type Said = Result<String, String>;

/// The limits that are in force.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a file that the tool writes.
    pub file: u64,
    /// Characters of a view.
    pub view: usize,
}

/// Paths that are refused before a file is looked at; what comes after `/memories` is the key of a row.
pub const REFUSED: &[(&str, &str)] = &[
    ("/etc/passwd", "Error: Path must start with /memories, got: /etc/passwd"),
    ("", "Error: Path must start with /memories, got: "),
    ("memories/a", "Error: Path must start with /memories, got: memories/a"),
    ("/memories_evil/a", "Error: Path must start with /memories, got: /memories_evil/a"),
    ("/Memories", "Error: Path must start with /memories, got: /Memories"),
    ("/mem\u{1b}[2J", "Error: Path must start with /memories, got: /mem\\u{001B}[2J"),
    ("/memories/../etc", "Error: Path /memories/../etc would escape /memories directory"),
    ("/memories/a/../..", "Error: Path /memories/a/../.. would escape /memories directory"),
    ("/memories/%2e%2E/x", "Error: Path /memories/%2e%2E/x would escape /memories directory"),
    ("/memories/%252e", "Error: Path /memories/%252e would escape /memories directory"),
    ("/memories/a%2fb", "Error: Path /memories/a%2fb would escape /memories directory"),
    ("/memories/a%00", "Error: Path /memories/a%00 would escape /memories directory"),
    ("/memories/..\\..\\x/../..", "Error: Path /memories/..\\..\\x/../.. would escape /memories directory"),
    ("/memories/a\\b", "Error: Path /memories/a\\b is not valid: backslash is not allowed"),
    (
        "/memories/a\nb",
        "Error: Path /memories/a\\u{000A}b is not valid: control and format characters are not allowed",
    ),
    (
        "/memories/a\0",
        "Error: Path /memories/a\\u{0000} is not valid: control and format characters are not allowed",
    ),
    (
        "/memories/\u{202e}x",
        "Error: Path /memories/\\u{202E}x is not valid: control and format characters are not allowed",
    ),
    (
        "/memories/\u{e0041}",
        "Error: Path /memories/\\u{E0041} is not valid: control and format characters are not allowed",
    ),
    (
        "/memories/a\u{200d}b",
        "Error: Path /memories/a\\u{200D}b is not valid: control and format characters are not allowed",
    ),
];

/// Calls that are refused before a file is looked at.
pub const JUNK: &[(&str, &str)] = &[
    ("[]", "Error: The memory tool's input must be a JSON object"),
    ("null", "Error: The memory tool's input must be a JSON object"),
    ("{}", "Error: Missing required parameter `command`"),
    (r#"{"command":7}"#, "Error: Invalid `command` parameter: expected a string"),
    (r#"{"command":null}"#, "Error: Invalid `command` parameter: expected a string"),
    (
        r#"{"command":"View","path":"/memories"}"#,
        "Error: Unknown command `View`. Use view, create, str_replace, insert, delete or rename",
    ),
    (r#"{"command":"view"}"#, "Error: Missing required parameter `path` for `view`"),
    (r#"{"command":"view","path":null}"#, "Error: Invalid `path` parameter: expected a string"),
    (
        r#"{"command":"view","path":"/memories","view_range":[1,"2"]}"#,
        "Error: Invalid `view_range` parameter: expected two integers",
    ),
    (
        r#"{"command":"view","path":"nowhere","view_range":[1.5,2]}"#,
        "Error: Invalid `view_range` parameter: expected two integers",
    ),
    (
        r#"{"command":"create","path":"/memories/a"}"#,
        "Error: Missing required parameter `file_text` for `create`",
    ),
    (
        r#"{"command":"create","file_text":"x","file":"/memories/a"}"#,
        "Error: Missing required parameter `path` for `create`",
    ),
    (
        r#"{"command":"str_replace","path":"/memories/a","new_str":"x"}"#,
        "Error: Missing required parameter `old_str` for `str_replace`",
    ),
    (
        r#"{"command":"str_replace","path":"/memories/a","old_str":"a","new_str":[]}"#,
        "Error: Invalid `new_str` parameter: expected a string",
    ),
    (
        r#"{"command":"insert","path":"/memories/a","insert_line":"0","insert_text":"x"}"#,
        "Error: Invalid `insert_line` parameter: expected an integer",
    ),
    (
        r#"{"command":"insert","path":"/memories/a","insert_line":9223372036854775808,"insert_text":"x"}"#,
        "Error: Invalid `insert_line` parameter: expected an integer",
    ),
    (
        r#"{"command":"insert","path":"/memories/a","insert_line":1e40,"insert_text":"x"}"#,
        "Error: Invalid `insert_line` parameter: expected an integer",
    ),
    (
        r#"{"command":"insert","path":"/memories/a","insert_line":0,"new_str":"x"}"#,
        "Error: Missing required parameter `insert_text` for `insert`",
    ),
    (
        r#"{"command":"rename","old_path":"/memories/a"}"#,
        "Error: Missing required parameter `new_path` for `rename`",
    ),
    (
        r#"{"command":"rename","path":"/memories/a"}"#,
        "Error: Missing required parameter `old_path` for `rename`",
    ),
];

/// Answers a call, and does to the files what it asks for.
pub fn answer(files: &mut Files, input: &Value, limits: Limits) -> Said {
    if let Some((_, words)) =
        JUNK.iter().find(|(json, _)| serde_json::from_str::<Value>(json).unwrap() == *input)
    {
        return Err((*words).to_owned());
    }
    let text = |field: &str| input[field].as_str().unwrap_or_default();
    let path = text("path");
    match text("command") {
        "view" => view(files, path, &parse(path)?, range(&input["view_range"]), limits),
        "create" => create(files, path, &writable(path)?, text("file_text"), limits),
        "str_replace" => {
            let at = writable(path)?;
            if text("old_str").is_empty() {
                return Err("Error: Invalid `old_str` parameter: it must not be empty".to_owned());
            }
            edit(files, path, &at, limits, |old| replace(old, path, text("old_str"), text("new_str")))
        }
        "insert" => {
            let at = writable(path)?;
            #[allow(clippy::cast_possible_truncation, reason = "only small numbers are asked for")]
            let line = input["insert_line"].as_f64().unwrap() as i64;
            edit(files, path, &at, limits, |old| insert(old, path, line, text("insert_text")))
        }
        "delete" => delete(files, path, &writable(path)?),
        "rename" => {
            let (from, to) = (text("old_path"), text("new_path"));
            rename(files, [from, to], &writable(from)?, &writable(to)?)
        }
        other => panic!("the model knows no {other}"),
    }
}

fn range(value: &Value) -> Option<Vec<i64>> {
    #[allow(clippy::cast_possible_truncation, reason = "only small numbers are asked for")]
    let numbers: Vec<i64> = value.as_array()?.iter().map(|n| n.as_f64().unwrap() as i64).collect();
    (!numbers.is_empty()).then_some(numbers)
}

// Paths

/// What a text of §1 or §2 shows of a value.
fn echo(value: &str) -> String {
    let mut shown: String = value.chars().take(200).collect();
    if value.chars().count() > 200 {
        shown.push('…');
    }
    shown
}

/// The names that a path leads through.
fn parse(path: &str) -> Result<Vec<String>, String> {
    if let Some((_, words)) = REFUSED.iter().find(|(refused, _)| *refused == path) {
        return Err((*words).to_owned());
    }
    let below = nfc(path.strip_prefix("/memories").unwrap());
    let invalid = |why: &str| Err(format!("Error: Path {} is not valid: {why}", echo(path)));
    if below.split('/').any(|name| name.len() > 255) {
        return invalid("a segment is longer than 255 bytes");
    }
    if "/memories".len() + below.len() > 1024 {
        return invalid("it is longer than 1024 bytes");
    }
    let mut names: Vec<String> = Vec::new();
    for name in below.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop().unwrap()),
            _ => names.push(name.to_owned()),
        }
    }
    if names.len() > 20 {
        return invalid("it has more than 20 segments");
    }
    Ok(names)
}

fn writable(path: &str) -> Result<Vec<String>, String> {
    let names = parse(path)?;
    if names.iter().any(|name| name.starts_with('.')) {
        return Err(format!("Error: Path {} is not valid: hidden names cannot be changed", echo(path)));
    }
    Ok(names)
}

fn link(path: &str) -> String {
    format!("Error: The path {} is a symbolic link, which the memory directory does not follow", echo(path))
}

fn unsupported(path: &str) -> String {
    format!("Error: Unsupported file type for {}", echo(path))
}

/// Where something new may stand; `taken`: what is said when something is there.
fn free(files: &Files, path: &str, at: &[String], taken: String) -> Result<(Key, Vec<String>), String> {
    match files.find(at) {
        Place::There(key) if files.thing(&key) == Some(&Thing::Link) => Err(link(path)),
        Place::There(_) => Err(taken),
        Place::ThroughLink => Err(link(path)),
        Place::ThroughFile(file) => {
            let file = format!("/memories/{}", file.join("/"));
            Err(format!("Error: The path {} is not valid: {} is a file", echo(path), echo(&file)))
        }
        Place::Nowhere(key, rest) => Ok((key, rest)),
    }
}

// The commands

fn create(files: &mut Files, path: &str, at: &[String], text: &str, limits: Limits) -> Said {
    let exists = format!("Error: File {path} already exists");
    let taken = free(files, path, at, exists.clone());
    // `create` finds a link as it finds anything: the first link met answers.
    let (key, rest) = taken?;
    fits(path, text.len(), None, limits)?;
    let key = files.make_way(key, &rest);
    files.things.insert(key, Thing::File { bytes: text.as_bytes().to_vec(), mode: 0o600 });
    Ok(format!("File created successfully at: {path}"))
}

fn fits(path: &str, new: usize, old: Option<usize>, limits: Limits) -> Result<(), String> {
    if new as u64 <= limits.file || old.is_some_and(|old| new < old) {
        return Ok(());
    }
    Err(format!("Error: File {path} would be {new} bytes, over the limit of {} bytes", limits.file))
}

fn edit(
    files: &mut Files,
    path: &str,
    at: &[String],
    limits: Limits,
    work: impl FnOnce(&str) -> Result<(String, String), String>,
) -> Said {
    let missing = || format!("Error: The path {path} does not exist. Please provide a valid path.");
    let key = match files.find(at) {
        Place::There(key) => key,
        Place::ThroughLink => return Err(link(path)),
        Place::Nowhere(..) | Place::ThroughFile(_) => return Err(missing()),
    };
    let (bytes, mode) = match files.thing(&key).unwrap() {
        Thing::File { bytes, mode } => (bytes, *mode),
        Thing::Directory { .. } => return Err(format!("Error: The path {path} is not a file.")),
        Thing::Link => return Err(link(path)),
        Thing::Fifo => return Err(unsupported(path)),
    };
    let old = std::str::from_utf8(bytes).map_err(|_| format!("Error: The file {path} is not UTF-8 text"))?;
    let (new, answer) = work(old)?;
    if new != old {
        fits(path, new.len(), Some(old.len()), limits)?;
        files.things.insert(key, Thing::File { bytes: new.into_bytes(), mode });
    }
    Ok(answer)
}

fn replace(text: &str, path: &str, old: &str, new: &str) -> Result<(String, String), String> {
    let quoted = if old.chars().count() > 200 {
        old.chars().take(200).chain(['…']).collect()
    } else {
        old.to_owned()
    };
    let line_at = |at: usize| text[..at].split('\n').count();
    let found: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match found[..] {
        [] => Err(format!(
            "No replacement was performed, old_str `{quoted}` did not appear verbatim in {path}."
        )),
        [at] => {
            let edited = [&text[..at], new, &text[at + old.len()..]].concat();
            let line = line_at(at);
            let lines: Vec<&str> = edited.split('\n').collect();
            let snippet: Vec<String> = (line.saturating_sub(2).max(1)..=(line + 2).min(lines.len()))
                .map(|n| {
                    let mut shown: String = lines[n - 1].chars().take(2000).collect();
                    if lines[n - 1].chars().count() > 2000 {
                        shown.push('…');
                    }
                    format!("{n:>6}\t{shown}")
                })
                .collect();
            let head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):";
            let answer = format!("{head}\n{}", snippet.join("\n"));
            Ok((edited, answer))
        }
        _ => {
            let lines: Vec<String> = found.iter().take(20).map(|&at| line_at(at).to_string()).collect();
            let more =
                if found.len() > 20 { format!(" and {} more", found.len() - 20) } else { String::new() };
            Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{quoted}` in lines: {}{more}. Please ensure it is unique",
                lines.join(", ")
            ))
        }
    }
}

fn insert(text: &str, path: &str, line: i64, new: &str) -> Result<(String, String), String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let at = usize::try_from(line).ok().filter(|&at| at <= lines.len()).ok_or_else(|| {
        format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {}]",
            lines.len()
        )
    })?;
    lines.insert(at, new.trim_end_matches('\n'));
    Ok((lines.join("\n") + "\n", format!("The file {path} has been edited.")))
}

fn delete(files: &mut Files, path: &str, at: &[String]) -> Said {
    if at.is_empty() {
        return Err("Error: Cannot delete the /memories directory itself".to_owned());
    }
    match files.find(at) {
        Place::There(key) => files.remove(&key),
        Place::ThroughLink => return Err(link(path)),
        Place::Nowhere(..) | Place::ThroughFile(_) => {
            return Err(format!("Error: The path {path} does not exist"));
        }
    }
    Ok(format!("Successfully deleted {path}"))
}

fn rename(files: &mut Files, [old, new]: [&str; 2], from: &[String], to: &[String]) -> Said {
    if from.is_empty() {
        return Err("Error: Cannot rename the /memories directory itself".to_owned());
    }
    let (above, rest) = free(files, new, to, format!("Error: The destination {new} already exists"))?;
    let key = match files.find(from) {
        Place::There(key) => key,
        Place::ThroughLink => return Err(link(old)),
        Place::Nowhere(..) | Place::ThroughFile(_) => {
            return Err(format!("Error: The path {old} does not exist"));
        }
    };
    match files.thing(&key).unwrap() {
        Thing::File { .. } => {}
        Thing::Link => return Err(link(old)),
        Thing::Fifo => return Err(unsupported(old)),
        Thing::Directory { .. } => {
            if to.starts_with(from) {
                return Err(format!("Error: Cannot rename {old} into itself"));
            }
            let target = "/memories/".len() + to.join("/").len();
            let is_long = |below: &Key| {
                let names = &below[key.len()..];
                let bytes: usize = names
                    .iter()
                    .map(|name| 1 + std::str::from_utf8(name).map_or(name.len(), |name| nfc(name).len()))
                    .sum();
                target + bytes > 1024 || to.len() + names.len() > 20
            };
            if files.below(&key).any(|(below, _)| is_long(below)) {
                return Err(format!("Error: Cannot rename {old}: a path below it would be too long"));
            }
        }
    }
    let target = files.make_way(above, &rest);
    files.rename(&key, &target);
    Ok(format!("Successfully renamed {old} to {new}"))
}

// The view

fn view(files: &Files, path: &str, at: &[String], range: Option<Vec<i64>>, limits: Limits) -> Said {
    let key = match files.find(at) {
        Place::There(key) => key,
        Place::ThroughLink => return Err(link(path)),
        Place::Nowhere(..) | Place::ThroughFile(_) => {
            return Err(format!("The path {path} does not exist. Please provide a valid path."));
        }
    };
    match files.thing(&key).unwrap() {
        Thing::Link => Err(link(path)),
        Thing::Fifo => Err(unsupported(path)),
        Thing::Directory { .. } => view_directory(files, path, &key, range, limits.view),
        Thing::File { bytes, .. } => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| format!("Error: The file {path} is not UTF-8 text"))?;
            view_file(text, path, range, limits.view)
        }
    }
}

/// The first and last of `n` that a range picks.
fn pick(range: Option<Vec<i64>>, n: usize, what: &str, unit: &str) -> Result<(usize, usize), String> {
    let Some(range) = range else { return Ok((1, n)) };
    let picked = match range[..] {
        [start, end] if end != 0 && end >= -1 && (end == -1 || end >= start) => {
            let first = usize::try_from(start.max(1)).unwrap();
            let last = usize::try_from(end).map_or(n, |end| end.min(n));
            (first <= n && first <= last).then_some((first, last))
        }
        _ => None,
    };
    picked.ok_or_else(|| {
        let mut shown: Vec<String> = range.iter().take(5).map(i64::to_string).collect();
        if range.len() > 5 {
            shown.push("…".to_owned());
        }
        let s = if n == 1 { "" } else { "s" };
        format!(
            "Error: Invalid `view_range` parameter: [{}]. The {what} has {n} {unit}{s}; use [start, end] with 1 <= start <= end, or end = -1",
            shown.join(", ")
        )
    })
}

/// How many of the lines, joined, are within `limit` characters.
fn fit(lines: &[String], limit: usize) -> usize {
    let mut used = 0;
    lines
        .iter()
        .enumerate()
        .take_while(|(i, line)| {
            used += line.chars().count() + usize::from(*i > 0);
            used <= limit
        })
        .count()
}

fn view_file(text: &str, path: &str, range: Option<Vec<i64>>, limit: usize) -> Said {
    let lines: Vec<&str> = text.split('\n').collect();
    let (first, last) = pick(range, lines.len(), "file", "line")?;
    let mut shown: Vec<String> = (first..=last).map(|n| format!("{n:>6}\t{}", lines[n - 1])).collect();
    let whole = fit(&shown, limit);
    if whole == 0 {
        let cut: String = shown[0].chars().take(limit).collect();
        let k = lines[first - 1].chars().count();
        shown = vec![cut, format!("... [truncated: line {first} has {k} characters, {} shown]", limit - 7)];
    } else if whole < shown.len() {
        shown.truncate(whole);
        let b = first + whole - 1;
        let n = lines.len();
        shown.push(format!("... [truncated: showing lines {first}-{b} of {n}. Use view_range to see more]"));
    }
    Ok(format!("Here's the content of {path} with line numbers:\n{}", shown.join("\n")))
}

/// An entry that a listing shows.
struct Item {
    name: String,
    key: Key,
    size: u64,
    is_dir: bool,
}

fn visible(files: &Files, dir: &Key) -> Vec<Item> {
    let mut items = Vec::new();
    for (name, thing) in files.children(dir) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if name.starts_with('.') || name == "node_modules" {
            continue;
        }
        let mut key = dir.clone();
        key.push(name.as_bytes().to_vec());
        let (size, is_dir) = match thing {
            Thing::File { bytes, .. } => (bytes.len() as u64, false),
            Thing::Directory { .. } => (total(files, &key), true),
            Thing::Link | Thing::Fifo => continue,
        };
        let name = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
        items.push(Item { name, key, size, is_dir });
    }
    items
}

fn total(files: &Files, dir: &Key) -> u64 {
    visible(files, dir).iter().map(|item| item.size).sum()
}

fn human(bytes: u64) -> String {
    let (mut unit, mut suffix) = (1, 0);
    while bytes / unit >= 1024 && suffix < 4 {
        (unit, suffix) = (unit * 1024, suffix + 1);
    }
    let name = ["B", "K", "M", "G", "T"][suffix];
    if bytes.is_multiple_of(unit) {
        return format!("{}{name}", bytes / unit);
    }
    // Exact in binary: the quotient has at most 40 bits after the point, and {:.1} rounds exact ties to even.
    #[allow(clippy::cast_precision_loss, reason = "sizes here are far below 2^52")]
    let quotient = bytes as f64 / unit as f64;
    format!("{quotient:.1}{name}")
}

fn view_directory(files: &Files, path: &str, key: &Key, range: Option<Vec<i64>>, limit: usize) -> Said {
    let dir = path.trim_end_matches('/');
    let head = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n{}\t{dir}",
        human(total(files, key))
    );
    let mut tree = Vec::new();
    let mut map = Vec::new();
    for item in visible(files, key) {
        let line = format!("{}\t{dir}/{}", human(item.size), item.name);
        if !item.is_dir {
            map.push(line.clone());
            tree.push(line);
            continue;
        }
        let children = visible(files, &item.key);
        let s = if children.len() == 1 { "" } else { "s" };
        map.push(format!("{line}/\t({} item{s})", children.len()));
        tree.push(format!("{line}/"));
        for child in children {
            let slash = if child.is_dir { "/" } else { "" };
            tree.push(format!("{}\t{dir}/{}/{}{slash}", human(child.size), item.name, child.name));
        }
    }
    let more = |n: usize| format!("... and {n} more. Use view_range to see them");
    let mut lines = vec![head];
    if range.is_some() {
        let (first, last) = pick(range, tree.len(), "directory", "item")?;
        let picked = &tree[first - 1..last];
        let whole = fit(picked, limit);
        lines.extend_from_slice(&picked[..whole]);
        if whole < picked.len() {
            lines.push(more(picked.len() - whole));
        }
    } else if fit(&tree, limit) == tree.len() {
        lines.extend(tree);
    } else {
        let whole = fit(&map, limit);
        lines.extend_from_slice(&map[..whole]);
        if whole < map.len() {
            lines.push(more(tree.len() - whole));
        } else {
            lines.push(format!(
                "... {} items in subdirectories are not shown. View a subdirectory, or use view_range to page through all",
                tree.len() - map.len()
            ));
        }
    }
    Ok(lines.join("\n"))
}
