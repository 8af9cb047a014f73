//! The shapes of the answers.

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::guard;
use crate::recall::{Memory, Retrieved, Similar, Stored, Terms};
use crate::store::Warned;
use crate::text;

/// Characters that one answer of `memory_retrieve` has at most.
const MOST_CHARS: usize = 16_000;
/// Room for what stands around the memories: `{"memories":[],"more":100}`.
const FRAME_CHARS: usize = 45;

/// The answer of `memory_delete`.
pub(super) const DELETED: &str = r#"{"success":true}"#;

/// What a call of `memory_store` is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "")]
pub(crate) struct StoredShown<'a> {
    success: bool,
    #[schemars(description = "The id of the entry, for memory_delete")]
    memory_id: String,
    #[schemars(description = "The file of the entry")]
    path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(description = "The ids of the entries that this one replaces")]
    superseded: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = "The id of the entry that said the same, and was brought up to date instead")]
    duplicate_of: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(description = "Entries that are alike and stay as they are")]
    similar: Vec<SimilarShown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SimilarShown<'a> {
    id: String,
    content: std::borrow::Cow<'a, str>,
    score: f64,
    #[schemars(description = "In what the two differ")]
    differs: &'a [&'static str],
}

/// A memory as `memory_retrieve` shows it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(description = "")]
pub(crate) struct MemoryShown<'a> {
    id: String,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    importance: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = "From 0 to 1: how well it answers")]
    score: Option<f64>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    path: String,
    #[schemars(description = "The first and the last line of it in the file")]
    lines: [usize; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    terms: Option<TermsShown>,
}

/// How a score came about.
#[derive(Debug, Clone, Copy, Serialize)]
struct TermsShown {
    lexical: f64,
    semantic: f64,
    relevance: f64,
    neighbours: f64,
    importance: f64,
}

impl<'a> StoredShown<'a> {
    pub(crate) fn new(stored: &'a Stored) -> Self {
        Self {
            success: true,
            memory_id: stored.memory_id.to_string(),
            path: stored.path.to_string(),
            superseded: stored.superseded.iter().map(ToString::to_string).collect(),
            duplicate_of: stored.duplicate_of.map(|id| id.to_string()),
            similar: stored.similar.iter().map(SimilarShown::new).collect(),
            warning: warning(&stored.warned),
        }
    }
}

impl<'a> SimilarShown<'a> {
    fn new(similar: &'a Similar) -> Self {
        Self {
            id: similar.id.to_string(),
            content: text::quote(&similar.content),
            score: decimals(similar.score),
            differs: &similar.differs,
        }
    }
}

impl<'a> MemoryShown<'a> {
    pub(crate) fn new(memory: &'a Memory) -> Self {
        Self {
            id: memory.id.to_string(),
            content: &memory.content,
            category: memory.category.as_deref(),
            tags: &memory.tags,
            importance: memory.importance,
            score: Some(decimals(memory.score)),
            created_at: seconds(&memory.created_at),
            expires_at: memory.expires_at.as_ref().map(seconds),
            path: memory.path.to_string(),
            lines: [memory.lines.0, memory.lines.1],
            terms: None,
        }
    }

    /// The same without a score, for a list that nothing was asked of.
    #[cfg(feature = "cli")]
    pub(crate) fn unranked(memory: &'a Memory) -> Self {
        Self { score: None, ..Self::new(memory) }
    }

    /// The same with how the score came about.
    #[cfg(feature = "cli")]
    pub(crate) fn explained(memory: &'a Memory) -> Self {
        let Terms { lexical, semantic, relevance, neighbours, importance } = memory.terms;
        let [lexical, semantic, relevance, neighbours, importance] =
            [lexical, semantic, relevance, neighbours, importance].map(decimals);
        let terms = TermsShown { lexical, semantic, relevance, neighbours, importance };
        Self { terms: Some(terms), ..Self::new(memory) }
    }
}

