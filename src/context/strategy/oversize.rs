//! One result that is far too large is cut before it is pushed: its head and tail stay, the whole goes to a memory file.

use serde::{Deserialize, Serialize};

use super::super::block::Kind;
use super::super::message::Message;
use super::super::profile::Profile;
use super::super::render::with_content;
use super::super::speech;
use super::{clear, ends};

/// How large one result may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oversize {
    /// The part of the window that one result may take, in percent.
    pub percent: u64,
    /// The memory directory that the whole goes to.
    pub spill_to: String,
}

impl Default for Oversize {
    fn default() -> Self {
        Self { percent: 10, spill_to: "/memories/context".to_owned() }
    }
}

/// A message that can be pushed, and the memory files to write first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Guarded {
    /// The message: as it came, when nothing in it was too large.
    pub message: Message,
    /// Paths and texts.
    pub spills: Vec<(String, String)>,
}

/// Fewer bytes than these, a token never has in any text: what is as long may be too large.
const BYTES_PER_TOKEN: u64 = 3;

impl Oversize {
    /// Cuts the results of a message that are too large for the model's window; `number` is the number that the message will
    /// have.
    #[must_use]
    pub fn guard(&self, message: Message, number: usize, profile: &Profile) -> Guarded {
        let most = profile.window / 100 * self.percent * BYTES_PER_TOKEN;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut spills = Vec::new();
        let mut json = String::new();
        let mut end = 0;
        for block in message.blocks() {
            let whole = message.block_json(block);
            if block.kind != Kind::ToolResult || whole.len() <= most {
                continue;
            }
            let Some(content) = speech::said(whole).and_then(|said| said.content) else { continue };
            let answer = speech::answer(content);
            if answer.has_more || answer.images > 0 || answer.text.len() <= most {
                continue;
            }
            let path = clear::path(&self.spill_to, block.answers.as_deref().unwrap_or_default(), number);
            let cut = head_and_tail(&answer.text, most / 2, &path);
            json.push_str(&message.json()[end..block.span.start]);
            json.push_str(&with_content(whole, &cut));
            end = block.span.end;
            spills.push((path, answer.text.into_owned()));
        }
        json.push_str(&message.json()[end..]);
        let message = if spills.is_empty() { message } else { Message::from_json(&json).unwrap_or(message) };
        Guarded { message, spills }
    }
}

/// The beginning and the end of a text, `each` bytes of both at most, with the place of the whole between them.
fn head_and_tail(text: &str, each: usize, path: &str) -> String {
    let (head, tail) = ends(text, each / 2, each / 2);
    let between = text.len() - head.len() - tail.len();
    format!("{head}\n[… {between} bytes left out; the whole is in {path} …]\n{tail}")
}
