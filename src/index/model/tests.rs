//! The table in the program against the crate `tokenizers`, and files that are no model.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use tokenizers::Tokenizer;
use unicode_properties::GeneralCategory::Unassigned;
use unicode_properties::UnicodeGeneralCategory;

use super::*;

/// Of each script something, and what the normalizer has rules for.
const SAMPLES: &[&str] = &[
    "",
    "The user prefers dark mode in every editor.",
    "don't  split\tthis\nline; e-mail a_b@example.org (v1.2.3-rc1)!",
    "Café crème brûlée, NAÏVE façade Ångström ÉCOLE",
    "İstanbul'da ığdır ŞİİR; Straße GROẞ ﬁne ŒUVRE",
    "Đường phố Hà Nội, cà phê sữa đá",
    "Ελληνικά ΟΔΥΣΣΕΎΣ; Ἀθῆναι",
    "Русский Ёлка йод; Українська їжак; Ћирилица",
    "中文字符 mixed 漢字かなカナ ﾊﾝｶｸ 豈更 𠀀𪜀",
    "한국어 텍스트 ㄱㄴㄷ",
    "עִבְרִית שָׁלוֹם العربية مَرْحَبًا فارسی",
    "हिन्दी নমস্কার தமிழ் ไทย ພາສາ ខ្មែរ မြန်မာ",
    "ქართული Հայերեն አማርኛ ᏣᎳᎩ",
    "emoji 😀👍🏽 👨‍👩‍👧 ❤️ ½ ² ™ € £ ¥ ₹ ° § ¶ • … – — “q” ‘q’ «q» ¿qué? ¡sí!",
    "zero\u{200b}width so\u{ad}ft nbsp\u{a0}here em\u{2003}space line\u{2028}sep bom\u{feff} \u{fffd} \u{0}\u{1}\u{7f}\u{85}",
    "vt\u{b}ff\u{c} e\u{301}e\u{301}\u{302} q\u{323}\u{307} \u{301}alone \u{340}\u{37e}\u{387}\u{1fef}\u{212a}\u{212b}",
    "ALLCAPS camelCase snake_case kebab-case path/to/file.rs::fn 0xDEADBEEF 3.14159 1,000,000",
    "##ing ## # [unused1] unaffable supercalifragilisticexpialidocious",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/static-256")
}

fn theirs() -> Tokenizer {
    let mut theirs = Tokenizer::from_file(directory().join("tokenizer.json")).unwrap();
    theirs.with_padding(None).with_truncation(None).unwrap();
    theirs
}

/// The pieces of a text: ours, and those of the crate without the unknown.
fn both(theirs: &Tokenizer, vocabulary: &Vocabulary, text: &str) -> (Vec<u32>, Vec<u32>) {
    let expected = theirs.encode_fast(text, false).unwrap();
    let expected = expected.get_ids().iter().copied().filter(|id| *id != 100).collect();
    let mut found = Vec::new();
    wordpiece::pieces(vocabulary, text, usize::MAX, &mut found);
    (found, expected)
}

