//! `[entries]` and `[search]`: what a store's owner may choose about structured memory and retrieval.

use std::time::Duration;

use camino::Utf8PathBuf;
use toml::de::DeValue;

use super::{Expected, Key, choice, duration, integer};
use crate::path::{MemoryPath, is_passed_over};

/// What is done with an entry of the same category that is very like a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnSimilar {
    /// It stays, and is told.
    #[default]
    Report,
    /// The new one supersedes it.
    Supersede,
}

/// What is chosen about entries.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entries {
    /// Categories beyond those that every store has.
    pub categories: Vec<String>,
    /// As many entries are kept; beyond that the least important go.
    pub max: u64,
    /// The age at which an entry counts half as important.
    pub half_life: Duration,
    /// What is done with an entry that is very like a new one.
    pub on_similar: OnSimilar,
    /// How like it must be for that (cosine of their vectors), over 0 and at most 1.
    pub similar_threshold: f64,
    /// Entries that were not accessed for so long may go; `None`: that is no reason.
    pub unused: Option<Duration>,
}

/// What is chosen about retrieval.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Search {
    /// The directory of another model, relative to the base directory; `None`: the built-in one.
    pub model: Option<Utf8PathBuf>,
    /// What scores lower never comes back, 0 to 1; `None`: as retrieval has it.
    pub min_score: Option<f64>,
}

impl Default for Entries {
    fn default() -> Self {
        Self {
            categories: Vec::new(),
            max: 10_000,
            half_life: Duration::from_secs(30 * 86_400),
            on_similar: OnSimilar::default(),
            similar_threshold: 0.92,
            unused: None,
        }
    }
}

pub(super) const IN_ENTRIES: &[Key] = &[
    Key { name: "categories", set: |s, v| categories(v).map(|v| s.entries.categories = v) },
    Key {
        name: "max",
        set: |s, v| {
            let max = integer(v).filter(|&max| max > 0).ok_or("a whole number over 0")?;
            s.entries.max = max;
            Ok(())
        },
    },
    Key {
        name: "half_life",
        set: |s, v| {
            let time = duration(v).ok().filter(|time| !time.is_zero());
            s.entries.half_life = time.ok_or("a time over 0, such as \"30d\", \"12w\" or \"36h\"")?;
            Ok(())
        },
    },
    Key {
        name: "on_similar",
        set: |s, v| {
            choice(v, &[("report", OnSimilar::Report), ("supersede", OnSimilar::Supersede)])
                .map(|v| s.entries.on_similar = v)
        },
    },
    Key {
        name: "similar_threshold",
        set: |s, v| {
            let share = share(v).filter(|&share| share > 0.0);
            s.entries.similar_threshold = share.ok_or("a number over 0 and at most 1, such as 0.92")?;
            Ok(())
        },
    },
    Key { name: "unused", set: |s, v| unused(v).map(|v| s.entries.unused = v) },
];

pub(super) const IN_SEARCH: &[Key] = &[
    Key {
        name: "model",
        set: |s, v| {
            let model = v.as_str().ok_or("the directory of a model in quotes; \"\" is the built-in one")?;
            s.search.model = Some(model).filter(|model| !model.is_empty()).map(Utf8PathBuf::from);
            Ok(())
        },
    },
    Key {
        name: "min_score",
        set: |s, v| {
            s.search.min_score = Some(share(v).ok_or("a number from 0 to 1, such as 0.2")?);
            Ok(())
        },
    },
];

/// A number from 0 to 1.
fn share(value: &DeValue) -> Option<f64> {
    let float = || value.as_float()?.as_str().parse().ok();
    let whole = || u8::try_from(integer(value)?).ok().map(f64::from);
    float().or_else(whole).filter(|share| (0.0..=1.0).contains(share))
}

fn unused(value: &DeValue) -> Result<Option<Duration>, Expected> {
    if value.as_str() == Some("off") {
        return Ok(None);
    }
    let time = duration(value).ok().filter(|time| !time.is_zero());
    time.map(Some).ok_or("\"off\" or a time over 0, such as \"90d\" or \"52w\"".into())
}

/// Bytes of a category's name.
const LONGEST: usize = 64;

fn categories(value: &DeValue) -> Result<Vec<String>, Expected> {
    let list = value.as_array().ok_or("a list of names, such as [\"recipes\"]")?;
    let name = |item: &toml::Spanned<DeValue>| -> Result<String, Expected> {
        let name = item.get_ref().as_str().ok_or("a list of names, each in quotes")?;
        match fault(name) {
            Some(rule) => Err(format!("a list of names; of \"{name}\": {rule}").into()),
            None => Ok(name.to_owned()),
        }
    };
    list.iter().map(name).collect()
}

