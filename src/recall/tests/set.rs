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
    assert!(hybrid.recall_at_10 >= 0.77, "{hybrid:?}");
    assert!(hybrid.recall_at_10 >= all(Way::Lexical).recall_at_10);
    assert!(hybrid.mrr >= 0.69, "{hybrid:?}");
}
