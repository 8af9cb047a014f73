//! How many tokens a content takes: bytes by class, and what a token of each class is worth, learned from reports.
//!
//! There is no vocabulary here, and none is needed: what was sent is known from the last report, so that only what came
//! since is estimated.

use std::ops::{AddAssign, Sub, SubAssign};

use memchr::memmem;
use serde_json::Value;

use super::block::{Block, Kind};
use super::fields::Fields;
use super::message::Message;
use super::plan::To;
use super::speech;
use super::{render, request};

/// What a content is made of. A difference of two may be negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mix {
    /// Bytes of prose.
    pub prose: i64,
    /// Bytes of code, JSON, numbers, tables.
    pub code: i64,
    /// Characters of Chinese, Japanese and Korean.
    pub cjk: i64,
    /// Images, and parts of documents that come as base64.
    pub images: i64,
}

/// Text with more signs and digits than one in so many characters is code.
const SIGNS_OF_CODE: u64 = 8;
/// One image, or so many characters of another file in base64, count as one image.
const FILE_PART: usize = 50_000;

impl Mix {
    /// The make-up of a message.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let mut mix = Self { code: 16, ..Self::default() };
        for block in message.blocks() {
            mix += Self::of_block(message, block);
        }
        mix
    }

    /// The make-up of a message with changes, each with the number of its block. Where nothing is left, it is not sent.
    pub(super) fn of_edited<'a>(message: &Message, changes: impl Iterator<Item = (usize, &'a To)>) -> Self {
        let mut changes = changes.peekable();
        let mut mix = Self { code: 16, ..Self::default() };
        let mut is_blank = true;
        for (number, block) in message.blocks().iter().enumerate() {
            let change = changes.next_if(|(changed, _)| *changed == number).map(|(_, to)| to);
            let Some(json) = render::changed(message.block_json(block), change) else { continue };
            is_blank &= block.is_blank && block.kind == Kind::Text;
            mix += Self::of_json(block.kind, &json);
        }
        if is_blank { Self::default() } else { mix }
    }

    /// The make-up of a block of a message.
    pub(crate) fn of_block(message: &Message, block: &Block) -> Self {
        Self::of_json(block.kind, message.block_json(block))
    }

    /// Cache marks are no part of what a model reads: where they are does not change it.
    fn of_json(kind: Kind, json: &str) -> Self {
        let bare = memmem::find(json.as_bytes(), b"\"cache_control\"").map(|_| request::unmarked(json));
        let json = bare.as_deref().unwrap_or(json);
        match kind {
            Kind::Thinking => match speech::thinking(json) {
                Some(bytes) => Self { prose: signed(bytes), ..Self::default() },
                None => Self { code: signed(json.len()), ..Self::default() },
            },
            // The model reads neither its signature nor what is encrypted in it.
            Kind::Compaction => {
                let unread = [("signature", None), ("encrypted_content", None)];
                Self::of_text(&Fields::read(json).map_or_else(String::new, |fields| fields.with(&unread)))
            }
            _ if memmem::find(json.as_bytes(), b"\"base64\"").is_some() => with_files(json),
            _ => Self::of_text(json),
        }
    }

    /// The make-up of a text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let mut counts = [0u64; 4];
        for byte in text.bytes() {
            counts[usize::from(CLASSES[usize::from(byte)])] += 1;
        }
        let [letters, signs, cjk, _] = counts;
        let bytes = signed(text.len()) - 3 * cjk.cast_signed();
        let is_code = signs * SIGNS_OF_CODE > letters + signs;
        let (prose, code) = if is_code { (0, bytes) } else { (bytes, 0) };
        Self { prose, code, cjk: cjk.cast_signed(), images: 0 }
    }
}

