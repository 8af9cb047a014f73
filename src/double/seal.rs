//! Signing what the model thought and what was summed up, and checking it when it comes back.
//!
//! A signature has three codes (HMAC-SHA-256, cut to 16 bytes): of what the block says, of that with the name of the model,
//! and of that with everything that stands before it. So a block that was altered can be told from one whose conversation
//! was, and from one of another model. That of a summary on demand has in it what the conversation was that it stands for
//! (<https://platform.claude.com/docs/en/build-with-claude/compaction-thinking-blocks>: what is kept behind it stays valid).

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::prompt::plain;
use crate::context::Seal;
use crate::hash::{Hash, keyed};

/// What begins a signature.
const MAGIC: &[u8] = b"memdir\x01";
/// Of so many chains a summary knows that it stands for their ends: the latest ones.
const MOST_ENDS: usize = 16;
/// Bytes of a code.
const CODE: usize = 16;

/// Who signs.
#[derive(Debug, Clone, Default)]
pub(super) struct Signer {
    key: [u8; 32],
    /// Blocks with signatures that were made elsewhere and played: what was said, by which model, after what.
    foreign: HashMap<String, (Hash, Box<str>, Hash)>,
    /// How many redacted blocks were made.
    redacted: u64,
}

/// How a signature stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Fits,
    /// The block is not what was signed.
    Altered,
    /// Nobody signed it here.
    Foreign,
    /// Another model thought it.
    OtherModel,
    /// Something before it has changed.
    Unbound,
}

impl Standing {
    pub(super) fn seal(self) -> Seal {
        match self {
            Self::Fits | Self::OtherModel => Seal::Fits,
            Self::Altered | Self::Foreign => Seal::Forged,
            Self::Unbound => Seal::Unbound,
        }
    }

    /// Why it is refused, for people: the API does not tell.
    pub(super) fn why(self) -> Option<&'static str> {
        match self {
            Self::Fits | Self::OtherModel => None,
            Self::Altered => Some("the block was altered since it was signed"),
            Self::Foreign => Some("the block was not signed here, nor played from a script"),
            Self::Unbound => Some("the block was moved, or what stands before it has changed"),
        }
    }
}

impl Signer {
    /// How a block of thinking that came back stands; `chain`: of all before it.
    pub(super) fn judge(&self, block: &Value, chain: &Hash, model: &str) -> Standing {
        let said = said(block);
        let signature = block[field(block)].as_str().unwrap_or_default();
        if let Some((content, by, after)) = self.foreign.get(signature) {
            return match () {
                () if *content != Hash::of(said.as_bytes()) => Standing::Altered,
                () if **by != *model => Standing::OtherModel,
                () if after != chain => Standing::Unbound,
                () => Standing::Fits,
            };
        }
        let bytes = STANDARD.decode(signature).unwrap_or_default();
        let Some([content, by, after]) = codes(&bytes) else { return Standing::Foreign };
        let nonce = &bytes[MAGIC.len() + 3 * CODE..];
        let [right, right_by, right_after] = self.codes(&said, nonce, model, chain);
        match () {
            () if content != right => Standing::Altered,
            () if by != right_by => Standing::OtherModel,
            () if after != right_after => Standing::Unbound,
            () => Standing::Fits,
        }
    }

    /// Signs a block of thinking, or a compaction, that is said after what `chain` is of. One that has a signature keeps it.
    pub(super) fn sign(&mut self, block: &mut Value, chain: &Hash, model: &str) {
        let field = field(block);
        let said = said(block);
        if let Some(given) = block[field].as_str().filter(|given| !given.is_empty()) {
            let known = (Hash::of(said.as_bytes()), model.into(), *chain);
            self.foreign.insert(given.to_owned(), known);
            return;
        }
        let mut nonce = Vec::new();
        if field == "data" {
            self.redacted += 1;
            nonce.extend(self.redacted.to_be_bytes());
        }
        self.seal(block, &nonce, chain, model);
    }

