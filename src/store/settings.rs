//! `memdir.toml`: what a store's owner may choose.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Result};
use crate::guard::{Action, Guard, Mode, rule_names};
use crate::path::MemoryPath;
use crate::text::{amount, nearest, read_size};
use crate::version::Keep;

mod entries;

pub use entries::{Entries, OnSimilar, Search};
use entries::{IN_ENTRIES, IN_SEARCH};

/// What `create` does when the file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Create {
    /// It is an error.
    #[default]
    Error,
    /// The file gets the new text; the old one stays in the history.
    Overwrite,
}

/// Whether names that begin with a dot may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hidden {
    /// They may not.
    #[default]
    Deny,
    /// They may, but for `.git` in any case.
    Allow,
}

/// The settings of a store; `Default` is what holds without a `memdir.toml`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// What `create` does when the file is there.
    pub create: Create,
    /// Whether hidden names may be changed.
    pub hidden: Hidden,
    /// Characters (Unicode scalar values) that a view shows at most; 0: no limit.
    pub view_limit: usize,
    /// Bytes that a written file may hold.
    pub file_limit: u64,
    /// Bytes that a viewed image may hold.
    pub image_limit: u64,
    /// Mode of new files.
    pub file_mode: u32,
    /// Mode of new directories.
    pub dir_mode: u32,
    /// How long a change waits for another process.
    pub lock_wait: Duration,
    /// Files and directories that cannot be changed, each with all below it.
    pub read_only: Vec<MemoryPath>,
    /// Whether a store on FUSE may be written.
    pub allow_fuse: bool,
    /// How much of the history is kept.
    pub keep_history: Keep,
    /// What is done about secrets in what is written.
    pub guard: Guard,
    /// What is chosen about entries.
    pub entries: Entries,
    /// What is chosen about retrieval.
    pub search: Search,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            create: Create::Error,
            hidden: Hidden::Deny,
            view_limit: 16_000,
            file_limit: 1 << 20,
            image_limit: 5 << 20,
            file_mode: 0o600,
            dir_mode: 0o700,
            lock_wait: Duration::from_secs(5),
            read_only: Vec::new(),
            allow_fuse: false,
            keep_history: Keep::default(),
            guard: Guard::default(),
            entries: Entries::default(),
            search: Search::default(),
        }
    }
}

impl Settings {
    /// Reads the text of a `memdir.toml`; what it does not name keeps its default.
    ///
    /// # Errors
    /// [`Error::Settings`] with the line and what was expected there: for text that is not TOML, for a key or a section
    /// that this version does not know (the nearest known key is named), and for a value of the wrong kind.
    pub fn parse(text: &str) -> Result<Self> {
        let line = |at: usize| 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at.min(text.len())]).count();
        let refuse =
            |at: usize, what: String| Error::Settings { problem: format!("line {}: {what}", line(at)) };
        let table = DeTable::parse(text)
            .map_err(|e| refuse(e.span().map_or(0, |span| span.start), e.message().to_owned()))?;

        let mut settings = Self::default();
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_ref();
            let mut set = |keys: &[Key], name: &str, at: usize, value: &Spanned<DeValue>| {
                let field = keys.iter().find(|field| field.name == name);
                let is_section = matches!(value.get_ref(), DeValue::Table(_));
                let field = field.ok_or_else(|| refuse(at, unknown(keys, name, is_section)))?;
                (field.set)(&mut settings, value.get_ref())
                    .map_err(|expected| refuse(value.span().start, format!("`{name}` must be {expected}")))
            };
            match value.get_ref() {
                DeValue::Table(section) if SECTIONS.iter().any(|(section, _)| *section == name) => {
                    let keys =
                        SECTIONS.iter().find(|(section, _)| *section == name).map_or(KEYS, |(_, keys)| keys);
                    for (key, value) in section {
                        set(keys, key.get_ref(), key.span().start, value)?;
                    }
                }
                _ => set(KEYS, name, key.span().start, value)?,
            }
        }
        Ok(settings)
    }
}

/// What a value must be, as the end of a sentence; a key that refuses a value says so with one.
type Expected = Cow<'static, str>;

