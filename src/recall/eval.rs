//! How well retrieval answers questions whose answers are known.
//!
//! Measures, for a question with relevant documents R and the documents found D, best first, each once:
//! recall@k = |R ∩ D₁…ₖ| / |R|; reciprocal rank = 1 / the place of the first relevant one; nDCG@10 with gain 1 for each
//! relevant document and discount 1 / log₂(place + 1) (Järvelin and Kekäläinen, 2002). Each is a mean over the questions that
//! have an answer; of those that have none it is told how many got none.

use std::collections::HashMap;
use std::time::Instant;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::record::PLAIN_IMPORTANCE;
use super::{Ask, Error, MemoryPath, NewEntry, Recall, Result, keep};
use crate::store::{Edit, Store};

/// A line of a set: a document, or a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Line {
    /// A memory.
    Document(Document),
    /// What is asked.
    Question(Question),
}

/// A memory of a set: with a category an entry, with a path a plain file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Document {
    /// Its name in the set.
    pub doc: String,
    /// What it says.
    pub text: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    importance: Option<u8>,
    #[serde(default)]
    created_at: Option<DateTime<Utc>>,
    #[serde(default)]
    expires_at: Option<DateTime<Utc>>,
    #[serde(default)]
    key: Option<String>,
}

/// A question of a set.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Question {
    /// Its name in the set.
    pub query: String,
    /// What is asked.
    pub text: String,
    /// The documents that answer it; none: nothing does.
    pub relevant: Vec<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    since: Option<DateTime<Utc>>,
    #[serde(default)]
    min_importance: Option<u8>,
}

/// Which searches take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Way {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// Both.
    Hybrid,
}

/// How well one way answered questions of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The way.
    pub way: Way,
    /// The kind of question; `None`: all of them.
    pub kind: Option<String>,
    /// Questions that have an answer.
    pub questions: usize,
    /// Means over those, 0 to 1.
    pub recall_at_1: f64,
    /// See `recall_at_1`.
    pub recall_at_5: f64,
    /// See `recall_at_1`.
    pub recall_at_10: f64,
    /// The mean reciprocal rank.
    pub mrr: f64,
    /// nDCG at 10.
    pub ndcg: f64,
    /// Questions that have no answer.
    pub unanswerable: usize,
    /// How many of those got none.
    pub rejected: usize,
    /// Milliseconds that half of the questions took at most.
    pub p50_ms: f64,
    /// Milliseconds that 99 of 100 took at most.
    pub p99_ms: f64,
}

/// As deep as it is looked.
const DEPTH: usize = 10;

/// Puts the documents of a set into a store, which should be empty and have [`clock`] for its clock, and asks the questions in
/// every way. The figures come by way: all kinds together first.
///
/// # Errors
/// [`Error::Field`] for a set that names what it does not have, else what the store says.
pub fn evaluate(store: &Store, set: &[Line]) -> Result<Vec<Figures>> {
    let paths = fill(store, set)?;
    let recall = Recall::new(store.clone());
    // What is built once is built now.
    recall.retrieve(&Ask { query: "warm".to_owned(), ..Ask::default() })?;
    let mut figures = Vec::new();
    for way in [Way::Lexical, Way::Semantic, Way::Hybrid] {
        let mut marks: Vec<(Option<String>, Mark)> = Vec::new();
        for question in questions(set) {
            let mark = ask(&recall, way, question, &paths)?;
            marks.push((question.kind.clone(), mark));
        }
        figures.push(sum(way, None, marks.iter().map(|(_, mark)| mark)));
        let mut kinds: Vec<_> = marks.iter().filter_map(|(kind, _)| kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let of_kind = marks.iter().filter(|(of, _)| of.as_ref() == Some(&kind)).map(|(_, mark)| mark);
            figures.push(sum(way, Some(kind.clone()), of_kind));
        }
    }
    Ok(figures)
}

/// Reads a line of a set.
///
/// # Errors
/// What is wrong with it, in words.
pub fn line(text: &str) -> Result<Line, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let read = match value.get("doc") {
        Some(_) => serde_json::from_value(value).map(Line::Document),
        None if value.get("query").is_some() => serde_json::from_value(value).map(Line::Question),
        None => return Err("it has neither `doc` nor `query`".to_owned()),
    };
    read.map_err(|error| error.to_string())
}

