//! Numbers of payment cards: known issuers, the groups that are printed on a card, and Luhn's check digit.

use super::around::{escaped_digits, is_escaped};

/// The groups that cards print their digits in, by the length of the last one.
fn groups(last: usize) -> &'static [&'static [usize]] {
    match last {
        3 => &[&[4, 4, 4, 4, 3]],
        4 => &[&[4, 4, 4, 4], &[4, 6, 4]],
        5 => &[&[4, 6, 5], &[4, 4, 5]],
        _ => &[],
    }
}

/// The lengths of cards whose digits are written without a blank. (Thirteen and nineteen digits are mostly times and ids.)
const PLAIN: std::ops::RangeInclusive<usize> = 14..=16;

/// As many groups a card has at most.
const MOST: usize = 5;

/// As many are kept at most; those that are too old go together.
const KEPT: usize = 64;

/// The shortest group that a card begins with.
const LEAST: usize = 4;

/// A run of digits.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    end: usize,
    /// How many of its digits may be the end of an escape before them.
    escaped: usize,
    /// What joins it to the run before.
    joint: &'static [u8],
    /// The sums of Luhn's check, when its last digit is not doubled and when it is.
    sums: [u32; 2],
}

/// Calls `each` with the range of every card number in a text, in order, until it breaks.
pub(super) fn each_card(text: &[u8], each: &mut dyn FnMut(usize, usize)) {
    // The last runs of digits that are joined by one and the same sign, the newest at the end.
    let mut blocks: Vec<Block> = Vec::with_capacity(KEPT);
    let mut at = 0;
    while let Some(start) = next_run(text, at) {
        blocks.clear();
        let mut block = Block::new(text, start, escaped_digits(text, start), b"");
        loop {
            at = block.end;
            if blocks.len() == KEPT {
                blocks.drain(..KEPT - MOST);
            }
            blocks.push(block);
            if let Some(start) = plain(text, &block).or_else(|| grouped(text, &blocks)) {
                blocks.clear();
                each(start, at);
            }
            let joint = joint(&text[at..]);
            if joint.is_empty() || !text.get(at + joint.len()).is_some_and(u8::is_ascii_digit) {
                break;
            }
            // Another sign: what goes on begins with the last run.
            if blocks.len() > 1 && joint != block.joint {
                blocks.drain(..blocks.len() - 1);
            }
            block = Block::new(text, at + joint.len(), 0, joint);
        }
    }
}

/// Where the next run of digits begins that is long enough to begin a card. `from` is no digit, or begins a text.
fn next_run(text: &[u8], from: usize) -> Option<usize> {
    // A run so long has a digit in every so many places.
    let mut at = from + LEAST - 1;
    loop {
        while !text.get(at)?.is_ascii_digit() {
            at += LEAST;
        }
        let mut start = at;
        while start > from && text[start - 1].is_ascii_digit() {
            start -= 1;
        }
        match text[start..].iter().take(LEAST).position(|byte| !byte.is_ascii_digit()) {
            Some(length) => at = start + length + LEAST,
            None => return Some(start),
        }
    }
}

/// What people and addresses write between groups: a dash, or one of the blanks.
fn joint(text: &[u8]) -> &'static [u8] {
    match text {
        [b' ', ..] => b" ",
        [b'-', ..] => b"-",
        [b'+', ..] => b"+",
        [b'%', b'2', b'0', ..] => b"%20",
        [0xc2, 0xa0, ..] => "\u{a0}".as_bytes(),
        [0xe2, 0x80, 0xaf, ..] => "\u{202f}".as_bytes(),
        _ => b"",
    }
}

impl Block {
    /// The run of digits that begins at `start`.
    fn new(text: &[u8], start: usize, escaped: usize, joint: &'static [u8]) -> Self {
        let length = text[start..].iter().position(|byte| !byte.is_ascii_digit());
        let end = length.map_or(text.len(), |length| start + length);
        let sums = if end - start <= 6 { sums(&text[start..end]) } else { [0; 2] };
        Self { start, end, escaped: escaped.min(end - start), joint, sums }
    }
}

