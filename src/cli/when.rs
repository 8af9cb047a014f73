//! Moments and spans of time as people write them.

use std::time::Duration;

use chrono::{
    DateTime, Days, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc,
};

use crate::text::read_size;

/// What can be written, for whoever wrote something else.
const FORMS: &str = "write `2026-11-30`, `2026-11-30 10:00`, `2026-11-30T10:00:00Z`, `today`, `yesterday 14:30`, `now`, \
                     or an age such as `30m`, `2h`, `3d`, `1w`";

/// Units of a span, in seconds; the first is the one that has been meant where several look alike.
const UNITS: &[(&[&str], i64)] = &[
    (&["s", "sec", "secs", "second", "seconds"], 1),
    (&["m", "min", "mins", "minute", "minutes"], 60),
    (&["h", "hour", "hours"], 3600),
    (&["d", "day", "days"], 86_400),
    (&["w", "week", "weeks"], 7 * 86_400),
];

/// When and where a text is read.
struct Clock<'a> {
    now: DateTime<Utc>,
    today: NaiveDate,
    /// Which moments a local time is.
    local: &'a dyn Fn(NaiveDateTime) -> MappedLocalTime<DateTime<Utc>>,
}

/// Reads a moment, here and now.
pub(super) fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let now = Local::now();
    let local = |naive: NaiveDateTime| Local.from_local_datetime(&naive).map(|time| time.to_utc());
    Clock { now: now.to_utc(), today: now.date_naive(), local: &local }.read(text)
}

/// Reads a moment that is to come: one, or a span from now on.
#[cfg(feature = "search")]
pub(super) fn coming(text: &str) -> Result<DateTime<Utc>, String> {
    match seconds(text.trim()).map(TimeDelta::try_seconds) {
        None => moment(text),
        Some(span) => {
            let end = span.and_then(|span| Utc::now().checked_add_signed(span));
            end.ok_or_else(|| "that is too far away".to_owned())
        }
    }
}

/// A moment as people read it: local time, to the second.
pub(super) fn local(time: &DateTime<Utc>) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long ago, in one figure; from the future it is `0s`.
pub(super) fn age(time: &DateTime<Utc>, now: &DateTime<Utc>) -> String {
    let seconds = (*now - *time).num_seconds().max(0);
    let units = [(365 * 86_400, "y"), (7 * 86_400, "w"), (86_400, "d"), (3600, "h"), (60, "m")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds >= *size).unwrap_or((1, "s"));
    format!("{}{unit}", seconds / size)
}

/// Reads a span of time: `90d`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text).and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map(Duration::from_secs).ok_or_else(|| "write a number and a unit: `90d`, `12h`, `4w`".to_owned())
}

/// Reads a size: `1GiB`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    read_size(text).ok_or_else(|| "write a number of bytes, or `512KiB`, `20MiB`, `1GiB`".to_owned())
}

fn seconds(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(names, _)| names.contains(&unit.trim_start()))?;
    number.parse::<i64>().ok()?.checked_mul(*factor)
}

impl Clock<'_> {
    fn read(&self, text: &str) -> Result<DateTime<Utc>, String> {
        let text = text.trim();
        if text == "now" {
            return Ok(self.now);
        }
        if let Some(seconds) = seconds(text.strip_suffix("ago").map_or(text, str::trim_end)) {
            let before = TimeDelta::try_seconds(seconds).and_then(|span| self.now.checked_sub_signed(span));
            return before.ok_or_else(|| "that is too long ago".to_owned());
        }
        if let Some(time) = with_offset(text) {
            return Ok(time);
        }
        let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, ""));
        let time = if time.is_empty() { Some(NaiveTime::MIN) } else { time_of_day(time.trim_start()) };
        match (self.date(date), time) {
            (Some(date), Some(time)) => self.resolve(text, date.and_time(time)),
            _ => Err(refuse(text, date)),
        }
    }

    fn date(&self, text: &str) -> Option<NaiveDate> {
        match text {
            "today" => Some(self.today),
            "yesterday" => self.today.checked_sub_days(Days::new(1)),
            // Only the year has four digits: no other order can be meant.
            _ => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.find('-') == Some(4)),
        }
    }

    fn resolve(&self, text: &str, naive: NaiveDateTime) -> Result<DateTime<Utc>, String> {
        match (self.local)(naive) {
            MappedLocalTime::Single(time) => Ok(time),
            MappedLocalTime::Ambiguous(one, other) => {
                // Which of them comes first depends on the zone.
                let [first, second] =
                    [one.min(other), one.max(other)].map(|time| time.format("%Y-%m-%dT%H:%M:%SZ"));
                Err(format!(
                    "it is ambiguous: the clocks were set back, and {text} came twice; write `{first}` or `{second}`"
                ))
            }
            MappedLocalTime::None => Err(format!(
                "there is no such time: the clocks were set forward past {text}; write a time with its offset, such as `{}Z`",
                naive.format("%Y-%m-%dT%H:%M:%S")
            )),
        }
    }
}

