//! The filters that every command shares.

use std::path::Path;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
pub(crate) use recto_store::Filter;
use recto_store::parse_time;

use crate::error::CommandError;
use crate::select::file_path::without_links;

/// Which sessions are meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only sessions of this project: a path, or a part of one
    // The names of project directories begin with a hyphen.
    #[arg(long, value_name = "PROJECT", allow_hyphen_values = true)]
    pub(crate) project: Option<String>,
    /// Only what was written since then: a date, a time, or a span such as 3mo, 7d or 12h
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what was written before then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only sessions last using a matching model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Only sessions on this git branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
}

impl FilterArgs {
    pub(crate) fn read(&self, now: Timestamp) -> Result<Filter, CommandError> {
        // To find the system's zone takes a millisecond, and only times need it.
        let has_times = self.since.is_some() || self.until.is_some();
        let zone = if has_times { TimeZone::system() } else { TimeZone::UTC };
        self.read_in(now, &zone)
    }

    /// The same, with days of a time zone.
    pub(crate) fn read_in(&self, now: Timestamp, zone: &TimeZone) -> Result<Filter, CommandError> {
        let time = |text: &Option<String>, option: &str| match text {
            None => Ok(None),
            Some(text) => read_time_in(option, text, now, zone).map(Some),
        };
        Ok(Filter {
            project: self.canonical_project(),
            since: time(&self.since, "--since")?,
            until: time(&self.until, "--until")?,
            model: self.model.clone(),
            branch: self.branch.clone(),
        })
    }
}

impl FilterArgs {
    /// A path is compared as the client writes it: absolute, without links.
    fn canonical_project(&self) -> Option<String> {
        self.project.clone().map(|project| match without_links(Path::new(&project)) {
            Some(path) if project.starts_with(['.', '/', '~']) => {
                path.to_string_lossy().into_owned()
            }
            _ => project,
        })
    }
}

/// The filter of another project.
pub(crate) fn of_project(project: &str) -> Filter {
    let args = FilterArgs { project: Some(project.to_owned()), ..FilterArgs::default() };
    Filter { project: args.canonical_project(), ..Filter::default() }
}

/// Reads the value of an option that is a time.
pub(crate) fn read_time(
    option: &str,
    text: &str,
    now: Timestamp,
) -> Result<Timestamp, CommandError> {
    read_time_in(option, text, now, &TimeZone::system())
}

fn read_time_in(
    option: &str,
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Timestamp, CommandError> {
    parse_time(text, now, zone).ok_or_else(|| {
        CommandError::user("bad-time", format!("invalid value `{text}` for {option}")).with_hint(
            "use a date (2026-11-16), a time (2026-11-16T09:30), or a span (3mo, 7d, 12h, 30m)",
        )
    })
}

/// What `-n` means: 0 is no limit, as without it.
pub(crate) fn most(limit: Option<usize>) -> usize {
    limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// A number of bytes with a unit.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let factor = match text[split..].trim().to_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        "tb" | "t" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1GB"), Some(1_000_000_000));
        assert_eq!(parse_size("500 mb"), Some(500_000_000));
        assert_eq!(parse_size("12"), Some(12));
        for bad in ["", "GB", "1 parsec", "-1", "99999999999999999999", "99999999999999TB"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