/// The answer of `memory_retrieve`: as many of the best as fit. One that does not fit alone is cut.
pub(super) fn retrieved(found: &Retrieved) -> String {
    let memories = &found.memories;
    let room = MOST_CHARS - FRAME_CHARS;
    let (mut parts, mut used): (Vec<String>, usize) = (Vec::new(), 0);
    for memory in memories {
        let shown = MemoryShown::new(memory);
        let mut part = text(&shown);
        let mut size = part.chars().count();
        if parts.is_empty() && size > room {
            part = cut(&shown, room);
            size = part.chars().count();
        }
        if used + size > room {
            break;
        }
        used += size + 1; // and a comma
        parts.push(part);
    }
    let more = memories.len() - parts.len();
    let more = if more > 0 { format!(r#","more":{more}"#) } else { String::new() };
    format!(r#"{{"memories":[{}]{more}}}"#, parts.join(","))
}

/// A memory whose content is cut off so that all of it has at most so many characters.
fn cut(shown: &MemoryShown<'_>, room: usize) -> String {
    let whole = shown.content;
    let with = |end: usize| {
        let content = format!("{}…", &whole[..end]);
        text(&MemoryShown { content: &content, ..shown.clone() })
    };
    // The end of the first so many characters, of which there can be no more than there is room for.
    let ends: Vec<usize> = whole.char_indices().map(|(at, _)| at).take(room).collect();
    let fits = |&end: &usize| with(end).chars().count() <= room;
    with(ends[..ends.partition_point(fits)].last().copied().unwrap_or(0))
}

fn warning(warned: &[Warned]) -> Option<String> {
    let lines = guard::words(warned.iter().map(|warned| &warned.warning));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(super) fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("text, finite numbers and lists of them can be written as JSON")
}

/// Three decimals, and no `-0.0`; what is no number counts as 0.
fn decimals(score: f32) -> f64 {
    let score = f64::from(score);
    if score.is_finite() { (score * 1000.0).round() / 1000.0 + 0.0 } else { 0.0 }
}

fn seconds(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::path::MemoryPath;

    const ID: &str = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn memory(content: &str) -> Memory {
        Memory {
            id: ID.parse().unwrap(),
            content: content.to_owned(),
            category: None,
            tags: Vec::new(),
            importance: None,
            score: 0.8,
            created_at: "2026-11-30T09:12:44.987Z".parse().unwrap(),
            updated_at: "2026-11-30T09:12:44.987Z".parse().unwrap(),
            expires_at: None,
            key: None,
            pinned: false,
            path: MemoryPath::parse("/memories/notes.md").unwrap(),
            lines: (3, 4),
            terms: Terms::default(),
        }
    }

    fn whole(memories: Vec<Memory>) -> Retrieved {
        Retrieved { memories }
    }

    #[test]
    fn a_memory_has_its_fields_in_order_and_no_nulls() {
        let plain = memory("a \"b\"\nc");
        let entry = Memory {
            category: Some("decision_log".to_owned()),
            tags: vec!["x".to_owned()],
            importance: Some(4),
            score: 0.123_456,
            expires_at: Some("2027-01-01T00:00:00Z".parse().unwrap()),
            key: Some("k".to_owned()),
            pinned: true,
            ..plain.clone()
        };
        assert_eq!(
            retrieved(&whole(vec![plain, entry])),
            concat!(
                r#"{"memories":[{"id":"mem_01ARZ3NDEKTSV4RRFFQ69G5FAV","content":"a \"b\"\nc","score":0.8,"#,
                r#""created_at":"2026-11-30T09:12:44Z","path":"/memories/notes.md","lines":[3,4]},"#,
                r#"{"id":"mem_01ARZ3NDEKTSV4RRFFQ69G5FAV","content":"a \"b\"\nc","category":"decision_log","#,
                r#""tags":["x"],"importance":4,"score":0.123,"created_at":"2026-11-30T09:12:44Z","#,
                r#""expires_at":"2027-01-01T00:00:00Z","path":"/memories/notes.md","lines":[3,4]}]}"#
            )
        );
        assert_eq!(retrieved(&whole(Vec::new())), r#"{"memories":[]}"#);
    }

    #[test]
    fn a_score_has_three_decimals() {
        for (score, shown) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.8, "0.8"),
            (0.1234, "0.123"),
            (0.9996, "1.0"),
            (-0.0001, "0.0"),
            (f32::NAN, "0.0"),
        ] {
            assert_eq!(decimals(score).to_string().trim_end_matches(".0"), shown.trim_end_matches(".0"));
            assert_eq!(serde_json::to_string(&decimals(score)).unwrap(), shown);
        }
    }

    #[test]
    fn an_answer_stays_within_its_limit() {
        let kinds = ["plain ", "\n\"\\", "\u{1}", "trà đá ", "😀"];
        for (kind, size) in
            kinds.iter().flat_map(|kind| [1, 700, 1200, 5000, 200_000].map(|size| (kind, size)))
        {
            for count in [1, 3, 40] {
                let memories = vec![memory(&kind.repeat(size / kind.chars().count() + 1)); count];
                let text = retrieved(&whole(memories.clone()));
                assert!(text.chars().count() <= MOST_CHARS, "{kind:?} {size} {count}");
                let answer: Value = serde_json::from_str(&text).unwrap();
                let shown = answer["memories"].as_array().unwrap();
                let more = usize::try_from(answer["more"].as_u64().unwrap_or(0)).unwrap();
                assert_eq!(shown.len() + more, count);
                assert!(!shown.is_empty());
                let content = shown[0]["content"].as_str().unwrap();
                assert!(content == memories[0].content || content.ends_with('…'));
                if content.ends_with('…') {
                    // Nothing more would have fitted.
                    assert!(text.chars().count() > MOST_CHARS - FRAME_CHARS - 8, "{kind:?} {size} {count}");
                }
            }
        }
    }

    /// Each field of an answer is in the schema that hosts are given, and what that calls required is there.
    fn assert_fits(answer: &Value, schema: &Value, at: &str) {
        match answer {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let schema = &schema["properties"][key];
                    assert!(schema.is_object(), "{at}/{key}");
                    assert_fits(value, schema, &format!("{at}/{key}"));
                }
                for key in schema["required"].as_array().unwrap() {
                    assert!(fields.contains_key(key.as_str().unwrap()), "{at} {key}");
                }
            }
            Value::Array(values) => values.iter().for_each(|value| assert_fits(value, &schema["items"], at)),
            _ => {}
        }
        let kind = match answer {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Null => "null",
        };
        assert_eq!(schema["type"], kind, "{at}");
    }

    #[test]
    fn an_answer_has_the_schema_that_hosts_are_told() {
        let tools = crate::tool::definitions(crate::tool::Dialect::Mcp);
        let fits = |tool: usize, answer: &str| {
            let answer = serde_json::from_str(answer).unwrap();
            assert_fits(&answer, &tools[tool]["outputSchema"], tools[tool]["name"].as_str().unwrap());
        };
        let path = MemoryPath::parse("/memories/decision_log/a.md").unwrap();
        let id = ID.parse().unwrap();
        let (superseded, duplicate_of, warned) = (vec![id], Some(id), Vec::new());
        let similar = vec![Similar { id, content: "x".to_owned(), score: 0.5, differs: vec!["number"] }];
        let stored = Stored { memory_id: id, path, superseded, duplicate_of, similar, warned };
        fits(1, &text(&StoredShown { warning: Some("x".to_owned()), ..StoredShown::new(&stored) }));
        let entry = Memory {
            category: Some("decision_log".to_owned()),
            tags: vec!["x".to_owned()],
            importance: Some(4),
            expires_at: Some("2027-01-01T00:00:00Z".parse().unwrap()),
            ..memory(&"x".repeat(10_000))
        };
        fits(2, &retrieved(&whole(vec![entry.clone(), entry])));
        fits(2, &retrieved(&whole(vec![memory("x")])));
        fits(2, &retrieved(&Retrieved::default()));
        fits(3, DELETED);
    }

    #[test]
    fn what_was_stored_is_told_with_what_there_is_to_tell() {
        let path = MemoryPath::parse("/memories/decision_log/a.md").unwrap();
        let (id, other): (crate::id::MemoryId, crate::id::MemoryId) =
            (ID.parse().unwrap(), "mem_01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap());
        let mut stored = Stored {
            memory_id: id,
            path,
            superseded: Vec::new(),
            duplicate_of: None,
            similar: Vec::new(),
            warned: Vec::new(),
        };
        assert_eq!(
            text(&StoredShown::new(&stored)),
            format!(r#"{{"success":true,"memory_id":"{ID}","path":"/memories/decision_log/a.md"}}"#)
        );
        stored.superseded.push(other);
        stored.duplicate_of = Some(id);
        let content = "y".repeat(300);
        stored.similar.push(Similar { id: other, content, score: 0.912_34, differs: vec!["number", "name"] });
        let told: Value = serde_json::from_str(&text(&StoredShown::new(&stored))).unwrap();
        assert_eq!(
            told,
            json!({
                "success": true,
                "memory_id": ID,
                "path": "/memories/decision_log/a.md",
                "superseded": [other.to_string()],
                "duplicate_of": ID,
                "similar": [{
                    "id": other.to_string(),
                    "content": format!("{}…", "y".repeat(200)),
                    "score": 0.912,
                    "differs": ["number", "name"],
                }],
            })
        );
    }
}
