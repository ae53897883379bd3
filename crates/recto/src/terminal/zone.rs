//! The time zone that the user means.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;

use crate::error::CommandError;

/// Reads the value of `--tz`; without one, the zone is that of the system.
pub(crate) fn read_zone(text: Option<&str>) -> Result<TimeZone, CommandError> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let Some(text) = text else { return Ok(TimeZone::system()) };
    PARSER.parse_time_zone(text.trim()).map_err(|_| {
        CommandError::user("bad-time-zone", format!("--tz does not know the zone `{text}`"))
            .with_hint("use a name (Europe/Berlin), an offset (+02:00), or UTC")
    })
}

/// What to call a zone.
pub(crate) fn zone_name(zone: &TimeZone) -> String {
    match (zone.iana_name(), zone.to_fixed_offset()) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(offset)) => offset.to_string(),
        (None, Err(_)) => "local".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_names_or_offsets() {
        let name = |text: &str| read_zone(Some(text)).map(|zone| zone_name(&zone)).ok();
        assert_eq!(name("UTC").as_deref(), Some("UTC"));
        assert_eq!(name("+02:00").as_deref(), Some("+02"));
        assert_eq!(name("-05:30").as_deref(), Some("-05:30"));
        for bad in ["", "Mars/Base", "+99:00", "\u{1b}[31m"] {
            assert_eq!(name(bad), None, "{bad}");
        }
    }
}
