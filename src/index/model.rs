//! Texts as vectors: the embedding table that is in the program, or one from a directory.
//!
//! A static embedding has a row for each word piece; a text is the mean of the rows of its pieces. That needs no network of
//! neurons and no training here, and takes some microseconds.

#![allow(clippy::disallowed_methods, reason = "a model is no file of a store")]

use std::borrow::Cow;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::Deserialize;
use tokenizers::Tokenizer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::IndexError;
use table::Table;
use vocabulary::Vocabulary;

mod table;
mod tensors;
mod vocabulary;
mod wordpiece;

/// Of a text, the pieces after the first 512 do not count.
const MOST_PIECES: usize = 512;

/// Of a text, what lies after its first 8,192 bytes does not count.
const LONGEST_TEXT: usize = 8192;

/// No file of a model is larger (2 GiB).
const LARGEST_FILE: u64 = 2 << 30;

/// What is in the program. A new table or vocabulary gets a new name: indexes made with another are built again.
const BUILTIN: &str = "static-256/1";
static TENSORS: &[u8] = include_bytes!("../../models/static-256/model.safetensors");
static VOCABULARY: &str = include_str!("../../models/static-256/vocab.txt");

/// A static embedding: a table with a row for each word piece.
pub(crate) struct Model {
    id: String,
    pieces: Pieces,
    table: Table,
}

/// What cuts a text into word pieces.
enum Pieces {
    Builtin(Vocabulary),
    Other { tokenizer: Box<Tokenizer>, unknown: Option<u32> },
}

/// What the crate does not tell of a `tokenizer.json`: the token for what is unknown.
#[derive(Deserialize)]
struct Told {
    model: ToldModel,
}

#[derive(Deserialize)]
struct ToldModel {
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default)]
    unk_id: Option<u32>,
}

impl Model {
    /// The table that is in the program: 256 dimensions, English, lower case.
    ///
    /// It is ready in about a millisecond: the rows stay where they are in the program.
    pub(crate) fn builtin() -> Result<Self, IndexError> {
        let vocabulary = Vocabulary::of(VOCABULARY).ok_or_else(|| fault("its vocabulary is too large"))?;
        let table = Table::read(Cow::Borrowed(TENSORS))?;
        Ok(Self { id: BUILTIN.to_owned(), pieces: Pieces::Builtin(vocabulary), table })
    }

    /// A model2vec directory: `tokenizer.json` and `model.safetensors`.
    ///
    /// `config.json` is not read: vectors always get length 1, since all that is asked of them is a cosine.
    pub(crate) fn load(dir: &Path) -> Result<Self, IndexError> {
        let (json, tensors) = (read(dir, "tokenizer.json")?, read(dir, "model.safetensors")?);
        let id = format!(
            "model2vec/{:08x}-{}-{:08x}-{}",
            crc32fast::hash(&json),
            json.len(),
            crc32fast::hash(&tensors),
            tensors.len()
        );
        let not = |why: &dyn std::fmt::Display| fault(format!("`tokenizer.json` is no tokenizer: {why}"));
        let told: Told = serde_json::from_slice(&json).map_err(|why| not(&why))?;
        // Nothing is known of what the crate does with a file that was made to harm.
        let read = catch_unwind(|| Tokenizer::from_bytes(&json)).map_err(|_| not(&"it cannot be read"))?;
        let mut tokenizer = Box::new(read.map_err(|why| not(&why))?);
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|why| not(&why))?;
        let unknown = told.model.unk_token.and_then(|token| tokenizer.token_to_id(&token));
        let unknown = unknown.or(told.model.unk_id);
        Ok(Self {
            id,
            pieces: Pieces::Other { tokenizer, unknown },
            table: Table::read(Cow::Owned(tensors))?,
        })
    }

    /// What tells it from other models: vectors of models with the same id can be compared.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// How many numbers a vector has: 1 to 4,096.
    pub(crate) fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// Whether it knows the words of a text, not its letters alone: of other scripts than the Latin one the table in the program has
    /// single letters, by which all texts of a script are alike.
    pub(crate) fn reads(&self, text: &str) -> bool {
        let letters = || text.chars().filter(|c| c.is_alphabetic());
        let latin = || {
            letters().filter(|&c| {
                c.nfkc()
                    .all(|c| c < '\u{250}' || ('\u{1e00}'..'\u{1f00}').contains(&c) || is_combining_mark(c))
            })
        };
        matches!(self.pieces, Pieces::Other { .. }) || latin().count() * 2 >= letters().count()
    }

    /// The normalised mean of the rows of a text's word pieces; all zero where there are none.
    ///
    /// Unknown words do not count, and neither does what lies beyond the first 512 pieces or 8,192 bytes. Every number is
    /// finite.
    pub(crate) fn embed(&self, text: &str) -> Vec<f32> {
        let text = head(text);
        let mut tokens = Vec::new();
        match &self.pieces {
            Pieces::Builtin(vocabulary) => wordpiece::pieces(vocabulary, text, MOST_PIECES, &mut tokens),
            Pieces::Other { tokenizer, unknown } => {
                let found = catch_unwind(AssertUnwindSafe(|| tokenizer.encode_fast(text, false)));
                if let Ok(Ok(found)) = found {
                    let known = found.get_ids().iter().filter(|id| Some(**id) != *unknown);
                    tokens.extend(known.take(MOST_PIECES));
                }
            }
        }
        self.table.mean(&tokens)
    }
}

/// What counts of a text.
fn head(text: &str) -> &str {
    let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

fn read(dir: &Path, name: &str) -> Result<Vec<u8>, IndexError> {
    let path = dir.join(name);
    let not = |why: &dyn std::fmt::Display| fault(format!("`{name}` cannot be read: {why}"));
    let found = fs::metadata(&path).map_err(|why| not(&why))?;
    if !found.is_file() || found.len() > LARGEST_FILE {
        return Err(not(&"it is no file, or too large"));
    }
    fs::read(&path).map_err(|why| not(&why))
}

fn fault(what: impl std::fmt::Display) -> IndexError {
    IndexError(format!("the model: {what}"))
}

#[cfg(test)]
mod tests;