/// Where a card begins that is one run of digits.
fn plain(text: &[u8], block: &Block) -> Option<usize> {
    [block.start, block.start + block.escaped].into_iter().find(|&start| {
        PLAIN.contains(&(block.end - start)) && {
            let digits = &text[start..block.end];
            is_issued(digits, digits.len())
                && sums(digits)[0].is_multiple_of(10)
                && is_free(text, start, block.end, b"-")
                && !is_same(digits)
        }
    })
}

/// Where a card begins that ends with the last of some runs of digits.
fn grouped(text: &[u8], blocks: &[Block]) -> Option<usize> {
    let last = blocks.last()?;
    groups(last.end - last.start).iter().find_map(|lengths| {
        let window = &blocks[blocks.len().checked_sub(lengths.len())?..];
        let (first, rest) = window.split_first()?;
        let is_rest =
            rest.iter().zip(&lengths[1..]).all(|(block, length)| block.end - block.start == *length);
        let start = first.end.checked_sub(lengths[0])?;
        let is_first = start == first.start || start == first.start + first.escaped;
        if !is_rest || !is_first || !is_issued(&text[start..first.end], lengths.iter().sum()) {
            return None;
        }
        let head = if start == first.start { first.sums } else { sums(&text[start..first.end]) };
        let sum = |(sum, behind): (u32, usize), (sums, length): (&[u32; 2], &usize)| {
            (sum + sums[behind % 2], behind + length)
        };
        let all = rest.iter().rev().map(|block| &block.sums).chain([&head]).zip(lengths.iter().rev());
        let is_checked = all.fold((0, 0), sum).0.is_multiple_of(10);
        let is_card =
            is_checked && is_free(text, start, last.end, last.joint) && !is_same(&text[start..last.end]);
        is_card.then_some(start)
    })
}

/// Whether what stands around a number is no more of it, of a name, or of a longer number: letters, digits, and what joins
/// numbers. `joint` is what joins its own groups.
fn is_free(text: &[u8], start: usize, end: usize, joint: &[u8]) -> bool {
    let (before, behind) = (&text[..start], &text[end..]);
    let is_inside = match before {
        [.., digit, b'.'] => digit.is_ascii_digit(),
        [.., digit, b'-'] => joint == b"-" && digit.is_ascii_digit(),
        [.., byte] => byte.is_ascii_alphanumeric() && !is_escaped(before),
        [] => false,
    };
    let goes_on = match behind {
        [b'.', next, ..] => next.is_ascii_digit(),
        [b'-', next, ..] => next.is_ascii_alphanumeric(),
        [byte, ..] => byte.is_ascii_alphanumeric(),
        [] => false,
    };
    !is_inside && !goes_on
}

fn is_same(digits: &[u8]) -> bool {
    digits.iter().filter(|byte| byte.is_ascii_digit()).all(|digit| *digit == digits[0])
}

/// Whether an issuer gives out numbers that begin so (with four digits at least), in this length.
fn is_issued(digits: &[u8], length: usize) -> bool {
    let first = |n: usize| digits[..n].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    match length {
        13 => first(1) == 4,
        14 => matches!(first(3), 300..=305 | 309) || matches!(first(2), 36 | 38 | 39),
        15 => matches!(first(2), 34 | 37),
        16 => {
            first(1) == 4
                || matches!(first(2), 51..=55 | 62 | 65)
                || matches!(first(4), 2221..=2720 | 3528..=3589 | 6011)
                || matches!(first(3), 644..=649)
        }
        19 => matches!(first(2), 40..=49 | 62 | 65) || first(4) == 6011,
        _ => false,
    }
}