    /// Signs a summary on demand, which stands for all that ends in one of the chains `ends`.
    pub(super) fn sign_summary(&self, block: &mut Value, chain: &Hash, model: &str, ends: &[Hash]) {
        let nonce: Vec<u8> = ends.iter().take(MOST_ENDS).flat_map(|end| end.0).collect();
        self.seal(block, &nonce, chain, model);
    }

    /// The chains of what a summary stands for: what was thought after that is bound to one of them, and stays valid.
    pub(super) fn ends(block: &Value) -> Vec<Hash> {
        let bytes = STANDARD.decode(block[field(block)].as_str().unwrap_or_default()).unwrap_or_default();
        let ends = codes(&bytes).map(|_| &bytes[MAGIC.len() + 3 * CODE..]).unwrap_or_default();
        ends.as_chunks().0.iter().map(|end| Hash(*end)).collect()
    }

    fn seal(&self, block: &mut Value, nonce: &[u8], chain: &Hash, model: &str) {
        let codes = self.codes(&said(block), nonce, model, chain);
        let bytes = [MAGIC, &codes[0], &codes[1], &codes[2], nonce].concat();
        let field = field(block);
        block[field] = json!(STANDARD.encode(bytes));
    }

    /// Whether a block has a signature, of whomever.
    pub(super) fn is_signed(block: &Value) -> bool {
        block[field(block)].is_string()
    }

    /// Signs a block, whatever signature it has.
    pub(super) fn sign_anew(&mut self, block: &mut Value, chain: &Hash, model: &str) {
        let field = field(block);
        block[field] = Value::Null;
        self.sign(block, chain, model);
    }

    fn codes(&self, said: &str, nonce: &[u8], model: &str, chain: &Hash) -> [[u8; CODE]; 3] {
        let code = |of: &[&[u8]]| {
            let parts: Vec<&[u8]> =
                [said.as_bytes(), b"\0", nonce, b"\0"].into_iter().chain(of.iter().copied()).collect();
            let mut code = [0; CODE];
            code.copy_from_slice(&keyed(&self.key, &parts).0[..CODE]);
            code
        };
        [code(&[]), code(&[model.as_bytes()]), code(&[model.as_bytes(), b"\0", &chain.0])]
    }
}

/// The field that holds the signature of a block: redacted thinking is nothing but one.
fn field(block: &Value) -> &'static str {
    if block["type"] == "redacted_thinking" { "data" } else { "signature" }
}

/// What a block says, without its signature.
fn said(block: &Value) -> String {
    let mut block = block.clone();
    let field = field(&block);
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove(field);
    }
    plain(&block)
}

fn codes(bytes: &[u8]) -> Option<[[u8; CODE]; 3]> {
    let codes = bytes.strip_prefix(MAGIC)?;
    let code = |at: usize| codes.get(at * CODE..(at + 1) * CODE)?.try_into().ok();
    Some([code(0)?, code(1)?, code(2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_altered_is_told_from_what_was_moved() {
        let (one, other) = (Hash::of(b"one"), Hash::of(b"other"));
        let mut signer = Signer::default();
        for mut block in [
            json!({"type": "thinking", "thinking": "Tea."}),
            json!({"type": "thinking", "thinking": "Tea.", "signature": "of another"}),
            json!({"type": "redacted_thinking"}),
        ] {
            signer.sign(&mut block, &one, "claude-opus-5-5");
            assert_eq!(signer.judge(&block, &one, "claude-opus-5-5"), Standing::Fits, "{block}");
            assert_eq!(signer.judge(&block, &other, "claude-opus-5-5"), Standing::Unbound, "{block}");
            assert_eq!(signer.judge(&block, &one, "claude-opus-5"), Standing::OtherModel, "{block}");
            let mut altered = block.clone();
            altered["thinking"] = json!("Coffee.");
            assert_eq!(signer.judge(&altered, &one, "claude-opus-5-5"), Standing::Altered, "{block}");
            let field = field(&block);
            block[field] = json!("made up");
            assert_eq!(signer.judge(&block, &one, "claude-opus-5-5"), Standing::Foreign, "{block}");
        }
    }
}
