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

/// An ISO 8601 text, or a number of seconds or milliseconds since 1970.
pub(crate) fn parse(value: Value<'_>) -> Option<Timestamp> {
    if let Some(text) = value.as_str() {
        return text.parse().ok();
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
