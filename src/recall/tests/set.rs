//! The labelled questions of `fixtures/retrieval`.

use super::*;
use crate::recall::eval::{self, Figures, Line, Way};

#[test]
fn the_labelled_questions() {
    let text = include_str!("../../../fixtures/retrieval/set.jsonl");
    let set: Vec<Line> = text.lines().map(|line| eval::line(line).unwrap()).collect();
    let bench = Bench::new();
    let now = eval::clock(&set).unwrap();
    bench.clock.store(now.timestamp(), Ordering::Relaxed);
    let figures = eval::evaluate(bench.recall.store_handle(), &set).unwrap();
    let all = |way| figures.iter().find(|one: &&Figures| one.way == way && one.kind.is_none()).unwrap();
    let hybrid = all(Way::Hybrid);
    assert!(hybrid.recall_at_10 >= 0.785, "{hybrid:?}");
    assert!(hybrid.recall_at_10 >= all(Way::Lexical).recall_at_10);
    assert!(hybrid.mrr >= 0.71, "{hybrid:?}");
    assert!(hybrid.rejected >= 1, "{hybrid:?}");
    let of_kind = |kind| {
        let is_it = |one: &&Figures| one.way == Way::Hybrid && one.kind.as_deref() == Some(kind);
        figures.iter().find(is_it).unwrap().recall_at_10
    };
    // A question with a tag need not say more.
    for kind in ["german", "vietnamese", "typo", "filter-tag"] {
        assert!(of_kind(kind) > 0.99, "{kind}: {}", of_kind(kind));
    }
    assert!(of_kind("chinese") > 0.9, "{}", of_kind("chinese"));
}
