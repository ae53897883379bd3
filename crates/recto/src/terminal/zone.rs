//! The time zone that the user means.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;

use crate::error::CommandError;

/// Reads the value of `--tz`; without one, the zone is that of the system.
pub(crate) fn read_zone(text: Option<&str>) -> Result<TimeZone, CommandError> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let Some(text) = text else { return Ok(TimeZone::system()) };
    PARSER.parse_time_zone(text.trim()).map_err(|_| {
        CommandError::user("bad-time-zone", format!("unknown time zone `{text}` for --tz"))
            .with_hint("use a name (Europe/Berlin), an offset (+02:00), or UTC")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_names_or_offsets() {
        for good in ["UTC", "Europe/Berlin", "+02:00", "-05:30"] {
            assert!(read_zone(Some(good)).is_ok(), "{good}");
        }
        for bad in ["", "Mars/Base", "+99:00", "\u{1b}[31m"] {
            assert!(read_zone(Some(bad)).is_err(), "{bad}");
        }
    }
}
