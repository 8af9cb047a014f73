//! Words that say nothing by themselves, and words that turn what is said: English, German, Vietnamese, Chinese.

/// Leaving one out, or putting one in, changes no fact.
pub(super) const FILLERS: &[&str] = &[
    "a", "an", "the", "really", "please", "just", "also", "so", "indeed", "actually", "basically", "that", "of", "course",
    "generally", "simply", "very", "quite", "der", "die", "das", "ein", "eine", "einen", "einem", "einer", "den", "dem",
    "bitte", "auch", "wirklich", "eigentlich", "sehr", "ja", "rất", "cũng", "thì", "là", "ạ", "nhé", "thực", "sự",
];

/// With one of these, or without, something else is said.
pub(super) const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "nor", "neither", "without", "cannot", "nothing", "nobody", "nowhere", "unless", "except",
    "nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "ohne", "nichts", "niemand", "weder",
    "außer", "không", "chưa", "đừng", "chẳng", "chả", "không có", "不", "没", "没有", "别", "未", "无", "非",
];

/// Numbers in words.
pub(super) const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty",
    "seventy", "eighty", "ninety", "hundred", "thousand", "million", "billion", "half", "twice", "once", "double", "first",
    "second", "third", "null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "zwanzig", "dreißig", "vierzig", "fünfzig", "hundert", "tausend", "halb", "einmal", "zweimal", "một", "hai", "ba", "bốn",
    "năm", "sáu", "bảy", "tám", "chín", "mười", "trăm", "nghìn", "ngàn", "triệu", "nửa",
];