/// Why a text is no name of a category, which is a folder's, too.
fn fault(name: &str) -> Option<String> {
    let is_in_place = |c: char| c.is_alphanumeric() || !c.is_ascii() || matches!(c, '_' | '-');
    if name.is_empty() {
        return Some("it must not be empty".to_owned());
    }
    if name.len() > LONGEST {
        return Some(format!("it must be at most {LONGEST} bytes long"));
    }
    if name.chars().any(char::is_uppercase) {
        return Some("it must be lower case".to_owned());
    }
    if !name.chars().all(|c| is_in_place(c) && !c.is_whitespace()) || name.starts_with('-') {
        return Some("it must consist of letters, digits, `_` and `-`".to_owned());
    }
    match MemoryPath::parse(&format!("/memories/{name}")) {
        Err(rule) => Some(rule.to_string()),
        Ok(path) if path.as_str() != name => Some("it must be in the Unicode form NFC".to_owned()),
        Ok(_) if is_passed_over(name.as_bytes()) => Some("listings pass over that name".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Settings;

    #[test]
    fn every_key_is_read() {
        let text = r#"
            [entries]
            categories = ["recipes", "cà-phê", "q3_2026", "食べ物", "हिन्दी"]
            max = 500
            half_life = "12w"
            on_similar = "supersede"
            similar_threshold = 1
            unused = "52w"
            [search]
            model = "models/potion"
            min_score = 0.25
        "#;
        let Settings { entries, search, .. } = Settings::parse(text).unwrap();
        let weeks = |n: u64| Duration::from_secs(n * 7 * 86_400);
        let right = Entries {
            categories: ["recipes", "cà-phê", "q3_2026", "食べ物", "हिन्दी"].map(str::to_owned).into(),
            max: 500,
            half_life: weeks(12),
            on_similar: OnSimilar::Supersede,
            similar_threshold: 1.0,
            unused: Some(weeks(52)),
        };
        assert_eq!(entries, right);
        assert_eq!(search, Search { model: Some("models/potion".into()), min_score: Some(0.25) });
        let settings = Settings::parse("[entries]\nunused = \"off\"\n[search]\nmodel = \"\"\n").unwrap();
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn what_is_refused_is_named() {
        let name = |name: &str, rule: &str| {
            (
                format!("[entries]\ncategories = [\"{name}\"]"),
                format!("`categories` must be a list of names; of \"{name}\": {rule}"),
            )
        };
        let letters = "it must consist of letters, digits, `_` and `-`";
        let pair = |text: &str, problem: &str| (text.to_owned(), problem.to_owned());
        let cases = [
            name("", "it must not be empty"),
            name(&"é".repeat(33), "it must be at most 64 bytes long"),
            name("Recipes", "it must be lower case"),
            name("a/b", letters),
            name(".hidden", letters),
            name("a.b", letters),
            name("two words", letters),
            name("-x", letters),
            name("a\u{3000}b", letters),
            name("cafe\u{301}", "it must be in the Unicode form NFC"),
            name("node_modules", "listings pass over that name"),
            pair(
                "[entries]\ncategories = \"x\"",
                "`categories` must be a list of names, such as [\"recipes\"]",
            ),
            pair("[entries]\ncategories = [1]", "`categories` must be a list of names, each in quotes"),
            pair("[entries]\nmax = 0", "`max` must be a whole number over 0"),
            pair(
                "[entries]\nhalf_life = \"0d\"",
                "`half_life` must be a time over 0, such as \"30d\", \"12w\" or \"36h\"",
            ),
            pair("[entries]\non_similar = \"merge\"", "`on_similar` must be \"report\" or \"supersede\""),
            pair(
                "[entries]\nsimilar_threshold = 0",
                "`similar_threshold` must be a number over 0 and at most 1, such as 0.92",
            ),
            pair(
                "[entries]\nsimilar_threshold = 1.01",
                "`similar_threshold` must be a number over 0 and at most 1, such as 0.92",
            ),
            pair(
                "[entries]\nunused = false",
                "`unused` must be \"off\" or a time over 0, such as \"90d\" or \"52w\"",
            ),
            pair("[entries]\nmaximum = 3", "unknown key `maximum`; the nearest known one is `max`"),
            pair(
                "[search]\nmodel = 1",
                "`model` must be the directory of a model in quotes; \"\" is the built-in one",
            ),
            pair("[search]\nmin_score = nan", "`min_score` must be a number from 0 to 1, such as 0.2"),
            pair("[search]\nmin_score = -0.1", "`min_score` must be a number from 0 to 1, such as 0.2"),
        ];
        for (text, problem) in cases {
            let found = Settings::parse(&text).unwrap_err().to_string();
            assert_eq!(found, format!("memdir.toml: line 2: {problem}"), "{text:?}");
        }
    }
}
