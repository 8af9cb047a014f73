//! Word pieces and their numbers, made for a short start: one pass over the list, no allocation for each piece.

use memchr::memchr_iter;

/// What marks a piece that continues a word.
const CONTINUES: &[u8] = b"##";

/// Where in a word a piece stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Begins,
    Continues,
}

/// A fixed list of word pieces.
///
/// An open-addressing hash table over the text of the list. A slot holds half a hash and the number of a piece plus one;
/// 0 is an empty slot.
pub(super) struct Vocabulary {
    text: &'static [u8],
    /// Where the line of each piece begins.
    starts: Vec<u32>,
    slots: Vec<u32>,
    longest: usize,
}

impl Vocabulary {
    /// Reads a list of pieces, one a line, whose numbers are those of their lines; none if it has more than 65,535.
    pub(super) fn of(text: &'static str) -> Option<Self> {
        let text = text.as_bytes();
        let count = memchr_iter(b'\n', text).count();
        if count > usize::from(u16::MAX) {
            return None;
        }
        let slots = vec![0; (2 * count).next_power_of_two().max(2)];
        let mut made = Self { text, starts: Vec::with_capacity(count), slots, longest: 0 };
        let mut start = 0;
        for (end, number) in memchr_iter(b'\n', text).zip(1_u32..) {
            let line = &text[start..end];
            let (place, piece) = match line.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => (Place::Continues, rest),
                _ => (Place::Begins, line),
            };
            made.longest = made.longest.max(piece.len());
            made.starts.push(u32::try_from(start).ok()?);
            let (mut slot, half) = made.find(piece, place);
            while made.slots[slot] != 0 {
                slot = made.after(slot);
            }
            made.slots[slot] = half << 16 | number;
            start = end + 1;
        }
        Some(made)
    }

    /// The length in bytes of the longest piece.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The number of a piece.
    pub(super) fn number(&self, piece: &str, place: Place) -> Option<u32> {
        let (mut slot, half) = self.find(piece.as_bytes(), place);
        while self.slots[slot] != 0 {
            let (other, number) = (self.slots[slot] >> 16, (self.slots[slot] & 0xffff) - 1);
            if other == half && self.is(number, piece.as_bytes(), place) {
                return Some(number);
            }
            slot = self.after(slot);
        }
        None
    }

    fn is(&self, number: u32, piece: &[u8], place: Place) -> bool {
        let from = &self.text[self.starts[number as usize] as usize..];
        let from = if place == Place::Continues { from.strip_prefix(CONTINUES) } else { Some(from) };
        let after = from.and_then(|from| from.strip_prefix(piece));
        after.is_some_and(|after| after.first() == Some(&b'\n'))
    }

    /// The first slot to look in, and the half of the hash that is kept there.
    fn find(&self, piece: &[u8], place: Place) -> (usize, u32) {
        // FNV-1a, and a multiplication that spreads its bits: pieces are short.
        let seed = if place == Place::Begins { 0xcbf2_9ce4_8422_2325 } else { 0x8422_2325_cbf2_9ce4 };
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = piece.iter().fold(seed, step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let half = u32::try_from(hash >> 48).unwrap_or_default();
        let slot = usize::try_from(hash >> 16 & 0xffff_ffff).unwrap_or_default();
        (slot & (self.slots.len() - 1), half)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}
