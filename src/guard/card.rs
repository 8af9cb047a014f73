//! Numbers of payment cards: known issuers, the groups that are printed on a card, and Luhn's check digit.

use super::value::is_escaped;

/// The groups that cards print their digits in; a number without blanks is one group.
const GROUPS: &[&[usize]] =
    &[&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3], &[4, 4, 5], &[14], &[15], &[16]];

/// A run of digits.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    end: usize,
}

/// Calls `each` with the range of every card number in a text, in order.
pub(super) fn each_card(text: &[u8], each: &mut dyn FnMut(usize, usize)) {
    // The last runs of digits that one and the same separator joins, the newest at the end.
    let mut blocks: Vec<Block> = Vec::with_capacity(8);
    let mut at = 0;
    while let Some(start) = next_digit(text, at) {
        let mut end = start + 1;
        while text.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        at = end;
        let is_near = |last: &Block| start == last.end + 1 && matches!(text[last.end], b' ' | b'-');
        match (blocks.last().copied().filter(is_near), blocks.iter().rev().nth(1)) {
            (None, _) => blocks.clear(),
            // Another separator: what goes on begins with the last run.
            (Some(last), Some(previous)) if text[previous.end] != text[last.end] => {
                blocks.clear();
                blocks.push(last);
            }
            _ => {}
        }
        if blocks.len() == 8 {
            blocks.drain(..4);
        }
        blocks.push(Block { start, end });
        for groups in GROUPS {
            let Some(first) = blocks.len().checked_sub(groups.len()) else { continue };
            let window = &blocks[first..];
            let fits = window.iter().zip(*groups).all(|(block, length)| block.end - block.start == *length);
            if fits && is_card(text, window[0].start, end) {
                each(window[0].start, end);
                blocks.clear();
                break;
            }
        }
    }
}

fn next_digit(text: &[u8], from: usize) -> Option<usize> {
    text[from..].iter().position(u8::is_ascii_digit).map(|at| from + at)
}

fn is_card(text: &[u8], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).map_or(b' ', |at| text[at]);
    let beyond = |at: usize| text.get(at).copied().unwrap_or(b' ');
    // A piece of a name, of a path, of a number with a point.
    let is_inside = matches!(before, b'_' | b'.' | b'/' | b'+' | b'#' | b'%')
        || before.is_ascii_alphanumeric() && !is_escaped(&text[..start]);
    let goes_on = match beyond(end) {
        byte if byte.is_ascii_alphanumeric() || byte == b'_' => true,
        b'.' => beyond(end + 1).is_ascii_digit(),
        b'-' | b'/' => beyond(end + 1).is_ascii_alphanumeric(),
        _ => false,
    };
    if is_inside || goes_on {
        return false;
    }
    let digits: Vec<u8> =
        text[start..end].iter().filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0').collect();
    let is_same = digits.iter().all(|digit| *digit == digits[0]);
    !is_same && is_issued(&digits) && is_checked(&digits)
}

/// Whether an issuer gives out numbers that begin so, in this length.
fn is_issued(digits: &[u8]) -> bool {
    let first = |n: usize| digits[..n].iter().fold(0, |number, digit| number * 10 + u32::from(*digit));
    match digits.len() {
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

/// Luhn's check.
fn is_checked(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &digit)| match u32::from(digit) << (i % 2) {
            double @ 10.. => double - 9,
            digit => digit,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        each_card(text.as_bytes(), &mut |start, end| found.push(&text[start..end]));
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
            "id_4111111111111111",
            "/posts/4111111111111111",
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
}
