//! When a line was written.

use jiff::Timestamp;

use crate::Entry;
use crate::json::Value;

/// The time of a line.
///
/// Read from `timestamp`; from the `snapshot` of a file history line; and from
/// the float `message.timestamp` that old descriptions of the format know.
pub fn timestamp_of(entry: &Entry<'_>) -> Option<Timestamp> {
    let direct = entry.get("timestamp").and_then(parse);
    direct.or_else(|| {
        ["snapshot", "message"].iter().find_map(|field| parse(entry.get(field)?.get("timestamp")?))
    })
}

/// The time that an ISO 8601 text names.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    parse_usual(text.as_bytes()).or_else(|| text.parse().ok())
}

/// A time in the one spelling that clients use, such as
/// `2026-11-16T00:16:12.116Z`: every line has one.
fn parse_usual(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let marks = [text[4], text[7], text[10], text[13], text[16], text[19], text[23]];
    if marks != *b"--T::.Z" {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to].iter().try_fold(0, |number: i64, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Every month has 28 days; what is odd is left to the careful way.
    let is_plain = (1..=12).contains(&month) && (1..=28).contains(&day) && year >= 1;
    if !is_plain || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Years are counted from March, so that the day that may be missing is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Timestamp::from_millisecond(seconds * 1000 + number(20, 23)?).ok()
}

/// An ISO 8601 text, or a number of seconds or milliseconds since 1970.
pub(crate) fn parse(value: Value<'_>) -> Option<Timestamp> {
    if let Some(text) = value.as_str() {
        return parse_time(&text);
    }
    let number = value.as_f64()?;
    // No session was written before 1973 in milliseconds or after 5138 in seconds.
    let milliseconds = if number.abs() < 1e11 { number * 1000.0 } else { number };
    Timestamp::from_millisecond(milliseconds as i64).ok()
}

#[cfg(test)]
mod tests {
    use crate::RawLine;
    use crate::decode;

    use super::*;

    #[test]
    fn the_short_way_to_a_time_is_the_right_one() {
        for year in [1, 4, 99, 100, 400, 1600, 1899, 1900, 1969, 1970, 2000, 2024, 2026, 2100, 9999]
        {
            for month in 0..=13 {
                for day in [0, 1, 27, 28, 29, 30, 31, 32] {
                    for clock in [
                        "00:00:00.000",
                        "23:59:59.999",
                        "12:34:56.789",
                        "24:00:00.000",
                        "23:59:60.000",
                    ] {
                        let text = format!("{year:04}-{month:02}-{day:02}T{clock}Z");
                        assert_eq!(parse_time(&text), text.parse().ok(), "{text}");
                    }
                }
            }
        }
        for odd in [
            "2026-11-16T00:16:12.116z",
            "2026-11-16 00:16:12.116Z",
            "2026-11-16T00:16:12.1 6Z",
            "2026-11-16T00:16:12Z",
            "",
        ] {
            assert_eq!(parse_time(odd), odd.parse().ok(), "{odd}");
        }
    }

    #[test]
    fn times_are_read_from_every_shape() {
        let time = |line: &str| {
            timestamp_of(&decode(RawLine::alone(line.as_bytes())).0).map(|time| time.to_string())
        };
        let iso = "2026-11-16T00:16:12.116Z";
        assert_eq!(
            time(r#"{"type":"user","timestamp":"2026-11-16T00:16:12.116Z"}"#).as_deref(),
            Some(iso)
        );
        assert_eq!(time(r#"{"type":"user","timestamp":1794788172116}"#).as_deref(), Some(iso));
        assert_eq!(
            time(r#"{"type":"user","message":{"timestamp":1794788172.116}}"#).as_deref(),
            Some(iso)
        );
        assert_eq!(
            time(r#"{"type":"file-history-snapshot","snapshot":{"timestamp":"2026-11-16T00:16:12.116Z"}}"#)
                .as_deref(),
            Some(iso)
        );
        assert_eq!(time(r#"{"type":"user","timestamp":"yesterday"}"#), None);
        assert_eq!(time(r#"{"type":"user","timestamp":1e300}"#), None);
        assert_eq!(time("nope"), None);
    }
}