/// The categories that the documents of a set have.
#[must_use]
pub fn categories(set: &[Line]) -> Vec<String> {
    let mut names: Vec<String> = documents(set).filter_map(|document| document.category.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The moment at which the questions of a set are asked: soon after its last document; `None` where none has a date.
#[must_use]
pub fn clock(set: &[Line]) -> Option<DateTime<Utc>> {
    documents(set).filter_map(|document| document.created_at).max().map(|last| last + Duration::hours(1))
}

fn documents(set: &[Line]) -> impl Iterator<Item = &Document> {
    set.iter().filter_map(|line| match line {
        Line::Document(document) => Some(document),
        Line::Question(_) => None,
    })
}

fn questions(set: &[Line]) -> impl Iterator<Item = &Question> {
    set.iter().filter_map(|line| match line {
        Line::Question(question) => Some(question),
        Line::Document(_) => None,
    })
}

/// Writes the documents in their order, since what was made next is looked at together; the file of each by its name. Of those
/// with the same key in a category only the last.
fn fill(store: &Store, set: &[Line]) -> Result<HashMap<String, MemoryPath>> {
    let mut paths = HashMap::new();
    let mut files: HashMap<MemoryPath, (usize, String)> = HashMap::new();
    let mut keyed: HashMap<(String, String), MemoryPath> = HashMap::new();
    for (place, document) in documents(set).enumerate() {
        let (path, text) = file(document, store.now())?;
        if let (Some(category), Some(key)) = (&document.category, &document.key)
            && let Some(before) = keyed.insert((category.clone(), key.clone()), path.clone())
        {
            files.remove(&before);
        }
        if paths.insert(document.doc.clone(), path.clone()).is_some() {
            let rule = "must be different from document to document".to_owned();
            return Err(Error::Field { field: "doc", value: document.doc.clone(), rule });
        }
        files.insert(path, (place, text));
    }
    for question in questions(set) {
        if let Some(name) = question.relevant.iter().find(|name| !paths.contains_key(*name)) {
            let rule = format!("must be documents of the set ({})", question.query);
            return Err(Error::Field { field: "relevant", value: name.clone(), rule });
        }
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable_by_key(|(_, (place, _))| *place);
    for part in files.chunks(1000) {
        let edits: Vec<Edit> =
            part.iter().map(|(path, (_, text))| Edit::write(path, text.as_str())).collect();
        store.change(move |_| Ok::<_, Error>((edits.clone(), ())))?;
    }
    Ok(paths)
}

fn file(document: &Document, now: DateTime<Utc>) -> Result<(MemoryPath, String)> {
    let text = match (&document.category, &document.path) {
        (Some(category), _) => format!("/memories/{category}/{}.md", document.doc),
        (None, Some(path)) => path.clone(),
        (None, None) => format!("/memories/{}.md", document.doc),
    };
    let path = MemoryPath::parse(&text).map_err(|source| Error::Path { path: text, source })?;
    let Some(category) = &document.category else { return Ok((path, document.text.clone())) };
    let new = NewEntry {
        content: document.text.clone(),
        category: category.clone(),
        importance: document.importance.unwrap_or(PLAIN_IMPORTANCE),
        tags: document.tags.clone(),
        expires_at: document.expires_at,
        key: document.key.clone(),
        ..NewEntry::default()
    };
    Ok((path, keep::composed(None, &new, document.created_at.unwrap_or(now))))
}

/// How one question was answered.
struct Mark {
    /// Whether anything answers it.
    has_answer: bool,
    recall: [f64; 3],
    reciprocal: f64,
    ndcg: f64,
    is_empty: bool,
    ms: f64,
}

#[allow(clippy::cast_precision_loss, reason = "few things are counted")]
fn ask(recall: &Recall, way: Way, question: &Question, paths: &HashMap<String, MemoryPath>) -> Result<Mark> {
    let ask = Ask {
        query: question.text.clone(),
        categories: question.categories.clone(),
        tags: question.tags.clone(),
        since: question.since,
        min_importance: question.min_importance.unwrap_or(1),
        // Several passages of one file are one document.
        limit: DEPTH * 3,
        scan: false,
        lexical: way != Way::Semantic,
        semantic: way != Way::Lexical,
        ..Ask::default()
    };
    let begin = Instant::now();
    let found = recall.retrieve(&ask)?;
    let ms = begin.elapsed().as_secs_f64() * 1000.0;
    let mut places: Vec<&MemoryPath> = Vec::new();
    for memory in &found.memories {
        if !places.contains(&&memory.path) {
            places.push(&memory.path);
        }
    }
    let relevant: Vec<&MemoryPath> = question.relevant.iter().map(|name| &paths[name]).collect();
    let is_relevant = |path: &&&MemoryPath| relevant.contains(*path);
    let share = |depth: usize| {
        places.iter().take(depth).filter(is_relevant).count() as f64 / relevant.len().max(1) as f64
    };
    let first = places.iter().position(|path| relevant.contains(path));
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let gained: f64 =
        (0..places.len().min(DEPTH)).filter(|&at| relevant.contains(&places[at])).map(gain).sum();
    let ideal: f64 = (0..relevant.len().min(DEPTH)).map(gain).sum();
    Ok(Mark {
        has_answer: !relevant.is_empty(),
        recall: [share(1), share(5), share(DEPTH)],
        reciprocal: first.filter(|&at| at < DEPTH).map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
        ndcg: if ideal > 0.0 { gained / ideal } else { 0.0 },
        is_empty: places.is_empty(),
        ms,
    })
}

#[allow(clippy::cast_precision_loss, reason = "few things are counted")]
fn sum<'m>(way: Way, kind: Option<String>, marks: impl Iterator<Item = &'m Mark>) -> Figures {
    let marks: Vec<&Mark> = marks.collect();
    let answered: Vec<&&Mark> = marks.iter().filter(|mark| mark.has_answer).collect();
    let mean = |of: &dyn Fn(&Mark) -> f64| {
        answered.iter().fold(0.0, |sum, mark| sum + of(mark)) / answered.len().max(1) as f64
    };
    let mut times: Vec<f64> = marks.iter().map(|mark| mark.ms).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get((times.len().saturating_sub(1)) * share / 100).copied().unwrap_or(0.0);
    let unanswerable = marks.len() - answered.len();
    Figures {
        way,
        kind,
        questions: answered.len(),
        recall_at_1: mean(&|mark| mark.recall[0]),
        recall_at_5: mean(&|mark| mark.recall[1]),
        recall_at_10: mean(&|mark| mark.recall[2]),
        mrr: mean(&|mark| mark.reciprocal),
        ndcg: mean(&|mark| mark.ndcg),
        unanswerable,
        rejected: marks.iter().filter(|mark| !mark.has_answer && mark.is_empty).count(),
        p50_ms: at(50),
        p99_ms: at(99),
    }
}
