//! What a model takes of a request, and the list of models.
//!
//! A name that is not in the table is a model that takes everything: people point a stand-in at agents with any model.

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Settings;
use super::fault::Fault;
use crate::context::{ApiError, Profile, best_row, own_name};

/// What a model takes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    prefix: Box<str>,
    /// The full name; `None`: another row has it.
    id: Option<Box<str>>,
    name: Box<str>,
    line: Box<str>,
    lifecycle: Box<str>,
    released: Option<Box<str>>,
    retires: Option<Box<str>>,
    /// The most tokens that an answer may have.
    pub(super) max_tokens: Option<u64>,
    /// Types of `thinking`.
    pub(super) thinking: Vec<Box<str>>,
    /// Whether it thinks when it is not told to.
    pub(super) thinks: bool,
    /// Whether not thinking excludes the efforts above `high`.
    #[serde(default)]
    pub(super) disabled_up_to_high: bool,
    pub(super) efforts: Vec<Box<str>>,
    pub(super) sampling: Sampling,
    pub(super) forced: Forced,
    /// A beta with which an answer may be longer.
    pub(super) longer_with: Option<Box<str>>,
}

/// Which of `temperature`, `top_p` and `top_k` it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sampling {
    Free,
    /// `temperature` or `top_p`.
    One,
    /// What is the default.
    None,
}

/// Whether it can be made to use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Forced {
    Free,
    UnlessThinking,
    Never,
}

#[derive(Deserialize)]
struct Table {
    models: Vec<Model>,
}

fn table() -> &'static [Model] {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE
        .get_or_init(|| serde_json::from_str(include_str!("models.json")).expect("a test reads the table"));
    &table.models
}

impl Model {
    /// The model of a name, wherever a provider puts that name; `None`: it is not known.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        best_row(table(), name, |row| &row.prefix)
    }

    /// As the API tells of it.
    fn json(&self, settings: &Settings) -> Value {
        let id = self.id();
        let day = |day: &Option<Box<str>>| day.as_ref().map(|day| format!("{day}T00:00:00Z"));
        json!({
            "type": "model",
            "id": id,
            "display_name": self.name,
            "created_at": day(&self.released).unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned()),
            "line": self.line,
            "lifecycle": self.lifecycle,
            "deprecated_at": null,
            "retires_at": day(&self.retires),
            "max_input_tokens": settings.window.unwrap_or_else(|| Profile::of(id).window),
            "max_tokens": self.max_tokens,
            "capabilities": null,
        })
    }

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.prefix)
    }
}

/// Whether a model of that name is known.
#[cfg(all(feature = "cli", feature = "http"))]
pub(crate) fn is_known(name: &str) -> bool {
    Model::of(name).is_some()
}

/// What a table says of a model: the longest prefix of its name counts, wherever a provider puts that name.
pub(super) fn of_model<T: Copy>(model: &str, rows: &[(&str, T)]) -> Option<T> {
    let name = own_name(model);
    let rows = rows.iter().filter(|(prefix, _)| name.starts_with(prefix));
    rows.max_by_key(|(prefix, _)| prefix.len()).map(|(_, value)| *value)
}

/// `GET /v1/models/{id}`: what is known of a model, by its full name or a shorter one.
pub(super) fn one(name: &str, settings: &Settings) -> Result<Value, ApiError> {
    let found = table().iter().find(|model| *model.prefix == *name || model.id.as_deref() == Some(name));
    found.map(|model| model.json(settings)).ok_or_else(|| Fault::NoModel.error(&[("value", name)]))
}