/// A key of `memdir.toml`, and how its value comes into the settings.
struct Key {
    name: &'static str,
    set: fn(&mut Settings, &DeValue) -> Result<(), Expected>,
}

const KEYS: &[Key] = &[
    Key {
        name: "create",
        set: |s, v| {
            choice(v, &[("error", Create::Error), ("overwrite", Create::Overwrite)]).map(|v| s.create = v)
        },
    },
    Key {
        name: "hidden",
        set: |s, v| choice(v, &[("deny", Hidden::Deny), ("allow", Hidden::Allow)]).map(|v| s.hidden = v),
    },
    Key { name: "view_limit", set: |s, v| count(v).map(|v| s.view_limit = v) },
    Key { name: "file_limit", set: |s, v| size(v).map(|v| s.file_limit = v) },
    Key { name: "image_limit", set: |s, v| size(v).map(|v| s.image_limit = v) },
    Key { name: "file_mode", set: |s, v| mode(v, 0o600, 0o777).map(|v| s.file_mode = v) },
    Key { name: "dir_mode", set: |s, v| mode(v, 0o700, 0o3777).map(|v| s.dir_mode = v) },
    Key { name: "lock_wait", set: |s, v| duration(v).map(|v| s.lock_wait = v) },
    Key { name: "read_only", set: |s, v| paths(v).map(|v| s.read_only = v) },
    Key { name: "allow_fuse", set: |s, v| flag(v).map(|v| s.allow_fuse = v) },
];

/// The sections, each with its keys.
const SECTIONS: &[(&str, &[Key])] =
    &[("history", IN_HISTORY), ("guard", IN_GUARD), ("entries", IN_ENTRIES), ("search", IN_SEARCH)];

const IN_HISTORY: &[Key] = &[Key { name: "keep", set: |s, v| keep(v).map(|v| s.keep_history = v) }];

const IN_GUARD: &[Key] = &[
    Key { name: "mode", set: |s, v| choice(v, MODES).map(|v| s.guard.mode = v) },
    Key { name: "rules", set: |s, v| rules(v).map(|v| s.guard.rules = v) },
];

const MODES: &[(&str, Mode)] = &[
    ("default", Mode::Default),
    ("off", Mode::All(Action::Off)),
    ("warn", Mode::All(Action::Warn)),
    ("redact", Mode::All(Action::Redact)),
    ("block", Mode::All(Action::Block)),
];

const ACTIONS: &[(&str, Action)] =
    &[("off", Action::Off), ("warn", Action::Warn), ("redact", Action::Redact), ("block", Action::Block)];

/// Units of a duration, in milliseconds.
const TIMES: &[(&str, u64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 7 * 86_400_000)];

fn unknown(keys: &[Key], name: &str, is_section: bool) -> String {
    if SECTIONS.iter().any(|(section, _)| *section == name) {
        return format!("`{name}` must be a section, `[{name}]`");
    }
    if is_section {
        let known: Vec<_> = SECTIONS.iter().map(|(section, _)| *section).collect();
        return format!("unknown section `[{name}]`; the nearest known one is `[{}]`", nearest(name, &known));
    }
    let known: Vec<_> = keys.iter().map(|key| key.name).collect();
    unknown_key(name, &known)
}

fn unknown_key(name: &str, known: &[&str]) -> String {
    format!("unknown key `{name}`; the nearest known one is `{}`", nearest(name, known))
}

fn choice<T: Copy>(value: &DeValue, choices: &[(&str, T)]) -> Result<T, Expected> {
    let word = value.as_str();
    choices.iter().find(|(name, _)| Some(*name) == word).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        names.join(" or ").into()
    })
}

fn flag(value: &DeValue) -> Result<bool, Expected> {
    value.as_bool().ok_or("true or false".into())
}

fn integer(value: &DeValue) -> Option<u64> {
    value.as_integer().and_then(|int| u64::from_str_radix(int.as_str(), int.radix()).ok())
}

fn count(value: &DeValue) -> Result<usize, Expected> {
    integer(value).and_then(|n| n.try_into().ok()).ok_or("a whole number, 0 or more".into())
}

fn size(value: &DeValue) -> Result<u64, Expected> {
    integer(value)
        .or_else(|| read_size(value.as_str()?))
        .filter(|&bytes| bytes > 0)
        .ok_or("a size over 0, such as \"512KiB\", \"1MiB\" or a number of bytes".into())
}