/// The sums of Luhn's check over digits of which the last is not doubled, and is: every second one is, and counts for the
/// sum of its digits.
fn sums(digits: &[u8]) -> [u32; 2] {
    const DOUBLED: [u8; 10] = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
    digits.iter().fold([0, 0], |[single, double], digit| {
        let digit = digit - b'0';
        // One digit more at the end: what was not doubled there is now, and the other way round.
        [double + u32::from(digit), single + u32::from(DOUBLED[usize::from(digit)])]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        each_card(text.as_bytes(), &mut |start, end| {
            found.push(&text[start..end]);
        });
        found
    }

    #[test]
    fn cards_are_found_as_people_write_them() {
        for (text, card) in [
            ("4111111111111111", "4111111111111111"),
            ("visa 4111 1111 1111 1111, exp 12/27", "4111 1111 1111 1111"),
            ("in 2024 4111 1111 1111 1111 was it", "4111 1111 1111 1111"),
            ("5500-0055-5555-5559.", "5500-0055-5555-5559"),
            ("card=378282246310005;", "378282246310005"),
            ("3782 822463 10005", "3782 822463 10005"),
            ("3056 930902 5904", "3056 930902 5904"),
            ("6011000990139424", "6011000990139424"),
            ("no 1 4111-1111-1111-1111", "4111-1111-1111-1111"),
            ("card2-5500 0055 5555 5559", "5500 0055 5555 5559"),
            ("ann,4111111111111111,12/27", "4111111111111111"),
            ("ann,4111111111111111,visa", "4111111111111111"),
            ("4111111111111111.md", "4111111111111111"),
            (r"a\n4111111111111111\n", "4111111111111111"),
            ("?card=%3D4111111111111111", "4111111111111111"),
            ("?card=%204111111111111111%20", "4111111111111111"),
            ("?card=%2B4111+1111+1111+1111+x", "4111+1111+1111+1111"),
            ("?card=%204111%201111%201111%201111&x", "4111%201111%201111%201111"),
            ("4111\u{a0}1111\u{a0}1111\u{a0}1111", "4111\u{a0}1111\u{a0}1111\u{a0}1111"),
            ("\x1b[31m4111111111111111\x1b[0m", "4111111111111111"),
            (r"\u003e4111111111111111\u003c", "4111111111111111"),
            (r"\u00264111 1111 1111 1111", "4111 1111 1111 1111"),
            ("card_4111111111111111_", "4111111111111111"),
            ("/posts/4111111111111111/edit", "4111111111111111"),
            ("order-4111111111111111", "4111111111111111"),
            ("no.4111111111111111.", "4111111111111111"),
            ("2223 0031 2200 3222", "2223 0031 2200 3222"),
            ("3530111333300000", "3530111333300000"),
        ] {
            assert_eq!(cards(text), [card], "{text}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        for text in [
            "4111111111111112",
            "41111111111111111111",
            "1234 5678 9012 3456",
            "0.4111111111111111",
            "id4111111111111111",
            "4111111111111111x",
            "2024-4111111111111111",
            "1-4111-1111-1111-1111",
            "4111-1111-1111-1111-2",
            "4111111111111111-red",
            "%zz4111111111111111",
            "%20%204111111111111112",
            "4111_1111_1111_1111",
            "4111111111111111.5",
            "4111 1111 1111 1111 2",
            "4111 1111-1111 1111",
            "4444444444444444",
            "20241130105344",
            "978-3-16-148410-0",
            "1700000000000000",
        ] {
            let found = cards(text);
            let is_longer = text == "4111 1111 1111 1111 2";
            assert_eq!(found.is_empty(), !is_longer, "{text}: {found:?}");
        }
    }

    #[test]
    fn signs_around_a_card_do_not_hide_it() {
        let card = "4111111111111111";
        for sign in [
            "/", "#", "_", "+", "=", "%", ":", ",", ";", "(", "[", "{", "<", ">", "\"", "'", "|", "%20",
            "\n", "\t",
        ] {
            for text in [format!("{sign}{card}"), format!("{card}{sign}"), format!("a{sign}{card}{sign}a")] {
                assert_eq!(cards(&text), [card], "{text}");
            }
        }
    }

    #[test]
    fn the_check_is_the_sum_of_digits_of_which_every_second_is_doubled() {
        assert_eq!(sums(b"79927398713"), [70, 62]);
        assert_eq!(sums(b"12"), [2 + 2, 1 + 4]);
        assert_eq!(sums(b"90"), [9, 9]);
    }
}
