//! Moments as front matter and calls give them: RFC 3339, and what people and other programs write in its place.

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, TimeDelta, Utc};

/// Reads a moment: a date, which may have a time, which may have an offset; UTC where there is none.
///
/// `2026-11-30`, `2026-11-30T09:12`, `2026-11-30T09:12:44Z`, `2026-11-30 09:12:44.5 +01:00`; also `t`, `z`, `+0100`, `+1`.
/// A date alone is its first moment. Years are those from 1 to 9999, in UTC. Source: RFC 3339; YAML 1.1, `timestamp`.
pub(crate) fn parse(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let split = text.find(['T', 't', ' ', '\t']);
    let (date, time) = split.map_or((text, None), |at| (&text[..at], Some(text[at + 1..].trim_start())));
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4, 4)?;
    let (month, day) = (digits(parts.next()?, 1, 2)?, digits(parts.next()?, 1, 2)?);
    if parts.next().is_some() {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    let Some(time) = time else { return with_offset(date.and_hms_opt(0, 0, 0)?, "") };
    let end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, offset) = (time[..end].trim_end(), &time[end..]);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?, 1, 2)?, digits(parts.next()?, 2, 2)?);
    let (second, nanos) = parts.next().map_or(Some((0, 0)), seconds)?;
    // A leap second is what RFC 3339 allows, and chrono has as the second before it.
    let (second, nanos) = if second == 60 { (59, nanos + 1_000_000_000) } else { (second, nanos) };
    with_offset(date.and_hms_nano_opt(hour, minute, second, nanos)?, offset)
}

fn digits(text: &str, least: usize, most: usize) -> Option<u32> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

fn seconds(text: &str) -> Option<(u32, u32)> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let whole = digits(whole, 2, 2)?;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{fraction:0<9}");
    Some((whole, digits(&nanos[..9], 9, 9)?))
}

fn with_offset(time: NaiveDateTime, text: &str) -> Option<DateTime<Utc>> {
    let time = time.checked_sub_signed(offset(text)?)?.and_utc();
    (1..=9999).contains(&time.year()).then_some(time)
}

fn offset(text: &str) -> Option<TimeDelta> {
    if matches!(text, "" | "Z" | "z") {
        return Some(TimeDelta::zero());
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let text = text.get(1..)?;
    let (hours, minutes) = match text.split_once(':') {
        Some((hours, minutes)) => (digits(hours, 1, 2)?, digits(minutes, 2, 2)?),
        None if text.len() == 4 && text.is_ascii() => (digits(&text[..2], 2, 2)?, digits(&text[2..], 2, 2)?),
        None => (digits(text, 1, 2)?, 0),
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    TimeDelta::try_minutes(sign * i64::from(hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_moment() {
        for (text, is) in [
            ("2026-11-30", "2026-11-30T00:00:00+00:00"),
            (" 2026-1-3 ", "2026-01-03T00:00:00+00:00"),
            ("2026-11-30T09:12", "2026-11-30T09:12:00+00:00"),
            ("2026-11-30T09:12:44", "2026-11-30T09:12:44+00:00"),
            ("2026-11-30T09:12:44Z", "2026-11-30T09:12:44+00:00"),
            ("2026-11-30t09:12:44z", "2026-11-30T09:12:44+00:00"),
            ("2026-11-30 09:12:44", "2026-11-30T09:12:44+00:00"),
            ("2026-11-30T09:12:44.250+01:00", "2026-11-30T08:12:44.250+00:00"),
            ("2026-11-30T09:12:44.1234567899Z", "2026-11-30T09:12:44.123456789+00:00"),
            ("2026-11-30T09:12:44-0530", "2026-11-30T14:42:44+00:00"),
            ("2001-12-14 21:59:43.10 -5", "2001-12-15T02:59:43.100+00:00"),
            ("2026-11-30T00:30:00+02", "2026-11-29T22:30:00+00:00"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:60+00:00"),
        ] {
            assert_eq!(parse(text).map(|time| time.to_rfc3339()).as_deref(), Some(is), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment() {
        for text in [
            "",
            "T",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-30",
            "0000-01-01",
            "-2026-01-01",
            "26-01-01",
            "2026-11-30T",
            "2026-11-30T25:00",
            "2026-11-30T09",
            "2026-11-30T09:1",
            "2026-11-30T09:12:4",
            "2026-11-30T09:12:44.",
            "2026-11-30T09:12:44+",
            "2026-11-30T09:12:44+24:00",
            "2026-11-30T09:12:44Zulu",
            "2026-11-30T09:12:44+é1",
            "2026-11-30x",
            "2026-11-30T09:12:61Z",
            "9999-12-31T23:59:59-01:00",
            "0001-01-01T00:00:00+01:00",
            "tomorrow",
            "２026-11-30",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