fn duration(value: &DeValue) -> Result<Duration, Expected> {
    value
        .as_str()
        .and_then(|text| amount(text, TIMES))
        .map(Duration::from_millis)
        .ok_or("a time such as \"200ms\", \"5s\" or \"1m\"".into())
}

/// How much history is to be kept.
fn keep(value: &DeValue) -> Result<Keep, Expected> {
    let refuse = |problem: &str| -> Expected {
        format!("\"all\" or such as {{ age = \"90d\", versions = 50, size = \"1GiB\" }}{problem}").into()
    };
    let limits = match value {
        DeValue::String(all) if all == "all" => return Ok(Keep::default()),
        DeValue::Table(limits) => limits,
        _ => return Err(refuse("")),
    };
    let mut keep = Keep::default();
    for (key, value) in limits {
        let (name, value) = (key.get_ref().as_ref(), value.get_ref());
        let set = match name {
            "age" => duration(value)
                .ok()
                .filter(|age| !age.is_zero())
                .map(|age| keep.age = Some(age))
                .ok_or("a time over 0, such as \"90d\", \"12w\" or \"36h\"".into()),
            "versions" => integer(value)
                .filter(|&versions| versions >= 10)
                .map(|versions| keep.versions = Some(versions))
                .ok_or("a whole number, 10 or more".into()),
            "size" => size(value).map(|size| keep.size = Some(size)),
            _ => return Err(refuse(&format!("; {}", unknown_key(name, &["age", "versions", "size"])))),
        };
        set.map_err(|expected: Expected| refuse(&format!("; its `{name}` must be {expected}")))?;
    }
    Ok(keep)
}

/// What is done about what some rules find.
fn rules(value: &DeValue) -> Result<BTreeMap<&'static str, Action>, Expected> {
    let form = "such as { card-number = \"warn\", jwt = \"off\" }";
    let table = value.as_table().ok_or(form)?;
    let names: Vec<_> = rule_names().into_keys().collect();
    let mut rules = BTreeMap::new();
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let Some(known) = names.iter().find(|known| **known == name) else {
            let nearest = nearest(name, &names);
            let known =
                format!("the nearest known one is `{nearest}`, and `memdir check --list-rules` lists all");
            return Err(format!("{form}; unknown rule `{name}`; {known}").into());
        };
        let action = choice(value.get_ref(), ACTIONS)
            .map_err(|expected| Expected::from(format!("{form}; its `{name}` must be {expected}")))?;
        rules.insert(*known, action);
    }
    Ok(rules)
}

/// Permission bits that hold all of `needed` and nothing beyond `allowed`.
fn mode(value: &DeValue, needed: u32, allowed: u32) -> Result<u32, Expected> {
    value
        .as_str()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|text| u32::from_str_radix(text, 8).ok())
        .filter(|mode| mode & needed == needed && mode & !allowed == 0)
        .ok_or_else(|| {
            let rights = if needed == 0o600 { "read and write" } else { "read, write and enter" };
            format!("an octal mode in quotes that lets the owner {rights}, such as \"{needed:04o}\"").into()
        })
}

