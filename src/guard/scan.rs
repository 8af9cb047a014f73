//! Finding what the rules describe.

use std::collections::HashMap;
use std::sync::OnceLock;

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

/// All keywords, by their first bytes, and the rules of each.
struct Keywords {
    /// A bit for every hash of three bytes with which a keyword begins.
    begins: Box<[u64; BITS / 64]>,
    by_begin: HashMap<[u8; 3], Vec<Keyword>>,
    /// Keywords of two bytes.
    short: Vec<Keyword>,
}

type Keyword = (&'static [u8], Vec<&'static Rule>);

const BITS: usize = 1 << 16;

/// Where the bit of three bytes is.
fn slot(begin: [u8; 3]) -> usize {
    let [a, b, c] = begin.map(u32::from);
    ((a << 16 | b << 8 | c).wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// All rules that are patterns.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    ours::RULES.iter().chain(&gitleaks::RULES)
}

fn keywords() -> &'static Keywords {
    static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
    KEYWORDS.get_or_init(|| {
        let mut begins = Box::new([0_u64; BITS / 64]);
        let mut mark = |begin: [u8; 3]| begins[slot(begin) / 64] |= 1 << (slot(begin) % 64);
        let mut by_begin: HashMap<[u8; 3], Vec<Keyword>> = HashMap::new();
        let mut short = Vec::new();
        for rule in rules() {
            for keyword in rule.keywords.iter().map(|keyword| keyword.as_bytes()) {
                let bucket = if let Some(begin) = keyword.first_chunk::<3>() {
                    mark(*begin);
                    by_begin.entry(*begin).or_default()
                } else {
                    (0..=u8::MAX).for_each(|any| mark([keyword[0], keyword[1], any]));
                    &mut short
                };
                match bucket.iter_mut().find(|(known, _)| *known == keyword) {
                    Some((_, rules)) => rules.push(rule),
                    None => bucket.push((keyword, vec![rule])),
                }
            }
        }
        Keywords { begins, by_begin, short }
    })
}

impl Keywords {
    /// Calls `each` with every place where a keyword stands, in whatever case, and with the rules of it.
    fn each_hit(&self, text: &[u8], each: &mut dyn FnMut(usize, &[&'static Rule])) {
        for at in 0..text.len().saturating_sub(2) {
            let begin = [text[at], text[at + 1], text[at + 2]].map(|byte| byte.to_ascii_lowercase());
            let slot = slot(begin);
            if self.begins[slot / 64] >> (slot % 64) & 1 == 0 {
                continue;
            }
            let longer = self.by_begin.get(&begin).into_iter().flatten();
            for (keyword, rules) in longer.chain(&self.short) {
                let there = text.get(at..at + keyword.len());
                if there.is_some_and(|there| there.eq_ignore_ascii_case(keyword)) {
                    each(at, rules);
                }
            }
        }
    }
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
    let mut reached: Vec<(&'static str, usize)> = Vec::new();
    keywords().each_hit(text, &mut |at, rules| {
        for rule in rules {
            let is_past = reached.iter().any(|(id, end)| *id == rule.id && at < *end);
            if is_past || !is_wanted(rule.id, rule.is_sure) {
                continue;
            }
            if let Some((start, end)) = rule.find(text, at) {
                reached.retain(|(id, _)| *id != rule.id);
                reached.push((rule.id, end));
                each(Match { rule: rule.id, is_sure: rule.is_sure, start, end });
            }
        }
    });
}
