//! Finding what the rules describe.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::rule::Rule;
use super::{card, gitleaks, ours};

/// Something that a rule describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) rule: &'static str,
    pub(super) is_sure: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All keywords at once, and the rules of each.
struct Keywords {
    automaton: AhoCorasick,
    rules: Vec<Vec<&'static Rule>>,
}

/// All rules that are patterns.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    ours::RULES.iter().chain(&gitleaks::RULES)
}

fn keywords() -> &'static Keywords {
    static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
    KEYWORDS.get_or_init(|| {
        let mut by_keyword: BTreeMap<&str, Vec<&'static Rule>> = BTreeMap::new();
        for rule in rules() {
            for keyword in rule.keywords {
                by_keyword.entry(keyword).or_default().push(rule);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .prefilter(false)
            .build(by_keyword.keys())
            .expect("a test builds it");
        Keywords { automaton, rules: by_keyword.into_values().collect() }
    })
}

/// Calls `each` with all that the rules find, in no order; a rule of whose findings one reaches beyond a place is not
/// tried again before it.
pub(super) fn each_match(
    text: &[u8],
    is_wanted: &dyn Fn(&'static str, bool) -> bool,
    each: &mut dyn FnMut(Match),
) {
    if is_wanted(ours::CARD, true) {
        card::each_card(text, &mut |start, end| each(Match { rule: ours::CARD, is_sure: true, start, end }));
    }
    let Keywords { automaton, rules } = keywords();
    let mut reached: Vec<(&'static str, usize)> = Vec::new();
    for hit in automaton.find_overlapping_iter(text) {
        for rule in &rules[hit.pattern().as_usize()] {
            let is_past = reached.iter().any(|(id, end)| *id == rule.id && hit.start() < *end);
            if is_past || !is_wanted(rule.id, rule.is_sure) {
                continue;
            }
            if let Some((start, end)) = rule.find(text, hit.start()) {
                reached.retain(|(id, _)| *id != rule.id);
                reached.push((rule.id, end));
                each(Match { rule: rule.id, is_sure: rule.is_sure, start, end });
            }
        }
    }
}