fn with_offset(text: &str) -> Option<DateTime<Utc>> {
    let parsed = DateTime::parse_from_rfc3339(text);
    let parsed = parsed.or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%#z"));
    parsed.ok().map(|time| time.to_utc())
}

fn time_of_day(text: &str) -> Option<NaiveTime> {
    ["%H:%M", "%H:%M:%S%.f"].iter().find_map(|form| NaiveTime::parse_from_str(text, form).ok())
}

/// Why a text is no moment; where it could be one of two dates, both are named.
fn refuse(text: &str, date: &str) -> String {
    let parts: Vec<u32> = date.split(['/', '.', '-']).map_while(|part| part.parse().ok()).collect();
    if let [a, b, year] = parts[..] {
        let year = if year < 100 { 2000 + year } else { year };
        let readings =
            [(a, b), (b, a)].map(|(month, day)| NaiveDate::from_ymd_opt(year.cast_signed(), month, day));
        return match readings {
            [Some(one), Some(other)] if one != other => {
                format!("it is ambiguous: write `{one}` or `{other}`")
            }
            [Some(date), _] | [None, Some(date)] => format!("write `{date}`"),
            [None, None] => format!("`{text}` is no time: {FORMS}"),
        };
    }
    match time_of_day(text) {
        Some(_) => format!("of which day? write `today {text}` or `yesterday {text}`"),
        None => format!("it is no time: {FORMS}"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(text).unwrap().to_utc()
    }

    /// Reads at noon of 30 November 2026, two hours east of Greenwich.
    fn read(text: &str) -> Result<DateTime<Utc>, String> {
        let zone = FixedOffset::east_opt(7200).unwrap();
        let local = |naive: NaiveDateTime| zone.from_local_datetime(&naive).map(|time| time.to_utc());
        let now = utc("2026-11-30T10:00:00Z");
        Clock { now, today: now.with_timezone(&zone).date_naive(), local: &local }.read(text)
    }

    #[test]
    fn moments() {
        let cases = [
            ("2026-11-30T09:30:00Z", "2026-11-30T09:30:00Z"),
            ("2026-11-30T09:30:00.25+01:00", "2026-11-30T08:30:00.25Z"),
            ("2026-11-30T09:30Z", "2026-11-30T09:30:00Z"),
            ("2026-11-30T09:30+01:00", "2026-11-30T08:30:00Z"),
            ("2026-11-30", "2026-11-29T22:00:00Z"),
            ("2026-11-30 10:00", "2026-11-30T08:00:00Z"),
            ("2026-11-30T10:00", "2026-11-30T08:00:00Z"),
            ("2026-11-30 10:00:05", "2026-11-30T08:00:05Z"),
            ("2026-11-30 10:00:05.5", "2026-11-30T08:00:05.5Z"),
            (" now ", "2026-11-30T10:00:00Z"),
            ("today", "2026-11-29T22:00:00Z"),
            ("yesterday", "2026-11-28T22:00:00Z"),
            ("yesterday 14:30", "2026-11-29T12:30:00Z"),
            ("45s", "2026-11-30T09:59:15Z"),
            ("30m", "2026-11-30T09:30:00Z"),
            ("2h", "2026-11-30T08:00:00Z"),
            ("2h ago", "2026-11-30T08:00:00Z"),
            ("2 hours ago", "2026-11-30T08:00:00Z"),
            ("3d", "2026-11-27T10:00:00Z"),
            ("1w", "2026-11-23T10:00:00Z"),
            ("0s", "2026-11-30T10:00:00Z"),
            ("2030-01-01", "2029-12-31T22:00:00Z"),
        ];
        for (text, time) in cases {
            assert_eq!(read(text), Ok(utc(time)), "{text}");
        }
    }

    #[test]
    fn what_may_mean_two_things_is_refused_with_what_to_write() {
        let cases = [
            ("03/04/2026", "it is ambiguous: write `2026-03-04` or `2026-04-03`"),
            ("3.4.2026 10:00", "it is ambiguous: write `2026-03-04` or `2026-04-03`"),
            ("03-04-26", "it is ambiguous: write `2026-03-04` or `2026-04-03`"),
            ("30.11.2026", "write `2026-11-30`"),
            ("11/30/2026", "write `2026-11-30`"),
            ("14:30", "of which day? write `today 14:30` or `yesterday 14:30`"),
        ];
        for (text, why) in cases {
            assert_eq!(read(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_told_what_is() {
        for text in [
            "",
            "soon",
            "2026",
            "2026-13-01",
            "2026-11-30 25:00",
            "2x",
            "-2h",
            "ago",
            "31/31/2026",
            "1 month",
        ] {
            assert!(
                read(text).unwrap_err().contains("is no time: write `2026-11-30`"),
                "{text}: {:?}",
                read(text)
            );
        }
        for text in ["99999999999999w", "9223372036854775807s"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// A zone whose clocks are set forward at 02:00 on 29 March 2026, and back at 03:00 on 25 October.
    fn summer(naive: NaiveDateTime) -> MappedLocalTime<DateTime<Utc>> {
        let at = |text: &str| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
        let standard = (naive - TimeDelta::hours(1)).and_utc();
        let summer = (naive - TimeDelta::hours(2)).and_utc();
        match naive {
            t if t < at("2026-03-29 02:00") || t >= at("2026-10-25 03:00") => {
                MappedLocalTime::Single(standard)
            }
            t if t < at("2026-03-29 03:00") => MappedLocalTime::None,
            t if t < at("2026-10-25 02:00") => MappedLocalTime::Single(summer),
            // As the zones of the system answer it.
            _ => MappedLocalTime::Ambiguous(standard, summer),
        }
    }

    #[test]
    fn local_times_that_come_twice_or_never_are_refused() {
        let now = utc("2026-11-30T10:00:00Z");
        let clock = Clock { now, today: now.date_naive(), local: &summer };
        assert_eq!(clock.read("2026-03-29 01:59"), Ok(utc("2026-03-29T00:59:00Z")));
        assert_eq!(clock.read("2026-03-29 03:00"), Ok(utc("2026-03-29T01:00:00Z")));
        let never = clock.read("2026-03-29 02:30").unwrap_err();
        assert!(never.starts_with("there is no such time: the clocks were set forward"), "{never}");
        assert_eq!(
            clock.read("2026-10-25 02:30").unwrap_err(),
            "it is ambiguous: the clocks were set back, and 2026-10-25 02:30 came twice; \
             write `2026-10-25T00:30:00Z` or `2026-10-25T01:30:00Z`"
        );
        assert_eq!(clock.read("2026-10-25T00:30:00Z"), Ok(utc("2026-10-25T00:30:00Z")));
    }

    #[test]
    fn ages() {
        let now = utc("2026-11-30T10:00:00Z");
        let cases = [
            (-5, "0s"),
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (7199, "1h"),
            (86_400, "1d"),
            (8 * 86_400, "1w"),
        ];
        for (seconds, shown) in cases {
            assert_eq!(age(&(now - TimeDelta::seconds(seconds)), &now), shown);
        }
        assert_eq!(age(&(now - TimeDelta::days(800)), &now), "2y");
    }

    #[test]
    fn spans_and_sizes() {
        assert_eq!(span("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(span("12 hours"), Ok(Duration::from_secs(12 * 3600)));
        for text in ["", "90", "d", "-1d", "1y", "99999999999999999w"] {
            assert!(span(text).is_err(), "{text}");
        }
        assert_eq!(size("7"), Ok(7));
        assert_eq!(size("20MiB"), Ok(20 << 20));
        for text in ["", "MiB", "1MB", "-1", "99999999999999GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