#[track_caller]
fn same(theirs: &Tokenizer, vocabulary: &Vocabulary, text: &str) {
    let (found, expected) = both(theirs, vocabulary, text);
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn the_vocabulary_is_that_of_the_tokenizer() {
    let theirs = theirs();
    let vocabulary = Vocabulary::of(VOCABULARY).unwrap();
    assert_eq!(VOCABULARY.lines().count(), theirs.get_vocab_size(true));
    for (line, number) in VOCABULARY.lines().zip(0..) {
        assert_eq!(theirs.token_to_id(line), Some(number), "{line}");
        let (place, piece) = match line.strip_prefix("##") {
            Some(piece) => (vocabulary::Place::Continues, piece),
            None => (vocabulary::Place::Begins, line),
        };
        assert_eq!(vocabulary.number(piece, place), Some(number), "{line}");
    }
    assert_eq!(vocabulary.number("", vocabulary::Place::Begins), None);
    assert_eq!(vocabulary.number("the\nof", vocabulary::Place::Begins), None);
}

#[test]
fn pieces_are_those_of_the_tokenizer() {
    let (theirs, vocabulary) = (theirs(), Vocabulary::of(VOCABULARY).unwrap());
    for (at, text) in SAMPLES.iter().enumerate() {
        same(&theirs, &vocabulary, text);
        // Each two samples as they meet in the middle of a word, and with nothing but the case changed.
        for other in &SAMPLES[at..] {
            same(&theirs, &vocabulary, &format!("{text}{other}"));
        }
        same(&theirs, &vocabulary, &text.to_uppercase());
    }
    for long in [99, 100, 101] {
        same(&theirs, &vocabulary, &format!("before {} after", "a".repeat(long)));
        same(&theirs, &vocabulary, &"é".repeat(long));
    }
}

/// The crate has the categories of Unicode 8: what is newer, or has another category now, can make a word unknown there.
#[test]
fn each_character_by_itself() {
    let (theirs, vocabulary) = (theirs(), Vocabulary::of(VOCABULARY).unwrap());
    let alike = |c: &char| matches!(*c, '\u{3500}'..='\u{9f00}' | '\u{ac10}'..='\u{d790}' | '\u{20010}'..);
    let mut newer = Vec::new();
    for c in (char::MIN..=char::MAX).filter(|c| !alike(c) && c.general_category() != Unassigned) {
        let text = format!("in{c}side {c}");
        let (found, expected) = both(&theirs, &vocabulary, &text);
        if found != expected {
            newer.push(c);
        }
    }
    assert!(newer.len() < 800 && newer[0] > '\u{5c7}', "{newer:?}");
}

proptest! {
    #[test]
    fn any_text_has_the_pieces_of_the_tokenizer(text in "[ -~]{0,40}|[a-zA-Zà-ÿ]{1,30}|[\0-ɏ]{0,30}|[Ѐ-џ一-丿가-갟 .]{0,30}") {
        thread_local! {
            static BOTH: (Tokenizer, Vocabulary) = (theirs(), Vocabulary::of(VOCABULARY).unwrap());
        }
        BOTH.with(|(theirs, vocabulary)| same(theirs, vocabulary, &text));
    }
}

#[test]
fn the_program_and_the_directory_embed_alike() {
    let (builtin, loaded) = (Model::builtin().unwrap(), Model::load(&directory()).unwrap());
    assert_ne!(builtin.id(), loaded.id());
    assert_eq!((builtin.dimensions(), loaded.dimensions()), (256, 256));
    for text in SAMPLES {
        let vector = builtin.embed(text);
        assert_eq!(vector, loaded.embed(text), "{text}");
        let length: f32 = vector.iter().map(|part| part * part).sum();
        assert!(length == 0.0 || (length - 1.0).abs() < 1e-5, "{text}: {length}");
    }
}

/// The name that indexes keep must change with what they were made of.
#[test]
fn the_name_of_the_table_in_the_program_is_that_of_its_bytes() {
    assert_eq!(
        (crc32fast::hash(TENSORS), crc32fast::hash(VOCABULARY.as_bytes())),
        (1_731_483_114, 3_808_970_249),
        "for {BUILTIN}"
    );
}

#[test]
fn alike_is_near() {
    let model = Model::builtin().unwrap();
    let cosine =
        |a: &str, b: &str| -> f32 { model.embed(a).iter().zip(model.embed(b)).map(|(a, b)| a * b).sum() };
    let (near, far) =
        (cosine("The cat sleeps", "a kitten is sleeping"), cosine("The cat sleeps", "quarterly tax report"));
    assert!(near > far + 0.3, "{near} {far}");
    assert!((cosine("Dark mode", "dark MODE ") - 1.0).abs() < 1e-5);
}

#[test]
fn nothing_known_is_all_zero() {
    let model = Model::builtin().unwrap();
    for text in ["", " \n", "\u{10fffd}", "\u{1f468}\u{200d}\u{1f469}", &"x".repeat(300)] {
        assert_eq!(model.embed(text), vec![0.0; 256], "{text}");
    }
}

#[test]
fn a_long_text_is_cut() {
    let model = Model::builtin().unwrap();
    let cut = "tea ".repeat(MOST_PIECES);
    assert_eq!(model.embed(&format!("{cut}coffee")), model.embed("tea"));
    assert_ne!(model.embed(&format!("{}coffee", &cut[4..])), model.embed("tea"));
    let wide = "é".repeat(LONGEST_TEXT);
    assert_eq!(head(&wide).len(), LONGEST_TEXT);
    assert_eq!(head(&format!("a{wide}")).len(), LONGEST_TEXT - 1);
}

/// A tokenizer of whole words: `[UNK]`, `tea`, `milk`, `sugar`.
const WORDS: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null, "model": {"type": "WordLevel",
    "vocab": {"[UNK]": 0, "tea": 1, "milk": 2, "sugar": 3}, "unk_token": "[UNK]"}}"#;

