//! What the fields of a new entry may be: each rule with its words.

use chrono::{DateTime, SecondsFormat, Utc};

use super::NewEntry;
use unicode_normalization::UnicodeNormalization as _;

use crate::entry::folded;
use crate::error::{Error, Result};
use crate::guard::{Action, Guard};
use crate::recall::record::{MOST_TAGS, is_category};
use crate::store::Settings;

/// The most characters of a tag, and of a key.
const LONGEST_TAG: usize = 64;
const LONGEST_KEY: usize = 128;
/// As many characters of a wrong value are quoted.
const QUOTED: usize = 100;

/// The entry, with tags and key trimmed, if every field keeps its rule.
pub(super) fn checked(new: NewEntry, settings: &Settings, now: DateTime<Utc>) -> Result<NewEntry> {
    if new.content.trim().is_empty() {
        return Err(wrong("content", &new.content, "must not be empty"));
    }
    let limit = settings.file_limit;
    if new.content.len() as u64 > limit {
        let rule = format!("must be at most {limit} bytes; store it in parts, or only what matters");
        return Err(Error::Field { field: "content", value: format!("{} bytes", new.content.len()), rule });
    }
    if !is_category(&new.category, &settings.entries.categories) {
        let known = super::categories(settings).join(", ");
        return Err(wrong("category", &new.category, &format!("must be one of {known}")));
    }
    if !(1..=5).contains(&new.importance) {
        return Err(wrong("importance", &new.importance.to_string(), "must be a whole number from 1 to 5"));
    }
    if let Some(end) = new.expires_at.filter(|end| *end <= now) {
        let end = end.to_rfc3339_opts(SecondsFormat::Secs, true);
        return Err(wrong("expires_at", &end, "must be in the future"));
    }
    let tags = tags(&new.tags)?;
    let key = new.key.as_deref().map(key).transpose()?;
    let guard = &settings.guard;
    refuse_secrets("tags", &format!("tags: [{}]", tags.join(", ")), guard)?;
    tags.iter().try_for_each(|tag| refuse_secrets("tags", tag, guard))?;
    if let Some(key) = &key {
        refuse_secrets("key", &format!("key: {key}"), guard)?;
        refuse_secrets("key", key, guard)?;
    }
    Ok(NewEntry { tags, key, ..new })
}

fn tags(given: &[String]) -> Result<Vec<String>> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let trimmed = tag.trim();
        if trimmed.is_empty() {
            return Err(wrong("tags", tag, "must not be empty"));
        }
        if crate::path::has_invisible(trimmed) {
            return Err(wrong("tags", tag, "must each be one line without control or invisible characters"));
        }
        if trimmed.chars().count() > LONGEST_TAG {
            return Err(wrong("tags", tag, &format!("must each be at most {LONGEST_TAG} characters")));
        }
        add_tag(&mut tags, trimmed);
        if tags.len() > MOST_TAGS {
            let value = format!("{} tags", given.len());
            return Err(Error::Field { field: "tags", value, rule: format!("must be at most {MOST_TAGS}") });
        }
    }
    Ok(tags)
}

/// Adds a tag that is not among them, however it is written.
pub(super) fn add_tag(tags: &mut Vec<String>, tag: &str) {
    if !tags.iter().any(|known| folded(known) == folded(tag)) {
        tags.push(tag.to_owned());
    }
}

fn key(given: &str) -> Result<String> {
    let key = given.trim();
    if key.is_empty() {
        return Err(wrong("key", given, "must not be empty"));
    }
    if crate::path::has_invisible(key) {
        return Err(wrong("key", given, "must be one line without control or invisible characters"));
    }
    if key.chars().count() > LONGEST_KEY {
        return Err(wrong("key", given, &format!("must be at most {LONGEST_KEY} characters")));
    }
    Ok(key.nfc().collect())
}

