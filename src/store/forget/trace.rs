//! Pieces of texts and names by which they would be known again, wherever they were left behind.

use std::collections::BTreeSet;

/// Pieces to look for: few and short, however much there was.
#[derive(Debug, Default)]
pub(super) struct Traces {
    pieces: BTreeSet<Vec<u8>>,
    bytes: usize,
}

/// As many pieces are kept at most: each takes at most [`LONGEST`] bytes, or a name's 255.
const MOST: usize = 16_384;
/// A piece of a line is no longer.
const LONGEST: usize = 64;
/// A line that is shorter is used only where all are.
const SHORTEST: usize = 24;
/// A shorter line, or name, stands in too many places by chance.
const TOO_SHORT: usize = 6;
/// So many different bytes make a piece distinctive.
const DIFFERENT: usize = 5;
const MOST_BYTES: usize = 8 << 20;

impl Traces {
    /// Adds the last segment of a path.
    pub(super) fn add_name(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.len() >= TOO_SHORT {
            self.add(name.as_bytes());
        }
    }

    /// Adds up to three lines of a content: the first, the last and one between, of those that are long enough.
    pub(super) fn add_content(&mut self, content: &[u8]) {
        if self.is_full() {
            return;
        }
        let lines = || {
            content.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| is_distinctive(line))
        };
        let long: Vec<&[u8]> = lines().filter(|line| line.len() >= SHORTEST).collect();
        if long.is_empty() {
            if let Some(line) = lines().max_by_key(|line| line.len()) {
                self.add(line);
            }
            return;
        }
        for at in [0, long.len() / 2, long.len() - 1] {
            self.add(&long[at][..long[at].len().min(LONGEST)]);
        }
    }

    /// Whether the history has had its share.
    pub(super) fn is_half_full(&self) -> bool {
        self.pieces.len() >= MOST / 2 || self.bytes >= MOST_BYTES / 2
    }

    /// The pieces, without those that stand in a text that stays.
    pub(super) fn without(self, text: &[u8]) -> Vec<Vec<u8>> {
        self.pieces.into_iter().filter(|piece| memchr::memmem::find(text, piece).is_none()).collect()
    }

    fn is_full(&self) -> bool {
        self.pieces.len() >= MOST || self.bytes >= MOST_BYTES
    }

    fn add(&mut self, piece: &[u8]) {
        if !self.is_full() && self.pieces.insert(piece.to_vec()) {
            self.bytes += piece.len();
        }
    }
}

fn is_distinctive(line: &[u8]) -> bool {
    let mut different: Vec<u8> = line.iter().take(LONGEST).copied().collect();
    different.sort_unstable();
    different.dedup();
    line.len() >= TOO_SHORT && different.len() >= DIFFERENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &str) -> Vec<String> {
        let mut traces = Traces::default();
        traces.add_content(content.as_bytes());
        traces.without(b"").into_iter().map(|piece| String::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn a_text_is_known_again_by_its_distinctive_lines() {
        let long = "The user's account number is 4711.";
        assert_eq!(of(&format!("# A\n\n{long}\n----------------------------\n")), [long]);
        assert_eq!(of("- short\n- shorter\n"), ["- shorter"]);
        assert_eq!(of("a\n"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of(&"0123456789".repeat(10)), ["0123456789".repeat(10)[..LONGEST].to_owned()]);
        let many = (0..100).map(|n| format!("this is the line number {n}")).collect::<Vec<_>>().join("\n");
        assert_eq!(of(&many).len(), 3);
    }

    #[test]
    fn what_stands_in_a_text_that_stays_is_no_trace() {
        let mut traces = Traces::default();
        traces.add_name("a/policies");
        traces.add_name("a/secrets.md");
        traces.add_name("b.md");
        assert_eq!(traces.without(b"read_only = [\"/memories/policies\"]"), [b"secrets.md"]);
    }

    #[test]
    fn there_are_never_too_many() {
        let mut traces = Traces::default();
        (0..3 * MOST).for_each(|n| traces.add_name(&format!("name-{n}")));
        assert_eq!(traces.without(b"").len(), MOST);
    }
}
