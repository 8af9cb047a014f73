//! From the input of a call to what is asked of `recall`.

use super::fields::{Fields, wrong_text};
use crate::entry;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::recall::{self, Ask, NewEntry};
use crate::store::Settings;

/// Answers that one call can have.
const MOST_ANSWERS: usize = 100;
/// As many tags are asked for at most.
const MOST_TAGS: usize = 32;
/// Characters of a question, and of a reason.
const LONGEST_QUERY: usize = 10_000;
const LONGEST_REASON: usize = 2000;

/// `{content, category, importance, tags?, expires_at?, key?}`.
pub(super) fn store(fields: Fields<'_>) -> Result<NewEntry> {
    let content = fields.text("content")?.to_owned();
    let category = fields.text("category")?.to_owned();
    let importance = fields.importance("importance")?;
    let tags = fields.texts("tags")?;
    let expires_at = fields.optional_text("expires_at")?.map(moment).transpose()?;
    let key = fields.optional_text("key")?.map(str::to_owned);
    Ok(NewEntry { content, category, importance, tags, expires_at, key, ..NewEntry::default() })
}

/// `{query, categories?, limit?, min_importance?, tags?, key?}`.
pub(super) fn retrieve(fields: Fields<'_>, settings: &Settings) -> Result<Ask> {
    let query = within("query", fields.text("query")?, LONGEST_QUERY)?.to_owned();
    let categories = fields.texts("categories")?;
    let known = recall::categories(settings);
    if let Some(unknown) = categories.iter().find(|name| !known.contains(name)) {
        return Err(wrong_text("categories", unknown, format!("must each be one of {}", known.join(", "))));
    }
    let default = Ask::default();
    let limit = fields.count("limit", MOST_ANSWERS)?.unwrap_or(default.limit);
    let min_importance = fields.optional_importance("min_importance")?.unwrap_or(default.min_importance);
    let tags = fields.texts("tags")?;
    if tags.len() > MOST_TAGS {
        let value = format!("{} tags", tags.len());
        return Err(Error::Field { field: "tags", value, rule: format!("must be at most {MOST_TAGS}") });
    }
    let key = fields.optional_text("key")?.map(str::to_owned);
    Ok(Ask { query, categories, limit, min_importance, tags, key, ..default })
}

/// `{memory_id, reason}`.
pub(super) fn delete(fields: Fields<'_>) -> Result<(MemoryId, String)> {
    let id = fields.text("memory_id")?;
    let reason = within("reason", fields.text("reason")?, LONGEST_REASON)?;
    let rule = "must be an id as memory_store and memory_retrieve give it, `mem_` and 26 letters and digits";
    let id = id.trim().parse().map_err(|_| wrong_text("memory_id", id, rule))?;
    if reason.trim().is_empty() {
        return Err(wrong_text("reason", reason, "must say why, and not be empty"));
    }
    Ok((id, reason.trim().to_owned()))
}

fn moment(text: &str) -> Result<chrono::DateTime<chrono::Utc>> {
    let rule = "must be an ISO 8601 time such as 2027-01-31T12:00:00Z, or a date";
    entry::parse_time(text).ok_or_else(|| wrong_text("expires_at", text, rule))
}