/// Refuses a value, or the line that it makes, of which the gate would leave something out: what stands for a secret there
/// need not be YAML any more, and would be the key of every other such entry. And one that the gate would refuse, but for
/// YAML's escapes.
fn refuse_secrets(field: &'static str, text: &str, guard: &Guard) -> Result<()> {
    let is_escaped = text.contains(['"', '\'', '\\']);
    let is_kept_out = |action| action == Action::Redact || action == Action::Block && is_escaped;
    match guard.scan(text.as_bytes()).into_iter().find(|found| is_kept_out(found.action)) {
        Some(found) => {
            let rule = format!("must hold no secret, and what it holds looks like {}", found.rule);
            Err(Error::Field { field, value: "not repeated here".to_owned(), rule })
        }
        None => Ok(()),
    }
}

fn wrong(field: &'static str, value: &str, rule: &str) -> Error {
    let mut quoted: String = value.chars().take(QUOTED).collect();
    if value.chars().nth(QUOTED).is_some() {
        quoted.push('…');
    }
    Error::Field { field, value: format!("{quoted:?}"), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> NewEntry {
        NewEntry {
            content: "The user likes tea.".to_owned(),
            category: "user_preference".to_owned(),
            importance: 3,
            ..NewEntry::default()
        }
    }

    fn refusal(new: NewEntry) -> String {
        checked(new, &Settings::default(), DateTime::UNIX_EPOCH).unwrap_err().to_string()
    }

    #[test]
    fn every_rule_names_field_value_and_rule() {
        let cases = [
            (NewEntry { content: " \n".to_owned(), ..entry() }, r#"content: must not be empty; it is " \n""#),
            (
                NewEntry { category: "prefs".to_owned(), ..entry() },
                "category: must be one of user_preference, project_context, factual_knowledge, decision_log, \
                 relationship, task_progress; it is \"prefs\"",
            ),
            (
                NewEntry { importance: 6, ..entry() },
                r#"importance: must be a whole number from 1 to 5; it is "6""#,
            ),
            (
                NewEntry { expires_at: Some(DateTime::UNIX_EPOCH), ..entry() },
                r#"expires_at: must be in the future; it is "1970-01-01T00:00:00Z""#,
            ),
            (NewEntry { tags: vec![" ".to_owned()], ..entry() }, r#"tags: must not be empty; it is " ""#),
            (
                NewEntry { tags: (0..33).map(|n| n.to_string()).collect(), ..entry() },
                "tags: must be at most 32; it is 33 tags",
            ),
            (NewEntry { key: Some(String::new()), ..entry() }, r#"key: must not be empty; it is """#),
        ];
        for (new, words) in cases {
            assert_eq!(refusal(new), words);
        }
        let long = refusal(NewEntry { tags: vec!["x".repeat(10_000)], ..entry() });
        assert!(
            long.starts_with("tags: must each be at most 64 characters; it is \"xxx") && long.len() < 200
        );
        assert!(
            refusal(NewEntry { content: "x".repeat(2 << 20), ..entry() }).ends_with("it is 2097152 bytes")
        );
    }

    #[test]
    fn what_would_be_left_out_of_front_matter_is_refused() {
        let value = "Kq7Xz2Lm9Pw4Rt6Yv8Bn1Cd3";
        let tagged = NewEntry { tags: vec![format!("password:{value}"), "net".to_owned()], ..entry() };
        // What it looks like by the name of the field.
        let named = NewEntry { key: Some(value.to_owned()), ..entry() };
        let redacting = Settings::parse("[guard]\nmode = \"redact\"\n").unwrap();
        for (new, words) in [
            (
                tagged.clone(),
                "tags: must hold no secret, and what it holds looks like password; it is not repeated here",
            ),
            (
                named,
                "key: must hold no secret, and what it holds looks like generic-api-key; it is not repeated here",
            ),
        ] {
            assert_eq!(checked(new, &redacting, DateTime::UNIX_EPOCH).unwrap_err().to_string(), words);
        }
        assert!(checked(tagged, &Settings::default(), DateTime::UNIX_EPOCH).is_ok());
    }

    #[test]
    fn tags_are_trimmed_and_told_once() {
        let tags = ["a", " A ", "b"].map(str::to_owned).to_vec();
        let new = checked(NewEntry { tags, ..entry() }, &Settings::default(), DateTime::UNIX_EPOCH).unwrap();
        assert_eq!(new.tags, ["a", "b"]);
    }
}