/// Letters and blanks, signs and digits, the first byte of a CJK character, any other byte.
const CLASSES: [u8; 256] = {
    let mut classes = [3; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte {
            0x41..=0x5a | 0x61..=0x7a | 0x20 | 0x09..=0x0d => 0,
            _ => 1,
        };
        byte += 1;
    }
    // U+3000 to U+DFFF: kana, ideographs, Hangul.
    byte = 0xe3;
    while byte <= 0xed {
        classes[byte] = 2;
        byte += 1;
    }
    classes
};

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The make-up of a block with files in it.
fn with_files(json: &str) -> Mix {
    fn walk(value: &mut Value, images: &mut usize) {
        match value {
            Value::Object(fields) => {
                let is_file = fields.get("type").is_some_and(|kind| kind == "base64");
                let is_image = fields
                    .get("media_type")
                    .and_then(Value::as_str)
                    .is_some_and(|media| media.starts_with("image/"));
                if let Some(Value::String(data)) = fields.get_mut("data").filter(|_| is_file) {
                    *images += if is_image { 1 } else { data.len().div_ceil(FILE_PART) };
                    data.clear();
                }
                fields.values_mut().for_each(|value| walk(value, images));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| walk(value, images)),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_str(json) else { return Mix::of_text(json) };
    let mut images = 0;
    walk(&mut value, &mut images);
    Mix { images: signed(images), ..Mix::of_text(&value.to_string()) }
}

impl AddAssign for Mix {
    fn add_assign(&mut self, other: Self) {
        self.prose += other.prose;
        self.code += other.code;
        self.cjk += other.cjk;
        self.images += other.images;
    }
}

impl SubAssign for Mix {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sub for Mix {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            prose: self.prose - other.prose,
            code: self.code - other.code,
            cjk: self.cjk - other.cjk,
            images: self.images - other.images,
        }
    }
}

/// Tells how many tokens a content takes.
pub trait TokenCounter {
    /// The tokens of a content; of a difference, negative ones too.
    fn tokens(&self, mix: &Mix) -> f64;

    /// Takes in that a content took so many tokens.
    fn learn(&mut self, mix: &Mix, tokens: f64);
}

/// Four characters a token, whatever they are, and nothing is learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FourCharacters;

impl TokenCounter for FourCharacters {
    fn tokens(&self, mix: &Mix) -> f64 {
        float(mix.prose + mix.code + mix.cjk) / 4.0 + float(mix.images) * IMAGE
    }

    fn learn(&mut self, _: &Mix, _: f64) {}
}

/// What each class is worth, learned from every report: a Kalman filter over three weights.
#[derive(Debug, Clone, PartialEq)]
pub struct ByClass {
    /// Tokens per byte of prose, per byte of code, per CJK character.
    weights: [f64; 3],
    /// How sure that is.
    spread: [[f64; 3]; 3],
}

/// An image of the size that the API scales large ones down to.
const IMAGE: f64 = 1_600.0;
/// How far a report may be from what the right weights say, as a part of it.
const NOISE: f64 = 0.03;
/// So many tokens, a report may be off whatever its size: what frames messages and calls.
const FRAME: f64 = 12.0;
/// How much the weights may move from one report to the next: another language, another kind of code.
const DRIFT: f64 = 1e-5;
/// Tokens per byte or character that a tokenizer can have.
const POSSIBLE: (f64, f64) = (0.03, 3.0);

impl Default for ByClass {
    /// Four characters a token; a character of CJK is one.
    fn default() -> Self {
        Self { weights: [0.25, 0.25, 1.0], spread: [[0.01, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.2]] }
    }
}

impl TokenCounter for ByClass {
    fn tokens(&self, mix: &Mix) -> f64 {
        dot(&self.weights, &parts(mix)) + float(mix.images) * IMAGE
    }

    fn learn(&mut self, mix: &Mix, tokens: f64) {
        let parts = parts(mix);
        let tokens = tokens - float(mix.images) * IMAGE;
        if tokens <= 0.0 || parts.iter().any(|part| *part < 0.0) {
            return;
        }
        for (at, row) in self.spread.iter_mut().enumerate() {
            row[at] += DRIFT;
        }
        let toward: [f64; 3] = std::array::from_fn(|row| dot(&self.spread[row], &parts));
        let noise = NOISE * tokens + FRAME;
        let gain = toward.map(|one| one / (dot(&parts, &toward) + noise * noise));
        let miss = tokens - dot(&self.weights, &parts);
        for (weight, gain) in self.weights.iter_mut().zip(gain) {
            *weight = (*weight + gain * miss).clamp(POSSIBLE.0, POSSIBLE.1);
        }
        for (row, gain) in self.spread.iter_mut().zip(gain) {
            for (cell, toward) in row.iter_mut().zip(toward) {
                *cell -= gain * toward;
            }
        }
    }
}

fn parts(mix: &Mix) -> [f64; 3] {
    [float(mix.prose), float(mix.code), float(mix.cjk)]
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[allow(clippy::cast_precision_loss, reason = "bytes of a conversation are far below 2^53")]
fn float(bytes: i64) -> f64 {
    bytes as f64
}