fn paths(value: &DeValue) -> Result<Vec<MemoryPath>, Expected> {
    let list = value.as_array().ok_or("a list of paths, such as [\"/memories/policies/\"]")?;
    list.iter()
        .map(|item| {
            let text = item.get_ref().as_str().ok_or("a list of paths, each in quotes")?;
            let refuse = |rule: &dyn Display| format!("a list of paths; of \"{text}\": {rule}").into();
            if text.contains(['*', '?', '[']) {
                return Err(refuse(&"patterns are not supported: name a file or a directory"));
            }
            MemoryPath::parse(text).map_err(|rule| refuse(&rule))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_the_default() {
        for text in ["", "\n# all of it is optional\n", "\u{feff}"] {
            assert_eq!(Settings::parse(text).unwrap(), Settings::default(), "{text:?}");
        }
    }

    #[test]
    fn every_key_is_read() {
        let text = r#"
            create = "overwrite"
            hidden = "allow"
            view_limit = 0
            file_limit = "2MiB"
            image_limit = 1_000
            file_mode = "0640"
            dir_mode = "2750"
            lock_wait = "200ms"
            read_only = ["/memories/policies/", "/memories/a.md"]
            allow_fuse = true
            [history]
            keep = { age = "90d", versions = 50, size = "1GiB" }
            [guard]
            mode = "redact"
            rules = { github-pat = "off", card-number = "block" }
        "#;
        let settings = Settings {
            create: Create::Overwrite,
            hidden: Hidden::Allow,
            view_limit: 0,
            file_limit: 2 << 20,
            image_limit: 1_000,
            file_mode: 0o640,
            dir_mode: 0o2750,
            lock_wait: Duration::from_millis(200),
            read_only: vec![MemoryPath::from_normal("policies"), MemoryPath::from_normal("a.md")],
            allow_fuse: true,
            keep_history: Keep {
                age: Some(Duration::from_secs(90 * 86_400)),
                versions: Some(50),
                size: Some(1 << 30),
            },
            guard: Guard {
                mode: Mode::All(Action::Redact),
                rules: [("github-pat", Action::Off), ("card-number", Action::Block)].into(),
            },
            ..Settings::default()
        };
        assert_eq!(Settings::parse(text).unwrap(), settings);
    }

    #[test]
    fn amounts() {
        let cases = [
            ("file_limit = 1", 1),
            ("file_limit = 0x10", 16),
            ("file_limit = \"7\"", 7),
            ("file_limit = \"7B\"", 7),
            ("file_limit = \"512KiB\"", 512 << 10),
            ("file_limit = \"512 KiB\"", 512 << 10),
            ("file_limit = \"1GiB\"", 1 << 30),
        ];
        for (text, bytes) in cases {
            assert_eq!(Settings::parse(text).unwrap().file_limit, bytes, "{text}");
        }
        for (text, seconds) in [("0s", 0), ("5s", 5), ("1m", 60), ("2h", 7200), ("1w", 604_800)] {
            let settings = Settings::parse(&format!("lock_wait = \"{text}\"")).unwrap();
            assert_eq!(settings.lock_wait, Duration::from_secs(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_named() {
        let size = "must be a size over 0, such as \"512KiB\", \"1MiB\" or a number of bytes";
        let time = "must be a time such as \"200ms\", \"5s\" or \"1m\"";
        let file = "must be an octal mode in quotes that lets the owner read and write, such as \"0600\"";
        let dir =
            "must be an octal mode in quotes that lets the owner read, write and enter, such as \"0700\"";
        let rules = "must be such as { card-number = \"warn\", jwt = \"off\" }";
        let pattern = |path| {
            format!(
                "line 1: `read_only` must be a list of paths; of \"{path}\": patterns are not supported: name a file or a directory"
            )
        };
        let keep = "must be \"all\" or such as { age = \"90d\", versions = 50, size = \"1GiB\" }";
        let cases = [
            (
                "veiw_limit = 3",
                "line 1: unknown key `veiw_limit`; the nearest known one is `view_limit`".to_owned(),
            ),
            (
                "\n\nreadonly = []",
                "line 3: unknown key `readonly`; the nearest known one is `read_only`".to_owned(),
            ),
            (
                "[history]\nkeeep = \"all\"",
                "line 2: unknown key `keeep`; the nearest known one is `keep`".to_owned(),
            ),
            ("keep = \"all\"", "line 1: unknown key `keep`; the nearest known one is `create`".to_owned()),
            ("history = \"all\"", "line 1: `history` must be a section, `[history]`".to_owned()),
            ("[history]\nkeep = 50", format!("line 2: `keep` {keep}")),
            ("[history]\nkeep = \"none\"", format!("line 2: `keep` {keep}")),
            (
                "[history.keep]\nages = \"1d\"",
                format!("line 1: `keep` {keep}; unknown key `ages`; the nearest known one is `age`"),
            ),
            (
                "history.keep.age = \"0d\"",
                format!(
                    "line 1: `keep` {keep}; its `age` must be a time over 0, such as \"90d\", \"12w\" or \"36h\""
                ),
            ),
            (
                "history.keep.versions = 9",
                format!("line 1: `keep` {keep}; its `versions` must be a whole number, 10 or more"),
            ),
            ("history.keep.size = \"1GB\"", format!("line 1: `keep` {keep}; its `size` {size}")),
            ("search = \"off\"", "line 1: `search` must be a section, `[search]`".to_owned()),
            ("guard = \"off\"", "line 1: `guard` must be a section, `[guard]`".to_owned()),
            ("[gard]", "line 1: unknown section `[gard]`; the nearest known one is `[guard]`".to_owned()),
            (
                "[guard]\nmode = \"on\"",
                "line 2: `mode` must be \"default\" or \"off\" or \"warn\" or \"redact\" or \"block\""
                    .to_owned(),
            ),
            ("[guard]\nrules = \"off\"", format!("line 2: `rules` {rules}")),
            (
                "[guard]\nrules = { github-path = \"off\" }",
                format!(
                    "line 2: `rules` {rules}; unknown rule `github-path`; the nearest known one is `github-pat`, and `memdir check --list-rules` lists all"
                ),
            ),
            (
                "[guard]\nrules = { jwt = true }",
                format!(
                    "line 2: `rules` {rules}; its `jwt` must be \"off\" or \"warn\" or \"redact\" or \"block\""
                ),
            ),
            ("\n[more]", "line 2: unknown section `[more]`; the nearest known one is `[guard]`".to_owned()),
            ("create = \"replace\"", "line 1: `create` must be \"error\" or \"overwrite\"".to_owned()),
            ("\nhidden = true", "line 2: `hidden` must be \"deny\" or \"allow\"".to_owned()),
            ("view_limit = -1", "line 1: `view_limit` must be a whole number, 0 or more".to_owned()),
            ("view_limit = \"16k\"", "line 1: `view_limit` must be a whole number, 0 or more".to_owned()),
            ("file_limit = 0", format!("line 1: `file_limit` {size}")),
            ("file_limit = 1.5", format!("line 1: `file_limit` {size}")),
            ("file_limit = \"1MB\"", format!("line 1: `file_limit` {size}")),
            ("file_limit = \"MiB\"", format!("line 1: `file_limit` {size}")),
            ("image_limit = \"99999999999GiB\"", format!("line 1: `image_limit` {size}")),
            ("lock_wait = 5", format!("line 1: `lock_wait` {time}")),
            ("lock_wait = \"5\"", format!("line 1: `lock_wait` {time}")),
            ("file_mode = 0o600", format!("line 1: `file_mode` {file}")),
            ("file_mode = \"0400\"", format!("line 1: `file_mode` {file}")),
            ("file_mode = \"4600\"", format!("line 1: `file_mode` {file}")),
            ("file_mode = \"0688\"", format!("line 1: `file_mode` {file}")),
            ("file_mode = \"+600\"", format!("line 1: `file_mode` {file}")),
            ("dir_mode = \"0600\"", format!("line 1: `dir_mode` {dir}")),
            (
                "read_only = \"/memories/a\"",
                "line 1: `read_only` must be a list of paths, such as [\"/memories/policies/\"]".to_owned(),
            ),
            ("read_only = [1]", "line 1: `read_only` must be a list of paths, each in quotes".to_owned()),
            (
                "read_only = [\"/etc\"]",
                "line 1: `read_only` must be a list of paths; of \"/etc\": it must start with /memories"
                    .to_owned(),
            ),
            ("read_only = [\"/memories/policies/*\"]", pattern("/memories/policies/*")),
            ("read_only = [\"/memories/a\", \"/memories/a?.md\"]", pattern("/memories/a?.md")),
            ("read_only = [\"/memories/[ab].md\"]", pattern("/memories/[ab].md")),
            ("allow_fuse = \"yes\"", "line 1: `allow_fuse` must be true or false".to_owned()),
        ];
        for (text, problem) in cases {
            match Settings::parse(text) {
                Err(Error::Settings { problem: found }) => assert_eq!(found, problem, "{text:?}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_toml_names_the_line() {
        for (text, line) in [
            ("a", "line 1: "),
            ("create = \"error\"\ncreate = \"error\"", "line 2: "),
            ("\n\nx = ", "line 3: "),
        ] {
            let error = Settings::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("memdir.toml: {line}")), "{text:?} gave {error}");
        }
    }
}