/// A safetensors file of some tensors: name, type, shape, bytes.
fn tensors(tensors: &[(&str, &str, &str, Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut bytes) = (Vec::new(), Vec::new());
    for (name, kind, shape, data) in tensors {
        let (start, end) = (bytes.len(), bytes.len() + data.len());
        header
            .push(format!(r#""{name}":{{"dtype":"{kind}","shape":{shape},"data_offsets":[{start},{end}]}}"#));
        bytes.extend_from_slice(data);
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes].concat()
}

fn bytes<const N: usize>(numbers: &[[u8; N]]) -> Vec<u8> {
    numbers.concat()
}

fn load(tokenizer: &[u8], tensors: &[u8]) -> Result<Model, IndexError> {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("tokenizer.json"), tokenizer).unwrap();
    fs::write(dir.path().join("model.safetensors"), tensors).unwrap();
    Model::load(dir.path())
}

#[test]
fn models_of_other_types() {
    let rows = [9.0_f32, 9.0, 1.0, 0.0, 0.0, 2.0, -3.0, -4.0];
    let halves = [0x4880_u16, 0x4880, 0x3c00, 0, 0, 0x4000, 0xc200, 0xc400];
    let single = bytes(&rows.map(f32::to_le_bytes));
    let double = bytes(&rows.map(|number| f64::from(number).to_le_bytes()));
    let half = bytes(&halves.map(u16::to_le_bytes));
    for (kind, data) in [("F32", single), ("F64", double), ("F16", half)] {
        let model = load(WORDS.as_bytes(), &tensors(&[("embeddings", kind, "[4,2]", data)])).unwrap();
        let close = |text: &str, expected: [f32; 2]| {
            let found = model.embed(text);
            let far = found.iter().zip(expected).any(|(found, expected)| (found - expected).abs() > 0.01);
            assert!(found.len() == 2 && !far, "{kind}, {text}: {found:?}");
        };
        close("tea", [1.0, 0.0]);
        close("sugar", [-0.6, -0.8]);
        close("tea coffee milk", [0.447, 0.894]);
        close("coffee", [0.0, 0.0]);
    }
}

#[test]
fn weights_and_mapping() {
    let rows = bytes(&[1.0_f32, 0.0, 0.0, 1.0].map(f32::to_le_bytes));
    let weights = bytes(&[1.0_f32, 3.0, 4.0, 0.0].map(f32::to_le_bytes));
    let mapping = bytes(&[0_i64, 0, 1, 1].map(i64::to_le_bytes));
    let embeddings = || ("embeddings", "F32", "[2,2]", rows.clone());
    let all = |mapping: Vec<u8>, weights: Vec<u8>| {
        let shape = format!("[{}]", weights.len() / 4);
        let file =
            tensors(&[embeddings(), ("weights", "F32", &shape, weights), ("mapping", "I64", "[4]", mapping)]);
        load(WORDS.as_bytes(), &file)
    };
    let model = all(mapping.clone(), weights.clone()).unwrap();
    let found = model.embed("tea milk");
    assert!((found[0] - 0.6).abs() < 0.01 && (found[1] - 0.8).abs() < 0.01, "{found:?}");
    assert_eq!(model.embed("sugar"), [0.0, 0.0]);

    assert!(all(bytes(&[0_i64, 0, 1, 2].map(i64::to_le_bytes)), weights.clone()).is_err());
    assert!(all(bytes(&[0_i64, 0, 1, -1].map(i64::to_le_bytes)), weights.clone()).is_err());
    assert!(all(mapping.clone(), weights[..12].to_vec()).is_err());
    assert!(all(mapping, bytes(&[1.0, f32::NAN, 1.0, 1.0].map(f32::to_le_bytes))).is_err());
    // Tokens beyond the rows of a table have no vector.
    let small = load(WORDS.as_bytes(), &tensors(&[embeddings()])).unwrap();
    assert_eq!(small.embed("sugar"), [0.0, 0.0]);
}

#[test]
fn what_is_no_model_is_an_error() {
    let numbers = |numbers: [f32; 8]| bytes(&numbers.map(f32::to_le_bytes));
    let good = tensors(&[("embeddings", "F32", "[4,2]", numbers([1.0; 8]))]);
    assert!(load(WORDS.as_bytes(), &good).is_ok());
    for end in 0..good.len() {
        assert!(load(WORDS.as_bytes(), &good[..end]).is_err(), "{end}");
    }
    for (kind, shape, data) in [
        ("F32", "[4,2]", numbers([1.0, 1.0, f32::NAN, 1.0, 1.0, 1.0, 1.0, 1.0])),
        ("F32", "[4,2]", numbers([1.0, 1.0, f32::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0])),
        ("F32", "[4,3]", numbers([1.0; 8])),
        ("F32", "[8]", numbers([1.0; 8])),
        ("F32", "[0,8]", Vec::new()),
        ("F32", "[8,0]", Vec::new()),
        ("F32", "[18446744073709551615,18446744073709551615]", numbers([1.0; 8])),
        ("F32", "[4,-2]", numbers([1.0; 8])),
        ("I8", "[1,5000]", vec![1; 5000]),
        ("BOOL", "[4,2]", vec![1; 8]),
    ] {
        let file = tensors(&[("embeddings", kind, shape, data)]);
        assert!(load(WORDS.as_bytes(), &file).is_err(), "{kind} {shape}");
    }
    for file in [
        tensors(&[("other", "F32", "[4,2]", numbers([1.0; 8]))]),
        [&u64::MAX.to_le_bytes()[..], b"{}"].concat(),
        [&2_u64.to_le_bytes()[..], b"[]"].concat(),
        [&100_000_u64.to_le_bytes()[..], "[".repeat(100_000).as_bytes()].concat(),
    ] {
        assert!(load(WORDS.as_bytes(), &file).is_err());
    }
    for end in 0..WORDS.len() {
        assert!(load(&WORDS.as_bytes()[..end], &good).is_err(), "{end}");
    }
    assert!(Model::load(Path::new("/nowhere")).is_err());
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("tokenizer.json")).unwrap();
    assert!(Model::load(dir.path()).is_err_and(|why| why.to_string().contains("no file")));
}
