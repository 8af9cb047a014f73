//! Commands about memories by what they mean: entries, and what answers a question.

use std::num::NonZeroUsize;

use chrono::{DateTime, Utc};

use super::busy::Busy;
use super::fault::Fault;
use super::out::{self, Out};
use super::place::Opened;
use super::when;
use crate::path;
use crate::recall::{Ask, Memory, Recall, categories};
use crate::store::Settings;

pub(super) mod delete;
pub(super) mod eval;
pub(super) mod index;
pub(super) mod list;
pub(super) mod prefetch;
pub(super) mod prune;
pub(super) mod retrieve;
pub(super) mod search;
mod snippet;
pub(super) mod store;

/// What must hold of the memories that are shown.
#[derive(Debug, clap::Args)]
pub(super) struct Filters {
    /// Only entries of this category (may be given several times)
    #[arg(long, value_name = "CATEGORY")]
    category: Vec<String>,
    /// Only memories of this importance or more, 1 to 5
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    min_importance: u8,
    /// Only memories with this tag (may be given several times: with all of them)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only the entries with this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only memories at or below this path
    #[arg(long, value_name = "PATH")]
    path_prefix: Option<String>,
    /// Only what was changed at this time or later
    #[arg(long, value_name = "TIME", value_parser = when::moment)]
    since: Option<DateTime<Utc>>,
    /// The memories as they were at this time
    #[arg(long, value_name = "TIME", value_parser = when::moment)]
    as_of: Option<DateTime<Utc>>,
    /// Do not look for what others did to the files
    #[arg(long)]
    no_scan: bool,
}

impl Filters {
    /// What is asked with these filters.
    fn ask(&self, opened: &Opened, query: &str, limit: NonZeroUsize) -> Result<Ask, Fault> {
        for category in &self.category {
            check_category(opened.store.settings(), category)?;
        }
        Ok(Ask {
            query: query.to_owned(),
            categories: self.category.clone(),
            limit: limit.get(),
            min_importance: self.min_importance,
            tags: self.tag.clone(),
            key: self.key.clone(),
            path_prefix: self.path_prefix.as_deref().map(|path| opened.path(path)).transpose()?,
            since: self.since,
            as_of: self.as_of,
            scan: !self.no_scan,
            ..Ask::default()
        })
    }
}

/// What retrieves from the store that a command opened.
fn recall(opened: &Opened) -> Recall {
    Recall::new(opened.store.clone())
}

/// The same, which shows how far it is when it has to make an index first.
fn recall_shown(opened: &Opened, busy: &Busy) -> Recall {
    recall(opened).telling(busy.hears())
}

/// Refuses a category that the store does not know, and names those that it does.
fn check_category(settings: &Settings, category: &str) -> Result<(), Fault> {
    let known = categories(settings);
    if known.iter().any(|name| name == category) {
        return Ok(());
    }
    let wrong = Fault::usage(format!("there is no category `{category}`"));
    Err(wrong
        .hint(format!("the categories are {}", known.join(", ")))
        .and("`categories` in `[entries]` of `memdir.toml` adds others"))
}

/// Where a memory is, as `path:line`.
fn place(memory: &Memory, line: usize, out: &Out) -> String {
    let path = memory.path.to_string();
    format!("{}:{}", out.paint(out::PLACE, path::escape(&path)), out.paint(out::GOOD, line))
}

/// Some texts in one line.
fn joined(texts: &[String]) -> String {
    path::escape(&texts.join(", ")).into_owned()
}
