//! Finding what the rules describe.

use std::sync::OnceLock;

use super::around::Around;
use super::rule::Rule;
use super::{card, commands, gitleaks, keyblock, ours, password, providers};

/// Something that a rule describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) rule: &'static str,
    pub(super) is_sure: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A keyword, and the places of its rules among all.
struct Keyword {
    word: &'static [u8],
    rules: Vec<usize>,
}

/// All keywords, by the classes of the three bytes with which they begin.
struct Keywords {
    rules: Vec<&'static Rule>,
    /// A bit for every three classes that a keyword begins with.
    begins: Box<[u64; CLASSES / 64]>,
    /// Which of the lists such a beginning has.
    buckets: Box<[u16]>,
    lists: Vec<Vec<Keyword>>,
}

/// As many beginnings there are, of three classes with five bits each.
const CLASSES: usize = 1 << 15;

/// What a byte is taken for when a keyword is looked for: a letter in any case, a digit, `_`, `-`, another sign, a
/// blank; what is no ASCII is spread over all of them, so that a text of it is not full of beginnings.
#[allow(clippy::cast_possible_truncation, reason = "there are 256 bytes")]
const CLASS: [u8; 256] = {
    let mut class = [30; 256];
    let mut at = 0;
    while at < 256 {
        let byte = (at as u8).to_ascii_lowercase();
        class[at] = match byte {
            b'a'..=b'z' => byte - b'a' + 1,
            b'0'..=b'9' => 27,
            b'_' => 28,
            b'-' => 29,
            0..=b' ' => 0,
            0x80.. => byte & 31,
            _ => 30,
        };
        at += 1;
    }
    class
};

/// The classes of one more byte behind those before.
fn beginning(before: usize, byte: u8) -> usize {
    (before << 5 | usize::from(CLASS[usize::from(byte)])) % CLASSES
}

/// All rules that are patterns.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    let ours: [&'static [Rule]; 5] =
        [&ours::RULES, &keyblock::RULES, &password::RULES, &commands::RULES, &providers::RULES];
    ours.into_iter().flatten().chain(&gitleaks::RULES)
}

fn keywords() -> &'static Keywords {
    static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
    KEYWORDS.get_or_init(|| {
        let mut all = Keywords {
            rules: rules().collect(),
            begins: Box::new([0; CLASSES / 64]),
            buckets: vec![0; CLASSES].into_boxed_slice(),
            lists: Vec::new(),
        };
        for (n, rule) in rules().enumerate() {
            for word in rule.keywords.iter().map(|keyword| keyword.as_bytes()) {
                let known = word.iter().take(3).fold(0, |before, &byte| beginning(before, byte));
                // Behind a keyword of two bytes, anything may stand.
                let any = if word.len() < 3 { known << 5..(known + 1) << 5 } else { known..known + 1 };
                any.for_each(|begin| all.add(begin, word, n));
            }
        }
        all
    })
}

impl Keywords {
    fn add(&mut self, begin: usize, word: &'static [u8], rule: usize) {
        if self.begins[begin / 64] >> (begin % 64) & 1 == 0 {
            self.begins[begin / 64] |= 1 << (begin % 64);
            self.buckets[begin] = u16::try_from(self.lists.len()).expect("rules are few");
            self.lists.push(Vec::new());
        }
        let bucket = &mut self.lists[usize::from(self.buckets[begin])];
        match bucket.iter_mut().find(|known| known.word == word) {
            Some(known) => known.rules.push(rule),
            None => bucket.push(Keyword { word, rules: vec![rule] }),
        }
    }

    /// Calls `each` with every place where a keyword stands, in whatever case, and with the rules of it; in order.
    fn each_hit(&self, text: &[u8], each: &mut dyn FnMut(usize, &[usize])) {
        let mut begin = 0;
        for (last, &byte) in text.iter().enumerate() {
            begin = beginning(begin, byte);
            if self.begins[begin / 64] >> (begin % 64) & 1 == 0 || last < 2 {
                continue;
            }
            let at = last - 2;
            for Keyword { word, rules } in &self.lists[usize::from(self.buckets[begin])] {
                let Some(there) = text.get(at..at + word.len()) else { continue };
                // Its end tells more than its beginning, which is known already.
                let is_end = there[word.len() - 1].to_ascii_lowercase() == word[word.len() - 1];
                if is_end && there.eq_ignore_ascii_case(word) {
                    each(at, rules);
                }
            }
        }
    }
}

/// Calls `each` with what the wanted rules find, in no order; a rule of whose findings one reaches beyond a place is not
/// tried again before it.
pub(super) fn each_match(
    text: &[u8],
    is_wanted: &dyn Fn(&'static str, bool) -> bool,
    each: &mut dyn FnMut(Match),
) {
    if is_wanted(ours::CARD, true) {
        card::each_card(text, &mut |start, end| {
            each(Match { rule: ours::CARD, is_sure: true, start, end });
        });
    }
    let all = keywords();
    // Where the last finding of every rule ends; of what is not wanted, beyond everything.
    let mut reached: Vec<Option<usize>> = vec![None; all.rules.len()];
    let mut around = Around::new(text);
    all.each_hit(text, &mut |at, rules| {
        for &n in rules {
            let rule = all.rules[n];
            let reached = reached[n]
                .get_or_insert_with(|| if is_wanted(rule.id, rule.is_sure) { 0 } else { usize::MAX });
            if at < *reached {
                continue;
            }
            if let Some((start, end)) = rule.find(&mut around, text, at) {
                *reached = end;
                each(Match { rule: rule.id, is_sure: rule.is_sure, start, end });
            }
        }
    });
}