fn within<'t>(field: &'static str, text: &'t str, most: usize) -> Result<&'t str> {
    // Bytes are counted first: characters are no more than these.
    if text.len() > most && text.chars().nth(most).is_some() {
        let value = format!("{} characters", text.chars().count());
        return Err(Error::Field { field, value, rule: format!("must be at most {most} characters") });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tool::entries::{Request, prepare};
    use crate::tool::owned::Tool;

    fn refusal(tool: Tool, input: &Value) -> String {
        match prepare(tool, input, &Settings::default()) {
            Err(words) => words,
            Ok(request) => panic!("{input}: {request:?}"),
        }
    }

    fn stored(more: &Value) -> Result<NewEntry, String> {
        let mut input = json!({"content": "Likes tea.", "category": "user_preference", "importance": 3});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        match prepare(Tool::Store, &input, &Settings::default())? {
            Request::Store(new) => Ok(*new),
            other => panic!("{other:?}"),
        }
    }

    fn asked(more: &Value) -> Result<Ask, String> {
        let mut input = json!({"query": "tea"});
        for (key, value) in more.as_object().unwrap() {
            input[key] = value.clone();
        }
        match prepare(Tool::Retrieve, &input, &Settings::default())? {
            Request::Retrieve(ask) => Ok(*ask),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_names_field_value_and_rule() {
        const IMPORTANCE: &str = "importance: must be a whole number from 1 to 5; it is ";
        const EXPIRES: &str =
            "expires_at: must be an ISO 8601 time such as 2027-01-31T12:00:00Z, or a date; it is ";
        for (more, words) in [
            (json!({"content": 7}), "content: must be a string; it is 7".to_owned()),
            (json!({"content": null}), "content: must be a string; it is null".to_owned()),
            (json!({"category": ["a"]}), r#"category: must be a string; it is ["a"]"#.to_owned()),
            (json!({"importance": "3"}), format!(r#"{IMPORTANCE}the string "3""#)),
            (json!({"importance": 0}), format!("{IMPORTANCE}0")),
            (json!({"importance": 6}), format!("{IMPORTANCE}6")),
            (json!({"importance": -1}), format!("{IMPORTANCE}-1")),
            (json!({"importance": 300}), format!("{IMPORTANCE}300")),
            (json!({"importance": 3.5}), format!("{IMPORTANCE}3.5")),
            (json!({"importance": null}), format!("{IMPORTANCE}null")),
            (json!({"importance": true}), format!("{IMPORTANCE}true")),
            (json!({"tags": "a, b"}), r#"tags: must be a list of strings; it is "a, b""#.to_owned()),
            (json!({"tags": ["a", 1]}), r#"tags: must be a list of strings; it is ["a",1]"#.to_owned()),
            (json!({"tags": {"a": 1}}), r#"tags: must be a list of strings; it is {"a":1}"#.to_owned()),
            (json!({"expires_at": "tomorrow"}), format!(r#"{EXPIRES}"tomorrow""#)),
            (json!({"expires_at": ""}), format!(r#"{EXPIRES}"""#)),
            (json!({"expires_at": "2027-02-30"}), format!(r#"{EXPIRES}"2027-02-30""#)),
            (json!({"expires_at": 1}), "expires_at: must be a string; it is 1".to_owned()),
            (json!({"key": []}), "key: must be a string; it is []".to_owned()),
        ] {
            assert_eq!(stored(&more).unwrap_err(), words, "{more}");
        }
        for (more, words) in [
            (json!({"query": null}), "query: must be a string; it is null"),
            (
                json!({"categories": "decision_log"}),
                "categories: must be a list of strings; it is \"decision_log\"",
            ),
            (
                json!({"categories": ["decision_log", "decisions"]}),
                "categories: must each be one of user_preference, project_context, factual_knowledge, decision_log, \
                 relationship, task_progress; it is \"decisions\"",
            ),
            (json!({"limit": 0}), "limit: must be a whole number from 1 to 100; it is 0"),
            (json!({"limit": -5}), "limit: must be a whole number from 1 to 100; it is -5"),
            (json!({"limit": "5"}), "limit: must be a whole number from 1 to 100; it is the string \"5\""),
            (json!({"limit": 1.5}), "limit: must be a whole number from 1 to 100; it is 1.5"),
            (json!({"min_importance": 9}), "min_importance: must be a whole number from 1 to 5; it is 9"),
            (json!({"tags": [[]]}), "tags: must be a list of strings; it is [[]]"),
        ] {
            assert_eq!(asked(&more).unwrap_err(), words, "{more}");
        }
        for (tool, input, words) in [
            (Tool::Store, json!([]), "the input of memory_store must be a JSON object"),
            (Tool::Delete, json!("x"), "the input of memory_delete must be a JSON object"),
            (Tool::Store, json!({}), "content: must be a string; it is missing"),
            (Tool::Store, json!({"content": "x"}), "category: must be a string; it is missing"),
            (
                Tool::Store,
                json!({"content": "x", "category": "y"}),
                "importance: must be a whole number from 1 to 5; it is missing",
            ),
            (Tool::Retrieve, json!({"limit": 3}), "query: must be a string; it is missing"),
            (Tool::Delete, json!({"reason": "x"}), "memory_id: must be a string; it is missing"),
            (
                Tool::Delete,
                json!({"memory_id": "note-7", "reason": "x"}),
                "memory_id: must be an id as memory_store and memory_retrieve give it, `mem_` and 26 letters and digits; \
                 it is \"note-7\"",
            ),
            (
                Tool::Delete,
                json!({"memory_id": "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": " "}),
                "reason: must say why, and not be empty; it is \" \"",
            ),
        ] {
            assert_eq!(refusal(tool, &input), words);
        }
    }

    #[test]
    fn an_error_echoes_little() {
        let megabytes = "é".repeat(5 << 20);
        let many: Vec<String> = (0..10_000).map(|number| format!("tag {number}")).collect();
        let mut mixed = json!(many);
        mixed[0] = 1.into();
        for words in [
            stored(&json!({"importance": megabytes})).unwrap_err(),
            stored(&json!({"expires_at": megabytes})).unwrap_err(),
            stored(&json!({"tags": megabytes})).unwrap_err(),
            stored(&json!({"tags": mixed})).unwrap_err(),
            asked(&json!({"query": megabytes})).unwrap_err(),
            asked(&json!({"tags": many})).unwrap_err(),
            asked(&json!({"categories": [megabytes]})).unwrap_err(),
            refusal(Tool::Delete, &json!({"memory_id": megabytes, "reason": "x"})),
            refusal(
                Tool::Delete,
                &json!({"memory_id": "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": megabytes}),
            ),
        ] {
            assert!(words.chars().count() < 320, "{words}");
            assert!(words.matches('é').count() <= 100, "{words}");
        }
    }

    #[test]
    fn numbers_that_are_whole_are_taken_and_null_is_absent() {
        let entry =
            stored(&json!({"importance": 3.0, "tags": null, "expires_at": null, "key": null, "note": 1}));
        let entry = entry.unwrap();
        assert_eq!((entry.importance, entry.tags, entry.expires_at, entry.key), (3, vec![], None, None));
        assert!(!entry.pinned && entry.supersedes.is_empty());
        let default = Ask { query: "tea".to_owned(), ..Ask::default() };
        let nulls =
            json!({"categories": null, "limit": null, "min_importance": null, "tags": null, "key": null});
        assert_eq!(asked(&nulls).unwrap(), default);
        assert_eq!(asked(&json!({"categories": []})).unwrap(), default);
        for (limit, taken) in [
            (json!(1), 1),
            (json!(5.0), 5),
            (json!(100), 100),
            (json!(101), 100),
            (json!(1e300), 100),
            (json!(u64::MAX), 100),
        ] {
            assert_eq!(asked(&json!({"limit": limit})).unwrap().limit, taken, "{limit}");
        }
        let ask = asked(
            &json!({"query": "", "categories": ["relationship"], "min_importance": 4.0, "tags": ["a"], "key": "k"}),
        );
        let ask = ask.unwrap();
        assert_eq!((ask.query.as_str(), ask.min_importance, ask.key.as_deref()), ("", 4, Some("k")));
        assert_eq!((ask.categories, ask.tags), (vec!["relationship".to_owned()], vec!["a".to_owned()]));
    }

    #[test]
    fn a_time_may_be_written_in_many_ways() {
        for (text, time) in [
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T12:00:00", "2027-01-31T12:00:00Z"),
            ("2027-01-31 12:00", "2027-01-31T12:00:00Z"),
            ("2027-01-31T12:00:00+02:00", "2027-01-31T10:00:00Z"),
            ("2027-01-31T12:00:00.250Z", "2027-01-31T12:00:00.250Z"),
            ("2027-01-31t12:00:00z", "2027-01-31T12:00:00Z"),
        ] {
            let entry = stored(&json!({"expires_at": text})).unwrap();
            assert_eq!(entry.expires_at, Some(time.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_fields_of_the_schemas_are_those_that_are_read() {
        let tools = crate::tool::definitions(crate::tool::Dialect::Anthropic);
        for (tool, definition) in [(Tool::Store, 1), (Tool::Retrieve, 2), (Tool::Delete, 3)] {
            let schema = &tools[definition]["input_schema"];
            assert_eq!(tools[definition]["name"], tool.name());
            let good = json!({
                "content": "x", "category": "decision_log", "importance": 1, "query": "x",
                "memory_id": "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": "x",
            });
            assert!(prepare(tool, &good, &Settings::default()).is_ok());
            for name in schema["properties"].as_object().unwrap().keys() {
                let mut input = good.clone();
                input[name] = json!({"wrong": true});
                assert!(refusal(tool, &input).starts_with(&format!("{name}: must be ")), "{name}");
                let mut input = good.clone();
                input.as_object_mut().unwrap().shift_remove(name);
                let is_required = schema["required"].as_array().unwrap().contains(&json!(name));
                assert_eq!(prepare(tool, &input, &Settings::default()).is_err(), is_required, "{name}");
            }
        }
    }
}
