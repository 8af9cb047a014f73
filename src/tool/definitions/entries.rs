//! The schemas of the tools over entries and of the one-file tool, as the articles that they come from word them.
//!
//! The types only describe: what comes in is read field by field, so that each error can name its rule.

#![allow(dead_code, reason = "the types are never made: their schemas are")]

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::Value;

use crate::tool::entries::{MemoryShown, StoredShown};
use crate::tool::owned::Tool;

const STORE: &str = "Store important information in the persistent memory system. Call this when you discover information \
                     useful for future interactions: user preferences, project progress, key decisions, important facts.";
const RETRIEVE: &str = "Retrieve relevant information from persistent memory. Call at the start of complex tasks, or when \
                        you need to recall past context about the user or project.";
const DELETE: &str = "Delete a memory entry that is no longer valid. Use when information has become outdated, \
                      contradicted, or the user requests it be forgotten.";
const ONE_FILE: &str = "Save important information to long-term memory.
Use this when you learn:
- Team coding preferences and standards
- Project-specific conventions
- Individual developer patterns
- Recurring issues to watch for";

#[derive(JsonSchema)]
struct Store {
    #[schemars(
        description = "The information to store. Should be concise yet self-contained — readable without the surrounding conversation."
    )]
    content: String,
    #[schemars(description = "Category for filtering during retrieval")]
    category: String,
    #[schemars(description = "Keyword tags for semantic retrieval")]
    tags: Option<Vec<String>>,
    #[schemars(
        range(min = 1, max = 5),
        description = "Importance score 1-5. Affects retrieval priority and forgetting policy."
    )]
    importance: u8,
    #[schemars(
        extend("format" = "date-time"),
        description = "Optional expiry time (ISO 8601). Omit for permanent storage."
    )]
    expires_at: Option<String>,
    #[schemars(
        description = "Optional name of what this is the current value of, such as editor.theme. Replaces the entry of the same category that has this key."
    )]
    key: Option<String>,
}

#[derive(JsonSchema)]
struct Retrieve {
    #[schemars(description = "Natural language description of what you're looking for")]
    query: String,
    #[schemars(description = "Limit retrieval to these categories. Empty means search all.")]
    categories: Option<Vec<String>>,
    #[serde(default = "ten")]
    #[schemars(description = "Maximum number of results to return")]
    limit: i64,
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 5), description = "Filter out memories below this importance level")]
    min_importance: u8,
    #[schemars(description = "Only memories that have all of these tags")]
    tags: Option<Vec<String>>,
    #[schemars(description = "Only the entries with this key")]
    key: Option<String>,
}

#[derive(JsonSchema)]
struct Delete {
    #[schemars(description = "ID of the memory entry to delete")]
    memory_id: String,
    #[schemars(description = "Reason for deletion (written to audit log)")]
    reason: String,
}

#[derive(JsonSchema)]
struct OneFile {
    #[schemars(
        extend("enum" = ["save", "clear"]),
        description = "save: append to memory. clear: reset memory."
    )]
    action: String,
    #[schemars(description = "The information to save to memory.")]
    content: String,
}

#[derive(JsonSchema)]
struct Retrieved {
    #[schemars(description = "Best first")]
    memories: Vec<MemoryShown<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = "How many more were found that have no room in this answer")]
    more: Option<usize>,
}

#[derive(JsonSchema)]
struct Deleted {
    success: bool,
}

