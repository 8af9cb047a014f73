//! Words that say nothing by themselves, and words that turn what is said: English, German, Vietnamese, Chinese.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Kind;

/// What a word is by itself, whatever stands beside it: a filler, a negation or a number.
pub(super) fn listed(word: &str) -> Option<Kind> {
    static LISTED: LazyLock<HashMap<&str, Kind>> = LazyLock::new(|| {
        let lists = [(FILLERS, Kind::Filler), (NUMBERS, Kind::Number), (NEGATIONS, Kind::Negation)];
        lists.into_iter().flat_map(|(words, kind)| words.iter().map(move |&word| (word, kind))).collect()
    });
    LISTED.get(word).copied()
}

/// Leaving one out, or putting one in, changes no fact.
///
/// None of them is a word with a meaning of its own in another of the languages, or in another place (as `but` in `all but one`,
/// `still` in `still water`, `then` in `the then owner`, `noch` in `noch ein Kind`).
const FILLERS: &[&str] = &[
    "the",
    "an",
    "really",
    "please",
    "also",
    "indeed",
    "actually",
    "basically",
    "have",
    "has",
    "now",
    "der",
    "das",
    "dem",
    "ein",
    "eine",
    "einen",
    "einem",
    "einer",
    "bitte",
    "auch",
    "dann",
    "wirklich",
    "eigentlich",
    "nun",
    "jetzt",
    "rất",
    "cũng",
    "thì",
    "nhé",
    "các",
    "cả",
    "了",
    "哦",
    "呢",
    "啊",
    "呀",
    "都",
];

/// With one of these, or without, something else is said.
const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "nor",
    "neither",
    "without",
    "cannot",
    "nothing",
    "nobody",
    "nowhere",
    "unless",
    "except",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keinem",
    "keiner",
    "keines",
    "nie",
    "niemals",
    "ohne",
    "nichts",
    "niemand",
    "weder",
    "außer",
    "không",
    "chưa",
    "đừng",
    "chẳng",
    "chả",
    "không có",
    "不",
    "没",
    "没有",
    "别",
    "未",
    "无",
    "非",
];

/// Numbers in words.
const NUMBERS: &[&str] = &[
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
    "hundred",
    "thousand",
    "million",
    "billion",
    "half",
    "twice",
    "once",
    "double",
    "first",
    "second",
    "third",
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "zwanzig",
    "dreißig",
    "vierzig",
    "fünfzig",
    "hundert",
    "tausend",
    "halb",
    "einmal",
    "zweimal",
    "một",
    "hai",
    "ba",
    "bốn",
    "năm",
    "sáu",
    "bảy",
    "tám",
    "chín",
    "mười",
    "trăm",
    "nghìn",
    "ngàn",
    "triệu",
    "nửa",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_on_two_lists() {
        for (words, kind) in [(FILLERS, Kind::Filler), (NUMBERS, Kind::Number), (NEGATIONS, Kind::Negation)] {
            assert!(words.iter().all(|word| listed(word) == Some(kind)));
        }
        assert_eq!(listed("editor"), None);
    }
}
