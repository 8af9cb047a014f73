//! Whether a request is the one that was recorded, and where the two part ways.

use serde_json::Value;

use crate::context::{Entry, Request};
use crate::double::prompt::{plain, value_of};
use crate::text::echo;

/// Characters that are shown of what differs, and of what is the same before it.
const SHOWN: (usize, usize) = (80, 20);

/// What the messages of a request say: of one that was recorded, or of one that is made now.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    parts: Vec<Part>,
}

/// A block of a message.
#[derive(Debug, Clone)]
struct Part {
    message: usize,
    block: usize,
    role: &'static str,
    says: String,
}

impl Recorded {
    pub(super) fn read(request: &Value) -> Result<Self, String> {
        let request = Request::from_value(request).map_err(|why| format!("`request` is none: {why}"))?;
        Ok(Self::of(&request))
    }

    pub(super) fn of(request: &Request) -> Self {
        Self { parts: parts_of(request) }
    }

    /// Whether a request says the same as this: cache marks, fields that are null, and how blocks are spread over messages
    /// of one role do not count.
    pub(super) fn is_same(&self, sent: &Self) -> bool {
        self.parts.len() == sent.parts.len() && self.goes_with(sent) == sent.parts.len()
    }

    /// How many blocks are the same before a request and this part ways.
    pub(super) fn goes_with(&self, sent: &Self) -> usize {
        let same = |(a, b): (&Part, &Part)| a.role == b.role && a.says == b.says;
        sent.parts.iter().zip(&self.parts).take_while(|pair| same(*pair)).count()
    }

    /// How a request differs from this.
    pub(super) fn parts_with(&self, sent: &Self) -> String {
        let at = self.goes_with(sent);
        let place = |part: &Part| format!("messages.{}.content.{}", part.message, part.block);
        match (sent.parts.get(at), self.parts.get(at)) {
            (None, None) => "in nothing".to_owned(),
            (Some(sent), None) => format!("{} was not there", place(sent)),
            (None, Some(recorded)) => {
                let place = place(recorded);
                format!("the request ends before {place}: {}", echo(&recorded.says))
            }
            (Some(sent), Some(recorded)) if sent.role != recorded.role => {
                format!("{} is of the role {}, and was of {}", place(sent), sent.role, recorded.role)
            }
            (Some(sent), Some(recorded)) => {
                let (is, was) = (
                    from_difference(&sent.says, &recorded.says),
                    from_difference(&recorded.says, &sent.says),
                );
                format!("{} is `{}`, and was `{}`", place(sent), echo(&is), echo(&was))
            }
        }
    }
}

fn parts_of(request: &Request) -> Vec<Part> {
    let mut parts = Vec::new();
    for (i, entry) in request.messages().iter().enumerate() {
        let Entry::Message(message) = entry else { continue };
        for (j, block) in message.blocks().iter().enumerate() {
            let says = plain(&value_of(message, block));
            parts.push(Part { message: i, block: j, role: message.role().as_str(), says });
        }
    }
    parts
}

/// The piece of a text where it begins to differ from another.
fn from_difference(text: &str, other: &str) -> String {
    let (shown, before) = SHOWN;
    let same = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let start = same.saturating_sub(before);
    let piece: String = text.chars().skip(start).take(shown).collect();
    let is_whole = text.chars().nth(start + shown).is_none();
    format!("{}{piece}{}", if start == 0 { "" } else { "…" }, if is_whole { "" } else { "…" })
}