#[derive(JsonSchema)]
struct Filed {
    success: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

fn ten() -> i64 {
    10
}

fn one() -> u8 {
    1
}

/// The three tools: which, what it does, the schema of its input.
pub(super) fn all(categories: &[String]) -> Vec<(Tool, &'static str, Value)> {
    let mut store = schema::<Store>();
    store["properties"]["category"]["enum"] = categories.into();
    vec![
        (Tool::Store, STORE, store),
        (Tool::Retrieve, RETRIEVE, schema::<Retrieve>()),
        (Tool::Delete, DELETE, schema::<Delete>()),
    ]
}

/// The one-file tool: what it does, the schema of its input.
pub(super) fn one_file() -> (&'static str, Value) {
    (ONE_FILE, schema::<OneFile>())
}

/// The schema of what a tool that answers in JSON says where it does not fail.
pub(super) fn output(tool: Tool) -> Value {
    let schema = match tool {
        Tool::Store => of::<StoredShown<'_>>,
        Tool::Retrieve => of::<Retrieved>,
        Tool::Delete => of::<Deleted>,
        Tool::Memory | Tool::OneFile => of::<Filed>,
    };
    schema(SchemaSettings::for_serialize)
}

fn schema<T: JsonSchema>() -> Value {
    of::<T>(SchemaSettings::for_deserialize)
}

/// The schema of a type, as `contract` says whether it is read or written.
fn of<T: JsonSchema>(contract: fn(SchemaSettings) -> SchemaSettings) -> Value {
    let settings = contract(SchemaSettings::draft2020_12()).with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.transforms.push(Box::new(RecursiveTransform(Plain)));
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Takes out what only Rust's types say: names, widths of numbers, that an absent field may be null, too.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("title");
        let is_width =
            |format: &Value| format.as_str().is_some_and(|name| name.contains("int") || name == "double");
        if schema.get("format").is_some_and(is_width) {
            schema.remove("format");
        }
        if let Some(Value::Array(types)) = schema.get("type")
            && let [one, null] = &types[..]
            && null == "null"
        {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Settings;
    use crate::tool::{Definitions, Dialect};

    fn article(text: &str) -> Vec<Value> {
        serde_json::from_str(text).unwrap()
    }

    /// Everything of `theirs` is in `ours`, word for word; `ours` may have more fields of an object.
    fn assert_has(ours: &Value, theirs: &Value, at: &str) {
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) => {
                for (key, value) in theirs {
                    let own = ours.get(key).unwrap_or_else(|| panic!("{at}/{key} is missing"));
                    assert_has(own, value, &format!("{at}/{key}"));
                }
            }
            _ => assert_eq!(ours, theirs, "{at}"),
        }
    }

    #[test]
    fn the_tools_are_those_of_the_article() {
        let theirs = article(include_str!("../../../fixtures/article/tools.json"));
        let ours = Definitions::new(Dialect::Anthropic).to_json();
        let ours = ours.as_array().unwrap();
        assert_eq!(ours.len(), 4, "the memory tool and three more");
        for (ours, theirs) in ours[1..].iter().zip(&theirs) {
            assert_has(ours, theirs, theirs["name"].as_str().unwrap());
        }
        // What is beyond the article, and nothing else.
        let mut more: Vec<Value> = ours[1..].to_vec();
        for (tool, field) in [(0, "key"), (1, "tags"), (1, "key")] {
            let fields = more[tool]["input_schema"]["properties"].as_object_mut().unwrap();
            assert!(fields.shift_remove(field).is_some(), "{field}");
        }
        assert_eq!(more, theirs);
    }

    #[test]
    fn the_one_file_tool_is_that_of_the_article() {
        let mut theirs = article(include_str!("../../../fixtures/article/one_file.json"));
        // There it is indented as the program around it.
        let description = theirs[0]["description"].as_str().unwrap().replace("\n    ", "\n");
        theirs[0]["description"] = description.into();
        assert_eq!(Definitions::new(Dialect::Anthropic).one_file(), json!(theirs));
        assert_eq!(Definitions::new(Dialect::Mcp).one_file()[0]["inputSchema"], theirs[0]["input_schema"]);
    }

    #[test]
    fn the_categories_of_the_settings_can_be_chosen() {
        let settings = Settings::parse("[entries]\ncategories = [\"recipes\", \"decision_log\"]").unwrap();
        let tools = Definitions::new(Dialect::Mcp).for_store(&settings).to_json();
        let category = &tools[1]["inputSchema"]["properties"]["category"];
        assert_eq!(
            category["enum"],
            json!([
                "user_preference",
                "project_context",
                "factual_knowledge",
                "decision_log",
                "relationship",
                "task_progress",
                "recipes"
            ])
        );
    }

    #[test]
    fn nothing_in_a_schema_is_of_rust() {
        let tools = Definitions::new(Dialect::Mcp);
        let text = format!("{}{}", tools.to_json(), tools.one_file());
        for word in ["$schema", "uint", "uint8", "int64", "double", "null", "$defs", "$ref", "oneOf", "anyOf"]
        {
            assert!(!text.contains(&format!("\"{word}\"")), "{word}");
        }
    }
}