/// `GET /v1/models`: a page of the list; `query` is what follows the `?`.
pub(super) fn list(query: &str, settings: &Settings) -> Result<Value, ApiError> {
    let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
    let of = |name: &str| pairs().find(|(known, _)| *known == name).map(|(_, value)| value);
    let limit = match of("limit").map(str::parse::<usize>) {
        None => 20,
        Some(Ok(0)) => return Err(Fault::TooLittle.error(&[("path", "limit"), ("value", "1")])),
        Some(Ok(limit)) if limit > 1_000 => {
            return Err(Fault::TooMuch.error(&[("path", "limit"), ("value", "1000")]));
        }
        Some(Ok(limit)) => limit,
        Some(Err(_)) => return Err(Fault::NoInteger.at("limit")),
    };
    let wanted: Vec<&str> =
        pairs().filter(|(name, _)| name.starts_with("lifecycle")).map(|(_, value)| value).collect();
    let is_wanted = |model: &&Model| match wanted.as_slice() {
        [] => *model.lifecycle != *"retired",
        wanted => wanted.contains(&&*model.lifecycle),
    };
    let listed: Vec<&Model> = table().iter().filter(|model| model.id.is_some()).filter(is_wanted).collect();
    let place = |name: &str| -> Result<Option<usize>, ApiError> {
        let Some(id) = of(name) else { return Ok(None) };
        let found = listed.iter().position(|model| model.id() == id);
        found.map(Some).ok_or_else(|| Fault::UnknownCursor.at(name))
    };
    let (page, has_more) = match (place("after_id")?, place("before_id")?) {
        (after, None) => {
            let rest = &listed[after.map_or(0, |after| after + 1)..];
            (&rest[..limit.min(rest.len())], rest.len() > limit)
        }
        (_, Some(before)) => (&listed[before.saturating_sub(limit)..before], before > limit),
    };
    Ok(json!({
        "data": page.iter().map(|model| model.json(settings)).collect::<Vec<_>>(),
        "has_more": has_more,
        "first_id": page.first().map(|model| model.id()),
        "last_id": page.last().map(|model| model.id()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_name_the_same_models() {
        let ours: Vec<&str> = table().iter().map(|model| &*model.prefix).collect();
        let theirs: Value = serde_json::from_str(include_str!("../context/models.json")).unwrap();
        for row in theirs["models"].as_array().unwrap() {
            assert!(ours.contains(&row["prefix"].as_str().unwrap()), "{row}");
        }
    }

    #[test]
    fn every_name_in_the_table_is_its_own_model() {
        for model in table() {
            for name in [&*model.prefix, model.id()] {
                assert_eq!(Model::of(name).map(|found| &found.prefix), Some(&model.prefix), "{name}");
            }
        }
        assert!(Model::of("gemma4:12b").is_none() && Model::of("claude-opus-6").is_none());
    }

    #[test]
    fn a_list_is_read_page_by_page() {
        let settings = Settings::default();
        let whole = list("limit=1000", &settings).unwrap();
        let ids = |page: &Value| -> Vec<String> {
            let ids = page["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap());
            ids.map(str::to_owned).collect()
        };
        let all = ids(&whole);
        assert_eq!((&whole["has_more"], &whole["last_id"]), (&json!(false), &json!(all.last())));
        let mut read = Vec::new();
        let mut page = list("limit=7", &settings).unwrap();
        read.extend(ids(&page));
        while page["has_more"] == true {
            page =
                list(&format!("limit=7&after_id={}", page["last_id"].as_str().unwrap()), &settings).unwrap();
            read.extend(ids(&page));
        }
        assert_eq!(read, all);
        let before = list(&format!("limit=2&before_id={}", all[3]), &settings).unwrap();
        assert_eq!((ids(&before), &before["has_more"]), (all[1..3].to_vec(), &json!(true)));
        assert!(list("lifecycle=retired", &settings).unwrap()["data"][0]["id"] == "claude-opus-4-1-20250805");
        for (query, told) in [
            ("limit=0", "limit: Input should be greater than or equal to 1"),
            ("limit=1001", "limit: Input should be less than or equal to 1000"),
            ("limit=x", "limit: Input should be a valid integer"),
            ("after_id=x", "after_id: Object not found"),
        ] {
            assert_eq!(list(query, &settings).unwrap_err().message, told);
        }
    }
}
